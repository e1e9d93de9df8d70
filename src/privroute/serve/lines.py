"""Lines as routing engines write them: GeoJSON, or the encoded polylines of OSRM with five or six decimals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["GEOMETRIES", "encoded", "geometry_of", "simplified"]

GEOMETRIES = ("geojson", "polyline", "polyline6")
_FIXED = 1e6  # OSRM has coordinates in whole millionths of a degree
_PARTS = 1000  # a simplified line stays within its longer side over this


def geometry_of(line: list[list[float]] | None, geometries: str) -> Any:
    """The line in one of GEOMETRIES; None without points."""
    if not line:
        return None
    if geometries == "geojson":
        return {"type": "LineString", "coordinates": line}
    return encoded(line, 5 if geometries == "polyline" else 6)


def encoded(line: list[list[float]], decimals: int) -> str:
    """Longitudes and latitudes as an encoded polyline with five or six decimals, latitudes first.

    As in OSRM, numbers are rounded to millionths first and then to the decimals, halves away from zero.
    """
    signs: list[str] = []
    before = (0, 0)
    for x, y in line:
        now = (_rounded(y, decimals), _rounded(x, decimals))
        for value, old in zip(now, before, strict=True):
            left = (value - old) << 1
            left = ~left if left < 0 else left
            while left >= 0x20:  # noqa: PLR2004 - five bits a sign
                signs.append(chr((0x20 | (left & 0x1F)) + 63))
                left >>= 5
            signs.append(chr(left + 63))
        before = now
    return "".join(signs)


def _rounded(degrees: float, decimals: int) -> int:
    fixed = math.floor(abs(degrees) * _FIXED + 0.5)
    size = fixed if decimals == 6 else (fixed + 5) // 10  # noqa: PLR2004 - as OSRM has them
    return -size if degrees < 0 else size


def simplified(line: list[list[float]]) -> list[list[float]]:
    """Fewer points (Douglas and Peucker): those left out lie within a thousandth of the line's extent."""
    points = np.array(line)
    flat = points * (math.cos(math.radians(float(points[:, 1].mean()))), 1.0)
    tolerance = float(np.ptp(flat, axis=0).max()) / _PARTS
    kept = np.zeros(len(flat), bool)
    kept[[0, -1]] = True
    spans = [(0, len(flat) - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:  # noqa: PLR2004 - nothing lies between
            continue
        away = _distances(flat[first + 1 : last], flat[first], flat[last])
        most = int(np.argmax(away))
        if away[most] > tolerance:
            middle = first + 1 + most
            kept[middle] = True
            spans += [(first, middle), (middle, last)]
    return [point for point, keep in zip(line, kept.tolist(), strict=True) if keep]


def _distances(points: np.ndarray[Any, Any], begin: np.ndarray[Any, Any], end: np.ndarray[Any, Any]) -> Any:
    """(points,) from the straight line between two points."""
    along = end - begin
    square = float(along @ along)
    share = np.clip((points - begin) @ along / square, 0.0, 1.0) if square > 0 else np.zeros(len(points))
    return np.hypot(*(points - begin - share[:, None] * along).T)
