"""A policy as routers use it: split ratios at each node for each destination, and segment lists.

    ratio of link e at node v for destination d = flow on e to d / flow that leaves v to d

The flows are those of the policy under a demand, summed over origins, so routers that know the destination of a packet
alone put the same load on every link. `split_ratios.csv` has the ratios and whole weights for weighted equal-cost
multipath; `segments.csv` has the routes of each pair, with the fewest segments that force them on routers which
otherwise follow shortest paths by free-flow time (segment routing).
"""

from __future__ import annotations

import csv
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from privroute.errors import InputError
from privroute.handover.routes import demand_of, routes_by_pair
from privroute.network.text_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress
    from privroute.release.release import Release

__all__ = ["FILES", "ShortestPaths", "Split", "segments_of", "split_ratios", "whole_weights", "write_split_ratios"]

FILES = ("split_ratios.csv", "segments.csv")
_BUCKETS = 64  # entries of a router's table over which weights are spread
_NEGLIGIBLE = 1e-9
_TIE = 1e-9
_SHORTEST_MIN = 1e-12  # of a link that takes no time
_MOST_BYTES = 2**26  # of shortest paths in memory


class Split(NamedTuple):
    """What one node does with the traffic to one destination: links that leave it, and their shares, which sum to 1."""

    node: int
    destination: int
    links: NDArray[np.intp]
    ratio: NDArray[np.float64]


def split_ratios(network: Network, policy: RoutingPolicy, demand: Demand) -> Iterator[Split]:
    """Split ratios at every node that traffic to a destination reaches, by destination, then node; one at a time."""
    pairs = policy.pairs
    rates = demand.on(pairs).rate_per_min
    for destination in np.unique(pairs.destination[rates > 0]).tolist():
        own = np.where(pairs.destination == destination, rates, 0.0)
        flow = policy.link_flow(demand.__class__(pairs, own)) - network.background_per_min
        flow = _without_cycles(network, np.where(flow > _NEGLIGIBLE * own.sum(), flow, 0.0))
        used = np.flatnonzero(flow > 0)
        if not used.size:  # next to nothing, which background traffic swallows
            continue
        used = used[np.argsort(network.tail[used], kind="stable")]
        nodes, first = np.unique(network.tail[used], return_index=True)
        for node, links in zip(nodes.tolist(), np.split(used, first[1:]), strict=True):
            yield Split(node, destination, links, flow[links] / flow[links].sum())


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


class ShortestPaths:
    """The only shortest paths by free-flow time from a node, computed when asked for; memory for a limited number."""

    def __init__(self, network: Network, *, most_bytes: int = _MOST_BYTES) -> None:
        self._network = network
        self._minutes = np.maximum(network.free_flow_min, _SHORTEST_MIN)
        order = np.lexsort((self._minutes, network.head, network.tail))  # of parallel links the fastest
        ends = np.column_stack([network.tail, network.head])[order]
        first = order[np.concatenate([[True], np.any(ends[1:] != ends[:-1], axis=1)])]
        shape = (network.nodes, network.nodes)
        self._graph = sparse.csr_array((self._minutes[first], (network.tail[first], network.head[first])), shape=shape)
        self._most = max(most_bytes // (4 * network.nodes), 1)
        self._known: OrderedDict[int, NDArray[np.int32]] = OrderedDict()

    def last_links(self, start: int) -> NDArray[np.int32]:
        """(nodes,) the link by which all shortest paths from `start` enter a node; -1 where there are several, or none.

        Where the last links of all nodes of a path are its own, it is the only shortest path.
        """
        if start in self._known:
            self._known.move_to_end(start)
            return self._known[start]
        network = self._network
        distance = dijkstra(self._graph, indices=start)
        with np.errstate(invalid="ignore"):  # infinite less infinite: not reached
            tight = distance[network.tail] + self._minutes <= distance[network.head] * (1 + _TIE)
        tight &= np.isfinite(distance[network.head])
        last = np.full(network.nodes, -1, dtype=np.int32)
        links = np.flatnonzero(tight)
        last[network.head[links]] = links
        last[np.bincount(network.head[links], minlength=network.nodes) > 1] = -1
        if len(self._known) >= self._most:
            self._known.popitem(last=False)
        self._known[start] = last
        return last


def segments_of(network: Network, shortest: ShortestPaths, links: list[int]) -> list[str]:
    """The fewest segments that force a route: nodes, reached by the only shortest path, else single links."""
    segments, at = [], 0
    while at < len(links):
        last = shortest.last_links(int(network.tail[links[at]]))
        end = at
        while end < len(links) and last[network.head[links[end]]] == links[end]:
            end += 1
        if end == at:  # not even the first link is the way that a router would go: name the link itself
            segments.append(f"link {network.link_labels[links[at]]}")
            end = at + 1
        else:
            segments.append(f"node {network.node_labels[network.head[links[end - 1]]]}")
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
    shortest = ShortestPaths(network)
    with write_whole(paths[1]) as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(["origin", "destination", "probability", "segments"])
        for pair in routes_by_pair(release, wanted, most_routes=most_routes, progress=progress):
            for probability, links in zip(pair.probability, pair.links, strict=True):
                listed = " > ".join(segments_of(network, shortest, links))
                rows.writerow([labels[pair.origin], labels[pair.destination], repr(probability), listed])
    return paths


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
