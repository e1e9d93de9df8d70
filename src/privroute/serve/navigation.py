"""A route for a driver: from a place to the policy's route, along it, and from it to the other place.

The policy's routes join zones. A driver begins somewhere in a zone: the access leg is the fastest way from there to the
first street of the route, the egress leg the fastest way from its last street. Where the legs and the route meet again,
the loop between is left out. Connectors of zones are no streets and are not part of what is answered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute import _core
from privroute.errors import PolicyError
from privroute.network.on_earth import line_km

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network
    from privroute.serve.answers import LinkTimes
    from privroute.serve.places import OnStreet, Place, Places

__all__ = ["Drive", "Navigator", "Piece"]

_METRES_PER_KM = 1000.0
_EXACT = 7  # decimals by which ends of lines are compared


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a link that is driven, from one share of its length to another; part : access, route or egress."""

    link: int
    begin: float
    end: float
    part: str


@dataclass(frozen=True, slots=True)
class Drive:
    """What is driven, in order; probability : of the policy's route, None where there is none within a zone."""

    pieces: tuple[Piece, ...]
    probability: float | None


class Navigator:
    """Makes drives on one release."""

    def __init__(self, network: Network, times: LinkTimes, places: Places) -> None:
        self.network, self.times, self.places = network, times, places
        streets = places.streets
        drawn = np.ones(network.links, bool) if streets is None else streets.drawn
        own = network.no_through[network.tail] | network.no_through[network.head]
        self.street = drawn & ~own
        self.turn = ~drawn & ~own
        cost = np.where(self.street | self.turn, times.duration_s, np.inf)
        usable = np.flatnonzero(np.isfinite(cost))
        self._links = usable
        self._paths = _core.LocalPaths(
            np.ascontiguousarray(network.tail[usable]),
            np.ascontiguousarray(network.head[usable]),
            network.no_through.view(np.uint8),
            np.ascontiguousarray(cost[usable]),
        )
        self.metres = self._metres()
        self._reverse = self._reverses()

    def drive(self, origin: Place, destination: Place, route: NDArray[np.int32], probability: float | None) -> Drive:
        """Join the legs to a route of the policy; route : links, empty for two places of one zone."""
        links = [int(link) for link in route if self.street[link] or self.turn[link]]
        if not links and origin.street is not None and destination.street is not None:
            return self._direct(origin.street, destination.street)
        if not links:  # the route has no street, only the links of its zones
            pieces = tuple(Piece(int(link), 0.0, 1.0, "route") for link in route)
            return Drive(pieces, probability)
        tail, head = self.network.tail, self.network.head
        first, last = int(tail[links[0]]), int(head[links[-1]])
        parts = [(link, "route") for link in links]
        starts: list[Piece] = []
        ends: list[Piece] = []
        if origin.street is not None:
            way, starts = self._leg(self._leaving(origin.street), [(first, 0.0, None)])
            parts = [(link, "access") for link in way] + parts
        if destination.street is not None:
            way, ends = self._leg([(last, 0.0, None)], self._reaching(destination.street))
            parts += [(link, "egress") for link in way]
        whole = [Piece(link, 0.0, 1.0, part) for link, part in self._without_loops(parts)]
        return Drive((*starts, *whole, *ends), probability)

    def _direct(self, origin: OnStreet, destination: OnStreet) -> Drive:
        """The fastest way between two places of one zone."""
        if origin.link == destination.link and origin.share <= destination.share:
            return Drive((Piece(origin.link, origin.share, destination.share, "access"),), None)
        way, pieces = self._leg(self._leaving(origin), self._reaching(destination))
        begins = [piece for piece in pieces if piece.part == "access"]
        ends = [piece for piece in pieces if piece.part == "egress"]
        return Drive((*begins, *(Piece(link, 0.0, 1.0, "access") for link in way), *ends), None)

    def _leg(
        self, sources: list[tuple[int, float, Piece | None]], targets: list[tuple[int, float, Piece | None]]
    ) -> tuple[list[int], list[Piece]]:
        """Links of the fastest way from one of the sources to one of the targets, and the pieces at its ends."""
        ends = [
            (np.array([node for node, _, _ in side], np.int32), np.array([cost for _, cost, _ in side]))
            for side in (sources, targets)
        ]
        found, cost = self._paths.path(*ends[0], *ends[1])
        if not math.isfinite(cost):
            raise PolicyError("no street leads from one place to the other")
        way = self._links[found].tolist()
        first = int(self.network.tail[way[0]]) if way else None
        last = int(self.network.head[way[-1]]) if way else None
        begin = _cheapest(sources, first) if way else _shared(sources, targets)
        end = _cheapest(targets, last) if way else _cheapest(targets, begin[0])
        return way, [piece for piece in (begin[2], end[2]) if piece is not None]

    def _leaving(self, place: OnStreet) -> list[tuple[int, float, Piece | None]]:
        """Nodes at which a vehicle arrives that leaves a place on a street, with the seconds to them."""
        found: list[tuple[int, float, Piece | None]] = []
        for link, share in self._both(place):
            piece = Piece(link, share, 1.0, "access")
            found.append((int(self.network.head[link]), float(self.times.duration_s[link]) * (1 - share), piece))
        return found

    def _reaching(self, place: OnStreet) -> list[tuple[int, float, Piece | None]]:
        """Nodes from which a vehicle reaches a place on a street, with the seconds from them."""
        found: list[tuple[int, float, Piece | None]] = []
        for link, share in self._both(place):
            piece = Piece(link, 0.0, share, "egress")
            found.append((int(self.network.tail[link]), float(self.times.duration_s[link]) * share, piece))
        return found

    def _both(self, place: OnStreet) -> list[tuple[int, float]]:
        """The link of a place and, where the street has two directions, the other one."""
        found = [(place.link, place.share)]
        other = self._reverse.get(place.link)
        return found if other is None else [*found, (other, 1.0 - place.share)]

    def _without_loops(self, parts: list[tuple[int, str]]) -> list[tuple[int, str]]:
        """The same way without what lies between two visits of a node."""
        tail, head = self.network.tail, self.network.head
        kept: list[tuple[int, str]] = []
        reached = {int(tail[parts[0][0]]): 0}  # node -> how many of the kept links lead to it
        for link, part in parts:
            node = int(head[link])
            if node not in reached:
                kept.append((link, part))
                reached[node] = len(kept)
                continue
            for gone, _ in kept[reached[node] :]:
                del reached[int(head[gone])]
            del kept[reached[node] :]
        return kept

    def _metres(self) -> NDArray[np.float64]:
        """(links,) lengths: the network's, else along the lines."""
        if self.times.length_m is not None:
            return self.times.length_m
        streets = self.places.streets
        if streets is None or not self.network.has_longitude_latitude:
            return np.full(self.network.links, np.nan)
        return line_km(streets.points, streets.start) * _METRES_PER_KM

    def _reverses(self) -> dict[int, int]:
        """The link of the other direction, by the places where the lines of streets begin and end."""
        streets = self.places.streets
        if streets is None:
            return {}
        first = np.round(streets.points[streets.start[:-1]], _EXACT).tolist()
        last = np.round(streets.points[streets.start[1:] - 1], _EXACT).tolist()
        count = np.diff(streets.start).tolist()
        known: dict[tuple[float, ...], int] = {}
        for link in np.flatnonzero(self.street).tolist():
            known.setdefault((*first[link], *last[link], count[link], float(streets.osm_way_id[link])), link)
        found = {}
        for key, link in known.items():
            other = known.get((*key[2:4], *key[:2], *key[4:]))
            if other is not None:
                found[link] = other
        return found


def _cheapest(side: list[tuple[int, float, Piece | None]], node: int | None) -> tuple[int, float, Piece | None]:
    return min((each for each in side if each[0] == node), key=lambda each: each[1])


def _shared(
    sources: list[tuple[int, float, Piece | None]], targets: list[tuple[int, float, Piece | None]]
) -> tuple[int, float, Piece | None]:
    """The source at whose node a target is, where the way between them has no link."""
    costs = {node: cost for node, cost, _ in sorted(targets, key=lambda each: -each[1])}
    return min((each for each in sources if each[0] in costs), key=lambda each: each[1] + costs[each[0]])
