"""What is public of a data set: everything but its counts."""

from __future__ import annotations

from dataclasses import dataclass

from privroute.errors import HistoryError
from privroute.network.checks import check_period_of_day, check_type
from privroute.network.demand import check_expansion
from privroute.network.pairs import Pairs
from privroute.study.calendar import Calendar
from privroute.study.contribution import Contribution

__all__ = ["Frame"]


@dataclass(frozen=True, slots=True)
class Frame:
    """Chosen before anybody looked at the trips; histories, ledgers, streams and studies hold the same object.

    pairs : the set of pairs
    calendar : days, hours and time zone
    expansion : vehicles on the road for each request in the data
    contribution : how much of one user is counted at most, or None where users are not told apart
    """

    pairs: Pairs
    calendar: Calendar
    expansion: float = 1.0
    contribution: Contribution | None = None

    def __post_init__(self) -> None:
        check_type(self.pairs, Pairs, "pairs", HistoryError)
        check_type(self.calendar, Calendar, "calendar", HistoryError)
        object.__setattr__(self, "expansion", check_expansion(self.expansion))
        if self.contribution is not None:
            check_type(self.contribution, Contribution, "contribution", HistoryError)
            if self.contribution.unit == "user-day":  # whose day must be one
                check_period_of_day(self.period_min, error=HistoryError)

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
