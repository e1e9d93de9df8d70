"""What a routing policy answers: routes, draws and its size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privroute import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from privroute.network.labels import Label

__all__ = ["PolicySummary", "Route", "RouteList", "RoutesOfPairs", "SampledLinks", "SampledRoutes", "count_text"]

_COUNTED = 10**18  # more routes are not written with all their digits


@dataclass(frozen=True, slots=True)
class Route:
    """One path of a pair.

    probability : probability of the path in the policy
    nodes : labels of the nodes, origin first
    links : 0-based link indices, in driving order
    """

    probability: float
    nodes: tuple[Label, ...]
    links: tuple[int, ...]


class RouteList(list[Route]):
    """Routes of a pair, the most probable first.

    remaining : probability of the routes that are not listed, 0 if all are
    """

    def __init__(self, routes: Iterable[Route], remaining: float) -> None:
        super().__init__(routes)
        self.remaining = remaining


class SampledLinks(NamedTuple):
    """Sampled routes as links: draw i has links[start[i] : start[i + 1]]."""

    start: NDArray[np.int64]
    links: NDArray[np.int32]


class SampledRoutes(NamedTuple):
    """Routes as links, route i has links[start[i] : start[i + 1]], with their probabilities."""

    start: NDArray[np.int64]
    links: NDArray[np.int32]
    probability: NDArray[np.float64]


class RoutesOfPairs(NamedTuple):
    """Routes of several pairs, the most probable first.

    first : (pairs + 1,) pair i has the routes first[i] to first[i + 1]
    start : (routes + 1,) route j has links[start[j] : start[j + 1]]
    links : int32 link indices in driving order
    probability : (routes,)
    path : (routes,) ids for `RoutingPolicy.path_links`, counted from the first path of the pair
    """

    first: NDArray[np.int64]
    start: NDArray[np.int64]
    links: NDArray[np.int32]
    probability: NDArray[np.float64]
    path: NDArray[np.int64]

    def take(self, pairs: NDArray[np.intp]) -> RoutesOfPairs:
        """Routes of some of the pairs, by position, each as often as it is named."""
        count = np.diff(self.first)[pairs]
        first = np.concatenate([[0], np.cumsum(count)])
        route = np.repeat(self.first[:-1][pairs] - first[:-1], count) + np.arange(first[-1])
        start, links = _core.gather_paths(self.start, self.links, route)
        return RoutesOfPairs(first, start, links, self.probability[route], self.path[route])


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """The size of a policy.

    paths : routes of all pairs together; rounded above 2⁵³, and no more than the largest floating-point number
    most_paths : of one pair, no more than 2⁶³ - 1
    mean_links : of a route; by their probabilities where there are too many to count
    """

    pairs: int
    paths: int
    most_paths: int
    mean_paths: float
    mean_links: float
    memory_bytes: int

    def __str__(self) -> str:
        size = f"{self.mean_links:.1f} links a path, {self.memory_bytes / 1e6:.1f} MB"
        if self.paths > _COUNTED:
            return f"{self.pairs:,} pairs, {count_text(self.paths)} paths, {size}"
        each = f"{self.mean_paths:.2f} a pair, at most {self.most_paths:,}"
        return f"{self.pairs:,} pairs, {self.paths:,} paths ({each}), {size}"


def count_text(count: int) -> str:
    """A number of routes for people: large ones are not known to the last digit."""
    return f"more than {_COUNTED:.0e}" if count > _COUNTED else f"{count:,}"
