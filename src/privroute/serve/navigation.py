"""A route for a driver: from a place to the policy's route, along it, and from it to the other place.

The policy's routes join zones. A driver begins somewhere in a zone: the access leg is the fastest way from there onto
the route, the egress leg the fastest way off it. Legs to the ends of the route would pass a place beside it twice, so a
leg may join the route later, or leave it earlier: it leaves out at most as much of the route as the leg to the end of
the route takes. No leg turns round on a street unless it is a dead end, or all else takes ten minutes more. Where the
legs and the route meet again, the loop between is left out. Connectors of zones are no streets and are not part of what
is answered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from privroute import _core
from privroute.errors import PolicyError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network
    from privroute.serve.answers import LinkTimes
    from privroute.serve.places import OnStreet, Place, Places

__all__ = ["Drive", "Navigator", "Piece"]

_EXACT = 7  # decimals by which points of lines are compared
_TURN_BACK_S = 600.0
_ON_ROUTE = 0.9  # of a second on the route, against one on a leg: of ways that take about as long, most on the route
_NO_LINK = -1


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


@dataclass(frozen=True, slots=True)
class _End:
    """A link where a leg may begin or end.

    share : of the link, where the leg begins or ends
    seconds : of a beginning up to the end of the link, of an end from the start of the link on
    position : of the link in the route; 0 for places
    """

    link: int
    share: float
    seconds: float
    position: int = 0


@dataclass(frozen=True, slots=True)
class _Leg:
    """A way from a beginning to an end; their links are its first and its last one, or one and the same."""

    links: tuple[int, ...]
    begin: _End
    end: _End
    seconds: float

    def pieces(self, part: str) -> list[Piece]:
        """All that is driven."""
        last = len(self.links) - 1
        return [
            Piece(link, 0.0 if at else self.begin.share, 1.0 if at < last else self.end.share, part)
            for at, link in enumerate(self.links)
        ]


class Navigator:
    """Makes drives on one release."""

    def __init__(self, network: Network, times: LinkTimes, places: Places) -> None:
        self.network, self.times, self.places = network, times, places
        streets = places.streets
        drawn = np.ones(network.links, bool) if streets is None else streets.drawn
        own = network.no_through[network.tail] | network.no_through[network.head]
        self.street = drawn & ~own
        self.turn = ~drawn & ~own
        self._reverse = self._reverses()
        self._seconds = np.where(self.street | self.turn, times.duration_s, np.inf)
        usable = np.flatnonzero(np.isfinite(self._seconds))
        number = np.full(network.links + 1, _NO_LINK, np.int32)  # the last one stands for no link
        number[usable] = np.arange(usable.size, dtype=np.int32)
        self._links, self._number = usable, number
        self._paths = _core.LocalPaths(
            np.ascontiguousarray(network.tail[usable]),
            np.ascontiguousarray(network.head[usable]),
            network.no_through.view(np.uint8),
            np.ascontiguousarray(self._seconds[usable]),
            number[self._reverse[usable]],
            _TURN_BACK_S,
        )
        self.metres = np.full(network.links, np.nan) if times.length_m is None else times.length_m

    def drive(self, origin: Place, destination: Place, route: NDArray[np.int32], probability: float | None) -> Drive:
        """Join the legs to a route of the policy; route : links, empty for two places of one zone."""
        links = [int(link) for link in route if self.street[link] or self.turn[link]]
        if not links:
            return Drive(tuple(self._beside(origin, destination, route)), probability)
        first, last = _End(links[0], 0.0, 0.0), _End(links[-1], 1.0, 0.0, len(links) - 1)
        before: list[Piece] = []
        after: list[Piece] = []
        if origin.street is not None:
            leg = self._access(self._leaving(origin.street), links)
            before = leg.pieces("access")[:-1]
            first = replace(leg.end, share=0.0 if before else leg.begin.share)
        if destination.street is not None:
            leg = self._egress(links, first, self._reaching(destination.street))
            after = leg.pieces("egress")[1:]
            last = replace(leg.begin, share=1.0 if after else leg.end.share)
        taken = tuple(links[first.position : last.position + 1])
        middle = _Leg(taken, first, last, 0.0).pieces("route")
        return Drive(tuple(self._without_loops([*before, *middle, *after])), probability)

    def _beside(self, origin: Place, destination: Place, route: NDArray[np.int32]) -> list[Piece]:
        """The fastest way where the policy's route has no street: within a zone, or by a node that two zones share."""
        if origin.street is None and destination.street is None:
            return [Piece(int(link), 0.0, 1.0, "route") for link in route]
        begins = self._leaving_node(route) if origin.street is None else self._leaving(origin.street)
        ends = self._reaching_node(route) if destination.street is None else self._reaching(destination.street)
        pieces = self._leg(begins, ends).pieces("access" if origin.street is not None else "egress")
        if destination.street is not None and len(pieces) > 1:
            pieces[-1] = replace(pieces[-1], part="egress")
        return pieces

    def _access(self, begins: list[_End], links: list[int]) -> _Leg:
        """The fastest way onto the route, for all that is left of it."""
        left = np.cumsum(self._seconds[links][::-1])[::-1] * _ON_ROUTE
        ends = [_End(link, 1.0, float(left[at]), at) for at, link in enumerate(links) if self.street[link]]
        whole = self._leg(begins, ends[:1])
        near = [each for each in ends[1:] if left[0] - each.seconds <= whole.seconds - left[0]]
        return self._leg(begins, [ends[0], *near]) if near else whole

    def _egress(self, links: list[int], first: _End, ends: list[_End]) -> _Leg:
        """The fastest way off the route, for all of it before; first : where the route begins."""
        done = np.cumsum(self._seconds[links]) * _ON_ROUTE
        begins = [
            _End(link, first.share if at == first.position else 0.0, float(done[at]), at)
            for at, link in enumerate(links)
            if at >= first.position and self.street[link]
        ]
        whole = self._leg(begins[-1:], ends)
        near = [each for each in begins[:-1] if done[-1] - each.seconds <= whole.seconds - done[-1]]
        return self._leg([*near, begins[-1]], ends) if near else whole

    def _leg(self, begins: list[_End], ends: list[_End]) -> _Leg:
        """The fastest way from one of the beginnings to one of the ends."""
        best: _Leg | None = None
        for begin in begins:
            for end in ends:
                if begin.link == end.link and begin.share <= end.share:
                    seconds = begin.seconds + end.seconds - float(self._seconds[begin.link])
                    if best is None or seconds < best.seconds:
                        best = _Leg((begin.link,), begin, end, seconds)
        sides = [
            (self._number[[each.link for each in side]], np.array([each.seconds for each in side]))
            for side in (begins, ends)
        ]
        found, cost = self._paths.path(*sides[0], *sides[1])
        if best is not None and best.seconds <= cost:
            return best
        if not math.isfinite(cost):
            raise PolicyError("no street leads from one place to the other")
        links = tuple(self._links[found].tolist())
        begin = min((each for each in begins if each.link == links[0]), key=lambda each: each.seconds)
        end = min((each for each in ends if each.link == links[-1]), key=lambda each: each.seconds)
        return _Leg(links, begin, end, cost)

    def _leaving(self, place: OnStreet) -> list[_End]:
        return [_End(link, share, float(self._seconds[link]) * (1 - share)) for link, share in self._both(place)]

    def _reaching(self, place: OnStreet) -> list[_End]:
        return [_End(link, share, float(self._seconds[link]) * share) for link, share in self._both(place)]

    def _leaving_node(self, route: NDArray[np.int32]) -> list[_End]:
        """Streets out of the node where a route comes from its zone."""
        links = np.flatnonzero((self.network.tail == self.network.head[route[0]]) & self.street).tolist()
        return [_End(link, 0.0, float(self._seconds[link])) for link in links]

    def _reaching_node(self, route: NDArray[np.int32]) -> list[_End]:
        """Streets into the node where a route goes to its zone."""
        links = np.flatnonzero((self.network.head == self.network.tail[route[-1]]) & self.street).tolist()
        return [_End(link, 1.0, float(self._seconds[link])) for link in links]

    def _both(self, place: OnStreet) -> list[tuple[int, float]]:
        """The link of a place and, where the street has two directions, the other one."""
        found = [(place.link, place.share)]
        other = int(self._reverse[place.link])
        return found if other == _NO_LINK else [*found, (other, 1.0 - place.share)]

    def _turns_back(self, first: Piece, second: Piece) -> bool:
        return int(self._reverse[first.link]) == second.link

    def _without_loops(self, pieces: list[Piece]) -> list[Piece]:
        """The same way without what lies between two visits of a node."""
        tail, head = self.network.tail, self.network.head
        kept: list[Piece] = []
        reached = {} if pieces[0].begin else {int(tail[pieces[0].link]): 0}  # node -> how many of the kept lead to it
        for at, piece in enumerate(pieces):
            node = int(head[piece.link])
            following = pieces[at + 1] if at + 1 < len(pieces) else None
            if node not in reached or piece.end < 1 or self._hides(kept[: reached[node]], following):
                kept.append(piece)
                if piece.end == 1:
                    reached.setdefault(node, len(kept))
                continue
            for gone in kept[reached[node] :]:
                reached.pop(int(head[gone.link]), None)
            del kept[reached[node] :]
            reached = {each: count for each, count in reached.items() if count <= len(kept)}
        return self._straightened(kept)

    def _hides(self, before: list[Piece], following: Piece | None) -> bool:
        """Whether a loop left out would leave a turn back that nothing takes away afterwards."""
        if not before or following is None or not self._turns_back(before[-1], following):
            return False
        inside = len(before) > 1 and following.end == 1
        return inside and int(self.network.head[following.link]) != int(self.network.tail[before[-1].link])

    def _straightened(self, pieces: list[Piece]) -> list[Piece]:
        """The same way where it begins and ends on a street: nobody leaves in one direction to turn round at once."""
        while len(pieces) > 1 and self._turns_back(pieces[0], pieces[1]) and pieces[0].begin:
            first, second = pieces[:2]
            begin = 1.0 - first.begin
            pieces[:2] = [replace(second, begin=begin) if begin <= second.end else replace(first, end=1.0 - second.end)]
        while len(pieces) > 1 and self._turns_back(pieces[-2], pieces[-1]) and pieces[-1].end < 1:
            pieces[-2:] = [replace(pieces[-2], end=1.0 - pieces[-1].end)]
        return pieces

    def _reverses(self) -> NDArray[np.int32]:
        """(links,) the same street in the other direction, by the first and last points of their lines; -1 for none."""
        found = np.full(self.network.links, _NO_LINK, np.int32)
        streets = self.places.streets
        if streets is None:
            return found
        begin, end = streets.start[:-1], streets.start[1:] - 1
        there = np.round(streets.points[np.stack([begin, begin + 1, end - 1, end])], _EXACT)
        same = np.stack([np.diff(streets.start), streets.osm_way_id]).T.tolist()
        forward = there.transpose(1, 0, 2).reshape(len(streets), -1).tolist()
        backward = there[::-1].transpose(1, 0, 2).reshape(len(streets), -1).tolist()
        known: dict[tuple[float, ...], int] = {}
        links = np.flatnonzero(self.street).tolist()
        for link in links:
            known.setdefault((*forward[link], *same[link]), link)
        for link in links:
            found[link] = known.get((*backward[link], *same[link]), _NO_LINK)
        return found
