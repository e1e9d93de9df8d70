"""Zones of their own, joined to the streets by connectors, so that no single junction carries a whole zone.

A zone becomes a node in the middle of its streets that trips may start or end at but not pass. Connectors lead from it
to a few nodes of the network and back. Their rules are public and depend on the network and the zones alone:

- Candidates are nodes inside the zone that a street enters and a street leaves. Nodes with motorways and trunk roads
  only, and nodes within junctions that were taken apart for turn restrictions, are none.
- Of the candidates those of the best rank are kept: local and collector streets first, then main roads and the like.
- They are sorted by direction from their middle and cut into as many equal parts as there are to be connectors; of each
  part the node nearest to the part's middle is taken.
- A zone without candidates is joined to the nearest one outside, if that is within 2 km; otherwise it is left out.
- A connector takes as long as its straight line at 30 km/h. It has the capacity of the streets that leave (or enter)
  its node, so that a busy junction makes the others attractive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import NetworkError
from privroute.network.latency import Latency
from privroute.network.network import Network
from privroute.network.on_earth import KM_PER_DEGREE, point_km
from privroute.network.streets import CONNECTOR, TURN, Streets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from privroute.network.labels import Label
    from privroute.network.read_notes import ReadNotes
    from privroute.network.zone_areas import ZoneAreas

__all__ = ["CONNECTORS", "connect_areas", "connect_points", "connect_zones", "without_zones"]

CONNECTORS = 4
_SPEED_KM_PER_MIN = 0.5
_SHORTEST_KM = 0.001
_FARTHEST_KM = 2.0
_LOCAL = {"", "secondary", "tertiary", "unclassified", "residential", "living_street"}
_NEVER = {"motorway", "motorway_link", "trunk", "trunk_link", CONNECTOR, TURN}
_LAST = 9


def connect_areas(
    network: Network, labels: Sequence[Label], areas: ZoneAreas, notes: ReadNotes, *, connectors: int = CONNECTORS
) -> Network:
    """The network with these areas as its only zones."""
    bare = without_zones(network)
    points, rank = _candidates(bare)
    area = areas.index().find(0.0, np.ascontiguousarray(points[:, 0]), np.ascontiguousarray(points[:, 1]))
    area = np.where(rank < _LAST, area, -1)
    order = np.argsort(area, kind="stable")
    bounds = np.searchsorted(area[order], np.arange(len(areas) + 1))
    middles = [np.concatenate(areas.rings(number)).mean(axis=0) for number in range(len(areas))]
    chosen: list[list[int]] = []
    for number in range(len(areas)):
        inside = order[bounds[number] : bounds[number + 1]]
        if inside.size:
            chosen.append(_spread(points, rank, inside, connectors))
        else:
            chosen.append(_nearest(points, rank, middles[number], 1))
            notes.add("far_zones", not chosen[-1], f"{labels[number]}")
            notes.add("outside_zones", len(chosen[-1]))
    return _kept(bare, labels, chosen, areas, None)


def connect_points(
    network: Network,
    labels: Sequence[Label],
    places: NDArray[np.float64],
    notes: ReadNotes,
    *,
    connectors: int = CONNECTORS,
) -> Network:
    """The network with zones at these places, (zones, 2) in degrees, joined to the nearest nodes."""
    bare = without_zones(network)
    points, rank = _candidates(bare)
    chosen = [_nearest(points, rank, place, connectors) for place in places]
    for label, held in zip(labels, chosen, strict=True):
        notes.add("far_zones", not held, f"{label}")
    return _kept(bare, labels, chosen, None, places)


def connect_zones(
    network: Network,
    labels: Sequence[Label],
    nodes: Sequence[Sequence[int]],
    *,
    areas: ZoneAreas | None = None,
    places: NDArray[np.float64] | None = None,
) -> Network:
    """The network with one more node for each zone, joined to these nodes; places : of the zones, else their middle."""
    if not network.units.on_roads:
        raise NetworkError(
            f"connectors of zones are streets, but {network.units.amount} flow here; choose zones among the nodes"
        )
    if network.coordinates is None or not network.has_longitude_latitude:
        raise NetworkError("zones of several nodes need longitudes and latitudes of the nodes; give them x and y")
    count = len(labels)
    own = np.arange(count) + network.nodes
    zone = np.repeat(own, [len(held) for held in nodes]).astype(np.int32)
    node = np.array([each for held in nodes for each in held], dtype=np.int32)
    points = network.coordinates
    middles = np.array([points[list(held)].mean(axis=0) for held in nodes]) if places is None else places
    coordinates = np.concatenate([points, middles])
    length_km = np.maximum(point_km(coordinates[zone], coordinates[node]), _SHORTEST_KM)
    streets = network.streets or Streets.straight(points, network.tail, network.head)
    leaving = np.bincount(network.tail, network.capacity_per_min, network.nodes)[node]
    entering = np.bincount(network.head, network.capacity_per_min, network.nodes)[node]
    largest = float(network.capacity_per_min.max())
    capacity = np.concatenate([np.where(leaving > 0, leaving, largest), np.where(entering > 0, entering, largest)])
    tail, head = np.concatenate([zone, node]), np.concatenate([node, zone])
    curve = network.latency
    latency = Latency(
        np.concatenate([curve.free_flow_min, np.tile(length_km / _SPEED_KM_PER_MIN, 2)]),
        np.concatenate([curve.capacity_per_min, np.minimum(capacity, np.finfo(float).max)]),
        np.concatenate([curve.curve, np.full(tail.size, curve.curve[0])]),
        np.concatenate([curve.parameters, np.tile(curve.parameters[0], (tail.size, 1))]),
    )
    added = Streets.straight(coordinates, tail, head, road_class=[CONNECTOR] * tail.size)
    taken = {str(label) for label in network.node_labels}
    names = [label if str(label) not in taken else _unused(f"zone {label}", taken) for label in labels]
    links = {str(label) for label in network.link_labels}
    return Network(
        np.concatenate([network.tail, tail]),
        np.concatenate([network.head, head]),
        latency,
        [*network.node_labels, *names],
        zones=own,
        zone_labels=labels,
        no_through=np.concatenate([network.no_through, np.ones(count, dtype=bool)]),
        background_per_min=np.concatenate([network.background_per_min, np.zeros(tail.size)]),
        fixed_cost_min=np.concatenate([network.fixed_cost_min, np.zeros(tail.size)]),
        coordinates=coordinates,
        crs=network.crs,
        length_km=None if network.length_km is None else np.concatenate([network.length_km, np.tile(length_km, 2)]),
        link_labels=[*network.link_labels, *(_unused(f"connector {at}", links) for at in range(tail.size))],
        streets=streets.joined(added),
        areas=areas,
        units=network.units,
    )


def without_zones(network: Network) -> Network:
    """The network of streets alone: without the zones and connectors that it may already have."""
    if network.streets is None or CONNECTOR not in network.streets.road_class:
        return replace(network, zones=np.arange(network.nodes, dtype=np.int32), zone_labels=None, areas=None)
    street = np.array([kind != CONNECTOR for kind in network.streets.road_class])
    links = np.flatnonzero(street)
    kept = np.ones(network.nodes, dtype=bool)
    kept[network.zones] = False
    kept[network.tail[links]] = kept[network.head[links]] = True
    number = np.cumsum(kept) - 1
    labels, link_labels = network.node_labels, network.link_labels
    return Network(
        number[network.tail[links]],
        number[network.head[links]],
        network.latency[links],
        [labels[node] for node in np.flatnonzero(kept).tolist()],
        no_through=network.no_through[kept],
        background_per_min=network.background_per_min[links],
        fixed_cost_min=network.fixed_cost_min[links],
        coordinates=None if network.coordinates is None else network.coordinates[kept],
        crs=network.crs,
        length_km=None if network.length_km is None else network.length_km[links],
        link_labels=[link_labels[link] for link in links.tolist()],
        streets=network.streets.take(links),
        units=network.units,
    )


def _candidates(network: Network) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Places of all nodes, and how well each serves as a way into the network: 0 well, _LAST not at all."""
    if network.coordinates is None or not network.has_longitude_latitude:
        raise NetworkError("zones by areas need longitudes and latitudes of the nodes; import the network in EPSG:4326")
    kinds = ("",) * network.links if network.streets is None else network.streets.road_class
    score = np.array([0 if kind in _LOCAL else _LAST if kind in _NEVER else 1 for kind in kinds])
    rank = np.full(network.nodes, _LAST)
    np.minimum.at(rank, network.tail, score)
    np.minimum.at(rank, network.head, score)
    inner = np.array([kind == TURN for kind in kinds], dtype=bool)
    rank[network.tail[inner]] = rank[network.head[inner]] = _LAST
    for ends in (network.tail, network.head):
        rank[np.bincount(ends, minlength=network.nodes) == 0] = _LAST
    rank[network.no_through] = _LAST
    if (rank == _LAST).all():
        raise NetworkError("no node of the network can be joined to zones; it has motorways only, or no two-way node")
    return network.coordinates, rank


def _spread(points: NDArray[np.float64], rank: NDArray[np.int64], inside: NDArray[np.intp], most: int) -> list[int]:
    """Up to `most` of the nodes inside, of the best rank, in different directions from their middle."""
    best = inside[rank[inside] == rank[inside].min()]
    if best.size <= most:
        return sorted(best.tolist())
    plane = _plane(points[best])
    away = plane - plane.mean(axis=0)
    order = np.argsort(np.arctan2(away[:, 1], away[:, 0]), kind="stable")
    chosen = []
    for part in np.array_split(order, most):
        middle = plane[part].mean(axis=0)
        chosen.append(int(best[part[np.hypot(*(plane[part] - middle).T).argmin()]]))
    return sorted(chosen)


def _nearest(points: NDArray[np.float64], rank: NDArray[np.int64], place: NDArray[np.float64], most: int) -> list[int]:
    """Up to `most` candidates nearest to a place; none where the nearest one is too far."""
    usable = np.flatnonzero(rank < _LAST)
    distance = point_km(points[usable], np.broadcast_to(place, (usable.size, 2)))
    order = np.argsort(distance, kind="stable")[:most]
    return [int(usable[at]) for at in order if distance[at] <= _FARTHEST_KM]


def _kept(
    network: Network,
    labels: Sequence[Label],
    chosen: list[list[int]],
    areas: ZoneAreas | None,
    places: NDArray[np.float64] | None,
) -> Network:
    kept = [position for position, held in enumerate(chosen) if held]
    if not kept:
        raise NetworkError(
            f"none of the {len(chosen):,} zones is within {_FARTHEST_KM:g} km of a street; check both files"
        )
    return connect_zones(
        network,
        [labels[position] for position in kept],
        [chosen[position] for position in kept],
        areas=None if areas is None else areas.take(kept),
        places=None if places is None else places[kept],
    )


def _plane(points: NDArray[np.float64]) -> NDArray[np.float64]:
    scale = KM_PER_DEGREE * np.cos(np.radians(points[:, 1].mean()))
    return np.column_stack([points[:, 0] * scale, points[:, 1] * KM_PER_DEGREE])


def _unused(label: str, taken: set[str]) -> str:
    while label in taken:
        label += "'"
    taken.add(label)
    return label
