"""How far a policy is from the best one, beside what needs no data at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privroute.demand.without_data import free_flow_policy, gravity_policy, uniform_policy
from privroute.flows.optimum import solve_equilibrium, solve_optimum
from privroute.policy.travel_time import total_travel_time
from privroute.release.quality import NEGLIGIBLE_PERCENT

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
_NO_ADVICE, _FASTEST = "no advice: equilibrium", "fastest paths, empty roads"


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

    @property
    def leaves_nothing_to_gain(self) -> bool:
        """Whether drivers without advice, or fastest paths, are near the best, as `Quality.verdict` asks."""
        return self.name in (_NO_ADVICE, _FASTEST) and self.percent <= NEGLIGIBLE_PERCENT


def policies_to_beat(network: Network, demand: Demand, sizes: str = "zone sizes") -> dict[str, RoutingPolicy]:
    """What drivers do without advice, then the same as `policies_without_data`, by name."""
    return {
        _NO_ADVICE: solve_equilibrium(network, demand).policy,
        **policies_without_data(network, demand, sizes),
    }


def policies_without_data(network: Network, demand: Demand, sizes: str = "zone sizes") -> dict[str, RoutingPolicy]:
    """What can be done without any trip, by name; `demand` gives the zones' sizes and the total.

    sizes : what these are: public, unless the demand is made of trips
    """
    return {
        f"gravity model of {sizes}": gravity_policy(network, demand),
        "equal demand for all pairs": uniform_policy(network, demand.pairs, demand.total_per_min),
        _FASTEST: free_flow_policy(network, demand.pairs),
    }
