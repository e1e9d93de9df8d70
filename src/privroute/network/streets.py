"""Links as people know them: how a street runs, its name, its class, its lanes and its number in OpenStreetMap."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import NetworkError
from privroute.network.checks import RebuiltOnCopy, as_array, freeze, number_array, part_starts, real_array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["CONNECTOR", "TURN", "Streets"]

CONNECTOR = "connector"
"""Class of links between a zone and the streets: not a street, never drawn."""
TURN = "turn"
"""Class of links within a junction where some turns are forbidden: not a street, without length."""

_LONGEST_TEXT = 1000
_FEWEST_POINTS = 2  # of a line


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Streets(RebuiltOnCopy):
    """What is public of the links beside their travel times.

    start : (links + 1,) int64; link e is drawn through points[start[e] : start[e + 1]], at least two of them
    points : (points, 2) in the coordinates of the nodes, from tail to head
    name : (links,) of the street, "" where it has none
    road_class : (links,) as OpenStreetMap's `highway`, CONNECTOR or TURN, "" where it is not known
    lanes : (links,) in the direction of the link, 0 where it is not known
    osm_way_id : (links,) int64, 0 where it is not known
    """

    start: NDArray[np.int64]
    points: NDArray[np.float64]
    name: tuple[str, ...]
    road_class: tuple[str, ...]
    lanes: NDArray[np.float64]
    osm_way_id: NDArray[np.int64]

    def __init__(
        self,
        start: ArrayLike,
        points: ArrayLike,
        *,
        name: Iterable[str] | None = None,
        road_class: Iterable[str] | None = None,
        lanes: ArrayLike = 0.0,
        osm_way_id: ArrayLike | None = None,
    ) -> None:
        places = real_array(points, "points", NetworkError)
        if places.ndim != 2 or places.shape[1] != 2 or not np.isfinite(places).all():  # noqa: PLR2004 - x and y
            raise NetworkError("streets: points must be finite numbers of shape (points, 2)")
        starts = part_starts(start, "streets: start", len(places), NetworkError, least=_FEWEST_POINTS)
        links = starts.size - 1
        put = object.__setattr__
        put(self, "start", starts)
        put(self, "points", freeze(places))
        put(self, "name", _texts(name, links, "name"))
        put(self, "road_class", _texts(road_class, links, "road_class"))
        put(self, "lanes", number_array(lanes, "lanes", links, NetworkError))
        ids = np.zeros(links, np.int64) if osm_way_id is None else as_array(osm_way_id, "osm_way_id", NetworkError)
        if ids.shape != (links,) or ids.dtype.kind not in "iu":
            raise NetworkError(f"streets: osm_way_id must be whole numbers, one for each of the {links:,} links")
        put(self, "osm_way_id", freeze(ids.astype(np.int64)))

    @classmethod
    def straight(cls, points: NDArray[np.float64], tail: ArrayLike, head: ArrayLike, **more: Any) -> Streets:
        """Lines from node to node; points : (nodes, 2)."""
        ends = np.column_stack([as_array(tail, "tail", NetworkError), as_array(head, "head", NetworkError)])
        return cls(np.arange(len(ends) + 1) * 2, points[ends].reshape(-1, 2), **more)

    def __len__(self) -> int:
        return self.start.size - 1

    @property
    def drawn(self) -> NDArray[np.bool_]:
        """(links,) whether the link is a street: neither a connector nor a turn within a junction."""
        return np.fromiter((kind not in (CONNECTOR, TURN) for kind in self.road_class), bool, len(self))

    def line(self, link: int) -> NDArray[np.float64]:
        """(points, 2) of one link."""
        return self.points[self.start[link] : self.start[link + 1]]

    def take(self, links: NDArray[Any]) -> Streets:
        """Those of some links, by positions."""
        count = np.diff(self.start)[links]
        start = np.concatenate([[0], np.cumsum(count)])
        within = np.arange(start[-1]) - np.repeat(start[:-1], count)
        return Streets(
            start,
            self.points[np.repeat(self.start[:-1][links], count) + within],
            name=[self.name[link] for link in links.tolist()],
            road_class=[self.road_class[link] for link in links.tolist()],
            lanes=self.lanes[links],
            osm_way_id=self.osm_way_id[links],
        )

    def joined(self, other: Streets) -> Streets:
        """These, and then the other ones."""
        return Streets(
            np.concatenate([self.start, other.start[1:] + self.start[-1]]),
            np.concatenate([self.points, other.points]),
            name=self.name + other.name,
            road_class=self.road_class + other.road_class,
            lanes=np.concatenate([self.lanes, other.lanes]),
            osm_way_id=np.concatenate([self.osm_way_id, other.osm_way_id]),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Streets):
            return NotImplemented
        return all(_same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        named = sum(map(bool, self.name))
        return f"Streets({len(self):,} links, {len(self.points):,} points, {named:,} with a name)"


def _texts(given: Iterable[str] | None, links: int, what: str) -> tuple[str, ...]:
    texts = ("",) * links if given is None else tuple(given)
    if len(texts) != links:
        raise NetworkError(f"streets: {what} has {len(texts):,} texts where there are {links:,} links")
    for position, text in enumerate(texts):
        if not isinstance(text, str) or len(text) > _LONGEST_TEXT or not text.isprintable() or text != text.strip():
            raise NetworkError(
                f"streets: {what} at position {position:,} is not a printable text of at most {_LONGEST_TEXT:,} "
                "characters without blanks at its ends"
            )
    return texts


def _same(mine: Any, theirs: Any) -> bool:
    return np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs
