"""Capacity, lanes and speed of a road by its OpenStreetMap class, for links whose source gives none of them.

The values are planning defaults, to be replaced by local figures; docs/road-classes.md shows the table and its use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from privroute.errors import NetworkError
from privroute.network.checks import real_number

__all__ = ["OTHER", "ROAD_CLASSES", "RoadClass", "merge_road_classes"]

OTHER = "other"
"""The row for links without a class, or with a class that the table does not have."""


@dataclass(frozen=True, slots=True)
class RoadClass:
    """Default values for links of one road class.

    capacity_per_hour_lane : vehicles per hour and lane, > 0
    lanes : lanes in the direction of the link, > 0
    speed_kph : free-flow speed in kilometres per hour, > 0
    """

    capacity_per_hour_lane: float
    lanes: float
    speed_kph: float

    def __post_init__(self) -> None:
        for field in fields(self):
            number = real_number(
                getattr(self, field.name),
                f"RoadClass: {field.name}",
                NetworkError,
                lambda value: value > 0,
                "pass a finite number greater than 0",
            )
            object.__setattr__(self, field.name, number)


ROAD_CLASSES: Mapping[str, RoadClass] = MappingProxyType(
    {
        "motorway": RoadClass(2000, 2, 110),
        "motorway_link": RoadClass(1500, 1, 60),
        "trunk": RoadClass(1800, 2, 90),
        "trunk_link": RoadClass(1400, 1, 50),
        "primary": RoadClass(1200, 1, 60),
        "primary_link": RoadClass(1000, 1, 40),
        "secondary": RoadClass(1000, 1, 50),
        "secondary_link": RoadClass(800, 1, 40),
        "tertiary": RoadClass(800, 1, 50),
        "tertiary_link": RoadClass(600, 1, 30),
        "unclassified": RoadClass(600, 1, 40),
        "residential": RoadClass(500, 1, 30),
        "living_street": RoadClass(300, 1, 10),
        "service": RoadClass(300, 1, 20),
        OTHER: RoadClass(500, 1, 30),
    }
)
"""Road class -> default capacity, lanes and speed. Read-only; `road_classes=` of a reader replaces or adds rows."""


def merge_road_classes(changes: Mapping[str, RoadClass] | None) -> Mapping[str, RoadClass]:
    """Return the table with the rows of `changes` in place of, or besides, the default ones."""
    if changes is None:
        return ROAD_CLASSES
    if not isinstance(changes, Mapping):
        raise NetworkError(
            f"road_classes is a {type(changes).__name__}; pass a mapping such as "
            '{"primary": RoadClass(capacity_per_hour_lane=1100, lanes=2, speed_kph=50)}'
        )
    for name, row in changes.items():
        if not (isinstance(name, str) and isinstance(row, RoadClass)):
            raise NetworkError(
                f"road_classes: the entry of {name!r} is a {type(row).__name__}; each entry maps a class name (text) "
                "to a RoadClass"
            )
    return {**ROAD_CLASSES, **changes}
