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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network

__all__ = ["CountedLinks", "counted_links"]

_EMPTY = 0.05  # of the capacity: curvature is taken at this flow at least, since the estimate of a quiet link is noise
_CLIPPED = 0.7  # quantile beyond which curvature counts no more: the estimate of it is noise too
_ROUTES_GAP, _ROUTES_ITERATIONS = 1e-6, 100  # main paths need no more, and are of use whatever gap was reached


@dataclass(frozen=True, slots=True, eq=False)
class CountedLinks:
    """Rows of link loads.

    members : (pairs, rows) sparse CSR of ones: a pair is in at most `most` rows
    precision : (rows,) > 0, relative; its sum over the rows of a pair is at most 1, and 1 for some pair
    """

    members: sparse.csr_array
    precision: NDArray[np.float64]


def counted_links(network: Network, demand: Demand, most: int) -> CountedLinks:
    """Links on which trips of each pair are to be counted, given an estimate of the demand."""
    solution = solve_optimum(network, demand, gap=_ROUTES_GAP, max_iterations=_ROUTES_ITERATIONS)
    start, links = main_paths(solution.policy)
    weight = _weight(network, solution.link_flow)
    pair = np.repeat(np.arange(start.size - 1), np.diff(start))
    kept = _heaviest(pair, start, weight[links], most)
    pair, links = pair[kept], links[kept]
    used, row = np.unique(links, return_inverse=True)
    members = sparse.csr_array((np.ones(row.size), (pair, row)), (start.size - 1, used.size))
    cost = float((members @ weight[used]).max(initial=0.0))
    return CountedLinks(members, weight[used] / cost if cost > 0 else weight[used])


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
