"""Trip files and their headers: what decides about a file as a whole."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.history.held import everything
from tests.history.trip_cases import read, write_parquet

from privroute.errors import FormatError
from privroute.history.trip_texts import LONGEST_TEXT

HEADER = b"origin,destination,departure"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (HEADER + b",MARK\xff", "not UTF-8 text, or too long"),
        (HEADER + b",MARK\0", "not UTF-8 text, or too long"),
        (HEADER + b"," + b"MARK" * LONGEST_TEXT, "not UTF-8 text, or too long"),
        (HEADER + b',"MARK', "check its quotes"),
        (b" ", "its first line is"),
    ],
    ids=["not UTF-8", "NUL", "too long", "open quote", "blank"],
)
def test_a_header_that_cannot_be_one_is_refused_and_not_quoted(tmp_path: Path, header: bytes, message: str) -> None:
    path = tmp_path / "trips.csv"
    path.write_bytes(header + b"\n1,2,2026-03-27 07:30,u\n")
    with pytest.raises(FormatError, match=message) as caught:
        read(path)
    assert "MARK" not in everything(caught.value)


@pytest.mark.parametrize("ending", [".csv", ".TSV", ".txt", ".csv.gz", ".tsv.zst", ".parquet", ".parq", ".pq"])
def test_files_are_read_by_their_ending(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"my.trips{ending}"
    if ending.startswith(".p"):
        write_parquet(path, origin=[1], destination=[2], departure=["2026-03-27 07:30"])
    else:
        kind = {"gz": "gzip", "zst": "zstd"}.get(path.suffix[1:])
        with pa.CompressedOutputStream(str(path), kind) if kind else path.open("wb") as stream:
            stream.write(HEADER + b"\n1,2,2026-03-27 07:30\n")
    assert read(path)[1].counted == 1


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("kept", [0, 40])
def test_a_compressed_file_that_is_damaged_is_refused_and_not_quoted(tmp_path: Path, ending: str, kept: int) -> None:
    path = tmp_path / f"trips.csv{ending}"
    with pa.CompressedOutputStream(str(path), "gzip" if ending == ".gz" else "zstd") as stream:
        stream.write(HEADER + b"\n" + b"".join(b"1,2,2026-03-27 07:%02d:00\n" % minute for minute in range(60)))
    path.write_bytes(path.read_bytes()[:kept] + b"MARK" * 9)
    with pytest.raises(FormatError, match="damaged") as caught:
        read(path)
    assert "MARK" not in everything(caught.value)


@pytest.mark.parametrize("column", [[{"MARK": 1}], [[1]]])
def test_a_type_that_cannot_be_read_is_named_without_what_stands_in_it(tmp_path: Path, column: Any) -> None:
    path = write_parquet(tmp_path / "trips.parquet", origin=column, destination=[2], departure=["2026-03-27 07:30"])
    with pytest.raises(FormatError, match="has the type (struct|list); zones are") as caught:
        read(path)
    assert "MARK" not in everything(caught.value)


LOCAL = dt.datetime(2026, 3, 27, 7, 30)  # noqa: DTZ001 - local time
UNUSABLE: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"origin": [LOCAL]}, {}, "origin holds times without an offset; zones are"),
    ({"destination": [LOCAL.replace(tzinfo=dt.UTC)]}, {}, "destination holds times with an offset from UTC; zones are"),
    ({"x": [LOCAL], "y": [1.0]}, {"origin": ("x", "y")}, "origin_lon holds times without an offset; coordinates are"),
    ({"x": [1.0], "y": [LOCAL]}, {"origin": ("x", "y")}, "origin_lat holds times without an offset; coordinates are"),
    ({"user": [LOCAL]}, {"unit": "user", "max_requests": 1}, "user_id holds times without an offset; user ids are"),
    ({"volume": [LOCAL]}, {"weight": "volume", "max_weight": 2}, "weight holds times without an offset; weights are"),
    ({"departure": [1]}, {}, "departure holds whole numbers; departure times are"),
    ({"departure": [1.5]}, {}, "departure holds fractions; departure times are"),
    ({"departure": [LOCAL]}, {"epoch_unit": "s", "tz": "UTC"}, "departure holds times without an offset; with epoch"),
]


@pytest.mark.parametrize(("columns", "options", "message"), UNUSABLE)
def test_a_column_of_another_kind_is_refused_by_what_it_holds(
    tmp_path: Path, columns: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    good = {"origin": [1], "destination": [2], "departure": ["2026-03-27 07:30"]}
    if isinstance(options.get("origin"), tuple):
        options = {"destination": ("u", "v"), **options}
        good |= {"u": [1.0], "v": [1.0]}
    with pytest.raises(FormatError, match=f"the column for {message}"):
        read(write_parquet(tmp_path / "trips.parquet", **good | columns), **options)
