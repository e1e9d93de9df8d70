"""Networks of routers: SNDlib in both formats, the Topology Zoo, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import privroute as pr
from privroute.errors import FormatError, InputError
from privroute.network.data_network import MINUTES_PER_MS, PER_MIN_OF_MBPS, LineOptions, read_topology_zoo
from privroute.network.network_files import kind_of_network
from privroute.network.sndlib import read_sndlib, read_sndlib_demands

NATIVE = """?SNDlib native format; type: network; version: 1.0
# network small
NODES (
  A ( 0.00 50.00 )
  B ( 2.80 50.00 )
  C ( 1.40 51.00 )
)
LINKS (
  A_B ( A B ) 1000.00 0.00 0.00 133.00 ( 4000.00 133.00 )
  B_C ( B C ) 0.00 0.00 0.00 133.00 ( 155.00 1.00 622.00 2.00 )
  A_C ( A C ) 622.00 0.00 0.00 133.00 ( )
)
DEMANDS (
  A_B ( A B ) 1 300.00 UNLIMITED
  B_A ( B A ) 1 12.50 UNLIMITED
  A_B2 ( A B ) 1 50.00 UNLIMITED
)
"""
XML = """<?xml version="1.0" encoding="UTF-8"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <networkStructure><nodes coordinatesType="geographical">
  <node id="A"><coordinates><x>0.0</x><y>50.0</y></coordinates></node>
  <node id="B"><coordinates><x>2.8</x><y>50.0</y></coordinates></node>
  <node id="C"><coordinates><x>1.4</x><y>51.0</y></coordinates></node></nodes>
 <links>
  <link id="A_B"><source>A</source><target>B</target><preInstalledModule><capacity>1000.0</capacity>
   <cost>0</cost></preInstalledModule></link>
  <link id="B_C"><source>B</source><target>C</target><additionalModules>
   <addModule><capacity>155.0</capacity></addModule>
   <addModule><capacity>622.0</capacity></addModule></additionalModules></link>
  <link id="A_C"><source>A</source><target>C</target><preInstalledModule><capacity>622.0</capacity></preInstalledModule>
  </link></links></networkStructure>
 <demands><demand id="A_B"><source>A</source><target>B</target><demandValue>350.0</demandValue></demand>
  <demand id="B_A"><source>B</source><target>A</target><demandValue>12.5</demandValue></demand></demands>
</network>
"""
ZOO = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d1" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d2" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d3" />
  <key attr.name="label" attr.type="string" for="node" id="d4" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d2">50.0</data><data key="d3">0.0</data><data key="d4">Here</data></node>
    <node id="1"><data key="d2">50.0</data><data key="d3">2.8</data><data key="d4">There</data></node>
    <node id="2"><data key="d4">There</data></node>
    <edge source="0" target="1"><data key="d1">1000000000.0</data></edge>
    <edge source="1" target="2"></edge>
    <edge source="2" target="0"><data key="d1">622000000.0</data></edge>
  </graph>
</graphml>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.txt").write_text(NATIVE)
    (tmp_path / "small.xml").write_text(XML)
    (tmp_path / "zoo.graphml").write_text(ZOO)
    return tmp_path


def test_both_formats_of_sndlib_are_one_network(folder: Path) -> None:
    network = read_sndlib(folder / "small.txt")
    assert network == read_sndlib(folder / "small.xml")
    assert network.links == 6
    np.testing.assert_allclose(network.capacity_per_min / PER_MIN_OF_MBPS, [1000, 1000, 622, 622, 622, 622])
    # 200 km of fibre are 1 ms; a packet of 1,000 bytes takes 0.008 ms at 1,000 Mbit/s
    assert network.length_km is not None
    expected = network.length_km[0] / 200 + 0.008
    assert network.free_flow_min[0] / MINUTES_PER_MS == pytest.approx(expected)
    assert 199 < network.length_km[0] < 201
    half = network.latency.time(network.capacity_per_min / 2) / MINUTES_PER_MS
    assert half[0] == pytest.approx(expected + 0.008)  # 1/(mu - y) is twice the service time at half load
    for name in ("small.txt", "small.xml"):
        demand = read_sndlib_demands(folder / name, network)
        assert demand.total_per_min == pytest.approx(362.5 * PER_MIN_OF_MBPS)
        assert np.count_nonzero(demand.rate_per_min) == 2
    solution = pr.solve_optimum(network, read_sndlib_demands(folder / "small.txt", network), gap=1e-9)
    assert solution.status == "converged"


def test_read_network_knows_them_by_their_content(folder: Path) -> None:
    assert (
        pr.read_network(folder / "small.xml")
        == pr.read_network(folder / "small.txt")
        == read_sndlib(folder / "small.txt")
    )
    (folder / "streets.xml").write_text('<?xml version="1.0"?><osm version="0.6"></osm>')
    assert kind_of_network(folder / "streets.xml") == "OpenStreetMap"
    assert kind_of_network(folder / "zoo.graphml") == "Topology Zoo"


def test_the_curve_that_they_have_anyhow_may_be_named(folder: Path) -> None:
    queue = {"packet_bytes": 500.0, "queue_limit": 0.8}
    named = pr.read_network(folder / "small.txt", latency="mm1", **queue)  # type: ignore[arg-type]
    assert named == pr.read_network(folder / "small.txt", **queue)  # type: ignore[arg-type]
    assert named != pr.read_network(folder / "small.txt")
    with pytest.raises(pr.PrivrouteError, match="queue_limit is only valid with"):
        pr.read_network(folder / "small.txt", latency="affine", **queue)  # type: ignore[arg-type]


def test_places_on_a_drawing_have_no_lengths(folder: Path) -> None:
    (folder / "small.xml").write_text(XML.replace("geographical", "pixel"))
    (folder / "small.txt").write_text(NATIVE.replace("0.00 50.00", "310.00 50.00"))
    for name in ("small.xml", "small.txt"):
        network = read_sndlib(folder / name)
        assert network.coordinates is network.length_km is None
        assert network.free_flow_min[0] / MINUTES_PER_MS == pytest.approx(0.1 + 0.008)


def test_nodes_with_confusing_names_stay_apart(folder: Path) -> None:
    (folder / "zoo.graphml").write_text(ZOO.replace(">Here<", ">There 1<"))
    network = read_topology_zoo(folder / "zoo.graphml", LineOptions(capacity_mbps=10.0))
    assert network.node_labels == (0, 1, 2)
    assert network.links == 6


def test_entities_do_not_grow(folder: Path) -> None:
    grown = "".join(f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">' for level in range(1, 12))
    bomb = f'<!DOCTYPE network [<!ENTITY e0 "here">{grown}]><network><nodes><node id="&e11;"/></nodes></network>'
    (folder / "bad.xml").write_text(bomb)
    with pytest.raises(FormatError, match="cannot be read as XML of SNDlib"):
        read_sndlib(folder / "bad.xml")


def test_the_topology_zoo(folder: Path) -> None:
    with pytest.raises(FormatError, match="line '1' has no capacity; pass one for such lines: capacity_mbps="):
        read_topology_zoo(folder / "zoo.graphml")
    network = read_topology_zoo(folder / "zoo.graphml", LineOptions(capacity_mbps=10.0))
    assert network.node_labels == ("Here", "There 1", "There 2")
    np.testing.assert_allclose(network.capacity_per_min / PER_MIN_OF_MBPS, [1000, 1000, 10, 10, 622, 622])
    assert network.coordinates is None  # one place is not known: its lines have the least delay
    assert network.free_flow_min[4] / MINUTES_PER_MS == pytest.approx(0.1 + 8.0 / 622.0)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("B_C ( B C )", "B_C ( B D )", "line 'B_C' names node 'D', which is not there"),
        ("A_B ( A B ) 1 300.00", "A_B ( A Q ) 1 300.00", "a demand names node 'Q'"),
        ("A_B ( A B ) 1 300.00", "A_B ( A B ) 1 -300.00", r"line 14: the demand is '-300\.00'"),
        ("NODES (", "KNOTS (", "line 3: 'KNOTS' begins no section"),
        ("  A ( 0.00 50.00 )", "  A 0.00 50.00", r"line 4: expected an entry like: name \( x y \)"),
        ("UNLIMITED\n)\n", "UNLIMITED\n", "the section DEMANDS does not end"),
        ("622.00 2.00 )", "x 2.00 )", "line 10: a module's capacity is 'x'"),
    ],
)
def test_native_files_that_are_refused(folder: Path, old: str, new: str, what: str) -> None:
    assert old in NATIVE
    (folder / "bad.txt").write_text(NATIVE.replace(old, new))
    with pytest.raises(FormatError, match=what):
        read_sndlib_demands(folder / "bad.txt", read_sndlib(folder / "bad.txt"))


@pytest.mark.parametrize("text", ["<network", "<network></network>", XML.replace("350.0", "many"), XML[:700]])
def test_xml_that_is_refused(folder: Path, text: str) -> None:
    (folder / "bad.xml").write_text(text)
    with pytest.raises(FormatError):
        read_sndlib(folder / "bad.xml")


def test_options_that_are_refused() -> None:
    for wrong in ({"packet_bytes": 0.0}, {"limit": 1.0}, {"km_per_ms": float("inf")}, {"capacity_mbps": -1.0}):
        with pytest.raises(InputError):
            LineOptions(**wrong)
