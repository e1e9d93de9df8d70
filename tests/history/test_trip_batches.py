"""Lines and columns of trip files in pieces: where these are cut does not matter."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.history.trip_cases import read

from privroute.history import trip_batches
from privroute.history.row_groups import row_group_batches
from privroute.history.trip_texts import TextRule

LONGEST = 20


@pytest.mark.parametrize("length", range(LONGEST - 1, LONGEST + 4))
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_line_is_too_long_or_not_wherever_chunks_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, end: str
) -> None:
    monkeypatch.setattr(trip_batches, "LONGEST_TEXT", LONGEST)
    path = tmp_path / "trips.csv"
    lines = ["a,b", "1,x", "2".ljust(length - 2, "-") + ",y", "3,z", "4".ljust(length - 2, "-") + ",y"]
    seen = set()
    for ended in (True, False):
        path.write_bytes((end.join(lines) + ended * end).encode())
        for chunk in range(1, 80):
            monkeypatch.setattr(trip_batches, "_CHUNK_BYTES", chunk)
            dropped: list[int] = []
            batches = trip_batches.csv_batches(path, ",", 2, [0], dropped.append)
            found = tuple(text[0] for (column,) in batches for text in column.to_pylist())
            seen.add((found, sum(dropped)))
    assert seen == {(("1", "2", "3", "4"), 0) if length <= LONGEST else (("1", "3"), 2)}


def test_a_time_of_the_oldest_type_that_nanoseconds_cannot_hold_is_no_other_time(tmp_path: Path) -> None:
    """In 64 bits of nanoseconds it would be a time within the period, 584 years earlier."""
    within = dt.datetime(2026, 3, 27, 7, 30)  # noqa: DTZ001 - local time
    table = pa.table(
        {
            "origin": [1, 1],
            "destination": [2, 2],
            "departure": pa.array([within, within + dt.timedelta(microseconds=2**64 // 1000)], pa.timestamp("us")),
        }
    )
    pq.write_table(table, tmp_path / "trips.parquet", use_deprecated_int96_timestamps=True)
    _, rows = read(tmp_path / "trips.parquet")
    assert (rows.counted, rows.outside) == (1, 1)


def test_columns_that_are_not_named_are_not_decoded(tmp_path: Path) -> None:
    """What stands there then needs no memory and stops nothing."""
    path = tmp_path / "trips.parquet"
    pq.write_table(pa.table({"note": ["x", "y"], "origin": ["1", "2"], "user": [1, 2]}), path)
    for names in (["origin"], ["user"], ["user", "origin"]):
        batches = list(row_group_batches(path, names))
        assert {frozenset(batch.schema.names) for batch in batches} == {frozenset(names)}


@pytest.mark.parametrize("role", ["origin", "user", "departure"])
def test_a_number_beyond_64_signed_bits_costs_its_own_row_only(tmp_path: Path, role: str) -> None:
    for number in (2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1):
        columns: dict[str, Any] = {"origin": [1, 1], "destination": [2, 2], "user": [7, 7]}
        columns["departure"] = [1_774_596_600] * 2  # at 7:30
        columns[role] = pa.array([columns[role][0], number], pa.uint64())
        pq.write_table(pa.table(columns), tmp_path / "trips.parquet")
        options: dict[str, Any] = {"unit": "user", "max_requests": 1, "epoch_unit": "s", "tz": "UTC"}
        _, rows = read(tmp_path / "trips.parquet", **options)
        assert rows.read == 2
        assert rows.counted == (2 if role == "user" and number < 2**63 else 1)


@pytest.mark.parametrize(
    ("unit", "numbers", "expected"),
    [
        ("s", [1, -1, 2**62 // 10**6, 2**62, -(2**63)], [10**6, -(10**6), 2**62 // 10**6 * 10**6, None, None]),
        ("ms", [1, -1, 2**62 // 1000, 2**62, -(2**63)], [1000, -1000, 2**62 // 1000 * 1000, None, None]),
        ("us", [1, -1, 2**63 - 1, -(2**63)], [1, -1, 2**63 - 1, -(2**63)]),
        ("ns", [1999, -1, 2**63 - 1, -(2**63)], [1, -1, (2**63 - 1) // 1000, -(2**63) // 1000]),
    ],
)
def test_times_are_whole_microseconds_rounded_down_or_missing(unit: str, numbers: Any, expected: Any) -> None:
    column = pa.array([*numbers, None], pa.int64()).cast(pa.timestamp(unit))
    for times in (column, column.dictionary_encode()):
        (found,) = trip_batches.formed(pa.record_batch({"time": times}), ["time"], [TextRule()])
        assert found.to_pylist() == [*expected, None]
