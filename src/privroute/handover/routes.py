"""The routes of a policy in blocks of pairs, so that writers never hold all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privroute.errors import InputError
from privroute.progress import check_progress, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.progress import Progress
    from privroute.release.release import Release

__all__ = ["MOST_ROUTES", "PairRoutes", "demand_of", "routes_by_pair"]

MOST_ROUTES = 20
_PAIRS_AT_ONCE = 4096


class PairRoutes(NamedTuple):
    """A pair with traffic and its most probable routes.

    pair : position in the policy's pairs; origin, destination : node indices
    rate_per_min : vehicles
    probability : of each route; they sum to 1, those of routes that are left out included
    links : link indices of each route, in driving order
    """

    pair: int
    origin: int
    destination: int
    rate_per_min: float
    probability: list[float]
    links: list[list[int]]


def demand_of(release: Release, demand: Demand | None) -> Demand:
    """The released demand, or another one on the release's pairs."""
    if demand is not None:
        return demand.on(release.policy.pairs)
    if release.demand is None:
        raise InputError("the release has no demand; pass one (demand=, on the command line --demand)")
    return release.demand


def routes_by_pair(
    release: Release,
    demand: Demand,
    *,
    above_per_min: float = 0.0,
    most_routes: int = MOST_ROUTES,
    progress: Progress | None = None,
) -> Iterator[PairRoutes]:
    """Every pair with more traffic than `above_per_min`, in the order of the policy's pairs."""
    check_progress(progress)
    policy = release.policy
    origin, destination, rate = policy.pairs.origin, policy.pairs.destination, demand.rate_per_min
    busy = np.flatnonzero(rate > above_per_min)
    for at in range(0, busy.size, _PAIRS_AT_ONCE):
        tell(progress, "Writing routes", at / busy.size)
        block = busy[at : at + _PAIRS_AT_ONCE]
        first, start, links, chance, _ = policy.best_routes(block, most_routes)
        ends, listed = start.tolist(), links.tolist()
        for number, pair in enumerate(block.tolist()):
            own = range(int(first[number]), int(first[number + 1]))
            shares = chance[own.start : own.stop]
            yield PairRoutes(
                pair,
                int(origin[pair]),
                int(destination[pair]),
                float(rate[pair]),
                _normalised(shares).tolist(),
                [listed[ends[route] : ends[route + 1]] for route in own],
            )
    tell(progress, "Writing routes", 1.0)


def _normalised(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares that sum to 1; equal ones where they are too small for floating-point numbers."""
    total = shares.sum()
    return shares / total if total > 0 else np.full(shares.size, 1.0 / shares.size)
