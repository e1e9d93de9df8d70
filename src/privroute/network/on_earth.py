"""Distances on the Earth, and coordinates of other systems as longitudes and latitudes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import MissingExtraError, NetworkError
from privroute.network.checks import show

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DEGREES", "KM_PER_DEGREE", "is_degrees", "line_km", "point_km", "to_degrees"]

DEGREES = "EPSG:4326"
KM_PER_DEGREE = 111.195  # 6371.0088 km · π / 180: mean Earth radius
_EARTH_RADIUS_KM = 6371.0088
_SAME = {"EPSG:4326", "OGC:CRS84", "CRS84", "URN:OGC:DEF:CRS:OGC:1.3:CRS84", "URN:OGC:DEF:CRS:EPSG::4326", "WGS84"}


def point_km(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """(points,) great-circle kilometres between points (points, 2) in degrees."""
    (x, y), (u, v) = np.radians(first).T, np.radians(second).T
    half = np.sin((v - y) / 2) ** 2 + np.cos(y) * np.cos(v) * np.sin((u - x) / 2) ** 2
    return np.asarray(2 * _EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.clip(half, 0, 1))))


def line_km(points: NDArray[np.float64], start: NDArray[np.int64]) -> NDArray[np.float64]:
    """(lines,) kilometres along lines in degrees; line e is points[start[e] : start[e + 1]], at least two points."""
    step = point_km(points[:-1], points[1:])
    step[start[1:-1] - 1] = 0.0  # from the end of one line to the start of the next
    return np.asarray(np.add.reduceat(step, start[:-1]))


def is_degrees(crs: object) -> bool:
    """Whether the name of a coordinate system stands for longitude and latitude."""
    return isinstance(crs, str) and crs.strip().upper() in _SAME


def to_degrees(points: NDArray[np.float64], crs: str | None) -> NDArray[np.float64]:
    """Longitudes and latitudes of points (points, 2) in another system; None: they are degrees already."""
    if crs is None or is_degrees(crs):
        return points
    try:
        import pyproj  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError("pyproj", "gis", f"coordinates of the system {show(crs)}") from None
    found: Any = None
    try:
        change = pyproj.Transformer.from_crs(crs, DEGREES, always_xy=True)
        found = np.column_stack(change.transform(points[:, 0], points[:, 1]))
    except Exception:  # noqa: BLE001 - PROJ raises errors of many kinds for a text that is no system
        found = None
    if found is None or not np.all(np.abs(found) <= (180.0, 90.0)):
        raise NetworkError(
            f"coordinates of the system {show(crs)} cannot be turned into longitudes and latitudes; "
            "save the file in EPSG:4326"
        )
    return np.asarray(found, dtype=np.float64)
