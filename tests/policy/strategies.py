"""Random connected networks, unit flows and policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st
from tests.network.strategies import networks

import privroute as pr

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn
    from numpy.typing import NDArray

__all__ = ["bush_policies", "random_path", "unit_flows"]


def random_path(network: pr.Network, origin: int, destination: int, chance: np.random.Generator) -> list[int] | None:
    """A simple path by random depth-first search that keeps the no-through rule, or None."""
    stack: list[tuple[int, list[int], set[int]]] = [(origin, [], {origin})]
    while stack:
        at, path, seen = stack.pop()
        if at == destination:
            return path
        if at != origin and network.no_through[at]:
            continue
        for link in chance.permutation(np.flatnonzero(network.tail == at)):
            to = int(network.head[link])
            if to not in seen:
                stack.append((to, [*path, int(link)], seen | {to}))
    return None


@st.composite
def unit_flows(draw: DrawFn) -> tuple[pr.Network, pr.Pairs, NDArray[np.float64]]:
    """A network, pairs that paths join, and for each a random mixture of random paths and cycles."""
    network = draw(networks(most_nodes=7, most_links=20, largest=1e3).filter(lambda net: bool(_joined(net))))
    joined = _joined(network)
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    pairs = pr.Pairs(*np.array(joined).T)
    flows = np.zeros((len(joined), network.links))
    for row, (origin, destination) in zip(flows, joined, strict=True):
        weights = chance.dirichlet(np.ones(draw(st.integers(1, 5))))
        for weight in weights:
            path = random_path(network, origin, destination, chance)
            assert path
            row[path] += weight
        np.minimum(row, 1.0, out=row)
    return network, pairs, flows


def _joined(network: pr.Network) -> list[tuple[int, int]]:
    chance = np.random.default_rng(0)
    return [
        (origin, destination)
        for origin in range(network.nodes)
        for destination in range(network.nodes)
        if origin != destination and random_path(network, origin, destination, chance)
    ]


@st.composite
def bush_policies(draw: DrawFn) -> pr.RoutingPolicy:
    """A random policy by origin on a random network: acyclic links with any shares, two bushes for each origin."""
    network = draw(networks(most_nodes=7, most_links=20, largest=1e3))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    bushes = [
        bush for origin in range(network.nodes) for bush in [_random_bush(network, origin, chance) for _ in range(2)]
    ]
    wanted = [
        (origin, destination, number)
        for number, (origin, links, _) in enumerate(bushes)
        for destination in sorted({int(network.head[link]) for link in links})
        if destination not in {d for o, d, n in _pairs_before(bushes, number, network)}
    ]
    order = chance.permutation(len(wanted))
    origin, destination, number = (np.array([wanted[i][part] for i in order], dtype=np.int32) for part in range(3))
    return pr.RoutingPolicy.by_origin(
        network,
        pr.Pairs(origin, destination),
        root=np.array([bush[0] for bush in bushes], dtype=np.int32),
        link_start=np.cumsum([0, *(len(bush[1]) for bush in bushes)]),
        links=np.array([link for bush in bushes for link in bush[1]], dtype=np.int32),
        share_start=np.cumsum([0, *(len(bush[2]) for bush in bushes)]),
        share=np.array([share for bush in bushes for share in bush[2]], dtype=np.float64),
        bush_of_pair=number,
    )


Bush = tuple[int, list[int], list[float]]


def _pairs_before(bushes: list[Bush], number: int, network: pr.Network) -> list[tuple[int, int, int]]:
    """Pairs that the origin's first bush has already; the second one takes the rest."""
    if number % 2 == 0:
        return []
    origin, links, _ = bushes[number - 1]
    return [(origin, int(network.head[link]), number - 1) for link in links]


def _random_bush(network: pr.Network, origin: int, chance: np.random.Generator) -> Bush:
    """Links that follow a random order of the nodes, each node with some of those that may enter it."""
    order = [origin, *(node for node in chance.permutation(network.nodes).tolist() if node != origin)]
    placed, links, shares = {origin}, [], []
    for node in order[1:]:
        open_links = [
            link
            for link in np.flatnonzero(network.head == node).tolist()
            if int(network.tail[link]) in placed
            and (network.tail[link] == origin or not network.no_through[network.tail[link]])
        ]
        if not open_links:
            continue
        chosen = chance.permutation(open_links)[: chance.integers(1, len(open_links) + 1)].tolist()
        placed.add(node)
        links += chosen
        if len(chosen) > 1:
            parts = chance.dirichlet(np.ones(len(chosen))) + 1e-3
            shares += (parts / parts.sum()).tolist()
    return origin, links, shares


def diamonds(count: int) -> pr.RoutingPolicy:
    """`count` diamonds in a row: two ways through each, so 2^count routes from end to end."""
    tail = [node for k in range(count) for node in (3 * k, 3 * k, 3 * k + 1, 3 * k + 2)]
    head = [node for k in range(count) for node in (3 * k + 1, 3 * k + 2, 3 * k + 3, 3 * k + 3)]
    network = pr.Network(tail, head, pr.Latency.affine(np.ones(4 * count), 1.0), range(3 * count + 1))
    return pr.RoutingPolicy.by_origin(
        network,
        pr.Pairs([0], [3 * count]),
        root=[0],
        link_start=[0, 4 * count],
        links=np.arange(4 * count),
        share_start=[0, 2 * count],
        share=np.tile([0.75, 0.25], count),
        bush_of_pair=[0],
    )
