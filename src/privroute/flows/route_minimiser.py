"""The regularised optimum on route sets, in a metric: what `minimiser` perturbs.

    x* = argmin Φ(y) + α/2 |x|²_W  over unit flows on the route sets,   y = background + Σ_w Λ_w x_w,   Φ' = min(t, t̄)

Accelerated projected gradient in the W-norm: where the metric makes the curvature of all links equal, one step size
suits them all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.flows.route_metric import project_on_routes, smallest_route_tolerance
from privroute.flows.unit_flows import marginal_costs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.flows.route_metric import RouteMetric
    from privroute.flows.route_sets import RouteSets

__all__ = ["RouteOptimum", "minimise_on_routes"]

_MOST_WITH_RESTARTS = 20_000
_LOOSEST_PROJECTION = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class RouteOptimum:
    """A minimiser with its evidence.

    flows : (entries,) x
    error_bound : certified: |x − x*|_W is at most this
    iterations : projected gradient steps made
    """

    flows: NDArray[np.float64]
    error_bound: float
    iterations: int


class _Problem:
    """The objective's gradient and curvature in the W-norm."""

    def __init__(
        self,
        sets: RouteSets,
        metric: RouteMetric,
        rates: NDArray[np.float64],
        alpha: float,
        ceiling: NDArray[np.float64],
    ) -> None:
        self.sets, self.alpha, self.ceiling = sets, alpha, ceiling
        self.rate = sets.by_entry(rates)
        self.scaled = sets.by_entry(rates / metric.pair)
        self.inverse = 1.0 / metric.link
        self.weight = sets.by_entry(metric.pair) * metric.link[sets.link]
        self.crowd = sets.sum_by_link(rates**2 / metric.pair) * self.inverse
        self.steepest = sets.network.latency.marginal_slope_bound(np.inf, ceiling)
        self.everywhere = alpha + float((self.steepest * self.crowd).max(initial=0.0))

    def load(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(self.sets.link, self.rate * x, self.sets.network.links).astype(np.float64, copy=False)

    def cost(self, load: NDArray[np.float64]) -> NDArray[np.float64]:
        return marginal_costs(self.sets.network, self.sets.network.background_per_min + load, self.ceiling)

    def slope(self, x: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.float64]:
        """W⁻¹∇F."""
        price = (cost * self.inverse)[self.sets.link]
        price *= self.scaled
        price += self.alpha * x
        return price

    def curvature(self, load: NDArray[np.float64], distance: float = 0.0) -> float:
        """Lipschitz constant of W⁻¹∇F within `distance` of flows with this load."""
        reach = np.maximum(load, 0.0) + self.sets.network.background_per_min
        reach = reach + distance * np.sqrt(self.crowd)
        slopes = np.minimum(self.sets.network.latency.marginal_slope_up_to(reach), self.steepest)
        return self.alpha + float((slopes * self.crowd).max(initial=0.0))

    def norm(self, x: NDArray[np.float64]) -> float:
        return math.sqrt(float(np.dot(self.weight, x * x)))


def minimise_on_routes(
    sets: RouteSets,
    metric: RouteMetric,
    rates: NDArray[np.float64],
    alpha: float,
    *,
    tolerance: float,
    ceiling: NDArray[np.float64],
    start: NDArray[np.float64] | None = None,
    threads: int | None = None,
) -> RouteOptimum:
    """Minimise to a certified distance `tolerance` in the W-norm, however many steps that takes.

    rates : (pairs,) Λ, vehicles per minute
    ceiling : (links,) t̄, minutes; slopes below it must be bounded
    start : (entries,) where to start; default: the projection of 0

    Certificate, docs/proofs/projection.md Theorem 4: for x⁺ = Π_W(z − ηW⁻¹∇F(z)),
    |x⁺ − x*|_W ≤ |(z − x⁺)/η + W⁻¹∇F(x⁺) − W⁻¹∇F(z)|_W / α, errors of the projections added.
    """
    problem = _Problem(sets, metric, rates, alpha, ceiling)
    least = smallest_route_tolerance(sets, metric)
    spread = math.sqrt(max(float(metric.pair.sum()), 1e-300))
    hints = np.zeros(sets.entries, dtype=np.float32)
    x = np.zeros(sets.entries) if start is None else start.copy()
    project_on_routes(sets, metric, x, hints, tolerance=max(_LOOSEST_PROJECTION, least), threads=threads)
    load = problem.load(x)
    lipschitz = problem.curvature(load)
    ahead, load_ahead = x, load
    weight, iterations = 1.0, 0
    while True:
        iterations += 1
        cost = problem.cost(load_ahead)
        slope = problem.slope(ahead, cost)
        while True:
            # errors of the projections enter the certificate times 2 lipschitz / alpha: keep them to a quarter of it
            each = min(max(tolerance * alpha / (8.0 * lipschitz * spread), least), _LOOSEST_PROJECTION)
            new = ahead - slope / lipschitz
            bounds = project_on_routes(sets, metric, new, hints, tolerance=max(each, least), threads=threads)
            moved, load_new = new - ahead, problem.load(new)
            length = problem.norm(moved)
            if lipschitz >= problem.everywhere or _is_small_enough(
                problem, cost, load_ahead, load_new, (lipschitz - alpha) * length**2
            ):
                break
            lipschitz = min(2.0 * lipschitz, problem.everywhere)
        if length * lipschitz <= 2.0 * alpha * tolerance:  # cheap test first: the certificate costs a gradient
            change = problem.slope(new, problem.cost(load_new))
            change -= slope
            change -= moved * lipschitz
            missed = math.sqrt(float(metric.pair @ bounds**2))
            local = problem.curvature(load_new, missed)
            bound = (problem.norm(change) + (local + lipschitz) * missed) / alpha + missed
            if bound <= tolerance:
                return RouteOptimum(new, bound, iterations)
        advance = new - x
        if iterations >= _MOST_WITH_RESTARTS:  # the constant momentum of strongly convex functions: its rate is proved
            root = math.sqrt(alpha / lipschitz)
            push = (1.0 - root) / (1.0 + root)
        elif float(np.dot(problem.weight * moved, advance)) < 0.0:  # it points uphill: restart
            weight, push = 1.0, 0.0
        else:
            following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * weight**2))
            push, weight = (weight - 1.0) / following, following
        load_ahead = load_new + push * (load_new - load)
        ahead = new + push * advance
        x, load = new, load_new


def _is_small_enough(
    problem: _Problem,
    cost: NDArray[np.float64],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    allowed: float,
) -> bool:
    """Whether the costs rise along the step as little as its length assumes: Δt·Δy ≤ (L − α)|Δx|²_W."""
    change = after - before
    rise = problem.cost(after) - cost
    rounding = 1e-14 * float(np.dot(cost, np.abs(change)))  # of the difference; otherwise tiny steps never pass
    return float(np.dot(rise, change)) - rounding <= allowed * (1 + 1e-9)
