"""The operation period on each day of a public range: which local time belongs to which day.

    day k counts the half-open interval [start, end) of local clock time that begins on its date

A period may pass midnight; what follows midnight belongs to the day on which the period began. The length T is that of
the clock: where clocks are put forward or back within the period, it lasts an hour less or more in truth, and T stays
what was announced.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privroute.errors import HistoryError
from privroute.history.dates import DayRange, days_between
from privroute.network.checks import show

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Clock", "OperationDays", "PeriodOfDay", "time_zone", "utc_offsets"]

Clock = str | dt.time
PeriodOfDay = str | tuple[Clock, Clock]

NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US
EPOCH = dt.date(1970, 1, 1)
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_EARLIEST, _LATEST = dt.date(1970, 1, 5), dt.date(9999, 12, 27)  # so that all times are after 1970, and exist
_HOUR = dt.timedelta(hours=1)
_AROUND = dt.timedelta(days=3)  # more than any time zone is from UTC, and a period that passes midnight


@dataclass(frozen=True, slots=True)
class OperationDays:
    """Public: dates, period and weekdays, chosen before anybody looked at the trips.

    first : date of day 0; span : days from the first to the last, whatever their weekday
    start_us, length_us : of the period, microseconds of local clock time after midnight
    weekdays : numbers of the weekdays that count, Monday 0
    dates : the days that count, ascending; their number is N
    """

    first: dt.date
    span: int
    start_us: int
    length_us: int
    weekdays: tuple[int, ...]
    dates: tuple[dt.date, ...]

    @classmethod
    def of(cls, period: PeriodOfDay, dates: DayRange, weekdays: str | Sequence[str | int] | None) -> OperationDays:
        """Check what was given."""
        days = days_between(dates)
        start, end = _period(period)
        chosen = _weekdays(weekdays)
        counted = tuple(day for day in days if day.weekday() in chosen)
        if not counted:
            raise HistoryError(f"no day from {days[0]} to {days[-1]} is one of the weekdays; widen dates= or weekdays=")
        if not _EARLIEST <= days[0] <= days[-1] <= _LATEST:
            raise HistoryError(f"dates are {days[0]} to {days[-1]}; pass days from {_EARLIEST} to {_LATEST}")
        length = end - start if end > start else end - start + DAY_US
        return cls(days[0], len(days), start, length, chosen, counted)

    @property
    def period_min(self) -> float:
        """T, minutes."""
        return self.length_us / (60 * SECOND_US)

    @property
    def begins(self) -> dt.time:
        """The time of day at which the period begins."""
        return (dt.datetime.combine(self.first, dt.time()) + dt.timedelta(microseconds=self.start_us)).time()

    @property
    def start_local_us(self) -> int:
        """When the first day's period begins: microseconds of local clock time since 1970."""
        return (self.first - EPOCH).days * DAY_US + self.start_us

    @property
    def end_local_us(self) -> int:
        """A day after the last day's period begins, so not before it ends."""
        return self.start_local_us + self.span * DAY_US

    @property
    def around_us(self) -> tuple[int, int]:
        """An interval that contains every period by days on either side, in local clock time and in UTC."""
        margin = _AROUND.days * DAY_US
        return self.start_local_us - margin, self.end_local_us + margin

    def positions(self) -> list[int]:
        """For each day of the span its position among the dates that count, -1 where it does not count."""
        place = {date: position for position, date in enumerate(self.dates)}
        return [place.get(self.first + dt.timedelta(days=day), -1) for day in range(self.span)]


def utc_offsets(days: OperationDays, tz: str) -> list[tuple[int, int]]:
    """(from, offset): the zone's distance from UTC in microseconds, from that instant on, over all of the days.

    The list begins before the first day; where clocks change there is one more entry.
    """
    zone = time_zone(tz)
    first = dt.datetime.combine(days.first, dt.time(), dt.UTC) - _AROUND
    last = dt.datetime.combine(days.first, dt.time(), dt.UTC) + dt.timedelta(days=days.span) + _AROUND
    offsets = [(_microseconds(first), _offset(zone, first))]
    at = first
    while at < last:
        after = at + _HOUR
        if _offset(zone, after) != offsets[-1][1]:
            offsets.append((_change(zone, at, after), _offset(zone, after)))
        at = after
    return offsets


def time_zone(tz: object) -> zoneinfo.ZoneInfo:
    """The time zone of this name, such as Europe/Berlin."""
    if isinstance(tz, str):
        try:
            return zoneinfo.ZoneInfo(tz)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            pass
    raise HistoryError(f"tz is {show(tz)}; pass the name of a time zone, such as Europe/Berlin or UTC")


def _change(zone: zoneinfo.ZoneInfo, before: dt.datetime, after: dt.datetime) -> int:
    """The second from which the later offset holds."""
    low, high = 0, int((after - before).total_seconds())
    old = _offset(zone, before)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, before + dt.timedelta(seconds=middle)) == old:
            low = middle
        else:
            high = middle
    return _microseconds(before) + high * SECOND_US


def _offset(zone: zoneinfo.ZoneInfo, instant: dt.datetime) -> int:
    offset = instant.astimezone(zone).utcoffset() or dt.timedelta(0)
    return offset // dt.timedelta(microseconds=1)


def _microseconds(instant: dt.datetime) -> int:
    return (instant - dt.datetime.combine(EPOCH, dt.time(), dt.UTC)) // dt.timedelta(microseconds=1)


def _period(period: object) -> tuple[int, int]:
    """Start and end in microseconds after midnight."""
    ends = period.split("-") if isinstance(period, str) else period
    advice = 'pass start and end like ("07:00", "08:00"); ("22:00", "02:00") passes midnight'
    if not isinstance(ends, tuple | list) or len(ends) != 2:  # noqa: PLR2004 - start and end
        raise HistoryError(f"period is {show(period)}; {advice}")
    start, end = (_clock(text) for text in ends)
    if start is None or end is None or start >= DAY_US:
        raise HistoryError(f"period is {show(period)}; {advice}")
    if start == end:
        raise HistoryError(f'period is {show(period)}, which is empty; a whole day is ("00:00", "24:00")')
    return start, end


def _clock(value: object) -> int | None:
    if isinstance(value, dt.time):
        if value.tzinfo is not None:
            return None
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        return seconds * SECOND_US + value.microsecond
    found = _CLOCK.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    at = (hours * 3600 + minutes * 60 + seconds) * SECOND_US
    return at if at <= DAY_US else None


def _weekdays(given: object) -> tuple[int, ...]:
    """Numbers of weekdays, Monday 0, ascending."""
    if given is None:
        return tuple(range(7))
    parts = given.split(",") if isinstance(given, str) else given
    chosen: set[int] = set()
    if isinstance(parts, list | tuple | set | frozenset | range):
        for part in parts:
            found = _weekday(part)
            if not found:
                chosen.clear()
                break
            chosen.update(found)
    if not chosen:
        raise HistoryError(f'weekdays is {show(given)}; pass "mon-fri", "mon,wed,sat-sun", or numbers with Monday 0')
    return tuple(sorted(chosen))


def _weekday(part: object) -> list[int]:
    """The days that a name, a range of names or a number means; none if it means nothing."""
    if isinstance(part, int) and not isinstance(part, bool):
        return [part] if 0 <= part < len(NAMES) else []
    if not isinstance(part, str):
        return []
    ends = [_named(name) for name in part.split("-")]
    if None in ends or len(ends) > 2:  # noqa: PLR2004 - first and last
        return []
    first, last = int(ends[0] or 0), int(ends[-1] or 0)
    return [(first + step) % len(NAMES) for step in range((last - first) % len(NAMES) + 1)]


def _named(name: str) -> int | None:
    word = name.strip().lower()
    full = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    found = [number for number, day in enumerate(full) if word in (day, NAMES[number])]
    return found[0] if found else None
