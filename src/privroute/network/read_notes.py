"""What a reader of networks left out or could not take as it stood: public numbers and examples, for people."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["ReadNotes"]

_MOST_EXAMPLES = 3
_LONGEST_EXAMPLE = 60
_WORDS = {  # one, several
    "closed_links": (
        "link of capacity 0 left out as a closed road",
        "links of capacity 0 left out as closed roads",
    ),
    "loops": (
        "link from a node to itself left out; no path uses it",
        "links from a node to itself left out; no path uses them",
    ),
    "island_links": (
        "link left out because it is not part of the largest connected network",
        "links left out because they are not part of the largest connected network",
    ),
    "no_access": (
        "way left out because motor vehicles may not use it",
        "ways left out because motor vehicles may not use them",
    ),
    "unfinished": (
        "way left out because it is still to be built",
        "ways left out because they are still to be built",
    ),
    "ferries": ("ferry left out", "ferries left out"),
    "barriers": (
        "barrier that cars do not pass; streets end there",
        "barriers that cars do not pass; streets end there",
    ),
    "without_nodes": (
        "way left out because nodes of it are not in the file",
        "ways left out because nodes of them are not in the file",
    ),
    "odd_tags": (
        "tag that cannot be read; the table of road classes was used instead",
        "tags that cannot be read; the table of road classes was used instead",
    ),
    "turn_restrictions": ("turn restriction applied", "turn restrictions applied"),
    "other_restrictions": (
        "turn restriction not applied (through a way, for other vehicles, at times, or cut off)",
        "turn restrictions not applied (through a way, for other vehicles, at times, or cut off)",
    ),
    "far_zones": ("zone left out because no street is near", "zones left out because no street is near"),
    "outside_zones": (
        "zone without a street inside, connected to the nearest street",
        "zones without a street inside, connected to the nearest street",
    ),
    "numbered_zones": (
        "zone numbered 1: the file has no zone_id, zone or id; name another property with --zone-id",
        "zones numbered 1, 2, 3, ...: the file has no zone_id, zone or id; name another property with --zone-id",
    ),
}


@dataclass(slots=True)
class ReadNotes:
    """Numbers by what they count, and the first examples of some of them."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    _once: set[tuple[str, str]] = field(default_factory=set)

    def add(self, what: str, number: int = 1, example: str | None = None) -> None:
        """Count some more."""
        if number:
            self.counts[what] = self.counts.get(what, 0) + number
            known = self.examples.setdefault(what, []) if example is not None else []
            if example is not None and len(known) < _MOST_EXAMPLES:
                known.append(example[:_LONGEST_EXAMPLE])

    def add_once(self, what: str, example: str) -> None:
        """Count something that is met several times, such as a tag of a way with many links."""
        if (what, example) not in self._once:
            self._once.add((what, example))
            self.add(what, example=example)

    def __getitem__(self, what: str) -> int:
        return self.counts.get(what, 0)

    def sentences(self) -> list[str]:
        """One for each number that is not 0."""
        found = []
        for what, (one, several) in _WORDS.items():
            number, known = self[what], self.examples.get(what, [])
            if number:
                some = "such as " if number > len(known) and what != "numbered_zones" else ""
                examples = f" ({some}{', '.join(known)})" if known else ""
                found.append(f"{number:,} {one if number == 1 else several}{examples}")
        return found
