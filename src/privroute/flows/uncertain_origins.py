"""The policy with the least mean travel time over demands that differ from an estimate, where little is known of it.

    min over x of the mean over samples s of F(x, a_s Λ),    a_s a factor for each origin, with mean 1 over trips

The optimum of an estimate that is mostly noise trusts it: pairs with little estimated traffic share their cheapest
path, and where they have more, a link is overloaded, at the fourth power. The mean over samples spreads them. Factors
belong to origins, so one policy by origin suits all samples, and a link's flow in a sample is linear in it. They are
lognormal and made with a fixed seed: public, and the same for the same demand.

Frank-Wolfe: shortest paths of each origin at the mean of the samples' marginal costs, weighted by its factors, then a
line search. An origin uses only links that lead away from it at the marginal costs of the estimate's optimum: no
cycles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.sparse.csgraph import dijkstra

from privroute.policy.routing_policy import RoutingPolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.flows.optimum import Solution
    from privroute.network.demand import Demand
    from privroute.network.network import Network

__all__ = ["LARGEST", "spread_for_uncertain_origins"]

LARGEST = 500_000
"""Origins times links beyond which it would take longer than all else: a second for a tenth of this."""

_SAMPLES, _ITERATIONS, _SEED = 12, 15, 0
_LEAST_COST = 1e-9  # of the mean: links without cost lead away from the origin too
_LEAST_RATE = 1e-9  # of the mean rate: a pair without traffic has a path too
_LEAST_SHARE = 1e-9  # of what enters a node, below which a link is left out
_STEP = 1e-3  # accuracy of the line search


def spread_for_uncertain_origins(
    network: Network, demand: Demand, solution: Solution, deviation: float
) -> RoutingPolicy | None:
    """The policy above, or None where the network is too large for it, or travel times overflow.

    solution : the optimum of the demand
    deviation : of the logarithm of an origin's factor
    """
    flows = _FlowsByOrigin.of(network, demand, solution)
    if flows is None:
        return None
    generator = np.random.default_rng(_SEED)
    factors = np.exp(deviation * generator.normal(size=(_SAMPLES, flows.roots.size)))
    sends = np.bincount(flows.root_of_pair, flows.rate, flows.roots.size)
    factors *= sends.sum() / (factors @ sends)[:, None]
    background, latency = network.background_per_min, network.latency

    def total(by_sample: NDArray[np.float64]) -> float:
        return sum(float(flow @ latency.time(flow)) for flow in by_sample + background)

    found = flows.on_shortest_paths(np.tile(latency.marginal_cost(solution.link_flow), (flows.roots.size, 1)))
    loads = factors @ found
    for _ in range(_ITERATIONS):
        costs = np.stack([latency.marginal_cost(flow) for flow in loads + background])
        better = flows.on_shortest_paths((factors.T @ costs) / factors.sum(axis=0)[:, None])
        towards = factors @ better
        step = minimize_scalar(
            lambda step, now=loads, then=towards: total((1.0 - step) * now + step * then),
            bounds=(0.0, 1.0),
            method="bounded",
            options={"xatol": _STEP},
        ).x
        found, loads = (1.0 - step) * found + step * better, (1.0 - step) * loads + step * towards
    return flows.policy(found) if np.isfinite(total(loads)) else None


@dataclass(frozen=True, slots=True, eq=False)
class _FlowsByOrigin:
    """Flows of an estimate by origin: (origins, links).

    roots : (origins,) nodes; root_of_pair : (pairs,) position of a pair's origin among them
    rate : (pairs,) > 0; away : (origins, nodes) cost from the origin, infinite where no path leads
    """

    network: Network
    demand: Demand
    roots: NDArray[np.int32]
    root_of_pair: NDArray[np.intp]
    rate: NDArray[np.float64]
    away: NDArray[np.float64]

    @classmethod
    def of(cls, network: Network, demand: Demand, solution: Solution) -> _FlowsByOrigin | None:
        """Flows of a demand that use links away from their origins, at the marginal costs of its optimum."""
        roots, root_of_pair = np.unique(demand.pairs.origin, return_inverse=True)
        cost = network.latency.marginal_cost(solution.link_flow)
        if not roots.size or roots.size * network.links > LARGEST or not np.isfinite(cost).all():
            return None
        rate = np.maximum(demand.rate_per_min, _LEAST_RATE * max(float(demand.rate_per_min.mean()), 1e-300))
        cost = _positive(cost)
        everywhere = np.ones(network.links, np.bool_)
        away = np.stack([_distances(network, root, everywhere, cost) for root in roots.tolist()])
        return cls(network, demand, roots.astype(np.int32), root_of_pair, rate, away)

    def on_shortest_paths(self, cost: NDArray[np.float64]) -> NDArray[np.float64]:
        """(origins, links) flows with every pair on its cheapest path; cost : (origins, links)."""
        network, nodes = self.network, self.network.nodes
        entering = np.full((self.roots.size, nodes), -1)
        for position, root in enumerate(self.roots.tolist()):
            away = self.away[position]
            allowed = away[network.tail] < away[network.head]
            own = _positive(cost[position])
            distance = _distances(network, root, allowed, own)
            usable = np.flatnonzero(allowed & _open(network, root) & np.isfinite(distance[network.tail]))
            slack = distance[network.tail[usable]] + own[usable] - distance[network.head[usable]]
            order = usable[np.lexsort((-slack, network.head[usable]))]  # the last of a head is its cheapest
            entering[position, network.head[order]] = order
            entering[position, root] = -1
        return self._loaded(entering)

    def _loaded(self, entering: NDArray[np.intp]) -> NDArray[np.float64]:
        """Load trees, given by the link that enters each node, from their leaves inwards."""
        network, origins = self.network, self.roots.size
        flows, load = np.zeros((origins, network.links)), np.zeros((origins, network.nodes))
        np.add.at(load, (self.root_of_pair, self.demand.pairs.destination), self.rate)
        parent = np.where(entering >= 0, network.tail[entering], -1)
        depth, at = np.zeros(entering.shape, np.int64), parent.copy()
        rows = np.arange(origins)[:, None]
        while (at >= 0).any():
            depth += at >= 0
            at = np.where(at >= 0, parent[rows, at], -1)
        order = np.argsort(-depth, axis=None, kind="stable")
        levels = np.split(order, np.flatnonzero(np.diff(depth.ravel()[order])) + 1)
        for level in levels:
            row, node = np.unravel_index(level, depth.shape)
            inner = entering[row, node] >= 0
            row, node = row[inner], node[inner]
            flows[row, entering[row, node]] += load[row, node]
            np.add.at(load, (row, parent[row, node]), load[row, node])
        return flows

    def policy(self, flows: NDArray[np.float64]) -> RoutingPolicy:
        """Policy by origin with these flows."""
        network = self.network
        links: list[NDArray[np.int32]] = []
        shares: list[NDArray[np.float64]] = []
        for position in range(self.roots.size):
            flow, away = flows[position], self.away[position]
            into = np.bincount(network.head, flow, network.nodes)
            used = np.flatnonzero(flow > _LEAST_SHARE * into[network.head])
            head = network.head[used]
            used = used[np.lexsort((used, head, away[head]))]
            head = network.head[used]
            kept = np.bincount(head, flow[used], network.nodes)
            several = np.bincount(head, minlength=network.nodes)[head] > 1
            links.append(used.astype(np.int32))
            shares.append((flow[used] / kept[head])[several])
        return RoutingPolicy.by_origin(
            network,
            self.demand.pairs,
            root=self.roots,
            link_start=_starts(links),
            links=np.concatenate(links),
            share_start=_starts(shares),
            share=np.concatenate(shares),
            bush_of_pair=self.root_of_pair.astype(np.int32),
        )


def _starts(parts: list[NDArray[np.int32]] | list[NDArray[np.float64]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum([part.size for part in parts])]).astype(np.int64)


def _positive(cost: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(cost, _LEAST_COST * max(float(cost.mean()), 1e-300))


def _open(network: Network, root: int) -> NDArray[np.bool_]:
    """(links,) links that trips from this origin may use."""
    return np.asarray(~network.no_through[network.tail] | (network.tail == root))


def _distances(
    network: Network, root: int, allowed: NDArray[np.bool_], cost: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(nodes,) cost of the cheapest path from the origin over allowed links."""
    used = np.flatnonzero(allowed & _open(network, root))
    used = used[np.lexsort((cost[used], network.head[used], network.tail[used]))]
    tail, head = network.tail[used], network.head[used]
    first = np.ones(used.size, np.bool_)  # of parallel links the cheapest
    first[1:] = (np.diff(tail) != 0) | (np.diff(head) != 0)
    graph = sparse.csr_array((cost[used[first]], (tail[first], head[first])), (network.nodes, network.nodes))
    return np.asarray(dijkstra(graph, indices=root))
