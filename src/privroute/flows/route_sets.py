"""Public route sets: for each pair the few links that it may use.

A pair may use a link only if the link leads nearer to the destination and lies on a detour of at most, say, 30 %, at
public costs. Its unit flows are then mixtures of the paths of a small acyclic graph: there are no cycles, and a policy
needs one number for each pair and link of its set instead of one for each pair and link.

Arrays over *entries* have one value for each pair and link of its set, pair after pair: flows, points, noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute import _core
from privroute.errors import PolicyError
from privroute.flows.unit_flows import blocks, closed_links
from privroute.network.pairs import Pairs
from privroute.policy.routing_policy import RoutingPolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["RouteSets"]

_LEAST_COST = 1e-6  # of the mean: links that cost nothing would lead nearer to nowhere
_SMALLEST_FLOW = 1e-12
_SWEEPS = 30


@dataclass(frozen=True, slots=True, eq=False)
class RouteSets:
    """The links that each pair may use.

    start : (pairs + 1,) entries start[w] to start[w + 1] are those of pair w
    link : (entries,) in topological order for each pair, if `acyclic`
    forced : (entries,) links that every path of the pair uses: their flow is 1 in every unit flow
    """

    network: Network
    pairs: Pairs
    start: NDArray[np.int64]
    link: NDArray[np.int32]
    forced: NDArray[np.bool_]
    acyclic: bool

    @classmethod
    def of(cls, network: Network, pairs: Pairs, cost_min: NDArray[np.float64], detour: float) -> RouteSets:
        """Links that lead nearer to the destination, on detours of at most `detour` times the cheapest way.

        cost_min : (links,) public costs, for instance marginal costs at the optimum of a public demand
        detour : at least 1; the cheapest path of a pair is always in its set
        """
        pairs.reachable(network)
        cost = np.maximum(cost_min, _LEAST_COST * float(cost_min.mean()) if network.links else 0.0)
        cost[cost <= 0.0] = 1.0  # a network without costs
        graph = (network.tail, network.head, network.no_through.view(np.uint8))
        start, link = _core.build_route_sets(*graph, cost, pairs.origin, pairs.destination, float(detour))
        forced = _core.forced_entries(*graph, start, link).view(np.bool_)
        return cls(network, pairs, start, link, forced, acyclic=True)

    @classmethod
    def whole(cls, network: Network, pairs: Pairs) -> RouteSets:
        """Every link that the network opens to a pair."""
        pairs.reachable(network)
        start, links = [np.zeros(1, dtype=np.int64)], []
        for part in blocks(len(pairs), network.links):
            opened = ~closed_links(network, pairs.origin[part])
            ends = network.head == pairs.destination[part, None]
            opened &= ~network.no_through[network.head] | ends | (network.head == pairs.origin[part, None])
            start.append(start[-1][-1] + np.cumsum(opened.sum(axis=1)))
            links.append(np.nonzero(opened)[1].astype(np.int32))
        link = np.concatenate(links) if links else np.zeros(0, dtype=np.int32)
        return cls(network, pairs, np.concatenate(start), link, np.zeros(link.size, dtype=np.bool_), acyclic=False)

    @property
    def entries(self) -> int:
        """How many pairs of a pair and a link there are."""
        return self.link.size

    def __len__(self) -> int:
        return len(self.pairs)

    def part(self, first: int, last: int) -> RouteSets:
        """Return the sets of some pairs that follow each other."""
        pairs = Pairs(self.pairs.origin[first:last], self.pairs.destination[first:last])
        inside = slice(int(self.start[first]), int(self.start[last]))
        start = self.start[first : last + 1] - self.start[first]
        return RouteSets(self.network, pairs, start, self.link[inside], self.forced[inside], self.acyclic)

    def by_entry(self, of_pair: NDArray[Any]) -> NDArray[Any]:
        """(entries,) the value of each entry's pair."""
        return np.repeat(of_pair, np.diff(self.start))

    def sum_by_link(self, of_pair: NDArray[np.float64]) -> NDArray[np.float64]:
        """(links,) sum of a value over the pairs that may use the link."""
        return np.bincount(self.link, self.by_entry(of_pair), self.network.links).astype(np.float64, copy=False)

    def sparse(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """(entries,) these of (pairs, links)."""
        return np.asarray(flows[self.by_entry(np.arange(len(self))), self.link], dtype=np.float64)

    def dense(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """(pairs, links) flows, 0 outside the sets: for tests and small networks."""
        full = np.zeros((len(self), self.network.links))
        full[self.by_entry(np.arange(len(self))), self.link] = flows
        return full

    def shares_of(self, policy: RoutingPolicy) -> NDArray[np.float64]:
        """(entries,) how likely a pair's route uses each link of its set; links outside it are left out."""
        if policy.pairs != self.pairs:
            raise PolicyError("the policy has other pairs than the route sets")
        links_of_path = np.diff(policy.path_start)
        pair_of_path = np.repeat(np.arange(len(self)), np.diff(policy.pair_start))
        width = self.network.links
        key = np.repeat(pair_of_path, links_of_path) * width + policy.links
        own = self.by_entry(np.arange(len(self))) * width + self.link
        order = np.argsort(own, kind="stable")
        place = np.minimum(np.searchsorted(own[order], key), max(own.size - 1, 0))
        inside = own[order][place] == key
        weight = np.repeat(policy.probability, links_of_path)[inside]
        shares = np.zeros(self.entries)
        shares[order] = np.bincount(place[inside], weight, self.entries)
        return np.minimum(shares, 1.0, out=shares)

    def heaviest(
        self,
        value: NDArray[np.float64],
        minus: NDArray[np.float64] | None = None,
        less: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """(pairs,) bound of Σ_e (value − less_w minus)_e x_we² over unit flows x_w, for values of at least 0.

        x² ≤ x, and x_w is a mixture of paths: the heaviest path. Where sets have cycles, the sum over all their links.
        """
        minus = np.zeros(self.network.links) if minus is None else minus
        less = np.zeros(len(self)) if less is None else less
        if self.acyclic:
            return _core.heaviest_paths(*self._graph, self.start, self.link, value, minus, less)
        each = np.maximum(value[self.link] - self.by_entry(less) * minus[self.link], 0.0)
        return np.bincount(self.by_entry(np.arange(len(self))), each, len(self)).astype(np.float64, copy=False)

    def cost_spread(
        self, low: NDArray[np.float64], high: NDArray[np.float64], inverse: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(pairs,) bound of min_p Σ_e inverse_e (t_e − p[head] + p[tail])² over all costs low ≤ t ≤ high.

        Potentials p do not change a projection, so only what they leave of the costs moves the flows. Any p gives a
        bound; links that every path uses add nothing.
        """
        middle, half = 0.5 * (high + low), 0.5 * (high - low)
        found = _core.cost_spreads(
            *self._graph, self.start, self.link, middle, half, inverse, self.forced.view(np.uint8), _SWEEPS
        )
        return np.asarray(found * (1.0 + 1e-9))

    def policy(self, flows: NDArray[np.float64]) -> RoutingPolicy:
        """Write unit flows, (entries,), as distributions over paths."""
        pair_start, path_start, links, probability, lost = _core.decompose_routes(
            *self._graph, self.pairs.origin, self.pairs.destination, self.start, self.link, flows, _SMALLEST_FLOW
        )
        if lost >= 0:
            raise PolicyError(f"flows: pair {lost:,} has no path from its origin to its destination")
        return RoutingPolicy(self.network, self.pairs, pair_start, path_start, links, probability)

    @property
    def _graph(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
        return self.network.tail, self.network.head, self.network.no_through.view(np.uint8)
