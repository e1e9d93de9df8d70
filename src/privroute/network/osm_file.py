"""OpenStreetMap extracts, XML or PBF, as networks of streets for motor vehicles.

A way becomes links between its junctions: nodes that several ways share, ends of ways, and nodes of turn restrictions.
The nodes between them are how the link runs. Ways count if their class is in the table of road classes (service roads
only on request) and no access tag keeps motor vehicles out. docs/road-classes.md says where numbers come from.
"""

from __future__ import annotations

import stat
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from privroute.errors import FormatError, MissingExtraError, NetworkError
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

    from privroute.network.network import Network

__all__ = ["OSM_ENDINGS", "read_osm"]

OSM_ENDINGS = (".osm", ".osm.xml", ".osm.gz", ".osm.bz2", ".xml", ".pbf")
_ACCESS = ("motorcar", "motor_vehicle", "vehicle", "access")  # the first one that a way has decides
_CLOSED = {"no", "private", "agricultural", "forestry", "emergency", "military", "permit", "delivery", "customers"}
_FORWARD = {"yes", "true", "1", "reversible", "alternating"}
_BACKWARD = {"-1", "reverse"}
_ROUND = {"roundabout", "circular"}
_SERVICE = "service"
_SPLIT = {"lanes": ("lanes:forward", "lanes:backward"), "maxspeed": ("maxspeed:forward", "maxspeed:backward")}
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
    location = _locations(place, {ref for way in ways for ref in way.refs})
    try:
        segments = _segments(ways, location, {each.via for each in restrictions}, counted)
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
                if kind not in classes or (kind == _SERVICE and not service) or tags.get("area") == "yes":
                    continue
                if _is_closed(tags):
                    notes.add("no_access")
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


def _is_closed(tags: Mapping[str, str]) -> bool:
    for name in _ACCESS:
        if name in tags:
            return tags[name] in _CLOSED
    return False


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


def _locations(place: Path, wanted: set[int]) -> dict[int, tuple[float, float]]:
    """Longitude and latitude of the nodes that the ways name."""
    osmium = _osmium()
    found = {}
    try:
        nodes = osmium.FileProcessor(str(place.absolute()), osmium.osm.NODE)
        for node in nodes.with_filter(osmium.filter.IdFilter(wanted)):
            if node.location.valid():
                found[node.id] = (node.location.lon, node.location.lat)
    except (RuntimeError, ValueError, OSError, OverflowError, TypeError, osmium.InvalidLocationError) as problem:
        raise _damaged(place, problem) from None
    return found


def _segments(
    ways: list[_Way], location: Mapping[int, tuple[float, float]], via: set[Any], notes: ReadNotes
) -> list[Segment]:
    """Directed pieces between junctions."""
    used = Counter(ref for way in ways for ref in way.refs)
    segments = []
    for way in ways:
        refs = [ref for at, ref in enumerate(way.refs) if at == 0 or ref != way.refs[at - 1]]
        if len(refs) < 2 or any(ref not in location for ref in refs):  # noqa: PLR2004 - a line
            notes.add("without_nodes")
            continue
        cuts = [at for at, ref in enumerate(refs) if at in (0, len(refs) - 1) or used[ref] > 1 or ref in via]
        forward, backward = _directions(way.tags)
        along, against = _tags(way.tags, 0, both=forward and backward), _tags(way.tags, 1, both=forward and backward)
        for begin, end in pairwise(cuts):
            points = np.array([location[ref] for ref in refs[begin : end + 1]])
            if forward:
                segments.append(Segment(refs[begin], refs[end], along, points, way.id))
            if backward:
                segments.append(Segment(refs[end], refs[begin], against, _reverse(points), way.id))
    return segments


def _reverse(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ascontiguousarray(points[::-1])


def _directions(tags: Mapping[str, str]) -> tuple[bool, bool]:
    """Whether vehicles may go along the way, and against it."""
    given = tags.get("oneway:motor_vehicle", tags.get("oneway", ""))
    if given in _BACKWARD:
        return False, True
    implied = tags.get("junction") in _ROUND or tags.get("highway") == "motorway"
    one_way = given in _FORWARD or (implied and given != "no")
    return True, not one_way


def _tags(tags: Mapping[str, str], direction: int, *, both: bool) -> dict[str, str]:
    """Tags of one direction: where a way has lanes or speeds by direction, those."""
    found = {name: tags[name] for name in ("highway", "name", "ref", "maxspeed", "lanes") if name in tags}
    found["oneway"] = "no" if both else "yes"
    for name, by_direction in _SPLIT.items():
        if by_direction[direction] in tags:
            found[name] = tags[by_direction[direction]]
            if name == "lanes":
                found["oneway"] = "yes"  # the number is of this direction alone
    return found
