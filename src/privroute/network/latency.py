"""Travel time on a link as a function of its flow, and what the optimum and the privacy proofs need of it.

Every link e has one function of the family

    f(y) = c (1 + b (y/k)^p)        c free-flow minutes, k capacity per minute, b ≥ 0, p ≥ 0

with y the total flow on the link in vehicles per minute. `affine`: p = 1 and b = factor − 1, so that the time at
capacity is `factor` times the free-flow time. `bpr`: any b and p, the curve of the Bureau of Public Roads.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import NetworkError
from privroute.network.checks import Remade, number_array, plain_array, real_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Latency"]


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Latency(Remade):
    """Latency functions of all links: f(y) = c (1 + b (y/k)^p), one c, k, b, p per link.

    free_flow_min : (links,) minutes, ≥ 0
    capacity_per_min : (links,) vehicles per minute, > 0
    b, power : (links,) or one number for all links, ≥ 0

    Flows passed to the methods are (..., links), vehicles per minute, ≥ 0, background included.
    """

    free_flow_min: NDArray[np.float64]
    capacity_per_min: NDArray[np.float64]
    b: NDArray[np.float64]
    power: NDArray[np.float64]

    def __init__(self, free_flow_min: ArrayLike, capacity_per_min: ArrayLike, b: ArrayLike, power: ArrayLike) -> None:
        links = plain_array(free_flow_min, "free_flow_min", NetworkError).size
        put = object.__setattr__
        put(self, "free_flow_min", number_array(free_flow_min, "free_flow_min", links, NetworkError))
        put(
            self,
            "capacity_per_min",
            number_array(capacity_per_min, "capacity_per_min", links, NetworkError, positive=True),
        )
        put(self, "b", number_array(b, "b", links, NetworkError))
        put(self, "power", number_array(power, "power", links, NetworkError))

    @classmethod
    def affine(cls, free_flow_min: ArrayLike, capacity_per_min: ArrayLike, factor: ArrayLike = 2.0) -> Latency:
        """f(y) = c + q y with q such that the time at capacity is `factor` (≥ 1) times the free-flow time."""
        factors = real_array(factor, "factor", NetworkError)
        if not np.all(np.isfinite(factors) & (factors >= 1)):
            raise NetworkError("factor must be at least 1 and finite; 2 doubles the time at capacity")
        return cls(free_flow_min, capacity_per_min, factors - 1.0, 1.0)

    @classmethod
    def bpr(
        cls, free_flow_min: ArrayLike, capacity_per_min: ArrayLike, b: ArrayLike = 0.15, power: ArrayLike = 4.0
    ) -> Latency:
        """f(y) = c (1 + b (y/k)^power), the curve of the Bureau of Public Roads."""
        return cls(free_flow_min, capacity_per_min, b, power)

    def __len__(self) -> int:
        return self.free_flow_min.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Latency):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def time(self, flow: ArrayLike) -> NDArray[np.float64]:
        """f(y): minutes to travel the link."""
        with np.errstate(over="ignore"):
            return self.free_flow_min * (1.0 + self._rise(self._flow(flow)))

    def marginal_cost(self, flow: ArrayLike) -> NDArray[np.float64]:
        """t(y) = f(y) + y f'(y) = d(y f(y))/dy: what one more vehicle costs everybody together, minutes."""
        with np.errstate(over="ignore"):
            return self.free_flow_min * (1.0 + self._rise(self._flow(flow)) * (self.power + 1.0))

    def marginal_slope(self, flow: ArrayLike) -> NDArray[np.float64]:
        """t'(y): how fast the marginal cost rises. Infinite at y = 0 where 0 < power < 1."""
        flows = self._flow(flow)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            slope = (flows / self.capacity_per_min) ** (self.power - 1.0)
            # one finite factor after the other: no product of infinity and zero where the curve rises
            for factor in (self.free_flow_min, self.b, self.power, self.power + 1.0):
                slope = slope * factor
            return np.where(self._rises(), slope / self.capacity_per_min, 0.0)

    def integral(self, flow: ArrayLike) -> NDArray[np.float64]:
        """∫₀ʸ f(u) du, the link's term in the objective whose minimum is the user equilibrium."""
        flows = self._flow(flow)
        with np.errstate(over="ignore", invalid="ignore"):
            mean_min = self.free_flow_min * (1.0 + self._rise(flows) / (self.power + 1.0))
            return np.where((flows > 0) & (self.free_flow_min > 0), flows * mean_min, 0.0)

    def marginal_cost_bound(self, flow_max: ArrayLike, ceiling: ArrayLike = np.inf) -> NDArray[np.float64]:
        """Max { min(t(y), ceiling) : 0 ≤ y ≤ flow_max }, the largest marginal cost that any data can produce."""
        flow_max, ceiling = self._bounds(flow_max, ceiling)
        return np.minimum(self.marginal_cost(flow_max), ceiling)

    def marginal_slope_bound(self, flow_max: ArrayLike, ceiling: ArrayLike = np.inf) -> NDArray[np.float64]:
        """Sup { t'(y) : 0 ≤ y ≤ flow_max, t(y) < ceiling }, zero where no such y exists.

        The sensitivity proofs divide by nothing else, so a bound that is not finite is refused, and so is one that
        rounds to zero although the marginal cost rises.
        """
        flow_max, ceiling = self._bounds(flow_max, ceiling)
        below = self._rises() & (self.free_flow_min < ceiling)
        if np.any(below & (self.power < 1)):
            link = int(np.flatnonzero(below & (self.power < 1))[0])
            raise NetworkError(
                f"link {link}: the marginal cost of a curve with power {self.power[link]:g} < 1 rises infinitely fast "
                "at zero flow, so no finite bound exists; use a power of at least 1"
            )
        # t' does not decrease for p ≥ 1: the supremum is at flow_max or where t meets the ceiling, whichever is first
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rise = (ceiling - self.free_flow_min) / self.free_flow_min / self.b / (self.power + 1.0)
            meets = self.capacity_per_min * rise ** (1.0 / self.power)
            last = np.where(below, np.minimum(flow_max, meets), 0.0)
        straight = below & (self.power == 1)
        if np.any(below & ~straight & ~np.isfinite(last)):
            raise NetworkError(
                "the slope of the marginal cost is unbounded: pass a finite flow_max or a finite ceiling"
            )
        bound = np.where(below, self.marginal_slope(np.where(straight, 0.0, last)), 0.0)
        lost = np.flatnonzero(~np.isfinite(bound) | (below & (straight | (flow_max > 0)) & (bound == 0)))
        if lost.size:
            raise NetworkError(
                f"link {lost[0]}: the slope of the marginal cost is out of the range of floating-point numbers; use "
                "units in which free-flow time, capacity and b are neither huge nor tiny"
            )
        return bound

    def _rise(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The term b (y/k)^p; where the curve does not rise it is constant, even at infinite flow."""
        with np.errstate(over="ignore"):
            return self.b * (np.where(self._rises(), flows, 0.0) / self.capacity_per_min) ** self.power

    def _flow(self, flow: ArrayLike) -> NDArray[np.float64]:
        flows = real_array(flow, "flow", NetworkError)
        if flows.shape[-1:] != self.free_flow_min.shape:
            raise NetworkError(f"flow has shape {flows.shape}; its last axis must have {len(self):,} links")
        if not np.all(flows >= 0):
            raise NetworkError("flow has values that are negative or not a number; link flows are at least 0")
        return flows

    def __repr__(self) -> str:
        kinds = "affine" if np.all(self.power == 1) else "bpr"
        return f"Latency({len(self):,} links, {kinds})"

    def _rises(self) -> NDArray[np.bool_]:
        return np.asarray((self.free_flow_min > 0) & (self.b > 0) & (self.power > 0))

    def _bounds(self, flow_max: ArrayLike, ceiling: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._bound(flow_max, "flow_max"), self._bound(ceiling, "ceiling")

    def _bound(self, values: ArrayLike, name: str) -> NDArray[np.float64]:
        bound = real_array(values, name, NetworkError)
        if bound.shape not in ((), (len(self),)):
            raise NetworkError(
                f"{name} has shape {bound.shape}; pass one number, or one for each of {len(self):,} links"
            )
        if not np.all(bound >= 0):
            raise NetworkError(f"{name} has values that are negative or not a number; it may be infinite")
        return np.broadcast_to(bound, (len(self),))
