"""Well-known text of lines and polygons, as GMNS tables and GraphML files hold them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import NetworkError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["line_text", "polygon_text", "read_line", "read_polygon"]

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?"
_POINT = rf"\s*{_NUMBER}(?:\s+{_NUMBER}){{1,3}}\s*"
_POINTS = rf"\({_POINT}(?:,{_POINT})*\)"
_LINE = re.compile(rf"\s*LINESTRING\s*(?:Z|M|ZM)?\s*({_POINTS})\s*", re.IGNORECASE)
_RING = re.compile(_POINTS)
_POLYGON = re.compile(r"\s*(?:MULTI)?POLYGON\s*(?:Z|M|ZM)?\s*\(.*\)\s*", re.IGNORECASE | re.DOTALL)
_LONGEST = 10_000_000
_FEWEST = {"line": 2, "ring": 3}


def read_line(text: str) -> NDArray[np.float64]:
    """(points, 2) of a LINESTRING; further coordinates of its points are left out."""
    found = _LINE.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise NetworkError('is not a line; write it like "LINESTRING (13.4 52.5, 13.5 52.5)"')
    return _points(found[1], "line")


def read_polygon(text: str) -> list[NDArray[np.float64]]:
    """Rings, each (points, 2), of a POLYGON or MULTIPOLYGON; holes are rings as well."""
    rings = _RING.findall(text) if len(text) <= _LONGEST and _POLYGON.fullmatch(text) else []
    if not rings:
        raise NetworkError('is not a polygon; write it like "POLYGON ((13.4 52.5, 13.5 52.5, 13.5 52.6, 13.4 52.5))"')
    return [_points(ring, "ring") for ring in rings]


def line_text(points: NDArray[np.float64]) -> str:
    """The LINESTRING of points (points, 2), which reads back number for number."""
    return f"LINESTRING {_text(points)}"


def polygon_text(rings: Sequence[NDArray[np.float64]]) -> str:
    """A POLYGON of rings, which reads back number for number."""
    return f"POLYGON ({', '.join(map(_text, rings))})"


def _text(points: NDArray[np.float64]) -> str:
    return "(" + ", ".join([f"{x!r} {y!r}" for x, y in points.tolist()]) + ")"


def _points(text: str, what: str) -> NDArray[np.float64]:
    rows = [cells.split()[:2] for cells in text.strip("()").split(",")]
    points = np.array(rows, dtype=np.float64)
    if len(points) < _FEWEST[what] or not np.isfinite(points).all():
        raise NetworkError(f"has a {what} of fewer than {_FEWEST[what]} points, or one that is not finite")
    return points
