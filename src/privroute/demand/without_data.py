"""Policies that need no trip: what a learned policy has to beat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.demand.gravity import gravity_demand
from privroute.flows.optimum import solve_optimum
from privroute.network.demand import Demand
from privroute.network.pairs import free_flow_minutes

if TYPE_CHECKING:
    from privroute.network.network import Network
    from privroute.network.pairs import Pairs
    from privroute.policy.routing_policy import RoutingPolicy

__all__ = ["free_flow_policy", "gravity_policy", "uniform_policy"]

_GAP = 1e-8


def free_flow_policy(network: Network, pairs: Pairs) -> RoutingPolicy:
    """Everybody on the fastest path of the empty network: no data."""
    return solve_optimum(network, Demand(pairs, np.zeros(len(pairs)))).policy


def uniform_policy(
    network: Network, pairs: Pairs, total_per_min: float, *, gap: float = _GAP, **options: Any
) -> RoutingPolicy:
    """The optimum if every pair had the same demand: needs only the total. options : of `solve_optimum`."""
    rate = total_per_min / max(len(pairs), 1)
    return solve_optimum(network, Demand(pairs, np.full(len(pairs), rate)), gap=gap, **options).policy


def gravity_policy(network: Network, demand: Demand, *, gap: float = _GAP, **options: Any) -> RoutingPolicy:
    """The optimum of a gravity model that knows the zones' sizes, the total and the mean trip, but no pair.

    These are taken from `demand`, which stands for public statistics (inhabitants, jobs, a travel survey).
    options : of `solve_optimum`
    """
    if demand.total_per_min == 0:
        return free_flow_policy(network, demand.pairs)
    sends = np.bincount(demand.pairs.origin, demand.rate_per_min, network.nodes)[network.zones]
    receives = np.bincount(demand.pairs.destination, demand.rate_per_min, network.nodes)[network.zones]
    minutes = float(demand.rate_per_min @ free_flow_minutes(network, demand.pairs)) / demand.total_per_min
    model = gravity_demand(
        network, demand.pairs, sends, receives, total_per_min=demand.total_per_min, mean_minutes=minutes
    )
    return solve_optimum(network, model, gap=gap, **options).policy
