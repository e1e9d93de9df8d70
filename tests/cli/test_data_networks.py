"""Data networks on the command line: SNDlib and Topology Zoo are imported, learned from and shown in Mbit/s and ms."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from tests.cli.command import refused, run
from tests.network.test_data_networks import XML, ZOO
from tests.release.data_network import native, odd_words, study, transfers

import privroute as pr
from privroute.network.display_units import MBIT

CALENDAR = re.compile(r"days of \d+ minutes")
OPTIONS = re.compile(r"--[a-z-]+")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study, transfers and a release made from them by the command."""
    place = tmp_path_factory.mktemp("data")
    done = run("learn", study(place), "--trips", transfers(place), "--out", place / "release")
    assert done.code == 0, done.text
    (place / "learned.txt").write_text(done.text)
    return place


def words(text: str) -> list[str]:
    """Words of roads in what a command prints: lengths of days and names of options are no units."""
    return odd_words(OPTIONS.sub("--option", CALENDAR.sub("days", text)))


def screens(folder: Path) -> dict[str, tuple[object, ...]]:
    release, file, private, network = (
        folder / name for name in ("release", "study.toml", "transfers.csv", "small.txt")
    )
    return {
        "dry run": ("learn", file, "--trips", private, "--dry-run"),
        "inspect": ("inspect", release),
        "route": ("route", release, "A", "B", "--sample", 3),
        "link": ("link", release, "A_B"),
        "evaluate": ("evaluate", release, "--people", "--out", folder / "people", "--tolls", folder / "tolls.csv"),
        "evaluate, demand": ("evaluate", release, "--demand", network),
        "evaluate, private": ("evaluate", release, "--private-trips", private, "--study", file),
        "plan": ("plan", file, "--prior", network, "--draws", 1, "--epsilons", 1, "--fairness-curve"),
        "check": ("network", "check", network),
        "import": ("network", "import", network, "--out", folder / "gmns"),
        "draw": ("network", "draw", network, "--out", folder / "network.png"),
        "reroute": ("reroute", release, "--out", folder / "rerouted", "--capacity", "A_B=500"),
        "inspect, rerouted": ("inspect", folder / "rerouted"),
        "csv": ("export", release, "--out", folder / "csv", "--format", "csv"),
        "geojson": ("export", release, "--out", folder / "geojson"),
        "omx": ("export", release, "--out", folder / "omx", "--format", "omx"),
        "splits": ("export", release, "--out", folder / "splits", "--format", "splits"),
    }


def test_no_screen_speaks_of_roads(folder: Path) -> None:
    assert words((folder / "learned.txt").read_text()) == []
    for name, command in screens(folder).items():
        done = run(*command)
        assert done.code == 0, (name, done.text)
        assert words(done.text.replace(str(folder), "")) == [], name
    for name in ("csv/links.csv", "csv/routes.csv", "people/pairs.csv", "people/compliance.csv", "tolls.csv"):
        header = (folder / name).read_text(encoding="utf-8-sig").splitlines()[0]
        assert not re.search(r"_min\b|_per_h\b|minutes|trip", header), name
    assert not re.search(r"_min\"|_per_h\"", (folder / "geojson" / "links.geojson").read_text())


def test_json_has_the_units_beside_stable_names(folder: Path) -> None:
    release = folder / "release"
    for command in (("inspect", release), ("route", release, "A", "B"), ("link", release, "A_B")):
        found = json.loads(run(*command, "--json").out)
        assert found["units"] == MBIT.as_dict()
    assert json.loads(run("network", "check", folder / "small.txt", "--json").out)["units"] == MBIT.as_dict()


def test_numbers_and_units_belong_together(folder: Path) -> None:
    """Mbit/s and ms as a reader computes them from the network itself."""
    found = pr.load_release(folder / "release")
    assert found.demand is not None
    assert found.network.units == found.certificate.units == MBIT
    mbps = found.demand.total_per_min / 60
    assert f"Demand: {mbps:,.0f} Mbit/s in total" in run("inspect", folder / "release").text
    assert 500 < mbps < 5000  # 300,000 units of 100 Mbit in five hours
    row = found.policy.routes("A", "B")[0]
    ms = found.network.free_flow_min[list(row.links)].sum() * 60_000
    assert f" {ms:.2f} " in run("route", folder / "release", "A", "B").text
    assert 1.0 < ms < 3.0  # 200 km of fibre, and a packet of 1 Mbit on 1000 Mbit/s
    run("export", folder / "release", "--out", folder / "table", "--format", "csv")
    with (folder / "table" / "links.csv").open(encoding="utf-8-sig") as stream:
        link = next(csv.DictReader(stream))
    assert float(link["capacity_Mbit_per_s"]) == pytest.approx(1000.0)
    assert float(link["free_flow_ms"]) == pytest.approx(2.0, rel=1e-3)


def test_capacities_are_given_in_the_unit_of_the_release(folder: Path, tmp_path: Path) -> None:
    assert run("reroute", folder / "release", "--out", tmp_path / "new", "--capacity", "A_B=500").code == 0
    network = pr.load_release(tmp_path / "new").network
    assert network.capacity_per_min[network.link_labels.index("A_B")] / 60 == pytest.approx(500.0)


def test_simulators_of_traffic_refuse(folder: Path, tmp_path: Path) -> None:
    for command in (
        ("simulate", folder / "release"),
        ("export", folder / "release", "--out", tmp_path / "a", "--format", "sumo"),
        ("export", folder / "release", "--out", tmp_path / "b", "--format", "matsim"),
    ):
        assert "move vehicles on roads, but Mbit flow in this network" in refused(*command)
    assert list(tmp_path.iterdir()) == []


def test_roads_speak_as_before(tmp_path: Path) -> None:
    scenario = pr.sioux_falls()
    history = pr.simulate_days(scenario.demand, days=4, period_min=60, seed=7)
    pr.learn(scenario.network, history, pr.Guarantee(epsilon=0.1, delta=1e-6)).save(tmp_path / "release")
    shown = run("inspect", tmp_path / "release").text
    assert "vehicles per hour in total" in shown
    assert "one trip on one day" in shown
    assert "units" not in json.loads((tmp_path / "release" / "release.json").read_text())["certificate"]["study"]
    assert "min, empty roads" in run("route", tmp_path / "release", "1", "20").text
    compared = run("evaluate", tmp_path / "release").text
    assert "vehicle-hours minutes above" in compared
    assert "per hour per vehicle optimum" in compared


def test_words_of_the_study_are_those_of_the_release(tmp_path: Path) -> None:
    more = '\n[units]\nrequest = "transfer"\nflow = "Mbit/h"\ntime = "s"\n'
    done = run("learn", study(tmp_path, more), "--trips", transfers(tmp_path), "--out", tmp_path / "release")
    assert done.code == 0
    assert "for one transfer;" in done.text
    shown = run("inspect", tmp_path / "release").text
    found = pr.load_release(tmp_path / "release")
    assert found.demand is not None
    assert f"{found.demand.total_per_min * 60:,.0f} Mbit/h in total" in shown
    again = pr.Study.load(tmp_path / "study.toml")
    again.save(tmp_path / "again.toml")
    assert pr.Study.load(tmp_path / "again.toml").network.units == again.network.units
    assert "s, released demand" in run("route", tmp_path / "release", "A", "B").text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("units.flow=vehicles per hour", "units.flow is 'vehicles per hour', but the network's capacities are in Mbit"),
        ("units.flow=Gbit/s", "but the network's capacities are in Mbit; write Mbit per second, minute or hour"),
        ("units.flow=<b>/s", "units.flow is '<b>/s'; pass an amount per second, minute or hour"),
        ("units.request=", "units.request is ''; write a text"),
        ("units.time=day", 'units.time is \'day\'; pass "ms", "s", "min" or "h"'),
    ],
)
def test_units_that_contradict_the_network_are_refused(value: str, said: str, tmp_path: Path) -> None:
    message = refused("network", "check", native(tmp_path), "--set", value)
    assert said in message.replace("--set ", "")


def test_roads_may_be_given_other_words() -> None:
    assert run("network", "check", "sioux-falls", "--set", "units.flow=cars per hour").code == 0
    found = json.loads(run("network", "check", "sioux-falls", "--set", "units.flow=cars/h", "--json").out)
    assert found["units"] == {"request": "trip", "flow": "cars/h", "time": "min"}


def test_topology_zoo_needs_what_its_file_does_not_say(tmp_path: Path) -> None:
    (tmp_path / "zoo.graphml").write_text(ZOO)
    message = refused("network", "import", tmp_path / "zoo.graphml", "--out", tmp_path / "gmns")
    assert "line '1' has no capacity; pass one for such lines: --capacity-mbps" in message
    options = ("--capacity-mbps", 155, "--packet-bytes", 500, "--queue-limit", 0.9, "--km-per-ms", 100, "--least-ms", 2)
    done = run("network", "import", tmp_path / "zoo.graphml", "--out", tmp_path / "gmns", *options)
    assert done.code == 0, done.text
    chosen = pr.LineOptions(155.0, packet_bytes=500.0, limit=0.9, km_per_ms=100.0, least_ms=2.0)
    assert pr.read_gmns(tmp_path / "gmns") == pr.read_topology_zoo(tmp_path / "zoo.graphml", chosen)
    assert json.loads(run("network", "check", tmp_path / "gmns", "--json").out)["units"] == MBIT.as_dict()


def test_sndlib_in_xml_is_imported_and_its_demands_are_compared(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "small.xml").write_text(XML)
    assert run("network", "import", tmp_path / "small.xml", "--out", tmp_path / "gmns").code == 0
    assert pr.read_gmns(tmp_path / "gmns") == pr.read_sndlib(tmp_path / "small.xml")
    assert run("evaluate", folder / "release", "--demand", tmp_path / "small.xml").code == 0
    message = refused("evaluate", folder / "release", "--demand", tmp_path / "small.xml", "--demand-period-min", 30)
    assert "demands of SNDlib are in Mbit/s; omit the length of their period" in message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--capacity-mbps", 0), "--capacity-mbps is 0.0; pass a finite number greater than 0"),
        (("--capacity-mbps", "nan"), "--capacity-mbps is nan; pass a finite number greater than 0"),
        (("--queue-limit", 1), "--queue-limit is 1.0; pass a utilisation from 0, below 1"),
        (("--least-ms", -1), "--least-ms is -1.0; pass a finite number greater than 0"),
        (("--factor", 2), "--factor is only valid with --latency affine"),
        (("--time-unit", "s"), "--time-unit is only valid for TNTP files"),
    ],
)
def test_odd_options_of_data_networks_are_refused_by_name(
    options: tuple[object, ...], said: str, tmp_path: Path
) -> None:
    message = refused("network", "import", native(tmp_path), "--out", tmp_path / "gmns", *options)
    assert said in message
    assert not (tmp_path / "gmns").exists()


def test_options_of_data_networks_are_for_them_alone(tmp_path: Path) -> None:
    roads = pr.sioux_falls().network
    pr.write_gmns(roads, tmp_path / "roads")
    message = refused("network", "check", tmp_path / "roads", "--packet-bytes", 500)
    assert "--packet-bytes is only valid for SNDlib and Topology Zoo files" in message
    assert "sioux-falls is built in; omit it" in refused("network", "check", "sioux-falls", "--km-per-ms", 200)
