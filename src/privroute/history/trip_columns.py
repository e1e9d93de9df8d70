"""SQL for the columns of trip files, by their types: departure times, zones, coordinates, users.

No expression here can fail on any value: whatever cannot be read becomes NULL, and so costs its own row only. What a
column's type cannot express at all (dates as departure times, lists as zones) is a matter of the schema and is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from privroute.errors import HistoryError
from privroute.history.operation_days import DAY_US, EPOCH, NAMES, SECOND_US, time_zone, utc_offsets
from privroute.history.trip_database import UnreadableError, literal
from privroute.network.checks import one_of, show

if TYPE_CHECKING:
    from privroute.history.operation_days import OperationDays
    from privroute.history.trip_database import Database

__all__ = ["EpochUnit", "TimeColumn", "TimeReading", "coordinate", "day_number", "in_period", "user_key", "zone_key"]

EpochUnit = Literal["s", "ms", "us", "ns"]

_INTEGER = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)")
_FRACTION = re.compile(r"FLOAT|DOUBLE|DECIMAL.*")
_TEXT = re.compile(r"VARCHAR|ENUM.*|UUID")
_TIMESTAMP = re.compile(r"TIMESTAMP(_S|_MS|_NS)?")
_AWARE = re.compile(r"TIMESTAMP(TZ| WITH TIME ZONE)(_NS)?")
_NOTHING = re.compile(r'"?NULL"?')  # a Parquet column of nothing but nulls

_LARGEST_EXACT = 2**53  # whole numbers up to here survive a float
_LARGEST_US = 2**62
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LOCAL_TEXT = r"\d{4}-\d{2}-\d{2}[ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
_OFFSET_TEXT = r" ?(Z|[+-]\d{2}(:?\d{2})?)"
_MISSING_USERS = ("", "nan", "null", "none", "na", "n/a", "<na>", "nat", "-")


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """SQL of a departure column.

    local_us : microseconds of local clock time since 1970; NULL where it is unreadable or far outside the dates
    missing : whether there is no readable time
    near : where there is such a form, the condition that it is within the dates, by which parts of files are skipped
    """

    local_us: str
    missing: str
    near: str | None = None


@dataclass(frozen=True, slots=True)
class TimeReading:
    """How departure times are to be read: public options.

    tz : time zone of the operation days; times that say their distance from UTC are converted to it
    time_format : of texts, in the letters of strptime; default: like 2026-03-02 07:15:00, with or without offset
    epoch_unit : of numbers, counted from 1970 in UTC
    """

    days: OperationDays
    tz: str | None
    time_format: str | None
    epoch_unit: EpochUnit | None

    def __post_init__(self) -> None:
        if self.tz is not None:
            time_zone(self.tz)
        if self.epoch_unit is not None:
            one_of(self.epoch_unit, _PER_SECOND, "epoch_unit", HistoryError)
        if self.time_format is not None:
            if not isinstance(self.time_format, str) or "%" not in self.time_format or "\0" in self.time_format:
                raise HistoryError(f'time_format is {show(self.time_format)}; pass letters like "%d.%m.%Y %H:%M"')
            if self.epoch_unit is not None:
                raise HistoryError("time_format= is for texts and epoch_unit= for numbers; pass one of them")
            if self._format_is_aware and self.tz is None:
                raise HistoryError("times with an offset need tz=, the time zone of period and dates: Europe/Berlin")
        if self.epoch_unit is not None and self.tz is None:
            raise HistoryError("epoch_unit= counts in UTC; pass tz= to say in which time zone the period is meant")

    @property
    def _format_is_aware(self) -> bool:
        return self.time_format is not None and "%z" in self.time_format.lower()

    def check_format(self, database: Database) -> None:
        """Refuse a format that DuckDB does not know, before a file is opened: it would look like a damaged one."""
        known = True
        if self.time_format is not None:
            try:
                database.rows(f"SELECT try_strptime('', {literal(self.time_format)})")
            except UnreadableError:
                known = False
        if not known:
            raise HistoryError(
                f"time_format is {show(self.time_format)}, which has letters that strptime does not know"
            )

    def column(self, name: str, kind: str) -> TimeColumn | None:
        """SQL for a column of this type; None if the type cannot hold departure times, or not without an option."""
        if self.epoch_unit is not None:
            number = _number(name, kind)
            return None if number is None else self._aware(_epoch_us(number, self.epoch_unit), f"{number} IS NULL")
        if kind == "TIMESTAMP":
            low, high = (f"make_timestamp({at}::BIGINT)" for at in (self.days.start_local_us, self.days.end_local_us))
            return TimeColumn(f"epoch_us({name})", f"{name} IS NULL", f"{name} >= {low} AND {name} < {high}")
        if _TIMESTAMP.fullmatch(kind):
            return self._naive(f"TRY_CAST({name} AS TIMESTAMP)", f"{name} IS NULL")
        if _AWARE.fullmatch(kind):
            instant = f"epoch_us(TRY_CAST({name} AS TIMESTAMPTZ))"
            return None if self.tz is None else self._aware(instant, f"{name} IS NULL")
        if _TEXT.fullmatch(kind):
            return self._text(f"CAST({name} AS VARCHAR)")
        return TimeColumn("NULL::BIGINT", "TRUE") if _NOTHING.fullmatch(kind) else None

    def _text(self, name: str) -> TimeColumn:
        if self.time_format is not None:
            parsed = f"try_strptime({name}, {literal(self.time_format)})"
            if self._format_is_aware:
                return self._aware(f"epoch_us({parsed})", f"{parsed} IS NULL")
            return self._naive(parsed, f"{parsed} IS NULL")
        text = f"trim({name})"
        local = f"CASE WHEN regexp_full_match({text}, '{_LOCAL_TEXT}') THEN TRY_CAST({text} AS TIMESTAMP) END"
        plain = self._naive(local, f"{local} IS NULL")
        if self.tz is None:
            return plain
        instant = (
            f"CASE WHEN regexp_full_match({text}, '{_LOCAL_TEXT}{_OFFSET_TEXT}') "
            f"THEN epoch_us(TRY_CAST({text} AS TIMESTAMPTZ)) END"
        )
        aware = self._aware(instant, f"{instant} IS NULL")
        missing = f"({plain.missing}) AND ({aware.missing})"
        return TimeColumn(f"coalesce({plain.local_us}, {aware.local_us})", missing)

    def _naive(self, timestamp: str, missing: str) -> TimeColumn:
        return TimeColumn(self._within(f"epoch_us({timestamp})", "0"), missing)

    def _aware(self, instant_us: str, missing: str) -> TimeColumn:
        """Add what the zone's clocks are ahead of UTC; this changes at a few instants, known beforehand."""
        offsets = utc_offsets(self.days, self.tz or "UTC")
        cases = "".join(f" WHEN {instant_us} < {start} THEN {offset}" for (_, offset), (start, _) in pairwise(offsets))
        shift = f"CASE{cases} ELSE {offsets[-1][1]} END" if cases else f"{offsets[-1][1]}"
        return TimeColumn(self._within(instant_us, shift), missing)

    def _within(self, microseconds: str, shift: str) -> str:
        """Nothing is added to times far outside, which could overflow."""
        low, high = self.days.around_us
        return f"CASE WHEN {microseconds} BETWEEN {low} AND {high} THEN {microseconds} + {shift} END"


def in_period(days: OperationDays, time: TimeColumn) -> str:
    """Condition on `local_us`, a time in microseconds: within the period of a day that counts.

    Nothing is added or subtracted before all rows outside are gone, so nothing can overflow.
    """
    clock, end = f"local_us % {DAY_US}", days.start_us + days.length_us
    first = _on_weekdays(days, 0)
    within = f"{clock} BETWEEN {days.start_us} AND {min(end, DAY_US) - 1}{first}"
    if end > DAY_US:
        within = f"({within} OR {clock} < {end - DAY_US}{_on_weekdays(days, 1)})"
    conditions = [within]
    if not time.near:
        conditions.append(f"local_us BETWEEN {days.start_local_us} AND {days.end_local_us - 1}")
    return " AND ".join(conditions)


def _on_weekdays(days: OperationDays, later: int) -> str:
    """And it is one of the weekdays, or so many days later."""
    if len(days.weekdays) == len(NAMES):
        return ""
    since_epoch = sorted((day + later - EPOCH.weekday()) % len(NAMES) for day in days.weekdays)
    return f" AND local_us // {DAY_US} % {len(NAMES)} IN ({', '.join(map(str, since_epoch))})"


def day_number(days: OperationDays) -> str:
    """The day of the span to which a time within a period belongs."""
    return f"CAST((local_us - {days.start_us}) // {DAY_US} - {(days.first - EPOCH).days} AS INTEGER)"


def zone_key(name: str, kind: str) -> tuple[str, Literal["number", "label"]] | None:
    """SQL for a zone's name, and whether it is compared as a number or as a text; None for other types."""
    if _INTEGER.fullmatch(kind):
        return (name if "HUGE" not in kind and kind != "UBIGINT" else f"TRY_CAST({name} AS BIGINT)"), "number"
    if _FRACTION.fullmatch(kind):
        return _whole(name), "number"
    if _TEXT.fullmatch(kind):
        return _trimmed(name), "label"
    return ("NULL::VARCHAR", "label") if _NOTHING.fullmatch(kind) else None


def coordinate(name: str, kind: str) -> str | None:
    """SQL for degrees; None for types that hold none."""
    known = (_INTEGER, _FRACTION, _TEXT, _NOTHING)
    return f"TRY_CAST({name} AS DOUBLE)" if any(form.fullmatch(kind) for form in known) else None


def user_key(name: str, kind: str) -> str | None:
    """SQL for a user's id as a text, NULL where it is missing; None for types that hold no ids.

    One person must not look like two because files differ: 7, 7.0 and "7" are the same id, whatever the type.
    """
    if _INTEGER.fullmatch(kind):
        return f"CAST({name} AS VARCHAR)"
    if _FRACTION.fullmatch(kind):
        return f"CAST({_whole(name)} AS VARCHAR)"
    if _TEXT.fullmatch(kind):
        text = _trimmed(name)
        missing = ", ".join(literal(word) for word in _MISSING_USERS)
        return rf"CASE WHEN lower({text}) NOT IN ({missing}) THEN regexp_replace({text}, '^(-?[0-9]+)\.0+$', '\1') END"
    return "NULL::VARCHAR" if _NOTHING.fullmatch(kind) else None


def _trimmed(name: str) -> str:
    return f"trim(CAST({name} AS VARCHAR), ' \t\r')"


def _whole(name: str) -> str:
    """A whole number that is stored as a fraction, as exporters do where a column has gaps."""
    value = f"TRY_CAST({name} AS DOUBLE)"
    return f"CASE WHEN abs({value}) < {_LARGEST_EXACT} AND {value} = floor({value}) THEN CAST({value} AS BIGINT) END"


def _number(name: str, kind: str) -> str | None:
    if _INTEGER.fullmatch(kind):
        return f"TRY_CAST({name} AS BIGINT)"
    if _FRACTION.fullmatch(kind):
        return f"TRY_CAST({name} AS DOUBLE)"
    if _TEXT.fullmatch(kind):
        return f"TRY_CAST(trim(CAST({name} AS VARCHAR)) AS DOUBLE)"
    return "NULL::BIGINT" if _NOTHING.fullmatch(kind) else None


def _epoch_us(number: str, unit: EpochUnit) -> str:
    """Microseconds since 1970 of a number in this unit; NULL beyond what can be multiplied."""
    per_second = _PER_SECOND[unit]
    if per_second > SECOND_US:
        return f"TRY_CAST(floor({number} / {per_second // SECOND_US}) AS BIGINT)"
    factor = SECOND_US // per_second
    limit = _LARGEST_US // factor
    return f"CASE WHEN {number} BETWEEN {-limit} AND {limit} THEN CAST({number} * {factor} AS BIGINT) END"
