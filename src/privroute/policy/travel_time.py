"""What a policy costs the travellers of a demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import DemandError
from privroute.network.pairs import fastest_minutes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy

__all__ = ["TravelTimes", "total_travel_time", "travel_times", "volume_over_capacity"]


@dataclass(frozen=True, slots=True, eq=False)
class TravelTimes:
    """Minutes per pair when a demand follows a policy.

    expected_min : (pairs,) expected minutes on the policy's routes
    fastest_min : (pairs,) minutes of the fastest path at the same link times
    detour : (pairs,) expected / fastest, 1 where both are 0
    """

    expected_min: NDArray[np.float64]
    fastest_min: NDArray[np.float64]
    detour: NDArray[np.float64]


def total_travel_time(network: Network, policy: RoutingPolicy, demand: Demand) -> float:
    """F = Σ_e y_e f_e(y_e) for y = background + Σ_w Λ_w x_w: vehicle-minutes per minute."""
    flow = _flow(network, policy, demand)
    return float(flow @ network.latency.time(flow))


def travel_times(network: Network, policy: RoutingPolicy, demand: Demand) -> TravelTimes:
    """Expected and fastest minutes and the detour factor of every pair, at the times that the demand causes."""
    minutes = network.latency.time(_flow(network, policy, demand))
    expected = policy.expected(minutes)
    fastest = fastest_minutes(network, policy.pairs, minutes)
    detour = np.divide(expected, fastest, out=np.where(expected > 0, np.inf, 1.0), where=fastest > 0)
    return TravelTimes(expected, fastest, detour)


def volume_over_capacity(network: Network, policy: RoutingPolicy, demand: Demand) -> NDArray[np.float64]:
    """(links,) flow divided by capacity, background included."""
    return _flow(network, policy, demand) / network.capacity_per_min


def _flow(network: Network, policy: RoutingPolicy, demand: Demand) -> NDArray[np.float64]:
    if network is policy.network:
        return policy.link_flow(demand)
    theirs = policy.network
    if not (np.array_equal(network.tail, theirs.tail) and np.array_equal(network.head, theirs.head)):
        raise DemandError("the policy belongs to a network with other links")
    return policy.link_flow(demand) - policy.network.background_per_min + network.background_per_min
