"""SQL for the columns of trip tables, by their plain forms: departure times, zones, coordinates, users.

No expression here can fail on any value: whatever cannot be read becomes NULL, and so costs its own row only. What a
column's form cannot express at all (times with an offset where no time zone is named) is a matter of the schema and is
refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from privroute.errors import HistoryError, arg, named
from privroute.history.trip_batches import Hours
from privroute.history.trip_database import UnreadableError, literal
from privroute.network.checks import one_of, show
from privroute.study.calendar import DAY_US, EPOCH, SECOND_US, utc_offsets
from privroute.study.weekdays import NAMES

if TYPE_CHECKING:
    from privroute.history.trip_batches import Form
    from privroute.history.trip_database import Database
    from privroute.study.calendar import Calendar
    from privroute.study.trip_format import EpochUnit

__all__ = [
    "MISSING_USERS",
    "OFFSET_TEXT",
    "TIME_TEXT",
    "TimeColumn",
    "TimeReading",
    "coordinate",
    "day_number",
    "in_period",
    "slot_number",
    "user_key",
    "whole",
    "zone_key",
]

_LARGEST_EXACT = 2**53  # whole numbers up to here survive a float
_LARGEST_US = 2**62
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# a day, 0:00 to 23:59:59.9... or 24:00, and what clocks are ahead of UTC; read by all engines, so without backslashes
TIME_TEXT = (
    "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[ T]"
    "(([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?|24:00(:00([.]0+)?)?)"
)
OFFSET_TEXT = " ?(Z|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)"
_WHOLE_TEXT = r"[+-]?[0-9]{1,18}"
MISSING_USERS = ("", "nan", "null", "none", "na", "n/a", "<na>", "nat", "-")
# DuckDB's types of parsed texts, and how whole microseconds, rounded down, come out of them
_FROM_PARSED = {
    "TIMESTAMP": "epoch_us({0})",
    "TIMESTAMP_NS": "epoch_ns({0}) // 1000",
    "TIMESTAMP WITH TIME ZONE": "epoch_us({0})",
}


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """SQL of a departure column in whole microseconds since 1970, rounded down; NULL where it is not readable.

    local_us : of times by the clock; utc_us : of times whose distance from UTC is known
    """

    local_us: str = "CAST(NULL AS BIGINT)"
    utc_us: str = "CAST(NULL AS BIGINT)"


@dataclass(frozen=True, slots=True)
class TimeReading:
    """How departure times are to be read: public options.

    calendar : days, hours and time zone; times that say their distance from UTC are converted to it
    time_format : of texts, in the letters of strptime; default: like 2026-03-02 07:15:00, with or without offset
    epoch_unit : of numbers, counted from 1970 in UTC
    """

    calendar: Calendar
    time_format: str | None
    epoch_unit: EpochUnit | None

    def __post_init__(self) -> None:
        if self.epoch_unit is not None:
            one_of(self.epoch_unit, _PER_SECOND, "epoch_unit", HistoryError)
        if self.time_format is not None:
            if not isinstance(self.time_format, str) or "%" not in self.time_format or "\0" in self.time_format:
                raise HistoryError(
                    f"{named('time_format')} is {show(self.time_format)}; pass letters like %d.%m.%Y %H:%M"
                )
            if self.epoch_unit is not None:
                raise HistoryError(
                    f"{arg('time_format')} is for texts and {arg('epoch_unit')} for numbers; pass one of them"
                )
            if self._format_is_aware and self.calendar.time_zone is None:
                raise HistoryError(
                    f"times with an offset need {arg('tz')}, the time zone of period and dates: Europe/Berlin"
                )
        if self.epoch_unit is not None and self.calendar.time_zone is None:
            raise HistoryError(
                f"{arg('epoch_unit')} counts in UTC; pass {arg('tz')} to say in which time zone the period is meant"
            )

    @property
    def _format_is_aware(self) -> bool:
        return "%z" in self._letters.lower()

    @property
    def _letters(self) -> str:
        """The format without its literal percent signs."""
        return (self.time_format or "").replace("%%", "")

    def check_format(self, database: Database) -> None:
        """Refuse a format that DuckDB does not know, before a file is opened: it would look like a damaged one."""
        kind = "TIMESTAMP"
        if self.time_format is not None:
            try:
                kind = database.rows(f"SELECT typeof(try_strptime('', {literal(self.time_format)}))")[0][0]
            except UnreadableError:
                kind = ""
        if kind not in _FROM_PARSED:
            raise HistoryError(
                f"{named('time_format')} is {show(self.time_format)}, which has letters that strptime does not know, "
                "or %n with %z"
            )

    def column(self, name: str, form: Form) -> TimeColumn | None:
        """SQL for a column of this form; None if the form cannot hold departure times, or not without an option."""
        if self.epoch_unit is not None:
            number = _epoch_us(name, form, self.epoch_unit)
            return None if number is None else TimeColumn(utc_us=number)
        if form == "local_us":
            return TimeColumn(local_us=name)
        if form == "utc_us":
            return None if self.calendar.time_zone is None else TimeColumn(utc_us=name)
        return self._text(name) if form == "text" else None

    def _text(self, name: str) -> TimeColumn:
        if self.time_format is not None:
            kind = "TIMESTAMP_NS" if "%n" in self._letters else "TIMESTAMP"
            parsed = _FROM_PARSED[kind].format(f"try_strptime({name}, {literal(self.time_format)})")
            return TimeColumn(utc_us=parsed) if self._format_is_aware else TimeColumn(local_us=parsed)
        text = _trimmed(name)
        local = f"CASE WHEN regexp_full_match({text}, '{TIME_TEXT}') THEN epoch_us(TRY_CAST({text} AS TIMESTAMP)) END"
        if self.calendar.time_zone is None:
            return TimeColumn(local)
        instant = (
            f"CASE WHEN regexp_full_match({text}, '{TIME_TEXT}{OFFSET_TEXT}') "
            f"THEN epoch_us(TRY_CAST(substr({text}, 1, 11) || replace(substr({text}, 12), ' ', '') AS TIMESTAMPTZ)) END"
        )
        return TimeColumn(local, instant)

    def hours(self, form: Form) -> Hours | None:
        """Outside of which no time of a column of this form is within a period; None where that is not known.

        A time in UTC is within them if it would be by any of the zone's clocks; `local_us` says by which it goes.
        """
        start, length = _all_hours(self.calendar)
        if form not in ("local_us", "utc_us") or length >= DAY_US:
            return None
        ahead = {0} if form == "local_us" else {offset for _, offset in self._offsets}
        return Hours(tuple(sorted((start - offset) % DAY_US for offset in ahead)), length)

    @property
    def _offsets(self) -> list[tuple[int, int]]:
        return utc_offsets(self.calendar, self.calendar.time_zone or "UTC")

    @property
    def local_us(self) -> str:
        """SQL of the clock time of a row with the columns of TimeColumn; NULL where it is far outside the dates.

        What the zone's clocks are ahead of UTC changes at a few instants, known beforehand. Nothing is added to times
        far outside, which could overflow.
        """
        low, high = self.calendar.around_us
        offsets = self._offsets
        cases = "".join(f" WHEN utc_us < {start} THEN {offset}" for (_, offset), (start, _) in pairwise(offsets))
        shift = f"CASE{cases} ELSE {offsets[-1][1]} END" if cases else f"{offsets[-1][1]}"
        return (
            f"CASE WHEN local_us BETWEEN {low} AND {high} THEN local_us "
            f"WHEN utc_us BETWEEN {low} AND {high} THEN utc_us + {shift} END"
        )


def in_period(days: Calendar) -> str:
    """Condition on `clock_us`, a time in microseconds, or NULL: within a period of a day that counts."""
    range_us = f"clock_us BETWEEN {days.start_local_us} AND {days.end_local_us - 1}"
    if days.has_slots or days.holidays:
        return f"{slot_number(days)} IS NOT NULL AND {range_us}"
    clock, end = f"clock_us % {DAY_US}", days.period.start_us + days.period.length_us
    first = _on_weekdays(days, 0)
    within = f"{clock} BETWEEN {days.period.start_us} AND {min(end, DAY_US) - 1}{first}"
    if end > DAY_US:
        within = f"({within} OR {clock} < {end - DAY_US}{_on_weekdays(days, 1)})"
    return f"{within} AND {range_us}"


def _on_weekdays(days: Calendar, later: int) -> str:
    """And it is one of the weekdays, or this number of days later."""
    if len(days.weekdays) == len(NAMES):
        return ""
    since_epoch = sorted((day + later - EPOCH.weekday()) % len(NAMES) for day in days.weekdays)
    return f" AND clock_us // {DAY_US} % {len(NAMES)} IN ({', '.join(map(str, since_epoch))})"


def day_number(days: Calendar) -> str:
    """The day of the span to which a time within a period belongs."""
    return f"CAST({_day_since_epoch(days)} - {(days.first - EPOCH).days} AS INTEGER)"


def slot_number(days: Calendar) -> str:
    """The slot (see Calendar.slots) of a time near the dates; NULL where it is in none."""
    if not (days.has_slots or days.holidays):
        return "0"
    since = f"(clock_us - {days.turn_us}) % {DAY_US}"  # since the turn of the day, which no period contains
    periods = "".join(
        f" WHEN {since} BETWEEN {start} AND {stop - 1} THEN {first} + ({since} - {start}) // {length}"
        for start, stop, length, first in _runs(days)
    )
    return f"({_kind_number(days)} * {len(days.periods)} + CASE{periods} END)"


def _day_since_epoch(days: Calendar) -> str:
    return f"(clock_us - {days.turn_us}) // {DAY_US}"


def _runs(days: Calendar) -> list[tuple[int, int, int, int]]:
    """Neighbouring periods of one length: start and stop since the turn of the day, length, number of the first."""
    runs: list[tuple[int, int, int, int]] = []
    for number, period in enumerate(days.periods):
        start = (period.start_us - days.turn_us) % DAY_US
        stop = start + period.length_us
        if runs and runs[-1][1] == start and runs[-1][2] == period.length_us:
            runs[-1] = (runs[-1][0], stop, *runs[-1][2:])
        else:
            runs.append((start, stop, period.length_us, number))
    return runs


def _kind_number(days: Calendar) -> str:
    """The kind of a time's day; NULL for days that do not count. Holidays are of a kind whatever their weekday."""
    day = _day_since_epoch(days)
    cases = []
    if days.holidays:
        listed = ", ".join(str((date - EPOCH).days) for date in days.holidays)
        kind = next((str(at) for at, each in enumerate(days.day_types) if each.holidays), "NULL")
        cases.append(f"WHEN {day} IN ({listed}) THEN {kind}")
    kinds = [each.weekdays for each in days.day_types] or [days.weekdays]
    for at, weekdays in enumerate(kinds):
        if weekdays:
            numbers = ", ".join(str((weekday - EPOCH.weekday()) % len(NAMES)) for weekday in weekdays)
            cases.append(f"WHEN {day} % {len(NAMES)} IN ({numbers}) THEN {at}")
    return f"CASE {' '.join(cases)} END"


def _all_hours(days: Calendar) -> tuple[int, int]:
    """Start and length of the shortest part of the day that has all periods."""
    starts = [period.start_us for period in days.periods]
    gaps = [  # behind each period, up to the next one around the clock
        (following - period.start_us - period.length_us) % DAY_US if len(starts) > 1 else DAY_US - period.length_us
        for period, following in zip(days.periods, [*starts[1:], starts[0]], strict=True)
    ]
    widest = max(range(len(gaps)), key=gaps.__getitem__)
    return starts[(widest + 1) % len(starts)], DAY_US - gaps[widest]


def zone_key(name: str, form: Form) -> tuple[str, Literal["number", "label"]] | None:
    """SQL for a zone's name, and whether it is compared as a number or as a text; None for other forms."""
    if form == "integer":
        return name, "number"
    if form == "number":
        return whole(name), "number"
    return (_trimmed(name), "label") if form == "text" else None


def coordinate(name: str, form: Form) -> str | None:
    """SQL for degrees; None for forms that hold none."""
    return f"TRY_CAST({name} AS DOUBLE)" if form in ("integer", "number", "text") else None


def weight_units(name: str, form: Form, unit: float, most: int) -> str | None:
    """SQL for a weight in whole units, 0 to `most`; NULL where it is missing, negative or not a number.

    It depends on the row alone, and what is above `most` is cut off: docs/proofs/weights.md, Lemma 1.
    """
    number = coordinate(name, form)
    if number is None:
        return None
    whole = f"CAST(least(floor({number} / {unit!r} + 0.5), {most}) AS BIGINT)"
    return f"CASE WHEN {number} >= 0 AND NOT isnan({number}) THEN {whole} END"


def user_key(name: str, form: Form) -> str | None:
    """SQL for a user's id as a text, NULL where it is missing; None for forms that hold no ids.

    One person must not look like two because files differ: 7, 7.0 and "7" are the same id, whatever the type. Texts
    are canonical already: trip_texts.TextRule.
    """
    if form == "integer":
        return f"CAST({name} AS VARCHAR)"
    if form == "number":
        return f"CAST({whole(name)} AS VARCHAR)"
    if form == "text":
        missing = ", ".join(literal(word) for word in MISSING_USERS)
        return f"CASE WHEN lower({name}) NOT IN ({missing}) THEN {name} END"
    return None


def _trimmed(name: str) -> str:
    return f"trim({name}, ' \t\r')"


def whole(name: str) -> str:
    """A whole number that is stored as a fraction, as exporters do where a column has gaps."""
    # no abs(): in Spark it fails on decimals of 38 digits
    within = f"{name} > -{_LARGEST_EXACT} AND {name} < {_LARGEST_EXACT}"
    return f"CASE WHEN {within} AND {name} = floor({name}) THEN CAST({name} AS BIGINT) END"


def _epoch_us(name: str, form: Form, unit: EpochUnit) -> str | None:
    """Whole microseconds since 1970, rounded down, of a number in this unit; NULL beyond what can be multiplied."""
    if form == "integer":
        return _epoch_of_integer(name, unit)
    if form == "number":
        return _epoch_of_fraction(name, unit)
    if form != "text":
        return None
    text = f"trim({name})"
    whole = f"CASE WHEN regexp_full_match({text}, '{_WHOLE_TEXT}') THEN TRY_CAST({text} AS BIGINT) END"
    return (
        f"coalesce({_epoch_of_integer(f'({whole})', unit)}, {_epoch_of_fraction(f'TRY_CAST({text} AS DOUBLE)', unit)})"
    )


def _epoch_of_integer(number: str, unit: EpochUnit) -> str:
    per_second = _PER_SECOND[unit]
    if per_second > SECOND_US:
        return f"{number} // {per_second // SECOND_US}"
    factor = SECOND_US // per_second
    limit = _LARGEST_US // factor
    return f"CASE WHEN {number} BETWEEN {-limit} AND {limit} THEN {number} * {factor} END"


def _epoch_of_fraction(number: str, unit: EpochUnit) -> str:
    """The whole units and the rest apart, so that no product is rounded up to the next microsecond."""
    per_second = _PER_SECOND[unit]
    if per_second > SECOND_US:
        micros = f"floor({number} / {per_second // SECOND_US})"
    else:
        factor = SECOND_US // per_second
        micros = f"floor({number}) * {factor} + floor(({number} - floor({number})) * {factor})"
    limit = _LARGEST_US * _PER_SECOND[unit] // SECOND_US
    return f"CASE WHEN {number} BETWEEN {-limit}::DOUBLE AND {limit}::DOUBLE THEN CAST({micros} AS BIGINT) END"
