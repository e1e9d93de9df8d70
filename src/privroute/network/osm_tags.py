"""Length, free-flow time and capacity of an edge from its attributes as OpenStreetMap and OSMnx give them.

Each quantity is taken from the first attribute that is there, the table of road classes last:

    free-flow time   free_flow_min; travel_time (s); length / speed, the speed from speed_kph, maxspeed, or the table
    capacity         capacity_per_min; capacity (vehicles per hour, all lanes); lanes · the table's capacity per lane

Where several values stand on one edge (merged edges: lists, or texts such as "50;30") the least favourable counts:
the slowest speed, the fewest lanes, the class with the smallest capacity.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from privroute.network.checks import as_number
from privroute.network.road_classes import OTHER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privroute.errors import NetworkError
    from privroute.network.attributes import Attributes
    from privroute.network.road_classes import RoadClass

__all__ = ["capacity_per_min", "free_flow_min", "lanes", "length_km", "road_class", "speed_kph"]

_SPEED = re.compile(r"(\d+(?:\.\d+)?)\s*(km/h|kmh|kph|mph|knots)?", re.ASCII | re.IGNORECASE)
_KPH = {"mph": 1.609344, "knots": 1.852}
_WALKING_KPH = 6.0
# values of maxspeed that name a rule instead of a number: no limit, variable signs, "DE:urban", "BE-VLG:rural"
_RULE = re.compile(
    r"none|signals|variable|national|implicit|unposted|[a-z]{2}(-[a-z0-9]+)*:.+", re.ASCII | re.IGNORECASE
)
# rules that name their number, in km/h: "DE:zone:30", "FR:zone30", "RU:60"; those of Britain and the USA are in mph
_ZONE = re.compile(r"(?!GB|UK|US)[a-z]{2}(?:-[a-z0-9]+)*:(?:zone:?)?([1-9]\d{0,2})()", re.ASCII | re.IGNORECASE)
_ONE_WAY = {"-1", "reversible", "alternating"}  # further values of oneway: against the way's direction, or by turns
_FASTEST_KPH = 1000.0
_MOST_LANES = 100.0


def length_km(edge: Attributes) -> float | None:
    """Kilometres, from `length_km` or `length` (m); None if neither is there."""
    exact = edge.number("length_km")
    if exact is not None:
        return exact
    metres = edge.number("length")
    return None if metres is None else metres / 1000.0


def free_flow_min(edge: Attributes, classes: Mapping[str, RoadClass]) -> float:
    """Minutes on the empty link."""
    exact = edge.number("free_flow_min")
    if exact is not None:
        return exact
    seconds = edge.number("travel_time")
    if seconds is not None:
        return seconds / 60.0
    kilometres = length_km(edge)
    if kilometres is None:
        raise edge.error(
            "length",
            "there is no free_flow_min (min) or travel_time (s) either; give the edge one of the three "
            "(osmnx.distance.add_edge_lengths adds lengths)",
        )
    speed = speed_kph(edge, classes)
    minutes = kilometres / speed * 60.0
    if not math.isfinite(minutes):
        name = "length_km" if "length_km" in edge else "length"
        raise edge.error(name, f"at {speed:g} km/h the time is not finite; correct the length or the speed")
    return minutes


def capacity_per_min(edge: Attributes, classes: Mapping[str, RoadClass]) -> float:
    """Vehicles per minute that the link takes, all its lanes together."""
    exact = edge.number("capacity_per_min", positive=True)
    if exact is not None:
        return exact
    per_hour = edge.number("capacity", positive=True)
    if per_hour is not None:
        return edge.usable("capacity", per_hour / 60.0, positive=True)
    row = road_class(edge, classes)
    count = lanes(edge)
    per_hour = row.capacity_per_hour_lane * (row.lanes if count is None else count)
    per_min = per_hour / 60.0
    if not 0 < per_min < math.inf:
        raise edge.error("highway", f"{per_hour:g} vehicles per hour are not usable; correct the row in road_classes")
    return per_min


def road_class(edge: Attributes, classes: Mapping[str, RoadClass]) -> RoadClass:
    """Row of the table for `highway`: of several classes the one with the smallest capacity, the first of equals."""
    names = edge.items("highway")
    if not all(isinstance(name, str) for name in names):
        raise edge.error("highway", 'give a road class as text, such as "primary", or omit the attribute')
    known = [classes[name] for name in names if name in classes]
    return min(known, key=lambda row: row.capacity_per_hour_lane, default=classes[OTHER])


def lanes(edge: Attributes) -> float | None:
    """Lanes in the direction of the edge; None if `lanes` is not there.

    OpenStreetMap counts the lanes of both directions: where `oneway` is there and false, half of them are this edge's.
    """
    counts = [as_number(item) for item in edge.items("lanes")]
    numbers = [count for count in counts if count is not None and 0 < count <= _MOST_LANES]
    if len(numbers) != len(counts):
        raise edge.error("lanes", f"give numbers above 0, at most {_MOST_LANES:g}, or omit the attribute")
    if not numbers:
        return None
    directions = [_one_way(edge, item) for item in edge.items("oneway")]
    shared = bool(directions) and not any(directions)
    return min(numbers) / 2.0 if shared else min(numbers)


def speed_kph(edge: Attributes, classes: Mapping[str, RoadClass]) -> float:
    """Free-flow speed in kilometres per hour, from `speed_kph`, `maxspeed` or the table."""
    for name in ("speed_kph", "maxspeed"):
        limits = [_read_speed(item) for item in edge.items(name) if name == "speed_kph" or not _is_rule(item)]
        numbers = [limit for limit in limits if limit is not None and 0 < limit <= _FASTEST_KPH]
        if len(numbers) != len(limits):
            raise _speed_error(edge, name)
        if numbers:
            return min(numbers)
    return road_class(edge, classes).speed_kph


def _one_way(edge: Attributes, item: object) -> bool:
    return item == -1 or (isinstance(item, str) and item.lower() in _ONE_WAY) or edge.as_flag("oneway", item)


def _read_speed(item: object) -> float | None:
    if not isinstance(item, str):
        return as_number(item)
    if item.lower() == "walk" or item.lower().endswith(":walk"):
        return _WALKING_KPH
    found = _SPEED.fullmatch(item) or _ZONE.fullmatch(item)
    return float(found[1]) * _KPH.get((found[2] or "").lower(), 1.0) if found else None


def _is_rule(item: object) -> bool:
    if isinstance(item, str):
        return _RULE.fullmatch(item) is not None and _read_speed(item) is None
    number = as_number(item)
    return item is None or (number is not None and math.isnan(number))  # tables fill gaps with NaN


def _speed_error(edge: Attributes, name: str) -> NetworkError:
    return edge.error(
        name,
        f'give km/h above 0, at most {_FASTEST_KPH:g}, or a text such as "50", "30 mph", "walk", "none"; '
        "or omit the attribute",
    )
