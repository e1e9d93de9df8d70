"""Readable twin of core/areas.hpp: areas that have points, in whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["containing"]


def containing(areas: list[list[NDArray[np.float64]]], longitude: float, latitude: float) -> int:
    """The first area that has the point, by the even-odd rule, edges included; -1 if none has."""
    if not (abs(longitude) <= 180 and abs(latitude) <= 90):
        return -1
    point = _lattice(longitude), _lattice(latitude)
    return next((number for number, rings in enumerate(areas) if _has(rings, *point)), -1)


def _lattice(degrees: float) -> int:
    """Whole 1e-9 degrees; halves go away from 0, as std::llround has it."""
    scaled = degrees * 1e9
    whole = int(abs(scaled) + 0.5) if abs(scaled) < 2**52 else int(abs(scaled))
    return whole if scaled >= 0 else -whole


def _has(rings: list[NDArray[np.float64]], x: int, y: int) -> bool:
    inside = False
    for ring in rings:
        points = [(_lattice(u), _lattice(v)) for u, v in ring.tolist()]
        for at, first in enumerate(points):
            (ax, ay), (bx, by) = sorted([first, points[(at + 1) % len(points)]], key=lambda point: point[1])
            side = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
            if side == 0 and ay <= y <= by and min(ax, bx) <= x <= max(ax, bx):
                return True
            inside ^= ay <= y < by and side > 0
    return inside
