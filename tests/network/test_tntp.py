from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import privroute as pr
from privroute.errors import FormatError, InputError

NET = """\
<NUMBER OF ZONES> 2
<NUMBER OF NODES> 3
<FIRST THRU NODE> 3
<NUMBER OF LINKS> 4
<END OF METADATA>

~\tinit_node\tterm_node\tcapacity\tlength\tfree_flow_time\tb\tpower\tspeed\ttoll\tlink_type\t;
\t1\t3\t600\t1.5\t2\t0.15\t4\t0\t0\t1\t;
\t3\t2\t1200\t2.5\t3\t0.2\t3\t0\t0\t1\t;
\t2\t3\t600\t1\t4\t0.15\t4\t0\t0\t1\t;
\t3\t1\t600\t1\t5\t0.15\t4\t0\t0\t1\t;
"""
TRIPS = """\
<NUMBER OF ZONES> 2
<TOTAL OD FLOW> 210.0
<END OF METADATA>

Origin 1
    1 :   30.0;    2 :   120.0;
Origin 2
    1 :   60.0;
"""
REAL = {"SiouxFalls": {}, "Anaheim": {}, "EMA": {"time_unit": "h"}, "ChicagoSketch": {}, "Braess": {}}


def file(folder: Path, text: str, name: str = "x.tntp") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def metadata(path: Path, name: str) -> float:
    found = re.search(rf"<{name}>\s*([0-9.]+)", path.read_text())
    assert found
    return float(found[1])


@pytest.mark.parametrize("name", REAL)
def test_every_public_network_reads_and_totals_equal_its_metadata(tntp: Path, name: str) -> None:
    net, trips = tntp / f"{name}_net.tntp", tntp / f"{name}_trips.tntp"
    network = pr.read_tntp(net, **REAL[name])  # type: ignore[arg-type]
    assert network.nodes == metadata(net, "NUMBER OF NODES")
    assert network.links == metadata(net, "NUMBER OF LINKS")
    assert network.zones.size == metadata(net, "NUMBER OF ZONES")
    assert np.count_nonzero(network.no_through) == metadata(net, "FIRST THRU NODE") - 1
    demand = pr.read_tntp_trips(trips, network, on_unreachable="drop")
    within = sum(
        float(amount)
        for origin, entries in re.findall(r"Origin\s+(\d+)([^O]*)", trips.read_text())
        for zone, amount in re.findall(r"(\d+)\s*:\s*([0-9.]+)", entries)
        if zone == origin
    )
    assert demand.total_per_min * 60 + within == pytest.approx(metadata(trips, "TOTAL OD FLOW"), rel=1e-9)


def test_eastern_massachusetts_is_in_hours(tntp: Path) -> None:
    network = pr.read_tntp(tntp / "EMA_net.tntp", time_unit="h")
    assert network.free_flow_min[0] == pytest.approx(0.238965 * 60)
    length_km = pr.read_tntp(tntp / "EMA_net.tntp", time_unit="h", length_unit="mi").length_km
    assert length_km is not None
    speed_kph = length_km / network.free_flow_min * 60
    assert 20 < np.median(speed_kph) < 130


@pytest.mark.parametrize("name", ["SiouxFalls", "ChicagoSketch"])
def test_node_files_give_coordinates(tntp: Path, name: str) -> None:
    network = pr.read_tntp(tntp / f"{name}_net.tntp", nodes=tntp / f"{name}_node.tntp")
    assert network.coordinates is not None
    assert network.has_longitude_latitude == (name == "SiouxFalls")


def test_units_are_converted_once(tmp_path: Path) -> None:
    network = pr.read_tntp(file(tmp_path, NET), length_unit="km")
    assert network.free_flow_min.tolist() == [2, 3, 4, 5]
    assert network.capacity_per_min.tolist() == [10, 20, 10, 10]
    assert network.latency.parameter("b").tolist() == [0.15, 0.2, 0.15, 0.15]
    assert network.length_km is not None
    assert network.length_km.tolist() == [1.5, 2.5, 1, 1]
    assert network.no_through.tolist() == [True, True, False]
    hours = pr.read_tntp(file(tmp_path, NET), time_unit="h", capacity_period_min=120)
    assert hours.free_flow_min.tolist() == [120, 180, 240, 300]
    assert hours.capacity_per_min.tolist() == [5, 10, 5, 5]
    demand = pr.read_tntp_trips(file(tmp_path, TRIPS, "trips"), network)
    assert demand.rate_per_min.tolist() == [2.0, 1.0]
    assert pr.read_tntp_trips(file(tmp_path, TRIPS, "trips"), network, period_min=30).rate_per_min[0] == 4.0


def test_affine_latency_ignores_the_files_curve(tmp_path: Path) -> None:
    network = pr.read_tntp(file(tmp_path, NET), latency="affine")
    assert network.latency == pr.Latency.affine(network.free_flow_min, network.capacity_per_min)


HEADER = NET.splitlines()[6]
VARIANTS = {
    "windows line ends": NET.replace("\n", "\r\n"),
    "old mac line ends": NET.replace("\n", "\r"),
    "byte-order mark": "\ufeff" + NET,
    "spaces instead of tabs": NET.replace("\t", "   "),
    "no semicolons": NET.replace(";", ""),
    "semicolon glued to the last number": NET.replace("1\t;", "1;"),
    "no header": NET.replace(HEADER + "\n", ""),
    "comments between and behind links": NET.replace("\t1\t;", "\t1\t; ~ note").replace("\n\n", "\n\n~ a remark\n\n"),
    "only the needed columns": NET.replace("\t0\t0\t1\t;", ""),
    "ragged rows": NET.replace("\t0\t0\t1\t;", "\t0 ;", 2),
    "no end of metadata": NET.replace("<END OF METADATA>\n", ""),
    "metadata in another order": "\n".join([*NET.splitlines()[3::-1], *NET.splitlines()[4:]]) + "\n",
    "no link count": NET.replace("<NUMBER OF LINKS> 4\n", ""),
    "no node count": NET.replace("<NUMBER OF NODES> 3\n", ""),
    "no zone count": NET.replace("<NUMBER OF ZONES> 2\n", ""),
    "metadata with trailing tabs": re.sub(r"(<.*)\n", r"\1\t\t\t\n", NET),
    "blank lines": NET.replace("\n", "\n\n"),
    "no newline at the end": NET.rstrip("\n"),
}


@pytest.mark.parametrize("text", VARIANTS.values(), ids=VARIANTS.keys())
def test_the_ways_in_which_real_files_differ_do_not_matter(tmp_path: Path, text: str) -> None:
    assert pr.read_tntp(file(tmp_path, text)) == pr.read_tntp(file(tmp_path, NET, "plain"))


def test_columns_in_another_order_are_found_by_their_names(tmp_path: Path) -> None:
    order = [4, 0, 6, 1, 2, 5, 3]
    lines = NET.splitlines()
    rows = [line.strip().split("\t")[:7] for line in lines[7:]]
    names = HEADER.strip("~\t;").split("\t")[:7]
    shuffled = ["~\t" + "\t".join(names[i] for i in order)] + ["\t".join(row[i] for i in order) for row in rows]
    text = "\n".join(lines[:6] + shuffled)
    assert pr.read_tntp(file(tmp_path, text)) == pr.read_tntp(file(tmp_path, NET, "plain"))


TRIP_VARIANTS = {
    "windows line ends": TRIPS.replace("\n", "\r\n"),
    "one entry a line": TRIPS.replace("; ", ";\n"),
    "entries on the origin's line": TRIPS.replace("Origin 2\n", "Origin 2 "),
    "tabs": TRIPS.replace(" ", "\t"),
    "no metadata": TRIPS.split("METADATA>\n")[1],
    "zeros named": TRIPS.replace("60.0;", "60.0; 2 : 0.0;"),
    "origins in another order": TRIPS.split("Origin", maxsplit=1)[0]
    + "Origin"
    + TRIPS.split("Origin")[2]
    + "Origin"
    + TRIPS.split("Origin")[1],
}


@pytest.mark.parametrize("text", TRIP_VARIANTS.values(), ids=TRIP_VARIANTS.keys())
def test_trip_tables_differ_as_well(tmp_path: Path, text: str) -> None:
    network = pr.read_tntp(file(tmp_path, NET))
    assert pr.read_tntp_trips(file(tmp_path, text, "trips"), network).rate_per_min.tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("LINKS> 4", "LINKS> 5", "declares 5 links and has 4; the file is damaged or cut short"),
        ("NODES> 3", "NODES> 2", "has node 3 but declares 2 nodes"),
        ("NODES> 3", "NODES> three", r"line 2: <NUMBER OF NODES> is 'three'; a whole number"),
        ("NODES> 3", "NODES> 99999999999", "more than 2,000,000 are not read"),
        ("ZONES> 2", "ZONES> 9", "declares 9 zones"),
        ("ZONES> 2", "ZONES> 0", "line 1: <NUMBER OF ZONES> is 0"),
        ("\t600\t1.5", "\t-600\t1.5", "line 8: capacity is '-600'; it must not be negative"),
        ("\t600\t1.5", "\tinf\t1.5", "line 8: capacity is 'inf'; a plain decimal number"),
        ("\t600\t1.5", "\t1e999\t1.5", "line 8: capacity is '1e999', too large"),
        ("\t600\t1.5", "\t1_000\t1.5", "line 8: capacity is '1_000'"),
        ("\t1\t3\t600", "\t3\t3\t600", "line 8: the link starts and ends at node 3"),
        ("\t1\t3\t600", "\t0\t3\t600", "line 8: node 0: nodes are numbered from 1"),
        ("\t1\t3\t600", "\t1.5\t3\t600", "line 8: init_node is '1.5'; a whole number"),
        ("\t1\t3\t600\t1.5\t2\t0.15\t4\t0\t0\t1\t;", "\t1\t3\t600", "line 8: has 3 columns and no free_flow_time"),
        (NET.split("power", maxsplit=1)[1], "", "has no links"),
    ],
)
def test_damaged_networks_are_refused_with_line_and_advice(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in NET
    with pytest.raises(FormatError, match=rf"x\.tntp.*{message}"):
        pr.read_tntp(file(tmp_path, NET.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("120.0;", "", "is empty; a plain decimal number"),
        ("120.0;", "-1;", "line 6: the number of trips to zone 2 is '-1'; it must not be negative"),
        ("120.0;", "NaN;", "line 6: .*plain decimal number"),
        ("120.0;", "10.0;", "declares 210 trips and has 100; .*check_total=False"),
        ("30.0;    2 :   120.0;", "1e308;    2 :   1.7e308;", "declares 210 trips and has inf"),
        ("2 :   120", "9 :   120", "line 6: 9 is not a zone"),
        ("2 :   120", "1 :   120", "line 6: zone 1 occurs twice"),
        ("Origin 1\n", "", 'line 5: expected "Origin 1"'),
        ("2 :   120", "2     120", 'line 6: expected "Origin 1"'),
    ],
)
def test_damaged_trip_tables_are_refused_with_line_and_advice(tmp_path: Path, old: str, new: str, message: str) -> None:
    network = pr.read_tntp(file(tmp_path, NET))
    assert old in TRIPS
    with pytest.raises(FormatError, match=rf"trips.*{message}"):
        pr.read_tntp_trips(file(tmp_path, TRIPS.replace(old, new, 1), "trips"), network)


def test_files_that_cannot_be_read_say_so(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="nowhere.tntp: cannot be read .*check the path"):
        pr.read_tntp(tmp_path / "nowhere.tntp")
    with pytest.raises(FormatError, match="cannot be read"):
        pr.read_tntp(tmp_path)
    with pytest.raises(FormatError, match="cannot be read"):
        pr.read_tntp("a\0b")
    latin = tmp_path / "latin.tntp"
    latin.write_bytes(NET.replace("~", "~ Größe", 1).encode("latin-1"))
    with pytest.raises(FormatError, match="line 7: is not UTF-8 text; save it as UTF-8"):
        pr.read_tntp(latin)
    wide = tmp_path / "wide.tntp"
    wide.write_bytes(NET.encode("utf-16-be"))
    with pytest.raises(FormatError, match="NUL characters"):
        pr.read_tntp(wide)


def test_unknown_units_and_periods_are_refused(tmp_path: Path) -> None:
    path = file(tmp_path, NET)
    with pytest.raises(InputError, match='time_unit is \'days\'; pass "s", "min" or "h"'):
        pr.read_tntp(path, time_unit="days")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="capacity_period_min is 0"):
        pr.read_tntp(path, capacity_period_min=0)
    with pytest.raises(InputError, match='pass "affine", "bpr"'):
        pr.read_tntp(path, latency="other")  # type: ignore[arg-type]


def test_missing_coordinates_are_counted(tmp_path: Path) -> None:
    nodes = file(tmp_path, "Node X Y ;\n3 1.5 2.5 ;\n1 0 0 ;\n", "nodes")
    with pytest.raises(FormatError, match=r"no coordinates for 1 of 3 nodes \(first: node 2\)"):
        pr.read_tntp(file(tmp_path, NET), nodes=nodes)
    twice = file(tmp_path, "Node X Y ;\n3 1.5 2.5 ;\n1 0 0 ;\n2 7 8 ;\n1 5 5 ;\n", "twice")
    with pytest.raises(FormatError, match="twice, line 5: node 1 stands at line 3 too; give each node once"):
        pr.read_tntp(file(tmp_path, NET), nodes=twice)
    file(tmp_path, "Node,X,Y\n3,1.5,2.5\n1,0,0\n2,7,8,extra\n", "nodes")
    network = pr.read_tntp(file(tmp_path, NET), nodes=nodes)
    assert network.coordinates is not None
    assert network.coordinates.tolist() == [[0, 0], [7, 8], [1.5, 2.5]]


def test_the_built_in_network_has_the_published_figures(tntp: Path) -> None:
    ours = pr.sioux_falls(latency="bpr")
    theirs = pr.read_tntp(tntp / "SiouxFalls_net.tntp", nodes=tntp / "SiouxFalls_node.tntp")
    assert ours.network.latency == theirs.latency
    for name in ("tail", "head", "zones", "no_through"):
        assert np.array_equal(getattr(ours.network, name), getattr(theirs, name))
    assert ours.network.coordinates is not None
    assert theirs.coordinates is not None
    assert np.abs(ours.network.coordinates - theirs.coordinates).max() < 1e-4
    assert ours.demand == pr.read_tntp_trips(tntp / "SiouxFalls_trips.tntp", theirs)


def test_the_built_in_network_is_the_papers() -> None:
    scenario = pr.sioux_falls()
    network, demand = scenario.network, scenario.demand
    assert (network.nodes, network.links, len(demand.pairs)) == (24, 76, 552)
    positive = demand.rate_per_min[demand.rate_per_min > 0]
    assert positive.size == 528
    assert int(positive.mean() * 60) == 682
    assert network.free_flow_min.min() == 2
    assert network.free_flow_min.max() == 10
    assert network.latency.time(network.capacity_per_min) == pytest.approx(2 * network.free_flow_min)
