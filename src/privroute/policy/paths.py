"""A policy stored as paths: what `decompose` and the mechanisms on flows make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from privroute import _core
from privroute.errors import PolicyError
from privroute.network.checks import freeze, part_starts
from privroute.policy.routes import PolicySummary, RoutesOfPairs, SampledRoutes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = ["Paths", "named_pair", "numbers", "starts"]

_Scalar = TypeVar("_Scalar", bound=np.generic)
_SUM_TOLERANCE = 1e-9
_FAULTS = {
    1: "does not lead, link after link, from its origin to its destination",
    2: "meets a node twice; paths have no cycles",
    3: "passes through a node that is no through road",
}


class Paths:
    """For every pair its paths with their probabilities.

    pair_start : (pairs + 1,) int64, pair w has the paths pair_start[w] to pair_start[w + 1]
    path_start : (paths + 1,) int64, path i has links[path_start[i] : path_start[i + 1]]
    links : int32 link indices in driving order
    probability : (paths,) ≥ 0, summing to 1 over each pair
    """

    __slots__ = ("links", "network", "pair_start", "pairs", "path_start", "probability")

    NAMES = ("pair_start", "path_start", "links", "probability")

    def __init__(
        self,
        network: Network,
        pairs: Pairs,
        pair_start: ArrayLike,
        path_start: ArrayLike,
        links: ArrayLike,
        probability: ArrayLike,
    ) -> None:
        self.network, self.pairs = network, pairs
        self.probability = freeze(numbers(probability, "probability", np.float64))
        self.links = freeze(numbers(links, "links", np.int32))
        self.path_start = starts(path_start, "path_start", self.probability.size, self.links.size)
        self.pair_start = starts(pair_start, "pair_start", len(pairs), self.probability.size)
        self._check()

    def _check(self) -> None:
        empty = np.flatnonzero(np.diff(self.pair_start) == 0)
        if empty.size:
            named = named_pair(self.network, self.pairs, int(empty[0]))
            raise PolicyError(f"{named} has no path ({empty.size:,} such pairs); give each pair one")
        if self.links.size and not (self.links.min() >= 0 and self.links.max() < self.network.links):
            raise PolicyError(f"links has indices outside 0 to {self.network.links - 1:,}")
        if not np.all(self.probability >= 0):
            raise PolicyError("probability has values that are negative or not a number")
        if len(self.pairs):
            sums = np.add.reduceat(self.probability, self.pair_start[:-1])
            off = np.flatnonzero(~(np.abs(sums - 1.0) <= _SUM_TOLERANCE))
            if off.size:
                named = named_pair(self.network, self.pairs, int(off[0]))
                raise PolicyError(
                    f"the probabilities of {named} sum to {sums[off[0]]:.12g} ({off.size:,} such pairs); each pair's "
                    "must sum to 1"
                )
        fault, path = _core.first_fault(
            self.network.tail,
            self.network.head,
            self.network.no_through.view(np.uint8),
            self.pairs.origin,
            self.pairs.destination,
            self.pair_start,
            self.path_start,
            self.links,
            self.probability,
        )
        if fault:
            pair = int(np.searchsorted(self.pair_start, path, side="right")) - 1
            raise PolicyError(f"path {path:,} of {named_pair(self.network, self.pairs, pair)} {_FAULTS[fault]}")

    def best(self, pairs: NDArray[np.int64], limit: int) -> RoutesOfPairs:
        """At most `limit` routes of each pair, the most probable first."""
        count = self.pair_start[pairs + 1] - self.pair_start[pairs]
        first = np.concatenate([[0], np.cumsum(count)])
        entry = np.repeat(np.arange(pairs.size), count)
        within = np.arange(first[-1]) - np.repeat(first[:-1], count)
        path = self.pair_start[pairs][entry] + within
        order = np.lexsort((-self.probability[path], entry))
        kept = order[(self.probability[path[order]] > 0) & (within < limit)]
        start, links = _core.gather_paths(self.path_start, self.links, path[kept])
        per_pair = np.bincount(entry[kept], minlength=pairs.size)
        return RoutesOfPairs(
            np.concatenate([[0], np.cumsum(per_pair)]), start, links, self.probability[path[kept]], within[kept]
        )

    def sample(self, pairs: NDArray[np.int64], key: int, stream: int) -> SampledRoutes:
        """One drawn route for each entry."""
        return self.routes(self.sample_paths(pairs, key, stream))

    def sample_paths(self, pairs: NDArray[np.int64], key: int, stream: int) -> NDArray[np.int64]:
        """Ids of drawn paths."""
        return _core.sample_paths(self.pair_start, self.probability, pairs, key, stream)

    def sample_of_pair(self, pair: int, size: int, key: int, stream: int) -> NDArray[np.int64]:
        """Ids of drawn paths of one pair, counted from its first path."""
        return np.asarray(self.sample_paths(np.full(size, pair), key, stream) - self.pair_start[pair])

    def routes(self, paths: NDArray[np.int64]) -> SampledRoutes:
        """Paths given by id."""
        return SampledRoutes(*_core.gather_paths(self.path_start, self.links, paths), self.probability[paths])

    def first_path(self) -> NDArray[np.int64]:
        """(pairs + 1,) id of the first path of each pair."""
        return self.pair_start

    def load(self, rate_per_min: NDArray[np.float64]) -> NDArray[np.float64]:
        """(links,) Σ_w rate_w x_w."""
        return _core.load_paths(
            self.pair_start, self.path_start, self.links, self.probability, rate_per_min, self.network.links
        )

    @property
    def roundings(self) -> int:
        """Roundings, each a relative 2⁻⁵³, by which results may be off: docs/proofs/quality.md, Lemma 4."""
        on_a_link = int(np.bincount(self.links, minlength=1).max())
        of_a_pair = int(np.diff(self.pair_start).max(initial=0) + np.diff(self.path_start).max(initial=0))
        return 1 + max(on_a_link, of_a_pair)

    def expected(self, link_values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(pairs,) Σ_e x_we v_e."""
        return _core.expected_values(self.pair_start, self.path_start, self.links, self.probability, link_values)

    def route_range(
        self, link_values: NDArray[np.float64], least_share: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(pairs,) each: least and greatest sum over routes with at least this probability, or the likeliest one."""
        if not len(self.pairs):
            return np.zeros(0), np.zeros(0)
        sums = np.add.reduceat(link_values[self.links], self.path_start[:-1])
        likeliest = np.repeat(self.likeliest(), np.diff(self.pair_start))
        used = self.probability >= np.minimum(least_share, likeliest)
        low = np.minimum.reduceat(np.where(used, sums, np.inf), self.pair_start[:-1])
        return low, np.maximum.reduceat(np.where(used, sums, -np.inf), self.pair_start[:-1])

    def likeliest(self) -> NDArray[np.float64]:
        """(pairs,) probability of the most probable route."""
        if not len(self.pairs):
            return np.zeros(0)
        return np.asarray(np.maximum.reduceat(self.probability, self.pair_start[:-1]))

    def pairs_using(self) -> NDArray[np.int64]:
        """(links,) how many pairs have a route over each link."""
        used = np.repeat(self.probability > 0, np.diff(self.path_start))
        pair_of_path = np.repeat(np.arange(len(self.pairs)), np.diff(self.pair_start))
        links, pair = self.links[used], np.repeat(pair_of_path, np.diff(self.path_start))[used]
        # routes of one pair may share a link, which counts once
        once = np.unique(pair * self.network.links + links) % max(self.network.links, 1)
        return np.bincount(once, minlength=self.network.links)

    def unit_flows(self, pairs: NDArray[np.int64], flows: NDArray[np.float64]) -> None:
        """Add x_w of the pairs to the rows of `flows`, which are zero."""
        first, start, links, probability, _ = self.best(pairs, int(np.iinfo(np.int64).max))
        per_route = np.diff(start)
        row = np.repeat(np.repeat(np.arange(pairs.size), np.diff(first)), per_route)
        np.add.at(flows, (row, links), np.repeat(probability, per_route))
        np.minimum(flows, 1.0, out=flows)

    def summary(self) -> PolicySummary:
        """Counts and memory."""
        return PolicySummary(
            pairs=len(self.pairs),
            paths=self.probability.size,
            most_paths=int(np.diff(self.pair_start).max(initial=0)),
            mean_paths=self.probability.size / max(len(self.pairs), 1),
            mean_links=self.links.size / max(self.probability.size, 1),
            memory_bytes=sum(array.nbytes for array in self.arrays().values()),
        )

    def arrays(self) -> dict[str, Any]:
        """What the policy is made of."""
        return {name: getattr(self, name) for name in self.NAMES}


def numbers(values: ArrayLike, name: str, dtype: type[_Scalar]) -> NDArray[_Scalar]:
    """`values` as an array of this type with one axis; whatever does not fit into it is refused."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in ("iuf" if dtype is np.float64 else "iu")):
        raise PolicyError(f"{name} has type {array.dtype} and shape {array.shape}; pass numbers with one axis")
    if dtype is not np.float64 and array.size and array.dtype != dtype:
        limit = np.iinfo(dtype)  # type: ignore[type-var]
        if int(array.min()) < limit.min or int(array.max()) > limit.max:
            raise PolicyError(f"{name} has values outside {limit.min:,} to {limit.max:,}")
    return np.ascontiguousarray(array, dtype=dtype)


def starts(values: ArrayLike, name: str, count: int, end: int) -> NDArray[np.int64]:
    """`values` as starts of `count` parts of something that ends at `end`."""
    found = numbers(values, name, np.int64)
    if found.size != count + 1:
        raise PolicyError(f"{name} must have {count + 1:,} values that rise from 0 to {end:,}")
    return part_starts(found, name, end, PolicyError)


def named_pair(network: Network, pairs: Pairs, pair: int) -> str:
    """The pair in words."""
    labels = network.node_labels
    return f"the pair from {labels[pairs.origin[pair]]} to {labels[pairs.destination[pair]]}"
