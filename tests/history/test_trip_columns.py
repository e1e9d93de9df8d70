"""Columns of trip tables: which texts and numbers are times, zones and ids."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.history.trip_cases import counts_of, read, write_csv, write_parquet


@pytest.mark.parametrize(
    ("time_format", "within", "outside"),
    [
        ("%H o'clock, %d.%m.%Y", "07 o'clock, 27.03.2026", "08 o'clock, 27.03.2026"),
        ("%Y-%m-%d %H:%M:%S.%n", "2026-03-27 07:59:59.999999999", "2026-03-27 06:59:59.999999999"),
        ("%Y-%m-%d %H:%M %z", "2026-03-27 08:30 +01:00", "2026-03-27 07:30 +01:00"),
        ("%Y-%m-%d %H:%M%%n", "2026-03-27 07:30%n", "2026-03-27 08:30%n"),
    ],
)
def test_times_are_read_in_the_letters_of_a_format(tmp_path: Path, time_format: str, within: str, outside: str) -> None:
    path = write_csv(tmp_path, *(f'1,2,"{text}",u' for text in (within, outside, f"{within}x", "x", "")))
    _, rows = read(path, time_format=time_format, tz="UTC")
    assert (rows.counted, rows.outside, rows.unreadable_time) == (1, 1, 3)


@pytest.mark.parametrize(("length", "counted"), [(256, 1), (257, 0)])
@pytest.mark.parametrize("column", ["origin", "departure"])
def test_a_text_that_is_too_long_is_missing_in_files_of_every_kind(
    tmp_path: Path, column: str, length: int, counted: int
) -> None:
    good = {"origin": "1", "destination": "2", "departure": "2026-03-27 07:30"}
    row = good | {column: good[column].rjust(length)}
    paths = [
        write_csv(tmp_path, ",".join(row.values()), header=",".join(row)),
        write_parquet(tmp_path / "trips.parquet", **{name: [text] for name, text in row.items()}),
    ]
    assert [read(path)[1].counted for path in paths] == [counted, counted]


def test_instants_of_a_whole_year_are_read_by_the_clock_of_their_season(tmp_path: Path) -> None:
    """Clocks change twice in it."""
    utc = ["2026-01-15 06:30Z", "2026-07-15 05:30Z", "2026-12-15 06:30Z"]
    other = ["2026-01-16 05:30Z", "2026-07-16 06:30Z", "2026-12-16 05:30Z"]
    path = write_csv(tmp_path, *(f"1,2,{text},u" for text in [*utc, *other]))
    history, rows = read(path, tz="Europe/Berlin", dates=("2026-01-01", "2026-12-31"))
    assert [day for day, *_ in counts_of(history)] == [text[:10] for text in utc]
    assert (rows.counted, rows.outside) == (3, 3)


@pytest.mark.parametrize(
    ("period", "begins", "ends"),
    [
        ("07:00-08:00", "2026-03-27 07:00", "2026-03-30 08:00"),
        (["07:00-08:00", "09:00-10:00"], "2026-03-27 07:00", "2026-03-30 10:00"),
        ("22:00-08:00", "2026-03-27 22:00", "2026-03-31 08:00"),
        ("00:00-24:00", "2026-03-27 00:00", "2026-03-31 00:00"),
    ],
)
def test_a_period_begins_and_ends_on_the_first_and_last_day_as_on_others(
    tmp_path: Path, period: Any, begins: str, ends: str
) -> None:
    first, last = map(dt.datetime.fromisoformat, (begins, ends))
    least = dt.timedelta(microseconds=1)
    for times, counted in (((first, last - least), 2), ((first - least, last), 0)):
        columns = {"origin": [1, 1], "destination": [2, 2], "departure": pa.array(times, pa.timestamp("us"))}
        _, rows = read(write_parquet(tmp_path / "trips.parquet", **columns), period=period)
        assert (rows.counted, rows.outside) == (counted, 2 - counted)
