"""How far unit flows learned from rates can move when one request is added or removed.

    F(x, Λ) = Φ(y) + α/2 |x|²_W,   y = background + Σ_w Λ_w x_w,   Φ' = min(t, t̄)      marginal costs cut off at t̄
    slope_e = sup { t'_e(y) : y ≤ ȳ_e, t_e(y) < t̄_e },      |x|²_W = Σ_w u_w Σ_e w_e x_we²

Flows are one vector over all pairs and the links of their route sets. Everything here is public: network, route sets,
metric, caps, ceiling, options, period, number of days. Rounding of float64 (u = 2⁻⁵³) is bounded as well, so that the
sensitivities hold for what the machine computes. Proofs: docs/proofs/sgd.md and docs/proofs/minimiser.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import GuaranteeError
from privroute.flows.route_metric import LARGEST_ROUTE_POINT, smallest_route_tolerance
from privroute.privacy.noise import GRID
from privroute.privacy.sensitivity import summed_counts_sensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.flows.route_metric import RouteMetric
    from privroute.flows.route_sets import RouteSets
    from privroute.network.network import Network
    from privroute.study.frame import Frame
    from privroute.study.guarantee import Guarantee

__all__ = [
    "SgdBounds",
    "largest_mean_rate",
    "minimiser_sensitivity",
    "on_grid_sensitivity",
    "rate_of_one_request",
    "sgd_sensitivity",
]

_U = 2.0**-53
_LONGEST_STEP = 1e-3 * LARGEST_ROUTE_POINT
_LARGEST_POWER = 1e3  # relative errors of flows enter costs times the power: keeps them to first order
_WORST_CONDITION = 1e6  # of the minimiser's problem: √1e6 steps shrink the error by e
_ROUNDINGS = 20  # operations on a marginal cost and its way into the step, more than there are


def rate_of_one_request(guarantee: Guarantee, frame: Frame) -> float:
    """h, by how much one request changes its pair's rate on its day, vehicles per minute."""
    if guarantee.unit != "request":
        raise GuaranteeError(
            f"no sensitivity of unit flows is proved for the unit {guarantee.unit!r}; counts and daily protect it"
        )
    # a request changes one count by 1, unless users' contributions are bounded, which is refused
    return summed_counts_sensitivity(guarantee, frame.contribution) * frame.expansion / frame.period_min


def ceiling_min(network: Network, ceiling: float) -> NDArray[np.float64]:
    """(links,) t̄, where marginal costs are cut off: a public multiple of the free-flow time, infinite for none."""
    free = network.free_flow_min
    with np.errstate(over="ignore"):  # infinite is no ceiling
        return np.multiply(free, ceiling, out=np.zeros(free.shape), where=free > 0)


@dataclass(frozen=True, slots=True)
class SgdBounds:
    """Constants of Algorithm 1 that hold for every day within the caps. docs/proofs/sgd.md, Lemmas 1 and 2.

    alpha, beta : W⁻¹∇F(·, Λ) is α-strongly monotone and β-Lipschitz on the box [0,1], in the W-norm
    change : C, W⁻¹∇F(x, Λ + h e_w) − W⁻¹∇F(x, Λ) has a W-norm of at most C h, but for potentials, which move nothing
    norm : (Σ cap²/u)^½, at least the norm of any day's rates
    cost_rounding : bound on the rounding error of all marginal costs together, each divided by √w
    reach : largest entry of W⁻¹∇F, but for the regulariser
    """

    alpha: float
    beta: float
    change: float
    norm: float
    cost_rounding: float
    reach: float = 0.0

    @classmethod
    def of(cls, network: Network, caps: NDArray[np.float64], alpha: float, ceiling: float) -> SgdBounds:
        """Bounds for rates of at most `caps`, vehicles per minute on the road, one for each pair."""
        with np.errstate(over="ignore", invalid="ignore"):  # whatever overflows is refused
            bounds = cls._of(network, caps, alpha, ceiling_min(network, ceiling))
        return _finite(bounds)

    @classmethod
    def _of(
        cls, network: Network, caps: NDArray[np.float64], alpha: float, highest_cost: NDArray[np.float64]
    ) -> SgdBounds:
        most = network.background_per_min + float(caps.sum())
        cost = network.latency.marginal_cost_bound(most, highest_cost)
        slope = network.latency.marginal_slope_bound(most, highest_cost)
        norm, largest = float(np.linalg.norm(caps)), float(caps.max(initial=0.0))
        steepest = float(np.linalg.norm(slope))
        own = float(np.linalg.norm(cost)) + largest * steepest
        change = math.hypot(own, math.sqrt(max(norm * norm - largest * largest, 0.0)) * steepest)
        beta = alpha + norm * norm * float(slope.max(initial=0.0))
        reach = largest * float(cost.max(initial=0.0))
        return cls(alpha, beta, change, norm, _cost_rounding(network, cost, len(caps)), reach)

    @classmethod
    def on_routes(
        cls,
        sets: RouteSets,
        metric: RouteMetric,
        caps: NDArray[np.float64],
        alpha: float,
        highest_cost: NDArray[np.float64],
    ) -> SgdBounds:
        """Bounds for rates of at most `caps` on public route sets, in a public metric.

        highest_cost : (links,) t̄, minutes
        """
        network = sets.network
        with np.errstate(over="ignore", invalid="ignore"):  # whatever overflows is refused
            most = network.background_per_min + sets.sum_by_link(caps)
            low, high, slope = _costs_and_slope(network, most, highest_cost)
            inverse, share = 1.0 / metric.link, caps**2 / metric.pair
            crowd = sets.sum_by_link(share)  # Σ cap²/u over the pairs that may use a link
            beta = alpha + float((slope * inverse * crowd).max(initial=0.0))
            own = np.sqrt(sets.cost_spread(low, high, inverse))
            steep = slope**2 * inverse
            beside = sets.heaviest(steep * crowd * (1.0 + 1e-9), steep, share)
            change = (own + caps * np.sqrt(sets.heaviest(steep))) ** 2 / metric.pair + beside
            rounding = _route_cost_rounding(sets, metric, most, high, slope)
            bounds = cls(
                alpha,
                beta * (1.0 + 1e-9),
                math.sqrt(float(change.max(initial=0.0))) * (1.0 + 1e-9),
                math.sqrt(float(share.sum())) * (1.0 + 1e-9),
                rounding,
                float((caps / metric.pair).max(initial=0.0)) * float((high * inverse).max(initial=0.0)),
            )
        return _finite(bounds)

    def step_rounding(self, step: float, entries: float) -> float:
        """Distance of a computed step x − ηW⁻¹∇F from the exact one, before the projection; entries : their weight."""
        return step * self.norm * self.cost_rounding + 8 * _U * math.sqrt(entries)


def _finite(bounds: SgdBounds) -> SgdBounds:
    if not all(math.isfinite(getattr(bounds, item.name)) for item in fields(bounds)):
        raise GuaranteeError(
            "the bounds on one request's effect are out of the range of floating-point numbers; choose smaller "
            "caps (public_demand, cap_factor, cap_trips) or a smaller ceiling"
        )
    return bounds


def _costs_and_slope(
    network: Network, most: NDArray[np.float64], highest_cost: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Least and largest marginal cost, and the steepest slope, of flows between the background and `most`."""
    latency = network.latency
    high = latency.marginal_cost_bound(most, highest_cost)
    low = np.minimum(latency.marginal_cost(network.background_per_min), high)
    return low, high, latency.marginal_slope_bound(most, highest_cost)


def loads_per_unit(most: NDArray[np.float64]) -> float:
    """How many units a rate of 1 is, a power of 2: sums of 61 bits hold the largest load."""
    largest = min(max(float(most.max(initial=0.0)), 2.0**-900), 2.0**900)  # what is beyond is refused elsewhere
    return 2.0 ** (60 - math.ceil(math.log2(largest)))


def _route_cost_rounding(
    sets: RouteSets,
    metric: RouteMetric,
    most: NDArray[np.float64],
    cost: NDArray[np.float64],
    slope: NDArray[np.float64],
) -> float:
    """As `_cost_rounding`, for loads that are summed in whole units, each link's error divided by √w."""
    network = sets.network
    pairs = sets.sum_by_link(np.ones(len(sets)))
    power = _checked_power(network, cost)
    errors = cost * (8.0 * power + _ROUNDINGS + network.latency.roundings(cost)) * _U
    errors += slope * pairs / loads_per_unit(most - network.background_per_min)
    return float(np.linalg.norm(errors / np.sqrt(metric.link))) * 1.01


def _checked_power(network: Network, cost: NDArray[np.float64]) -> NDArray[np.float64]:
    power = np.maximum(network.latency.elasticity_bound(cost), 1.0)
    if float(power.max(initial=1.0)) > _LARGEST_POWER:
        raise GuaranteeError(
            f"the marginal cost of a link grows like power {power.max():g} of its flow; rounding is bounded for powers "
            f"up to {_LARGEST_POWER:g}"
        )
    return power


def _cost_rounding(
    network: Network, cost: NDArray[np.float64], pairs: int, root: NDArray[np.float64] | float = 1.0
) -> float:
    """‖(t̂ − t)/root‖ for marginal costs computed from float64 flows, both cut off at the bound `cost`.

    The flow of a link is a sum of `pairs` products of numbers of one sign, so its relative error is (pairs + 2) u in
    whatever order it is summed; y t'(y) ≤ power · t(y) where t does not exceed its bound; then a few roundings more.
    """
    power = _checked_power(network, cost)
    errors = (pairs + 4) * power + _ROUNDINGS + network.latency.roundings(cost)
    return float(np.linalg.norm(cost * errors / root)) * _U * 1.01


def contraction(steps: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """(days,) Π_{k > t} (1 − η_k α), rounded upwards: what is left at the end of a difference made on day t."""
    factors = 1.0 - steps * alpha + 16 * _U
    return np.append(np.cumprod(factors[:0:-1])[::-1], 1.0)


def sgd_sensitivity(
    bounds: SgdBounds,
    steps: NDArray[np.float64],
    *,
    request: float,
    cap: float,
    pairs: float,
    entries: float,
    tolerance: float,
    rounds: int = 1,
) -> float:
    """W-norm of the change of Algorithm 1's last iterate when one request is added or removed.

        s = C h max_t Σ_{k in day t} η_k Π_{j>k} (1 − η_j α)  +  2 Σ_{k≥0} τ_k Π_{j>k} (1 − η_j α),      η_k ≤ 2/(α + β)

    steps : (days · rounds,) η, refused where they are larger than the proof allows
    request : h, the rate of one request; cap : the largest cap, for the rounding of rates
    pairs, entries : sums of the weights of all pairs and of all entries; their numbers for W = 1
    tolerance : public bound on the error of each pair's projection; τ_k stacks it over the pairs and adds rounding, but
        for τ_0, that of the start
    rounds : r, steps on each day

    Proof: docs/proofs/sgd.md, Theorem 1.
    """
    if not (steps.size and np.all((steps > 0) & (steps <= (2.0 + 8 * _U) / (bounds.alpha + bounds.beta)))):
        raise GuaranteeError("a step size is not positive or above 2/(alpha + beta): the sensitivity is not proved")
    if not float(steps.max()) * bounds.reach < _LONGEST_STEP:
        raise GuaranteeError("alpha is so small that a step may leave the range of the projection; choose a larger one")
    left = contraction(steps, bounds.alpha)
    of_day = (steps * left).reshape(-1, rounds).sum(axis=1)  # a request is in all steps of its day
    moved = bounds.change * (request + 4 * _U * cap) * float(of_day.max())
    errors = np.array([math.sqrt(pairs) * tolerance + bounds.step_rounding(step, entries) for step in steps])
    start = math.sqrt(pairs) * tolerance * (1.0 - float(steps[0]) * bounds.alpha + 16 * _U) * float(left[0])
    return (moved + 2.0 * (start + float(errors @ left))) * (1.0 + 1e-12)


def largest_mean_rate(
    sets: RouteSets, metric: RouteMetric, *, alpha: float, ceiling: NDArray[np.float64], tolerance: float
) -> float:
    """Public cap on each pair's mean rate below which the minimiser's distance certificate can reach `tolerance`.

    ceiling : (links,) t̄, minutes

    Rounding and the projections' own errors enter that certificate times up to L/α, L the step constant of the solver.
    The cap keeps them to a quarter of the tolerance each, for every data, and L/α to a million, so that the solver
    ends within some ten thousand steps. docs/proofs/minimiser.md, Lemma 2.
    """
    network = sets.network
    slope = network.latency.marginal_slope_bound(np.inf, ceiling)
    pairs, shares = float(metric.pair.sum()), float((1.0 / metric.pair).sum())
    each = smallest_route_tolerance(sets, metric) + 4 * _U * math.sqrt(float(metric.link.sum()))
    ratio = tolerance / (16.0 * math.sqrt(max(pairs, 1e-9)) * each) - 1.0  # how much larger than α curvature may be
    ratio = min(ratio, _WORST_CONDITION)
    if not ratio > 0:
        return 0.0
    steepest = float((slope / metric.link * sets.sum_by_link(1.0 / metric.pair)).max(initial=0.0))
    rounding = _cost_rounding(network, ceiling, len(sets), np.sqrt(metric.link)) * math.sqrt(shares)
    caps = [math.sqrt(ratio * alpha / steepest)] if steepest else []
    caps += [tolerance * alpha / (16.0 * rounding)] if rounding else []
    return min(caps, default=1e12)


def minimiser_sensitivity(
    sets: RouteSets,
    metric: RouteMetric,
    *,
    request: float,
    cap: float,
    days: int,
    alpha: float,
    ceiling: NDArray[np.float64],
    tolerance: float,
) -> float:
    """W-norm of the change of the regularised optimum of the mean demand when one request is added or removed.

        s = max_w h/N (a_w + √(a_w² + α b_w²)) / (2α) + 2τ

    a_w : costs up to t̄ on the links of w, but for potentials, over √(u_w w_e);   b_w² : steepest path of w
    request : h, the rate of one request; cap : of the mean rates, for their rounding
    tolerance : τ, public bound on the distance from the exact optimum

    Proof: docs/proofs/minimiser.md, Theorem 1.
    """
    low, high, slope = _costs_and_slope(sets.network, np.full(sets.network.links, np.inf), ceiling)
    own = np.sqrt(sets.cost_spread(low, high, 1.0 / metric.link) / metric.pair)
    steep = np.sqrt(sets.heaviest(slope))
    change = request / days + 4 * _U * cap
    moved = change * (own + np.hypot(own, math.sqrt(alpha) * steep)) / (2.0 * alpha)
    return (float(moved.max(initial=0.0)) + 2.0 * tolerance) * (1.0 + 1e-9)


def on_grid_sensitivity(sensitivity: float, entries: int) -> float:
    """Sensitivity of a vector rounded to the grid of the noise: each of two roundings moves an entry by half a step.

    Proof: docs/proofs/sgd.md, Lemma 4.
    """
    return (sensitivity + math.sqrt(entries) * GRID) * (1.0 + 1e-12)
