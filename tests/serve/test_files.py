"""Reports and exports: whole, safe to open, and number for number what the release says."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.command import refused, run
from tests.serve.conftest import moved

import privroute as pr
from privroute.errors import InputError
from privroute.serve.export import FILES, ExportFormat, export_release
from privroute.serve.report import report_html


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def test_geojson_has_every_link_with_its_flow_and_every_route_as_a_line(release: pr.Release, tmp_path: Path) -> None:
    seen: list[float] = []
    links, routes = export_release(
        release, tmp_path / "new" / "folder", "geojson", progress=lambda _phase, share: seen.append(share)
    )
    network, policy, demand = release.network, release.policy, release.demand
    assert demand
    assert network.coordinates is not None
    lines = [f for f in json.loads(links.read_text())["features"] if f["geometry"]["type"] == "LineString"]
    assert not any("per_min" in name for name in lines[0]["properties"])  # rates are per hour, as the page says
    assert [line["properties"]["capacity_per_h"] for line in lines] == pytest.approx(network.capacity_per_min * 60)
    flow = [line["properties"]["volume_per_h"] for line in lines]
    assert flow == pytest.approx(policy.link_flow(demand) * 60)
    found = json.loads(routes.read_text())["features"]
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(found) == policy.summary().paths
    again = np.zeros(network.links)
    index = {str(label): link for link, label in enumerate(network.link_labels)}
    for feature in found:
        used = [index[label] for label in feature["properties"]["links"].split(";")]
        again[used] += feature["properties"]["volume_per_h"]
        assert len(feature["geometry"]["coordinates"]) == len(used) + 1
    assert again == pytest.approx(policy.link_flow(demand) * 60)  # no background here
    first = found[0]
    assert first["geometry"]["coordinates"][0] == network.coordinates[policy.pairs.origin[0]].tolist()


def test_csv_opens_in_spreadsheets_and_no_label_is_a_formula(bare: pr.Release, tmp_path: Path) -> None:
    links, routes = export_release(bare, tmp_path, "csv")
    for path in (links, routes):
        assert path.read_bytes().startswith(b"\xef\xbb\xbf")
        for cells in csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")):
            assert not any(re.match(r"[=+@\t\r]|-[^0-9]", cell) for cell in cells)
    table = rows(routes)
    assert len(table) == bare.policy.summary().paths
    for row in table[::37]:
        origin, destination = row["origin"].removeprefix("'"), row["destination"].removeprefix("'")
        chance = [route.probability for route in bare.policy.routes(origin, destination)]
        assert float(row["probability"]) == chance[int(row["route"])]
    assert any("%3B" in row["nodes"] for row in table)
    assert [int(row["pairs_using"]) for row in rows(links)] == brute_force(bare.policy)


def test_wide_signs_that_some_spreadsheets_read_as_a_formula_are_disarmed(bare: pr.Release, tmp_path: Path) -> None:
    policy, old = bare.policy, bare.network
    labels = [f"{sign}{node}" for node, sign in zip(range(old.nodes), "\uff1d\uff0b\uff0d\uff20" * 6, strict=True)]
    network = pr.Network(old.tail, old.head, old.latency, labels)
    _, routes = export_release(pr.Release(moved(policy, network), bare.certificate), tmp_path, "csv")
    assert all(row[name].startswith("'") for row in rows(routes) for name in ("origin", "destination", "nodes"))


def brute_force(by_origin: pr.RoutingPolicy) -> list[int]:
    policy = by_origin.as_paths()
    users: list[set[int]] = [set() for _ in range(policy.network.links)]
    for pair in range(len(policy.pairs)):
        for path in range(policy.pair_start[pair], policy.pair_start[pair + 1]):
            for link in policy.links[policy.path_start[path] : policy.path_start[path + 1]]:
                users[link].update([pair] if policy.probability[path] > 0 else [])
    return [len(each) for each in users]


@pytest.mark.parametrize("kind", ["release", "bare"])
def test_gmns_reads_back_as_the_network(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    found: pr.Release = request.getfixturevalue(kind)
    export_release(found, tmp_path, "gmns")
    again = pr.read_gmns(tmp_path)
    assert again.node_labels == found.network.node_labels
    assert np.array_equal(again.tail, found.network.tail)
    assert again.free_flow_min == pytest.approx(found.network.free_flow_min)
    table = rows(tmp_path / "route_assignment.csv")
    assert sum(float(row["prob"]) for row in table) == pytest.approx(len(found.policy.pairs))
    assert len(rows(tmp_path / "link_performance.csv")) == found.network.links


def test_nothing_is_replaced_unless_asked_and_nothing_is_half_written(release: pr.Release, tmp_path: Path) -> None:
    kinds: tuple[ExportFormat, ...] = ("geojson", "csv", "gmns", "gpkg", "routes")
    for kind in kinds:
        paths = export_release(release, tmp_path / kind, kind)
        assert sorted(path.name for path in (tmp_path / kind).iterdir()) == sorted(FILES[kind])
        with pytest.raises(InputError, match="already exists"):
            export_release(release, tmp_path / kind, kind)
        assert export_release(release, tmp_path / kind, kind, overwrite=True) == paths
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be used as a folder"):
        export_release(release, tmp_path / "file", "csv")
    with pytest.raises(InputError, match="choose geojson, csv, gmns, gpkg, routes"):
        export_release(release, tmp_path, "shp")  # type: ignore[arg-type]


def test_a_report_needs_nothing_else_and_no_label_can_end_its_scripts(bare: pr.Release) -> None:
    page = report_html(bare)
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)
    assert page.count("<script") == page.count("</script>")
    assert "</script><b>" not in page
    assert "unsafe-inline" not in page
    embedded = re.search(r'id="embedded-drawing">(.*?)</script>', page, re.DOTALL)
    assert embedded
    found = json.loads(embedded[1])["nodes"]["label"]
    assert [str(label) for label in found] == [str(label) for label in bare.network.node_labels]


def test_a_report_of_a_huge_policy_keeps_the_pairs_with_the_largest_demand(release: pr.Release) -> None:
    page = report_html(release, most_links=200)
    embedded = re.search(r'id="embedded-drawing">(.*?)</script>', page, re.DOTALL)
    assert embedded
    drawing = json.loads(embedded[1])
    assert 0 < drawing["embedded_pairs"] < drawing["pairs"]


def test_the_commands_write_say_where_and_refuse_to_replace(release: pr.Release, tmp_path: Path) -> None:
    place = tmp_path / "release"
    release.save(place)
    report = tmp_path / "report.html"
    done = run("report", place, "--out", report)
    assert done.code == 0, done.err
    assert f"Written: {report}" in done.out
    assert "--overwrite" in refused("report", place, "--out", report)
    assert run("report", place, "--out", report, "--overwrite").code == 0
    done = run("export", place, "--out", tmp_path / "files", "--format", "csv")
    assert done.code == 0, done.err
    assert "routes.csv" in done.out
    again = refused("export", place, "--out", tmp_path / "files", "--format", "csv")
    assert "already exists" in again
    assert "--overwrite" in again
    assert run("export", place, "--out", tmp_path / "files", "--format", "csv", "--overwrite").code == 0
