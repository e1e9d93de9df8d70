"""The zone nearest to a point on the Earth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute import _core
from privroute.errors import HistoryError
from privroute.network.checks import real_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["NearestZone"]

_EARTH_RADIUS_KM = 6371.0088  # mean radius


class NearestZone:
    """Node index of the zone at the least great-circle distance, -1 where none is within `max_zone_distance_km`.

    Each point is compared with all zones by itself, in the core, by the squared chord; of zones at the same distance
    the first one is taken. So the zone of a trip depends on that trip alone. Longitudes are in [-180, 180], latitudes
    in [-90, 90]; other points, infinite ones and NaN have no zone.
    """

    def __init__(self, network: Network, max_zone_distance_km: object) -> None:
        if network.coordinates is None or not network.has_longitude_latitude:
            raise HistoryError(
                "the network's nodes have no longitudes and latitudes, so trips with coordinates have no nearest zone; "
                "read a network with them, or name columns of zones"
            )
        self.max_zone_distance_km = real_number(
            max_zone_distance_km,
            "max_zone_distance_km",
            HistoryError,
            lambda number: number > 0,
            "pass kilometres beyond which no zone is near",
        )
        self._zones = np.append(network.zones, np.int32(-1))  # position -1: none
        self._longitude, self._latitude = np.ascontiguousarray(network.coordinates[network.zones].T)
        half_angle = min(self.max_zone_distance_km / (2 * _EARTH_RADIUS_KM), np.pi / 2)
        self._largest_chord = float(2 * np.sin(half_angle))

    def __call__(self, longitude: NDArray[np.float64], latitude: NDArray[np.float64]) -> NDArray[np.int32]:
        """(points,) node indices."""
        points = (np.ascontiguousarray(longitude), np.ascontiguousarray(latitude))
        nearest = _core.nearest_places(self._longitude, self._latitude, self._largest_chord, *points)
        return self._zones[nearest]
