"""The optimum over days whose traffic differs by whole factors, in place of the optimum of the mean day.

    min over x of the mean over days k of F(x, s_k Λ),    mean of s_k = 1

For BPR curves the mean over days is BPR again: with link flow s y it is y c (1 + b E[s^(p+1)] (y/k)^p), so any solver
does it. The factors are taken to be lognormal with coefficient of variation v: E[s^q] = (1 + v²)^(q (q − 1) / 2).
Background traffic is taken to vary with the rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.flows.optimum import solve_optimum
from privroute.policy.routing_policy import RoutingPolicy
from privroute.study.options import check_all_days

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.flows.optimum import Solution
    from privroute.network.demand import Demand
    from privroute.network.network import Network

__all__ = ["day_variation", "for_all_days", "solve_for_all_days"]

LARGEST_VARIATION = 2.0


def for_all_days(network: Network, variation: float) -> Network:
    """The network whose total travel time at a demand is the mean over days that vary around it."""
    latency = network.latency
    check_all_days(latency)
    b, power = latency.parameters[:, 0], latency.parameters[:, 1]
    moment = (1.0 + min(variation, LARGEST_VARIATION) ** 2) ** (power * (power + 1.0) / 2.0)
    parameters = latency.parameters.copy()
    parameters[:, 0] = b * moment
    return replace(network, latency=replace(latency, parameters=parameters))


def solve_for_all_days(network: Network, demand: Demand, variation: float, **options: Any) -> Solution:
    """The policy with the least mean travel time over days whose totals have this coefficient of variation.

    The policy is one of `network`; gap and iterations are those of the problem that was solved.
    """
    found = solve_optimum(for_all_days(network, variation), demand, **options)
    policy = RoutingPolicy.by_origin(network, found.policy.pairs, **found.policy.bushes.arrays())
    return replace(found, policy=policy)


def day_variation(totals: NDArray[np.float64], deviation: float) -> float:
    """Coefficient of variation of the days beyond noise and the chance of single trips.

    totals : (days,) noisy trips of each day; deviation : of the noise in each
    """
    mean = float(totals.mean()) if totals.size else 0.0
    if totals.size < 2 or not mean > 0:  # noqa: PLR2004 - one day does not vary
        return 0.0
    beyond = float(totals.var(ddof=1)) - deviation**2 - mean
    return min(float(np.sqrt(max(beyond, 0.0))) / mean, LARGEST_VARIATION)
