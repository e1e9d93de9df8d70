"""How far unit flows learned from rates can move when one request is added or removed.

    F(x, Λ) = Φ(y) + α/2 ‖x‖²,   y = background + Σ_w Λ_w x_w,   Φ' = min(t, t̄)       marginal costs cut off at t̄
    t̄_e = ceiling · c_e (c the free-flow time),   slope_e = sup { t'_e(y) : y ≤ ȳ_e, t_e(y) < t̄_e }

Flows are one vector over all pairs and links, norms are ℓ2. Everything here is public: network, caps, ceiling, options,
period, number of days. Rounding of float64 (u = 2⁻⁵³) is bounded as well, so that the sensitivities hold for what the
machine computes. Proofs: docs/proofs/sgd.md and docs/proofs/minimiser.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import GuaranteeError
from privroute.flows.projection import LARGEST_POINT, smallest_tolerance
from privroute.privacy.noise import GRID
from privroute.privacy.sensitivity import summed_counts_sensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
_LONGEST_STEP = 1e-3 * LARGEST_POINT
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

    alpha, beta : ∇F(·, Λ) is α-strongly monotone and β-Lipschitz on the box [0,1]
    change : C, ‖∇F(x, Λ + h e_w) − ∇F(x, Λ)‖ ≤ C h
    norm : |cap|, at least the norm of any day's rates
    cost_rounding : bound on the rounding error of all marginal costs together
    """

    alpha: float
    beta: float
    change: float
    norm: float
    cost_rounding: float

    @classmethod
    def of(cls, network: Network, caps: NDArray[np.float64], alpha: float, ceiling: float) -> SgdBounds:
        """Bounds for rates of at most `caps`, vehicles per minute on the road, one for each pair."""
        with np.errstate(over="ignore", invalid="ignore"):  # whatever overflows is refused
            bounds = cls._of(network, caps, alpha, ceiling_min(network, ceiling))
        if not all(math.isfinite(getattr(bounds, item.name)) for item in fields(cls)):
            raise GuaranteeError(
                "the bounds on one request's effect are out of the range of floating-point numbers; choose smaller "
                "caps (public_demand, cap_factor, cap_trips) or a smaller ceiling"
            )
        return bounds

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
        return cls(alpha, beta, change, norm, _cost_rounding(network, cost, len(caps)))

    def step_rounding(self, step: float, entries: int) -> float:
        """Distance of a computed step x − η∇F from the exact one, before the projection."""
        return step * self.norm * self.cost_rounding + 8 * _U * math.sqrt(entries)


def _cost_rounding(network: Network, cost: NDArray[np.float64], pairs: int) -> float:
    """‖t̂ − t‖ for marginal costs computed from float64 flows, both cut off at the bound `cost`.

    The flow of a link is a sum of `pairs` products of numbers of one sign, so its relative error is (pairs + 2) u in
    whatever order it is summed; y t'(y) ≤ power · t(y) where t does not exceed its bound; then a few roundings more.
    """
    power = np.maximum(network.latency.elasticity_bound(cost), 1.0)
    if float(power.max(initial=1.0)) > _LARGEST_POWER:
        raise GuaranteeError(
            f"the marginal cost of a link grows like power {power.max():g} of its flow; rounding is bounded for powers "
            f"up to {_LARGEST_POWER:g}"
        )
    errors = (pairs + 4) * power + _ROUNDINGS + network.latency.roundings(cost)
    return float(np.linalg.norm(cost * errors)) * _U * 1.01


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
    pairs: int,
    links: int,
    tolerance: float,
) -> float:
    """ℓ2 change of Algorithm 1's last iterate when one request is added or removed.

        s = C h max_t η_t Π_{k>t} (1 − η_k α)  +  2 Σ_k τ_k Π_{j>k} (1 − η_j α),      η_k ≤ 2/(α + β)

    steps : (days,) η, refused where they are larger than the proof allows
    request : h, the rate of one request; cap : the largest cap, for the rounding of rates
    tolerance : public bound on the error of each pair's projection; τ_k stacks it over the pairs and adds rounding

    Proof: docs/proofs/sgd.md, Theorem 1.
    """
    if not (steps.size and np.all((steps > 0) & (steps <= (2.0 + 8 * _U) / (bounds.alpha + bounds.beta)))):
        raise GuaranteeError("a step size is not positive or above 2/(alpha + beta): the sensitivity is not proved")
    if not float(steps.max()) * cap * bounds.change < _LONGEST_STEP:
        raise GuaranteeError("alpha is so small that a step may leave the range of the projection; choose a larger one")
    left = contraction(steps, bounds.alpha)
    moved = bounds.change * (request + 4 * _U * cap) * float((steps * left).max())
    errors = np.array([math.sqrt(pairs) * tolerance + bounds.step_rounding(step, pairs * links) for step in steps])
    return (moved + 2.0 * float(errors @ left)) * (1.0 + 1e-12)


def largest_mean_rate(network: Network, *, pairs: int, alpha: float, ceiling: float, tolerance: float) -> float:
    """Public cap on each pair's mean rate below which the minimiser's distance certificate can reach `tolerance`.

    Rounding and the projections' own errors enter that certificate times up to L/α, L the step constant of the solver.
    The cap keeps them to a quarter of the tolerance each, for every data, and L/α to a million, so that the solver
    ends within some ten thousand steps. docs/proofs/minimiser.md, Lemma 2.
    """
    highest_cost = ceiling_min(network, ceiling)
    slope = network.latency.marginal_slope_bound(np.inf, highest_cost)
    each = smallest_tolerance(network) + 4 * _U * math.sqrt(network.links)
    ratio = tolerance / (16.0 * math.sqrt(max(pairs, 1)) * each) - 1.0  # how much larger than α curvature may be
    ratio = min(ratio, _WORST_CONDITION)
    if not ratio > 0:
        return 0.0
    steepest = float(slope.max(initial=0.0))
    rounding = _cost_rounding(network, highest_cost, pairs)
    norms = [math.sqrt(ratio * alpha / steepest)] if steepest else []
    norms += [tolerance * alpha / (16.0 * rounding)] if rounding else []
    return min(norms, default=1e12) / math.sqrt(max(pairs, 1))


def minimiser_sensitivity(
    network: Network, *, request: float, cap: float, days: int, alpha: float, ceiling: float, tolerance: float
) -> float:
    """ℓ2 change of the regularised optimum of the mean demand when one request is added or removed.

        s = h/N (a + √(a² + α b²)) / (2α) + 2τ,     a = ‖t̄‖,   b² = Σ_e slope_e

    request : h, the rate of one request; cap : of the mean rates, for their rounding
    tolerance : τ, public bound on the distance from the exact optimum

    Proof: docs/proofs/minimiser.md, Theorem 1.
    """
    highest_cost = ceiling_min(network, ceiling)
    slope = network.latency.marginal_slope_bound(np.inf, highest_cost)
    a, b = float(np.linalg.norm(highest_cost)), math.sqrt(float(slope.sum()))
    change = request / days + 4 * _U * cap
    return (change * (a + math.hypot(a, math.sqrt(alpha) * b)) / (2.0 * alpha) + 2.0 * tolerance) * (1.0 + 1e-12)


def on_grid_sensitivity(sensitivity: float, entries: int) -> float:
    """Sensitivity of a vector rounded to the grid of the noise: each of two roundings moves an entry by half a step.

    Proof: docs/proofs/sgd.md, Lemma 4.
    """
    return (sensitivity + math.sqrt(entries) * GRID) * (1.0 + 1e-12)
