"""Graphs spoilt at random: the reader returns a network or raises the package's own error, nothing else."""

from __future__ import annotations

import math
import random
from typing import Any

import networkx as nx
import pytest

from privroute.errors import PrivrouteError
from privroute.network.network import Network
from privroute.network.networkx_graph import from_networkx, to_networkx

CASES_PER_SEED = 2_500


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


NUMBERS: list[Any] = [0, 1, -1, 2.5, 1e300, -1e300, 5e-324, math.nan, math.inf, -math.inf, 10**400, 10**5000, 2**63]
TEXTS: list[Any] = ["", " ", "50", "30 mph", "walk", "none", "signals", "DE:urban", "-1", "1e999", "nan", "inf", "1_0"]
TEXTS += [
    "٣",
    "50;30",
    ";",
    "|",
    "primary",
    "motorway_link",
    "yes",
    "No",
    "True",
    "\x00",
    "\ud800",
    "9" * 5000,
    "EPSG:4326",
]
OTHERS: list[Any] = [None, True, False, [], (), {}, set(), b"50", 1j, object(), Unprintable(), int, [[]], [None, "50"]]
ODD = NUMBERS + TEXTS + OTHERS
NODE_NAMES = ["x", "y", "zone", "no_through"]
EDGE_NAMES = ["free_flow_min", "travel_time", "length_km", "length", "speed_kph", "maxspeed", "capacity_per_min"]
EDGE_NAMES += [
    "capacity",
    "highway",
    "lanes",
    "oneway",
    "vdf_type",
    "b",
    "power",
    "background_per_min",
    "link_label",
    "link_position",
]
ARGUMENTS = ["zones", "grid_km", "latency", "factor", "b", "power", "road_classes"]


def street_graph(kind: type[nx.DiGraph]) -> nx.DiGraph:
    graph = kind(crs="EPSG:4326")
    for node in range(5):
        graph.add_node(node, x=4.0 + node / 100, y=52.0 + node**2 / 100)
    for tail, head in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (2, 0), (1, 1)]:
        graph.add_edge(tail, head, length=500.0, highway="primary", maxspeed="50", lanes="2", oneway=False)
    return graph


def odd_value(draw: random.Random) -> object:
    value = draw.choice(ODD)
    return [value, draw.choice(ODD)] if draw.random() < 0.2 else value


def spoil(graph: nx.DiGraph, draw: random.Random) -> nx.DiGraph:
    values = draw.choice([data for _, data in graph.nodes(data=True)] + [data for *_, data in graph.edges(data=True)])
    match draw.randrange(6):
        case 0:
            values[draw.choice(NODE_NAMES)] = odd_value(draw)
        case 1 | 2:
            values[draw.choice(EDGE_NAMES)] = odd_value(draw)
        case 3 if values:
            del values[draw.choice(list(values))]
        case 4:
            name, value = draw.choice(EDGE_NAMES + NODE_NAMES), odd_value(draw)
            for *_, data in [*graph.nodes(data=True), *graph.edges(data=True)]:
                data[name] = value
        case _:
            graph.graph["crs"] = odd_value(draw)
    return graph


def odd_arguments(draw: random.Random) -> dict[str, Any]:
    match draw.randrange(4):
        case 0:
            return {"grid_km": draw.choice([0.5, 1.0, 1e6, 1e-9, *NUMBERS])}
        case 1:
            return {draw.choice(ARGUMENTS): odd_value(draw)}
        case 2:
            return {"latency": draw.choice([None, "affine", "bpr"])}
        case _:
            return {}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_spoilt_graphs_raise_nothing_but_the_packages_errors(kind: type[nx.DiGraph], seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311, reproducible cases
    read = 0
    for _ in range(CASES_PER_SEED):
        graph = street_graph(kind)
        for _ in range(draw.randint(1, 3)):
            spoil(graph, draw)
        if draw.random() < 0.1:
            graph = nx.relabel_nodes(graph, {draw.randrange(5): draw.choice([4.5, (1, 2), "3", "ü", True, 10**5000])})
        try:
            network = from_networkx(graph, **odd_arguments(draw))
        except PrivrouteError:
            continue
        assert isinstance(network, Network)
        assert from_networkx(to_networkx(network)) == network
        read += 1
    assert CASES_PER_SEED / 20 < read < CASES_PER_SEED * 19 / 20  # the cases are neither all good nor all bad
