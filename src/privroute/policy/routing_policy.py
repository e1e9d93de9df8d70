"""A routing policy as sparse paths: what is learned, released, sampled from and evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from privroute import _core
from privroute.errors import DemandError, PolicyError
from privroute.network.checks import RebuiltOnCopy, freeze
from privroute.network.network import Network
from privroute.network.pairs import Pairs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from privroute.network.demand import Demand
    from privroute.network.labels import Label

__all__ = ["PolicySummary", "Route", "RoutingPolicy", "SampledLinks"]

_Scalar = TypeVar("_Scalar", bound=np.generic)
_SUM_TOLERANCE = 1e-9
_FAULTS = {
    1: "does not lead, link after link, from its origin to its destination",
    2: "meets a node twice; paths have no cycles",
    3: "passes through a node that is no through road",
}


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


class SampledLinks(NamedTuple):
    """Sampled routes as links: draw i has links[start[i] : start[i + 1]]."""

    start: NDArray[np.int64]
    links: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """The size of a policy."""

    pairs: int
    paths: int
    most_paths: int
    mean_paths: float
    mean_links: float
    memory_bytes: int

    def __str__(self) -> str:
        return (
            f"{self.pairs:,} pairs, {self.paths:,} paths ({self.mean_paths:.2f} a pair, at most {self.most_paths}), "
            f"{self.mean_links:.1f} links a path, {self.memory_bytes / 1e6:.1f} MB"
        )


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class RoutingPolicy(RebuiltOnCopy):
    """For every pair w a distribution over simple paths, and with it a unit flow x_w.

    pair_start : (pairs + 1,) int64, pair w has the paths pair_start[w] to pair_start[w + 1]
    path_start : (paths + 1,) int64, path i has links[path_start[i] : path_start[i + 1]]
    links : int32 link indices in driving order
    probability : (paths,) ≥ 0, summing to 1 over each pair

    Validated on construction: every path leads from origin to destination, visits no node twice and keeps the
    no-through rule.
    """

    network: Network
    pairs: Pairs
    pair_start: NDArray[np.int64]
    path_start: NDArray[np.int64]
    links: NDArray[np.int32]
    probability: NDArray[np.float64]

    def __init__(
        self,
        network: Network,
        pairs: Pairs,
        pair_start: ArrayLike,
        path_start: ArrayLike,
        links: ArrayLike,
        probability: ArrayLike,
    ) -> None:
        if not isinstance(network, Network) or not isinstance(pairs, Pairs):
            raise PolicyError("a policy needs a privroute.Network and privroute.Pairs")
        pairs.check_fits(network)
        chance = _array(probability, "probability", np.float64)
        used = _array(links, "links", np.int32)
        put = object.__setattr__
        put(self, "network", network)
        put(self, "pairs", pairs)
        put(self, "path_start", _starts(path_start, "path_start", chance.size, used.size))
        put(self, "pair_start", _starts(pair_start, "pair_start", len(pairs), chance.size))
        put(self, "links", used)
        put(self, "probability", chance)
        self._check()

    def _check(self) -> None:
        empty = np.flatnonzero(np.diff(self.pair_start) == 0)
        if empty.size:
            raise PolicyError(
                f"{self._named(int(empty[0]))} has no path ({empty.size:,} such pairs); give each pair one"
            )
        if self.links.size and not (self.links.min() >= 0 and self.links.max() < self.network.links):
            raise PolicyError(f"links has indices outside 0 to {self.network.links - 1:,}")
        if not np.all(self.probability >= 0):
            raise PolicyError("probability has values that are negative or not a number")
        if len(self.pairs):
            sums = np.add.reduceat(self.probability, self.pair_start[:-1])
            off = np.flatnonzero(~(np.abs(sums - 1.0) <= _SUM_TOLERANCE))
            if off.size:
                raise PolicyError(
                    f"the probabilities of {self._named(int(off[0]))} sum to {sums[off[0]]:.12g} ({off.size:,} such "
                    "pairs); each pair's must sum to 1"
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
            raise PolicyError(f"path {path:,} of {self._named(pair)} {_FAULTS[fault]}")

    def routes(self, origin: Label, destination: Label) -> list[Route]:
        """The pair's routes, the most probable first."""
        pair = self._pair(origin, destination)
        first, last = self.pair_start[pair], self.pair_start[pair + 1]
        order = first + np.argsort(-self.probability[first:last], kind="stable")
        return [self._route(int(path)) for path in order if self.probability[path] > 0]

    def sample(self, origin: Label, destination: Label, size: int = 1, seed: int | None = None) -> NDArray[np.int64]:
        """Draw routes of one pair independently: positions in `routes(origin, destination)`.

        seed : the same seed gives the same draws; None draws anew each time
        """
        pair = self._pair(origin, destination)
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise PolicyError(f"size is {size!r}; pass a whole number of at least 0")
        paths = self.sample_paths(np.full(int(size), pair), seed=seed)
        first, last = self.pair_start[pair], self.pair_start[pair + 1]
        rank = np.empty(last - first, dtype=np.int64)
        rank[np.argsort(-self.probability[first:last], kind="stable")] = np.arange(last - first)
        return np.asarray(rank[paths - first])

    def sample_paths(self, pair_positions: ArrayLike, seed: int | None = None) -> NDArray[np.int64]:
        """Draw one path for each entry of `pair_positions` (positions in `pairs`): ids for `path_links`."""
        wanted = np.asarray(pair_positions)
        if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise PolicyError("pair_positions must be an array of whole numbers with one axis")
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < len(self.pairs)):
            raise PolicyError(f"pair_positions has values outside 0 to {len(self.pairs) - 1:,}")
        key, stream = _keys(seed)
        return _core.sample_paths(
            self.pair_start, self.probability, np.ascontiguousarray(wanted, dtype=np.int64), key, stream
        )

    def path_links(self, paths: ArrayLike) -> SampledLinks:
        """The links of paths given by id, as from `sample_paths`."""
        wanted = np.asarray(paths)
        if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise PolicyError("paths must be an array of whole numbers with one axis, as from sample_paths")
        wanted = np.ascontiguousarray(wanted, dtype=np.int64)
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < self.probability.size):
            raise PolicyError(f"paths has ids outside 0 to {self.probability.size - 1:,}")
        return SampledLinks(*_core.gather_paths(self.path_start, self.links, wanted))

    def link_flow(self, demand: Demand) -> NDArray[np.float64]:
        """Link flow y = background + Σ_w Λ_w x_w: (links,) vehicles per minute when this demand follows the policy."""
        if demand.pairs != self.pairs:
            raise DemandError(
                "the demand has other pairs than the policy; bring it to them with demand.on(policy.pairs)"
            )
        routed = _core.load_paths(
            self.pair_start, self.path_start, self.links, self.probability, demand.rate_per_min, self.network.links
        )
        return routed + self.network.background_per_min

    def expected(self, link_values: ArrayLike) -> NDArray[np.float64]:
        """Σ_e x_we v_e for each pair: the expected sum of a link value over the route, e.g. of minutes."""
        values = np.ascontiguousarray(link_values, dtype=np.float64)
        if values.shape != (self.network.links,):
            raise PolicyError(
                f"link_values has shape {values.shape}; pass one value for each of the {self.network.links:,} links"
            )
        return _core.expected_values(self.pair_start, self.path_start, self.links, self.probability, values)

    def unit_flow(self, origin: Label, destination: Label) -> NDArray[np.float64]:
        """x_w: (links,) how likely the pair's route uses each link."""
        flow = np.zeros(self.network.links)
        for route in self.routes(origin, destination):
            flow[list(route.links)] += route.probability
        return flow

    def summary(self) -> PolicySummary:
        """Counts and memory."""
        per_pair = np.diff(self.pair_start)
        arrays = (self.pair_start, self.path_start, self.links, self.probability)
        return PolicySummary(
            pairs=len(self.pairs),
            paths=self.probability.size,
            most_paths=int(per_pair.max(initial=0)),
            mean_paths=self.probability.size / max(len(self.pairs), 1),
            mean_links=self.links.size / max(self.probability.size, 1),
            memory_bytes=sum(array.nbytes for array in arrays),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RoutingPolicy):
            return NotImplemented
        names = ("pair_start", "path_start", "links", "probability")
        return (
            self.pairs == other.pairs
            and self.network == other.network
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RoutingPolicy({self.summary()})"

    def _pair(self, origin: Label, destination: Label) -> int:
        start, end = self.network.node(origin), self.network.node(destination)
        here = np.flatnonzero((self.pairs.origin == start) & (self.pairs.destination == end))
        if not here.size:
            raise PolicyError(
                f"the policy has no pair from {origin} to {destination}; its pairs join the network's zones"
            )
        return int(here[0])

    def _named(self, pair: int) -> str:
        labels = self.network.node_labels
        return f"the pair from {labels[self.pairs.origin[pair]]} to {labels[self.pairs.destination[pair]]}"

    def _route(self, path: int) -> Route:
        links = self.links[self.path_start[path] : self.path_start[path + 1]]
        nodes = [self.network.tail[links[0]], *self.network.head[links]]
        labels = tuple(self.network.node_labels[node] for node in nodes)
        return Route(float(self.probability[path]), labels, tuple(links.tolist()))


def _array(values: ArrayLike, name: str, dtype: type[_Scalar]) -> NDArray[_Scalar]:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in ("iuf" if dtype is np.float64 else "iu"):
        raise PolicyError(f"{name} has type {array.dtype} and shape {array.shape}; pass numbers with one axis")
    if dtype is not np.float64 and array.size:
        limit = np.iinfo(dtype)  # type: ignore[type-var]
        if int(array.min()) < limit.min or int(array.max()) > limit.max:
            raise PolicyError(f"{name} has values outside {limit.min:,} to {limit.max:,}")
    return freeze(array.astype(dtype))


def _starts(values: ArrayLike, name: str, count: int, end: int) -> NDArray[np.int64]:
    starts = _array(values, name, np.int64)
    if starts.size != count + 1 or starts[0] != 0 or starts[-1] != end or np.any(np.diff(starts) < 0):
        raise PolicyError(f"{name} must have {count + 1:,} values that rise from 0 to {end:,}")
    return starts


def _keys(seed: int | None) -> tuple[int, int]:
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
        raise PolicyError(f"seed is {seed!r}; pass a whole number of at least 0, or None")
    key, stream = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return int(key), int(stream)
