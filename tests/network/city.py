"""A city as OpenStreetMap has it: streets with bends, names, tags, one-ways, restrictions, and what is not for cars."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

WEST, SOUTH = 13.30, 52.48
STEP_LON, STEP_LAT = 0.003, 0.0018  # about 200 m each
BEND = 0.00025  # about 25 m
PER_WAY = 4  # blocks of one street


@dataclass
class City:
    """Nodes, ways and relations of a square grid of streets that run in waves."""

    side: int = 20
    nodes: dict[int, tuple[float, float]] = field(default_factory=dict)
    ways: dict[int, tuple[list[int], dict[str, str]]] = field(default_factory=dict)
    relations: list[tuple[list[tuple[str, str, int]], dict[str, str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for row in range(self.side):
            for column in range(self.side):
                self.nodes[self.crossing(column, row)] = (WEST + column * STEP_LON, SOUTH + row * STEP_LAT)
        way = 1000
        for line in range(self.side):
            for begin in range(0, self.side - 1, PER_WAY):
                for across in (True, False):
                    way += 1
                    self._street(way, line, begin, min(begin + PER_WAY, self.side - 1), across=across)
        self._other_things(way)

    def crossing(self, column: int, row: int) -> int:
        return 1 + row * self.side + column

    def _street(self, way: int, line: int, begin: int, end: int, *, across: bool) -> None:
        refs = []
        for at in range(begin, end + 1):
            refs.append(self.crossing(at, line) if across else self.crossing(line, at))
            if at < end:
                refs += [self._bend(line, at, part, across=across) for part in (1, 2, 3)]
        main = line % 5 == 0
        name = f"{'Querstraße' if across else 'Längsallee'} {line + 1}-{begin // PER_WAY + 1}"
        tags = {"highway": "primary" if main else "residential", "name": name}
        tags |= {"lanes": "4", "maxspeed": "50"} if main else {"maxspeed": "30"}
        if not across and line % 4 == 1:
            tags["oneway"] = "yes" if line % 8 == 1 else "-1"
        if line % 7 == 3:
            tags["maxspeed"] = "20 mph"
        if line == 2 and begin == 0:
            tags["maxspeed"] = "fast"  # cannot be read
        self.ways[way] = (refs, tags)

    def _bend(self, line: int, at: int, part: int, *, across: bool) -> int:
        number = 100_000 + ((line * self.side + at) * 3 + part) * 2 + across
        along, aside = at + part / 4, BEND * math.sin(math.pi * part / 4 + line)
        if across:
            self.nodes[number] = (WEST + along * STEP_LON, SOUTH + line * STEP_LAT + aside / 1.6)
        else:
            self.nodes[number] = (WEST + line * STEP_LON + aside, SOUTH + along * STEP_LAT)
        return number

    def _other_things(self, way: int) -> None:
        far = 900_000
        self.nodes |= {far + k: (WEST - 0.02 + k * 0.001, SOUTH - 0.02) for k in range(3)}
        self.ways[way + 1] = ([far, far + 1, far + 2], {"highway": "residential", "name": "Inselweg"})
        self.ways[way + 2] = ([self.crossing(0, 0), self.crossing(1, 1)], {"highway": "footway"})
        self.ways[way + 3] = ([self.crossing(2, 2), self.crossing(3, 3)], {"highway": "service", "access": "private"})
        self.ways[way + 4] = (
            [self.crossing(4, 4), self.crossing(5, 5)],
            {"highway": "residential", "motor_vehicle": "no"},
        )
        self.ways[way + 5] = ([self.crossing(6, 6), 777_777], {"highway": "residential"})  # cut off by the extract
        self.nodes[far + 10] = (WEST + 0.0291, SOUTH + 0.0181)
        self.nodes[far + 11] = (WEST + 0.0295, SOUTH + 0.0185)
        loop = self.crossing(10, 10)
        self.ways[way + 6] = ([loop, far + 10, far + 11, loop], {"highway": "residential", "name": "Schleife"})
        self.forbid("no_left_turn", 5, 5)
        if self.side >= 12:
            self.forbid("no_left_turn", 9, 4)
            self.forbid("no_left_turn", 7, 8)
            self.forbid("only_straight_on", 8, 8, straight=True)
            self.forbid("no_u_turn", 6, 9)
        self.relations.append(
            (
                [("from", "way", way - 1), ("via", "way", way - 2), ("to", "way", way)],
                {"type": "restriction", "restriction": "no_left_turn"},
            )
        )

    def way_between(self, first: int, second: int) -> int:
        """The way on which one crossing follows another."""
        return next(
            way
            for way, (refs, tags) in self.ways.items()
            if first in refs and second in refs and abs(refs.index(first) - refs.index(second)) == 4 and "name" in tags
        )

    def forbid(self, rule: str, column: int, row: int, *, straight: bool = False) -> None:
        """A restriction for those who come from the west: to the north, or to the east only."""
        here = self.crossing(column, row)
        comes = self.way_between(self.crossing(column - 1, row), here)
        goes = self.way_between(here, self.crossing(column + 1, row) if straight else self.crossing(column, row + 1))
        members = [("from", "way", comes), ("via", "node", here), ("to", "way", goes)]
        self.relations.append((members, {"type": "restriction", "restriction": rule}))

    def xml(self) -> str:
        lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<osm version="0.6" generator="test">']
        lines += [
            f'<node id="{key}" lat="{y:.7f}" lon="{x:.7f}" version="1"/>' for key, (x, y) in sorted(self.nodes.items())
        ]
        for key, (refs, tags) in sorted(self.ways.items()):
            lines += [f'<way id="{key}" version="1">', *(f'<nd ref="{ref}"/>' for ref in refs), *_tags(tags), "</way>"]
        for key, (members, tags) in enumerate(self.relations, start=1):
            parts = [f'<member type="{kind}" ref="{ref}" role="{role}"/>' for role, kind, ref in members]
            lines += [f'<relation id="{key}" version="1">', *parts, *_tags(tags), "</relation>"]
        return "\n".join([*lines, "</osm>", ""])

    def write(self, path: Path) -> Path:
        path.write_text(self.xml(), encoding="utf-8")
        return path

    def zones(self, per_side: int = 5) -> dict[str, Any]:
        """Polygons that cover the city: a square of squares whose edges touch."""
        width = self.side * STEP_LON / per_side, self.side * STEP_LAT / per_side
        west, south = WEST - STEP_LON / 2, SOUTH - STEP_LAT / 2
        features = []
        for row in range(per_side):
            for column in range(per_side):
                x, y = west + column * width[0], south + row * width[1]
                ring = [[x, y], [x + width[0], y], [x + width[0], y + width[1]], [x, y + width[1]], [x, y]]
                shape = {"type": "Polygon", "coordinates": [ring]}
                about = {"quarter": f"Q{row}{column}", "people": 100}
                features.append({"type": "Feature", "properties": about, "geometry": shape})
        return {"type": "FeatureCollection", "features": features}

    def write_zones(self, path: Path, per_side: int = 5) -> Path:
        path.write_text(json.dumps(self.zones(per_side)), encoding="utf-8")
        return path


def _tags(tags: dict[str, str]) -> list[str]:
    return [f"<tag k={quoteattr(key)} v={quoteattr(value)}/>" for key, value in tags.items()]
