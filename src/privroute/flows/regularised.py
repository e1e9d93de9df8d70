"""The regularised optimum over unit flows: the minimiser that output perturbation releases, and a reference for SGD.

    x* = argmin (1/N) Σ_k F(x, Λ_k)  over X,    F(x, Λ) = Σ_e y_e f_e(y_e) + α/2 ‖x‖²,   y = background + Σ_w Λ_w x_w

One demand is the paper's problem (5); many days are its sample average (7), solved exactly; the mean of the days in
place of them all is the approximation of its Table 2. All are strongly convex for α > 0: hence the certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import DemandError
from privroute.flows.projection import project, smallest_tolerance
from privroute.flows.unit_flows import daily_rates, gradient, link_flow, marginal_costs, objective
from privroute.network.demand import Demand

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = ["ApproximationErrors", "RegularisedOptimum", "average_demand_errors", "minimise_regularised"]

_MOST_WITH_RESTARTS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class RegularisedOptimum:
    """A minimiser with its evidence.

    flows : (pairs, links) x
    error_bound : certified: ‖x − x*‖₂ over all pairs is at most this
    objective : (1/N) Σ_k F(x, Λ_k), regulariser included
    iterations : projected gradient steps made
    converged : whether error_bound is within the tolerance asked for
    status : what happened, and what to try if it did not converge
    """

    flows: NDArray[np.float64]
    error_bound: float
    objective: float
    iterations: int
    converged: bool
    status: str


def minimise_regularised(
    network: Network,
    demand: Demand | ArrayLike,
    alpha: float,
    *,
    pairs: Pairs | None = None,
    tolerance: float = 1e-6,
    ceiling_min: ArrayLike = np.inf,
    start: NDArray[np.float64] | None = None,
    max_iterations: int | None = 20_000,
    threads: int | None = None,
) -> RegularisedOptimum:
    """Minimise the regularised objective, averaged over the days, to a certified distance from the minimiser.

    demand : a Demand, or rates (days, pairs) in vehicles per minute together with `pairs`; the mean over the days,
        `rates.mean(axis=0)`, gives the average-demand approximation
    alpha : weight of the regulariser, > 0, vehicle-minutes per minute
    tolerance : largest ‖x − x*‖₂ over all pairs together
    ceiling_min : (links,) or one number: marginal costs are cut off here (docs/proofs/minimiser.md)
    start : (pairs, links) where to start; default: the projection of 0
    max_iterations : None runs until the distance is certified; after 20,000 steps with the constant momentum of
        strongly convex functions, whose error shrinks by the factor 1 − √(α/L) in each, so that it ends

    Accelerated projected gradient (Nesterov 1983) with backtracking and the gradient restart of O'Donoghue and Candès
    (2015). Certificate, docs/proofs/projection.md Theorem 4: for x⁺ = Π(z − η∇F(z)),
    ‖x⁺ − x*‖ ≤ ‖(z − x⁺)/η + ∇F(x⁺) − ∇F(z)‖ / α, errors of the projections added.
    """
    pairs, daily = _pairs_and_days(demand, pairs)
    for name, value in (("alpha", alpha), ("tolerance", tolerance)):
        if not (isinstance(value, int | float | np.floating) and 0 < value < math.inf):
            raise DemandError(f"{name} is {value!r}; pass a finite number greater than 0")
    smoothness = _Smoothness(network, daily, float(alpha), ceiling_min)

    def slope_at(point: NDArray[np.float64]) -> NDArray[np.float64]:
        return gradient(network, daily, point, alpha=alpha, ceiling_min=ceiling_min)

    x = project(
        network, pairs, np.zeros((len(pairs), network.links)) if start is None else start, threads=threads
    ).flows
    potentials = np.zeros((len(pairs), network.nodes))
    lipschitz = smoothness.at(link_flow(network, daily, x))
    ahead, momentum = x, _Momentum(float(alpha))
    bound, iterations = math.inf, 0
    while max_iterations is None or iterations < max_iterations:
        iterations += 1
        slope = slope_at(ahead)
        while True:
            # errors of the projections enter the certificate times 2 lipschitz / alpha: keep them to a quarter of it
            each = tolerance * alpha / (8.0 * lipschitz * math.sqrt(max(len(pairs), 1)))
            each = min(max(each, smallest_tolerance(network)), 1e-9)
            done = project(
                network, pairs, ahead - slope / lipschitz, potentials=potentials, tolerance=each, threads=threads
            )
            moved = done.flows - ahead
            if lipschitz >= smoothness.everywhere or _is_small_enough(
                network, daily, ahead, moved, lipschitz - alpha, ceiling_min
            ):
                break
            lipschitz = min(2.0 * lipschitz, smoothness.everywhere)
        potentials = done.potentials
        residual = float(np.linalg.norm(moved)) * lipschitz
        if residual <= 2.0 * alpha * tolerance:  # cheap test first: the certificate costs a gradient
            change = slope_at(done.flows)
            change -= slope
            change -= moved * lipschitz
            missed = float(np.linalg.norm(done.error_bound))
            local = smoothness.at(link_flow(network, daily, done.flows), missed)
            bound = (float(np.linalg.norm(change)) + (local + lipschitz) * missed) / alpha + missed
            if bound <= tolerance:
                x = done.flows
                break
        ahead = momentum.next_point(moved, done.flows, x, lipschitz)
        x = done.flows
    converged = bound <= tolerance
    status = (
        f"certified within {bound:.2g} of the minimiser after {iterations:,} steps"
        if converged
        else f"step limit reached at {iterations:,}: raise max_iterations, alpha or tolerance"
    )
    value = float(np.mean(objective(network, daily, x, alpha=float(alpha))))
    return RegularisedOptimum(x, bound, value, iterations, converged, status)


class _Momentum:
    """Where to take the next step: ahead of the last point, in the direction in which it was reached."""

    def __init__(self, alpha: float) -> None:
        self.alpha, self.weight, self.steps = alpha, 1.0, 0

    def next_point(
        self, moved: NDArray[np.float64], now: NDArray[np.float64], before: NDArray[np.float64], lipschitz: float
    ) -> NDArray[np.float64]:
        """Nesterov's growing momentum with restarts; when they are used up the constant one, whose rate is proved."""
        self.steps += 1
        if self.steps >= _MOST_WITH_RESTARTS:
            root = math.sqrt(self.alpha / lipschitz)
            return now + (1.0 - root) / (1.0 + root) * (now - before)
        if float(np.vdot(moved, now - before)) < 0.0:  # it points uphill
            self.weight = 1.0
            return now
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * self.weight**2))
        ahead = now + (self.weight - 1.0) / following * (now - before)
        self.weight = following
        return ahead


@dataclass(frozen=True, slots=True)
class ApproximationErrors:
    """Table 2 of the paper: what the average demand costs instead of all days. Relative errors.

    evaluation : (⟨F(x°, Λ_k)⟩ − F(x°, ⟨Λ_k⟩)) / ⟨F(x°, Λ_k)⟩ at the exact sample-average minimiser x°
    solution : (⟨F(x̄, Λ_k)⟩ − ⟨F(x°, Λ_k)⟩) / ⟨F(x°, Λ_k)⟩ for the minimiser x̄ of the average demand
    """

    evaluation: float
    solution: float


def average_demand_errors(
    network: Network,
    pairs: Pairs,
    rates: ArrayLike,
    alpha: float,
    *,
    tolerance: float = 1e-6,
    threads: int | None = None,
) -> ApproximationErrors:
    """Errors 1 and 2 of the paper's Table 2 for these days: rates (days, pairs), vehicles per minute."""
    daily = daily_rates(rates, len(pairs))
    mean = daily.mean(axis=0)
    average = minimise_regularised(network, mean, alpha, pairs=pairs, tolerance=tolerance, threads=threads)
    exact = minimise_regularised(
        network, daily, alpha, pairs=pairs, tolerance=tolerance, threads=threads, start=average.flows
    )
    of_mean = float(objective(network, mean, exact.flows, alpha=alpha))
    of_average = float(np.mean(objective(network, daily, average.flows, alpha=alpha)))
    return ApproximationErrors(1.0 - of_mean / exact.objective, of_average / exact.objective - 1.0)


class _Smoothness:
    """Lipschitz constant of the gradient near a point: α + max_e (1/N) Σ_k |Λ_k|² s_e(y_ke).

    s_e(y) is the largest slope of the marginal cost at flows up to y and, if there is a ceiling, at costs below it.

    everywhere : one that holds at all points, infinite without a ceiling. Steps for it need no test, which rounding
        could fail for ever
    """

    def __init__(self, network: Network, daily: NDArray[np.float64], alpha: float, ceiling_min: ArrayLike) -> None:
        latency = network.latency
        self.network, self.alpha = network, alpha
        self.squares = np.einsum("kw,kw->k", daily, daily)
        self.steepest, self.everywhere = np.full(network.links, np.inf), math.inf
        if np.all(np.isfinite(ceiling_min)):
            self.steepest = latency.marginal_slope_bound(np.inf, ceiling_min)
            self.everywhere = alpha + float(self.squares.mean()) * float(self.steepest.max(initial=0.0))
        else:
            latency.marginal_slope_bound(1.0)  # refuses curves whose slope is infinite at zero flow

    def at(self, flow: NDArray[np.float64], distance: float = 0.0) -> float:
        """Constant that holds within `distance` of the unit flows with these link flows (days, links)."""
        reach = np.maximum(flow, 0.0) + distance * np.sqrt(self.squares)[:, None]
        slopes = np.minimum(self.network.latency.marginal_slope_up_to(reach), self.steepest)
        return self.alpha + float((self.squares @ slopes / self.squares.size).max())


def _is_small_enough(
    network: Network,
    daily: NDArray[np.float64],
    point: NDArray[np.float64],
    moved: NDArray[np.float64],
    curvature: float,
    ceiling_min: ArrayLike,
) -> bool:
    """Whether the gradient changes along the step as little as its length assumes: (1/N) Σ_k Δt_k·Δy_k ≤ L |Δx|²."""
    before = link_flow(network, daily, point)
    change = link_flow(network, daily, moved) - network.background_per_min
    cost = marginal_costs(network, before, ceiling_min)
    rise = marginal_costs(network, before + change, ceiling_min) - cost
    rounding = 1e-14 * float(np.vdot(cost, np.abs(change)))  # of the difference `rise`; otherwise tiny steps never pass
    return float(np.vdot(rise, change)) - rounding <= curvature * float(np.vdot(moved, moved)) * len(daily) * (1 + 1e-9)


def _pairs_and_days(demand: Demand | ArrayLike, pairs: Pairs | None) -> tuple[Pairs, NDArray[np.float64]]:
    if isinstance(demand, Demand):
        if pairs is not None and pairs != demand.pairs:
            raise DemandError("the demand has other pairs than `pairs`; omit `pairs`")
        return demand.pairs, daily_rates(demand, len(demand.pairs))
    if pairs is None:
        raise DemandError("rates need `pairs` to say where they go; pass a Demand, or pairs=")
    return pairs, daily_rates(demand, len(pairs))
