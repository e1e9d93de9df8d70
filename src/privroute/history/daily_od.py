"""Histories from a file of daily origin-destination counts."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import FormatError, HistoryError, NetworkError, arg, in_python
from privroute.history.demand_history import LARGEST_COUNT, DemandHistory
from privroute.history.trip_batches import csv_batches
from privroute.history.trip_files import csv_file
from privroute.history.trip_rows import TripRows
from privroute.network.checks import check_period_of_day
from privroute.network.labels import as_label
from privroute.network.pairs import OnUnreachable, Pairs
from privroute.network.text_files import as_path, column_names
from privroute.study.calendar import Calendar
from privroute.study.dates import DayRange, days_between, read_date
from privroute.study.frame import Frame
from privroute.study.settings import named_by_keys
from privroute.study.study import Study

if TYPE_CHECKING:
    import datetime as dt
    import os
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from privroute.history.trip_files import TripFile
    from privroute.network.network import Network

__all__ = ["read_daily_od"]

_COUNT = re.compile(r"\+?([0-9]+)(?:\.(?!000$)0*)?")  # 1.000 may mean a thousand
_MOST_DIGITS = 18
_OTHER_DAY = -1  # as in Calendar.positions
_PERIOD_MIN = 60.0
_ROLES = ("date", "origin", "destination", "trips")
_COLUMN_ADVICE = f"daily counts need the columns {', '.join(_ROLES)}" + in_python(
    f", or others that are named with {', '.join(f'{role}=' for role in _ROLES)}"
)


def read_daily_od(
    path: str | os.PathLike[str],
    network: Network | Study,
    *,
    dates: DayRange | None = None,
    date: str = "date",
    origin: str = "origin",
    destination: str = "destination",
    trips: str = "trips",
    period_min: float | None = None,
    expansion: float | None = None,
    on_unreachable: OnUnreachable | None = None,
    report: Callable[[TripRows], object] | None = None,
) -> DemandHistory:
    """Read PRIVATE daily counts from a CSV file with the columns date, origin, destination, trips (a whole number).

    network : a network; or a study, which sets dates, period_min, expansion and on_unreachable, so that none of them is
        passed, and whose frame the history then has
    period_min, expansion, on_unreachable : default: 60, 1, error
    dates : first and last day, both included. The number of days is that of this public range, independently of the
        file: days without rows have no requests, rows of other days are dropped.
    report : called with the numbers of rows used and dropped; by default they are printed on the error stream, marked
        PRIVATE

    Every line is one row, read by itself. Rows that cannot be used are dropped and counted, so that no row decides
    whether there is a release or how another one is read. Counts above 2⁴⁰ are taken as 2⁴⁰.
    """
    names = column_names(date=date, origin=origin, destination=destination, trips=trips)
    if isinstance(network, Study):
        roads, frame = network.network, network.frame
        _check_frame(frame, dates=dates, period_min=period_min, expansion=expansion, on_unreachable=on_unreachable)
    else:
        minutes = check_period_of_day(_PERIOD_MIN if period_min is None else period_min, error=HistoryError)
        between = days_between(dates)  # type: ignore[arg-type]  # None is refused there
        pairs = Pairs.of_zones(network, on_unreachable=on_unreachable or "error")
        calendar = Calendar.of_days(len(between), minutes, between)
        roads, frame = network, Frame(pairs, calendar, 1.0 if expansion is None else expansion)
    node = {str(name): int(zone) for zone, name in zip(roads.zones, roads.zone_names, strict=True)}
    place: dict[tuple[int | None, int | None], int] = {
        pair: at
        for at, pair in enumerate(zip(frame.pairs.origin.tolist(), frame.pairs.destination.tolist(), strict=True))
    }
    counts = np.zeros((frame.days, len(frame.pairs)), dtype=np.int64)
    row_of_day = frame.calendar.positions()
    # everything above is public and has been checked; here the private file is opened
    became: Counter[str] = Counter()
    file = csv_file(as_path(path), dict(zip(_ROLES, names, strict=True)), _COLUMN_ADVICE)
    for row in _rows(as_path(path), file, became):
        day, number = _day(row[0], frame.calendar.first, row_of_day), _count(row[3])
        ends = (node.get(_label(row[1])), node.get(_label(row[2])))
        pair = None if None in ends else place.get(ends)
        reason = _reason(day, number, ends, pair)
        became[reason] += 1
        if reason == "counted":
            counts[day, pair] = min(int(counts[day, pair]) + (number or 0), LARGEST_COUNT)
    (report or TripRows.show)(TripRows(**became))  # type: ignore[arg-type]  # all but one field are numbers
    return DemandHistory.of(frame, counts)


def _rows(path: Path, file: TripFile, became: Counter[str]) -> Iterator[tuple[str, ...]]:
    """The cells of every line that is a row; the others are counted."""

    def dropped(lines: int) -> None:
        became["malformed"] += lines

    failed = True
    try:
        positions = list(file.columns.values())
        for columns in csv_batches(path, str(file.delimiter), file.cells, positions, dropped):
            yield from zip(*(column.to_pylist() for column in columns), strict=True)
        failed = False
    except OSError:
        pass
    if failed:
        raise FormatError(path, "cannot be read to its end; it is damaged")


def _reason(day: int | None, number: int | None, ends: tuple[int | None, int | None], pair: int | None) -> str:
    """What becomes of a row: the name of a field of TripRows."""
    if day is None:
        return "unreadable_time"
    if day == _OTHER_DAY:
        return "outside"
    if number is None:
        return "unreadable_count"
    if None in ends:
        return "unknown_zone"
    if pair is None:
        return "within_zone" if ends[0] == ends[1] else "no_path"
    return "counted"


def _day(text: str, first: dt.date, row_of_day: list[int]) -> int | None:
    """The row of a day's counts, _OTHER_DAY for one that does not count, None where the text is no date."""
    date = read_date(text.strip())
    if date is None:
        return None
    later = (date - first).days
    return row_of_day[later] if 0 <= later < len(row_of_day) else _OTHER_DAY


def _check_frame(frame: Frame, **said: object) -> None:
    """Refuse a study that daily counts cannot be about, and arguments that the study has."""
    for name, value in said.items():
        if value is not None:
            raise HistoryError(f"the study already sets {name}; omit {arg(name)}")
    with named_by_keys():
        if frame.calendar.dates is None:
            raise HistoryError(f"daily counts are read by their dates; the study needs {arg('dates')}")
        if frame.calendar.has_slots:
            raise HistoryError("daily counts have no hours; the study needs one period and no kinds of days")
        if frame.contribution is not None and not frame.contribution.of_users:
            raise HistoryError(f"daily counts have no weights; omit {arg('max_weight')}")
        if frame.contribution is not None:
            raise HistoryError(f"daily counts contain no user ids; the study needs {arg('unit', 'request')}")


def _label(text: str) -> str:
    try:
        return str(as_label(text.strip()))
    except NetworkError:
        return ""


def _count(text: str) -> int | None:
    found = _COUNT.fullmatch(text.strip())
    if found is None:
        return None
    digits = found[1].lstrip("0") or "0"
    return LARGEST_COUNT if len(digits) > _MOST_DIGITS else min(int(digits), LARGEST_COUNT)
