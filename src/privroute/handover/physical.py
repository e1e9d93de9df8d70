"""Lengths, speeds, lanes and places of links, as simulators need them, also where a network has none.

A link keeps its free-flow time and its capacity; the rest is chosen to give them. Without a length the link is as long
as its free-flow time at 50 km/h. Lanes are those of the streets, or as many as carry the capacity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import InputError
from privroute.serve.layout import spread_by_hops

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["PhysicalLinks", "check_roads", "places_m"]

_USUAL_M_PER_S = 50 / 3.6
_SHORTEST_M = 1.0
_SHORTEST_S = 0.1  # of connectors, which take no time
_SPEEDS_M_PER_S = (0.5, 60.0)
_LANE_PER_H = 1800.0
_METRES_PER_DEGREE = 111_194.93  # on a sphere of 6,371.0 km
_METRES_PER_KM = 1000.0


@dataclass(frozen=True, slots=True, eq=False)
class PhysicalLinks:
    """(links,) each.

    length_m, speed_m_per_s : their quotient is the free-flow time
    lanes : whole numbers, at least 1
    capacity_per_h : vehicles on all lanes
    """

    length_m: NDArray[np.float64]
    speed_m_per_s: NDArray[np.float64]
    lanes: NDArray[np.int64]
    capacity_per_h: NDArray[np.float64]

    @classmethod
    def of(cls, network: Network) -> PhysicalLinks:
        """Take what the network knows, and choose the rest."""
        check_roads(network)
        seconds = np.maximum(network.free_flow_min * 60.0, _SHORTEST_S)
        if network.length_km is None:
            length = seconds * _USUAL_M_PER_S
        else:
            length = network.length_km * _METRES_PER_KM
            # a length without a time, or a time without a length, is a connector's or not known
            length = np.where((length > 0) & (network.free_flow_min > 0), length, seconds * _USUAL_M_PER_S)
        speed = np.clip(np.maximum(length, _SHORTEST_M) / seconds, *_SPEEDS_M_PER_S)
        capacity = network.capacity_per_min * 60.0
        lanes = np.maximum(np.rint(capacity / _LANE_PER_H), 1.0)
        if network.streets is not None:
            lanes = np.where(network.streets.lanes >= 1, np.rint(network.streets.lanes), lanes)
        return cls(np.maximum(speed * seconds, _SHORTEST_S), speed, lanes.astype(np.int64), capacity)


def check_roads(network: Network) -> None:
    """Refuse a network on which no vehicles drive."""
    if not network.units.on_roads:
        raise InputError(
            f"traffic simulators move vehicles on roads, but {network.units.amount} flow in this network; use a "
            "simulator of packets, for which export --format splits writes split ratios"
        )


def places_m(network: Network, points: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """(points, 2) metres east and north: coordinates as they are, degrees projected around the middle of the network.

    points : in the network's coordinates; default: its nodes. Nodes without coordinates are laid out by their links.
    """
    if network.coordinates is None:
        spread = spread_by_hops(network)
        return np.asarray(spread / max(float(np.ptp(spread, axis=0).max()), 1e-300) * 10_000.0)
    given = network.coordinates if points is None else points
    if not network.has_longitude_latitude:
        return given
    middle = network.coordinates.mean(axis=0)
    wide = float(np.cos(np.radians(middle[1])))
    return np.asarray((given - middle) * [_METRES_PER_DEGREE * wide, _METRES_PER_DEGREE])
