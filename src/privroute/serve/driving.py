"""Answers to drivers' apps: routes between coordinates or zones, one sampled route for a vehicle by default.

A vehicle that names itself keeps its route for the day: the draw's seed is a keyed hash of day, pair and name. The key
is known to the server alone, the name is neither stored nor logged, and the hash leaves the process only as a choice
among the routes of the pair.
"""

from __future__ import annotations

import datetime as dt
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from privroute.errors import InputError, PolicyError
from privroute.serve.answers import exact_label
from privroute.serve.lines import GEOMETRIES
from privroute.serve.navigation import Drive, Navigator
from privroute.serve.places import Places
from privroute.serve.schemas import LARGEST_SEED, MOST_ALTERNATIVES
from privroute.serve.steps import OVERVIEWS, DriveWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from privroute.release.release import Release
    from privroute.serve.answers import LinkTimes
    from privroute.serve.navigation import Piece
    from privroute.serve.pair_index import PairIndex
    from privroute.serve.places import Place

__all__ = ["DriveQuestion", "Driving", "drive_question"]

_FLAGS = {"true": True, "false": False}
_LONGEST_NAME = 200
_OWN = {
    *("departure", "origin", "destination", "geometries", "overview", "steps", "alternatives", "vehicle", "seed"),
    "release",
}
_OF_OSRM = {"annotations", "continue_straight", "generate_hints", "skip_waypoints"}  # accepted, without effect


@dataclass(frozen=True, slots=True)
class DriveQuestion:
    """origin, destination : labels or coordinates, as texts.

    alternatives : None for one sampled route; vehicle, else seed, say which one is sampled
    """

    origin: str
    destination: str
    geometries: str = "geojson"
    overview: str = "full"
    steps: bool = False
    alternatives: int | None = None
    vehicle: str | None = None
    seed: int | None = None


def drive_question(
    origin: str, destination: str, query: Mapping[str, str], *, usual_geometries: str = "geojson"
) -> DriveQuestion:
    """The question of a query; an unknown or unusable parameter is refused."""
    unknown = sorted(set(query) - _OWN - _OF_OSRM)
    if unknown:
        raise InputError(f"{unknown[0][:40]!r} is not a parameter; known are {', '.join(sorted(_OWN))}")
    geometries, overview = query.get("geometries", usual_geometries), query.get("overview", OVERVIEWS[0])
    if geometries not in GEOMETRIES:
        raise InputError(f"geometries is not one of {', '.join(GEOMETRIES)}")
    if overview not in OVERVIEWS:
        raise InputError(f"overview is not one of {', '.join(OVERVIEWS)}")
    if query.get("steps", "false") not in _FLAGS:
        raise InputError("steps is neither true nor false")
    alternatives = query.get("alternatives")
    if alternatives in _FLAGS:
        alternatives = str(MOST_ALTERNATIVES) if _FLAGS[alternatives] else None
    vehicle = query.get("vehicle")
    if vehicle is not None and not 0 < len(vehicle) <= _LONGEST_NAME:
        raise InputError(f"vehicle is not a text of at most {_LONGEST_NAME} characters")
    seed = _whole("seed", query.get("seed"), LARGEST_SEED)
    return DriveQuestion(
        origin,
        destination,
        geometries,
        overview,
        _FLAGS[query.get("steps", "false")],
        _whole("alternatives", alternatives, MOST_ALTERNATIVES),
        vehicle,
        seed,
    )


def _whole(name: str, text: str | None, most: int) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and int(text) <= most):
        raise InputError(f"{name} is not a whole number from 0 to {most}")
    return int(text)


class Driving:
    """Answers about one release."""

    def __init__(self, release: Release, times: LinkTimes, index: PairIndex, key: bytes) -> None:
        self._release, self._index, self._key = release, index, key
        self._places = Places(release.network)
        self._navigator = Navigator(release.network, times, self._places)
        self._writer = DriveWriter(self._navigator)

    def answer(self, question: DriveQuestion, weight_name: str) -> dict[str, Any]:
        """Waypoints and routes."""
        ends = [self._places.find(question.origin, "origin"), self._places.find(question.destination, "destination")]
        drives = [
            self._navigator.drive(ends[0], ends[1], links, chance) for links, chance in self._chosen(question, ends)
        ]
        routes = [
            self._writer.route(
                drive,
                geometries=question.geometries,
                overview=question.overview,
                steps=question.steps,
                weight_name=weight_name,
            )
            for drive in _distinct(drives)
        ]
        for route in routes:
            route["links"] = [exact_label(label) for label in route["links"]]
        listed = question.alternatives is not None and drives[0].probability is not None
        left = max(0.0, 1.0 - sum(drive.probability or 0.0 for drive in drives)) if listed else None
        return {
            "sampled": question.alternatives is None,
            "remaining_probability": left,
            "waypoints": [self._waypoint(end) for end in ends],
            "routes": routes,
        }

    def _chosen(self, question: DriveQuestion, ends: list[Place]) -> list[tuple[NDArray[np.int32], float | None]]:
        """Links and probabilities of the policy's routes; no links within one zone."""
        origin, destination = (end.zone for end in ends)
        if origin == destination:
            if any(end.street is None for end in ends):
                raise PolicyError("origin and destination are the same zone; pass coordinates of two places")
            return [(np.empty(0, np.int32), None)]
        pair = np.array([self._index.at(origin, destination)])
        policy = self._release.policy
        if question.alternatives is None:
            start, links, probability = policy.sample_links(pair, seed=self._seed(question, origin, destination))
        else:
            _, start, links, probability, _ = policy.best_routes(pair, question.alternatives + 1)
        return [
            (links[begin:end], float(chance))
            for begin, end, chance in zip(start[:-1], start[1:], probability, strict=True)
        ]

    def _seed(self, question: DriveQuestion, origin: int, destination: int) -> int | None:
        if question.vehicle is None:
            return question.seed
        words = "\x1f".join((self._today(), str(origin), str(destination), question.vehicle))
        digest = hmac.digest(self._key, words.encode("utf-8", "surrogatepass"), "sha256")
        return int.from_bytes(digest[:8], "big") & LARGEST_SEED

    def _today(self) -> str:
        """The day in the time zone of the study, else in UTC."""
        try:
            zone = ZoneInfo(self._release.certificate.calendar.time_zone or "UTC")
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return dt.datetime.now(dt.UTC).date().isoformat()
        return dt.datetime.now(zone).date().isoformat()

    def _waypoint(self, end: Place) -> dict[str, Any]:
        network, street = self._release.network, end.street
        label = exact_label(network.end_labels[end.zone])
        if street is not None:
            place = {"location": [street.x, street.y], "distance": round(street.metres, 1)}
            return {"zone": label, **place, "name": self._writer.name(street.link)}
        points = network.coordinates
        return {
            "zone": label,
            "location": None if points is None else points[end.zone].tolist(),
            "distance": None,
            "name": "",
        }


def _distinct(drives: list[Drive]) -> list[Drive]:
    """Each way once, the most probable first: routes of the policy that differ only where a leg leaves them are one."""
    known: dict[tuple[Piece, ...], float | None] = {}
    for drive in drives:
        before = known.get(drive.pieces)
        known[drive.pieces] = drive.probability if before is None else before + (drive.probability or 0.0)
    return sorted(
        (Drive(pieces, chance) for pieces, chance in known.items()), key=lambda each: -(each.probability or 0.0)
    )
