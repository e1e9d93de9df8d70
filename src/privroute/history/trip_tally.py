"""What statements say of rows, summed up to histories. PRIVATE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.history.demand_history import LARGEST_COUNT
from privroute.history.nearest_zone import FAULTS
from privroute.history.period_histories import CellCounts, PeriodHistories

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.study.frame import Frame

__all__ = ["FIRST_FAULT", "REASONS", "UNREADABLE_WEIGHT", "Histories", "Tally"]

Histories = Any
"""A DemandHistory, or a PeriodHistories where there are several periods: the arguments' values decide."""

REASONS = ("counted", "unreadable_time", "missing_user", "unknown_zone", "within_zone", "no_path", *FAULTS.values())
REASONS += ("unreadable_weight",)
UNREADABLE_WEIGHT = len(REASONS) - 1
FIRST_FAULT = UNREADABLE_WEIGHT - len(FAULTS) - 1  # the fault -k stands k places behind it


class Tally:
    """PRIVATE. What the statements say of the rows, summed up.

    reasons : (reasons,) rows that were dropped, by position in REASONS
    requests : of each slot, all that count for a measured total, or None
    """

    def __init__(self, frame: Frame) -> None:
        slots = frame.calendar.slots
        self.reasons = np.zeros(len(REASONS), dtype=np.int64)
        self.requests: tuple[int, ...] | None = None
        self._frame = frame
        self._counts = CellCounts(sum(slot.calendar.days for slot in slots) * len(frame.pairs))
        # the row of each slot and day of the span; all that occur count
        self._row, first = np.full((len(slots), frame.calendar.span), -1), 0
        for at, slot in enumerate(slots):
            days = [(date - frame.calendar.first).days for date in slot.calendar.dates or ()]
            self._row[at, days] = first + np.arange(len(days))
            first += len(days)

    def add(
        self, reason: NDArray[np.int32], day: Any, pair: Any, trips: Any = None, slot: Any = None, weight: Any = None
    ) -> None:
        """Add rows with a reason, and where that is 0 a day of the span, a slot and a pair; each stands for trips.

        weight : as how many requests the trips count, all together; as many as they are where there are no weights
        """
        if trips is None:
            self.reasons += np.bincount(reason, minlength=len(REASONS))
        else:
            np.add.at(self.reasons, reason, trips)
        good = np.flatnonzero(reason == 0)
        trips = trips if weight is None else weight
        slots = 0 if slot is None else slot[good].astype(np.int64)
        rows = self._row[slots, day[good].astype(np.int64)]
        cells = rows * len(self._frame.pairs) + pair[good].astype(np.int64)
        self._counts.add(cells, np.ones(good.size, np.int64) if trips is None else trips[good])

    def add_requests(self, slot: Any, requests: Any) -> None:
        """Note how many requests of each slot count for a measured total."""
        totals = np.zeros(len(self._row), np.int64)
        totals[slot.astype(np.int64)] = requests
        self.requests = tuple(totals.tolist())

    def histories(self) -> Histories:
        """One history, or those of all slots."""
        cells, trips = self._counts.found()
        # weights may sum up to more than a history holds; cutting off does not expand differences
        found = PeriodHistories(self._frame, cells, np.minimum(trips, LARGEST_COUNT), self.requests)
        return found if self._frame.calendar.has_slots else found.part(0)
