"""What a reading needs does not grow with the length of a text: one row or user must not decide whether it ends."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.history.trip_cases import RANGE, read, write_csv

import privroute as pr
from privroute.errors import HistoryError
from privroute.history import row_groups, trip_files

WHEN = "2026-03-27 07:30:00"
LONG = "x" * 65_000  # as long as a text of a file may be
_PEAK = """
import json, sys
import pyarrow as pa
from tests.history.trip_cases import read
counts = read(sys.argv[1], **json.loads(sys.argv[2]))[0].counts.sum()
print(counts, pa.default_memory_pool().max_memory())
"""


def peak(path: Path, options: str = "{}") -> tuple[int, int]:
    """Counted trips, and how many bytes Arrow had at most; in a process of its own."""
    command = [sys.executable, "-c", _PEAK, str(path), options]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    counted, most = done.stdout.split()
    return int(counted), int(most)


def table_of(column: str, values: Any) -> Any:
    rows = len(values)
    when = pa.array([dt.datetime(2026, 3, 27, 7, 30)]).take(pa.array(np.zeros(rows, np.int64)))  # noqa: DTZ001 - local time
    usual = {"origin": ["1"] * rows, "destination": ["2"] * rows, "departure": when, "user": ["u"] * rows}
    return pa.table(usual | {column: values})


def repeated(text: str, rows: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


def write_distinct(path: Path, texts: int, size: int) -> Path:
    """Origins of a dictionary type in plain pages, all long and different but the last."""
    kind = pa.dictionary(pa.int32(), pa.string())
    names = {"origin": kind, "destination": pa.string(), "departure": pa.string()}
    options: dict[str, Any] = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
    with pq.ParquetWriter(path, pa.schema(list(names.items())), **options) as file:
        for number in range(texts + 1):
            origin = pa.array([f"{number:09d}" + "x" * size if number < texts else "1"])
            table = pa.table({"origin": origin.dictionary_encode(), "destination": ["2"], "departure": [WHEN]})
            file.write_table(table.cast(file.schema))
    return path


def test_different_texts_of_more_than_two_gib_do_not_stop_a_reading(tmp_path: Path) -> None:
    """A dictionary of Arrow ends at 2^31 bytes. None that grows beyond a run of row groups is made."""
    path = write_distinct(tmp_path / "trips.parquet", 72, 30_000_000)
    counted, most = peak(path)
    assert counted == 1
    assert most < 2**29


def test_a_dictionary_type_with_narrow_positions_takes_more_texts_than_they_count(tmp_path: Path) -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    path = tmp_path / "trips.parquet"
    texts = [pa.array([f"{number}-{part}" for part in range(100)]) for number in range(3)] + [pa.array(["1"])]
    schema = table_of("origin", texts[0].dictionary_encode().cast(kind)).schema
    with pq.ParquetWriter(path, schema, use_dictionary=False) as file:
        for part in texts:
            file.write_table(table_of("origin", part.dictionary_encode().cast(kind)))
    assert read(path)[0].counts.sum() == 1


def test_too_many_bytes_for_arrow_are_not_called_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_csv(tmp_path, f"1,2,{WHEN},u")
    for problem in (pa.ArrowCapacityError("secret"), MemoryError("secret"), OSError("Capacity error: secret")):

        def full(*_: Any, problem: Exception = problem) -> Any:
            raise problem

        monkeypatch.setattr(trip_files, "csv_batches", full)
        with pytest.raises(HistoryError, match="memory") as caught:
            read(path)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("column", ["origin", "destination", "departure", "user"])
@pytest.mark.parametrize("stored", ["dictionary type", "dictionary pages", "delta", "plain"])
def test_a_long_text_in_all_rows_of_a_user_needs_little_memory(tmp_path: Path, column: str, stored: str) -> None:
    rows = 16_384
    options: dict[str, Any] = {"store_schema": stored == "dictionary type", "compression": "zstd"}
    table = table_of(column, repeated(LONG, rows))
    if stored in ("delta", "plain"):
        encoding = "DELTA_BYTE_ARRAY" if stored == "delta" else "PLAIN"
        options |= {"use_dictionary": False, "column_encoding": {column: encoding}, "row_group_size": rows // 4}
        rows //= 2  # of two row groups, which do not fit into a batch
        table = table_of(column, repeated(LONG, rows))
    path = tmp_path / "trips.parquet"
    pq.write_table(table, path, **options)
    counted, most = peak(path, '{"unit": "user", "max_requests": 3, "memory_mb": 64}')
    assert counted == (3 if column == "user" else 0)
    assert most < 3 * 2**27


def test_a_row_that_makes_a_row_group_large_does_not_copy_what_others_share(tmp_path: Path) -> None:
    """Above 128 MiB texts are no longer read as a dictionary: one row more must not repeat the text of the others."""
    shared, rows = pa.array(["x" * 2**21, "2", "y" * 130 * 2**20], pa.large_string()), 640
    path = tmp_path / "trips.parquet"
    options: dict[str, Any] = {"store_schema": False, "compression": "zstd", "write_statistics": False}
    for last in (1, 2):
        at = pa.array([0] * rows + [1, last], pa.int32())
        table = table_of("destination", pa.DictionaryArray.from_arrays(at, shared.slice(0, last + 1)))
        pq.write_table(table, path, dictionary_pagesize_limit=2**22, **options)
        counted, most = peak(path)
        assert counted == (2 if last == 1 else 1)
        assert most < 2**30


def test_long_texts_are_read_alike_in_runs_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way of reading depends on sizes of several rows; what is read does not."""
    ids = ["abcdefg"[number % 7] * (1 + 40 * (number % 11)) for number in range(700)]
    seen = set()
    for kind in (pa.string(), pa.string_view(), pa.dictionary(pa.int16(), pa.string())):
        users = pa.array(ids)
        users = users.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else users.cast(kind)
        for encoding in ("PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", None):
            path = tmp_path / "trips.parquet"
            plain: dict[str, Any] = {"use_dictionary": False, "column_encoding": {"user": encoding}} if encoding else {}
            pq.write_table(table_of("user", users), path, row_group_size=90, **plain)
            for size in (1, 3000, 2**27):
                monkeypatch.setattr(row_groups, "_RUN_BYTES", size)
                seen.add(int(read(path, unit="user", max_requests=1)[0].counts.sum()))
    assert seen == {77}


def test_a_zone_may_have_a_label_that_is_longer_than_other_texts(tmp_path: Path) -> None:
    label = "z" * 1000
    network = pr.Network([0, 1], [1, 0], pr.Latency.affine([1.0] * 2, 10.0), [label, "b"])
    path = write_csv(tmp_path, f"{label},b,{WHEN},u", f"{label}z,b,{WHEN},u")
    options: dict[str, Any] = {"period": ("07:00", "08:00"), "dates": RANGE, "report": lambda _: None}
    history = pr.read_trips(path, network, **options)
    assert history.counts.sum() == 1
