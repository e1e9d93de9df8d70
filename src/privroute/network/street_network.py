"""A network of streets from their segments, whatever file these come from: times, capacities, lines, names.

Unlike `from_networkx`, which refuses an attribute that it cannot read, this reader of whole cities falls back to the
table of road classes and counts the tags that it could not read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from privroute.errors import NetworkError
from privroute.network.attributes import Attributes
from privroute.network.checks import show
from privroute.network.components import largest_component
from privroute.network.latency import choose_latency
from privroute.network.network import Network
from privroute.network.on_earth import DEGREES, line_km
from privroute.network.osm_tags import lanes, speed_kph
from privroute.network.road_classes import OTHER, merge_road_classes
from privroute.network.streets import TURN, Streets
from privroute.network.turns import Restriction, expand_turns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from privroute.network.curves import LatencyKind
    from privroute.network.labels import Label
    from privroute.network.read_notes import ReadNotes
    from privroute.network.road_classes import RoadClass

__all__ = ["Segment", "StreetOptions", "street_network"]

_SHORTEST_KM = 1e-4  # a street of no length between two nodes would be a cycle without cost
_LONGEST_NAME = 200


class Segment(NamedTuple):
    """A directed piece of a street between two nodes.

    tags : as OpenStreetMap and OSMnx have them
    points : (points, 2) longitude and latitude, from tail to head
    length_km : None: along its points
    """

    tail: Label
    head: Label
    tags: Mapping[str, Any]
    points: NDArray[np.float64]
    way_id: int = 0
    length_km: float | None = None


@dataclass(frozen=True, slots=True)
class StreetOptions:
    """How streets become links.

    latency, factor : the curve of all links; "affine" with time `factor` times free flow at capacity
    road_classes : rows that replace or extend the table of road classes
    keep_islands : keep streets that are not part of the largest connected network
    """

    latency: LatencyKind = "bpr"
    factor: float = 2.0
    road_classes: Mapping[str, RoadClass] | None = None
    keep_islands: bool = False


def street_network(
    segments: Sequence[Segment],
    options: StreetOptions,
    notes: ReadNotes,
    restrictions: Sequence[Restriction] = (),
) -> Network:
    """Network of segments; nodes are numbered in the order in which the segments name them."""
    proper = [segment for segment in segments if segment.tail != segment.head]
    notes.add("loops", len(segments) - len(proper))
    if not proper:
        raise NetworkError("has no street between two different nodes that motor vehicles may use")
    index: dict[Label, int] = {}
    places: list[NDArray[np.float64]] = []
    ends = np.empty((len(proper), 2), dtype=np.int32)
    for position, segment in enumerate(proper):
        for side, (label, point) in enumerate(((segment.tail, segment.points[0]), (segment.head, segment.points[-1]))):
            if label not in index:
                index[label] = len(index)
                places.append(point)
            ends[position, side] = index[label]
    labels, coordinates = list(index), np.array(places)
    tail, head = ends.T
    if not options.keep_islands:
        inside = largest_component(tail, head, len(labels))
        kept = inside[tail] & inside[head]
        notes.add("island_links", int(np.count_nonzero(~kept)))
        proper = [segment for segment, keep in zip(proper, kept.tolist(), strict=True) if keep]
        if not proper:
            raise NetworkError(
                "has no two streets that lead to each other and back; check one-way tags, or keep_islands"
            )
        number = np.cumsum(inside) - 1
        labels = [label for label, keep in zip(labels, inside.tolist(), strict=True) if keep]
        tail, head, coordinates = number[tail[kept]], number[head[kept]], coordinates[inside]
    streets, length_km, minutes, capacity = _links(proper, options, notes)
    parts = expand_turns(labels, coordinates, tail, head, [segment.way_id for segment in proper], restrictions, notes)
    if parts.turns:
        turns = Streets.straight(
            parts.coordinates, parts.tail[len(proper) :], parts.head[len(proper) :], road_class=[TURN] * parts.turns
        )
        streets = streets.joined(turns)
        zeros, wide = np.zeros(parts.turns), np.full(parts.turns, capacity.max())
        length_km, minutes = np.concatenate([length_km, zeros]), np.concatenate([minutes, zeros])
        capacity = np.concatenate([capacity, wide])
    given = {"factor": options.factor} if options.latency == "affine" else {}
    return Network(
        parts.tail,
        parts.head,
        choose_latency(options.latency, minutes, capacity, **given),
        parts.labels,
        coordinates=parts.coordinates,
        crs=DEGREES,
        length_km=length_km,
        streets=streets,
    )


def _links(
    segments: Sequence[Segment], options: StreetOptions, notes: ReadNotes
) -> tuple[Streets, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Streets, kilometres, minutes and vehicles per minute of each link."""
    classes = merge_road_classes(options.road_classes)
    start = np.concatenate([[0], np.cumsum([len(segment.points) for segment in segments])])
    points = np.concatenate([segment.points for segment in segments])
    along = line_km(points, start)
    given = np.array([np.nan if segment.length_km is None else segment.length_km for segment in segments])
    length_km = np.maximum(np.where(np.isnan(given), along, given), _SHORTEST_KM)
    rows = [_Tags(segment.tags, segment.way_id, classes, notes) for segment in segments]
    speed = np.array([row.speed_kph for row in rows])
    count = np.array([row.lanes for row in rows])
    per_lane = np.array([row.defaults.capacity_per_hour_lane for row in rows])
    streets = Streets(
        start,
        points,
        name=[row.name for row in rows],
        road_class=[row.road_class for row in rows],
        lanes=count,
        osm_way_id=[segment.way_id for segment in segments],
    )
    return streets, length_km, length_km / speed * 60.0, per_lane * count / 60.0


class _Tags:
    """The tags of a segment as numbers and texts."""

    def __init__(self, tags: Mapping[str, Any], way: int, classes: Mapping[str, RoadClass], notes: ReadNotes) -> None:
        edge = Attributes("street", "", tags)
        kinds = [name for name in _texts(tags.get("highway")) if name in classes]
        self.road_class = min(kinds, key=lambda name: classes[name].capacity_per_hour_lane, default="")
        self.defaults = classes[self.road_class or OTHER]
        plain = {self.road_class: self.defaults, OTHER: self.defaults}
        try:
            self.speed_kph = speed_kph(edge, plain)
        except NetworkError as problem:
            _note_odd_tag(problem, tags, way, notes)
            self.speed_kph = self.defaults.speed_kph
        try:
            found = lanes(edge)
        except NetworkError as problem:
            _note_odd_tag(problem, tags, way, notes)
            found = None
        self.lanes = self.defaults.lanes if found is None else found
        self.name = _name(tags)


def _note_odd_tag(problem: NetworkError, tags: Mapping[str, Any], way: int, notes: ReadNotes) -> None:
    """Count a tag that cannot be read once for its way, which may have many links in both directions."""
    name = next((name for name in tags if f": {name} is " in str(problem)), "")
    if way:
        notes.add_once("odd_tags", f"{name}={show(tags.get(name))} of way {way}")
    else:
        notes.add("odd_tags", example=f"{name}={show(tags.get(name))}")


def _texts(value: object) -> list[str]:
    return [item for item in (value if isinstance(value, list | tuple) else [value]) if isinstance(item, str)]


def _name(tags: Mapping[str, Any]) -> str:
    """The street's name, else its number; several of a merged edge are joined."""
    for key in ("name", "ref"):
        texts = [
            " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
            for text in _texts(tags.get(key))
        ]
        joined = " / ".join(dict.fromkeys(filter(None, texts)))[:_LONGEST_NAME].strip()
        if joined:
            return joined
    return ""
