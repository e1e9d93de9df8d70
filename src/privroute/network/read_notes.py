"""What a reader of networks left out or could not take as it stood: public numbers, for people."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["ReadNotes"]

_WORDS = {
    "closed_links": "links of capacity 0 left out as closed roads",
    "loops": "links from a node to itself left out; no path uses them",
    "island_links": "links left out because they are not part of the largest connected network",
    "no_access": "ways left out because motor vehicles may not use them",
    "without_nodes": "ways left out because nodes of them are not in the file",
    "odd_tags": "tags that cannot be read; the table of road classes was used instead",
    "turn_restrictions": "turn restrictions applied",
    "other_restrictions": "turn restrictions not applied (through a way, for other vehicles, at times, or cut off)",
    "far_zones": "zones left out because no street is near",
    "outside_zones": "zones without a street inside, connected to the nearest street",
}


@dataclass(slots=True)
class ReadNotes:
    """Numbers by what they count."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, what: str, number: int = 1) -> None:
        """Count some more."""
        if number:
            self.counts[what] = self.counts.get(what, 0) + number

    def __getitem__(self, what: str) -> int:
        return self.counts.get(what, 0)

    def sentences(self) -> list[str]:
        """One for each number that is not 0."""
        return [f"{self.counts[what]:,} {words}" for what, words in _WORDS.items() if self.counts.get(what)]
