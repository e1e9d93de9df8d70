"""Which local time belongs to which day of a study: dates, weekdays, the hours of the day, the time zone.

    day k counts the half-open interval [start, end) of local clock time that begins on its date

A period may pass midnight; what follows midnight belongs to the day on which the period began. The length T is that of
the clock: where clocks are put forward or back within the period, it lasts an hour less or more in truth, and T stays
what was announced.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from privroute.errors import HistoryError, arg, named
from privroute.network.checks import check_period, check_period_of_day, show
from privroute.study.dates import DayRange, as_date, check_dates, days_between
from privroute.study.weekdays import NAMES, read_weekdays, weekday_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["MOST_DAYS", "Calendar", "Clock", "Period", "PeriodOfDay", "time_zone", "utc_offsets"]

Clock = str | dt.time
PeriodOfDay = str | tuple[Clock, Clock]

MOST_DAYS = 2**22  # with the largest count, sums over the days stay within 62 bits, as the proofs assume
SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
DAY_US = 86_400 * SECOND_US
EPOCH = dt.date(1970, 1, 1)
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_EARLIEST, _LATEST = dt.date(1970, 1, 5), dt.date(9999, 12, 27)  # so that all times are after 1970, and exist
_HOUR = dt.timedelta(hours=1)
_AROUND = dt.timedelta(days=3)  # more than any time zone is from UTC, and a period that passes midnight
_EVERY_DAY = tuple(range(7))


@dataclass(frozen=True, slots=True)
class Period:
    """Some hours of the day.

    minutes : T, its length
    begins : time of day at which it begins; None where only the length is known
    """

    minutes: float
    begins: dt.time | None = None

    @classmethod
    def of(cls, period: PeriodOfDay) -> Period:
        """Read start and end: "07:00-08:00" or ("22:00", "02:00"), which passes midnight."""
        start, end = _period(period)
        length = end - start if end > start else end - start + DAY_US
        return cls(length / MINUTE_US, _time(start))

    @property
    def start_us(self) -> int:
        """Microseconds after midnight at which it begins; 0 where that is not known."""
        at = self.begins or dt.time()
        return (at.hour * 3600 + at.minute * 60 + at.second) * SECOND_US + at.microsecond

    @property
    def length_us(self) -> int:
        """Microseconds of local clock time."""
        return round(self.minutes * MINUTE_US)

    @property
    def is_of_the_clock(self) -> bool:
        """Whether start and end in whole seconds say all of it."""
        try:
            return self.begins is not None and Period.of(str(self)) == self
        except HistoryError:  # 04:00-04:00, a whole day that begins at four
            return False

    def __str__(self) -> str:
        if self.begins is None:
            return f"{self.minutes:g} minutes"
        end = (self.start_us + self.length_us) % DAY_US
        return f"{_clock_text(self.begins)}-{_clock_text(_time(end)) if end else '24:00'}"


@dataclass(frozen=True, slots=True)
class Calendar:
    """Public: days and hours, chosen before anybody looked at the trips.

    days : N, from a public range of dates, never from the days found
    periods : the hours of the day; one for now
    dates : the days that count, ascending, N of them; None where they have no dates
    weekdays : numbers of the weekdays that count, Monday 0; all but where a range of dates was thinned out
    time_zone : whose wall clock dates and periods mean; None: that of the files
    between : first and last day of the range that was announced, which weekdays thin out; by default those that count
    """

    days: int
    periods: tuple[Period, ...] = (Period(60.0),)
    dates: tuple[dt.date, ...] | None = None
    weekdays: tuple[int, ...] = _EVERY_DAY
    time_zone: str | None = None
    between: DayRange | None = None

    def __post_init__(self) -> None:
        if len(self.periods) != 1:
            raise HistoryError(
                f"{named('periods')} has {len(self.periods):,} entries; a study has one period for now: make one for "
                "each"
            )
        check = check_period if self.dates is None else check_period_of_day
        check(self.period.minutes, error=HistoryError)
        if not 0 <= self.days <= MOST_DAYS:
            raise HistoryError(f"there are {self.days:,} days; a history has at most {MOST_DAYS:,}")
        if self.dates is not None:
            check_dates(self.dates, self.days)
            if any(day.weekday() not in self.weekdays for day in self.dates):
                raise HistoryError("a date is none of the weekdays; leave it out, or widen the weekdays")
            if self.between is None and self.dates:
                object.__setattr__(self, "between", (self.dates[0], self.dates[-1]))
        begins, zone = self.period.begins, self.time_zone
        if begins is not None and (not isinstance(begins, dt.time) or begins.tzinfo):
            raise HistoryError(f"{named('begins')} is {show(begins)}; pass a datetime.time without a time zone")
        if zone is not None and not isinstance(zone, str):
            raise HistoryError(f"{named('time_zone')} is {show(zone)}; pass a name like Europe/Zurich")

    @classmethod
    def of(
        cls,
        period: PeriodOfDay,
        dates: DayRange,
        weekdays: str | Sequence[str | int] | None = None,
        tz: str | None = None,
    ) -> Calendar:
        """The days of a range, and the hours of a period, as `read_trips` takes them."""
        days = days_between(dates)
        hours = Period.of(period)
        chosen = read_weekdays(weekdays)
        counted = tuple(day for day in days if day.weekday() in chosen)
        if not counted:
            raise HistoryError(
                f"no day from {days[0]} to {days[-1]} is one of the weekdays; widen {arg('dates')} or {arg('weekdays')}"
            )
        if not _EARLIEST <= days[0] <= days[-1] <= _LATEST:
            raise HistoryError(f"dates are {days[0]} to {days[-1]}; pass days from {_EARLIEST} to {_LATEST}")
        if tz is not None:
            time_zone(tz)
        return cls(len(counted), (hours,), counted, chosen, tz, (days[0], days[-1]))

    @classmethod
    def of_days(
        cls,
        days: int,
        period_min: float = 60.0,
        dates: Iterable[dt.date] | None = None,
        begins: dt.time | None = None,
        time_zone: str | None = None,
    ) -> Calendar:
        """Days without dates, or with any ascending dates, and a period of this length."""
        check = check_period if dates is None else check_period_of_day
        period = Period(check(period_min, error=HistoryError), begins)
        named = None if dates is None else check_dates(dates, days)
        return cls(days, (period,), named, time_zone=time_zone)

    @property
    def is_regular(self) -> bool:
        """Whether the days are all those of a range that are one of the weekdays."""
        if self.dates is None or self.between is None:
            return False
        return self.dates == tuple(day for day in days_between(self.between) if day.weekday() in self.weekdays)

    @property
    def period(self) -> Period:
        """The only period."""
        return self.periods[0]

    @property
    def first(self) -> dt.date:
        """The first day; there are dates."""
        return (self.dates or ())[0]

    @property
    def span(self) -> int:
        """Days from the first to the last, whatever their weekday."""
        dates = self.dates or ()
        return (dates[-1] - dates[0]).days + 1

    @property
    def start_local_us(self) -> int:
        """When the first day's period begins: microseconds of local clock time since 1970."""
        return (self.first - EPOCH).days * DAY_US + self.period.start_us

    @property
    def end_local_us(self) -> int:
        """A day after the last day's period begins, so not before it ends."""
        return self.start_local_us + self.span * DAY_US

    @property
    def around_us(self) -> tuple[int, int]:
        """An interval that contains every period by days on either side, in local clock time and in UTC."""
        margin = _AROUND.days * DAY_US
        return self.start_local_us - margin, self.end_local_us + margin

    def day(self, position: int) -> Calendar:
        """The calendar of one of the days."""
        return self.of_dates(None if self.dates is None else self.dates[position : position + 1], days=1)

    def of_dates(self, dates: tuple[dt.date, ...] | None, *, days: int | None = None) -> Calendar:
        """The same hours on other days."""
        return replace(
            self, days=len(dates or ()) if days is None else days, dates=dates, weekdays=_EVERY_DAY, between=None
        )

    def positions(self) -> list[int]:
        """For each day of the span its position among the dates that count, -1 where it does not count."""
        place = {date: position for position, date in enumerate(self.dates or ())}
        return [place.get(self.first + dt.timedelta(days=day), -1) for day in range(self.span)]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as in a study file."""
        period = self.period
        values: dict[str, Any] = {"days": self.days}
        if self.dates is not None:
            first, last = self.between or (self.dates[0], self.dates[-1])
            values |= {"from": f"{first}", "to": f"{last}"}
            if not self.is_regular:
                values["dates"] = [day.isoformat() for day in self.dates]
            elif self.weekdays != _EVERY_DAY:
                values["weekdays"] = ",".join(NAMES[day] for day in self.weekdays)
        if not period.is_of_the_clock:
            values["period_min"] = period.minutes
            if period.begins is not None:
                values["begins"] = period.begins.isoformat()
        else:
            values["periods"] = [str(period)]
        if self.time_zone is not None:
            values["time_zone"] = self.time_zone
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Calendar:
        """Read `as_dict` back; whatever does not fit is refused."""
        known = {"days", "from", "to", "dates", "weekdays", "period_min", "begins", "periods", "time_zone"}
        if not set(values) <= known:
            raise HistoryError(f"the calendar does not know {', '.join(sorted(set(values) - known)[:3])}")
        periods = tuple(Period.of(text) for text in values.get("periods", ()))
        if not periods:
            begins = values.get("begins")
            clock = None if begins is None else dt.time.fromisoformat(begins)
            periods = (Period(check_period(values.get("period_min", 60.0), error=HistoryError), clock),)
        weekdays = read_weekdays(values.get("weekdays"))
        dates = between = None
        if "from" in values:
            every = days_between((values["from"], values["to"]))
            between = (every[0], every[-1])
            dates = tuple(day for day in every if day.weekday() in weekdays)
            if "dates" in values:
                dates = tuple(as_date(day, "dates") for day in values["dates"])
                if not dates or not every[0] <= dates[0] <= dates[-1] <= every[-1]:
                    raise HistoryError("the dates are not between from and to")
        days = values.get("days", 0 if dates is None else len(dates))
        if isinstance(days, bool) or not isinstance(days, int) or days < 1:
            raise HistoryError(f"{named('days')} is {show(days)}; pass a whole number of at least 1")
        return cls(days, periods, dates, weekdays, values.get("time_zone"), between)

    def __str__(self) -> str:
        """For people: mon-fri, 2026-03-02 to 2026-04-30 (44 days), 07:00-08:00, Europe/Berlin."""
        values = self.as_dict()
        parts = []
        if self.dates is not None:
            days = f"{self.days:,} day{'s' if self.days != 1 else ''}"
            named = f"{weekday_words(self.weekdays)}, " if "weekdays" in values else ""
            parts.append(f"{named}{values['from']} to {values['to']} ({days})")
        else:
            parts.append(f"{self.days:,} day{'s' if self.days != 1 else ''} without dates")
        parts.append(str(self.period) if self.period.begins is not None else f"{self.period} of each day")
        parts.append(self.time_zone or ("local time of the data" if self.dates is not None else ""))
        return ", ".join(part for part in parts if part)

    def __repr__(self) -> str:
        return f"Calendar({self})"


def _time(microseconds: int) -> dt.time:
    return (dt.datetime.combine(EPOCH, dt.time()) + dt.timedelta(microseconds=microseconds)).time()


def _clock_text(at: dt.time) -> str:
    return at.strftime("%H:%M:%S" if at.second or at.microsecond else "%H:%M")


def utc_offsets(days: Calendar, tz: str) -> list[tuple[int, int]]:
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
    raise HistoryError(f"{named('tz')} is {show(tz)}; pass the name of a time zone, such as Europe/Berlin or UTC")


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
    advice = "write start and end like 07:00-08:00; 22:00-02:00 passes midnight"
    if not isinstance(ends, tuple | list) or len(ends) != 2:  # noqa: PLR2004 - start and end
        raise HistoryError(f"{named('period')} is {show(period)}; {advice}")
    start, end = (_clock(text) for text in ends)
    if start is None or end is None or start >= DAY_US:
        raise HistoryError(f"{named('period')} is {show(period)}; {advice}")
    if start == end:
        raise HistoryError(f"{named('period')} is {show(period)}, which is empty; a whole day is 00:00-24:00")
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
