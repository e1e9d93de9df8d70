"""The metric in which steps are made on route sets, and unit flows on them: projection, loads, gradient steps.

    |x|²_W = Σ_w u_w Σ_e w_e x_we²          w_e a power of 2 (links), u_w > 0 (pairs), both public

Gradients are W⁻¹∇F there, projections are nearest in this norm, and noise is N(0, σ² W⁻¹): one isotropic Gaussian on
z = W^½ x.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute import _core
from privroute.errors import PolicyError
from privroute.flows.projection import INSTRUCTION_SET, plan_of, threads_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.flows.route_sets import RouteSets

__all__ = ["LARGEST_ROUTE_POINT", "RouteMetric", "project_on_routes", "smallest_route_tolerance"]

LARGEST_ROUTE_POINT = 1e9
"""Points beyond this are refused: with weights, the last resort has fewer bits for them."""

_LARGEST_POWER = 10  # link weights are 2^-10 to 2^10: whole numbers of 20 bits for the last resort
_LARGEST_PAIR_WEIGHT = 2.0**16


@dataclass(frozen=True, slots=True, eq=False)
class RouteMetric:
    """Weights of the norm.

    link : (links,) w, powers of 2 from 2^-10 to 2^10
    pair : (pairs,) u
    """

    link: NDArray[np.float64]
    pair: NDArray[np.float64]

    def __post_init__(self) -> None:
        exponent = np.log2(self.link)
        if not (np.all(exponent == np.rint(exponent)) and np.all(np.abs(exponent) <= _LARGEST_POWER)):
            raise PolicyError(f"weights of links must be powers of 2 from 2^-{_LARGEST_POWER} to 2^{_LARGEST_POWER}")
        if not np.all((self.pair >= 1 / _LARGEST_PAIR_WEIGHT) & (self.pair <= _LARGEST_PAIR_WEIGHT)):
            raise PolicyError(
                f"weights of pairs must be from 2^-16 to 2^16, not {self.pair.min()} to {self.pair.max()}"
            )

    @classmethod
    def plain(cls, sets: RouteSets) -> RouteMetric:
        """Return the Euclidean norm."""
        return cls(np.ones(sets.network.links), np.ones(len(sets)))

    @classmethod
    def nearest(cls, link: NDArray[np.float64], pair: NDArray[np.float64]) -> RouteMetric:
        """Return the metric whose weights come nearest to these, link weights up to a common factor; zeros are 1."""
        used = link > 0
        middle = float(np.median(link[used])) if used.any() else 1.0
        ratio = np.divide(link, middle, out=np.ones(link.shape), where=used)
        exponent = np.clip(np.rint(np.log2(ratio)), -_LARGEST_POWER, _LARGEST_POWER)
        return cls(np.exp2(exponent), np.clip(pair, 1 / _LARGEST_PAIR_WEIGHT, _LARGEST_PAIR_WEIGHT))

    def part(self, first: int, last: int) -> RouteMetric:
        """Return the metric of some pairs that follow each other."""
        return RouteMetric(self.link, self.pair[first:last])

    def root(self, sets: RouteSets) -> NDArray[np.float64]:
        """(entries,) √(u_w w_e): what flows are multiplied with before isotropic noise."""
        return np.asarray(np.sqrt(sets.by_entry(self.pair) * self.link[sets.link]))

    def total(self, sets: RouteSets) -> float:
        """Sum of u_w w_e over all entries: the squared norm of flows of 1 everywhere."""
        return float(sets.by_entry(self.pair) @ self.link[sets.link])


def smallest_route_tolerance(sets: RouteSets, metric: RouteMetric) -> float:
    """The tightest error, in the norm of the links' weights, that can be certified for each pair."""
    plan_of(sets.network)  # refuses networks that are too large
    total = max(float(metric.link.sum()), 1.0)
    return max(1e-13, 4 * float(np.finfo(np.float64).eps) * float(np.sqrt(total)))


def project_on_routes(
    sets: RouteSets,
    metric: RouteMetric,
    points: NDArray[np.float64],
    hints: NDArray[np.float32],
    *,
    tolerance: float,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Replace points by the nearest unit flows on the route sets; returns certified error bounds, (pairs,).

        x_w = argmin Σ_e w_e (x_e − v_we)²   s.t.   A x = b_w,  0 ≤ x ≤ 1,  x = 0 outside the set of w

    points : (entries,) float64, changed in place
    hints : (entries,) float32, where to start; becomes the start for nearby points. Any values are correct
    tolerance : largest (Σ_e w_e (x_e − Π(v)_e)²)^½ of a pair, kept whatever the points are

    Bound and proof: docs/proofs/projection.md, Theorem 2.
    """
    for name, array, kind in (("points", points, np.float64), ("hints", hints, np.float32)):
        fits = array.dtype == kind and array.shape == (sets.entries,) and array.flags.c_contiguous
        if not (fits and array.flags.writeable):
            raise PolicyError(f"{name} must be a writeable array of {sets.entries:,} {np.dtype(kind).name}")
    least = smallest_route_tolerance(sets, metric)
    if not least <= tolerance < np.inf:
        raise PolicyError(f"tolerance is {tolerance!r}; pass a number of at least {least:.1g}")
    bound = np.empty(len(sets))
    bad, _, _ = plan_of(sets.network).project_routes(
        sets.pairs.origin,
        sets.pairs.destination,
        sets.start,
        sets.link,
        sets.acyclic,
        points,
        hints,
        bound,
        float(tolerance),
        LARGEST_ROUTE_POINT,
        threads_of(threads),
        os.environ.get(INSTRUCTION_SET, ""),
        1.0 / metric.link,
    )
    if bad >= 0:
        raise PolicyError(f"points: pair {bad:,} has values that are not finite or beyond {LARGEST_ROUTE_POINT:g}")
    return bound


def add_load(
    sets: RouteSets,
    flows: NDArray[np.float64],
    rates: NDArray[np.float64],
    per_unit: float,
    load: NDArray[np.int64],
) -> None:
    """Add Σ_w Λ_w x_w to `load`, (links,) whole numbers of 1/per_unit: the sum does not depend on an order."""
    _core.add_route_load(sets.start, sets.link, flows, rates, per_unit, load)


def step(
    sets: RouteSets, flows: NDArray[np.float64], rates: NDArray[np.float64], price: NDArray[np.float64], keep: float
) -> None:
    """Replace x_we by keep · x_we − rates_w · price_e."""
    _core.step_on_routes(sets.start, sets.link, flows, rates, price, keep)
