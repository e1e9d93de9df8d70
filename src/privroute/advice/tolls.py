"""Marginal-cost tolls: prices in minutes at which drivers who choose for themselves drive as the policy says.

    toll_e = (1 − fairness) y_e f_e'(y_e)        at the policy's link flow y, by what one vehicle more delays the others

A driver who pays it sees f + toll, which at the optimum is the marginal cost: used routes of the optimum have the least
cost, so the optimum is an equilibrium of the tolled network (Pigou). `check_tolls` solves the equilibrium and compares.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import InputError, NetworkError
from privroute.flows.optimum import solve_equilibrium
from privroute.network.checks import freeze, number_array
from privroute.network.pairs import fastest_minutes
from privroute.network.text_files import write_whole

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress

__all__ = ["TollCheck", "check_tolls", "marginal_tolls", "with_tolls", "write_tolls"]


@dataclass(frozen=True, slots=True)
class TollCheck:
    """Whether selfish drivers who pay tolls reproduce a policy.

    gap_of_policy : how far the policy's flows are from an equilibrium of the tolled network, relative to least costs
    time_difference : of the tolled equilibrium's total travel time and the policy's, relative to the policy's
    largest_flow_difference : over all links, relative to the largest flow
    """

    gap_of_policy: float
    time_difference: float
    largest_flow_difference: float


def marginal_tolls(
    network: Network, policy: RoutingPolicy, demand: Demand, *, fairness: float = 0.0
) -> NDArray[np.float64]:
    """(links,) tolls in minutes at the flow of this demand on the policy.

    fairness : with which the policy was solved
    """
    if isinstance(fairness, bool) or not isinstance(fairness, int | float) or not 0 <= fairness <= 1:
        raise InputError(f"fairness is {fairness!r}; pass a number from 0 to 1")
    flow = policy.link_flow(demand)
    latency = network.latency
    # t − f and not y f', which is 0 times infinity where a curve starts with infinite slope
    return freeze(np.maximum(latency.marginal_cost(flow) - latency.time(flow), 0.0) * (1.0 - fairness))


def with_tolls(network: Network, toll_min: ArrayLike) -> Network:
    """Return the network whose links also cost these tolls, minutes."""
    tolls = number_array(toll_min, "toll_min", network.links, NetworkError)
    return network.with_fixed_costs(network.fixed_cost_min + tolls)


def check_tolls(
    network: Network,
    policy: RoutingPolicy,
    demand: Demand,
    *,
    fairness: float = 0.0,
    gap: float = 1e-8,
    progress: Progress | None = None,
) -> TollCheck:
    """Solve the equilibrium of the tolled network and compare it with the policy.

    It agrees where the policy is the optimum of this demand at this fairness, up to the gaps of both.
    """
    tolled = with_tolls(network, marginal_tolls(network, policy, demand, fairness=fairness))
    flow = policy.link_flow(demand)
    cost = tolled.latency.time(flow) + tolled.fixed_cost_min
    least = float(demand.rate_per_min @ fastest_minutes(tolled, demand.pairs, cost))
    spent = float((flow - network.background_per_min) @ cost)
    selfish = solve_equilibrium(tolled, demand, gap=gap, progress=progress)
    total = float(flow @ network.latency.time(flow))
    return TollCheck(
        gap_of_policy=spent / least - 1.0 if least > 0 else 0.0,
        time_difference=abs(selfish.total_travel_time / total - 1.0) if total > 0 else 0.0,
        largest_flow_difference=float(np.abs(selfish.link_flow - flow).max() / max(float(flow.max()), 1e-300)),
    )


def write_tolls(
    network: Network, policy: RoutingPolicy, demand: Demand, path: str | os.PathLike[str], *, fairness: float = 0.0
) -> None:
    """Write a CSV file with a row for each link: ends, flow, time, and its toll as time, in the network's units."""
    tolls = marginal_tolls(network, policy, demand, fairness=fairness)
    flow = policy.link_flow(demand)
    minutes = network.latency.time(flow)
    labels = network.node_labels
    with write_whole(path) as stream:
        table = csv.writer(stream, lineterminator="\n")
        (flow_name, per_h), (toll_name, per_min) = (network.units.column(name) for name in ("flow_per_h", "toll_min"))
        table.writerow(["link_id", "from_node_id", "to_node_id", flow_name, network.units.times, toll_name])
        for link, name in enumerate(network.link_labels):
            table.writerow(
                [name, labels[network.tail[link]], labels[network.head[link]]]
                + [
                    f"{value:.6g}"
                    for value in (flow[link] * 60 * per_h, minutes[link] * per_min, tolls[link] * per_min)
                ]
            )
