"""A policy stored by origin: what the solver makes. Nothing here writes paths out unless somebody asks for them.

A bush is an acyclic set of links with a root, the origin. At each of its nodes the entering links have shares that sum
to 1. A route of a pair is a walk back from the destination to the root that draws an entering link at every node by its
share, independently of the others:

    p(route) = Π share of its links,      x_w = the expected use of links,  one sweep in topological order

The links stand in topological order, those with one head together, so the list is the order too.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute import _core
from privroute.errors import PolicyError
from privroute.policy.paths import named_pair, numbers, starts
from privroute.policy.routes import PolicySummary, RoutesOfPairs, SampledRoutes
from privroute.threads import available_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = ["Bushes"]

_LARGEST = np.iinfo(np.int64).max
_FAULTS = {
    1: "has links that the network does not have",
    2: "has a link that does not stand behind the links that enter its tail, or a node in two places",
    3: "passes through a node that is no through road",
    4: "has shares that are not positive or do not sum to 1 at a node",
    5: "has more or fewer shares than links that enter a node together",
    6: "belongs to another origin",
    7: "does not reach the destination",
}
_OF_A_PAIR = 6  # from here on, faults name a pair
_BLOCKS = 16  # in which the core adds up loads
_FEW_PAIRS = 64  # so few are not worth a thread


class Bushes:
    """For every origin its bush. Arrays are adopted, not copied: nobody else may write to them.

    root : (bushes,) int32 node, the origin of the pairs of this bush
    link_start : (bushes + 1,) int64, bush b has links[link_start[b] : link_start[b + 1]]
    links : int32, entering links in topological order, those with one head together
    share_start : (bushes + 1,) int64, bush b has share[share_start[b] : share_start[b + 1]]
    share : shares > 0 of the links that enter a node together with others, in the order of `links`
    bush_of_pair : (pairs,) int32
    """

    __slots__ = (
        "_core",
        "_first_path",
        "_route_counts",
        "bush_of_pair",
        "link_start",
        "links",
        "network",
        "pairs",
        "root",
        "share",
        "share_start",
    )

    NAMES = ("root", "link_start", "links", "share_start", "share", "bush_of_pair")

    def __init__(
        self,
        network: Network,
        pairs: Pairs,
        *,
        root: NDArray[np.int32],
        link_start: NDArray[np.int64],
        links: NDArray[np.int32],
        share_start: NDArray[np.int64],
        share: NDArray[np.float64],
        bush_of_pair: NDArray[np.int32],
    ) -> None:
        self.network, self.pairs = network, pairs
        self.root = numbers(root, "root", np.int32)
        self.links = numbers(links, "links", np.int32)
        self.share = numbers(share, "share", np.float64)
        self.bush_of_pair = numbers(bush_of_pair, "bush_of_pair", np.int32)
        self.link_start = starts(link_start, "link_start", self.root.size, self.links.size)
        self.share_start = starts(share_start, "share_start", self.root.size, self.share.size)
        for array in (self.root, self.links, self.share, self.bush_of_pair):
            array.flags.writeable = False
        self._first_path: NDArray[np.int64] | None = None
        self._route_counts: NDArray[np.int64] | None = None
        self._check()

    def _check(self) -> None:
        if self.bush_of_pair.size != len(self.pairs):
            raise PolicyError(f"bush_of_pair has {self.bush_of_pair.size:,} values where there are {len(self.pairs):,}")
        for name, values, end in (
            ("root", self.root, self.network.nodes),
            ("bush_of_pair", self.bush_of_pair, self.root.size),
        ):
            if values.size and not (values.min() >= 0 and values.max() < end):
                raise PolicyError(f"{name} has values outside 0 to {end - 1:,}")
        network = self.network
        self._core = _core.Bushes(
            tail=network.tail,
            head=network.head,
            no_through=network.no_through.view(np.uint8),
            origin=self.pairs.origin,
            destination=self.pairs.destination,
            root=self.root,
            link_start=self.link_start,
            links=self.links,
            share_start=self.share_start,
            share=self.share,
            bush_of_pair=self.bush_of_pair,
        )
        fault, bush, at = self._core.first_fault(available_threads())
        if fault >= _OF_A_PAIR:
            raise PolicyError(f"the bush of {named_pair(network, self.pairs, at)} {_FAULTS[fault]}")
        if fault:
            label = network.node_labels[self.root[bush]]
            raise PolicyError(f"the bush of origin {label} {_FAULTS[fault]} (bush {bush:,}, link {at:,} of its list)")

    @property
    def core(self) -> _core.Bushes:
        """The arrays as the core takes them."""
        return self._core

    def best(self, pairs: NDArray[np.int64], limit: int) -> RoutesOfPairs:
        """At most `limit` routes of each pair, the most probable first."""
        return RoutesOfPairs(*self._core.best(pairs, limit, available_threads() if pairs.size > _FEW_PAIRS else 1))

    def sample(self, pairs: NDArray[np.int64], key: int, stream: int) -> SampledRoutes:
        """One drawn route for each entry."""
        return SampledRoutes(*self._core.sample(pairs, key, stream))

    def sample_paths(self, pairs: NDArray[np.int64], key: int, stream: int) -> NDArray[np.int64]:
        """Ids of drawn paths."""
        return np.asarray(self.first_path()[pairs] + self._core.sample_numbers(pairs, key, stream))

    def sample_of_pair(self, pair: int, size: int, key: int, stream: int) -> NDArray[np.int64]:
        """Ids of drawn paths of one pair, counted from its first path."""
        if self._counts()[pair] == _LARGEST:
            raise PolicyError("the pair has more routes than can be numbered; draw links with sample_links")
        return self._core.sample_numbers(np.full(size, pair), key, stream)

    def routes(self, paths: NDArray[np.int64]) -> SampledRoutes:
        """Paths given by id."""
        first = self.first_path()
        pairs = np.searchsorted(first, paths, side="right") - 1
        return SampledRoutes(*self._core.numbered(pairs, paths - first[pairs]))

    def first_path(self) -> NDArray[np.int64]:
        """(pairs + 1,) id of the first path of each pair: all routes are numbered, pair after pair."""
        if self._first_path is None:
            counts = self._counts()
            if float(counts.sum(dtype=np.float64)) >= float(_LARGEST) / 2:
                raise PolicyError("the policy has more routes than can be numbered; draw links with sample_links")
            self._first_path = np.concatenate([[0], np.cumsum(counts)])
            self._first_path.flags.writeable = False
        return self._first_path

    def _counts(self) -> NDArray[np.int64]:
        """(pairs,) numbers of routes, the largest integer for all that are not smaller."""
        if self._route_counts is None:
            self._route_counts = self._core.route_counts(available_threads())
        return self._route_counts

    def load(self, rate_per_min: NDArray[np.float64]) -> NDArray[np.float64]:
        """(links,) Σ_w rate_w x_w."""
        return self._core.load(rate_per_min, available_threads())

    @property
    def roundings(self) -> int:
        """Roundings, each a relative 2⁻⁵³, by which `load` may be off: docs/proofs/quality.md, Lemma 4.

        `expected` may be off by at most twice as many.
        """
        return self.network.links + self.network.nodes + int(self.root.size) + _BLOCKS

    def expected(self, link_values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(pairs,) Σ_e x_we v_e."""
        return self._core.expected(link_values, available_threads())

    def route_range(
        self, link_values: NDArray[np.float64], least_share: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(pairs,) each: least and greatest sum over used routes; every link of them has at least this share."""
        return self._core.route_range(link_values, least_share, available_threads())

    def likeliest(self) -> NDArray[np.float64]:
        """(pairs,) probability of the most probable route."""
        return self._core.likeliest(available_threads())

    def pairs_using(self) -> NDArray[np.int64]:
        """(links,) how many pairs have a route over each link."""
        return self._core.users()

    def unit_flows(self, pairs: NDArray[np.int64], flows: NDArray[np.float64]) -> None:
        """Add x_w of the pairs to the rows of `flows`, which are zero."""
        self._core.unit_flows(pairs, flows)

    def summary(self) -> PolicySummary:
        """Counts and memory."""
        routes, links = self._core.totals(available_threads())
        most = self._counts().max(initial=0)
        mean_links = links / max(routes, 1)
        if not math.isfinite(links):  # the routes, or their links, are more than any floating-point number
            routes = min(routes, sys.float_info.max)
            mean_links = float(self.expected(np.ones(self.network.links)).mean())
        return PolicySummary(
            pairs=len(self.pairs),
            paths=int(routes),
            most_paths=int(most),
            mean_paths=routes / max(len(self.pairs), 1),
            mean_links=mean_links,
            memory_bytes=sum(array.nbytes for array in self.arrays().values()),
        )

    def arrays(self) -> dict[str, Any]:
        """What the policy is made of."""
        return {name: getattr(self, name) for name in self.NAMES}
