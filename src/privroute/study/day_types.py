"""Kinds of days, such as workdays and weekends: public names for weekdays, and for holidays on a public list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privroute.errors import HistoryError, named
from privroute.network.checks import show
from privroute.study.weekdays import read_weekdays, weekday_words

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

__all__ = ["HOLIDAYS", "DayType", "check_day_types", "read_day_types", "type_of"]

HOLIDAYS = "holidays"
MOST_DAY_TYPES = 16
_NAME = re.compile(r"[a-z][a-z0-9-]{0,29}")


@dataclass(frozen=True, slots=True)
class DayType:
    """A kind of day.

    name : small letters, digits and hyphens
    weekdays : numbers of its weekdays, Monday 0, ascending; may be empty for holidays alone
    holidays : whether the days of the list of holidays belong to it, whatever their weekday
    """

    name: str
    weekdays: tuple[int, ...]
    holidays: bool = False

    @classmethod
    def of(cls, name: str, days: object) -> DayType:
        """Read days like "mon-fri", "sat,sun,holidays" or "holidays"."""
        parts = days.split(",") if isinstance(days, str) else []
        rest = [part for part in parts if part.strip().lower() != HOLIDAYS]
        if not parts or not isinstance(name, str):
            raise HistoryError(f"{named('day_types')}: {show(days)} are no days; write them like mon-fri or sat,sun")
        return cls(name, read_weekdays(",".join(rest)) if rest else (), len(rest) < len(parts))

    @property
    def words(self) -> str:
        """The days as `of` reads them."""
        parts = [weekday_words(self.weekdays)] if self.weekdays else []
        return ",".join([*parts, *([HOLIDAYS] if self.holidays else [])])


def read_day_types(given: object) -> tuple[DayType, ...]:
    """The kinds of days of {"workday": "mon-fri", "weekend": "sat,sun,holidays"}."""
    if not isinstance(given, Mapping) or not given:
        raise HistoryError(
            f'{named("day_types")} is {show(given)}; write names and days like {{workday = "mon-fri", weekend = '
            '"sat,sun"}'
        )
    return check_day_types(tuple(DayType.of(name, days) for name, days in given.items()))


def check_day_types(types: tuple[DayType, ...]) -> tuple[DayType, ...]:
    """Return kinds of days if no day can be of two."""
    seen: dict[int | str, str] = {}
    for each in types:
        if not isinstance(each.name, str) or not _NAME.fullmatch(each.name):
            raise HistoryError(
                f"{named('day_types')}: {show(each.name)} is not a name; use small letters, digits and hyphens"
            )
        named_days: list[int | str] = [*each.weekdays, *([HOLIDAYS] if each.holidays else [])]
        for day in named_days:
            if day in seen:
                raise HistoryError(
                    f"{named('day_types')}: {seen[day]} and {each.name} share a day; a day is of one kind"
                )
            seen[day] = each.name
    if len(types) > MOST_DAY_TYPES or len({each.name for each in types}) < len(types):
        raise HistoryError(f"{named('day_types')}: pass at most {MOST_DAY_TYPES} kinds, each once")
    return types


def type_of(date: dt.date, types: Sequence[DayType], holidays: frozenset[dt.date]) -> int | None:
    """Position of the kind to which a date belongs; None where it belongs to none."""
    if date in holidays:
        return next((at for at, each in enumerate(types) if each.holidays), None)
    return next((at for at, each in enumerate(types) if date.weekday() in each.weekdays), None)
