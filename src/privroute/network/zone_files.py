"""Zones from files (polygons as GeoJSON, GeoPackage or shapefile; CSV lists of nodes or places) and from grids."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import FormatError, InputError, NetworkError, arg, named
from privroute.network.checks import show
from privroute.network.connectors import CONNECTORS, connect_areas, connect_points, connect_zones, without_zones
from privroute.network.grid_zones import grid_areas
from privroute.network.labels import as_label
from privroute.network.on_earth import to_degrees
from privroute.network.read_notes import ReadNotes
from privroute.network.text_files import as_path, read_table, read_text
from privroute.network.vector_files import layers, read_layer
from privroute.network.zone_areas import ZoneAreas

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from privroute.network.labels import Label
    from privroute.network.network import Network

__all__ = ["ZONE_ENDINGS", "with_grid", "with_zones"]

ZONE_ENDINGS = (".geojson", ".json", ".gpkg", ".shp", ".csv")
_ID_NAMES = ("zone_id", "zone", "id")
_MOST_CONNECTORS = 100


@dataclass(frozen=True, slots=True)
class _Polygons:
    """Rings of each polygon, in the coordinates of `crs`, and the attributes by name."""

    rings: list[list[NDArray[np.float64]]]
    columns: dict[str, list[Any]]
    crs: str | None


def with_zones(
    network: Network,
    path: str | os.PathLike[str],
    *,
    zone_id: str | None = None,
    connectors: int | None = None,
    notes: ReadNotes | None = None,
) -> Network:
    """The network with the zones of a file instead of its own.

    path : polygons as GeoJSON, GeoPackage or shapefile; or a CSV file with the columns zone_id and node_id (zones at
        nodes), or zone_id, x_coord and y_coord (places in degrees)
    zone_id : column of the zones' ids, by which trips name them; default: zone_id, zone or id, else 1, 2, 3, ...
    connectors : number of nodes over which a zone's traffic enters the network (docs/map.md); default 4
    notes : receives the numbers of zones without a street inside, and of zones that were left out
    """
    place, counted = as_path(path), notes if notes is not None else ReadNotes()
    most = _connectors(connectors)
    ending = place.suffix.lower()
    if ending not in ZONE_ENDINGS:
        raise InputError(f"{place}: the ending does not say what it is; {', '.join(ZONE_ENDINGS)} are read as zones")
    if ending == ".csv":
        return _listed(network, place, zone_id, most, counted)
    found = _geojson(place) if ending in (".geojson", ".json") else _layer(place)
    if not found.rings:
        raise FormatError(place, "has no polygons")
    try:
        labels = _labels(found, zone_id, counted)
        return connect_areas(network, labels, _areas(found), counted, connectors=most)
    except NetworkError as problem:
        raise FormatError(place, f"{problem}") from None


def with_grid(
    network: Network, grid_km: float, *, connectors: int | None = None, notes: ReadNotes | None = None
) -> Network:
    """The network with the cells of a square grid that contain nodes as its zones, numbered from the south-west."""
    most = _connectors(connectors)
    areas = grid_areas(without_zones(network), grid_km)
    counted = notes if notes is not None else ReadNotes()
    return connect_areas(network, range(1, len(areas) + 1), areas, counted, connectors=most)


def _connectors(given: object) -> int:
    if given is None:
        return CONNECTORS
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= _MOST_CONNECTORS:
        raise InputError(f"{named('connectors')} is {show(given)}; pass a whole number from 1 to {_MOST_CONNECTORS}")
    return given


def _listed(network: Network, place: Path, zone_id: str | None, most: int, notes: ReadNotes) -> Network:
    table = read_table(place)
    column = (zone_id or "zone_id").lower()
    table.require(column)
    by_node = "node_id" in table.columns
    table.require(*(("node_id",) if by_node else ("x_coord", "y_coord")))
    bare = without_zones(network)
    nodes: dict[Label, list[int]] = {}
    places: dict[Label, tuple[float, float]] = {}
    for where, row in table:
        label = where.label(row.get(column, ""), column)
        if by_node:
            name = where.label(row.get("node_id", ""), "node_id")
            try:
                nodes.setdefault(label, []).append(bare.node(name))
            except NetworkError as problem:
                raise where.error(f"{problem}") from None
        else:
            if label in places:
                raise where.error(f"zone {label} occurs before; each zone needs its own row")
            places[label] = (
                where.number(row.get("x_coord", ""), "x_coord"),
                where.number(row.get("y_coord", ""), "y_coord"),
            )
            if not np.all(np.abs(places[label]) <= (180.0, 90.0)):
                raise where.error("x_coord and y_coord must be longitude and latitude")
    if not nodes and not places:
        raise FormatError(place, "has no zones")
    try:
        if by_node:
            return connect_zones(bare, list(nodes), [sorted(set(held)) for held in nodes.values()])
        return connect_points(network, list(places), np.array(list(places.values())), notes, connectors=most)
    except NetworkError as problem:
        raise FormatError(place, f"{problem}") from None


def _labels(found: _Polygons, zone_id: str | None, notes: ReadNotes) -> list[Label]:
    names = {name.lower(): name for name in found.columns}
    if zone_id is not None and zone_id.lower() not in names:
        listed = ", ".join(sorted(found.columns))[:200] or "none"
        raise NetworkError(f"has no column {zone_id!r} for {arg('zone_id')}; its columns are: {listed}")
    column = zone_id.lower() if zone_id is not None else next((name for name in _ID_NAMES if name in names), None)
    if column is None:
        listed = ", ".join(sorted(found.columns)) or "none"
        notes.add("numbered_zones", len(found.rings), f"its properties: {listed}")
        return list(range(1, len(found.rings) + 1))
    labels: dict[Label, int] = {}
    for position, value in enumerate(found.columns[names[column]]):
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, float) and plain.is_integer() and abs(plain) < 2**53:
            plain = int(plain)
        try:
            label = as_label(plain.strip() if isinstance(plain, str) else plain)
        except NetworkError as problem:
            raise NetworkError(f"polygon {position + 1:,}: {column} {problem}") from None
        if labels.setdefault(label, position) != position:
            raise NetworkError(
                f"polygons {labels[label] + 1:,} and {position + 1:,} have the same {column} {label!r}; merge them "
                "into one multipolygon, or name another column"
            )
    return list(labels)


def _areas(found: _Polygons) -> ZoneAreas:
    counts = [len(ring) for rings in found.rings for ring in rings]
    points = to_degrees(np.concatenate([ring for rings in found.rings for ring in rings]), found.crs)
    if not np.all(np.abs(points) <= (180.0, 90.0)):
        raise NetworkError(
            "its coordinates are not longitudes and latitudes, and it does not say what they are; save it in EPSG:4326"
        )
    parts = iter(np.split(points, np.cumsum(counts)[:-1]))
    return ZoneAreas.of([[next(parts) for _ in rings] for rings in found.rings])


def _layer(place: Path) -> _Polygons:
    """The only layer with polygons; the first one where the file does not say what its layers hold."""
    kinds = layers(place)
    import shapely  # noqa: PLC0415 - optional, and there if the layers were found

    named = [name for name, kind in kinds.items() if "Polygon" in kind]
    if len(named) > 1:
        raise FormatError(place, f"has several layers of polygons ({', '.join(named)[:200]}); save the zones alone")
    layer = read_layer(place, next(iter(named or kinds), None))
    rings: list[list[NDArray[np.float64]]] = []
    for position, shape in enumerate(layer.geometry):
        if shape is None or shape.geom_type not in ("Polygon", "MultiPolygon") or shape.is_empty:
            raise FormatError(place, f"feature {position + 1:,} is not a polygon; save polygons only")
        parts = shapely.get_parts(shape)  # a multipolygon has no rings of its own
        rings.append([shapely.get_coordinates(ring) for ring in shapely.get_rings(parts[~shapely.is_empty(parts)])])
    return _Polygons(rings, {name: values.tolist() for name, values in layer.columns.items()}, layer.crs)


def _geojson(place: Path) -> _Polygons:
    try:
        found = json.loads(read_text(place))
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, FormatError):
            raise
        raise FormatError(place, "is not JSON; save it as GeoJSON") from None
    features = found.get("features") if isinstance(found, dict) else None
    if not isinstance(features, list):
        raise FormatError(place, "is not a GeoJSON FeatureCollection; save the polygons as one")
    rings, properties = [], []
    for position, feature in enumerate(features, start=1):
        shape = feature.get("geometry") if isinstance(feature, dict) else None
        parts = list(_rings(shape))
        if not parts:
            raise FormatError(place, f"feature {position:,} is not a polygon with rings of three points or more")
        rings.append(parts)
        own = feature.get("properties")
        properties.append(
            {**({"id": feature["id"]} if "id" in feature else {}), **(own if isinstance(own, dict) else {})}
        )
    names = dict.fromkeys(name for each in properties for name in each)
    columns = {name: [each.get(name) for each in properties] for name in names}
    return _Polygons(rings, columns, _crs(found))


def _rings(shape: object) -> Iterator[NDArray[np.float64]]:
    """The rings of a Polygon or MultiPolygon; nothing for anything else."""
    if not isinstance(shape, dict):
        return
    kind, given = shape.get("type"), shape.get("coordinates")
    parts: Any = [given] if kind == "Polygon" else given if kind == "MultiPolygon" else []
    found = []
    try:
        for part in parts or []:
            for ring in part:
                points = np.array([(float(point[0]), float(point[1])) for point in ring])
                if len(points) < 3 or not np.isfinite(points).all():  # noqa: PLR2004 - a triangle
                    return
                found.append(points)
    except (TypeError, ValueError, LookupError, OverflowError):
        return
    yield from found


def _crs(found: dict[str, Any]) -> str | None:
    """The system that an older GeoJSON names; None for degrees, the only one of today's."""
    try:
        name = found["crs"]["properties"]["name"]
    except (KeyError, TypeError):
        return None
    return name if isinstance(name, str) else None
