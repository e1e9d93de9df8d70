"""The table of latency curves. The compiled twin is core/curves.hpp: the same names in the same order.

To add a curve: a class below, an object of it in `CURVES` and its name in `LatencyKind`; the same in core/curves.hpp;
values to try in tests/network/curve_cases.py; a row in docs/model.md. Everything else takes it from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from privroute.errors import NetworkError
from privroute.network.curve import Curve, Links, Parameter, unbounded_slope

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CURVES", "LatencyKind", "number_of"]

LatencyKind = Literal["affine", "bpr"]
"""What readers take as `latency=`: a curve by its name, or "affine", which is BPR with power 1."""


class Bpr(Curve):
    """f(y) = c (1 + b (y/k)^p), the curve of the Bureau of Public Roads; with p = 1 a straight line.

    A straight line is no curve of its own, since files (TNTP, GMNS) have it as BPR with power 1.
    """

    name = "bpr"
    parameters = (Parameter("b", "vdf_alpha", 0.15), Parameter("power", "vdf_beta", 4.0))

    def rises(self, links: Links) -> NDArray[np.bool_]:
        """Free links, and those with b or power 0, are constant."""
        b, power = links.parameters
        return np.asarray((links.free_flow_min > 0) & (b > 0) & (power > 0))

    def straight(self, links: Links) -> NDArray[np.bool_]:
        """Power 1, or constant at c."""
        b, power = links.parameters
        return np.asarray((power == 1) | (b == 0) | (links.free_flow_min == 0))

    def time(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """f(y) = c (1 + b (y/k)^p)."""
        with np.errstate(over="ignore"):
            return links.free_flow_min * (1.0 + self._rise(links, flow))

    def time_slope(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """f'(y) = c b p (y/k)^(p−1) / k, infinite at y = 0 where 0 < p < 1."""
        return self._slope(links, flow, *links.parameters)

    def marginal_cost(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """t(y) = c (1 + b (p + 1) (y/k)^p)."""
        power = links.parameters[1]
        with np.errstate(over="ignore"):
            return links.free_flow_min * (1.0 + self._rise(links, flow) * (power + 1.0))

    def marginal_slope(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """t'(y) = c b p (p + 1) (y/k)^(p−1) / k, infinite at y = 0 where 0 < p < 1."""
        return self._slope(links, flow, *links.parameters, links.parameters[1] + 1.0)

    def integral(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """∫f = y c (1 + b (y/k)^p / (p + 1))."""
        power = links.parameters[1]
        with np.errstate(over="ignore", invalid="ignore"):
            mean_min = links.free_flow_min * (1.0 + self._rise(links, flow) / (power + 1.0))
            return np.where((flow > 0) & (links.free_flow_min > 0), flow * mean_min, 0.0)

    def marginal_slope_bound(
        self, links: Links, flow_max: NDArray[np.float64], ceiling: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """For p ≥ 1 t' does not decrease: its value at flow_max or where t meets the ceiling, whichever is first."""
        b, power = links.parameters
        below = self.rises(links) & (links.free_flow_min < ceiling)
        steep = np.flatnonzero(below & (power < 1))
        if steep.size:
            raise NetworkError(
                f"link {links.index[steep[0]]}: the marginal cost of a curve with power {power[steep[0]]:g} < 1 rises "
                "infinitely fast at zero flow, so no finite bound exists; use a power of at least 1"
            )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rise = (ceiling - links.free_flow_min) / links.free_flow_min / b / (power + 1.0)
            meets = links.capacity_per_min * rise ** (1.0 / power)
            last = np.where(below, np.minimum(flow_max, meets), 0.0)
        line = below & (power == 1)
        if np.any(below & ~line & ~np.isfinite(last)):
            raise unbounded_slope()
        return np.where(below, self.marginal_slope(links, np.where(line, 0.0, last)), 0.0)

    def elasticity_bound(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        """At most p: y t'/t = p z / (1 + z) with z = b (p + 1) (y/k)^p."""
        del ceiling
        return links.parameters[1]

    def roundings(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rounding of y/k enters times p."""
        del ceiling
        return np.maximum(links.parameters[1], 1.0)

    def words(self, links: Links) -> str:
        """The factor at capacity of straight lines, or the range of powers."""
        b, power = links.parameters
        if (power == 1).all():
            low, high = 1 + b.min(), 1 + b.max()
            factor = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            return f"affine, {factor} times as long at capacity as on the empty road"
        if power.min() == power.max():
            return f"BPR curves with power {power.min():g}"
        return f"BPR curves with powers {power.min():g} to {power.max():g}"

    def _rise(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """The term b (y/k)^p; where the curve does not rise it is constant, even at infinite flow."""
        b, power = links.parameters
        with np.errstate(over="ignore"):
            return np.asarray(b * (np.where(self.rises(links), flow, 0.0) / links.capacity_per_min) ** power)

    def _slope(self, links: Links, flow: NDArray[np.float64], *factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """(y/k)^(p−1) c / k times the factors; zero where the curve does not rise."""
        power = links.parameters[1]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            slope = (flow / links.capacity_per_min) ** (power - 1.0)
            # one finite factor after the other: no product of infinity and zero where the curve rises
            for factor in (links.free_flow_min, *factors):
                slope = slope * factor
            return np.where(self.rises(links), slope / links.capacity_per_min, 0.0)


CURVES: dict[str, Curve] = {curve.name: curve for curve in (Bpr(),)}
"""Name -> curve. A curve's number, by which `Latency` and the core know it, is its position here."""


def number_of(name: str) -> int:
    """Return the position of a curve in the table."""
    return list(CURVES).index(name)
