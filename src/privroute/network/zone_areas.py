"""Areas of zones: polygons in degrees, one for each zone, that say to which zone a place belongs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from privroute import _core
from privroute.errors import NetworkError
from privroute.network.checks import RebuiltOnCopy, freeze, part_starts, real_array, real_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["ZoneAreas"]

_FEWEST_POINTS = 3
_LARGEST = (180.0, 90.0)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ZoneAreas(RebuiltOnCopy):
    """Rings of points; a place is in an area if a ray from it crosses the area's rings an odd number of times.

    points : (points, 2) longitude and latitude
    ring_start : (rings + 1,) int64; ring r has points[ring_start[r] : ring_start[r + 1]], at least three
    area_start : (areas + 1,) int64; area a has the rings area_start[a] to area_start[a + 1]; holes are rings too
    reach_km : how far outside of every area a place may be to count as of the nearest one, if nothing else is said

    A place on an edge is in the area; of several areas the first one has it. Coordinates are compared on a lattice of
    1e-9 degrees in integers (core/areas.hpp), so the answer for a place depends on that place alone.
    """

    points: NDArray[np.float64]
    ring_start: NDArray[np.int64]
    area_start: NDArray[np.int64]
    reach_km: float

    def __init__(
        self, points: ArrayLike, ring_start: ArrayLike, area_start: ArrayLike, *, reach_km: float = 0.0
    ) -> None:
        places = real_array(points, "points", NetworkError)
        shaped = places.ndim == 2 and places.shape[1] == 2  # noqa: PLR2004 - longitude and latitude
        if not shaped or not np.all(np.abs(places) <= _LARGEST):
            raise NetworkError("areas of zones must be longitudes from -180 to 180 and latitudes from -90 to 90")
        rings = part_starts(ring_start, "ring_start", len(places), NetworkError, least=_FEWEST_POINTS)
        areas = part_starts(area_start, "area_start", rings.size - 1, NetworkError, least=1)
        put = object.__setattr__
        put(self, "points", freeze(places))
        put(self, "ring_start", rings)
        put(self, "area_start", areas)
        reach = real_number(reach_km, "reach_km", NetworkError, lambda value: value >= 0, "pass kilometres, or 0")
        put(self, "reach_km", reach)

    @classmethod
    def of(cls, areas: Sequence[Sequence[NDArray[np.float64]]], *, reach_km: float = 0.0) -> ZoneAreas:
        """Areas from lists of rings, each (points, 2)."""
        rings = [ring for area in areas for ring in area]
        return cls(
            np.concatenate([np.empty((0, 2)), *rings]),
            np.concatenate([[0], np.cumsum([len(ring) for ring in rings], dtype=np.int64)]).astype(np.int64),
            np.concatenate([[0], np.cumsum([len(area) for area in areas], dtype=np.int64)]).astype(np.int64),
            reach_km=reach_km,
        )

    def __len__(self) -> int:
        return self.area_start.size - 1

    def rings(self, area: int) -> list[NDArray[np.float64]]:
        """The rings of one area, each (points, 2)."""
        bounds = self.ring_start[self.area_start[area] : self.area_start[area + 1] + 1].tolist()
        return [self.points[begin:end] for begin, end in itertools.pairwise(bounds)]

    def take(self, areas: Sequence[int]) -> ZoneAreas:
        """Some of them."""
        return ZoneAreas.of([self.rings(area) for area in areas], reach_km=self.reach_km)

    def index(self) -> _core.AreaIndex:
        """What finds the areas of places."""
        x, y = (np.ascontiguousarray(column) for column in self.points.T)
        return _core.AreaIndex(x, y, self.ring_start, self.area_start)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ZoneAreas):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ZoneAreas({len(self):,} areas, {len(self.points):,} points)"
