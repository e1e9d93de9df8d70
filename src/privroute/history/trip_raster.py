"""Zones of places as a public table: cells of a raster, each with the zone of its centre.

Engines join coordinates with it. A place gets the zone of its cell's centre, so near the border of two zones it may get
the neighbour: at most half a cell's diagonal away. The table is made of the network alone; the difference from exact
geometry is public and the same in all engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from privroute.errors import HistoryError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.history.nearest_zone import NearestZone

__all__ = ["TripRaster"]

_MOST_CELLS = 2**22
_FINEST, _COARSEST = 2000, 50  # cells per degree: about 56 m and 2.2 km along a meridian
_DEGREE_KM = 111.2


@dataclass(frozen=True, slots=True, eq=False)
class TripRaster:
    """Cells (x, y) = (floor(longitude · per_degree), floor(latitude · per_degree)) that have a zone, and its node."""

    per_degree: int
    x: NDArray[np.int64]
    y: NDArray[np.int64]
    node: NDArray[np.int32]

    @classmethod
    def of(cls, nearest: NearestZone) -> Self:
        """The finest raster of at most four million cells around the network."""
        low, high = nearest.box
        margin = nearest.max_zone_distance_km / _DEGREE_KM
        low = np.maximum(low - [margin / max(0.1, np.cos(np.radians(low[1]))), margin], [-180.0, -90.0])
        high = np.minimum(high + [margin / max(0.1, np.cos(np.radians(high[1]))), margin], [180.0, 90.0])
        width, height = high - low
        per_degree = int(min(_FINEST, np.sqrt(_MOST_CELLS / max(width * height, 1e-9))))
        if per_degree < _COARSEST:
            raise HistoryError(
                f"the network spans {width:.0f} by {height:.0f} degrees, too many for a raster of zones; give trips by "
                "zones, or read them from files"
            )
        first, last = (np.floor(corner * per_degree).astype(np.int64) for corner in (low, high))
        x, y = (
            axis.ravel() for axis in np.meshgrid(*(np.arange(first[at], last[at] + 1) for at in (0, 1)), indexing="ij")
        )
        node = nearest((x + 0.5) / per_degree, (y + 0.5) / per_degree)
        inside = node >= 0
        return cls(per_degree, x[inside], y[inside], node[inside])
