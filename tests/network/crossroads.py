"""Two crossroads side by side, as OpenStreetMap has them, with a ring road around.

    5       7
    |       |
1 - 2 - 3 - 4      ways 10: 1-2, 11: 2-3, 12: 3-4, 13: 2-5, 14: 2-6, 15: 3-7, 16: 3-8, 20: the ring
    |       |
    6       8
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

PLACES = {
    1: (13.000, 52.000),
    2: (13.002, 52.000),
    3: (13.004, 52.000),
    4: (13.006, 52.000),
    5: (13.002, 52.002),
    6: (13.002, 51.998),
    7: (13.004, 52.002),
    8: (13.004, 51.998),
    9: (13.003, 52.0003),  # on no way unless a test puts it there
    10: (13.0045, 52.0005),
}
WAYS = {10: [1, 2], 11: [2, 3], 12: [3, 4], 13: [2, 5], 14: [2, 6], 15: [3, 7], 16: [3, 8], 20: [5, 1, 6, 8, 4, 7, 5]}


@dataclass
class Crossroads:
    """node_tags, way_tags : tags by id; ways : nodes by id, to be changed before it is written."""

    ways: dict[int, list[int]] = field(default_factory=lambda: dict(WAYS))
    node_tags: dict[int, dict[str, str]] = field(default_factory=dict)
    way_tags: dict[int, dict[str, str]] = field(default_factory=dict)
    relations: list[str] = field(default_factory=list)

    def forbid(self, from_way: int, via: int, to_way: int, tags: dict[str, str]) -> None:
        """Add a restriction."""
        members = (("way", from_way, "from"), ("node", via, "via"), ("way", to_way, "to"))
        listed = "".join(f'<member type="{kind}" ref="{ref}" role="{role}"/>' for kind, ref, role in members)
        number = len(self.relations) + 1
        self.relations.append(
            f'<relation id="{number}" version="1">{listed}{_tags({"type": "restriction", **tags})}</relation>'
        )

    def write(self, path: Path) -> Path:
        """Write it as XML."""
        nodes = "".join(
            f'<node id="{key}" lon="{x}" lat="{y}" version="1">{_tags(self.node_tags.get(key, {}))}</node>'
            for key, (x, y) in PLACES.items()
        )
        ways = "".join(
            f'<way id="{key}" version="1">'
            + "".join(f'<nd ref="{ref}"/>' for ref in refs)
            + _tags({"highway": "residential", **self.way_tags.get(key, {})})
            + "</way>"
            for key, refs in self.ways.items()
        )
        path.write_text(f'<osm version="0.6">{nodes}{ways}{"".join(self.relations)}</osm>', encoding="utf-8")
        return path


def _tags(tags: dict[str, str]) -> str:
    return "".join(f"<tag k={quoteattr(key)} v={quoteattr(value)}/>" for key, value in tags.items())
