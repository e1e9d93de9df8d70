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

__all__ = ["random_path", "unit_flows"]


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
