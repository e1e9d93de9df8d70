"""Curves through points: straight pieces with kinks, or with rounded corners.

    f(y) = c (1 + s₀ r + Σ_i Δ_i h_i(r − x_i)),    r = y / k

Points (x_i, m_i), i = 1..n, say that f is m_i times the free-flow time c at load x_i; the point (0, 1) comes first and
the last piece goes on for ever. Δ_i ≥ 0 is by how much the slope rises at x_i, and h(z) = max(z, 0), or the same with
its corner rounded to a parabola over |z| ≤ w_i, a quarter of the shorter neighbouring piece: then f has a slope
everywhere, and lies above the point by c Δ_i w_i / 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privroute.errors import NetworkError
from privroute.network.curve import Links, Parameter
from privroute.network.load_curve import LoadCurve, Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["MOST_POINTS", "Piecewise", "Table", "point_parameters"]

MOST_POINTS = 8
_ROUNDED = 0.25
_CLOSEST = 1e-6  # distance of loads
_STEEPEST = 1e60
_COLLINEAR = 1e-9  # slopes from points are rounded


def point_parameters(points: Sequence[Sequence[float]]) -> dict[str, float]:
    """Points (load, times the free-flow time) as parameters of a curve; at most MOST_POINTS, beginning after (0, 1)."""
    if not 1 <= len(points) <= MOST_POINTS or any(len(point) != 2 for point in points):  # noqa: PLR2004 - two numbers
        raise NetworkError(
            f"points must be 1 to {MOST_POINTS} pairs of a load and a factor, such as [[0.8, 1.2], [1.0, 2.0]]"
        )
    named: dict[str, float] = {}
    for number, (load, factor) in enumerate(points, 1):
        named |= {f"load_{number}": float(load), f"factor_{number}": float(factor)}
    return named


class _Corners(NamedTuple):
    """slope : (n,) s₀; at, rise, width : (corners, n) x, Δ and w; Δ = 0 where there is no corner."""

    slope: NDArray[np.float64]
    at: NDArray[np.float64]
    rise: NDArray[np.float64]
    width: NDArray[np.float64]


class Piecewise(LoadCurve):
    """Straight between the points; the marginal cost jumps at each kink."""

    name = "piecewise"
    flat_pieces = True
    rounded = False
    parameters = tuple(
        parameter
        for number in range(1, MOST_POINTS + 1)
        for parameter in (
            Parameter(f"load_{number}", f"vdf_load_{number}", 0.0),
            Parameter(f"factor_{number}", f"vdf_factor_{number}", 0.0),
        )
    )

    def check(self, links: Links) -> None:
        """Loads rise up to the first that is 0 (no point), and slopes do not fall."""
        loads, factors = self._points(links)
        used = loads > 0
        whole = ~used[1:] | used[:-1]
        apart = ~used | (np.diff(loads, axis=0, prepend=0.0) >= _CLOSEST)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = np.diff(factors, axis=0, prepend=1.0) / np.diff(loads, axis=0, prepend=0.0)
            before = np.vstack([np.zeros((1, links.index.size)), slope[:-1]])
            convex = ~used | (slope >= before - _COLLINEAR * (1.0 + np.abs(before)))
        convex[0] &= ~used[0] | (factors[0] >= 1.0)  # a curve that begins to fall would go on for ever
        for held, what in (
            (whole.all(axis=0), "a point of load 0 is none, so no point may follow it"),
            (apart.all(axis=0), f"loads must rise by at least {_CLOSEST:g} from point to point, beginning above 0"),
            ((~used | (slope <= _STEEPEST)).all(axis=0), f"slopes, factor over load, may be {_STEEPEST:g} at most"),
            (convex.all(axis=0), "factors must begin at 1 or more and their slopes must not fall: the curve is convex"),
        ):
            wrong = np.flatnonzero(~held)
            if wrong.size:
                raise NetworkError(f"link {links.index[wrong[0]]}: points of a {self.name} curve: {what}")

    def rises(self, links: Links) -> NDArray[np.bool_]:
        """Some piece is not flat."""
        corners = self._corners(links)
        return np.asarray((links.free_flow_min > 0) & ((corners.slope > 0) | (corners.rise > 0).any(axis=0)))

    def straight(self, links: Links) -> NDArray[np.bool_]:
        """No corner."""
        return np.asarray((links.free_flow_min == 0) | ~(self._corners(links).rise > 0).any(axis=0))

    def shape(self, links: Links, load: NDArray[np.float64]) -> Shape:
        """Sums over the corners."""
        corners = self._corners(links)
        value, slope, bend = 1.0 + corners.slope * load, corners.slope + 0.0 * load, 0.0 * load
        for at, rise, width in zip(corners.at, corners.rise, corners.width, strict=True):
            beyond = load - at
            after = beyond >= width
            value = value + rise * np.where(after, beyond, 0.0)
            slope = slope + rise * after
            if self.rounded:
                inside = ~after & (beyond >= -width)
                over, span = np.where(inside, beyond + width, 0.0), np.where(width > 0, width, 1.0)
                value = value + rise * (over * over) / (4.0 * span)
                slope = slope + rise * over / (2.0 * span)
                bend = bend + np.where(inside, rise / (2.0 * span), 0.0)
        free = links.free_flow_min
        return Shape(free * value, free * slope, free * bend)

    def area(self, links: Links, load: NDArray[np.float64]) -> NDArray[np.float64]:
        """The corners' parabolas, or cubics where they are rounded."""
        corners = self._corners(links)
        total = load * (1.0 + 0.5 * corners.slope * load)
        for at, rise, width in zip(corners.at, corners.rise, corners.width, strict=True):
            beyond = load - at
            after = beyond >= width
            # a rounded corner has (2w)³ / (12 w) = 2 w²/3 at its end; from there on (z² − w²)/2 is added
            total = total + rise * np.where(after, 0.5 * beyond * beyond + width * width / 6.0, 0.0)
            if self.rounded:
                over = np.where(~after & (beyond >= -width), beyond + width, 0.0)
                total = total + rise * over * over * over / (12.0 * np.where(width > 0, width, 1.0))
        return links.free_flow_min * total

    def steepest(self, links: Links, load: NDArray[np.float64]) -> NDArray[np.float64]:
        """At the end of a rounded corner or of the range; infinite at a kink."""
        corners = self._corners(links)
        finite = np.minimum(load, 1e60)
        most = 2.0 * self.shape(links, finite).slope
        for at, rise, width in zip(corners.at, corners.rise, corners.width, strict=True):
            met = (rise > 0) & (load >= at - width) & (links.free_flow_min > 0)
            if not self.rounded:
                most = np.where(met, np.inf, most)
                continue
            end = np.minimum(finite, at + width)
            bend = links.free_flow_min * rise / (2.0 * np.where(width > 0, width, 1.0))
            most = np.where(met, np.maximum(most, 2.0 * self.shape(links, end).slope + end * bend), most)
        return most

    def no_bound(self, links: Links, link: int) -> NetworkError:
        """A jump has no slope."""
        return NetworkError(
            f"link {links.index[link]}: the marginal cost of a {self.name} curve jumps at its kinks, so no finite "
            "bound on its slope exists, and the sensitivity of sgd and minimiser is not finite; use a mechanism that "
            'works on noisy counts (counts, layered, daily), or the curve "table", which has no kinks'
        )

    def elasticity_bound(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        """2 on straight pieces, more in rounded corners: r t'/t ≤ 2 + r² bend / t; infinite where there are kinks."""
        del ceiling
        corners = self._corners(links)
        most = np.full(links.index.size, 2.0)
        for at, rise, width in zip(corners.at, corners.rise, corners.width, strict=True):
            if not self.rounded:
                most = np.where(rise > 0, np.inf, most)
                continue
            end, span = at + width, np.where(width > 0, width, 1.0)
            most = np.maximum(most, 2.0 + end * end * rise / (2.0 * span))  # t is at least c
        return most

    def roundings(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        """Slopes are quotients of differences of the parameters; the load enters times the elasticity."""
        del ceiling
        corners = self._corners(links)
        most = np.full(links.index.size, 64.0)
        for at, rise, width in zip(corners.at, corners.rise, corners.width, strict=True):
            span = np.where(width > 0, width, np.inf if not self.rounded else 1.0)
            slack = np.where(width > 0, width / _ROUNDED, 1.0)
            most = most + 16.0 * (at / slack + (at + width) ** 2 * rise / span)
        return most

    def words(self, links: Links) -> str:
        """How many points."""
        counts = (self._points(links)[0] > 0).sum(axis=0)
        low, high = int(counts.min(initial=0)), int(counts.max(initial=0))
        number = f"{low}" if low == high else f"{low} to {high}"
        kind = "rounded corners" if self.rounded else "kinks"
        return f"straight pieces with {kind} through {number} points"

    def _points(self, links: Links) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rows = np.stack(links.parameters)
        return rows[0::2], rows[1::2]

    def _corners(self, links: Links) -> _Corners:
        loads, factors = self._points(links)
        used = loads > 0
        spans = np.diff(loads, axis=0, prepend=0.0 * loads[:1])
        slopes = np.where(used, np.diff(factors, axis=0, prepend=1.0 + 0.0 * loads[:1]), 0.0)
        slopes = slopes / np.where(used, spans, 1.0)
        corner = used[1:]  # between piece i and piece i + 1
        rise = slopes[1:] - slopes[:-1]
        rise = np.where(corner & (rise > _COLLINEAR * (1.0 + slopes[1:])), rise, 0.0)
        shorter = np.minimum(spans[:-1], np.where(corner, spans[1:], np.inf))
        width = np.where(corner, _ROUNDED * shorter, 0.0) if self.rounded else 0.0 * rise
        return _Corners(slopes[0], loads[:-1], rise, width)


class Table(Piecewise):
    """A table of points: straight between them, with rounded corners, so that the marginal cost does not jump."""

    name = "table"
    rounded = True
