"""Where a request begins and ends: a zone by its label, or a place by its coordinates, moved onto a street."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute import _core
from privroute.errors import InputError, PolicyError
from privroute.network.streets import Streets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["NoStreetError", "OnStreet", "Place", "Places"]

_COORDINATES = re.compile(r"\s*([+-]?\d{1,3}(?:\.\d{1,15})?)\s*,\s*([+-]?\d{1,3}(?:\.\d{1,15})?)\s*")
_REACH_M = 2000.0
_HALF_EARTH = 2.0  # the longest chord of the unit sphere: any zone is near enough
_LONGEST_SHOWN = 40


class NoStreetError(PolicyError):
    """There is no street near a place."""


@dataclass(frozen=True, slots=True)
class OnStreet:
    """A place on a link: share of its length from its tail, metres from the place that was asked for."""

    link: int
    share: float
    metres: float
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Place:
    """An end of a request: the node of its zone, and where on the streets it is; None where a label was given."""

    zone: int
    street: OnStreet | None


class Places:
    """Finds the ends of requests on one network."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._node = {str(label): node for node, label in enumerate(network.node_labels)}
        self._node |= {str(name): zone for zone, name in zip(network.zones.tolist(), network.zone_names, strict=True)}
        self.streets: Streets | None = None
        self._index: _core.StreetIndex | None = None
        self._areas = None if network.areas is None else network.areas.index()
        if network.coordinates is not None:
            self.streets = network.streets or Streets.straight(network.coordinates, network.tail, network.head)
        if self.streets is not None and network.coordinates is not None and network.has_longitude_latitude:
            x, y = (np.ascontiguousarray(column) for column in self.streets.points.T)
            usable = self.streets.drawn & ~_of_zones(network)
            self._index = _core.StreetIndex(x, y, self.streets.start, usable.astype(np.uint8))
            self._zone_x, self._zone_y = np.ascontiguousarray(network.coordinates[network.zones].T)

    def find(self, text: str, name: str) -> Place:
        """The place of a text: a label first, then longitude,latitude; name : of the parameter, for errors."""
        node = self._node.get(text)
        if node is not None:
            return Place(node, None)
        found = _COORDINATES.fullmatch(text)
        if found is None:
            shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
            raise PolicyError(f"{name}: no zone is labelled {shown!r}; pass a label, or longitude,latitude")
        return self.at(float(found[1]), float(found[2]), name)

    def at(self, longitude: float, latitude: float, name: str) -> Place:
        """The place of coordinates: the nearest street, and the zone that has the place or is nearest."""
        if not (math.isfinite(longitude) and abs(longitude) <= 180 and math.isfinite(latitude) and abs(latitude) <= 90):  # noqa: PLR2004 - degrees
            raise InputError(f"{name} is not a longitude from -180 to 180 and a latitude from -90 to 90")
        if self._index is None:
            raise PolicyError(f"{name}: this release has no longitudes and latitudes; pass the label of a zone")
        link, share, metres, x, y = self._index.nearest(longitude, latitude, _REACH_M)
        if link < 0:
            raise NoStreetError(f"{name}: no street of this release is within {_REACH_M / 1000:g} km of this place")
        return Place(self._zone(longitude, latitude), OnStreet(link, share, metres, x, y))

    def _zone(self, longitude: float, latitude: float) -> int:
        point = (np.array([longitude]), np.array([latitude]))
        position = -1 if self._areas is None else int(self._areas.find(_REACH_M / 1000, *point)[0])
        if position < 0:
            position = int(_core.nearest_places(self._zone_x, self._zone_y, _HALF_EARTH, *point)[0])
        return int(self._network.zones[position])


def _of_zones(network: Network) -> NDArray[np.bool_]:
    """(links,) whether an end of the link is a node that nobody passes, as the centroids of TNTP files."""
    return np.asarray(network.no_through[network.tail] | network.no_through[network.head])
