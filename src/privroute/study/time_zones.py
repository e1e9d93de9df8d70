"""Time zones: what clocks show is ahead of UTC, and when that changes."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from typing import TYPE_CHECKING

from privroute.errors import HistoryError, named
from privroute.network.checks import show
from privroute.study.periods import EPOCH, SECOND_US

if TYPE_CHECKING:
    from privroute.study.calendar import Calendar

__all__ = ["AROUND", "time_zone", "utc_offsets"]

AROUND = dt.timedelta(days=3)  # more than any time zone is from UTC, and a period that passes midnight
_HOUR = dt.timedelta(hours=1)


def utc_offsets(days: Calendar, tz: str) -> list[tuple[int, int]]:
    """(from, offset): the zone's distance from UTC in microseconds, from that instant on, over all of the days.

    The list begins before the first day; where clocks change there is one more entry.
    """
    zone = time_zone(tz)
    first = dt.datetime.combine(days.first, dt.time(), dt.UTC) - AROUND
    last = dt.datetime.combine(days.first, dt.time(), dt.UTC) + dt.timedelta(days=days.span) + AROUND
    offsets = [(_microseconds(first), _offset(zone, first))]
    at = first
    while at < last:
        after = at + _HOUR
        if _offset(zone, after) != offsets[-1][1]:
            offsets.append((_change(zone, at, after), _offset(zone, after)))
        at = after
    return offsets


def time_zone(tz: object) -> dt.tzinfo:
    """The time zone of this name, such as Europe/Berlin; UTC needs no time zone data."""
    if isinstance(tz, str):
        try:
            return zoneinfo.ZoneInfo(tz)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            if tz == "UTC":
                return dt.UTC
        if not zoneinfo.available_timezones():
            raise HistoryError(
                f"{named('tz')} is {show(tz)}, but this machine has no time zone data; install it: pip install tzdata"
            )
    raise HistoryError(f"{named('tz')} is {show(tz)}; pass the name of a time zone, such as Europe/Berlin or UTC")


def _change(zone: dt.tzinfo, before: dt.datetime, after: dt.datetime) -> int:
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


def _offset(zone: dt.tzinfo, instant: dt.datetime) -> int:
    offset = instant.astimezone(zone).utcoffset() or dt.timedelta(0)
    return offset // dt.timedelta(microseconds=1)


def _microseconds(instant: dt.datetime) -> int:
    return (instant - dt.datetime.combine(EPOCH, dt.time(), dt.UTC)) // dt.timedelta(microseconds=1)
