"""A release as a GeoPackage for QGIS: the layers links, zones and routes in one file, in degrees."""

from __future__ import annotations

import sqlite3
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import InputError, MissingExtraError
from privroute.network.on_earth import DEGREES
from privroute.serve.qgis_styles import add_qgis_styles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["write_geopackage"]

_ROUTES_AT_ONCE = 100_000


def write_geopackage(
    path: Path,
    network: Network,
    links: tuple[list[list[list[float]]], dict[str, list[Any]]],
    routes: Iterable[tuple[list[list[float]], dict[str, Any]]],
) -> None:
    """Write the layers.

    links : lines and columns by name; routes : a line and its values for each
    """
    try:
        import pyogrio  # noqa: PLC0415 - optional packages
        import pyogrio.raw  # noqa: PLC0415
        import shapely  # noqa: PLC0415
    except ImportError as problem:
        raise MissingExtraError(problem.name or "pyogrio", "gis", "writing a GeoPackage") from None
    if network.coordinates is None:
        raise InputError("the network has no coordinates, so it cannot be written as a GeoPackage; choose csv or gmns")
    crs = DEGREES if network.has_longitude_latitude else network.crs
    part = path.with_name(f".{path.name}.part.gpkg")

    def layer(name: str, shapes: Any, kind: str, columns: dict[str, list[Any]]) -> None:
        pyogrio.raw.write(
            part,
            shapely.to_wkb(shapes),
            field_data=[_column(values) for values in columns.values()],
            fields=list(columns),
            geometry_type=kind,
            layer=name,
            crs=crs,
            driver="GPKG",
            append=part.exists(),
        )

    try:
        layer("links", _lines(shapely, links[0]), "LineString", links[1])
        names = [str(name) for name in network.zone_names]
        if network.areas is None:
            layer("zones", shapely.points(network.coordinates[network.zones]), "Point", {"zone_id": names})
        else:
            areas = [_area(shapely, network.areas.rings(area)) for area in range(len(network.areas))]
            layer("zones", np.array(areas, dtype=object), "MultiPolygon", {"zone_id": names})
        for listed in _blocks(routes):
            columns = {name: [values[name] for _, values in listed] for name in (listed[0][1] if listed else {})}
            layer("routes", _lines(shapely, [line for line, _ in listed]), "LineString", columns)
        coloured = "volume_over_capacity"
        add_qgis_styles(part, coloured if coloured in links[1] else "pairs_using", network.areas is not None)
        part.replace(path)
    except (OSError, ValueError, RuntimeError, sqlite3.Error) as problem:
        raise InputError(f"{path} cannot be written ({problem}); check the folder and its permissions") from None
    finally:
        part.unlink(missing_ok=True)


def _blocks(routes: Iterable[tuple[list[list[float]], dict[str, Any]]]) -> Iterator[list[Any]]:
    """Lists of at most _ROUTES_AT_ONCE; one that is empty where there are no routes, so that there is a layer."""
    remaining = iter(routes)
    block = list(islice(remaining, _ROUTES_AT_ONCE))
    yield block
    while block := list(islice(remaining, _ROUTES_AT_ONCE)):
        yield block


def _area(shapely: Any, rings: list[NDArray[np.float64]]) -> Any:
    """The area of rings by the even-odd rule, as a multipolygon."""
    found = reduce(shapely.symmetric_difference, [shapely.make_valid(shapely.polygons(ring)) for ring in rings])
    parts = [part for part in shapely.get_parts(found) if part.geom_type == "Polygon"]
    return shapely.multipolygons(parts)


def _lines(shapely: Any, lines: list[list[list[float]]]) -> Any:
    count = [len(line) for line in lines]
    points = np.array([point for line in lines for point in line], dtype=float).reshape(-1, 2)
    return (
        shapely.linestrings(points, indices=np.repeat(np.arange(len(lines)), count)) if lines else np.empty(0, object)
    )


def _column(values: list[Any]) -> Any:
    """Numbers as numbers, with gaps as NaN; everything else as text."""
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return np.array([np.nan if value is None else float(value) for value in values])
    return np.array([None if value is None else str(value) for value in values], dtype=object)
