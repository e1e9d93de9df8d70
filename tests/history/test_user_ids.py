"""Ids of users, short and long."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.history.trip_cases import read, write_csv

from privroute.history.trip_texts import SHORT_TEXT, TextRule


def ids_of(texts: list[str | None]) -> list[str | None]:
    column = pa.array(texts, pa.large_string())
    offset = np.frombuffer(column.buffers()[1], np.int64)[: len(texts) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    return list(
        TextRule(user_ids=True).read(offset, data, column.is_valid().to_numpy(zero_copy_only=False)).to_pylist()
    )


def users(files: Any) -> int:
    """How many users have rows there: one request of each is kept."""
    return int(read(files, unit="user", max_requests=1)[0].counts.sum())


def parquet_ids(folder: Path, ids: Any) -> Path:
    when = [dt.datetime(2026, 3, 27, 7, 30)] * len(ids)  # noqa: DTZ001 - local time
    path = folder / "ids.parquet"
    pq.write_table(
        pa.table({"origin": [1] * len(ids), "destination": [2] * len(ids), "departure": when, "user": ids}), path
    )
    return path


def csv_ids(folder: Path, *ids: str) -> Path:
    return write_csv(folder, *(f"1,2,2026-03-27 07:30:00,{text}" for text in ids))


def test_long_ids_are_told_apart_and_are_the_same_in_all_files(tmp_path: Path) -> None:
    ids = ["x" * (SHORT_TEXT + 1), "x" * SHORT_TEXT + "y", "x" * 60_000, "x" * 59_999 + "y"]
    padded = [f" {text}\u00a0" for text in ids]
    assert users(csv_ids(tmp_path, *ids)) == 4
    plain, encoded = pa.array(padded), pa.array(padded).dictionary_encode()
    for column in (plain, encoded, plain.cast(pa.string_view()), plain.cast(pa.binary())):
        assert users([parquet_ids(tmp_path, column), csv_ids(tmp_path, *ids)]) == 4


def test_a_long_id_leaves_nothing_longer_than_a_short_one() -> None:
    assert ids_of(["x" * SHORT_TEXT, " " * 300, None, "x" * 65_537]) == ["x" * SHORT_TEXT, "", None, None]
    (digest,) = ids_of(["x" * (SHORT_TEXT + 1)])
    assert digest is not None
    assert len(digest) < SHORT_TEXT
