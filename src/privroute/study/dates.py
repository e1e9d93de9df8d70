"""Days and ranges of days. The range is public, whatever the records hold: it alone gives the number of days."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from privroute.errors import HistoryError, named
from privroute.network.checks import show

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Day", "DayRange", "as_date", "check_dates", "days_between", "read_date"]

Day = dt.date | str
DayRange = tuple[Day, Day]

_LONGEST_RANGE_DAYS = 20_000


def read_date(text: str) -> dt.date | None:
    """The date that a text like 2026-03-02 names; None if it names none."""
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def as_date(value: object, name: str) -> dt.date:
    """Return a public argument as a date, also where it is given as a text."""
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    date = read_date(value) if isinstance(value, str) else None
    if date is None:
        raise HistoryError(f"{named(name)} is {show(value)}; pass a datetime.date or a text like 2026-03-02")
    return date


def days_between(dates: DayRange) -> list[dt.date]:
    """Every day from the first to the last of `dates`, both included."""
    if not isinstance(dates, tuple | list) or len(dates) != 2:  # noqa: PLR2004 - first and last
        raise HistoryError(f"{named('dates')} is {show(dates)}; pass the first and the last day")
    first, last = (as_date(end, "dates") for end in dates)
    if not dt.timedelta(0) <= last - first <= dt.timedelta(days=_LONGEST_RANGE_DAYS):
        raise HistoryError(f"the range {first} to {last} is empty or longer than {_LONGEST_RANGE_DAYS:,} days")
    return [first + dt.timedelta(days=day) for day in range((last - first).days + 1)]


def check_dates(dates: Iterable[dt.date], days: int) -> tuple[dt.date, ...]:
    """Return the dates of all days of a history if they are dates, ascending."""
    try:
        listed = tuple(dates)
    except TypeError:
        raise HistoryError(f"dates is {show(dates)}; pass one datetime.date for each day") from None
    if len(listed) != days:
        raise HistoryError(f"there are {len(listed):,} dates for {days:,} days of counts")
    for position, day in enumerate(listed):
        if not isinstance(day, dt.date) or isinstance(day, dt.datetime):
            raise HistoryError(f"dates: position {position:,} is a {type(day).__name__}; pass datetime.date")
        if position and day <= listed[position - 1]:
            raise HistoryError(
                f"dates: position {position:,} is not after the one before; give each day once, in order"
            )
    return listed
