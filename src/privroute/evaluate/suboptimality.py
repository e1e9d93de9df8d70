"""How far a policy is from the best one, beside what needs no data at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.demand.gravity import gravity_demand
from privroute.flows.optimum import solve_optimum
from privroute.network.demand import Demand
from privroute.network.pairs import free_flow_minutes
from privroute.policy.travel_time import total_travel_time

if TYPE_CHECKING:
    from privroute.network.network import Network
    from privroute.network.pairs import Pairs
    from privroute.policy.routing_policy import RoutingPolicy

__all__ = [
    "Baseline",
    "Comparison",
    "free_flow_policy",
    "gravity_policy",
    "policies_without_data",
    "uniform_policy",
]

_GAP = 1e-11


@dataclass(frozen=True, slots=True)
class Baseline:
    """The optimum of a demand, against which policies are measured.

    minutes : vehicle-minutes per minute of the optimum, a lower bound for every policy up to its gap
    """

    network: Network
    demand: Demand
    minutes: float
    relative_gap: float

    @classmethod
    def of(cls, network: Network, demand: Demand, *, gap: float = _GAP) -> Baseline:
        """Solve the optimum."""
        solution = solve_optimum(network, demand, gap=gap)
        return cls(network, demand, solution.total_travel_time, solution.relative_gap)

    def percent(self, policy: RoutingPolicy) -> float:
        """How much longer travel takes under the policy than in the optimum, percent; 0 for no traffic."""
        if self.minutes == 0:
            return 0.0
        return 100.0 * (total_travel_time(self.network, policy, self.demand) / self.minutes - 1.0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A row of a comparison: what was done and what it costs."""

    name: str
    percent: float


def free_flow_policy(network: Network, pairs: Pairs) -> RoutingPolicy:
    """Everybody on the fastest path of the empty network: no data."""
    return solve_optimum(network, Demand(pairs, np.zeros(len(pairs)))).policy


def uniform_policy(network: Network, pairs: Pairs, total_per_min: float) -> RoutingPolicy:
    """The optimum if every pair had the same demand: needs only the total."""
    rate = total_per_min / max(len(pairs), 1)
    return solve_optimum(network, Demand(pairs, np.full(len(pairs), rate))).policy


def gravity_policy(network: Network, demand: Demand) -> RoutingPolicy:
    """The optimum of a gravity model that knows the zones' sizes, the total and the mean trip, but no pair.

    These are taken from `demand`, which stands for public statistics (inhabitants, jobs, a travel survey).
    """
    if demand.total_per_min == 0:
        return free_flow_policy(network, demand.pairs)
    sends = np.bincount(demand.pairs.origin, demand.rate_per_min, network.nodes)[network.zones]
    receives = np.bincount(demand.pairs.destination, demand.rate_per_min, network.nodes)[network.zones]
    minutes = float(demand.rate_per_min @ free_flow_minutes(network, demand.pairs)) / demand.total_per_min
    model = gravity_demand(
        network, demand.pairs, sends, receives, total_per_min=demand.total_per_min, mean_minutes=minutes
    )
    return solve_optimum(network, model).policy


def policies_without_data(network: Network, demand: Demand) -> dict[str, RoutingPolicy]:
    """What can be done without any trip, by name; `demand` gives the public sizes and the total."""
    return {
        "gravity model of zone sizes": gravity_policy(network, demand),
        "equal demand for all pairs": uniform_policy(network, demand.pairs, demand.total_per_min),
        "fastest paths, empty roads": free_flow_policy(network, demand.pairs),
    }
