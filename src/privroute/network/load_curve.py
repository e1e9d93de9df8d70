"""Curves that are given by their load r = flow / capacity: value, slope, bend and area are all that one has to state.

f(y) = value(r)    f' = slope(r) / k    t = value + r slope    t' = (2 slope + r bend) / k    ∫f = k area(r)
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privroute.network.curve import Curve, Links, unbounded_slope

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.errors import NetworkError

__all__ = ["LoadCurve", "Shape"]

_FULL = 1e60  # loads beyond this are evaluated here, so that no product of infinity and zero occurs
_DOUBLINGS = 1100
_HALVINGS = 60
_UP = 1.0 + 1e-12  # bounds are rounded upwards by more than the rounding of their evaluation


class Shape(NamedTuple):
    """At loads (..., n): value f, minutes; slope df/dr; bend d²f/dr², from the right where it jumps."""

    value: NDArray[np.float64]
    slope: NDArray[np.float64]
    bend: NDArray[np.float64]


class LoadCurve(Curve):
    """A curve with f(0) = c, the free-flow time. The core's twin states the same shape and area."""

    @abstractmethod
    def shape(self, links: Links, load: NDArray[np.float64]) -> Shape:
        """Value, slope and bend at finite loads ≥ 0."""

    @abstractmethod
    def area(self, links: Links, load: NDArray[np.float64]) -> NDArray[np.float64]:
        """∫₀ʳ f."""

    @abstractmethod
    def steepest(self, links: Links, load: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sup of 2 slope + r bend over loads up to `load`, which may be infinite, as the result may."""

    def no_bound(self, links: Links, link: int) -> NetworkError:
        """The error of a slope without bound; `link` is a position in `links`."""
        del links, link
        return unbounded_slope()

    def time(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """f(y)."""
        load = self._load(links, flow)
        return self._endless(links, load, self.shape(links, load).value)

    def time_slope(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """f'(y), from the right."""
        return self.shape(links, self._load(links, flow)).slope / links.capacity_per_min

    def marginal_cost(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """t(y), from the right."""
        load = self._load(links, flow)
        value, slope, _ = self.shape(links, load)
        return self._endless(links, load, value + load * slope)

    def marginal_slope(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """t'(y), from the right."""
        load = self._load(links, flow)
        _, slope, bend = self.shape(links, load)
        return (2.0 * slope + load * bend) / links.capacity_per_min

    def integral(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """∫₀ʸ f."""
        load = self._load(links, flow)
        return self._endless(links, load, links.capacity_per_min * self.area(links, load))

    def marginal_slope_bound(
        self, links: Links, flow_max: NDArray[np.float64], ceiling: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The steepest slope up to flow_max or to where t meets the ceiling, whichever is first."""
        below = self.rises(links) & (self.marginal_cost(links, np.zeros(links.index.size)) < ceiling)
        last = np.where(below, np.minimum(flow_max / links.capacity_per_min, self._meets(links, ceiling, below)), 0.0)
        with np.errstate(over="ignore"):
            bound = np.where(below, self.steepest(links, last) / links.capacity_per_min, 0.0)
        endless = np.argwhere(~np.isfinite(bound))
        if endless.size:
            raise self.no_bound(links, int(endless[0, -1]))
        return bound * _UP

    def _meets(self, links: Links, ceiling: NDArray[np.float64], below: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(n,) a load at which t is at least the ceiling, hardly larger than the first; else infinite."""
        sought = below & np.isfinite(ceiling)
        low, high = np.zeros(links.index.size), np.ones(links.index.size)
        for _ in range(_DOUBLINGS):
            short = sought & (high < _FULL) & (self._cost_at(links, high) < ceiling)
            if not short.any():
                break
            low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
        for _ in range(_HALVINGS if sought.any() else 0):
            middle = 0.5 * (low + high)
            short = self._cost_at(links, middle) < ceiling
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return np.where(sought & (high < _FULL), high, np.inf)

    def _cost_at(self, links: Links, load: NDArray[np.float64]) -> NDArray[np.float64]:
        value, slope, _ = self.shape(links, load)
        return value + load * slope

    def _load(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):
            return np.minimum(flow / links.capacity_per_min, _FULL)

    def _endless(self, links: Links, load: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where((load >= _FULL) & self.rises(links), np.inf, values)
