"""How far kept trips, scaled to a known total, may be from all trips: public, for `quality`.

Where users are bounded, policies are measured on the demand Λ of the kept trips, scaled. That of all trips is Λ + δ.
If the kept ones are a random sample, δ has mean 0 and covariance diag(variance) + total_error² rate rateᵀ. For a policy
x at prices t and a bound with minutes d,

    E(Λ + δ) − E(Λ) = Σ_w δ_w (Σ_e x_we t_e − d_w) + ½ Σ_e t'_e (x δ)_e²

The first sum widens the deviation of the measured excess. The second is not negative, so it is slack: an upper quantile
of a weighted sum of squares. docs/proofs/quality.md, Lemma 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import NetworkError
from privroute.network.curves import number_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.flows.time_bounds import LeastTime
    from privroute.network.demand import Demand
    from privroute.network.latency import Latency
    from privroute.policy.routing_policy import RoutingPolicy

__all__ = ["KeptSample"]

_REACHES = (3.0, 2.0, 1.0, 0.5)  # deviations of a link flow over which its marginal cost is taken to be straight
_RARE = math.log(1000.0)  # the slack is exceeded with probability 0.1 %
_ROUNDS = 4  # of the bound on the largest eigenvalue
_SMALLEST = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class KeptSample:
    """Errors of scaled rates, all public.

    rate : (pairs,) modelled rates of all trips, vehicles per minute
    variance : (pairs,) of the rates of the kept trips, scaled, around those of all trips
    total_error : relative deviation of the total to which they are scaled
    """

    rate: NDArray[np.float64]
    variance: NDArray[np.float64]
    total_error: float

    @classmethod
    def of(cls, model: Demand, request: float, factor: float, total_error: float, *, heaviest: int = 1) -> KeptSample:
        """Of one trip in `factor` a random sample is kept; `request` is what each of them stands for after scaling.

        A pair with N trips keeps a binomial number n of them, so request · n has the variance
        request² · n · (1 − 1/factor). Trips with weights, up to `heaviest`, are kept whole or not at all: the
        variance is at most that many times as large.
        """
        left_out = max(1.0 - 1.0 / max(factor, 1.0), 0.0)
        rate = model.rate_per_min
        return cls(rate, heaviest * request * left_out * rate, total_error)

    def of_least(self, minutes: NDArray[np.float64]) -> float:
        """Deviation of Σ_w δ_w minutes_w."""
        apart = math.sqrt(float(self.variance @ (minutes * minutes)))
        return math.hypot(apart, self.total_error * float(self.rate @ minutes))

    def of_excess(self, policy: RoutingPolicy, least: LeastTime) -> tuple[float, float]:
        """Deviation and slack of the excess of a policy; the slack is infinite where marginal costs jump at kinks."""
        network, load, expected = policy.network, policy.stored.load, policy.stored.expected
        routed = load(self.rate)
        flow = network.background_per_min + routed
        # Σ x² ≤ Σ x for shares of the pairs' trips
        spread = np.sqrt(load(self.variance) + (self.total_error * routed) ** 2)
        price = network.latency.marginal_cost(flow)
        slope = _steepness(network.latency, flow, spread)
        if not np.isfinite(slope).all():
            return self.of_least(expected(price) - least.minutes), math.inf
        trace = float(slope @ spread**2)
        if not 0 < trace < math.inf:
            return self.of_least(expected(price) - least.minutes), max(trace, 0.0) if trace < math.inf else math.inf
        largest, weight = trace, (slope * spread**2 > 0).astype(np.float64)
        used = weight > 0
        for _ in range(_ROUNDS):  # no eigenvalue of a matrix without negative entries exceeds max (A g)/g, g > 0
            along = expected(weight)
            moved = load(self.variance * along) + self.total_error**2 * float(self.rate @ along) * routed
            found = slope * moved
            largest = min(largest, float((found[used] / weight[used]).max()))
            weight = np.where(used, found / found.max(), 0.0)
        slack = trace / 2 + math.sqrt(largest * trace * _RARE) + largest * _RARE
        return self.of_least(expected(price) - least.minutes), slack


def _steepness(latency: Latency, flow: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """(links,) slope of the marginal cost around a flow: the steepest secant of BPR curves, else the steepest slope."""
    secant = latency.curve == number_of("bpr")
    if np.any((latency.curve == number_of("piecewise")) & ~latency.straight):
        return np.full(flow.size, np.inf)
    price, slope = latency.marginal_cost(flow), np.zeros(flow.size)
    for reach in _REACHES:  # where the marginal cost is convex, the farthest upwards is the steepest
        for other in (flow + reach * spread, np.maximum(flow - reach * spread, 0.0)):
            with np.errstate(over="ignore"):
                change = np.abs(latency.marginal_cost(other) - price)
            slope = np.maximum(slope, change / np.maximum(np.abs(other - flow), _SMALLEST))
    if secant.all():
        return slope
    try:
        steepest = latency.marginal_slope_up_to(flow + max(_REACHES) * spread)
    except NetworkError:  # no finite bound
        return np.full(flow.size, np.inf)
    return np.where(secant, slope, steepest)
