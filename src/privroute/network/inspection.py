"""What is odd about a network: findings for people, with counts and examples. Nothing here changes a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import NetworkError
from privroute.network.checks import check_type
from privroute.network.components import strong_components
from privroute.network.network import Network
from privroute.network.on_earth import line_km, point_km
from privroute.network.streets import CONNECTOR, TURN
from privroute.network.units import detour

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from privroute.network.labels import Label

__all__ = ["Finding", "inspect_network"]

_EXAMPLES = 5
_SLOWEST_KPH, _FASTEST_KPH = 5.0, 150.0
_SMALLEST_PER_HOUR, _LARGEST_PER_HOUR = 50.0, 20_000.0
_SHORTER, _LONGER = 0.95, 10.0  # length over straight distance
_FAR_M = 30.0
_KM_M = 1000.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of oddity.

    name : of the kind, the same in every run
    words : what it means, and what to do
    count : of links or nodes; total : of those that were looked at
    examples : labels of some of them
    """

    name: str
    words: str
    count: int
    total: int
    examples: tuple[Label, ...]


def inspect_network(network: Network) -> list[Finding]:
    """Findings about lengths, speeds, capacities, dead ends, islands, one-way traps and lines; [] if nothing is odd."""
    check_type(network, Network, "network", NetworkError)
    kinds = np.array(network.streets.road_class if network.streets is not None else ("",) * network.links)
    street = ~np.isin(kinds, (CONNECTOR, TURN))
    checks: list[Callable[[Network, NDArray[np.bool_]], list[Finding]]] = [
        _lengths,
        _speeds,
        _capacities,
        _ends,
        _parts,
    ]
    return [finding for check in checks for finding in check(network, street) if finding.count]


def _links(network: Network, name: str, words: str, odd: NDArray[np.bool_], total: int) -> Finding:
    found = np.flatnonzero(odd)
    labels = tuple(network.link_labels[link] for link in found[:_EXAMPLES].tolist())
    return Finding(name, words, found.size, total, labels)


def _nodes(network: Network, name: str, words: str, odd: NDArray[np.bool_], total: int) -> Finding:
    found = np.flatnonzero(odd)
    labels = tuple(network.node_labels[node] for node in found[:_EXAMPLES].tolist())
    return Finding(name, words, found.size, total, labels)


def _lengths(network: Network, street: NDArray[np.bool_]) -> list[Finding]:
    if network.length_km is None or network.coordinates is None or not detour(network).size:
        return []
    straight = point_km(network.coordinates[network.tail], network.coordinates[network.head])
    total = int(street.sum())
    far = street & (straight > 0.005)  # noqa: PLR2004 - below, rounding of coordinates decides
    shorter, longer = network.length_km < _SHORTER * straight, network.length_km > _LONGER * straight
    found = [
        _links(
            network,
            "shorter_than_straight",
            "links are shorter than the straight line between their nodes; check lengths and coordinates",
            far & shorter,
            total,
        ),
        _links(
            network,
            "long_detour",
            f"links are more than {_LONGER:g} times as long as the straight line; check lengths and coordinates",
            far & longer,
            total,
        ),
    ]
    if network.streets is not None:
        along = line_km(network.streets.points, network.streets.start)
        apart = np.abs(along - network.length_km) > np.maximum(0.05 * network.length_km, _FAR_M / _KM_M)
        words = "links are drawn with another length than they have; check the geometry"
        found.append(_links(network, "line_not_as_long", words, street & apart, total))
        first, last = (
            network.streets.points[network.streets.start[:-1]],
            network.streets.points[network.streets.start[1:] - 1],
        )
        gap = np.maximum(
            point_km(first, network.coordinates[network.tail]), point_km(last, network.coordinates[network.head])
        )
        words = f"links are drawn from or to a place more than {_FAR_M:g} m away from their nodes; check the geometry"
        found.append(_links(network, "line_apart", words, street & (gap * _KM_M > _FAR_M), total))
    return found


def _speeds(network: Network, street: NDArray[np.bool_]) -> list[Finding]:
    total = int(street.sum())
    found = [
        _links(
            network,
            "no_time",
            f"links take no time on {network.units.empty}; fine for connectors, odd for others"
            if not network.units.on_roads
            else "links take no time on empty roads; fine for connectors, odd for streets",
            street & (network.free_flow_min == 0),
            total,
        )
    ]
    if network.length_km is None or not network.units.on_roads:
        return found
    timed = street & (network.free_flow_min > 0) & (network.length_km > 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        kph = network.length_km / network.free_flow_min * 60
    return [
        *found,
        _links(
            network,
            "slow",
            f"links are slower than {_SLOWEST_KPH:g} km/h on empty roads; check the units of lengths, speeds and times",
            timed & (kph < _SLOWEST_KPH),
            total,
        ),
        _links(
            network,
            "fast",
            f"links are faster than {_FASTEST_KPH:g} km/h; check the units of lengths, speeds and times",
            timed & (kph > _FASTEST_KPH),
            total,
        ),
    ]


def _capacities(network: Network, street: NDArray[np.bool_]) -> list[Finding]:
    if not network.units.on_roads:
        return []
    per_hour, total = network.capacity_per_min * 60, int(street.sum())
    return [
        _links(
            network,
            "narrow",
            f"links take fewer than {_SMALLEST_PER_HOUR:g} vehicles per hour; check the unit of capacities",
            street & (per_hour < _SMALLEST_PER_HOUR),
            total,
        ),
        _links(
            network,
            "wide",
            f"links take more than {_LARGEST_PER_HOUR:,.0f} vehicles per hour; check the unit of capacities",
            street & (per_hour > _LARGEST_PER_HOUR),
            total,
        ),
    ]


def _ends(network: Network, street: NDArray[np.bool_]) -> list[Finding]:
    leaving = np.bincount(network.tail, minlength=network.nodes)
    entering = np.bincount(network.head, minlength=network.nodes)
    neighbours = np.unique(
        np.concatenate(
            [
                np.column_stack([network.tail, network.head])[street],
                np.column_stack([network.head, network.tail])[street],
            ]
        ),
        axis=0,
    )
    single = np.bincount(neighbours[:, 0], minlength=network.nodes) == 1
    inner = np.zeros(network.nodes, dtype=bool)  # of junctions that were taken apart
    if network.streets is not None:
        turn = np.array([kind == TURN for kind in network.streets.road_class])
        inner[network.tail[turn]] = inner[network.head[turn]] = True
    nodes = network.nodes
    return [
        _nodes(
            network,
            "dead_ends",
            "nodes are dead ends, with one neighbour; a few are usual",
            single & (leaving > 0) & (entering > 0) & ~network.no_through & ~inner,
            nodes,
        ),
        _nodes(network, "no_way_out", "nodes can be entered but not left", (entering > 0) & (leaving == 0), nodes),
        _nodes(network, "no_way_in", "nodes can be left but not entered", (leaving > 0) & (entering == 0), nodes),
        _nodes(network, "unused", "nodes have no link", (leaving == 0) & (entering == 0), nodes),
    ]


def _parts(network: Network, street: NDArray[np.bool_]) -> list[Finding]:
    """Islands: not joined with the largest part at all. Traps: joined, but one cannot get in, or not out again."""
    part = strong_components(network.tail, network.head, network.nodes)
    main = part == np.bincount(part).argmax()
    loose = strong_components(
        np.concatenate([network.tail, network.head]), np.concatenate([network.head, network.tail]), network.nodes
    )
    whole = loose == loose[np.argmax(main)]
    used = np.zeros(network.nodes, dtype=bool)
    used[network.tail] = used[network.head] = True
    del street
    return [
        _nodes(
            network,
            "islands",
            "nodes are on islands that no link joins with the largest part; leave them out, or add links",
            used & ~whole,
            network.nodes,
        ),
        _nodes(
            network,
            "one_way_traps",
            "nodes are joined with the largest part in one direction only; check one-way tags",
            used & whole & ~main,
            network.nodes,
        ),
    ]
