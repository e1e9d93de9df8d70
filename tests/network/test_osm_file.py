"""OpenStreetMap extracts become networks: what is taken, what is left out, and how streets run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import osmium
import pytest
from tests.network.city import City

import privroute as pr
from privroute.errors import FormatError
from privroute.network.on_earth import line_km
from privroute.network.read_notes import ReadNotes


@pytest.fixture(scope="module")
def city() -> City:
    return City(12)


@pytest.fixture(scope="module")
def extract(city: City, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return city.write(tmp_path_factory.mktemp("osm") / "city.osm")


@pytest.fixture(scope="module")
def network(extract: Path) -> pr.Network:
    return pr.read_network(extract)


def named(network: pr.Network, name: str) -> list[int]:
    assert network.streets is not None
    return [link for link, each in enumerate(network.streets.name) if each == name]


def test_what_is_left_out_is_counted(extract: Path) -> None:
    notes = ReadNotes()
    pr.read_network(extract, notes=notes)
    assert notes.counts == {
        "no_access": 1,
        "without_nodes": 1,
        "island_links": 2,
        "odd_tags": 2,
        "turn_restrictions": 5,
        "other_restrictions": 1,
    }
    assert len(notes.sentences()) == len(notes.counts)


def test_a_network_from_pbf_is_the_same(extract: Path, network: pr.Network, tmp_path: Path) -> None:
    packed = tmp_path / "city.osm.pbf"
    with osmium.SimpleWriter(str(packed)) as writer:
        for item in osmium.FileProcessor(str(extract)):
            writer.add(item)
    assert pr.read_network(packed) == network


def test_streets_keep_bends_names_classes_lanes_and_way_ids(city: City, network: pr.Network) -> None:
    assert network.streets is not None
    links = named(network, "Querstraße 1-1")
    assert len(links) == 8  # four blocks, both directions
    assert {network.streets.road_class[link] for link in links} == {"primary"}
    assert {float(network.streets.lanes[link]) for link in links} == {2.0}  # four of both directions
    assert {len(network.streets.line(link)) for link in links} == {5}
    assert all(int(network.streets.osm_way_id[link]) in city.ways for link in links)
    assert network.length_km is not None
    assert np.allclose(network.length_km, line_km(network.streets.points, network.streets.start), atol=2e-4)


def test_one_ways_lead_one_way(network: pr.Network) -> None:
    assert network.streets is not None
    assert network.coordinates is not None
    for name, rising in (("Längsallee 2-1", True), ("Längsallee 6-1", False)):
        links = named(network, name)
        assert len(links) == 4
        north = network.coordinates[network.head[links], 1] - network.coordinates[network.tail[links], 1]
        assert ((north > 0) == rising).all()


def test_speeds_come_from_tags_or_from_the_class(network: pr.Network) -> None:
    def kph(name: str) -> float:
        link = named(network, name)[0]
        assert network.length_km is not None
        return float(network.length_km[link] / network.free_flow_min[link] * 60)

    assert kph("Querstraße 1-1") == pytest.approx(50)
    assert kph("Querstraße 4-1") == pytest.approx(20 * 1.609344)
    assert kph("Querstraße 3-1") == pytest.approx(30)  # maxspeed "fast" cannot be read


class TestTurnRestrictions:
    def turns(self, network: pr.Network, city: City, from_way: int, via: int) -> set[int]:
        """Ways on which vehicles may go on that come from a way to a junction."""
        assert network.streets is not None
        assert network.coordinates is not None
        way, here = network.streets.osm_way_id, city.nodes[via]
        found = set()
        for link in range(network.links):
            if way[link] != from_way or not np.allclose(network.streets.line(link)[-1], here):
                continue
            nodes = [int(network.head[link])]
            nodes += network.head[network.tail == nodes[0]][~network.streets.drawn[network.tail == nodes[0]]].tolist()
            found |= {int(way[out]) for node in nodes for out in np.flatnonzero(network.tail == node) if way[out]}
        return found

    def test_no_path_takes_a_forbidden_turn(self, network: pr.Network, city: City) -> None:
        checked = 0
        for members, tags in city.relations:
            ends = {role: ref for role, _, ref in members}
            if tags["restriction"] == "no_left_turn" and members[1][1] == "node":
                assert ends["to"] not in self.turns(network, city, ends["from"], ends["via"])
                checked += 1
            elif tags["restriction"] == "only_straight_on":
                assert self.turns(network, city, ends["from"], ends["via"]) == {ends["to"]}
                checked += 1
        assert checked == 4

    def test_without_the_restriction_the_turn_is_there(self, tmp_path: Path, city: City) -> None:
        free = City(12)
        free.relations.clear()
        plain = pr.read_network(free.write(tmp_path / "free.osm"))
        ends = {role: ref for role, _, ref in city.relations[0][0]}
        assert ends["to"] in self.turns(plain, city, ends["from"], ends["via"])

    def test_every_street_stays_one_link_with_its_capacity(self, network: pr.Network, tmp_path: Path) -> None:
        free = City(12)
        free.relations.clear()
        plain = pr.read_network(free.write(tmp_path / "free.osm"))
        assert network.streets is not None
        streets = network.streets.drawn
        assert network.capacity_per_min[streets].sum() == pytest.approx(plain.capacity_per_min.sum())
        assert not network.free_flow_min[~streets].any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read as OpenStreetMap data"),
        ("<osm version='0.6'></osm>", "has no street between two different nodes"),
        ("<gpx></gpx>", "cannot be read as OpenStreetMap data"),
        ("<osm version='0.6'><way id='1'><nd ref='1'/></osm>", "cannot be read as OpenStreetMap data"),
    ],
)
def test_what_is_no_extract_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.osm"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        pr.read_network(path)


def test_addresses_of_the_web_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match="cannot be read"):
        pr.read_network("http://127.0.0.1:9/city.osm")


def test_islands_stay_if_asked_for(extract: Path, network: pr.Network) -> None:
    kept = pr.read_network(extract, keep_islands=True)
    assert kept.links == network.links + 2
    assert {finding.name: finding.count for finding in pr.inspect_network(kept)}["islands"] == 2


def test_an_imported_network_survives_gmns(network: pr.Network, tmp_path: Path) -> None:
    pr.write_gmns(network, tmp_path / "gmns")
    assert pr.read_network(tmp_path / "gmns") == network
