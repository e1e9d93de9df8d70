"""When the trips of a release were made: dates x period as half-open intervals of time, and what was spent where.

Times are seconds of the wall clock in the data set's one time zone. A request is made at one moment of that clock, also
on days when the clock is changed, so it lies in one atom: an elementary interval between two neighbouring endpoints of
all scopes. Amounts are whole numbers, so sums over any number of releases are exact, in any order.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["DAY_S", "Profile", "Scope", "moment"]

DAY_S = 86_400
_FIRST_S = dt.date.min.toordinal() * DAY_S
_LAST_S = (dt.date.max.toordinal() + 1) * DAY_S


@dataclass(frozen=True, slots=True)
class Scope:
    """Half-open intervals of time, ascending, with gaps between them.

    runs : (start, length, days): the interval [start, start + length) on this many consecutive days; whole seconds,
        counted as (ordinal of the date) x 86,400 + seconds after midnight
    """

    runs: tuple[tuple[int, int, int], ...]

    @classmethod
    def of_days(cls, dates: Iterable[dt.date], *, begins_s: int = 0, length_s: int = DAY_S) -> Scope:
        """The period that begins this many seconds after midnight of each date; it may cross midnight."""
        starts = np.unique(np.array([day.toordinal() for day in dates], dtype=np.int64)) * DAY_S + begins_s
        if not starts.size or length_s <= 0:
            raise InputError("a scope needs at least one day and a period that is not empty")
        return cls.of_intervals(starts, starts + length_s)

    @classmethod
    def always(cls) -> Scope:
        """All times that a date can name."""
        return cls(((_FIRST_S, _LAST_S - _FIRST_S, 1),))

    def widened(self, seconds: int) -> Scope:
        """With this many seconds more on both sides of every interval."""
        starts, stops = self.intervals()
        return Scope.of_intervals(np.maximum(starts - seconds, _FIRST_S), np.minimum(stops + seconds, _LAST_S))

    @classmethod
    def union(cls, scopes: Sequence[Scope]) -> Scope:
        """Every moment that one of the scopes has, for a release of several periods and kinds of days."""
        if len(scopes) == 1:
            return scopes[0]
        starts, stops = (np.concatenate(ends) for ends in zip(*(scope.intervals() for scope in scopes), strict=True))
        order = np.argsort(starts, kind="stable")
        return cls.of_intervals(starts[order], stops[order])

    @classmethod
    def of_intervals(cls, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Scope:
        """Ascending intervals [start, stop), which may touch or overlap their neighbours, as runs."""
        stops = np.maximum.accumulate(stops)
        first = np.concatenate([[True], starts[1:] > stops[:-1]])
        last = np.concatenate([first[1:], [True]])
        starts, lengths = starts[first], stops[last] - starts[first]
        same = (np.diff(starts) == DAY_S) & (np.diff(lengths) == 0)
        head = np.flatnonzero(np.concatenate([[True], ~same]))
        days = np.diff(np.concatenate([head, [starts.size]]))
        return cls(tuple(zip(starts[head].tolist(), lengths[head].tolist(), days.tolist(), strict=True)))

    def covers(self, other: Scope) -> bool:
        """Whether it has every moment that the other one has."""
        return Scope.union([self, other]) == self

    def intervals(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and stops of all intervals, ascending."""
        return _intervals(np.array(self.runs, dtype=np.int64))

    def whole_days(self) -> Scope:
        """All of every day that it touches."""
        starts, stops = self.intervals()
        return Scope.of_intervals(starts // DAY_S * DAY_S, -(-stops // DAY_S) * DAY_S)

    @property
    def passes_midnight(self) -> bool:
        """Whether an interval that is not made of whole days has parts of two days."""
        starts, stops = self.intervals()
        whole = (starts % DAY_S == 0) & (stops % DAY_S == 0)
        return bool((~whole & (starts // DAY_S != (stops - 1) // DAY_S)).any())

    def as_json(self) -> list[list[str | int]]:
        """Plain values: [first start, seconds, days in a row], ..."""
        return [[moment(start), length, days] for start, length, days in self.runs]

    def text(self) -> str:
        """`as_json` as a text."""
        return json.dumps(self.as_json())

    @classmethod
    @lru_cache(maxsize=2**16)
    def from_text(cls, text: str) -> Scope:
        """Read `text()` back; a ValueError if it is anything else."""
        runs, before = [], -1
        for start, length, days in json.loads(text):
            at = _seconds(start)
            if not (type(length) is int and type(days) is int and length > 0 and days > 0):
                raise ValueError("lengths and days are whole and positive")
            end = at + (days - 1) * DAY_S + length
            if at <= before or end > _LAST_S + DAY_S or (days > 1 and length >= DAY_S):
                raise ValueError("intervals ascend, with gaps between them")
            runs.append((at, length, days))
            before = end
        if not runs:
            raise ValueError("a scope is not empty")
        return cls(tuple(runs))

    def __str__(self) -> str:
        """Short, for people: 2026-03-02 to 2026-04-30, 07:00 to 08:00."""
        start, stop = self.runs[0][0], self.runs[-1][0] + (self.runs[-1][2] - 1) * DAY_S + self.runs[-1][1]
        if (start, stop) == (_FIRST_S, _LAST_S):
            gaps = sum(run[2] for run in self.runs) - 1
            return "all times" + (f" except {gaps:,} interval{'' if gaps == 1 else 's'}" if gaps else "")
        whole = all(run[0] % DAY_S == 0 and run[1] % DAY_S == 0 for run in self.runs)
        begins = {run[0] % DAY_S for run in self.runs}
        lengths = {run[1] for run in self.runs}
        if whole:
            days, clock = sum(run[1] // DAY_S * run[2] for run in self.runs), ""
            last = stop // DAY_S - 1
        elif len(begins) == len(lengths) == 1 and max(lengths) < DAY_S:
            begin, length = begins.pop(), lengths.pop()
            days, clock = sum(run[2] for run in self.runs), f", {_clock(begin)} to {_clock(begin + length)}"
            last = (stop - length) // DAY_S
        else:
            parts = sum(run[2] for run in self.runs)
            return f"{moment(start)} to {moment(stop)}" + (f" in {parts:,} parts" if parts > 1 else "")
        first = start // DAY_S
        span = last - first + 1
        named = f"{_date(first)}" if span == 1 else f"{_date(first)} to {_date(last)}"
        return named + (f" ({days:,} of {span:,} days)" if days < span else "") + clock


class Profile:
    """What was spent at each moment: the sum of the amounts of the scopes that have it.

    times : (atoms + 1,) endpoints, ascending; levels : (atoms + 2,), levels[i] holds from times[i-1] to times[i]
    """

    __slots__ = ("levels", "times")

    def __init__(self, scopes: Sequence[Scope], amounts: Sequence[int]) -> None:
        together: dict[Scope, int] = {}
        for scope, amount in zip(scopes, amounts, strict=True):
            together[scope] = together.get(scope, 0) + amount
        runs = np.array([run for scope in together for run in scope.runs], dtype=np.int64).reshape(-1, 3)
        each = [amount for scope, amount in together.items() for _ in scope.runs]
        starts, stops = _intervals(runs)
        change = np.repeat(np.array(each, dtype=np.int64), runs[:, 2])
        times = np.concatenate([starts, stops])
        order = np.argsort(times, kind="stable")
        times, levels = times[order], np.cumsum(np.concatenate([change, -change])[order])
        # Half-open: what ends at a moment and what begins at it are settled together.
        settled = np.append(times[1:] != times[:-1], True)[: times.size]
        self.times: NDArray[np.int64] = times[settled]
        self.levels: NDArray[np.int64] = np.concatenate([[0], levels[settled], [0]]).astype(np.int64)

    def peak(self, within: Scope | None = None) -> int:
        """The largest amount at any moment (of a scope)."""
        return int(self.levels.max()) if within is None else int(self._peaks(*within.intervals()).max())

    def busiest(self, within: Scope) -> int:
        """A moment of the scope with that amount, the earliest that begins an atom or an interval."""
        starts, stops = within.intervals()
        which = int(np.argmax(self._peaks(starts, stops)))
        low = int(np.searchsorted(self.times, starts[which], "right"))
        high = int(np.searchsorted(self.times, stops[which], "left"))
        atom = low + int(np.argmax(self.levels[low : high + 1]))
        return int(max(starts[which], self.times[atom - 1])) if atom else int(starts[which])

    def days(self) -> list[tuple[dt.date, dt.date, int]]:
        """The largest amount of each day, as (first, last, amount) for days in a row with the same; spent days only."""
        if not self.times.size:
            return []
        first, last = int(self.times[0]) // DAY_S, -(-int(self.times[-1]) // DAY_S)
        starts = np.arange(first, last, dtype=np.int64) * DAY_S
        peaks = self._peaks(starts, starts + DAY_S)
        head = np.flatnonzero(np.concatenate([[True], peaks[1:] != peaks[:-1]]))
        tail = np.concatenate([head[1:], [peaks.size]]) - 1
        return [
            (_date(first + int(begin)), _date(first + int(end)), int(peaks[begin]))
            for begin, end in zip(head, tail, strict=True)
            if peaks[begin]
        ]

    def at_level(self, level: int) -> list[tuple[Scope, int]]:
        """Where just this amount was spent, as one scope; nothing where that is nowhere."""
        starts, stops = self.times[:-1], self.times[1:]
        there = self.levels[1 : starts.size + 1] == level
        return [(Scope.of_intervals(starts[there], stops[there]), level)] if there.any() else []

    def below(self, amount: int) -> list[tuple[Scope, int]]:
        """Where less than the amount was spent, and how much less: scopes that share no moment, at all times."""
        starts = np.concatenate([[_FIRST_S], self.times])
        stops = np.concatenate([self.times, [_LAST_S]])
        levels = self.levels[: starts.size]
        return [
            (Scope.of_intervals(starts[levels == level], stops[levels == level]), amount - int(level))
            for level in np.unique(levels[levels < amount])
        ]

    def _peaks(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
        """The largest amount in each of the intervals."""
        low = np.searchsorted(self.times, starts, "right")
        high = np.searchsorted(self.times, stops, "left") + 1
        return np.maximum.reduceat(self.levels, np.stack([low, high], axis=1).ravel())[::2]


def _intervals(runs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and stops of the intervals of runs, run after run: (runs, 3) as in Scope."""
    start, length, days = runs.T
    within = np.arange(days.sum()) - np.repeat(np.cumsum(days) - days, days)
    starts = np.repeat(start, days) + within * DAY_S
    return starts, starts + np.repeat(length, days)


def moment(seconds: int) -> str:
    """A time of the wall clock as a text: 2026-03-02T07:00."""
    day, second = divmod(seconds, DAY_S)
    return f"{_date(day)}T{_clock(second)}"


def _date(day: int) -> dt.date:
    return dt.date.fromordinal(min(day, dt.date.max.toordinal()))


def _clock(second: int) -> str:
    hours, rest = divmod(second % DAY_S or (DAY_S if second else 0), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours:02}:{minutes:02}" + (f":{seconds:02}" if seconds else "")


def _seconds(text: object) -> int:
    if not isinstance(text, str):
        raise TypeError("a moment is a text")
    at = dt.datetime.fromisoformat(text)
    seconds = at.toordinal() * DAY_S + at.hour * 3600 + at.minute * 60 + at.second
    if at.tzinfo is not None or at.microsecond or moment(seconds) != text:
        raise ValueError("a moment is written as 2026-03-02T07:00")
    return seconds
