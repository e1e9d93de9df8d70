"""The zone nearest to a point on the Earth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import HistoryError
from privroute.network.checks import real_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["NearestZone"]

_EARTH_RADIUS_KM = 6371.0088  # mean radius
_LARGEST_LATITUDE, _LARGEST_LONGITUDE = 90.0, 180.0
_BLOCK = 2_000_000  # distances at a time


class NearestZone:
    """Node index of the zone at the least great-circle distance, -1 where none is within `largest_km`.

    Distances are compared by the angle's cosine, which tells zones apart to about 0.1 m; the distance to the nearest
    one is then computed from the chord, exactly enough for any `largest_km`. Longitudes are in [-180, 180], latitudes
    in [-90, 90]; other points, infinite ones and NaN have no zone.
    """

    def __init__(self, network: Network, largest_km: object) -> None:
        if network.coordinates is None or not network.has_longitude_latitude:
            raise HistoryError(
                "the network's nodes have no longitudes and latitudes, so trips with coordinates have no nearest zone; "
                "read a network with them, or name columns of zones"
            )
        self.largest_km = real_number(
            largest_km,
            "largest_km",
            HistoryError,
            lambda number: number > 0,
            "pass kilometres beyond which no zone is near",
        )
        self._zones = network.zones
        self._points = _on_sphere(*network.coordinates[network.zones].T)

    def __call__(self, longitude: NDArray[np.float64], latitude: NDArray[np.float64]) -> NDArray[np.int32]:
        """(points,) node indices."""
        with np.errstate(invalid="ignore"):
            usable = (np.abs(longitude) <= _LARGEST_LONGITUDE) & (np.abs(latitude) <= _LARGEST_LATITUDE)
        nearest = np.full(longitude.shape, -1, dtype=np.int32)
        places = np.flatnonzero(usable)
        for block in np.array_split(places, max(1, places.size * len(self._zones) // _BLOCK)):
            points = _on_sphere(longitude[block], latitude[block])
            closest = (points @ self._points.T).argmax(axis=1)
            chord = np.linalg.norm(points - self._points[closest], axis=1)
            km = 2 * _EARTH_RADIUS_KM * np.arcsin(np.minimum(chord / 2, 1.0))
            nearest[block] = np.where(km <= self.largest_km, self._zones[closest], -1)
        return nearest


def _on_sphere(longitude: NDArray[np.float64], latitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """(points, 3) unit vectors."""
    east, north = np.radians(longitude), np.radians(latitude)
    return np.column_stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])
