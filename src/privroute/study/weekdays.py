"""Weekdays in words: mon-fri, or mon,wed,sat-sun."""

from __future__ import annotations

from privroute.errors import HistoryError, in_python, named
from privroute.network.checks import show

__all__ = ["NAMES", "read_weekdays", "weekday_words"]

NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def weekday_words(days: tuple[int, ...]) -> str:
    """Weekdays by their names, a run of them as first and last."""
    first, last = days[0], days[-1]
    if len(days) > 2 and last - first + 1 == len(days):  # noqa: PLR2004 - two days are listed
        return f"{NAMES[first]}-{NAMES[last]}"
    return ",".join(NAMES[day] for day in days)


def read_weekdays(given: object) -> tuple[int, ...]:
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
        raise HistoryError(
            f"{named('weekdays')} is {show(given)}; write it like mon-fri or mon,wed,sat-sun"
            + in_python(", or pass numbers with Monday 0")
        )
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
