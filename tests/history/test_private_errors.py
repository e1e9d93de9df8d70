"""No error about private data keeps any of it: not in its text, not on itself, not on what was caught before it."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.history.held import everything
from tests.history.trip_cases import read, write_csv

import privroute as pr
from privroute.errors import HistoryError
from privroute.history import trip_files
from privroute.history.trip_database import UnreadableError, open_database

NETWORK = pr.Network([0, 1], [1, 0], pr.Latency.affine([1.0, 1.0], 1.0), ["x", "y"])
PAIRS = pr.Pairs([0, 1], [1, 0])
MARKS = ("mark", "31337")
RANGE = (dt.date(2026, 3, 2), dt.date(2026, 3, 3))
HEADER = "date,origin,destination,trips\n"


FILES: dict[str, str | bytes] = {
    "not UTF-8": HEADER.encode() + b"2026-03-02,MARK,y,\xff31337\n",
    "NUL": HEADER + "2026-03-02,MARK\0,y,31337\n",
    "open quote": HEADER + '2026-03-02,"MARK,y,31337\n',
    "quote in the middle": HEADER + '2026-03-02,"MA"RK,y,31337\n',
    "long field": HEADER + "2026-03-02," + "MARK" * 40_000 + ",y,1\n",
    "missing column": "date,MARK,destination,trips\n2026-03-02,MARK,y,31337\n",
    "column twice": "date,origin,destination,trips,MARK,MARK\n2026-03-02,MARK,y,31337\n",
    "too many cells": HEADER + "2026-03-02,x,y,1,MARK,31337\n",
    "date": HEADER + "MARK31337,x,y,1\n",
    "empty date": HEADER + ",MARK,y,31337\n",
    "label": HEADER + "2026-03-02,MARK\x0731337,y,1\n",
    "long label": HEADER + "2026-03-02,MARK" + "\u200b" * 50 + ",y,31337\n",
    "unknown origin": HEADER + "2026-03-02,MARK,y,31337\n",
    "unknown destination": HEADER + "2026-03-02,x,MARK,31337\n",
    "text as number": HEADER + "2026-03-02,x,y,MARK31337\n",
    "fraction": HEADER + "2026-03-02,x,y,31337.5\n",
    "negative": HEADER + "2026-03-02,x,y,-31337\n",
    "too large": HEADER + "2026-03-02,x,y,3133700000000000\n",
    "too long": HEADER + "2026-03-02,x,y," + "31337" * 10 + "\n",
    "empty number": HEADER + "2026-03-02,x,y,\n",
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES.keys())
def test_the_reader_of_counts_drops_what_it_cannot_use_and_keeps_nothing_of_it(
    tmp_path: Path, content: str | bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "daily.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    found = ""
    try:
        counts = pr.read_daily_od(path, NETWORK, dates=RANGE).counts
        assert counts.sum() in (0, 2**40)
    except pr.PrivrouteError as problem:
        assert not path.read_bytes().startswith(HEADER.encode() + b"2026")
        found = everything(problem).lower()
    printed = capsys.readouterr()
    assert not [mark for mark in MARKS if mark in (found + printed.err + printed.out).lower()]


class Broken:
    def __array__(self, *_: Any, **__: Any) -> None:
        raise ValueError("MARK 31337")


def by_matrix(matrix: Any) -> object:
    return pr.DemandHistory.from_matrices(NETWORK, {RANGE[0]: matrix}, dates=RANGE)


VALUES: dict[str, Any] = {
    "ragged": [[31337], [31337, 31337]],
    "text": [["MARK", "31337"]] * 2,
    "fraction": [[31337.5, 1.0]] * 2,
    "negative": [[-31337, 1]] * 2,
    "large": [[31337 * 10**12, 1]] * 2,
    "huge": [[int("31337" * 20), 1]] * 2,
    "shape": [[[31337, 1]] * 2] * 2,
    "broken": Broken(),
    "masked": np.ma.masked_array([[31337, 1]] * 2, [[True, False]] * 2),
    "complex": [[31337j, 1]] * 2,
}
MAKERS: dict[str, Callable[[Any], object]] = {
    "counts": lambda values: pr.DemandHistory(PAIRS, values),
    "matrices by date": by_matrix,
    "matrices in order": lambda values: pr.DemandHistory.from_matrices(NETWORK, [values]),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
def test_errors_of_histories_keep_nothing(make: Callable[[Any], object], values: Any) -> None:
    with pytest.raises(pr.PrivrouteError) as refused:
        make(values)
    found = everything(refused.value).lower()
    assert not [mark for mark in MARKS if mark in found]


RATES: dict[str, Any] = {
    "negative": [-31337.0, 1.0],
    "ragged": [[31337.0], [1.0, 31337.0]],
    "text": ["MARK", "31337"],
    "infinite": [31337.0, np.inf],
    "long": [31337.0] * 3,
    "broken": Broken(),
}


@pytest.mark.parametrize("rates", RATES.values(), ids=RATES.keys())
def test_errors_of_demands_keep_nothing_since_a_mean_is_private(rates: Any) -> None:
    for make in (pr.Demand, pr.Demand.from_observed):
        with pytest.raises(pr.PrivrouteError) as refused:
            make(PAIRS, rates)
        found = everything(refused.value).lower()
        assert not [mark for mark in MARKS if mark in found]


def hidden_by_from_none() -> None:
    try:
        b"MARK\xff".decode()
    except UnicodeDecodeError:
        raise pr.PrivrouteError("nothing to see") from None


def test_the_walk_sees_what_from_none_only_hides() -> None:
    with pytest.raises(pr.PrivrouteError) as refused:
        hidden_by_from_none()
    assert "MARK" in everything(refused.value)


def test_printed_forms_show_no_counts() -> None:
    history = pr.DemandHistory(PAIRS, [[31337, 1]])
    shown = f"{history!r} {history.mean!r}"
    assert "31337" not in shown
    assert f"{31337 / 60:.1f}"[:4] not in shown


@pytest.mark.parametrize("before", [0, 5], ids=["at once", "in the middle"])
def test_a_statement_that_fails_says_nothing_of_the_rows(before: int) -> None:
    schema = pa.schema([("number", pa.int64())])

    def batches() -> Any:
        for _ in range(before):
            yield pa.record_batch([pa.array(np.full(200_000, 31337))], schema=schema)
        raise ValueError("MARK 31337")

    with open_database(64, None) as database:
        for read in (
            lambda: list(database.batches("SELECT * FROM trips")),
            lambda: database.rows("SELECT * FROM trips"),
        ):
            database.put("trips", pa.RecordBatchReader.from_batches(schema, batches()))
            with pytest.raises(UnreadableError) as caught:
                read()
            assert not any(mark in everything(caught.value).lower() for mark in MARKS)


@pytest.mark.parametrize(("text", "kind"), [("Out of Memory Error: MARK", HistoryError), ("MARK", UnreadableError)])
def test_an_error_in_the_middle_of_a_result_says_only_of_what_kind_it_was(text: str, kind: type[Exception]) -> None:
    class Result:
        def to_arrow_reader(self, rows: int) -> Any:
            assert rows
            raise OSError(text)

    with open_database(64, None) as database:
        database.connection.close()
        database.connection = type("Connection", (), {"sql": lambda *_: Result(), "close": lambda _: None})()
        with pytest.raises(kind) as caught:
            list(database.batches("SELECT 1"))
    assert "mark" not in everything(caught.value).lower()


def test_duckdb_draws_nothing_even_where_python_is_interactive() -> None:
    program = """
import duckdb
from privroute.history import trip_files
from privroute.history.trip_database import open_database
asked = "SELECT current_setting('enable_progress_bar'), current_setting('lock_configuration')"
print(duckdb.connect().execute(asked).fetchall())
with open_database(64, None) as database:
    print(database.rows(asked))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[(True, False)]", "[(False, True)]"]


def test_stopping_in_the_midst_of_a_batch_is_no_damaged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> Any:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(trip_files, "csv_batches", stopped)
    with pytest.raises(KeyboardInterrupt):
        read(write_csv(tmp_path, "1,2,2026-03-27 07:30:00,u"))


@pytest.mark.parametrize("call", ["read_trips", "bound_trips", "profile_trips"])
def test_a_signal_while_threads_read_files_is_no_damaged_file(tmp_path: Path, call: str) -> None:
    """It comes to the thread that waits for the others."""
    lines = ["1,2,2026-03-27 07:30:00,u"] * 3_000
    paths = [write_csv(_folder(tmp_path / name), *lines) for name in ("a", "b")]
    program = f"""
import os, signal, sys, threading, time
from pathlib import Path
import privroute as pr
from privroute.history import trip_batches, trip_files
from privroute.history.kept_set import bound_trips
from privroute.history.trip_profile import profile_trips
from tests.history.trip_cases import NETWORK, RANGE
paths = {[str(path) for path in paths]}
options = dict(period=("07:00", "08:00"), dates=RANGE)
frame = pr.read_trips(paths, NETWORK, report=lambda rows: None, **options)
study = pr.Study(NETWORK, frame.frame, mechanism="none")
made = trip_files.csv_batches
def slow(*given):
    for number, batch in enumerate(made(*given)):
        if number == 3 and given[0] == Path(paths[0]):
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        yield batch
trip_files.csv_batches = slow
trip_batches._CHUNK_BYTES = 1_000
calls = {{
    "read_trips": lambda: pr.read_trips(paths, NETWORK, report=lambda rows: None, **options),
    "bound_trips": lambda: bound_trips(paths, {str(tmp_path / "kept")!r}, max_requests=1),
    "profile_trips": lambda: profile_trips(paths, study, frame),
}}
try:
    calls["{call}"]()
except KeyboardInterrupt:
    print("interrupted", sum(type(each) is threading.Thread for each in threading.enumerate()))
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=root)
    assert done.stdout.split() == ["interrupted", "0"]
    assert not (tmp_path / "kept").exists()


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
