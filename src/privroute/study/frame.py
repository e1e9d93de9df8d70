"""What is public of a data set: everything but its counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from privroute.errors import HistoryError, arg, named
from privroute.network.checks import check_period_of_day, check_type, show
from privroute.network.demand import check_expansion
from privroute.network.pairs import Pairs
from privroute.study.calendar import Calendar
from privroute.study.contribution import Contribution

if TYPE_CHECKING:
    from privroute.study.trip_format import TripFormat

__all__ = ["Frame"]

_MIN_PER_H = 60.0


@dataclass(frozen=True, slots=True)
class Frame:
    """Chosen before anybody looked at the trips; histories, ledgers, streams and studies hold the same object.

    pairs : the set of pairs
    calendar : days, hours and time zone
    expansion : vehicles on the road for each request in the data
    contribution : how much of one user is counted at most, or None where users are not told apart
    total_per_h : vehicles on the road per hour, if that is publicly known; the demand of bounded users is scaled to it
    reading : columns and formats from which trips were read; None for counts that were made in another way
    """

    pairs: Pairs
    calendar: Calendar
    expansion: float = 1.0
    contribution: Contribution | None = None
    total_per_h: float | None = None
    reading: TripFormat | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_type(self.pairs, Pairs, "pairs", HistoryError)
        check_type(self.calendar, Calendar, "calendar", HistoryError)
        object.__setattr__(self, "expansion", check_expansion(self.expansion))
        if self.contribution is not None:
            check_type(self.contribution, Contribution, "contribution", HistoryError)
            if self.contribution.unit == "user-day":  # whose day must be one
                for period in self.calendar.periods:
                    check_period_of_day(period.minutes, error=HistoryError)
        if self.total_per_h is not None:
            _check_total(self.total_per_h, self.contribution)
            if self.calendar.has_slots:
                raise HistoryError(
                    f"{named('total_vehicles_per_hour')} is one number where periods differ; measure the total of each "
                    f"with {named('max_for_total')}"
                )

    @property
    def parts(self) -> tuple[Frame, ...]:
        """A frame for each period of each kind of day, as in `Calendar.slots`; itself where there is one."""
        if not self.calendar.has_slots:
            return (self,)
        return tuple(replace(self, calendar=slot.calendar) for slot in self.calendar.slots)

    @property
    def total_per_min(self) -> float | None:
        """Vehicles on the road per minute, if that is known."""
        return None if self.total_per_h is None else self.total_per_h / _MIN_PER_H

    @property
    def days(self) -> int:
        """N."""
        return self.calendar.days

    @property
    def period_min(self) -> float:
        """T, minutes."""
        return self.calendar.period.minutes

    def __repr__(self) -> str:
        bounds = "" if self.contribution is None else f", {self.contribution}"
        expanded = "" if self.expansion == 1 else f", expansion {self.expansion:g}"
        return f"Frame({len(self.pairs):,} pairs, {self.calendar}{expanded}{bounds})"


def _check_total(total_per_h: object, contribution: Contribution | None) -> None:
    """Refuse a total that is no rate, and one beside counts that are complete or measure it."""
    good = isinstance(total_per_h, int | float) and not isinstance(total_per_h, bool)
    if not good or not 0 < total_per_h < math.inf:  # type: ignore[operator]
        raise HistoryError(f"{named('total_vehicles_per_hour')} is {show(total_per_h)}; pass a positive number")
    if contribution is None or not contribution.of_users:
        raise HistoryError(
            f"{named('total_vehicles_per_hour')} is for {arg('unit', 'user')} and {arg('unit', 'user-day')}, whose "
            "counts leave trips out; omit it"
        )
    if contribution.max_for_total is not None:
        raise HistoryError(
            f"{named('max_for_total')} measures the total, and {named('total_vehicles_per_hour')} states it; pass one"
        )
