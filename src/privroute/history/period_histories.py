"""Counts of several periods and kinds of days, read at once: a history for each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from privroute.errors import HistoryError, named
from privroute.history.demand_history import DemandHistory
from privroute.network.checks import check_type, freeze
from privroute.study.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["CellCounts", "PeriodHistories"]

_DENSE_CELLS = 2**25
_WAITING = 2**23


class CellCounts:
    """PRIVATE. Trips in numbered cells, added up while rows are read; memory grows with cells that have trips."""

    def __init__(self, cells: int) -> None:
        self._dense = np.zeros(cells, np.int64) if cells <= _DENSE_CELLS else None
        self._cells, self._trips = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._waiting_rows = 0

    def add(self, cells: NDArray[np.int64], trips: NDArray[np.int64]) -> None:
        """Add trips to cells; a cell may occur several times."""
        if self._dense is not None:
            np.add.at(self._dense, cells, trips)
            return
        self._waiting.append((cells, trips))
        self._waiting_rows += cells.size
        if self._waiting_rows > _WAITING:
            self._settle()

    def found(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Cells that have trips, ascending, and their trips."""
        if self._dense is not None:
            cells = np.flatnonzero(self._dense)
            return cells, self._dense[cells]
        self._settle()
        return self._cells, self._trips

    def _settle(self) -> None:
        cells = np.concatenate([self._cells, *(cells for cells, _ in self._waiting)])
        trips = np.concatenate([self._trips, *(trips for _, trips in self._waiting)])
        self._waiting, self._waiting_rows = [], 0
        order = np.argsort(cells, kind="stable")
        cells, trips = cells[order], trips[order]
        first = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]])) if cells.size else order
        self._cells = cells[first]
        self._trips = np.add.reduceat(trips, first) if cells.size else trips


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PeriodHistories:
    """PRIVATE. How many requests there were for each pair on each day, in each period of each kind of day.

    frame : everything public; its calendar has the periods and kinds of days
    cells, trips : (cells,) positions with requests, ascending, and how many; a position is (row · pairs + pair), rows
        are the days of the first slot, then those of the second, ...
    requests : for each slot, where the frame's bounds have max_for_total
    elsewhere : counted by another system, whose caller asserts what the guarantee assumes (read_counts)
    """

    frame: Frame
    cells: NDArray[np.int64]
    trips: NDArray[np.int64]
    requests: tuple[int, ...] | None = None
    simulated: bool = False
    elsewhere: bool = False
    _parts: tuple[Frame, ...] = field(init=False)
    _first_rows: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        check_type(self.frame, Frame, "frame", HistoryError)
        object.__setattr__(self, "_parts", self.frame.parts)
        rows = np.concatenate([[0], np.cumsum([part.days for part in self._parts])])
        object.__setattr__(self, "_first_rows", freeze(rows.astype(np.int64)))
        limit = int(self._first_rows[-1]) * len(self.frame.pairs)
        for name in ("cells", "trips"):
            object.__setattr__(self, name, freeze(np.asarray(getattr(self, name), np.int64)))
        ascending = bool((np.diff(self.cells) > 0).all())
        if self.cells.shape != self.trips.shape or not ascending or (self.cells.size and self.cells[-1] >= limit):
            raise HistoryError("the cells of the histories do not ascend, or exceed the days and pairs of the frame")
        kept = self.frame.contribution
        measured = kept is not None and kept.max_for_total is not None
        if measured != (self.requests is not None):
            raise HistoryError(f"histories whose bounds have {named('max_for_total')} need totals, and no others do")

    @classmethod
    def of(cls, frame: Frame, parts: Sequence[DemandHistory]) -> Self:
        """Put together the histories of all slots, in their order."""
        if [part.frame for part in parts] != list(frame.parts):
            raise HistoryError("the histories are not those of the frame's periods and kinds of days, in their order")
        counts = np.concatenate([part.counts.ravel() for part in parts])
        cells = np.flatnonzero(counts)
        requests = tuple(part.requests or 0 for part in parts)
        measured = frame.contribution is not None and frame.contribution.max_for_total is not None
        simulated = all(part.simulated for part in parts)
        elsewhere = any(part.elsewhere for part in parts)
        return cls(frame, cells, counts[cells], requests if measured else None, simulated, elsewhere)

    @property
    def total(self) -> int:
        """All trips that were counted."""
        return int(self.trips.sum())

    def part(self, position: int) -> DemandHistory:
        """The history of one slot."""
        frame, pairs, rows = self._parts[position], len(self.frame.pairs), self._first_rows
        ends = np.searchsorted(self.cells, rows[position : position + 2] * pairs)
        counts = np.zeros(frame.days * pairs, np.int64)
        counts[self.cells[slice(*ends)] - int(rows[position]) * pairs] = self.trips[slice(*ends)]
        requests = None if self.requests is None else self.requests[position]
        by_day = counts.reshape(frame.days, pairs)
        made = {"simulated": self.simulated, "elsewhere": self.elsewhere}
        return DemandHistory.of(frame, by_day, requests=requests, **made)

    def parts(self) -> Iterator[DemandHistory]:
        """The histories of all slots, one after the other."""
        return (self.part(position) for position in range(len(self._parts)))

    @property
    def pair_sums(self) -> NDArray[np.int64]:
        """PRIVATE. (pairs,) trips of all days and periods."""
        sums = np.zeros(len(self.frame.pairs), np.int64)
        np.add.at(sums, self.cells % max(sums.size, 1), self.trips)
        return sums

    def __repr__(self) -> str:
        made = ", simulated" if self.simulated else ", PRIVATE"
        return f"PeriodHistories({self.frame.calendar}, {len(self.frame.pairs):,} pairs{made})"
