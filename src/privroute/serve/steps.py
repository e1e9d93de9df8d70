"""Drives in the words of routing engines: lines, steps with street names, legs, waypoints."""

from __future__ import annotations

import math
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.network.on_earth import point_km
from privroute.serve.lines import geometry_of, simplified

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.serve.navigation import Drive, Navigator, Piece

__all__ = ["OVERVIEWS", "DriveWriter"]

OVERVIEWS = ("full", "simplified", "false")
_MODIFIERS = (
    (20.0, "straight"),
    (60.0, "slight"),
    (120.0, ""),
    (160.0, "sharp"),
)


class DriveWriter:
    """Writes the drives of a navigator."""

    def __init__(self, navigator: Navigator) -> None:
        self._navigator = navigator
        self._streets = navigator.places.streets
        self._digits = 1 if navigator.network.units.on_roads else 9  # tenths of a second are long in a data network

    def route(self, drive: Drive, *, geometries: str, overview: str, steps: bool, weight_name: str) -> dict[str, Any]:
        """A route object: geometry, unless overview is "false", numbers and one leg."""
        times, metres = self._navigator.times, self._navigator.metres
        numbers = {
            "duration": self._total(drive.pieces, times.duration_s),
            "duration_free_flow": self._total(drive.pieces, times.free_flow_s),
            "distance": self._total(drive.pieces, metres),
            "weight": self._total(drive.pieces, times.weight),
        }
        line = self.line(drive.pieces) if overview != "false" else None
        if line is not None and overview == "simplified":
            line = simplified(line)
        written = self._steps(drive.pieces, geometries) if steps else []
        summary = self._summary(drive.pieces)
        leg = {**numbers, "summary": summary, "steps": written}
        return {
            "probability": drive.probability,
            **numbers,
            "weight_name": weight_name,
            **({} if overview == "false" else {"geometry": geometry_of(line, geometries)}),
            "legs": [leg],
            "links": [
                self._navigator.network.link_labels[piece.link] for piece in drive.pieces if piece.part == "route"
            ],
        }

    def line(self, pieces: tuple[Piece, ...] | list[Piece]) -> list[list[float]] | None:
        """Points [x, y] along the pieces; None without coordinates. Links within junctions are not drawn."""
        if self._streets is None:
            return None
        points: list[list[float]] = []
        for piece in pieces:
            if self._navigator.turn[piece.link]:
                continue
            for point in _cut(self._streets.line(piece.link), piece.begin, piece.end):
                if not points or point != points[-1]:
                    points.append(point)
        return points if len(points) != 1 else points * 2

    def name(self, link: int) -> str:
        """Of the street."""
        return "" if self._streets is None else self._streets.name[link]

    def _total(self, pieces: tuple[Piece, ...] | list[Piece], values: NDArray[np.float64]) -> float | None:
        total = sum(float(values[piece.link]) * (piece.end - piece.begin) for piece in pieces)
        return round(total, self._digits) if math.isfinite(total) else None

    def _summary(self, pieces: tuple[Piece, ...]) -> str:
        """The two names along which most is driven, in driving order."""
        metres: dict[str, float] = {}
        for piece in pieces:
            name, length = self.name(piece.link), float(self._navigator.metres[piece.link])
            if name and math.isfinite(length):
                metres[name] = metres.get(name, 0.0) + length * (piece.end - piece.begin)
        longest = sorted(metres, key=lambda name: -metres[name])[:2]
        return ", ".join(name for name in metres if name in longest)

    def _steps(self, pieces: tuple[Piece, ...], geometries: str) -> list[dict[str, Any]]:
        drawn = [piece for piece in pieces if not self._navigator.turn[piece.link]]
        groups = [list(group) for _, group in groupby(drawn, key=lambda piece: (self.name(piece.link), piece.part))]
        lines = [self.line(group) or [] for group in groups]
        steps = []
        for position, (group, line) in enumerate(zip(groups, lines, strict=True)):
            before = lines[position - 1] if position else []
            named = self.name(group[0].link)
            old = self.name(groups[position - 1][0].link) if position else ""
            kind = "depart" if not position else "turn" if named != old else "continue"
            steps.append(self._step(group, line, kind, before, geometries))
        if steps and lines[-1]:
            steps.append(
                self._step([], [lines[-1][-1]] * 2, "arrive", lines[-1], geometries) | {"name": steps[-1]["name"]}
            )
        return steps

    def _step(
        self, group: list[Piece], line: list[list[float]], kind: str, before: list[list[float]], geometries: str
    ) -> dict[str, Any]:
        times, place = self._navigator.times, line[0] if line else None
        after = _bearing(line[:2]) if kind != "arrive" else 0
        arrives = _bearing(before[-2:])
        maneuver: dict[str, Any] = {"type": kind, "location": place, "bearing_before": arrives, "bearing_after": after}
        if kind in ("turn", "continue"):
            maneuver["modifier"] = _modifier(after - arrives)
            if kind == "turn" and maneuver["modifier"] == "straight":
                maneuver["type"] = "new name"
        return {
            "name": self.name(group[0].link) if group else "",
            "part": group[0].part if group else "egress",
            "mode": "driving",
            "duration": self._total(group, times.duration_s),
            "distance": self._total(group, self._navigator.metres),
            "weight": self._total(group, times.weight),
            "geometry": geometry_of(line, geometries),
            "maneuver": maneuver,
            "intersections": [{"location": place, "bearings": [after], "entry": [True]}],
        }


def _cut(line: NDArray[np.float64], begin: float, end: float) -> list[list[float]]:
    """The points of a line from one share of its length to another."""
    if begin <= 0 and end >= 1:
        whole: list[list[float]] = line.tolist()
        return whole
    step = (
        point_km(line[:-1], line[1:]) if np.all(np.abs(line) <= (180.0, 90.0)) else np.hypot(*np.diff(line, axis=0).T)
    )
    at = np.concatenate([[0.0], np.cumsum(step)])
    if at[-1] <= 0:
        return [line[0].tolist()]
    wanted = [begin * at[-1], *at[(at > begin * at[-1]) & (at < end * at[-1])].tolist(), end * at[-1]]
    return [[float(np.interp(each, at, line[:, 0])), float(np.interp(each, at, line[:, 1]))] for each in wanted]


def _bearing(points: list[list[float]]) -> int:
    """Degrees clockwise from north, of the last two different points."""
    for (x, y), (u, v) in pairwise(points):
        if (x, y) != (u, v):
            east = (u - x) * math.cos(math.radians((y + v) / 2))
            return round(math.degrees(math.atan2(east, v - y))) % 360
    return 0


def _modifier(turn: int) -> str:
    angle = (turn + 180) % 360 - 180
    side = "right" if angle > 0 else "left"
    for most, word in _MODIFIERS:
        if abs(angle) <= most:
            return word if word == "straight" else f"{word} {side}".strip()
    return "uturn"
