"""Counts that another system made, as an Arrow table or a Parquet file: day, period, origin, destination, trips.

privroute has not seen the trips. That each of them is in at most one count, once, and that counts hold no more of a
user than the bounds say, is what the caller asserts; the certificate says so.
"""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from privroute.errors import FormatError, HistoryError, arg
from privroute.history.demand_history import LARGEST_COUNT
from privroute.history.period_histories import PeriodHistories
from privroute.history.row_groups import open_parquet
from privroute.history.trip_rows import TripRows
from privroute.history.trip_tables import check_rows_are_trips
from privroute.network.text_files import as_path
from privroute.study.calendar import EPOCH
from privroute.study.dates import read_date
from privroute.study.settings import named_by_keys
from privroute.study.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from privroute.history.trip_tally import Histories
    from privroute.study.calendar import Calendar
    from privroute.study.frame import Frame

__all__ = ["read_counts"]

_COLUMNS = ("day", "origin", "destination", "trips")
_PERIOD = "period"


def read_counts(
    source: Any,
    study: Study,
    *,
    report: Callable[[TripRows], object] | None = None,
) -> Histories:
    """Take PRIVATE counts that another system made of trips, with the columns day, origin, destination, trips.

    source : an Arrow table, or the path of a Parquet file. A study of several periods needs the column `period`, as
        "07:00-08:00" or as the time at which it begins, "07:00"
    study : what is public; its days, periods and pairs are those of the history, whatever rows there are
    report : called with the numbers of rows used and dropped; by default they are printed on the error stream

    By this call you assert that each trip is in at most one count, once, that days and periods are by the study's
    clock, and that the counts have no more trips of a user than the study's bounds: nothing of it can be checked, and
    the certificate says that it was asserted. Rows that cannot be used are dropped and counted; a count is at most 2⁴⁰.
    """
    if not isinstance(study, Study):
        raise HistoryError(f"study is a {type(study).__name__}; pass privroute.Study")
    frame = study.frame
    with named_by_keys():
        if frame.calendar.dates is None:
            raise HistoryError(f"counts are read by their dates; the study needs {arg('dates')}")
        if frame.contribution is not None and frame.contribution.max_for_total is not None:
            raise HistoryError(
                "counts of another system have no total of users' requests; the study needs a public total"
            )
        check_rows_are_trips("the counts", study.trips.rows_are_trips)
    labels = {str(name): int(zone) for zone, name in zip(study.network.zones, study.network.zone_names, strict=True)}
    ends = zip(frame.pairs.origin.tolist(), frame.pairs.destination.tolist(), strict=True)
    pairs = {pair: at for at, pair in enumerate(ends)}
    rows = _rows_of(frame.calendar)
    with_period = len(frame.calendar.periods) > 1
    # everything above is public and has been checked; here the private counts are opened
    counts: Counter[int] = Counter()
    became: Counter[str] = Counter()
    for day, period, origin, destination, trips in _read(source, with_period=with_period):
        reason, cell = _cell(frame, rows, labels, pairs, (day, period, origin, destination))
        if reason == "counted" and not (isinstance(trips, int) and trips >= 0):
            reason = "unreadable_count"
        became[reason] += 1
        if reason == "counted" and trips:
            counts[cell] = min(counts[cell] + trips, LARGEST_COUNT)
    (report or TripRows.show)(TripRows(**became))  # type: ignore[arg-type]  # all but one field are numbers
    cells = np.array(sorted(counts), np.int64)
    made = PeriodHistories(frame, cells, np.array([counts[cell] for cell in cells.tolist()], np.int64), elsewhere=True)
    return made if frame.calendar.has_slots else made.part(0)


def _rows_of(calendar: Calendar) -> dict[tuple[dt.date, str], int]:
    """The row of each day and period, by both names of a period, "" where there is one; rows as in PeriodHistories."""
    rows: dict[tuple[dt.date, str], int] = {}
    first = 0
    for slot in calendar.slots:
        dates = slot.calendar.dates or ()
        text = str(slot.period)
        for name in (text, text.partition("-")[0]) if len(calendar.periods) > 1 else ("",):
            rows |= {(date, name): first + at for at, date in enumerate(dates)}
        first += len(dates)
    return rows


def _cell(
    frame: Frame,
    rows: dict[tuple[dt.date, str], int],
    labels: dict[str, int],
    pairs: dict[tuple[int, int], int],
    row: tuple[Any, Any, Any, Any],
) -> tuple[str, int]:
    """What becomes of a row, and the cell of its count; a function of the row and of public tables."""
    day, period, origin, destination = row
    date = day if type(day) is dt.date else read_date(day.strip()) if isinstance(day, str) else None
    if date is None:
        return "unreadable_time", -1
    at = rows.get((date, period.strip() if isinstance(period, str) else ""))
    if at is None:
        return "outside", -1
    nodes = [None if end is None else labels.get(str(end).strip()) for end in (origin, destination)]
    if nodes[0] is None or nodes[1] is None:
        return "unknown_zone", -1
    pair = pairs.get((nodes[0], nodes[1]))
    if pair is None:
        return ("within_zone" if nodes[0] == nodes[1] else "no_path"), -1
    return "counted", at * len(frame.pairs) + pair


def _read(source: Any, *, with_period: bool) -> Iterator[tuple[Any, ...]]:
    """Rows of the columns; their types are checked by the schema alone."""
    names = [*_COLUMNS, _PERIOD] if with_period else list(_COLUMNS)
    if isinstance(source, str | os.PathLike):
        path = as_path(source)
        with _opened(path) as file:
            _check_schema(file.schema_arrow, names, path)
            batches, failed = file.iter_batches(columns=names), True
            try:
                for batch in batches:
                    yield from _tuples(batch, with_period=with_period)
                failed = False
            except (OSError, ValueError, pa.ArrowException):
                pass
            if failed:
                raise FormatError(path, "cannot be read to its end; it is damaged")
        return
    if not isinstance(source, pa.Table):
        raise HistoryError(f"counts are a {type(source).__name__}; pass an Arrow table or the path of a Parquet file")
    _check_schema(source.schema, names, "the table")
    for batch in source.select(names).to_batches():
        yield from _tuples(batch, with_period=with_period)


def _opened(path: Path) -> Any:
    with suppress(OSError, ValueError, pa.ArrowException):
        return open_parquet(path)
    raise FormatError(path, "cannot be read as Parquet; check the path, and that it is a file of counts")


def _check_schema(schema: Any, names: list[str], place: object) -> None:
    for name in names:
        if name not in schema.names:
            raise FormatError(place, f"there is no column {name!r}; counts have {', '.join(names)}")
        kind = schema.field(name).type
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        whole = pa.types.is_integer(kind)
        good = {"day": text or pa.types.is_date32(kind), "period": text, "trips": whole}.get(name, text or whole)
        if not good:
            raise FormatError(place, f"the column {name!r} has a type that counts cannot have ({kind})")


def _tuples(batch: Any, *, with_period: bool) -> Iterator[tuple[Any, ...]]:
    day, origin, destination, trips = (_values(batch.column(name)) for name in _COLUMNS)
    period = _values(batch.column(_PERIOD)) if with_period else [""] * batch.num_rows
    return zip(day, period, origin, destination, trips, strict=True)


def _values(column: Any) -> list[Any]:
    """Python's values; None for those that it cannot hold, which Arrow would raise an error for."""
    if pa.types.is_date32(column.type):
        return [_date(days) for days in column.view(pa.int32()).to_pylist()]
    if pa.types.is_integer(column.type):
        return list(column.to_pylist())
    return [_text(text) for text in column.cast(pa.large_binary()).to_pylist()]


def _date(days: int | None) -> dt.date | None:
    number = None if days is None else days + EPOCH.toordinal()
    return None if number is None or not 1 <= number <= dt.date.max.toordinal() else dt.date.fromordinal(number)


def _text(text: bytes | None) -> str | None:
    try:
        return None if text is None else text.decode()
    except UnicodeDecodeError:
        return None
