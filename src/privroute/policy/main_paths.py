"""The path that each pair most probably takes, as links: the one place that reads it off a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.policy.routes import SampledLinks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.policy.routing_policy import RoutingPolicy

__all__ = ["main_paths"]


def main_paths(policy: RoutingPolicy, pairs: NDArray[np.intp] | None = None) -> SampledLinks:
    """Links of the most probable path of each pair, the first of equals: pair w has links[start[w] : start[w + 1]].

    pairs : positions of the pairs, default: all
    """
    best = policy.best_routes(np.arange(len(policy.pairs)) if pairs is None else pairs, 1)
    return SampledLinks(best.start, best.links)
