"""How a release told when a trip was made: a ledger compares it between releases. docs/proofs/ledger.md, Theorem 10.

Parallel composition needs each trip to have one time. Times with an offset from UTC become dates and hours by the zone
data of the machine that reads them, and the columns and formats of the files decide which times are read. Both are
public, so each charge names them.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from dataclasses import dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privroute.study.periods import EPOCH, SECOND_US
from privroute.study.time_zones import AROUND, utc_offsets

if TYPE_CHECKING:
    from privroute.study.frame import Frame

__all__ = ["ClockRules"]

_MOMENT = "%Y-%m-%dT%H:%M:%S"
_MOST_S = 26 * 3600  # more than any clock is from UTC
_OF_TIMES = ("departure", "time_format", "epoch_unit")
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class ClockRules:
    """Public: from which columns times were read, and what was added to UTC.

    reading : columns and formats of the trip files, as in TripFormat; those that decide the time are compared
    offsets : (moment, seconds): the distance from UTC from this moment of UTC on, ascending; empty where the data set
        has no time zone, so that times are those of the files
    until : the moment up to which the last one is known to hold
    zone_data : version of the time zone data, for people
    as_before : the curator asserts that other columns or formats give each trip the time that was read before
    """

    reading: tuple[tuple[str, Any], ...]
    offsets: tuple[tuple[str, int], ...] = ()
    until: str = ""
    zone_data: str = ""
    as_before: bool = False

    @classmethod
    def of(cls, frame: Frame) -> ClockRules | None:
        """The clock of a history that was read from trips; None where another system told the times, or nobody did."""
        if frame.reading is None or frame.calendar.dates is None:
            return None
        columns = {item.name: getattr(frame.reading, item.name) for item in fields(frame.reading)}
        as_before = columns.pop("times_as_before")
        reading = tuple((name, list(value) if isinstance(value, tuple) else value) for name, value in columns.items())
        zone = frame.calendar.time_zone
        if zone is None:
            return cls(reading, as_before=as_before)
        found = utc_offsets(frame.calendar, zone)
        until = dt.datetime.combine(frame.calendar.dates[-1], dt.time()) + AROUND
        offsets = tuple((_moment(instant), offset // SECOND_US) for instant, offset in found)
        return cls(reading, offsets, until.strftime(_MOMENT), _zone_data(zone), as_before)

    @property
    def of_times(self) -> dict[str, Any]:
        """The part of the reading that decides when a trip was."""
        return {name: value for name, value in self.reading if name in _OF_TIMES}

    def apart_s(self, other: ClockRules) -> int:
        """By how many seconds the two differ at most, at moments for which both are known."""
        begins = max((clock.offsets[0][0] for clock in (self, other) if clock.offsets), default="")
        ends = min(self.until, other.until)
        if not self.offsets or not other.offsets or begins >= ends:
            return 0
        changes = {moment for moment, _ in (*self.offsets, *other.offsets) if begins < moment < ends}
        return max(abs(self._at(moment) - other._at(moment)) for moment in {begins, *changes})

    def _at(self, moment: str) -> int:
        return [offset for start, offset in self.offsets if start <= moment][-1]

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "reading": dict(self.reading),
            "offsets": [list(each) for each in self.offsets],
            "until": self.until,
            "zone_data": self.zone_data,
            "as_before": self.as_before,
        }

    @classmethod
    def from_dict(cls, values: Any) -> ClockRules:
        """Read `as_dict()` back; an error if it is anything else."""
        reading, offsets = dict(values["reading"].items()), [(moment, offset) for moment, offset in values["offsets"]]
        clock = cls(tuple(reading.items()), tuple(offsets), values["until"], values["zone_data"], values["as_before"])
        moments = [moment for moment, _ in offsets] + ([clock.until] if offsets else [])
        texts = all(
            isinstance(text, str) and len(text) <= _LONGEST for text in (*reading, clock.zone_data, clock.until)
        )
        if (
            any(dt.datetime.strptime(moment, _MOMENT).strftime(_MOMENT) != moment for moment in moments)  # noqa: DTZ007
            or moments != sorted(set(moments))
            or not all(type(offset) is int and abs(offset) <= _MOST_S for _, offset in offsets)
            or type(clock.as_before) is not bool
            or not texts
        ):
            raise ValueError("a clock names ascending moments with whole offsets")
        return clock


def _moment(instant_us: int) -> str:
    return (dt.datetime.combine(EPOCH, dt.time()) + dt.timedelta(microseconds=instant_us)).strftime(_MOMENT)


def _zone_data(zone: str) -> str:
    """The version of the time zone data that `zoneinfo` reads: the system's, else that of the package tzdata."""
    for folder in map(Path, zoneinfo.TZPATH):
        if (folder / zone).is_file():
            try:
                first = (folder / "tzdata.zi").read_text(encoding="utf-8", errors="replace")[:40].splitlines()[0]
            except (OSError, IndexError):
                return "unknown"
            return first.removeprefix("# version ")
    try:
        return metadata.version("tzdata")
    except metadata.PackageNotFoundError:
        return "unknown"
