"""Which local time belongs to which day of a study: dates, weekdays, the hours of the day, the time zone.

    day k counts the half-open interval [start, end) of local clock time that begins on its date

With several periods, or kinds of day, each pair of them is a `Slot`: what is learned for it comes from its own hours of
its own days. Slots share no moment, so a request is in one of them at most.

A period may pass midnight; what follows midnight belongs to the day on which the period began. The length T is that of
the clock: where clocks are put forward or back within the period, it lasts an hour less or more in truth, and T stays
what was announced.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from privroute.errors import HistoryError, InputError, arg, named
from privroute.network.checks import check_period, check_period_of_day, show
from privroute.study.dates import DayRange, as_date, check_dates, days_between
from privroute.study.day_types import DayType, check_day_types, read_day_types, type_of
from privroute.study.periods import (
    DAY_US,
    EPOCH,
    SECOND_US,
    Clock,
    Period,
    PeriodOfDay,
    check_periods,
    read_periods,
)
from privroute.study.time_zones import AROUND, time_zone, utc_offsets
from privroute.study.weekdays import NAMES, read_weekdays, weekday_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "DAY_US",
    "EPOCH",
    "MOST_DAYS",
    "SECOND_US",
    "Calendar",
    "Clock",
    "Period",
    "PeriodOfDay",
    "Slot",
    "time_zone",
    "utc_offsets",
]

MOST_DAYS = 2**22  # with the largest count, sums over the days stay within 62 bits, as the proofs assume
_EARLIEST, _LATEST = dt.date(1970, 1, 5), dt.date(9999, 12, 27)  # so that all times are after 1970, and exist
_EVERY_DAY = tuple(range(7))


@dataclass(frozen=True)
class Calendar:
    """Public: days and hours, chosen before anybody looked at the trips.

    days : N, from a public range of dates, never from the days found
    periods : the hours of the day, ascending; several do not overlap
    dates : the days that count, ascending, N of them; None where they have no dates
    weekdays : numbers of the weekdays that count, Monday 0; all but where a range of dates was thinned out
    time_zone : whose wall clock dates and periods mean; None: that of the files
    between : first and last day of the range that was announced, which weekdays thin out; by default those that count
    day_types : kinds of days, each with policies of its own; none: all days are alike
    holidays : public list of dates that are no weekday: they are of the kind that names them, or do not count
    """

    days: int
    periods: tuple[Period, ...] = (Period(60.0),)
    dates: tuple[dt.date, ...] | None = None
    weekdays: tuple[int, ...] = _EVERY_DAY
    time_zone: str | None = None
    between: DayRange | None = None
    day_types: tuple[DayType, ...] = ()
    holidays: tuple[dt.date, ...] = ()

    def __post_init__(self) -> None:
        check_periods(self.periods)
        check_day_types(self.day_types)
        check = check_period if self.dates is None else check_period_of_day
        for period in self.periods:
            check(period.minutes, error=HistoryError)
        if (self.day_types or self.holidays) and self.dates is None:
            raise HistoryError(f"{named('day_types')} and {named('holidays')} need dates; pass {arg('dates')}")
        if not 0 <= self.days <= MOST_DAYS:
            raise HistoryError(f"there are {self.days:,} days; a history has at most {MOST_DAYS:,}")
        if self.dates is not None:
            check_dates(self.dates, self.days)
            if any(day.weekday() not in self.weekdays for day in self.dates):
                raise HistoryError("a date is none of the weekdays; leave it out, or widen the weekdays")
            if self.between is None and self.dates:
                object.__setattr__(self, "between", (self.dates[0], self.dates[-1]))
        self._check_kinds()
        zone = self.time_zone
        if zone is not None and not isinstance(zone, str):
            raise HistoryError(f"{named('time_zone')} is {show(zone)}; pass a name like Europe/Zurich")

    def _check_kinds(self) -> None:
        """Refuse a kind of day that no day is of."""
        closed = frozenset(self.holidays)
        found = {type_of(day, self.day_types, closed) for day in self.dates or ()}
        for at, each in enumerate(self.day_types):
            if at not in found:
                raise HistoryError(f"no day of the dates is a {each.name} ({each.words}); widen {arg('dates')}")

    @classmethod
    def of(
        cls,
        period: PeriodOfDay | Sequence[PeriodOfDay],
        dates: DayRange,
        weekdays: str | Sequence[str | int] | None = None,
        tz: str | None = None,
        *,
        day_types: Mapping[str, str] | None = None,
        holidays: Iterable[dt.date | str] = (),
    ) -> Calendar:
        """The days of a range, and the hours of a period or of a list of them, as `read_trips` takes them."""
        days = days_between(dates)
        hours = read_periods(period) if isinstance(period, list) else (Period.of(period),)  # type: ignore[arg-type]
        chosen = read_weekdays(weekdays)
        kinds = () if day_types is None else read_day_types(day_types)
        if kinds and weekdays is not None:
            raise HistoryError(f"{arg('day_types')} says which weekdays count; omit {arg('weekdays')}")
        listed = tuple(sorted({as_date(day, "holidays") for day in holidays}))
        counted = _counted(days, chosen, kinds, listed)
        if not counted:
            raise HistoryError(
                f"no day from {days[0]} to {days[-1]} is one of the weekdays; widen {arg('dates')} or {arg('weekdays')}"
            )
        if not _EARLIEST <= days[0] <= days[-1] <= _LATEST:
            raise HistoryError(f"dates are {days[0]} to {days[-1]}; pass days from {_EARLIEST} to {_LATEST}")
        if tz is not None:
            time_zone(tz)
        return cls(len(counted), hours, counted, chosen, tz, (days[0], days[-1]), kinds, listed)

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
        """Whether the days are all those of a range that are one of the weekdays, or of a kind that counts."""
        if self.dates is None or self.between is None:
            return False
        return self.dates == _counted(days_between(self.between), self.weekdays, self.day_types, self.holidays)

    @property
    def has_slots(self) -> bool:
        """Whether there is more than one policy to learn, or a kind of day to tell."""
        return len(self.periods) > 1 or bool(self.day_types)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """What is learned apart: each period of each kind of day, kind after kind, in the order of the day."""
        if not self.has_slots:
            return (Slot(None, self),)
        kinds: list[tuple[str | None, tuple[dt.date, ...] | None]] = [(None, self.dates)]
        if self.day_types:
            closed = frozenset(self.holidays)
            of = {date: type_of(date, self.day_types, closed) for date in self.dates or ()}
            kinds = [
                (kind.name, tuple(date for date in self.dates or () if of[date] == at))
                for at, kind in enumerate(self.day_types)
            ]
        return tuple(
            Slot(
                name,
                replace(
                    self,
                    days=self.days if dates is None else len(dates),
                    periods=(period,),
                    dates=dates,
                    weekdays=_EVERY_DAY,
                    day_types=(),
                    holidays=(),
                ),
            )
            for name, dates in kinds
            for period in self.periods
        )

    @cached_property
    def position_of_name(self) -> dict[str, int]:
        """Positions of the slots by their names and by their keys."""
        names = {str(slot): at for at, slot in enumerate(self.slots)}
        return names | {slot.key: at for at, slot in enumerate(self.slots)}

    @cached_property
    def _starts_us(self) -> list[int]:
        return [period.start_us for period in self.periods]

    def slot_at(self, moment: dt.datetime) -> int | None:
        """Position of the slot to which a moment belongs, on any date; None where no period or kind of day has it.

        moment : by the clock of the calendar's time zone; with an offset from UTC it is converted to it
        """
        if not _EARLIEST <= moment.date() <= _LATEST:  # no clock of another zone is beyond what a date can name
            return None
        if moment.tzinfo is not None and self.time_zone is None:
            raise InputError("times are by the local clock of the data, whose time zone is not known; omit the offset")
        if moment.tzinfo is not None:
            moment = moment.astimezone(time_zone(self.time_zone)).replace(tzinfo=None)
        clock = (moment - dt.datetime.combine(moment.date(), dt.time())) // dt.timedelta(microseconds=1)
        at = (bisect_right(self._starts_us, clock) or len(self.periods)) - 1  # before the first the last may still run
        period = self.periods[at]
        if (clock - period.start_us) % DAY_US >= period.length_us:
            return None
        began = moment.date() - dt.timedelta(days=int(clock < period.start_us))
        counted = _counted((began,), self.weekdays, self.day_types, self.holidays)
        kind = type_of(began, self.day_types, frozenset(self.holidays)) or 0
        return kind * len(self.periods) + at if counted else None

    @property
    def period(self) -> Period:
        """The only period."""
        if len(self.periods) != 1:
            raise HistoryError(
                f"the calendar has {len(self.periods):,} periods where one is needed; choose one of them"
            )
        return self.periods[0]

    @property
    def turn_us(self) -> int:
        """Time of day from which on all periods belong to the day itself: microseconds after midnight."""
        if len(self.periods) == 1:
            return self.periods[0].start_us
        last = self.periods[-1]
        return max(0, last.start_us + last.length_us - DAY_US)

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
        """When the periods of the first day begin at the earliest: microseconds of local clock time since 1970."""
        return (self.first - EPOCH).days * DAY_US + self.turn_us

    @property
    def end_local_us(self) -> int:
        """A day after those of the last day begin, so not before they end."""
        return self.start_local_us + self.span * DAY_US

    @property
    def around_us(self) -> tuple[int, int]:
        """An interval that contains every period by days on either side, in local clock time and in UTC."""
        margin = AROUND.days * DAY_US
        return self.start_local_us - margin, self.end_local_us + margin

    def day(self, position: int) -> Calendar:
        """The calendar of one of the days."""
        return self.of_dates(None if self.dates is None else self.dates[position : position + 1], days=1)

    def of_dates(self, dates: tuple[dt.date, ...] | None, *, days: int | None = None) -> Calendar:
        """The same hours on other days."""
        return replace(
            self,
            days=len(dates or ()) if days is None else days,
            dates=dates,
            weekdays=_EVERY_DAY,
            between=None,
            day_types=(),
            holidays=(),
        )

    def positions(self) -> list[int]:
        """For each day of the span its position among the dates that count, -1 where it does not count."""
        place = {date: position for position, date in enumerate(self.dates or ())}
        return [place.get(self.first + dt.timedelta(days=day), -1) for day in range(self.span)]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as in a study file."""
        values: dict[str, Any] = {"days": self.days}
        if self.dates is not None:
            first, last = self.between or (self.dates[0], self.dates[-1])
            values |= {"from": f"{first}", "to": f"{last}"}
            if not self.is_regular:
                values["dates"] = [day.isoformat() for day in self.dates]
            elif self.weekdays != _EVERY_DAY:
                values["weekdays"] = ",".join(NAMES[day] for day in self.weekdays)
        if self.day_types:
            values["day_types"] = {kind.name: kind.words for kind in self.day_types}
        if self.holidays:
            values["holidays"] = [day.isoformat() for day in self.holidays]
        if all(period.is_of_the_clock for period in self.periods):
            values["periods"] = [str(period) for period in self.periods]
        else:
            values["period_min"] = self.period.minutes
            if self.period.begins is not None:
                values["begins"] = self.period.begins.isoformat()
        if self.time_zone is not None:
            values["time_zone"] = self.time_zone
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Calendar:
        """Read `as_dict` back; whatever does not fit is refused."""
        known = {"days", "from", "to", "dates", "weekdays", "period_min", "begins", "periods", "time_zone"}
        known |= {"day_types", "holidays"}
        if not set(values) <= known:
            raise HistoryError(f"the calendar does not know {', '.join(sorted(set(values) - known)[:3])}")
        periods = read_periods(values.get("periods", ()))
        kinds = read_day_types(values["day_types"]) if "day_types" in values else ()
        holidays = tuple(sorted({as_date(day, "holidays") for day in values.get("holidays", ())}))
        if not periods:
            begins = values.get("begins")
            clock = None if begins is None else dt.time.fromisoformat(begins)
            periods = (Period(check_period(values.get("period_min", 60.0), error=HistoryError), clock),)
        weekdays = read_weekdays(values.get("weekdays"))
        dates = between = None
        if "from" in values:
            every = days_between((values["from"], values["to"]))
            between = (every[0], every[-1])
            dates = _counted(every, weekdays, kinds, holidays)
            if "dates" in values:
                dates = tuple(as_date(day, "dates") for day in values["dates"])
                if not dates or not every[0] <= dates[0] <= dates[-1] <= every[-1]:
                    raise HistoryError("the dates are not between from and to")
        days = values.get("days", 0 if dates is None else len(dates))
        if isinstance(days, bool) or not isinstance(days, int) or days < 1:
            raise HistoryError(f"{named('days')} is {show(days)}; pass a whole number of at least 1")
        return cls(days, periods, dates, weekdays, values.get("time_zone"), between, kinds, holidays)

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
        if self.day_types:
            parts.append(" and ".join(f"{kind.name} ({kind.words})" for kind in self.day_types))
        if self.holidays:
            parts.append(f"{len(self.holidays):,} holiday{'s' if len(self.holidays) != 1 else ''} by a public list")
        parts.append(_hours(self.periods))
        parts.append(self.time_zone or ("local time of the data" if self.dates is not None else ""))
        return ", ".join(part for part in parts if part)

    def __repr__(self) -> str:
        return f"Calendar({self})"


@dataclass(frozen=True, slots=True)
class Slot:
    """One period of one kind of day, with a policy of its own.

    day_type : name of the kind; None where all days are alike
    calendar : its days and its one period
    """

    day_type: str | None
    calendar: Calendar

    @property
    def period(self) -> Period:
        """Its hours."""
        return self.calendar.period

    @property
    def key(self) -> str:
        """A name for files: workday_0700-0800."""
        hours = str(self.period).replace(":", "").replace(" ", "-")
        return hours if self.day_type is None else f"{self.day_type}_{hours}"

    @property
    def as_dict(self) -> dict[str, str | None]:
        """Plain values."""
        return {"day_type": self.day_type, "period": str(self.period)}

    def __str__(self) -> str:
        return str(self.period) if self.day_type is None else f"{self.day_type} {self.period}"


def _counted(
    days: Iterable[dt.date], weekdays: tuple[int, ...], kinds: tuple[DayType, ...], holidays: tuple[dt.date, ...]
) -> tuple[dt.date, ...]:
    """The days that count."""
    closed = frozenset(holidays)
    if kinds:
        return tuple(day for day in days if type_of(day, kinds, closed) is not None)
    return tuple(day for day in days if day.weekday() in weekdays and day not in closed)


def _hours(periods: tuple[Period, ...]) -> str:
    """Periods for people: 07:00-08:00, or 24 periods from 00:00 to 24:00."""
    if len(periods) == 1:
        return str(periods[0]) if periods[0].begins is not None else f"{periods[0]} of each day"
    few = 3
    if len(periods) <= few:
        return " and ".join(map(str, periods))
    first, last = str(periods[0]).partition("-")[0], str(periods[-1]).partition("-")[2]
    return f"{len(periods)} periods from {first} to {last}"
