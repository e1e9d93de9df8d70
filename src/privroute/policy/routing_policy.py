"""A routing policy: what is learned, released, sampled from and evaluated.

Two forms behind one interface. Solvers give policies by origin (`privroute.policy.bushes`), which stay small on large
networks; `decompose` and the mechanisms on flows give paths (`privroute.policy.paths`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import DemandError, NetworkError, PolicyError
from privroute.network.network import Network
from privroute.network.pairs import Pairs
from privroute.policy.bushes import Bushes
from privroute.policy.frames import PolicyFrames
from privroute.policy.paths import Paths
from privroute.policy.routes import PolicySummary, Route, RouteList, RoutesOfPairs, SampledLinks, SampledRoutes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from privroute.network.demand import Demand
    from privroute.network.labels import Label

__all__ = ["MOST_ROUTES", "RoutingPolicy"]

MOST_ROUTES = 1000
"""Routes of one pair that are listed where no other limit is given."""

_EXAMPLES = 5
_MOST_RANKED = 50_000  # routes of one pair that are listed to find the positions of draws
_LARGEST_LEAST_SHARE = 0.01  # a node with more than a hundred links into it has at least one with this share or more
_MOST_LINKS = 2**29  # of all paths together, where a policy is written out: 2 GB


class RoutingPolicy(PolicyFrames):
    """For every pair w a distribution over simple paths, and with it a unit flow x_w.

    network : its links and nodes
    pairs : the pairs w
    stored : the arrays, by origin or as paths

    RoutingPolicy(network, pairs, pair_start, path_start, links, probability) is a policy of paths; `by_origin` makes
    one of bushes. Both are validated: every route leads from origin to destination, visits no node twice and keeps the
    no-through rule.
    """

    __slots__ = ("network", "pairs", "stored")

    network: Network
    pairs: Pairs
    stored: Bushes | Paths

    def __init__(
        self,
        network: Network,
        pairs: Pairs,
        pair_start: ArrayLike,
        path_start: ArrayLike,
        links: ArrayLike,
        probability: ArrayLike,
    ) -> None:
        _check_frame(network, pairs)
        self._fill(Paths(network, pairs, pair_start, path_start, links, probability))

    @classmethod
    def by_origin(cls, network: Network, pairs: Pairs, *, adopt: bool = False, **arrays: Any) -> RoutingPolicy:
        """A policy of bushes; arrays as in `privroute.policy.bushes.Bushes`.

        adopt : use the arrays without a copy; nobody else may write to them
        """
        _check_frame(network, pairs)
        policy = cls.__new__(cls)
        if not adopt:
            arrays = {name: np.array(array) for name, array in arrays.items()}
        policy._fill(Bushes(network, pairs, **arrays))  # noqa: SLF001 - of its own class
        return policy

    def _fill(self, stored: Bushes | Paths) -> None:
        put = object.__setattr__
        put(self, "network", stored.network)
        put(self, "pairs", stored.pairs)
        put(self, "stored", stored)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a policy never changes; {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a policy never changes; {name} cannot be deleted")

    def __reduce__(self) -> tuple[Callable[..., RoutingPolicy], tuple[Any, ...]]:
        # copies and pickles are checked again and have arrays of their own
        arrays = {name: np.array(array) for name, array in self.stored.arrays().items()}
        return _again, (self.is_by_origin, self.network, self.pairs, arrays)

    @property
    def is_by_origin(self) -> bool:
        """Whether the policy is stored by origin, as bushes; otherwise it is stored as paths."""
        return isinstance(self.stored, Bushes)

    @property
    def paths(self) -> Paths:
        """The arrays of a policy that is stored as paths."""
        if not isinstance(self.stored, Paths):
            raise PolicyError("the policy is stored by origin; policy.as_paths() writes its paths out")
        return self.stored

    @property
    def pair_start(self) -> NDArray[np.int64]:
        """(pairs + 1,) of a policy stored as paths: pair w has the paths pair_start[w] to pair_start[w + 1]."""
        return self.paths.pair_start

    @property
    def path_start(self) -> NDArray[np.int64]:
        """(paths + 1,) of a policy stored as paths: path i has links[path_start[i] : path_start[i + 1]]."""
        return self.paths.path_start

    @property
    def links(self) -> NDArray[np.int32]:
        """Links of a policy stored as paths, in driving order."""
        return self.paths.links

    @property
    def probability(self) -> NDArray[np.float64]:
        """(paths,) of a policy stored as paths."""
        return self.paths.probability

    @property
    def bushes(self) -> Bushes:
        """The arrays of a policy that is stored by origin."""
        if not isinstance(self.stored, Bushes):
            raise PolicyError("the policy is stored as paths; solvers give policies by origin")
        return self.stored

    def as_paths(self) -> RoutingPolicy:
        """The same policy with every route written out, pair after pair. Refused where they would fill the memory."""
        if isinstance(self.stored, Paths):
            return self
        size = self.summary()
        if size.paths * size.mean_links > _MOST_LINKS:
            raise PolicyError(
                f"the policy has {size.paths:.3g} routes, too many to write out; ask for those of single pairs"
            )
        first = self.stored.first_path()
        start, links, probability = self.stored.routes(np.arange(first[-1]))
        # products of shares sum to 1 but for rounding
        sums = np.add.reduceat(probability, first[:-1]) if len(self.pairs) else probability
        return RoutingPolicy(
            self.network, self.pairs, first, start, links, probability / np.repeat(sums, np.diff(first))
        )

    def routes(self, origin: Label, destination: Label, *, limit: int = MOST_ROUTES) -> RouteList:
        """The pair's routes, the most probable first; its `remaining` is the probability of those beyond the limit."""
        found = self.best_routes(np.array([self._pair(origin, destination)]), limit)
        labels, tail, head = self.network.node_labels, self.network.tail, self.network.head
        routes = []
        for number, probability in enumerate(found.probability.tolist()):
            links = found.links[found.start[number] : found.start[number + 1]]
            nodes = [tail[links[0]], *head[links]]
            routes.append(Route(probability, tuple(labels[node] for node in nodes), tuple(links.tolist())))
        remaining = 0.0 if len(routes) < limit else max(1.0 - float(found.probability.sum()), 0.0)
        return RouteList(routes, remaining)

    def best_routes(self, pair_positions: ArrayLike, limit: int = MOST_ROUTES) -> RoutesOfPairs:
        """Routes of several pairs (positions in `pairs`) as arrays, at most `limit` each, the most probable first."""
        if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1:
            raise PolicyError(f"limit is {limit!r}; pass a whole number of at least 1")
        return self.stored.best(self._positions(pair_positions), int(limit))

    def sample(self, origin: Label, destination: Label, size: int = 1, seed: int | None = None) -> NDArray[np.int64]:
        """Draw routes of one pair independently: positions in `routes(origin, destination)`.

        seed : the same seed gives the same draws; None draws anew each time
        """
        pair = self._pair(origin, destination)
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise PolicyError(f"size is {size!r}; pass a whole number of at least 0")
        wanted = np.array([pair])
        drawn = self.stored.sample_of_pair(pair, int(size), *_keys(seed))
        limit = MOST_ROUTES
        while True:
            ranked = self.stored.best(wanted, limit).path
            order = np.argsort(ranked)
            at = order[np.minimum(np.searchsorted(ranked[order], drawn), ranked.size - 1)]
            if np.array_equal(ranked[at], drawn):
                return np.asarray(at)
            if limit >= _MOST_RANKED:
                raise PolicyError("the pair has too many routes to be ranked; draw links with sample_links")
            limit *= 8

    def sample_paths(self, pair_positions: ArrayLike, seed: int | None = None) -> NDArray[np.int64]:
        """Draw one path for each entry of `pair_positions` (positions in `pairs`): ids for `path_links`."""
        return self.stored.sample_paths(self._positions(pair_positions), *_keys(seed))

    def sample_links(self, pair_positions: ArrayLike, seed: int | None = None) -> SampledRoutes:
        """Draw one path for each entry of `pair_positions` (positions in `pairs`), as links with its probability.

        The same seed gives the same draws as `sample_paths`.
        """
        return self.stored.sample(self._positions(pair_positions), *_keys(seed))

    def path_links(self, paths: ArrayLike) -> SampledLinks:
        """The links of paths given by id, as from `sample_paths`."""
        return SampledLinks(*self.path_routes(paths)[:2])

    def path_routes(self, paths: ArrayLike) -> SampledRoutes:
        """Links and probabilities of paths given by id. All routes have ids, pair after pair, from 0."""
        wanted = np.asarray(paths)
        if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise PolicyError("paths must be an array of whole numbers with one axis, as from sample_paths")
        wanted = np.ascontiguousarray(wanted, dtype=np.int64)
        count = int(self.stored.first_path()[-1])
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < count):
            raise PolicyError(f"paths has ids outside 0 to {count - 1:,}")
        return self.stored.routes(wanted)

    def first_path(self) -> NDArray[np.int64]:
        """(pairs + 1,) id of the first path of each pair."""
        return self.stored.first_path()

    def link_flow(self, demand: Demand) -> NDArray[np.float64]:
        """Link flow y = background + Σ_w Λ_w x_w: (links,) vehicles per minute when this demand follows the policy."""
        if demand.pairs != self.pairs:
            raise DemandError(
                "the demand has other pairs than the policy; bring it to them with demand.on(policy.pairs)"
            )
        return self.stored.load(demand.rate_per_min) + self.network.background_per_min

    def expected(self, link_values: ArrayLike) -> NDArray[np.float64]:
        """Σ_e x_we v_e for each pair: the expected sum of a link value over the route, e.g. of minutes."""
        values = np.ascontiguousarray(link_values, dtype=np.float64)
        if values.shape != (self.network.links,):
            raise PolicyError(
                f"link_values has shape {values.shape}; pass one value for each of the {self.network.links:,} links"
            )
        return self.stored.expected(values)

    def route_range(
        self, link_values: ArrayLike, *, least_share: float = 1e-3
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(pairs,) each: least and greatest sum of a link value over the pair's used routes, e.g. of minutes.

        least_share : routes are used if they have this probability; of a policy by origin, if this share of what comes
            from the origin enters each of their nodes over their link. Solvers leave traces on other routes.
        """
        values = np.ascontiguousarray(link_values, dtype=np.float64)
        if values.shape != (self.network.links,):
            raise PolicyError(
                f"link_values has shape {values.shape}; pass one value for each of the {self.network.links:,} links"
            )
        if not 0 <= least_share <= _LARGEST_LEAST_SHARE:
            raise PolicyError(f"least_share is {least_share!r}; pass a number from 0 to {_LARGEST_LEAST_SHARE:g}")
        return self.stored.route_range(values, float(least_share))

    def likeliest(self) -> NDArray[np.float64]:
        """(pairs,) probability of each pair's most probable route."""
        return self.stored.likeliest()

    def pairs_using(self) -> NDArray[np.int64]:
        """(links,) how many pairs have a route over each link."""
        return self.stored.pairs_using()

    def unit_flow(self, origin: Label, destination: Label) -> NDArray[np.float64]:
        """x_w: (links,) how likely the pair's route uses each link."""
        return np.asarray(self.unit_flows(np.array([self._pair(origin, destination)]))[0])

    def unit_flows(self, pair_positions: ArrayLike) -> NDArray[np.float64]:
        """(entries, links) x_w of several pairs, given by position in `pairs`."""
        wanted = self._positions(pair_positions)
        flows = np.zeros((wanted.size, self.network.links))
        self.stored.unit_flows(wanted, flows)
        return flows

    def summary(self) -> PolicySummary:
        """Counts and memory."""
        return self.stored.summary()

    def __eq__(self, other: object) -> bool:
        """Same pairs, network and arrays; a policy by origin and one of paths are never equal."""
        if not isinstance(other, RoutingPolicy):
            return NotImplemented
        mine, theirs = self.stored.arrays(), other.stored.arrays()
        return (
            self.pairs == other.pairs
            and self.network == other.network
            and mine.keys() == theirs.keys()
            and all(np.array_equal(mine[name], theirs[name]) for name in mine)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RoutingPolicy({self.summary()})"

    def _positions(self, pair_positions: ArrayLike) -> NDArray[np.int64]:
        wanted = np.asarray(pair_positions)
        if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise PolicyError("pair_positions must be an array of whole numbers with one axis")
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < len(self.pairs)):
            raise PolicyError(f"pair_positions has values outside 0 to {len(self.pairs) - 1:,}")
        return np.ascontiguousarray(wanted, dtype=np.int64)

    def _pair(self, origin: Label, destination: Label) -> int:
        start, end = (_end(self.network, label) for label in (origin, destination))
        here = np.flatnonzero((self.pairs.origin == start) & (self.pairs.destination == end))
        if start == end:
            raise PolicyError(f"there are no routes from {origin} to itself; pass two different zones")
        if not here.size:
            raise PolicyError(
                f"the policy has no pair from {origin} to {destination}; its pairs join the network's zones"
            )
        return int(here[0])


def _end(network: Network, label: Label) -> int:
    """The node of an end of a trip; an error lists zones, few among the nodes of a street network."""
    (node,) = network.node_indices([label]).tolist()
    if node < 0:
        shown = ", ".join(repr(known) for known in network.zone_names[:_EXAMPLES])
        raise NetworkError(f"no zone is labelled {label!r}; the {network.zones.size:,} zones begin with {shown}")
    return int(node)


def _check_frame(network: object, pairs: object) -> None:
    if not isinstance(network, Network) or not isinstance(pairs, Pairs):
        raise PolicyError("a policy needs a privroute.Network and privroute.Pairs")
    pairs.check_fits(network)


def _again(by_origin: bool, network: Network, pairs: Pairs, arrays: dict[str, Any]) -> RoutingPolicy:
    if by_origin:
        return RoutingPolicy.by_origin(network, pairs, adopt=True, **arrays)
    return RoutingPolicy(network, pairs, **arrays)


def _keys(seed: int | None) -> tuple[int, int]:
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
        raise PolicyError(f"seed is {seed!r}; pass a whole number of at least 0, or None")
    key, stream = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return int(key), int(stream)
