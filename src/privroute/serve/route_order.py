"""The routes of a policy in the order in which they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.policy.routing_policy import RoutingPolicy

__all__ = ["OrderedPaths", "ordered_paths"]


class OrderedPaths(NamedTuple):
    """Ids of paths, pair after pair, in each pair the most probable first; those of probability 0 are left out.

    paths : ids for `RoutingPolicy.path_links`
    pair : (paths,) position of each one's pair
    start : (pairs + 1,) pair w has paths[start[w] : start[w + 1]]
    """

    paths: NDArray[np.int64]
    pair: NDArray[np.int64]
    start: NDArray[np.int64]


def ordered_paths(policy: RoutingPolicy) -> OrderedPaths:
    """Order the paths of a policy."""
    pair = np.repeat(np.arange(len(policy.pairs)), np.diff(policy.pair_start))
    order = np.lexsort((-policy.probability, pair))
    paths = order[policy.probability[order] > 0]
    return OrderedPaths(paths, pair[paths], np.searchsorted(pair[paths], np.arange(len(policy.pairs) + 1)))
