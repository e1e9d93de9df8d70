"""Link flows and routes of a release as files for QGIS, spreadsheets and GMNS tools.

geojson : links.geojson (lines with flows, zones as points), routes.geojson (a line for each route)
csv : links.csv and routes.csv, UTF-8 with a byte-order mark, geometries as WKT; a label that a spreadsheet would read
    as a formula gets an apostrophe in front
gpkg : release.gpkg, a GeoPackage with the layers links, zones and routes
routes : routes.parquet, as in the folder of a small release: origin, destination, route, probability, link_ids
gmns : node.csv, link.csv and config.csv, which `read_gmns` reads back, with link_performance.csv and
    route_assignment.csv, whose columns other GMNS tools use

Nodes and links of a route are joined by semicolons; a semicolon in a label is written %3B.
"""

from __future__ import annotations

import csv
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from privroute.errors import InputError
from privroute.network.features import feature_collection, in_units, link_columns
from privroute.network.gmns_writing import write_gmns
from privroute.network.text_files import as_path, flush_to_disk, write_whole
from privroute.progress import check_progress, tell
from privroute.serve.answers import MOST_SHOWN_ROUTES
from privroute.serve.geopackage import write_geopackage
from privroute.serve.page_content import Picture
from privroute.serve.route_lines import RouteLines

if TYPE_CHECKING:
    import io
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from privroute.network.display_units import Units
    from privroute.network.labels import Label
    from privroute.progress import Progress
    from privroute.release.release import Release

__all__ = ["FILES", "ExportFormat", "export_release"]

ExportFormat = Literal["geojson", "gpkg", "csv", "gmns", "routes"]
FILES: dict[str, tuple[str, ...]] = {
    "geojson": ("links.geojson", "routes.geojson"),
    "csv": ("links.csv", "routes.csv"),
    "gmns": ("node.csv", "link.csv", "config.csv", "link_performance.csv", "route_assignment.csv"),
    "gpkg": ("release.gpkg",),
    "routes": ("routes.parquet",),
}
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # and their wide forms
_PAIRS_AT_ONCE = 4096
_PAIRS_WRITTEN_AT_ONCE = 32_768
_SECONDS_PER_MIN = 60.0


def export_release(
    release: Release,
    folder: str | os.PathLike[str],
    kind: ExportFormat,
    *,
    overwrite: bool = False,
    most_routes: int = MOST_SHOWN_ROUTES,
    progress: Progress | None = None,
    one_period: bool = False,
) -> list[Path]:
    """Write the files of a format into a folder (made if it is not there) and return their paths.

    Of a release of several periods each has a folder of its own, such as workday_0700-0800.

    overwrite : replace files of these names
    one_period : write the period that the release shows (`Release.at`) alone, into the folder itself
    most_routes : of each pair, the most probable ones; what is missing of 1 in a pair's probabilities is left out
    progress : called with the share of the routes that are written
    """
    check_progress(progress)
    if kind not in FILES:
        raise InputError(f"the format is {kind!r}; choose {', '.join(FILES)}")
    place = as_path(folder)
    if release.parts and not one_period:
        return [
            path
            for each in release.each()
            for path in export_release(
                each,
                place / each.slot.key,
                kind,
                overwrite=overwrite,
                most_routes=most_routes,
                progress=progress,
                one_period=True,
            )
        ]
    paths = [place / name for name in FILES[kind]]
    try:
        place.mkdir(parents=True, exist_ok=True)
        taken = [path for path in paths if path.exists()]
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(f"{place} cannot be used as a folder ({reason}); choose another") from None
    if taken and not overwrite:
        raise InputError(f"{taken[0]} already exists; choose another folder, or pass overwrite=True to replace it")
    if kind == "routes":
        _write_parquet(release, paths[0], most_routes, progress)
        return paths
    picture = Picture(release)
    if kind == "gpkg":
        _write_gpkg(picture, paths[0], most_routes, progress)
        return paths
    with ExitStack() as stack:
        links, routes = (stack.enter_context(write_whole(path)) for path in paths[-2:])
        write = {"geojson": _write_geojson, "csv": _write_csv, "gmns": _write_gmns_tables}[kind]
        write(picture, links, routes, most_routes, progress)
        for stream in (links, routes):  # what fails, fails before the first file is renamed
            flush_to_disk(stream)
        if kind == "gmns":
            write_gmns(release.network, place)
    return paths


class _Row(NamedTuple):
    """A route as the files have it."""

    origin: Label
    destination: Label
    route: int
    probability: float
    expected_min: float | None
    free_flow_min: float
    length_km: float | None
    volume_per_h: float | None
    nodes: list[int]
    links: list[int]


def _rows(picture: Picture, most_routes: int, progress: Progress | None) -> Iterator[_Row]:
    """All routes, pair after pair, the most probable first."""
    release, times = picture.release, picture.times
    policy, labels = release.policy, release.network.end_labels
    expected = None if release.demand is None else times.duration_s / _SECONDS_PER_MIN
    for at in range(0, len(policy.pairs), _PAIRS_AT_ONCE):
        block = np.arange(at, min(at + _PAIRS_AT_ONCE, len(policy.pairs)))
        first, start, links, chance, _ = policy.best_routes(block, most_routes)
        count = np.diff(first)
        pairs = np.repeat(block, count)

        def total(values: np.ndarray | None, start: Any = start, links: Any = links) -> list[Any]:
            if values is None:
                return [None] * (len(start) - 1)
            return _finite(np.add.reduceat(values[links], start[:-1]))

        volume = None if release.demand is None else _finite(release.demand.rate_per_min[pairs] * chance * 60)
        columns = zip(
            pairs.tolist(),
            (np.arange(pairs.size) - np.repeat(first[:-1], count)).tolist(),
            chance.tolist(),
            total(expected),
            total(times.free_flow_s / _SECONDS_PER_MIN),
            total(release.network.length_km),
            volume or [None] * pairs.size,
            start[:-1].tolist(),
            start[1:].tolist(),
            strict=True,
        )
        used, heads = links.tolist(), release.network.head[links].tolist()
        for pair, number, probability, busy_min, empty_min, length_km, per_h, begin, end in columns:
            origin = int(policy.pairs.origin[pair])
            nodes = [origin, *heads[begin:end]]
            ends = labels[origin], labels[nodes[-1]]
            yield _Row(*ends, number, probability, busy_min, empty_min, length_km, per_h, nodes, used[begin:end])
        tell(progress, "Writing routes", (at + block.size) / len(policy.pairs))


def _write_parquet(release: Release, path: Path, most_routes: int, progress: Progress | None) -> None:
    """Write block after block, so that memory does not grow with the number of routes."""
    policy, pairs = release.policy, release.policy.pairs
    labels = pa.array([str(label) for label in release.network.node_labels])
    schema = pa.schema(
        {
            "origin": pa.string(),
            "destination": pa.string(),
            "route": pa.int64(),
            "probability": pa.float64(),
            "link_ids": pa.large_list(pa.int32()),
        }
    )
    part = path.with_name(f".{path.name}.part")
    try:
        with pq.ParquetWriter(part, schema, compression="zstd") as writer:
            for at in range(0, len(pairs), _PAIRS_WRITTEN_AT_ONCE):
                block = np.arange(at, min(at + _PAIRS_WRITTEN_AT_ONCE, len(pairs)))
                first, start, links, probability, _ = policy.best_routes(block, most_routes)
                count = np.diff(first)
                columns = [
                    labels.take(pa.array(np.repeat(pairs.origin[block], count))),
                    labels.take(pa.array(np.repeat(pairs.destination[block], count))),
                    pa.array(np.arange(first[-1]) - np.repeat(first[:-1], count)),
                    pa.array(probability),
                    pa.LargeListArray.from_arrays(pa.array(start), pa.array(links)),
                ]
                writer.write_batch(pa.record_batch(columns, schema=schema))
                tell(progress, "Writing routes", (at + block.size) / len(pairs))
        part.replace(path)
    except OSError as problem:
        raise InputError(f"{path} cannot be written ({problem.strerror}); check space and permissions") from None
    finally:
        part.unlink(missing_ok=True)


def _write_geojson(
    picture: Picture, links: io.TextIOWrapper, routes: io.TextIOWrapper, most_routes: int, progress: Progress | None
) -> None:
    network = picture.release.network
    points = picture.points if network.coordinates is None else network.coordinates
    columns = {name: _finite(values) for name, values in picture.link_columns.items()}
    collection = feature_collection(network, points, columns, per_hour=True, units=network.units)
    links.write(orjson.dumps(collection).decode() + "\n")
    lines = RouteLines(network, points)
    extra = {"crs": collection["crs"]} if "crs" in collection else {}
    opening = orjson.dumps({"type": "FeatureCollection", **extra}).decode()[:-1]
    routes.write(f'{opening},"features":[')
    for position, row in enumerate(_rows(picture, most_routes, progress)):
        feature = {
            "type": "Feature",
            "geometry": {"type": "LineString", "coordinates": lines.line(row.links)},
            "properties": {
                **_numbers(row, network.units),
                **_streets(lines, row),
                "nodes": _joined([network.node_labels[node] for node in row.nodes]),
                "links": _joined([network.link_labels[link] for link in row.links]),
            },
        }
        routes.write(("," if position else "") + "\n" + orjson.dumps(feature).decode())
    routes.write("\n]}\n")


def _numbers(row: _Row, units: Units) -> dict[str, Any]:
    return {name: value for name, value in _shown(row, units).items() if value is not None}


def _shown(row: _Row, units: Units) -> dict[str, Any]:
    """What a route's columns are called and hold in these units."""
    return {
        name: value[0] for name, value in in_units(units, {n: [getattr(row, n)] for n in _Row._fields[:-2]}).items()
    }


def _streets(lines: RouteLines, row: _Row) -> dict[str, str]:
    names = lines.names(row.links)
    return {} if names is None else {"streets": _joined(list(names))}


def _write_gpkg(picture: Picture, path: Path, most_routes: int, progress: Progress | None) -> None:
    network = picture.release.network
    if network.coordinates is None:
        raise InputError("the network has no coordinates, so it cannot be written as a GeoPackage; choose csv or gmns")
    lines = RouteLines(network, network.coordinates)
    own = {n: _finite(v) for n, v in picture.link_columns.items()}
    columns = in_units(network.units, {**link_columns(network, per_hour=True), **own})
    routes = (
        (lines.line(row.links), _shown(row, network.units) | _streets(lines, row))
        for row in _rows(picture, most_routes, progress)
    )
    drawn = [lines.link_line(link) for link in range(network.links)]
    write_geopackage(path, network, (drawn, {name: list(values) for name, values in columns.items()}), routes)


def _write_csv(
    picture: Picture, links: io.TextIOWrapper, routes: io.TextIOWrapper, most_routes: int, progress: Progress | None
) -> None:
    network = picture.release.network
    for stream in (links, routes):
        stream.write("\N{ZERO WIDTH NO-BREAK SPACE}")  # the mark by which spreadsheets know UTF-8
    nodes = [_safe(label) for label in network.node_labels]
    numbers: dict[str, list[Any]] = {
        "link_id": [_safe(label) for label in network.link_labels],
        "from_node_id": [nodes[tail] for tail in network.tail],
        "to_node_id": [nodes[head] for head in network.head],
        "free_flow_min": network.free_flow_min.tolist(),
        "capacity_per_h": (network.capacity_per_min * 60).tolist(),
        "background_per_h": (network.background_per_min * 60).tolist(),
        **({} if network.length_km is None else {"length_km": network.length_km.tolist()}),
        **{name: _finite(values) for name, values in picture.link_columns.items()},
    }
    columns = in_units(network.units, numbers)
    if network.streets is not None:
        columns["name"] = [_safe(name) for name in network.streets.name]
        columns["road_class"] = [_safe(name) for name in network.streets.road_class]
        columns["osm_way_id"] = network.streets.osm_way_id.tolist()
    if network.coordinates is not None:
        lines = RouteLines(network, network.coordinates)
        columns["geometry"] = [_wkt(lines.link_line(link)) for link in range(network.links)]
    table = csv.writer(links)
    table.writerow(columns)
    table.writerows(zip(*columns.values(), strict=True))
    table = csv.writer(routes)
    table.writerow([*(network.units.column(name)[0] for name in _Row._fields[:-2]), "nodes", "links"])
    for row in _rows(picture, most_routes, progress):
        names = [network.node_labels[node] for node in row.nodes]
        table.writerow(
            [_safe(row.origin), _safe(row.destination), *list(_shown(row, network.units).values())[2:]]
            + [_safe(_joined(names)), _safe(_joined([network.link_labels[link] for link in row.links]))]
        )


def _write_gmns_tables(
    picture: Picture, links: io.TextIOWrapper, routes: io.TextIOWrapper, most_routes: int, progress: Progress | None
) -> None:
    network = picture.release.network
    flow = picture.flow_per_min
    table = csv.writer(links)
    table.writerow(["link_id", "from_node_id", "to_node_id", "volume", "travel_time", "voc"])
    volume = [None] * network.links if flow is None else _finite(flow * 60)
    share = [None] * network.links if flow is None else _finite(flow / network.capacity_per_min)
    minutes = _finite(picture.times.duration_s / _SECONDS_PER_MIN)
    for link, label in enumerate(network.link_labels):
        ends = network.node_labels[network.tail[link]], network.node_labels[network.head[link]]
        table.writerow([label, *ends, volume[link], minutes[link], share[link]])
    lines = None if network.coordinates is None else RouteLines(network, network.coordinates)
    table = csv.writer(routes)
    table.writerow(
        ["route_id", "o_zone_id", "d_zone_id", "path_id", "prob", "volume", "travel_time", "distance_km"]
        + ["node_sequence", "link_sequence", "geometry"]
    )
    for position, row in enumerate(_rows(picture, most_routes, progress)):
        table.writerow(
            [position, row.origin, row.destination, row.route, row.probability, row.volume_per_h]
            + [row.free_flow_min if row.expected_min is None else row.expected_min, row.length_km]
            + [_joined([network.node_labels[node] for node in row.nodes])]
            + [
                _joined([network.link_labels[link] for link in row.links]),
                _wkt(lines.line(row.links)) if lines else None,
            ]
        )


def _wkt(points: list[list[float]]) -> str:
    return f"LINESTRING ({', '.join(f'{x!r} {y!r}' for x, y in points)})"


def _joined(labels: list[Label]) -> str:
    return ";".join(str(label).replace(";", "%3B") for label in labels)


def _safe(label: Label) -> Label:
    """A label that no spreadsheet takes for a formula."""
    return f"'{label}" if isinstance(label, str) and label.startswith(_FORMULA) else label


def _finite(values: np.ndarray) -> list[Any]:
    """Plain numbers; None where there is no finite one."""
    return [value if np.isfinite(value) else None for value in values.tolist()]
