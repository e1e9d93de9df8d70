"""How far a policy is from the best one, beside what needs no data at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privroute.demand.without_data import free_flow_policy, gravity_policy, uniform_policy
from privroute.flows.optimum import solve_equilibrium, solve_optimum
from privroute.policy.travel_time import total_travel_time

if TYPE_CHECKING:
    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy

__all__ = [
    "Baseline",
    "Comparison",
    "free_flow_policy",
    "gravity_policy",
    "policies_to_beat",
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
        solution = solve_optimum(network.with_fixed_costs(0.0), demand, gap=gap)  # of time alone
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


def policies_to_beat(network: Network, demand: Demand) -> dict[str, RoutingPolicy]:
    """What drivers do without advice, then what needs no trip, by name."""
    return {
        "no advice: equilibrium": solve_equilibrium(network, demand).policy,
        **policies_without_data(network, demand),
    }


def policies_without_data(network: Network, demand: Demand) -> dict[str, RoutingPolicy]:
    """What can be done without any trip, by name; `demand` gives the public sizes and the total."""
    return {
        "gravity model of zone sizes": gravity_policy(network, demand),
        "equal demand for all pairs": uniform_policy(network, demand.pairs, demand.total_per_min),
        "fastest paths, empty roads": free_flow_policy(network, demand.pairs),
    }
