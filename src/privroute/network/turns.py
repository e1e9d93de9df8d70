"""Junctions where some turns are forbidden: such a node becomes one node for each link that enters or leaves it.

    in-links  i → node i'        turn links i' → o' for every allowed turn, without time or length
    out-links o starts at o'

So a path cannot take a forbidden turn, while every street stays one link with one capacity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from privroute.network.labels import Label
    from privroute.network.read_notes import ReadNotes

__all__ = ["Expanded", "Restriction", "expand_turns"]

_MOST_TURNS = 400  # of one junction


class Restriction(NamedTuple):
    """A turn restriction at a node: from one way, `only` to another one or not to it.

    back : forbids only to turn round on the way
    """

    from_way: int
    via: Label
    to_way: int
    only: bool
    back: bool = False


class Expanded(NamedTuple):
    """Nodes and links after the junctions were taken apart; the turn links stand behind the other links."""

    labels: list[Label]
    coordinates: NDArray[np.float64]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    turns: int


def expand_turns(  # noqa: C901 - one pass over the junctions
    labels: Sequence[Label],
    coordinates: NDArray[np.float64],
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    way: Sequence[int],
    restrictions: Sequence[Restriction],
    notes: ReadNotes,
) -> Expanded:
    """Take apart the junctions of the restrictions; a junction where nothing would be left open stays whole."""
    index = {label: node for node, label in enumerate(labels)}
    by_node: dict[int, list[Restriction]] = {}
    for each in restrictions:
        if each.via in index:
            by_node.setdefault(index[each.via], []).append(each)
        else:
            notes.add("other_restrictions")
    names, tails, heads = list(labels), tail.tolist(), head.tolist()
    places = list(coordinates)
    turns: list[tuple[int, int]] = []
    entering: dict[int, list[int]] = {node: [] for node in by_node}
    leaving: dict[int, list[int]] = {node: [] for node in by_node}
    for link, (start, end) in enumerate(zip(tails, heads, strict=True)):
        if end in entering:
            entering[end].append(link)
        if start in leaving:
            leaving[start].append(link)
    gone: set[int] = set()
    for node, listed in by_node.items():
        ins, outs = entering[node], leaving[node]
        allowed = _allowed(ins, outs, listed, way, tail, head)
        useful = [each for each in listed if _matches(each, ins, outs, way)]
        notes.add("other_restrictions", len(listed) - len(useful))
        open_ends = {link for link, _ in allowed} >= set(ins) and {link for _, link in allowed} >= set(outs)
        if not useful or not open_ends or len(ins) * len(outs) > _MOST_TURNS:
            notes.add("other_restrictions", len(useful))
            continue
        notes.add("turn_restrictions", len(useful))
        gone.add(node)
        inner = {}
        for kind, links in (("in", ins), ("out", outs)):
            for position, link in enumerate(links):
                inner[kind, link] = len(names)
                names.append(f"{labels[node]}/{kind}{position}")
                places.append(coordinates[node])
        for link in ins:
            heads[link] = inner["in", link]
        for link in outs:
            tails[link] = inner["out", link]
        turns += [(inner["in", first], inner["out", second]) for first, second in allowed]
    kept = np.array([node not in gone for node in range(len(names))])
    number = np.cumsum(kept) - 1
    return Expanded(
        [name for name, keep in zip(names, kept.tolist(), strict=True) if keep],
        np.array(places)[kept],
        number[tails + [first for first, _ in turns]].astype(np.int32),
        number[heads + [second for _, second in turns]].astype(np.int32),
        len(turns),
    )


def _matches(each: Restriction, ins: list[int], outs: list[int], way: Sequence[int]) -> bool:
    return any(way[link] == each.from_way for link in ins) and any(way[link] == each.to_way for link in outs)


def _allowed(
    ins: list[int],
    outs: list[int],
    listed: list[Restriction],
    way: Sequence[int],
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
) -> list[tuple[int, int]]:
    """Turns that are left, without those that go back where they came from, unless there is no other.

    tail, head : nodes as they were before any junction was taken apart, so that a way back is known as such
    """
    found = []
    for first in ins:
        mine = [each for each in listed if each.from_way == way[first]]
        only = {each.to_way for each in mine if each.only and any(way[link] == each.to_way for link in outs)}
        never = {each.to_way for each in mine if not each.only and not each.back}
        open_turns = [
            link for link in outs if (way[link] in only if only else way[link] not in never or len(outs) == 1)
        ]
        onwards = [link for link in open_turns if head[link] != tail[first]]
        found += [(first, link) for link in onwards or ([] if any(each.back for each in mine) else open_turns)]
    return found
