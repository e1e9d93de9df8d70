"""Fairness: how differently the routes of one pair fare, and what a fairer policy costs in total.

Used routes of a pair w have the times T_w1 ≤ ... ≤ T_wk. The pair's unfairness is T_wk / T_w1: 1 in an equilibrium,
more in the optimum. `solve_optimum(fairness=)` lies between them. With θ = 1 − fairness a used route costs least in
f + θ y f', which is between f and (1 + θ E) f with E = max y f'/f: no pair's unfairness exceeds 1 + θ E, and the total
travel time never falls as fairness rises (docs/advice.md). Where links have fixed costs, both hold for time and fixed
cost together, which is what drivers compare; unfairness is measured so.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import DemandError, InputError
from privroute.flows.optimum import solve_optimum
from privroute.progress import check_progress, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress

__all__ = ["DEFAULT_LEVELS", "FairnessRow", "Unfairness", "fairness_curve", "unfairness"]

DEFAULT_LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
_LEAST_SHARE = 1e-3


@dataclass(frozen=True, slots=True)
class Unfairness:
    """Longest over shortest time, fixed costs included, of the used routes of a pair.

    worst : of all pairs with demand
    mean : over all trips
    """

    worst: float
    mean: float


@dataclass(frozen=True, slots=True)
class FairnessRow:
    """The policy of one level of fairness.

    total_travel_time : vehicle-minutes per minute, without fixed costs
    above_optimum : percent above the first row's least total time
    worst, mean : unfairness of the worst pair and of the mean trip
    bound : 1 + (1 − fairness) max y f'/f, which theory allows for the worst pair
    """

    fairness: float
    total_travel_time: float
    above_optimum: float
    worst: float
    mean: float
    bound: float
    relative_gap: float

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def unfairness(
    network: Network, policy: RoutingPolicy, demand: Demand, *, least_share: float = _LEAST_SHARE
) -> Unfairness:
    """Measure the routes of each pair against each other, at the times that the demand causes on the policy.

    least_share : as in `RoutingPolicy.route_range`: which routes count as used
    """
    used = demand.rate_per_min > 0
    if not used.any():
        raise DemandError("the demand is zero for all pairs, so no route is used")
    minutes = network.latency.time(policy.link_flow(demand)) + network.fixed_cost_min
    low, high = (values[used] for values in policy.route_range(minutes, least_share=least_share))
    ratio = np.divide(high, low, out=np.where(high > 0, np.inf, 1.0), where=low > 0)
    return Unfairness(float(ratio.max()), float(np.average(ratio, weights=demand.rate_per_min[used])))


def fairness_curve(
    network: Network,
    demand: Demand,
    *,
    levels: Sequence[float] = DEFAULT_LEVELS,
    gap: float = 1e-8,
    least_share: float = _LEAST_SHARE,
    progress: Progress | None = None,
) -> tuple[FairnessRow, ...]:
    """Solve the optimum for several levels of fairness: the trade-off of total time against unfairness.

    levels : from 0 to 1, rising; each solution is the start of the next
    """
    check_progress(progress)
    if not levels or list(levels) != sorted(set(levels)):
        raise InputError("levels must be numbers from 0 to 1, rising, at least one")
    rows: list[FairnessRow] = []
    solution = None
    for number, fairness in enumerate(levels):
        tell(progress, "Solving levels of fairness", number / len(levels))
        solution = solve_optimum(network, demand, fairness=fairness, gap=gap, start=solution)
        measured = unfairness(network, solution.policy, demand, least_share=least_share)
        least = rows[0].total_travel_time if rows else solution.total_travel_time
        rows.append(
            FairnessRow(
                fairness=float(fairness),
                total_travel_time=solution.total_travel_time,
                above_optimum=100.0 * (solution.total_travel_time / least - 1.0) if least > 0 else 0.0,
                worst=measured.worst,
                mean=measured.mean,
                bound=1.0 + (1.0 - fairness) * _elasticity(network, solution.link_flow),
                relative_gap=solution.relative_gap,
            )
        )
    tell(progress, "Solving levels of fairness", 1.0)
    return tuple(rows)


def _elasticity(network: Network, flow: NDArray[np.float64]) -> float:
    """Max y f'/f over links that take time and carry flow."""
    minutes = network.latency.time(flow)
    carrying = (flow > 0) & (minutes > 0)
    if not carrying.any():
        return 0.0
    slope = network.latency.time_slope(flow)
    return float((flow[carrying] * slope[carrying] / minutes[carrying]).max())
