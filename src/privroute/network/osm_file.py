"""OpenStreetMap extracts, XML or PBF, as networks of streets for motor vehicles.

A way becomes links between its junctions: nodes that several ways share, ends of ways, and nodes of turn restrictions.
The nodes between them are how the link runs. Ways count if their class is in the table of road classes (service roads
only on request) and no access tag keeps motor vehicles out; at a barrier a way ends on both sides. docs/road-classes.md
says where numbers come from.
"""

from __future__ import annotations

import stat
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from privroute.errors import FormatError, MissingExtraError, NetworkError
from privroute.network.checks import as_number
from privroute.network.osm_access import directions, is_barrier, is_closed, is_ferry, is_unfinished
from privroute.network.read_notes import ReadNotes
from privroute.network.road_classes import OTHER, merge_road_classes
from privroute.network.street_network import Segment, StreetOptions, street_network
from privroute.network.text_files import as_path
from privroute.network.turns import Restriction

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from privroute.network.labels import Label
    from privroute.network.network import Network

__all__ = ["OSM_ENDINGS", "read_osm"]

OSM_ENDINGS = (".osm", ".osm.xml", ".osm.gz", ".osm.bz2", ".xml", ".pbf")
_SERVICE = "service"
_KEPT = ("highway", "name", "ref", "maxspeed", "lanes")
_SIDES = (":forward", ":backward")
_CARS = {"motorcar", "motor_vehicle", "motorised", "vehicle"}
_TIMES = {"day_on", "day_off", "hour_on", "hour_off"}  # of restrictions that hold at some times only


class _Way(NamedTuple):
    id: int
    refs: list[int]
    tags: Mapping[str, str]


def read_osm(
    path: str | os.PathLike[str],
    *,
    options: StreetOptions | None = None,
    service: bool = False,
    notes: ReadNotes | None = None,
) -> Network:
    """Read an OpenStreetMap extract.

    service : also take service roads: driveways, alleys, parking aisles
    notes : receives the numbers of what was left out
    """
    place, counted, chosen = as_path(path), notes or ReadNotes(), options or StreetOptions()
    _check_regular(place)
    ways, restrictions = _ways(place, set(merge_road_classes(chosen.road_classes)) - {OTHER}, counted, service=service)
    location, barriers = _nodes(place, {ref for way in ways for ref in way.refs})
    try:
        segments = _segments(ways, location, {each.via for each in restrictions}, barriers, counted)
        return street_network(segments, chosen, counted, restrictions)
    except NetworkError as problem:
        raise FormatError(place, f"{problem}") from None


def _osmium() -> Any:
    try:
        import osmium  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError("osmium", "osm", "reading OpenStreetMap files") from None
    return osmium


def _check_regular(place: Path) -> None:
    """Refuse what is no file: the reader would take addresses of the web and pipes as well."""
    try:
        regular = stat.S_ISREG(place.stat().st_mode)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise FormatError(place, f"cannot be read ({reason}); check the path and its permissions") from None
    if not regular:
        raise FormatError(place, "is not a regular file; pass an OpenStreetMap extract (.osm, .osm.pbf)")


def _ways(place: Path, classes: set[str], notes: ReadNotes, *, service: bool) -> tuple[list[_Way], list[Restriction]]:
    """Ways that motor vehicles may use, and turn restrictions at nodes."""
    osmium = _osmium()
    ways, restrictions = [], []
    try:
        kinds = osmium.osm.WAY | osmium.osm.RELATION
        for found in osmium.FileProcessor(str(place.absolute()), kinds):
            tags = {tag.k: tag.v for tag in found.tags}
            if found.is_way():
                kind = tags.get("highway")
                if kind not in classes and is_ferry(tags) and not is_closed(tags):
                    notes.add("ferries")
                if kind not in classes or (kind == _SERVICE and not service) or tags.get("area") == "yes":
                    continue
                if is_closed(tags) or is_unfinished(tags):
                    notes.add("no_access" if is_closed(tags) else "unfinished")
                    continue
                ways.append(_Way(found.id, [node.ref for node in found.nodes], tags))
            elif tags.get("type", "").startswith("restriction"):
                each = _restriction(tags, [(member.role, member.type, member.ref) for member in found.members])
                if each is not None:
                    restrictions.append(each)
                else:
                    notes.add("other_restrictions")
    except (RuntimeError, ValueError, KeyError, OSError, osmium.InvalidLocationError) as problem:
        raise _damaged(place, problem) from None
    return ways, restrictions


def _damaged(place: Path, problem: Exception) -> FormatError:
    text = "".join(sign if sign.isprintable() else " " for sign in f"{problem}")[:120]
    return FormatError(place, f"cannot be read as OpenStreetMap data ({text}); it is damaged or of another format")


def _restriction(tags: Mapping[str, str], members: Sequence[tuple[str, str, int]]) -> Restriction | None:
    """A restriction for cars at all times, from a way through a node to a way."""
    rule = tags.get("restriction", "")
    by_role = {role: [(kind, ref) for each, kind, ref in members if each == role] for role in ("from", "via", "to")}
    proper = [len(by_role[role]) == 1 and by_role[role][0][0] == kind for role, kind in _MEMBERS]
    spared = _CARS & {each.strip() for each in tags.get("except", "").split(";")}
    # a type such as restriction:hgv is for other vehicles
    if tags["type"] != "restriction" or not all(proper) or spared or _TIMES & set(tags):
        return None
    if not rule.startswith(("no_", "only_")):
        return None
    from_way, via, to_way = (by_role[role][0][1] for role, _ in _MEMBERS)
    return Restriction(from_way, via, to_way, rule.startswith("only_"), rule == "no_u_turn" and from_way == to_way)


_MEMBERS = (("from", "w"), ("via", "n"), ("to", "w"))


def _nodes(place: Path, wanted: set[int]) -> tuple[dict[int, tuple[float, float]], set[int]]:
    """Longitude and latitude of the nodes that the ways name, and those of them that stop cars."""
    osmium = _osmium()
    found, barriers = {}, set()
    try:
        nodes = osmium.FileProcessor(str(place.absolute()), osmium.osm.NODE)
        for node in nodes.with_filter(osmium.filter.IdFilter(wanted)):
            if node.location.valid():
                found[node.id] = (node.location.lon, node.location.lat)
                if node.tags and is_barrier({tag.k: tag.v for tag in node.tags}):
                    barriers.add(node.id)
    except (RuntimeError, ValueError, OSError, OverflowError, TypeError, osmium.InvalidLocationError) as problem:
        raise _damaged(place, problem) from None
    return found, barriers


def _segments(
    ways: list[_Way], location: Mapping[int, tuple[float, float]], via: set[Any], barriers: set[int], notes: ReadNotes
) -> list[Segment]:
    """Directed pieces between junctions."""
    used = Counter(ref for way in ways for ref in way.refs)
    segments, sides, stopped = [], Counter[int](), set()

    def end(ref: int) -> Label:
        """The node of the end of a piece: at a barrier each piece has its own."""
        if ref not in barriers:
            return ref
        sides[ref] += 1
        return f"{ref}/{sides[ref]}"

    for way in ways:
        refs = [ref for at, ref in enumerate(way.refs) if at == 0 or ref != way.refs[at - 1]]
        if len(refs) < 2 or any(ref not in location for ref in refs):  # noqa: PLR2004 - a line
            notes.add("without_nodes")
            continue
        stopped |= barriers.intersection(refs)
        cuts = [
            at
            for at, ref in enumerate(refs)
            if at in (0, len(refs) - 1) or used[ref] > 1 or ref in via or ref in barriers
        ]
        along, against = directions(way.tags)
        both = along and against
        tags = [_tags(way.tags, side, both=both) for side in (0, 1)]
        for first, last in pairwise(_without_rings(refs, cuts)):
            points = np.array([location[ref] for ref in refs[first : last + 1]])
            tail, head = end(refs[first]), end(refs[last])
            if along:
                segments.append(Segment(tail, head, tags[0], points, way.id))
            if against:
                segments.append(Segment(head, tail, tags[1], _reverse(points), way.id))
    notes.add("barriers", len(stopped))
    return segments


def _without_rings(refs: list[int], cuts: list[int]) -> list[int]:
    """The cuts, with one more in the middle of each ring from a node to itself: a link joins two nodes."""
    middle = [(first + last) // 2 for first, last in pairwise(cuts) if refs[first] == refs[last] and last - first > 1]
    return sorted([*cuts, *middle])


def _reverse(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ascontiguousarray(points[::-1])


def _tags(tags: Mapping[str, str], side: int, *, both: bool) -> dict[str, Any]:
    """Tags of one direction: where a way has lanes or speeds by direction, those; side : 0 along the way, 1 against."""
    found: dict[str, Any] = {
        name: tags[name] for name in ("highway", "name", "ref", "maxspeed", "lanes") if name in tags
    }
    found["oneway"] = "no" if both else "yes"
    if f"maxspeed{_SIDES[side]}" in tags:
        found["maxspeed"] = tags[f"maxspeed{_SIDES[side]}"]
    mine = f"lanes{_SIDES[side]}"
    if mine in tags:
        found |= {"lanes": tags[mine], "oneway": "yes"}  # the number is of this direction alone
    elif both:
        found |= _left_lanes(tags, f"lanes{_SIDES[1 - side]}")
    return found


def _left_lanes(tags: Mapping[str, str], other: str) -> dict[str, Any]:
    """Lanes of a direction that only the total and what is not its own tell: those of the other one, the shared one."""
    total, theirs, shared = (as_number(tags.get(name, "0")) for name in ("lanes", other, "lanes:both_ways"))
    if not total or theirs is None or shared is None:
        return {}
    left = total - shared - theirs
    if other in tags and left > 0:
        return {"lanes": left, "oneway": "yes"}
    return {"lanes": total - shared} if other not in tags and 0 < shared < total else {}
