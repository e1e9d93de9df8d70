"""Hours of the day: single periods, lists of them, and what makes a list usable.

How they are written:

    "07:00-08:00"            one period
    "22:00-02:00"            passes midnight; what follows midnight belongs to the day on which it began
    "06:00-09:00/60min"      three periods of an hour
    "hourly"                 24 periods of an hour
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from privroute.errors import HistoryError, named
from privroute.network.checks import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["DAY_US", "EPOCH", "SECOND_US", "Clock", "Period", "PeriodOfDay", "check_periods", "read_periods"]

Clock = str | dt.time
PeriodOfDay = str | tuple[Clock, Clock]

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
DAY_US = 86_400 * SECOND_US
EPOCH = dt.date(1970, 1, 1)
MOST_PERIODS = 288
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_STEP = re.compile(r"([1-9]\d{0,3})\s*(min|h)", re.ASCII)
_HOURLY = "hourly"
_EACH_HOUR = "00:00-24:00/60min"


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


def read_periods(texts: Iterable[PeriodOfDay]) -> tuple[Period, ...]:
    """The periods that a list names, ascending; START-END/60min and `hourly` stand for several."""
    found = [period for text in texts for period in _expanded(_EACH_HOUR if text == _HOURLY else text)]
    return tuple(sorted(found, key=lambda period: period.start_us))


def _expanded(text: PeriodOfDay) -> list[Period]:
    if not isinstance(text, str) or "/" not in text:
        return [Period.of(text)]
    hours, _, step = text.partition("/")
    whole, found = Period.of(hours), _STEP.fullmatch(step.strip())
    length = int(found[1]) * (60 if found[2] == "h" else 1) * MINUTE_US if found else 0
    if not length or whole.length_us % length:
        raise HistoryError(
            f"{named('period')} is {show(text)}; write start and end and a length that divides them, like "
            "06:00-09:00/60min"
        )
    starts = range(whole.start_us, whole.start_us + whole.length_us, length)
    return [Period(length / MINUTE_US, _time(start % DAY_US)) for start in starts]


def check_periods(periods: Sequence[Period]) -> None:
    """Refuse several periods that are not of the clock, or of which two share a moment of the day.

    Days are a day apart, so what does not overlap around the clock does not overlap on any two days either: every
    request is in one period of one day, as docs/proofs/periods.md assumes.
    """
    for period in periods:
        if period.begins is not None and (not isinstance(period.begins, dt.time) or period.begins.tzinfo):
            raise HistoryError(f"{named('begins')} is {show(period.begins)}; pass a datetime.time without a time zone")
    if not 1 <= len(periods) <= MOST_PERIODS:
        raise HistoryError(f"{named('periods')} has {len(periods):,} entries; pass 1 to {MOST_PERIODS}")
    if len(periods) == 1:
        return
    if not all(period.is_of_the_clock for period in periods):
        raise HistoryError(f"{named('periods')}: of several periods each needs start and end, like 07:00-08:00")
    ordered = sorted(periods, key=lambda period: period.start_us)
    if list(periods) != ordered:
        raise HistoryError(f"{named('periods')} are not in the order of the day")
    for first, second in pairwise([*ordered, ordered[0]]):
        until = (second.start_us - first.start_us) % DAY_US or DAY_US
        if first.length_us > until or (first.start_us == second.start_us and first is not second):
            raise HistoryError(f"{named('periods')}: {first} and {second} overlap; no moment is in two periods")


def _time(microseconds: int) -> dt.time:
    return (dt.datetime.combine(EPOCH, dt.time()) + dt.timedelta(microseconds=microseconds)).time()


def _clock_text(at: dt.time) -> str:
    return at.strftime("%H:%M:%S" if at.second or at.microsecond else "%H:%M")


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
