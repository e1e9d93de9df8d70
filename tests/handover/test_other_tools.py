"""MATSim, Open Matrix, QGIS and UXsim open what is written, with their own readers."""

from __future__ import annotations

import itertools
import math
import sqlite3
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.release.days import day_release

import privroute as pr
from privroute.errors import InputError
from privroute.handover.export import FILES, HandoverFormat, hand_over
from privroute.study.calendar import Calendar

# What MATSim's network_v2.dtd and population_v6.dtd allow of what we write: children, required and other attributes.
ALLOWED: dict[str, tuple[set[str], set[str], set[str]]] = {
    "network": ({"nodes", "links"}, set(), set()),
    "nodes": ({"node"}, set(), set()),
    "links": ({"link"}, set(), {"capperiod"}),
    "node": (set(), {"id", "x", "y"}, set()),
    "link": (
        set(),
        {"id", "from", "to", "length", "freespeed", "capacity", "permlanes"},
        {"oneway", "modes", "origid"},
    ),
    "population": ({"person"}, set(), set()),
    "person": ({"plan"}, {"id"}, set()),
    "plan": ({"activity", "leg"}, set(), {"selected"}),
    "activity": (set(), {"type"}, {"link", "end_time"}),
    "leg": ({"route"}, {"mode"}, set()),
    "route": (set(), set(), {"type", "start_link", "end_link"}),
}


@pytest.mark.parametrize("kind", ["release", "odd"])
def test_matsim_files_are_as_its_document_types_say(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    hand_over(request.getfixturevalue(kind), tmp_path, "matsim")
    for name in FILES["matsim"]:
        for element in ET.parse(tmp_path / name).iter():  # noqa: S314 - written just now
            children, required, other = ALLOWED[element.tag]
            assert {child.tag for child in element} <= children
            assert required <= set(element.keys()) <= required | other


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # its reader leaves the plans open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_matsim_reader_finds_network_and_plans(release: pr.Release, tmp_path: Path) -> None:
    matsim = pytest.importorskip("matsim")
    hand_over(release, tmp_path, "matsim", seed=3)
    network = release.network
    found = matsim.read_network(tmp_path / "network.xml")
    origins = np.unique(release.policy.pairs.origin).size
    assert (len(found.nodes), len(found.links)) == (network.nodes + origins, network.links + origins)
    streets = found.links[~found.links.link_id.str.startswith("in")]
    minutes = (streets.length.astype(float) / streets.freespeed.astype(float) / 60).to_numpy()
    np.testing.assert_allclose(minutes, network.free_flow_min, rtol=1e-4)
    np.testing.assert_allclose(streets.capacity.astype(float), network.capacity_per_min * 60, rtol=1e-5)
    ends = dict(zip(found.links.link_id, zip(found.links.from_node, found.links.to_node, strict=True), strict=True))
    people = 0
    for person, plan in matsim.plan_reader(tmp_path / "plans.xml", selected_plans_only=True):
        people += 1
        route = plan.find("leg").find("route").text.split()
        start, end = plan.findall("activity")
        assert (route[0], route[-1]) == (start.get("link"), end.get("link")), person
        assert all(ends[one][1] == ends[other][0] for one, other in itertools.pairwise(route))
        assert "08:00:00" <= start.get("end_time") < "09:00:00"
    assert release.demand is not None
    expected = release.demand.total_per_min * 60
    assert people == pytest.approx(expected, abs=5 * math.sqrt(expected))  # vehicles are drawn


def departures(plans: Path) -> list[str]:
    """When people depart, ascending."""
    found = ET.parse(plans).iter("activity")  # noqa: S314 - written just now
    return sorted(each.attrib["end_time"] for each in found if each.get("type") == "start")


def test_each_period_of_a_release_departs_in_its_own_hours_in_matsim(tmp_path: Path) -> None:
    release = day_release(quality_share=0.0)
    hand_over(release, tmp_path, "matsim", demand=pr.sioux_falls().demand * 0.001)
    for slot in release.slots:
        found = departures(tmp_path / slot.key / "plans.xml")
        hour = slot.period.start_us // 3_600_000_000
        assert len(found) > 100
        assert f"{hour:02d}:00:00" <= found[0] < f"{hour:02d}:05:00"
        assert f"{hour:02d}:55:00" < found[-1] <= f"{hour:02d}:59:59"


def test_a_period_that_passes_midnight_departs_as_long_as_it_lasts(tmp_path: Path) -> None:
    city = pr.sioux_falls()
    frame = pr.Frame(city.demand.pairs, Calendar.of("23:30-00:15", ("2026-03-02", "2026-03-03")))
    study = pr.Study(city.network, frame, pr.Guarantee(1.0, 1e-6))
    counts = np.full((2, len(frame.pairs)), 9)
    release = pr.learn(study, pr.DemandHistory.of(frame, counts, simulated=True))
    hand_over(release, tmp_path, "matsim")
    found = departures(tmp_path / "plans.xml")
    assert "23:30:00" <= found[0] < "23:31:00"
    assert "24:14:00" < found[-1] <= "24:14:59"
    assert len(found) == pytest.approx(9 * len(frame.pairs), rel=0.1)
    hand_over(release, tmp_path, "sumo")
    flows = list(ET.parse(tmp_path / "routes.rou.xml").iter("flow"))  # noqa: S314
    assert {flow.get("end") for flow in flows} == {"2700"}


def test_open_matrix_has_demand_and_minutes(release: pr.Release, tmp_path: Path) -> None:
    omx = pytest.importorskip("openmatrix")
    (path,) = hand_over(release, tmp_path, "omx")
    network = release.network
    assert release.demand is not None
    with omx.open_file(str(path)) as file:
        assert file.version() == b"0.2"
        assert tuple(file.shape()) == (24, 24)
        assert sorted(file.list_matrices()) == ["demand_per_h", "free_flow_min", "policy_min"]
        assert list(file.mapping("zone")) == list(network.zone_names)
        demand, minutes = np.array(file["demand_per_h"]), np.array(file["policy_min"])
    assert demand.sum() == pytest.approx(release.demand.total_per_min * 60)
    times = pr.travel_times(network, release.policy, release.demand).expected_min
    np.testing.assert_allclose(minutes[release.policy.pairs.origin, release.policy.pairs.destination], times)
    assert np.isnan(np.diag(minutes)).all()
    assert pr.read_omx(path, network, matrix="demand_per_h").rate_per_min == pytest.approx(release.demand.rate_per_min)


def test_open_matrix_of_zones_with_texts_reads_back(odd: pr.Release, tmp_path: Path) -> None:
    (path,) = hand_over(odd, tmp_path, "omx")
    assert odd.demand is not None
    again = pr.read_omx(path, odd.network, matrix="demand_per_h")
    assert again.rate_per_min == pytest.approx(odd.demand.rate_per_min)


def test_a_geopackage_has_styles_that_qgis_finds(release: pr.Release, tmp_path: Path) -> None:
    pyogrio = pytest.importorskip("pyogrio")
    (path,) = hand_over(release, tmp_path, "gpkg")
    layers = dict(pyogrio.list_layers(path).tolist())
    assert {name: layers[name] for name in ("links", "zones", "routes")} == {
        "links": "LineString",
        "zones": "Point",
        "routes": "LineString",
    }
    with sqlite3.connect(path) as database:
        rows = database.execute(
            "SELECT f_table_name, f_geometry_column, useAsDefault, styleQML FROM layer_styles"
        ).fetchall()
        geometries = dict(database.execute("SELECT table_name, column_name FROM gpkg_geometry_columns").fetchall())
    database.close()
    assert {name: column for name, column, _, _ in rows} == geometries
    for name, _, default, style in rows:
        assert default == 1
        renderer = ET.fromstring(style).find("renderer-v2")  # noqa: S314 - written just now
        assert renderer is not None
        if name == "links":
            assert renderer.get("attr") in pyogrio.read_info(path, layer="links")["fields"]
            assert len(renderer.findall("ranges/range")) == len(renderer.findall("symbols/symbol"))


def test_uxsim_drives_the_release(release: pr.Release) -> None:
    pytest.importorskip("uxsim")
    world = pr.to_uxsim(release, platoon=5, seed=2)
    world.exec_simulation()
    world.analyzer.basic_analysis()
    assert release.demand is not None
    assert world.analyzer.trip_all == pytest.approx(release.demand.total_per_min * 60, rel=0.05)
    assert world.analyzer.trip_completed == world.analyzer.trip_all
    assert world.analyzer.average_travel_time / 60 == pytest.approx(
        float(np.average(release.policy.expected(release.network.free_flow_min), weights=release.demand.rate_per_min)),
        rel=0.1,  # hardly any traffic: nearly free flow
    )


def test_nothing_is_replaced_unless_asked(release: pr.Release, tmp_path: Path) -> None:
    kinds: tuple[HandoverFormat, ...] = ("sumo", "matsim", "omx")
    for kind in kinds:
        told: list[tuple[str, float]] = []
        paths = hand_over(release, tmp_path / kind, kind, progress=lambda *step: told.append(step))  # noqa: B023
        assert told[-1][1] == 1.0
        assert sorted(path.name for path in (tmp_path / kind).iterdir()) == sorted(FILES[kind])
        with pytest.raises(InputError, match="already exists"):
            hand_over(release, tmp_path / kind, kind)
        assert hand_over(release, tmp_path / kind, kind, overwrite=True) == paths
    with pytest.raises(InputError, match="choose geojson"):
        hand_over(release, tmp_path, "shp")  # type: ignore[arg-type]
    bare = pr.Release(release.policy, release.certificate)
    with pytest.raises(InputError, match="no demand"):
        hand_over(bare, tmp_path / "bare", "sumo")
