"""Travel time on every link as a function of its flow, and what the optimum and the privacy proofs need of it.

Every link has a curve of the table `privroute.network.curves` and the parameters of that curve. `Latency` asks each
curve for its own links and puts the answers together.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from privroute.errors import NetworkError
from privroute.network.checks import (
    RebuiltOnCopy,
    check_each,
    freeze,
    index_array,
    number_array,
    one_of,
    plain_array,
    real_array,
)
from privroute.network.curve import Links
from privroute.network.curves import CURVES, number_of, numbers_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from privroute.network.curve import Curve
    from privroute.network.curves import LatencyKind

__all__ = ["AFFINE", "Latency", "choose_latency", "latency_kinds"]

AFFINE = "affine"
_Scalar = TypeVar("_Scalar", np.bool_, np.float64)


class _Part(NamedTuple):
    """The links of one curve; `where` selects their entries of an array whose last axis is all links."""

    curve: Curve
    links: Links
    where: slice | NDArray[np.intp]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Latency(RebuiltOnCopy):
    """Latency curves of all links.

    free_flow_min : (links,) minutes on the empty link, ≥ 0
    capacity_per_min : (links,) vehicles per minute, > 0
    curve : (links,) uint8, the number of the link's curve in the table
    parameters : (links, width) float64, row e has the parameters of link e's curve in the order of the table, then
        zeros; width is that of the curve with most parameters among those present

    `Latency.affine` and `Latency.bpr` make the usual ones, `Latency.of` a curve of any name.
    Flows passed to the methods are (..., links), vehicles per minute, ≥ 0, background included.
    """

    free_flow_min: NDArray[np.float64]
    capacity_per_min: NDArray[np.float64]
    curve: NDArray[np.uint8]
    parameters: NDArray[np.float64]

    def __init__(
        self, free_flow_min: ArrayLike, capacity_per_min: ArrayLike, curve: ArrayLike, parameters: ArrayLike
    ) -> None:
        links = plain_array(free_flow_min, "free_flow_min", NetworkError).size
        put = object.__setattr__
        put(self, "free_flow_min", number_array(free_flow_min, "free_flow_min", links, NetworkError))
        put(
            self,
            "capacity_per_min",
            number_array(capacity_per_min, "capacity_per_min", links, NetworkError, positive=True),
        )
        numbers = index_array(curve, "curve", len(CURVES), NetworkError)
        if numbers.size != links:
            raise NetworkError(f"curve has {numbers.size:,} values where {links:,} are needed")
        put(self, "curve", freeze(numbers.astype(np.uint8)))
        put(self, "parameters", _checked_parameters(numbers, real_array(parameters, "parameters", NetworkError)))
        for part in self._parts:
            part.curve.check(part.links)

    @classmethod
    def of(cls, name: str, free_flow_min: ArrayLike, capacity_per_min: ArrayLike, **parameters: ArrayLike) -> Latency:
        """Return curves of one name for all links; parameters that are not given have the table's defaults."""
        curve = CURVES[one_of(name, CURVES, "curve", NetworkError)]
        known = [parameter.name for parameter in curve.parameters]
        _check_names(name, parameters, known)
        links = plain_array(free_flow_min, "free_flow_min", NetworkError).size
        columns = [each.checked(parameters.get(each.name, each.default), links) for each in curve.parameters]
        rows = np.column_stack(columns) if columns else np.empty((links, 0))
        return cls(free_flow_min, capacity_per_min, np.full(links, number_of(name)), rows)

    @classmethod
    def by_link(
        cls,
        free_flow_min: ArrayLike,
        capacity_per_min: ArrayLike,
        names: Sequence[str],
        parameters: Sequence[Sequence[float]],
    ) -> Latency:
        """Return curves by link: the name of each, and its parameters in the order of the table."""
        rows = np.zeros((len(names), max(map(len, parameters), default=0)))
        for row, values in zip(rows, parameters, strict=True):
            row[: len(values)] = values
        return cls(free_flow_min, capacity_per_min, [number_of(name) for name in names], rows)

    @classmethod
    def affine(cls, free_flow_min: ArrayLike, capacity_per_min: ArrayLike, factor: ArrayLike = 2.0) -> Latency:
        """f(y) = c + q y with q such that the time at capacity is `factor` (≥ 1) times the free-flow time."""
        factors = real_array(factor, "factor", NetworkError)
        if not np.all(np.isfinite(factors) & (factors >= 1)):
            raise NetworkError("factor must be at least 1 and finite; 2 doubles the time at capacity")
        return cls.bpr(free_flow_min, capacity_per_min, factors - 1.0, 1.0)

    @classmethod
    def bpr(
        cls, free_flow_min: ArrayLike, capacity_per_min: ArrayLike, b: ArrayLike = 0.15, power: ArrayLike = 4.0
    ) -> Latency:
        """f(y) = c (1 + b (y/k)^power), the curve of the Bureau of Public Roads; k the capacity."""
        return cls.of("bpr", free_flow_min, capacity_per_min, b=b, power=power)

    def __len__(self) -> int:
        return self.free_flow_min.size

    def __getitem__(self, links: Any) -> Latency:
        """Return the curves of some links: a slice, positions or a mask."""
        return Latency(*(getattr(self, field.name)[links] for field in fields(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Latency):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        kinds = AFFINE if np.all(self.straight) else ", ".join(part.curve.name for part in self._parts)
        return f"Latency({len(self):,} links, {kinds})"

    @property
    def words(self) -> str:
        """The curves in a few words."""
        if len(self._parts) == 1:
            return self._parts[0].curve.words(self._parts[0].links)
        return "; ".join(f"{part.links.index.size:,} links: {part.curve.words(part.links)}" for part in self._parts)

    @property
    def straight(self) -> NDArray[np.bool_]:
        """(links,) whether f(y) = c + q y, c the free-flow time; q is `time_slope` at any flow."""
        return self._joined(np.bool_, (len(self),), lambda part: part.curve.straight(part.links))

    def parameter(self, name: str) -> NDArray[np.float64]:
        """(links,) one parameter of the curves by its name, NaN where a link's curve has none of that name."""
        values = np.full(len(self), np.nan)
        for part in self._parts:
            for position, parameter in enumerate(part.curve.parameters):
                if parameter.name == name:
                    values[part.where] = part.links.parameters[position]
        return values

    def time(self, flow: ArrayLike) -> NDArray[np.float64]:
        """f(y): minutes to travel the link."""
        return self._at(self._flow(flow), lambda part, y: part.curve.time(part.links, y))

    def time_slope(self, flow: ArrayLike) -> NDArray[np.float64]:
        """f'(y): how fast the travel time rises."""
        return self._at(self._flow(flow), lambda part, y: part.curve.time_slope(part.links, y))

    def marginal_cost(self, flow: ArrayLike) -> NDArray[np.float64]:
        """t(y) = f(y) + y f'(y) = d(y f(y))/dy: what one more vehicle costs everybody together, minutes."""
        return self._at(self._flow(flow), lambda part, y: part.curve.marginal_cost(part.links, y))

    def marginal_slope(self, flow: ArrayLike) -> NDArray[np.float64]:
        """t'(y): how fast the marginal cost rises. It may be infinite, as at y = 0 for BPR with 0 < power < 1."""
        return self._at(self._flow(flow), lambda part, y: part.curve.marginal_slope(part.links, y))

    def integral(self, flow: ArrayLike) -> NDArray[np.float64]:
        """∫₀ʸ f(u) du, the link's term in the objective whose minimum is the user equilibrium."""
        return self._at(self._flow(flow), lambda part, y: part.curve.integral(part.links, y))

    def marginal_cost_bound(self, flow_max: ArrayLike, ceiling: ArrayLike = np.inf) -> NDArray[np.float64]:
        """Max { min(t(y), ceiling) : 0 ≤ y ≤ flow_max }, the largest marginal cost that any data can produce."""
        # t does not decrease
        return np.minimum(self.marginal_cost(self._bound(flow_max, "flow_max")), self._bound(ceiling, "ceiling"))

    def marginal_slope_bound(self, flow_max: ArrayLike, ceiling: ArrayLike = np.inf) -> NDArray[np.float64]:
        """Sup { t'(y) : 0 ≤ y ≤ flow_max, t(y) < ceiling }, zero where no such y exists.

        The sensitivity proofs divide by nothing else, so a bound that is not finite is refused, and so is one that
        rounds to zero although the marginal cost rises.
        """
        most, highest = self._bound(flow_max, "flow_max"), self._bound(ceiling, "ceiling")
        everywhere = (len(self),)
        bound = self._joined(
            np.float64,
            everywhere,
            lambda part: part.curve.marginal_slope_bound(part.links, most[part.where], highest[part.where]),
        )
        rises = self._joined(
            np.bool_, everywhere, lambda part: part.curve.rises(part.links) & (not part.curve.flat_pieces)
        )
        below = rises & (self.marginal_cost(np.zeros(len(self))) < highest)
        lost = np.flatnonzero(~np.isfinite(bound) | (below & (self.straight | (most > 0)) & (bound == 0)))
        if lost.size:
            raise NetworkError(
                f"link {lost[0]}: the slope of the marginal cost is out of the range of floating-point numbers; use "
                "units in which free-flow time, capacity and the curve's parameters are neither huge nor tiny"
            )
        return bound

    def marginal_slope_up_to(self, flow: ArrayLike) -> NDArray[np.float64]:
        """Sup { t'(u) : 0 ≤ u ≤ y }, which is t'(y) on curves whose slope does not decrease. It may be infinite."""
        flows = np.minimum(self._flow(flow), np.finfo(np.float64).max)
        return self._at(
            flows,
            lambda part, y: part.curve.marginal_slope_bound(part.links, y, np.full(part.links.index.size, np.inf)),
        )

    def elasticity_bound(self, ceiling: ArrayLike = np.inf) -> NDArray[np.float64]:
        """(links,) at least y t'(y) / t(y) wherever t(y) < ceiling: how relative errors of flows enter costs."""
        highest = self._bound(ceiling, "ceiling")
        return self._joined(
            np.float64, (len(self),), lambda part: part.curve.elasticity_bound(part.links, highest[part.where])
        )

    def roundings(self, ceiling: ArrayLike = np.inf) -> NDArray[np.float64]:
        """(links,) r: the computed marginal cost, below the ceiling, has a relative error of at most (16 + r) 2⁻⁵³."""
        highest = self._bound(ceiling, "ceiling")
        return self._joined(
            np.float64, (len(self),), lambda part: part.curve.roundings(part.links, highest[part.where])
        )

    @cached_property
    def _parts(self) -> tuple[_Part, ...]:
        """The links of each curve that is present, in the order of the table."""
        parts = []
        curves = list(CURVES.values())
        for number in numbers_in(self.curve):
            index = np.flatnonzero(self.curve == number)
            where = slice(None) if index.size == len(self) else index
            curve = curves[number]
            own = tuple(freeze(column) for column in self.parameters[where, : len(curve.parameters)].T)
            parts.append(
                _Part(curve, Links(index, self.free_flow_min[where], self.capacity_per_min[where], own), where)
            )
        return tuple(parts)

    def _joined(
        self, kind: type[_Scalar], shape: tuple[int, ...], of: Callable[[_Part], NDArray[_Scalar]]
    ) -> NDArray[_Scalar]:
        """Put together what each curve says of its own links; the last axis is all links."""
        if len(self._parts) == 1:
            return of(self._parts[0])
        result = np.empty(shape, dtype=kind)
        for part in self._parts:
            result[..., part.where] = of(part)
        return result

    def _at(
        self, flows: NDArray[np.float64], of: Callable[[_Part, NDArray[np.float64]], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        return self._joined(np.float64, flows.shape, lambda part: of(part, flows[..., part.where]))

    def _flow(self, flow: ArrayLike) -> NDArray[np.float64]:
        flows = real_array(flow, "flow", NetworkError)
        if flows.shape[-1:] != self.free_flow_min.shape:
            raise NetworkError(f"flow has shape {flows.shape}; its last axis must have {len(self):,} links")
        if not np.all(flows >= 0):
            raise NetworkError("flow has values that are negative or not a number; link flows are at least 0")
        return flows

    def _bound(self, values: ArrayLike, name: str) -> NDArray[np.float64]:
        bound = real_array(values, name, NetworkError)
        if bound.shape not in ((), (len(self),)):
            raise NetworkError(
                f"{name} has shape {bound.shape}; pass one number, or one for each of {len(self):,} links"
            )
        if not np.all(bound >= 0):
            raise NetworkError(f"{name} has values that are negative or not a number; it may be infinite")
        return np.broadcast_to(bound, (len(self),))


def latency_kinds() -> dict[str, tuple[str, ...]]:
    """What `latency=` may be, with the parameters that each takes: "affine", or a curve of the table."""
    named = {name: tuple(parameter.name for parameter in curve.parameters) for name, curve in CURVES.items()}
    return {AFFINE: ("factor",), **named}


def choose_latency(
    kind: LatencyKind, free_flow_min: ArrayLike, capacity_per_min: ArrayLike, **parameters: ArrayLike
) -> Latency:
    """Latency of the named kind; the readers' `latency=` argument ends here."""
    kinds = latency_kinds()
    chosen = one_of(kind, kinds, "latency", NetworkError)
    _check_names(chosen, parameters, kinds[chosen])
    if chosen == AFFINE:
        return Latency.affine(free_flow_min, capacity_per_min, **parameters)
    return Latency.of(chosen, free_flow_min, capacity_per_min, **parameters)


def _check_names(kind: str, given: dict[str, ArrayLike], known: Sequence[str]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise NetworkError(f"{unknown[0]} is no parameter of {kind} curves; pass {', '.join(known) or 'none'}")


def _checked_parameters(numbers: NDArray[np.int32], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """(links, width) read-only, each value in the range of its parameter, zeros where a curve has fewer than width."""
    curves = {number: list(CURVES.values())[number] for number in numbers_in(numbers)}
    width = max((len(curve.parameters) for curve in curves.values()), default=0)
    if rows.ndim != 2 or rows.shape[0] != numbers.size or rows.shape[1] < width:  # noqa: PLR2004 - two axes
        raise NetworkError(f"parameters has shape {rows.shape}; pass ({numbers.size}, {width}), a row for each link")
    for number, curve in curves.items():
        own = numbers == number
        for position, parameter in enumerate(curve.parameters):
            parameter.checked(np.where(own, rows[:, position], parameter.default), numbers.size)
        spare = rows[:, len(curve.parameters) :]
        check_each(~own | (spare == 0).all(axis=1), "parameters", f"0 beyond those of {curve.name}", NetworkError)
    return freeze(rows[:, :width])
