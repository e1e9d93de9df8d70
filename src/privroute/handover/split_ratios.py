"""A policy as routers use it: split ratios at each node for each destination, and segment lists.

    ratio of link e at node v for destination d = flow on e to d / flow that leaves v to d

The flows are those of the policy under a demand, summed over origins, so routers that know the destination of a packet
alone put the same load on every link. `split_ratios.csv` has the ratios and whole weights for weighted equal-cost
multipath; `segments.csv` has the routes of each pair, with the fewest segments that force them on routers which
otherwise follow shortest paths by free-flow time (segment routing).
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from privroute.errors import InputError
from privroute.handover.routes import demand_of, routes_by_pair
from privroute.network.text_files import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress
    from privroute.release.release import Release

__all__ = ["FILES", "Split", "segments_of", "split_ratios", "whole_weights", "write_split_ratios"]

FILES = ("split_ratios.csv", "segments.csv")
_BUCKETS = 64  # entries of a router's table over which weights are spread
_NEGLIGIBLE = 1e-9
_TIE = 1e-9


class Split(NamedTuple):
    """What one node does with the traffic to one destination: links that leave it, and their shares, which sum to 1."""

    node: int
    destination: int
    links: NDArray[np.intp]
    ratio: NDArray[np.float64]


def split_ratios(network: Network, policy: RoutingPolicy, demand: Demand) -> list[Split]:
    """Split ratios at every node that traffic to a destination reaches, by destination, then node."""
    pairs, found = policy.pairs, []
    rates = demand.on(pairs).rate_per_min
    for destination in np.unique(pairs.destination).tolist():
        own = np.flatnonzero((pairs.destination == destination) & (rates > 0))
        if not own.size:
            continue
        flow = policy.link_flow(demand.__class__(pairs, np.where(pairs.destination == destination, rates, 0.0)))
        flow = flow - network.background_per_min
        flow = np.where(flow > _NEGLIGIBLE * rates[own].sum(), flow, 0.0)
        flow = _without_cycles(network, flow)
        leaving = np.bincount(network.tail, weights=flow, minlength=network.nodes)
        for node in np.flatnonzero(leaving > 0).tolist():
            links = np.flatnonzero((network.tail == node) & (flow > 0))
            found.append(Split(node, destination, links, flow[links] / leaving[node]))
    return found


def whole_weights(ratio: NDArray[np.float64], buckets: int = _BUCKETS) -> NDArray[np.int64]:
    """Whole weights of at least 1 that sum to `buckets`, nearest to the ratios by largest remainders."""
    if not 0 < ratio.size <= buckets:
        raise InputError(f"{ratio.size} next hops do not fit into {buckets} buckets; pass more")
    spare = buckets - ratio.size
    exact = np.maximum(ratio * buckets - 1.0, 0.0)
    exact *= spare / exact.sum() if exact.sum() > 0 else 0.0
    weights = np.floor(exact).astype(np.int64)
    most = np.argsort(weights - exact, kind="stable")
    weights[most[: spare - int(weights.sum())]] += 1
    return weights + 1


def segments_of(network: Network, distance: NDArray[np.float64], links: list[int]) -> list[str]:
    """The fewest segments that force a route: nodes, reached by the only shortest path, else single links.

    distance : (nodes, nodes) of shortest paths by free-flow time
    """
    minutes, tail, head = network.free_flow_min, network.tail, network.head
    nodes = [int(tail[links[0]]), *(int(head[link]) for link in links)]
    segments, at = [], 0
    while at < len(links):
        end = at
        while end < len(links) and _only_shortest(network, distance, nodes[at], links[at : end + 1], minutes):
            end += 1
        if end == at:  # not even the first link is the way that a router would go: name the link itself
            segments.append(f"link {network.link_labels[links[at]]}")
            end = at + 1
        else:
            segments.append(f"node {network.node_labels[nodes[end]]}")
        at = end
    return segments


def write_split_ratios(
    release: Release,
    folder: Path,
    *,
    demand: Demand | None = None,
    most_routes: int = 20,
    buckets: int = _BUCKETS,
    progress: Progress | None = None,
) -> list[Path]:
    """Write split_ratios.csv and segments.csv for the released demand, or another one."""
    network, policy = release.policy.network, release.policy
    wanted = demand_of(release, demand)
    labels, names = network.node_labels, network.link_labels
    paths = [folder / name for name in FILES]
    with write_whole(paths[0]) as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(["node", "destination", "next_hop", "link_id", "ratio", "weight"])
        for split in split_ratios(network, policy, wanted):
            weights = whole_weights(split.ratio, buckets).tolist()
            for link, ratio, weight in zip(split.links.tolist(), split.ratio.tolist(), weights, strict=True):
                ends = labels[split.node], labels[split.destination], labels[int(network.head[link])]
                rows.writerow([*ends, names[link], repr(ratio), weight])
    graph = sparse.lil_array((network.nodes, network.nodes))
    for link, (a, b) in enumerate(zip(network.tail.tolist(), network.head.tolist(), strict=True)):
        before = graph[a, b]
        graph[a, b] = min(before or np.inf, max(float(network.free_flow_min[link]), 1e-12))
    distance = dijkstra(graph.tocsr())
    with write_whole(paths[1]) as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(["origin", "destination", "probability", "segments"])
        for pair in routes_by_pair(release, wanted, most_routes=most_routes, progress=progress):
            for probability, links in zip(pair.probability, pair.links, strict=True):
                listed = " > ".join(segments_of(network, distance, links))
                rows.writerow([labels[pair.origin], labels[pair.destination], repr(probability), listed])
    return paths


def _only_shortest(
    network: Network, distance: NDArray[np.float64], start: int, links: list[int], minutes: NDArray[np.float64]
) -> bool:
    """Whether these links are the one shortest path between their ends: no other link leads along a shortest path."""
    end = int(network.head[links[-1]])
    here, left = start, float(np.maximum(minutes[links], 1e-12).sum())
    if left > distance[start, end] * (1 + _TIE):
        return False
    for link in links:
        others = np.flatnonzero(network.tail == here)
        along = np.maximum(minutes[others], 1e-12) + distance[network.head[others], end]
        if np.count_nonzero(along <= distance[here, end] * (1 + _TIE) + 1e-300) != 1:
            return False
        here = int(network.head[link])
    return True


def _without_cycles(network: Network, flow: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take flow that goes round in a circle away; sums over origins may have some where origins disagree."""
    flow = flow.copy()
    while True:
        cycle = _cycle(network, flow)
        if not cycle:
            return flow
        flow[cycle] -= flow[cycle].min()
        flow[cycle] = np.where(flow[cycle] > 0, flow[cycle], 0.0)


def _cycle(network: Network, flow: NDArray[np.float64]) -> list[int]:
    """The links of one cycle that carries flow; empty if there is none."""
    alive = flow > 0
    while True:  # leave links out that nothing enters
        entered = np.zeros(network.nodes, dtype=bool)
        entered[network.head[alive]] = True
        kept = alive & entered[network.tail]
        if np.array_equal(kept, alive):
            break
        alive = kept
    entering = {int(network.head[link]): link for link in np.flatnonzero(alive).tolist()}
    if not entering:
        return []
    node = next(iter(entering))
    back: list[int] = []
    place: dict[int, int] = {}
    while node not in place:
        place[node] = len(back)
        back.append(entering[node])
        node = int(network.tail[back[-1]])
    return back[place[node] :]
