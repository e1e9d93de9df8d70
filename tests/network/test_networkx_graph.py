from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from tests.network.strategies import ANY_FINITE, networks

from privroute.errors import MissingExtraError, NetworkError
from privroute.network.latency import Latency
from privroute.network.network import Network
from privroute.network.networkx_graph import from_networkx, to_networkx
from privroute.network.road_classes import ROAD_CLASSES, RoadClass

MILE_KM = 1.609344


def chain(*edges: dict[str, Any], **nodes: Any) -> nx.MultiDiGraph:
    """A path a, b, c, ... with these attributes on its edges, and the same attributes on every node."""
    graph = nx.MultiDiGraph()
    keys = [chr(ord("a") + position) for position in range(len(edges) + 1)]
    graph.add_nodes_from(keys, **nodes)
    for (tail, head), values in zip(pairwise(keys), edges, strict=True):
        graph.add_edge(tail, head, **values)
    return graph


@given(networks(largest=ANY_FINITE))
@settings(max_examples=300, deadline=None)
def test_a_network_comes_back_equal(network: Network) -> None:
    assert from_networkx(to_networkx(network)) == network


@given(networks())
@settings(max_examples=50, deadline=None)
def test_the_graph_has_what_other_tools_look_for(network: Network) -> None:
    graph = to_networkx(network)
    assert isinstance(graph, nx.MultiDiGraph)
    assert graph.graph.get("crs") == network.crs
    assert tuple(graph) == network.node_labels
    by_position = {data["link_position"]: (u, v, data) for u, v, data in graph.edges(data=True)}
    for link in range(network.links):
        u, v, data = by_position[link]
        assert (u, v) == (network.node_labels[network.tail[link]], network.node_labels[network.head[link]])
        assert data["travel_time"] == network.free_flow_min[link] * 60
        assert ("length" in data) == (network.length_km is not None)
        if network.length_km is not None:
            assert data["length"] == network.length_km[link] * 1000
    for x, y in network.coordinates if network.coordinates is not None else ():
        assert (x, y) in [(data["x"], data["y"]) for _, data in graph.nodes(data=True)]


def test_a_network_comes_back_equal_through_graphml() -> None:
    network = Network(
        [0, 0, 2, 1],
        [1, 1, 0, 2],
        Latency.bpr([0.1, 0.2, 0.0, 1 / 3], [10, 20, 30, 0.7], [0.15, 1, 2, 0], [4, 1, 1, 0]),
        ["Zürich", "b", "7"],
        zones=[2, 0],
        no_through=np.array([False, True, False]),
        background_per_min=[0, 1, 0, 2.5],
        coordinates=[(8.5, 47.4), (8.6, 47.3), (8.7, 47.2)],
        crs="EPSG:4326",
        length_km=[0.1, 0.2, 0.3, 0.4],
        link_labels=[5, 3, 8, 1],
    )
    graphml = "\n".join(nx.generate_graphml(to_networkx(network)))
    graph = nx.parse_graphml(graphml, force_multigraph=True)
    assert from_networkx(graph) == network


def test_an_osmnx_graph_is_read_link_by_link() -> None:
    graph = nx.MultiDiGraph(crs="epsg:4326")
    graph.add_nodes_from([(11, {"x": 4.35, "y": 52.01, "street_count": 3}), (12, {"x": 4.36, "y": 52.01})])
    graph.add_nodes_from([(13, {"x": 4.36, "y": 52.02, "no_through": True})])
    two_way = {"osmid": [1, 2], "oneway": False, "reversed": False, "geometry": object()}
    graph.add_edge(11, 12, length=1000.0, highway="primary", maxspeed="50", lanes="2", **two_way)
    graph.add_edge(11, 11, length=80.0, highway="service", osmid=9)  # a loop
    graph.add_edge(11, 12, length=1500.0, highway=["motorway", "trunk"], maxspeed="none", lanes=["3", "2"], oneway=True)
    graph.add_edge(12, 13, length=500.0, highway="residential", maxspeed=["30 mph", "20 mph"], travel_time=60.0)
    graph.add_edge(12, 13, length=500.0, highway="residential", maxspeed=["30 mph", "20 mph"])
    graph.add_edge(13, 11, length=100.0, highway="living_street", maxspeed="walk", capacity=120)
    graph.add_edge(13, 11, length=2000.0, highway="busway", speed_kph=41.0, background_per_min=1.5)

    network = from_networkx(graph)

    trunk, primary = ROAD_CLASSES["trunk"], ROAD_CLASSES["primary"]
    residential, other = ROAD_CLASSES["residential"], ROAD_CLASSES["other"]
    assert network.node_labels == (11, 12, 13)
    assert network.tail.tolist() == [0, 0, 1, 1, 2, 2]
    assert network.head.tolist() == [1, 1, 2, 2, 0, 0]
    assert network.link_labels == (0, 1, 2, 3, 4, 5)
    minutes = [
        1.0 / 50 * 60,
        1.5 / trunk.speed_kph * 60,  # of motorway and trunk the one with the smaller capacity
        1.0,
        0.5 / (20 * MILE_KM) * 60,
        0.1 / 6 * 60,
        2.0 / 41 * 60,
    ]
    np.testing.assert_allclose(network.free_flow_min, minutes, rtol=1e-14)
    per_hour = [
        primary.capacity_per_hour_lane * 2 / 2,  # two lanes, one in each direction
        trunk.capacity_per_hour_lane * 2,
        residential.capacity_per_hour_lane * residential.lanes,
        residential.capacity_per_hour_lane * residential.lanes,
        120,
        other.capacity_per_hour_lane * other.lanes,
    ]
    np.testing.assert_allclose(network.capacity_per_min, np.array(per_hour) / 60, rtol=1e-14)
    assert network.length_km is not None
    assert network.length_km.tolist() == [1.0, 1.5, 0.5, 0.5, 0.1, 2.0]
    assert network.background_per_min.tolist() == [0, 0, 0, 0, 0, 1.5]
    assert network.no_through.tolist() == [False, False, True]
    assert network.zones.tolist() == [0, 1, 2]
    assert network.crs == "epsg:4326"
    assert network.has_longitude_latitude
    assert network.latency == Latency.affine(network.free_flow_min, network.capacity_per_min)


def test_a_digraph_without_any_osm_attribute_is_read() -> None:
    graph = nx.DiGraph([("a", "b", {"travel_time": 60}), ("b", "a", {"travel_time": 120})])
    network = from_networkx(graph)
    assert network.free_flow_min.tolist() == [1, 2]
    assert network.coordinates is None
    assert network.crs is None
    assert network.length_km is None


def test_local_road_classes_are_used() -> None:
    local = {"primary": RoadClass(900, 2, 60)}
    network = from_networkx(chain({"length": 1000, "highway": "primary"}), road_classes=local)
    assert network.capacity_per_min.tolist() == [30]
    assert network.free_flow_min.tolist() == [1]


def test_latency_is_the_edges_own_or_as_asked() -> None:
    road = {"free_flow_min": 1.0, "capacity_per_min": 10.0}
    graph = chain(road, {**road, "b": 0.5}, {**road, "power": 2}, {**road, "b": 0.3, "power": 3})

    def curves(**options: Any) -> list[tuple[float, float]]:
        latency = from_networkx(graph, **options).latency
        return list(map(tuple, latency.parameters.tolist()))

    assert curves() == [(1, 1), (0.5, 4), (0.15, 2), (0.3, 3)]
    assert curves(factor=3) == [(2, 1), (0.5, 4), (0.15, 2), (0.3, 3)]
    assert curves(latency="affine", factor=1.5) == [(0.5, 1)] * 4
    assert curves(latency="bpr") == [(0.15, 4), (0.5, 4), (0.15, 2), (0.3, 3)]
    assert curves(latency="bpr", b=1, power=5) == [(1, 5), (0.5, 5), (1, 2), (0.3, 3)]


def test_zones_are_the_named_nodes() -> None:
    graph = chain(*[{"travel_time": 1}] * 3, zone=False)
    assert from_networkx(graph, zones=["c", "a"]).zones.tolist() == [0, 2]
    assert from_networkx(graph, zones=(key for key in "db")).zones.tolist() == [1, 3]
    assert from_networkx(graph, zones=graph.nodes).zones.tolist() == [0, 1, 2, 3]
    with pytest.raises(NetworkError, match="at least one node"):
        from_networkx(graph, zones=[])


def test_zones_are_the_marked_nodes_if_none_are_named() -> None:
    graph = chain(*[{"travel_time": 1}] * 3)
    assert from_networkx(graph).zones.tolist() == [0, 1, 2, 3]
    graph.nodes["d"]["zone"] = True
    graph.nodes["b"]["zone"] = "True"  # as osmnx.save_graphml writes it
    assert from_networkx(graph).zones.tolist() == [1, 3]
    graph.nodes["a"]["zone"] = False
    assert from_networkx(graph, zones=["a"]).zones.tolist() == [0]


def test_a_graph_whose_nodes_are_all_marked_as_no_zones_is_refused() -> None:
    graph = chain(*[{"travel_time": 1}] * 3, zone=False)
    with pytest.raises(NetworkError, match=r"no node's zone is true; .*zones= or grid_km="):
        from_networkx(graph)


def test_zones_from_a_grid() -> None:
    graph = chain(*[{"travel_time": 1}] * 3)
    for key, (x, y) in zip("abcd", [(0, 0), (400, 500), (1500, 500), (1600, 500)], strict=True):
        graph.nodes[key].update(x=x, y=y)
    graph.graph["crs"] = "EPSG:32633"
    assert from_networkx(graph, grid_km=1).zones.tolist() == [1, 2]


class ReferenceSystem:
    """Stands for pyproj.CRS, which OSMnx puts into projected graphs."""

    def to_string(self) -> str:
        return "EPSG:32633"


@pytest.mark.parametrize(("crs", "text"), [(ReferenceSystem(), "EPSG:32633"), (28992, "EPSG:28992"), (None, None)])
def test_the_reference_system_becomes_a_text(crs: object, text: str | None) -> None:
    graph = chain({"travel_time": 1})
    graph.graph["crs"] = crs
    assert from_networkx(graph).crs == text


def test_whole_numbers_of_numpy_are_labels_too() -> None:
    graph = nx.DiGraph([(np.int64(4), np.int64(7), {"travel_time": 1})])
    assert from_networkx(graph, zones=np.array([7])).node_labels == (4, 7)


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_undirected_graphs_are_refused_with_advice(kind: type[nx.Graph]) -> None:
    with pytest.raises(NetworkError, match=rf"undirected {kind.__name__}; .*graph.to_directed\(\)"):
        from_networkx(kind([(1, 2)]))


@pytest.mark.parametrize("graph", [None, "graph", {1: [2]}, nx.MultiDiGraph, [(1, 2)]])
def test_other_things_than_graphs_are_refused(graph: object) -> None:
    with pytest.raises(NetworkError, match=r"graph is a .*; pass a networkx.MultiDiGraph or networkx.DiGraph"):
        from_networkx(graph)


@pytest.mark.parametrize("edges", [[], [(1, 1), (2, 2)]])
def test_a_graph_without_links_is_refused(edges: list[tuple[int, int]]) -> None:
    with pytest.raises(NetworkError, match=r"no edge between two different nodes; a network needs at least one"):
        from_networkx(nx.DiGraph(edges))


@pytest.mark.parametrize("key", [(0, 1), 1.5, frozenset(), True, 10**5000], ids=lambda key: type(key).__name__)
def test_keys_that_are_no_labels_are_refused_with_advice(key: object) -> None:
    graph = nx.DiGraph([("a", key, {"travel_time": 1})])
    with pytest.raises(NetworkError, match=r"node .*: the key is a .*convert_node_labels_to_integers"):
        from_networkx(graph)


def test_keys_that_look_alike_are_refused() -> None:
    with pytest.raises(NetworkError, match="node_labels: positions 0 and 1 are both 1; use each once"):
        from_networkx(nx.DiGraph([(1, "1", {"travel_time": 1})]))


@pytest.mark.parametrize("name", ["b", "power", "background_per_min", "link_position", "link_label", "length"])
@pytest.mark.parametrize("value", [None, float("nan"), b"much", [1.0], float("inf")], ids=repr)
def test_an_unusable_edge_attribute_is_named_with_its_edge(name: str, value: object) -> None:
    graph = chain({"travel_time": 1, name: 1}, {"travel_time": 1, name: value})
    with pytest.raises(NetworkError, match=rf"edge \('b', 'c', 0\): {name} is .*; .*omit the attribute"):
        from_networkx(graph)


@pytest.mark.parametrize("name", ["x", "y", "zone", "no_through"])
@pytest.mark.parametrize("value", [None, float("nan"), "much", [1.0]], ids=repr)
def test_an_unusable_node_attribute_is_named_with_its_node(name: str, value: object) -> None:
    graph = chain({"travel_time": 1}, x=0, y=0, zone=True)
    graph.nodes["b"][name] = value
    with pytest.raises(NetworkError, match=rf"node 'b': {name} is .*; .*omit the attribute"):
        from_networkx(graph)


def test_edges_of_a_digraph_are_named_without_a_key() -> None:
    with pytest.raises(NetworkError, match=r"edge \('a', 'b'\): travel_time is -1; it must be finite and not negative"):
        from_networkx(nx.DiGraph([("a", "b", {"travel_time": -1})]))


def test_attributes_on_some_nodes_or_edges_only_are_refused() -> None:
    graph = chain({"travel_time": 1}, {"travel_time": 1, "length": 5})
    with pytest.raises(
        NetworkError, match=r"edge \('a', 'b', 0\): length is missing, while 1 of 2 have it; give it to"
    ):
        from_networkx(graph)
    graph = chain({"travel_time": 1}, {"travel_time": 1, "link_label": "x"})
    with pytest.raises(NetworkError, match=r"edge \('a', 'b', 0\): link_label is missing, while 1 of 2"):
        from_networkx(graph)
    graph = chain({"travel_time": 1})
    graph.nodes["a"].update(x=1, y=1)
    with pytest.raises(NetworkError, match=r"node 'b': x is missing, while 1 of 2 have it; give it to all nodes or"):
        from_networkx(graph)
    with pytest.raises(NetworkError, match=r"nodes have x alone; give every node both x and y, or neither"):
        from_networkx(chain({"travel_time": 1}, x=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"zones": ["a"], "grid_km": 1}, r"zones and grid_km are both given; pass one of them"),
        ({"zones": ["a", "z"]}, r"zones: position 1: no node is labelled 'z'; .* pass keys of nodes"),
        ({"zones": ["a", "a"]}, r"zones: node a is named more than once"),
        ({"zones": "ab"}, r"zones is a str; pass a list of node keys"),
        ({"zones": 5}, r"zones is a int; pass a list of node keys"),
        ({"zones": [None]}, r"zones: position 0: is a NoneType; .*pass keys of nodes of the graph"),
        ({"grid_km": 0}, r"grid_km is 0; pass a finite number greater than 0"),
        ({"grid_km": float("nan")}, r"grid_km is nan; pass"),
        ({"grid_km": "1"}, r"grid_km is '1'; pass"),
        ({"grid_km": 1}, r"grid_km: the nodes have no coordinates; give every node x and y"),
        ({"latency": "linear"}, r'latency is \'linear\'; pass "affine", "bpr".* or None'),
        ({"factor": 0.5}, r"factor is 0.5; pass a finite number of at least 1"),
        ({"b": -1}, r"b is -1; pass a finite number of at least 0"),
        ({"power": None}, r"power is None; pass a finite number of at least 0"),
        ({"road_classes": 5}, r"road_classes is a int; pass a mapping"),
    ],
)
def test_unusable_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        from_networkx(chain({"travel_time": 1}), **options)


class BrokenSystem:
    def to_string(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("crs", [4.5, ["EPSG:4326"], True, object, BrokenSystem()])
def test_an_unusable_reference_system_is_refused(crs: object) -> None:
    graph = chain({"travel_time": 1})
    graph.graph["crs"] = crs
    with pytest.raises(NetworkError, match=r'graph: crs is .*; set graph.graph\["crs"\] to a text'):
        from_networkx(graph)


def test_reading_does_without_networkx(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain({"travel_time": 60})
    monkeypatch.setitem(sys.modules, "networkx", None)
    assert from_networkx(graph).free_flow_min.tolist() == [1]


def test_writing_needs_a_network_and_networkx(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NetworkError, match=r"network is a MultiDiGraph; pass privroute.Network"):
        to_networkx(nx.MultiDiGraph())
    network = from_networkx(chain({"travel_time": 1}))
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'privroute\[networkx\]'"):
        to_networkx(network)
