"""Which links to count trips on, and how precisely, so that what a routing policy depends on becomes known.

The loss of a routing policy is a quadratic form of errors of link flows, weighted by the curvature κ_l = t_l'(y_l) of
each link's cost. A trip is counted on at most `most` links of the path that its pair most probably takes in the optimum
of a public estimate. With precision p_l on link l, the loss grows with Σ κ_l / p_l, and what a trip costs is the sum of
p_l over its links; for one path the best p_l are proportional to √κ_l.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from privroute.flows.optimum import solve_optimum
from privroute.policy.main_paths import main_paths
from privroute.threads import available_threads, shared_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy

__all__ = ["CountedLinks", "counted_links"]

_EMPTY = 0.05  # of the capacity: curvature is taken at this flow at least, since the estimate of a quiet link is noise
_CLIPPED = 0.7  # quantile beyond which curvature counts no more: the estimate of it is noise too
_ROUTES_GAP, _ROUTES_ITERATIONS = 1e-6, 100  # main paths need no more, and are of use whatever gap was reached
_PAIRS_AT_ONCE = 2**16  # whose paths are in memory


@dataclass(frozen=True, slots=True, eq=False)
class CountedLinks:
    """Rows of link loads.

    members : (pairs, rows) sparse CSR of ones: a pair is in at most `most` rows
    precision : (rows,) > 0, relative; its sum over the rows of a pair is at most 1, and 1 for some pair
    policy : the optimum whose paths these are
    """

    members: sparse.csr_array
    precision: NDArray[np.float64]
    policy: RoutingPolicy


def counted_links(
    network: Network, demand: Demand, most: int, *, gap: float = _ROUTES_GAP, start: RoutingPolicy | None = None
) -> CountedLinks:
    """Links on which trips of each pair are to be counted, given an estimate of the demand.

    gap : of the optimum, at least 1e-6; start : an earlier optimum of the same pairs
    """
    solution = solve_optimum(network, demand, gap=max(gap, _ROUTES_GAP), max_iterations=_ROUTES_ITERATIONS, start=start)
    weight = _weight(network, solution.link_flow)
    number, links = _counted(solution.policy, weight, most)
    used = np.flatnonzero(np.bincount(links, minlength=network.links))
    row = np.zeros(network.links, np.int32)
    row[used] = np.arange(used.size)
    ends = np.concatenate([[0], np.cumsum(number)])
    members = sparse.csr_array((np.ones(links.size), row[links], ends), (number.size, used.size))
    members.sum_duplicates()  # sensitivities are computed from its entries
    cost = float((members @ weight[used]).max(initial=0.0))
    return CountedLinks(members, weight[used] / cost if cost > 0 else weight[used], solution.policy)


def _counted(
    policy: RoutingPolicy, weight: NDArray[np.float64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Number of counted links of each pair, (pairs,), and these links, one pair after the other."""

    def of(first: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        start, links = main_paths(policy, np.arange(first, min(first + _PAIRS_AT_ONCE, len(policy.pairs))))
        pair = np.repeat(np.arange(start.size - 1), np.diff(start))
        kept = _heaviest(pair, start, weight[links], most)
        return np.bincount(pair[kept], minlength=start.size - 1), links[kept]

    starts = range(0, len(policy.pairs), _PAIRS_AT_ONCE)
    with shared_by(min(available_threads(), len(starts))) as each:
        blocks = list(each(of, starts))
    if not blocks:
        return np.zeros(0, np.int64), np.zeros(0, np.int32)
    return np.concatenate([number for number, _ in blocks]), np.concatenate([links for _, links in blocks])


def _weight(network: Network, flow: NDArray[np.float64]) -> NDArray[np.float64]:
    """(links,) √κ in units of its clipping level, at most 1; zero where the cost does not depend on the flow."""
    with np.errstate(over="ignore"):
        slope = network.latency.marginal_slope(np.maximum(flow, _EMPTY * network.capacity_per_min))
    weight = np.sqrt(np.where(np.isfinite(slope), slope, np.inf))
    carrying = weight[(weight > 0) & (flow > network.background_per_min)]
    level = float(np.quantile(carrying, _CLIPPED, method="lower")) if carrying.size else 0.0
    if not 0 < level < np.inf:
        return (weight > 0).astype(np.float64)
    return np.minimum(weight / level, 1.0)


def _heaviest(
    pair: NDArray[np.intp], start: NDArray[np.int64], weight: NDArray[np.float64], most: int
) -> NDArray[np.intp]:
    """Positions of the `most` heaviest links of each pair, and of none without weight."""
    order = np.lexsort((-weight, pair))
    rank = np.arange(order.size) - start[:-1][pair]
    return np.asarray(order[(rank < most) & (weight[order] > 0)])
