"""The zone of a place on the Earth: the area that has it, else the nearest zone within a distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute import _core
from privroute.errors import HistoryError
from privroute.network.checks import real_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["FAULTS", "NearestZone"]

FAULTS = {-1: "too_far", -2: "outside_network", -3: "swapped_place", -4: "missing_place"}
"""Why a place has no zone, by what `NearestZone.codes` gives instead of a node: the smaller, the more obvious."""

_EARTH_RADIUS_KM = 6371.0088  # mean radius
_USUAL_KM = 1.0  # of zones without areas


class NearestZone:
    """Node index of the zone of a place, -1 where it has none.

    Where zones have areas, it is the first area that has the place, otherwise the one whose border is nearest and
    within `max_zone_distance_km` (None: the reach of the areas, which is 0 for polygons and the width of a grid's
    cells). Where they have none, it is the zone at the least great-circle distance within `max_zone_distance_km`
    (None: 1 km), by the squared chord; of zones at the same distance the first one.

    Each place is compared with the zones by itself, in the core, so the zone of a trip depends on that trip alone.
    Longitudes are in [-180, 180], latitudes in [-90, 90]; other places, infinite ones and NaN have no zone.
    """

    def __init__(self, network: Network, max_zone_distance_km: float | None) -> None:
        if network.coordinates is None or not network.has_longitude_latitude:
            raise HistoryError(
                "the network's nodes have no longitudes and latitudes, so trips with coordinates have no nearest zone; "
                "read a network with them, or name columns of zones"
            )
        areas = network.areas
        usual = _USUAL_KM if areas is None else areas.reach_km
        self.max_zone_distance_km = (
            usual
            if max_zone_distance_km is None
            else real_number(
                max_zone_distance_km,
                "max_zone_distance_km",
                HistoryError,
                lambda number: number > 0,
                "pass kilometres beyond which no zone is near",
            )
        )
        self._zones = np.append(network.zones, np.int32(-1))  # position -1: none
        self._longitude, self._latitude = np.ascontiguousarray(network.coordinates[network.zones].T)
        half_angle = min(self.max_zone_distance_km / (2 * _EARTH_RADIUS_KM), np.pi / 2)
        self._largest_chord = float(2 * np.sin(half_angle))
        self._areas = None if areas is None else areas.index()
        known = network.coordinates if areas is None else np.concatenate([network.coordinates, areas.points])
        self._low, self._high = known.min(axis=0), known.max(axis=0)

    @property
    def box(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the largest longitude and latitude of the network and its areas."""
        return self._low, self._high

    def __call__(self, longitude: NDArray[np.float64], latitude: NDArray[np.float64]) -> NDArray[np.int32]:
        """(points,) node indices."""
        points = (np.ascontiguousarray(longitude), np.ascontiguousarray(latitude))
        if self._areas is not None:
            return self._zones[self._areas.find(self.max_zone_distance_km, *points)]
        return self._zones[_core.nearest_places(self._longitude, self._latitude, self._largest_chord, *points)]

    def codes(self, longitude: NDArray[np.float64], latitude: NDArray[np.float64]) -> NDArray[np.int32]:
        """(points,) node indices, and where there is none a key of FAULTS.

        Every step looks at one place: it is compared with public numbers, or looked up with its numbers swapped.
        """
        found = self(longitude, latitude).copy()
        lost = np.flatnonzero(found < 0)
        if lost.size:
            x, y = longitude[lost], latitude[lost]
            beyond = (x < self._low[0]) | (x > self._high[0]) | (y < self._low[1]) | (y > self._high[1])
            code = np.where(beyond, -2, -1)
            code[self(y, x) >= 0] = -3
            code[np.isnan(x) | np.isnan(y)] = -4
            found[lost] = code
        return found
