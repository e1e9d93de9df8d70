"""The table of latency curves. The compiled twin is core/curves.hpp: the same names in the same order.

To add a curve: a class below, an object of it in `CURVES` and its name in `LatencyKind`; the same in core/curves.hpp;
values to try in tests/network/curve_cases.py; a row in docs/model.md. Everything else takes it from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from privroute.errors import NetworkError
from privroute.network.curve import Curve, Links, Parameter, unbounded_slope
from privroute.network.load_curve import LoadCurve, Shape
from privroute.network.point_curves import Piecewise, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CURVES", "LatencyKind", "number_of", "numbers_in"]

LatencyKind = Literal["affine", "bpr", "piecewise", "table", "conical", "akcelik", "mm1", "davidson"]
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


class Conical(LoadCurve):
    """f = c (2 − β + S − α (1 − r)), S² = α² (1 − r)² + β², β = (2α − 1)/(2α − 2): Spiess 1990; twice c at capacity."""

    name = "conical"
    parameters = (Parameter("alpha", "vdf_conical", 4.0, least=1.05, greatest=100.0),)

    def rises(self, links: Links) -> NDArray[np.bool_]:
        """Free links stay free."""
        return np.asarray(links.free_flow_min > 0)

    def straight(self, links: Links) -> NDArray[np.bool_]:
        """Free links only."""
        return np.asarray(links.free_flow_min == 0)

    def shape(self, links: Links, load: NDArray[np.float64]) -> Shape:
        """Below capacity S − α (1 − r) is β² / (S + α (1 − r)), where nothing cancels."""
        alpha, beta = self._constants(links)
        left = alpha * (1.0 - load)
        root = np.sqrt(left * left + beta * beta)
        over = np.where(left > 0, beta * beta / (root + np.abs(left)), root - left)
        free = links.free_flow_min
        bend = (alpha * beta / root) * (alpha * beta / root) / root
        return Shape(free * (2.0 - beta + over), free * (alpha * over / root), free * bend)

    def area(self, links: Links, load: NDArray[np.float64]) -> NDArray[np.float64]:
        """∫S in closed form, written as differences from load 0 that have the load as a factor."""
        alpha, beta = self._constants(links)
        left, first = alpha * (1.0 - load), np.sqrt(alpha * alpha + beta * beta)
        root = np.sqrt(left * left + beta * beta)
        fall = alpha * alpha * (2.0 - load) / (first + root)  # (S(0) − S(r)) / r
        turned = beta * beta / alpha * np.arcsinh(alpha * load * (first - fall) / (beta * beta))
        whole = load * (2.0 - beta - alpha + 0.5 * alpha * load + 0.5 * (fall + root)) + 0.5 * turned
        return np.asarray(links.free_flow_min * whole)

    def steepest(self, links: Links, load: NDArray[np.float64]) -> NDArray[np.float64]:
        """d(2 slope + r bend)/dr has the sign of α² (1 − r) + β²: it rises up to r = 1 + (β/α)², then falls."""
        alpha, beta = self._constants(links)
        last = np.minimum(load, 1.0 + (beta / alpha) ** 2)
        _, slope, bend = self.shape(links, last)
        return 2.0 * slope + last * bend

    def elasticity_bound(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        """2 + max r bend/slope: at most 2α/β up to load 2, and 2 β²/α² beyond."""
        del ceiling
        alpha, beta = self._constants(links)
        return np.asarray(2.0 + 2.0 * np.maximum(alpha / beta, (beta / alpha) ** 2))

    def roundings(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        """Those of the load, times the elasticity, and of 2 − β."""
        alpha, beta = self._constants(links)
        return 8.0 * self.elasticity_bound(links, ceiling) + 16.0 * (alpha + beta)

    def words(self, links: Links) -> str:
        """The range of α."""
        alpha = links.parameters[0]
        return f"conical curves with alpha {_range(alpha)}"

    def _constants(self, links: Links) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        alpha = links.parameters[0]
        return alpha, (2.0 * alpha - 1.0) / (2.0 * alpha - 2.0)


class Akcelik(LoadCurve):
    """f = c + T/4 (r − 1 + S), S² = (r − 1)² + m r, m = 8 J / (k T): Akcelik 1991, queues that last a period T.

    f need not be convex (it is for m ≤ 4), but y f is: docs/model.md.
    """

    name = "akcelik"
    parameters = (
        Parameter("delay", "vdf_delay", 0.4, least=1e-6),
        Parameter("period_min", "vdf_period_min", 60.0, least=1e-6),
    )

    def check(self, links: Links) -> None:
        """The numbers that the parameters and the capacity give together are in the range of the formulas."""
        scale, m = self._constants(links)
        good = (scale <= _LARGEST) & (m >= 1.0 / _LARGEST) & (m <= _LARGEST)
        _refuse(links, good, self.name, "8 delay / (capacity period_min)")

    def rises(self, links: Links) -> NDArray[np.bool_]:
        """Always: also a link without free-flow time has a queue."""
        return np.ones(links.index.size, dtype=bool)

    def straight(self, links: Links) -> NDArray[np.bool_]:
        """M = 4: S = r + 1."""
        return np.asarray(self._constants(links)[1] == 4)  # noqa: PLR2004

    def shape(self, links: Links, load: NDArray[np.float64]) -> Shape:
        """Written so that nothing cancels below capacity."""
        scale, m = self._constants(links)
        left, bent = 1.0 - load, 1.0 - load - 0.5 * m
        root = np.sqrt(left * left + m * load)
        room = 0.25 * m * (4.0 - m)  # S² − (dS²/dr / 2)²
        queue = np.where(left > 0, m * load / (root + np.abs(left)), root - left)
        slope = np.where(bent > 0, room / (root * (root + np.abs(bent))), (root - bent) / root)
        return Shape(links.free_flow_min + scale * queue, scale * slope, scale * (room / root / root / root))

    def area(self, links: Links, load: NDArray[np.float64]) -> NDArray[np.float64]:
        """Closed form; its first terms near load 0, where the closed form is a difference of nearly equal numbers."""
        scale, m = self._constants(links)
        p, room = 0.5 * m - 1.0, 0.25 * m * (4.0 - m)
        near = np.minimum(load, 1e-4 / (1.0 + np.abs(p)))
        series = near * near * (0.25 * m + near * room * (1.0 / 6.0 - near * (p / 8.0 - near * (5 * p * p - 1) / 40.0)))
        root = np.sqrt((1.0 - load) * (1.0 - load) + m * load)
        queue = np.where(load < 1, m * load / (root + np.abs(1.0 - load)), root - (1.0 - load))
        turned = room * np.log1p(load * (queue + m) / ((root + 1.0) * 0.5 * m))
        whole = load * (0.5 * load - 1.0 + 0.5 * (root + p * (load + 2.0 * p) / (root + 1.0))) + 0.5 * turned
        return links.free_flow_min * load + scale * np.where(near < load, whole, series)

    def steepest(self, links: Links, load: NDArray[np.float64]) -> NDArray[np.float64]:
        """d(2 slope + r bend)/dr has the sign of (4 − m)(1 + (m/2 − 1) r): it rises, rises then falls, or falls."""
        _, m = self._constants(links)
        p = 0.5 * m - 1.0
        with np.errstate(divide="ignore"):
            peak = np.where(m > 4, 0.0, np.where(p < 0, -1.0 / np.where(p < 0, p, -1.0), np.inf))  # noqa: PLR2004
        last = np.minimum(np.minimum(load, peak), 1e60)
        _, slope, bend = self.shape(links, last)
        return 2.0 * slope + last * bend

    def elasticity_bound(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        """2 + max r bend/slope, which is at most 2 r/S."""
        del ceiling
        return 2.0 + 2.0 * self._largest(links)

    def roundings(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        """Those of the load and of 1 − r, over S."""
        del ceiling
        return 32.0 + 32.0 * self._largest(links)

    def words(self, links: Links) -> str:
        """The range of J, and the period."""
        delay, period = links.parameters
        return f"Akcelik curves with delay {_range(delay)} over {_range(period)} min"

    def _constants(self, links: Links) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """T/4 and m."""
        delay, period_min = links.parameters
        with np.errstate(over="ignore", divide="ignore"):
            return 0.25 * period_min, 8.0 * delay / (links.capacity_per_min * period_min)

    def _largest(self, links: Links) -> NDArray[np.float64]:
        """At least r/S at all loads."""
        m = self._constants(links)[1]
        falling = m < 2  # noqa: PLR2004 - S has its least value at a positive load
        return np.where(falling, 1.0 / np.sqrt(0.25 * m * np.where(falling, 4.0 - m, 1.0)), 1.0)


class Mm1(LoadCurve):
    """f = c + s r / (1 − r), s = packet / k: mean time in a queue with random arrivals, beyond that on the empty link.

    From the load `limit` on it continues as the parabola with the same value, slope and bend, since a flow above
    capacity must have a finite cost to be compared with others.
    """

    name = "mm1"
    parameters = (
        Parameter("packet", "vdf_packet", 1.0),
        Parameter("limit", "vdf_limit", 0.95, greatest=0.9999),
    )

    def service_min(self, links: Links) -> NDArray[np.float64]:
        """(n,) s, the time that the queue's server takes for one packet."""
        with np.errstate(over="ignore"):
            return links.parameters[0] / links.capacity_per_min

    def check(self, links: Links) -> None:
        """The time of one packet is in the range of the formulas."""
        _refuse(links, self.service_min(links) <= _LARGEST, self.name, "the delay factor of its queue, in minutes,")

    def rises(self, links: Links) -> NDArray[np.bool_]:
        """Where s > 0."""
        return np.asarray(self.service_min(links) > 0)

    def straight(self, links: Links) -> NDArray[np.bool_]:
        """Constant ones."""
        return np.asarray(self.service_min(links) == 0)

    def shape(self, links: Links, load: NDArray[np.float64]) -> Shape:
        """The queue up to the limit, then its parabola."""
        service, limit = self.service_min(links), links.parameters[1]
        held = np.minimum(load, limit)
        beyond, free = load - held, 1.0 - held
        slope = 1.0 / free / free
        bend = 2.0 * slope / free
        value = held / free + beyond * (slope + 0.5 * bend * beyond)
        return Shape(links.free_flow_min + service * value, service * (slope + bend * beyond), service * bend)

    def area(self, links: Links, load: NDArray[np.float64]) -> NDArray[np.float64]:
        """−r − ln(1 − r), by its series where that cancels; then the parabola's cubic."""
        service, limit = self.service_min(links), links.parameters[1]
        held = np.minimum(load, limit)
        beyond, free = load - held, 1.0 - held
        near = np.minimum(held, 0.05)
        series = near * 0.0
        for term in range(_SERIES, 1, -1):
            series = near * (1.0 / term + series)
        queue = np.where(held > near, -held - np.log1p(-held), near * series)
        slope = 1.0 / free / free
        cubic = beyond * (held / free + beyond * (0.5 * slope + beyond * slope / free / 3.0))
        return links.free_flow_min * load + service * (queue + cubic)

    def steepest(self, links: Links, load: NDArray[np.float64]) -> NDArray[np.float64]:
        """2 slope + r bend does not decrease."""
        last = np.minimum(load, 1e60)
        _, slope, bend = self.shape(links, last)
        return np.where(np.isfinite(load), 2.0 * slope + last * bend, np.inf)

    def elasticity_bound(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        """2 / ((1 − r)(2 − r)) up to the limit; beyond it at most that of the limit, or 4."""
        del ceiling
        limit = links.parameters[1]
        return np.maximum(2.0 / ((1.0 - limit) * (2.0 - limit)), 4.0)

    def roundings(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rounding of 1 − r enters three times, each over 1 − limit."""
        del ceiling
        return 32.0 / (1.0 - links.parameters[1])

    def words(self, links: Links) -> str:
        """Up to which load."""
        return f"M/M/1 queues up to a load of {_range(links.parameters[1])}, then parabolas"


class Davidson(Mm1):
    """f = c (1 + J r / (1 − r)), Davidson 1966: a queue whose delay is proportional to the free-flow time."""

    name = "davidson"
    parameters = (
        Parameter("delay", "vdf_delay", 0.25),
        Parameter("limit", "vdf_limit", 0.95, greatest=0.9999),
    )

    def service_min(self, links: Links) -> NDArray[np.float64]:
        """(n,) c J."""
        with np.errstate(over="ignore"):
            return links.free_flow_min * links.parameters[0]

    def words(self, links: Links) -> str:
        """The range of J, and up to which load."""
        delay, limit = links.parameters
        return f"Davidson curves with delay {_range(delay)} up to a load of {_range(limit)}, then parabolas"


_LARGEST = 1e60  # of what parameters give together; its powers in the formulas are finite
_SERIES = 16  # terms: 0.05¹⁶ is below rounding

CURVES: dict[str, Curve] = {
    curve.name: curve for curve in (Bpr(), Piecewise(), Table(), Conical(), Akcelik(), Mm1(), Davidson())
}
"""Name -> curve. A curve's number, by which `Latency` and the core know it, is its position here."""


def number_of(name: str) -> int:
    """Return the position of a curve in the table."""
    return list(CURVES).index(name)


def numbers_in(curve: NDArray[np.integer[Any]]) -> list[int]:
    """The numbers of curves that occur, in order. NumPy's own function loads masked arrays, which takes longer."""
    return [int(number) for number in np.flatnonzero(np.bincount(curve))]


def _refuse(links: Links, good: NDArray[np.bool_], name: str, what: str) -> None:
    wrong = np.flatnonzero(~good)
    if wrong.size:
        raise NetworkError(
            f"link {links.index[wrong[0]]}: {what} is out of the range of {name} curves; use units in which free-flow "
            "time, capacity and the curve's parameters are neither huge nor tiny"
        )


def _range(values: NDArray[np.float64]) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
