"""What motor vehicles may use and pass, by OpenStreetMap's tags: ways, their directions, and barriers at nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["directions", "is_barrier", "is_closed", "is_ferry", "is_unfinished"]

_ACCESS = ("motorcar", "motor_vehicle", "vehicle", "access")  # the first one that is there decides
_CLOSED = {
    *("no", "private", "agricultural", "forestry", "emergency", "military", "permit", "delivery", "customers"),
    *("psv", "bus", "taxi", "bicycle", "foot", "residents"),
}
_FORWARD = {"yes", "true", "1", "reversible"}
_BACKWARD = {"-1", "reverse"}
_ROUND = {"roundabout", "circular"}
_OPEN_CONSTRUCTION = {"no", "minor", "widening"}
# barriers that let cars through unless access tags say otherwise; all others stop them unless access tags allow them
_PASSED = {
    *(
        "no",
        "gate",
        "lift_gate",
        "swing_gate",
        "toll_booth",
        "border_control",
        "checkpoint",
        "cattle_grid",
        "sally_port",
    ),
    *("entrance", "height_restrictor", "arch", "kerb", "bump_gate", "coupure", "hampshire_gate", "rope"),
}


def is_closed(tags: Mapping[str, str], direction: str = "") -> bool:
    """Whether access tags keep cars out; direction : ":forward" or ":backward" for tags of one direction."""
    decides = next((tags[name + direction] for name in _ACCESS if name + direction in tags), None)
    return decides in _CLOSED


def is_unfinished(tags: Mapping[str, str]) -> bool:
    """Whether a way is still to be built, or is being built."""
    return tags.get("construction", "no") not in _OPEN_CONSTRUCTION or tags.get("proposed", "no") != "no"


def is_ferry(tags: Mapping[str, str]) -> bool:
    """Whether a way is a ferry."""
    return tags.get("route") == "ferry"


def is_barrier(tags: Mapping[str, str]) -> bool:
    """Whether a node stops cars: by its access tags, else by its barrier."""
    if any(name in tags for name in _ACCESS):
        return is_closed(tags)
    return tags.get("barrier", "no") not in _PASSED and tags.get("bollard") != "rising"


def directions(tags: Mapping[str, str]) -> tuple[bool, bool]:
    """Whether cars may go along a way, and against it."""
    given = tags.get("oneway:motor_vehicle", tags.get("oneway", ""))
    implied = tags.get("junction") in _ROUND or tags.get("highway") == "motorway"
    forward = given not in _BACKWARD
    backward = not forward or not (given in _FORWARD or (implied and given != "no"))
    return forward and not is_closed(tags, ":forward"), backward and not is_closed(tags, ":backward")
