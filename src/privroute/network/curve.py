"""What a latency curve has to say about itself. The curves themselves are in `privroute.network.curves`.

A curve gives the travel time f(y) of a link with flow y ≥ 0. It must be continuous with f(0) ≥ 0, and neither f nor
the marginal cost t = f + y f' = d(y f)/dy may decrease: then total travel time is convex, and in the optimum used paths
have least marginal cost.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privroute.errors import NetworkError
from privroute.network.checks import check_each, number_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Curve", "Links", "Parameter", "unbounded_slope"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number that a curve has for each link, besides free-flow time and capacity.

    name : in Python and in NetworkX graphs
    column : in link.csv of GMNS and in links.parquet of a release
    default : where a file has none
    least, greatest : allowed values, finite ones; without `least` itself where `open_below`
    """

    name: str
    column: str
    default: float
    least: float = 0.0
    greatest: float = math.inf
    open_below: bool = False

    @property
    def wanted(self) -> str:
        """The allowed values in words."""
        if self.greatest < math.inf:
            return f"{'above' if self.open_below else 'from'} {self.least:g}, up to {self.greatest:g}"
        return f"{'greater than' if self.open_below else 'of at least'} {self.least:g}"

    def allows(self, values: ArrayLike) -> NDArray[np.bool_]:
        """Whether each value is finite and in the range."""
        given = np.asarray(values, dtype=np.float64)
        above = given > self.least if self.open_below else given >= self.least
        return np.asarray(np.isfinite(given) & above & (given <= self.greatest))

    def checked(self, values: ArrayLike, links: int) -> NDArray[np.float64]:
        """(links,) read-only; one number is repeated."""
        array = number_array(values, self.name, links, NetworkError, signed=self.least < 0)
        check_each(self.allows(array), self.name, f"a finite number {self.wanted}", NetworkError)
        return array


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The links that have one curve.

    index : (n,) their positions in the network, for messages
    free_flow_min, capacity_per_min : (n,)
    parameters : (n,) for each parameter of the curve
    """

    index: NDArray[np.intp]
    free_flow_min: NDArray[np.float64]
    capacity_per_min: NDArray[np.float64]
    parameters: tuple[NDArray[np.float64], ...]


class Curve(ABC):
    """One entry of the table. Flows are (..., n), vehicles per minute, ≥ 0, perhaps infinite; results have their shape.

    Results may be infinite, never NaN.
    """

    name: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]
    flat_pieces: ClassVar[bool] = False
    """Whether f may be constant on a part of its range and rise elsewhere."""

    def check(self, links: Links) -> None:
        """Raise NetworkError where parameters do not fit together so that f and t do not decrease."""
        del links

    @abstractmethod
    def rises(self, links: Links) -> NDArray[np.bool_]:
        """(n,) whether f depends on the flow at all."""

    @abstractmethod
    def straight(self, links: Links) -> NDArray[np.bool_]:
        """(n,) whether f(y) = c + q y, c the free-flow time, for some q ≥ 0."""

    @abstractmethod
    def time(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """f(y), minutes."""

    @abstractmethod
    def time_slope(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """f'(y)."""

    @abstractmethod
    def marginal_cost(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """t(y) = f(y) + y f'(y)."""

    @abstractmethod
    def marginal_slope(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """t'(y)."""

    @abstractmethod
    def integral(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """∫₀ʸ f(u) du."""

    @abstractmethod
    def marginal_slope_bound(
        self, links: Links, flow_max: NDArray[np.float64], ceiling: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(..., n) sup { t'(y) : 0 ≤ y ≤ flow_max, t(y) < ceiling }, zero where no such y exists.

        flow_max : (..., n); ceiling : (n,); both may be infinite

        Raises NetworkError where the supremum is infinite. Privacy rests on this bound.
        """

    @abstractmethod
    def elasticity_bound(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) a bound on y t'(y) / t(y) for all y with t(y) < ceiling: how relative errors of flows enter costs.

        Privacy rests on this bound: docs/proofs/sgd.md, Lemma 3.
        """

    @abstractmethod
    def roundings(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) r such that `marginal_cost` below the ceiling has a relative error of at most (16 + r) 2⁻⁵³.

        Privacy rests on this bound: docs/proofs/sgd.md, Lemma 3.
        """

    @abstractmethod
    def words(self, links: Links) -> str:
        """The curves of these links in a few words, for `privroute inspect`."""


def unbounded_slope() -> NetworkError:
    """Error of a slope that grows without bound with the flow."""
    return NetworkError("the slope of the marginal cost is unbounded: pass a finite flow_max or a finite ceiling")
