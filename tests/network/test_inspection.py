"""What is odd about a network is found, counted and shown with examples; wrong units are refused with the factor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.command import run
from tests.network.city import City

import privroute as pr
from privroute.errors import FormatError
from privroute.network.read_notes import ReadNotes

NODES = "node_id,x_coord,y_coord\n" + "".join(f"{k},{13.3 + 0.005 * k},52.5\n" for k in range(6))


def folder(place: Path, length: float, *, capacity: float = 900, config: str | None = None) -> Path:
    place.mkdir(exist_ok=True)
    (place / "node.csv").write_text(NODES)
    rows = "".join(f"{k},{k},{k + 1},0,{length},50,{capacity if k else 900}\n" for k in range(5))
    (place / "link.csv").write_text("link_id,from_node_id,to_node_id,directed,length,free_speed,capacity\n" + rows)
    if config is not None:
        (place / "config.csv").write_text(config)
    return place


def test_metres_read_as_kilometres_are_refused_with_the_factor_that_fits(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match=r'the length is 1016 times .*length_unit="m" would fit \(a factor of 0.001\)'
    ):
        pr.read_gmns(folder(tmp_path / "a", 344.0))
    network = pr.read_gmns(tmp_path / "a", length_unit="m")
    assert network.length_km is not None
    assert network.length_km.max() == pytest.approx(0.344)
    done = run("network", "check", tmp_path / "a")
    assert done.code == 1
    assert "--length-unit m would fit" in done.err
    assert run("network", "check", tmp_path / "a", "--length-unit", "m").code == 0


@pytest.mark.parametrize(("unit", "length"), [("km", 0.36), ("mi", 0.22), ("ft", 1150.0), ("m", 350.0)])
def test_units_that_fit_are_taken_and_others_refused(tmp_path: Path, unit: str, length: float) -> None:
    config = f"long_length,speed\n{unit},kph\n"
    assert pr.read_gmns(folder(tmp_path / unit, length, config=config)).links == 10
    wrong = "km" if unit in ("m", "ft") else "m"
    with pytest.raises(FormatError, match="lengths contradict the coordinates"):
        pr.read_gmns(tmp_path / unit, length_unit=wrong)


def test_links_of_capacity_0_are_closed_and_counted(tmp_path: Path, tntp: Path) -> None:
    notes = ReadNotes()
    network = pr.read_network(folder(tmp_path / "a", 0.35, capacity=0), notes=notes)
    assert (network.links, notes["closed_links"]) == (2, 8)
    text = (tntp / "SiouxFalls_net.tntp").read_text()
    path = tmp_path / "closed_net.tntp"
    path.write_text(text.replace("25900.20064", "0"))
    notes = ReadNotes()
    closed = pr.read_network(path, notes=notes)
    assert closed.links + notes["closed_links"] == 76
    assert notes["closed_links"] > 0
    assert closed.link_labels[0] != 0 or closed.link_labels[-1] == 75


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> pr.Network:
    return pr.read_network(City(8).write(tmp_path_factory.mktemp("osm") / "city.osm"))


class TestFindings:
    def found(self, network: pr.Network) -> dict[str, int]:
        return {finding.name: finding.count for finding in pr.inspect_network(network)}

    def test_a_sound_network_has_none(self, network: pr.Network) -> None:
        assert self.found(network) == {}

    @pytest.mark.parametrize(("factor", "name"), [(0.5, "shorter_than_straight"), (30.0, "long_detour")])
    def test_lengths(self, network: pr.Network, factor: float, name: str) -> None:
        assert network.length_km is not None
        values = np.array(network.length_km)
        values[:3] *= factor
        assert self.found(replace(network, length_km=values))[name] == 3

    @pytest.mark.parametrize(
        ("minutes", "capacity", "name"),
        [(100.0, 1.0, "slow"), (0.001, 1.0, "fast"), (1.0, 0.001, "narrow"), (1.0, 1e3, "wide")],
    )
    def test_speeds_and_capacities(self, network: pr.Network, minutes: float, capacity: float, name: str) -> None:
        times, room = np.array(network.free_flow_min), np.array(network.capacity_per_min)
        times[5] *= minutes
        room[5] *= capacity
        changed = replace(network, latency=pr.Latency.bpr(times, room))
        findings = {finding.name: finding for finding in pr.inspect_network(changed)}
        assert findings[name].count == 1
        assert findings[name].examples == (network.link_labels[5],)

    def test_one_way_traps_dead_ends_and_islands(self) -> None:
        line: dict[str, Any] = {"tail": [0, 1, 1, 2, 3, 4], "head": [1, 0, 2, 1, 4, 3]}
        network = pr.Network(**line, latency=pr.Latency.affine(np.ones(6), 20.0), node_labels=range(6))
        found = self.found(network)
        assert found["islands"] == 2
        assert found["unused"] == 1
        assert found["dead_ends"] == 4
        trap = pr.Network([0, 1, 1], [1, 0, 2], pr.Latency.affine(np.ones(3), 20.0), range(3))
        assert self.found(trap)["one_way_traps"] == 1
        assert self.found(trap)["no_way_out"] == 1


def test_the_command_imports_checks_and_draws(tmp_path: Path) -> None:
    extract = City(8).write(tmp_path / "city.osm")
    zones = City(8).write_zones(tmp_path / "zones.geojson", 2)
    options = ("--zones", zones, "--zone-id", "quarter", "--connectors", 3)
    done = run("network", "import", extract, "--out", tmp_path / "gmns", *options)
    assert done.code == 0, done.err
    assert "4 zones" in done.out
    again = run("network", "import", extract, "--out", tmp_path / "gmns", *options)
    assert again.code == 1
    assert "--overwrite" in again.err
    network = pr.read_network(tmp_path / "gmns")
    assert network.zone_names == ("Q00", "Q01", "Q10", "Q11")
    assert network.areas is not None
    assert network.streets is not None
    drawn = run("network", "draw", tmp_path / "gmns", "--out", tmp_path / "city.svg")
    assert drawn.code == 0
    assert (tmp_path / "city.svg").stat().st_size > 10_000
    assert run("network", "check", extract, "--json").out.startswith("{")
