"""Random networks for property tests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from privroute.network.latency import Latency
from privroute.network.network import Network

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from privroute.network.labels import Label

__all__ = ["labels", "latencies", "networks", "numbers"]

ANY_FINITE = sys.float_info.max


def labels(least: int, most: int) -> SearchStrategy[list[Label]]:
    """Labels, whole numbers or printable texts of any script, different as texts."""
    texts = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=8)
    return st.lists(st.integers(1 - 10**18, 10**18 - 1) | texts, min_size=least, max_size=most, unique_by=str)


def numbers(smallest: float, largest: float) -> SearchStrategy[float]:
    """Finite numbers within a range."""
    return st.floats(smallest, largest)


@st.composite
def latencies(draw: DrawFn, links: int, largest: float = 1e6) -> Latency:
    """Affine, BPR or mixed curves; free-flow times may be 0."""

    def each(low: float, high: float) -> list[float]:
        return draw(st.lists(numbers(low, high), min_size=links, max_size=links))

    minutes, capacity = each(0.0, largest), each(1.0 / largest, largest)
    match draw(st.sampled_from(["affine", "bpr", "mixed"])):
        case "affine":
            return Latency.affine(minutes, capacity, draw(st.floats(1.0, largest)))
        case "bpr":
            return Latency.bpr(minutes, capacity)
        case _:
            return Latency.bpr(minutes, capacity, each(0.0, largest), each(0.0, largest))


@st.composite
def networks(draw: DrawFn, *, most_nodes: int = 6, most_links: int = 10, largest: float = 1e6) -> Network:
    """Small networks, connected or not, with parallel links and any choice of the optional fields.

    largest : bound of every number; ANY_FINITE for all that a Network takes
    """
    node_labels = draw(labels(2, most_nodes))
    nodes = len(node_labels)
    ends = st.tuples(st.integers(0, nodes - 1), st.integers(1, nodes - 1))  # tail, and the step to another node
    steps = draw(st.lists(ends, min_size=1, max_size=most_links))
    links = len(steps)
    amounts = st.lists(st.floats(0.0, largest), min_size=links, max_size=links)
    points = st.lists(
        st.tuples(st.floats(-largest, largest), st.floats(-largest, largest)), min_size=nodes, max_size=nodes
    )
    every_node = draw(st.permutations(range(nodes)))
    return Network(
        [tail for tail, _ in steps],
        [(tail + step) % nodes for tail, step in steps],
        draw(latencies(links, largest)),
        node_labels,
        zones=draw(st.none() | st.integers(1, nodes).map(lambda count: every_node[:count])),
        no_through=np.array(draw(st.lists(st.booleans(), min_size=nodes, max_size=nodes))),
        background_per_min=draw(st.just(0.0) | amounts),
        coordinates=draw(st.none() | points),
        crs=draw(st.sampled_from([None, "EPSG:4326", "epsg:32633", "Gauß-Krüger, Zone 3"])),
        length_km=draw(st.none() | amounts),
        link_labels=draw(st.none() | labels(links, links)),
    )
