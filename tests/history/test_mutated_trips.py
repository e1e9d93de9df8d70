"""Ten thousand broken trip files: a broken row costs itself only, a broken file is refused, no message quotes any."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.history.held import everything
from tests.history.trip_cases import read

import privroute as pr

MARK = "mark31337"
BATCH, BATCHES = 200, 48  # of CSV files with broken rows
PARQUET_FILES, PARQUET_BATCHES = 20, 10  # with broken values
DAMAGED = 200  # files with changed bytes
HEADER = b"origin,destination,departure,user\n"
GOOD = b"1,2,2026-03-27 07:30,31337mark\n"
OPTIONS: list[dict[str, Any]] = [
    {},
    {"tz": "Europe/Berlin"},
    {"unit": "user", "max_requests": 10**5, "tz": "UTC"},
    {"unit": "user-day", "max_requests": 10**5},
    {"destination": ("destination", "user"), "max_zone_distance_km": 3000},
]
CELLS = [
    MARK.encode(),
    f'"{MARK}'.encode(),
    f'{MARK}"'.encode(),
    f'"{MARK}""'.encode(),
    f'"{MARK}\n{MARK}"'.encode(),
    f"{MARK}'; DROP TABLE zones; --".encode(),
    f"{MARK}\\".encode(),
    f"{MARK}\0".encode(),
    f"{MARK}\x1f\x1e".encode(),
    MARK.encode("utf-16"),
    f"ü{MARK}".encode("latin-1"),
    b"\xed\xa0\x80" + MARK.encode(),  # a surrogate, which UTF-8 does not have
    f"{MARK}\u202e\ufeff\u0000\u200b".encode(),
    MARK.encode() * 8000,
    b"31337" * 60,
    b"-31337" + b"0" * 25,
    b"31337e307",
    b"31337e-400",
    b"-0x31337",
    b"NaN",
    b"-inf",
    b"",
    b" ",
    b"NULL",
    b"true",
    b"31337-01-01 00:00:00",
    b"2026-03-27 07:30:31.31337313373133731337",
    b"2026-03-27T07:30:31+31:33",
    b"2026-03-27 07:30:00-99:99",
    b"2026-13-31 33:37:00",
    b"infinity",
    b"epoch",
    b"290309-12-22 (BC) 00:00:00",
    b"294247-01-10 04:00:54.775806",
    b"{'mark31337': [1, 2]}",
    b"=cmd|'mark31337'",
]


def broken_row(chance: random.Random) -> bytes:
    """A row with one to four odd cells, other delimiters, too few or too many cells, or bytes changed anywhere."""
    cells = GOOD.strip().split(b",")
    for _ in range(chance.randint(1, 4)):
        cells[chance.randrange(len(cells))] = chance.choice(CELLS)
    if chance.random() < 0.2:
        cells = cells[: chance.randrange(4)] + [chance.choice(CELLS)] * chance.randrange(4)
    line = chance.choice([b",", b",", b",", b";", b"\t", b', "']).join(cells)
    if chance.random() < 0.2 and line:
        at = chance.randrange(len(line))
        line = line[:at] + bytes(chance.randrange(256) for _ in range(3)) + line[at + 1 :]
    return line + chance.choice([b"\n", b"\r\n", b"\r", b"\n\n"])


def unmarked(text: str) -> bool:
    return "31337" not in text and "mark" not in text.lower()


@pytest.mark.parametrize("part", range(4))
def test_a_broken_row_costs_itself_only(tmp_path: Path, part: int) -> None:
    chance = random.Random(part)  # noqa: S311 - repeatable cases
    for batch in range(part, BATCHES, 4):
        files = []
        for number in range(BATCH):
            rows = [GOOD, *(broken_row(chance) for _ in range(chance.randint(1, 3))), GOOD]
            files.append(tmp_path / f"{number}.csv")
            files[-1].write_bytes(HEADER + b"".join(rows))
        options = OPTIONS[batch % len(OPTIONS)]
        history, rows_read = read(files, **options)
        assert unmarked(str(rows_read))
        if "max_zone_distance_km" not in options:  # where users are read as latitudes, no row has a destination
            assert rows_read.counted >= 2 * BATCH
            assert history.counts[0, 0] >= 2 * BATCH


def odd_values(chance: random.Random) -> Any:
    """A column of three values of one of the types that a column may have."""
    moments = pa.array([chance.choice([2**63 - 1, -(2**63), 0, 31337 * 10**12, None]) for _ in range(3)], pa.int64())
    texts = [chance.choice(CELLS) for _ in range(3)]
    return chance.choice(
        [
            pa.array([chance.choice([2**63 - 1, -31337, None]) for _ in range(3)], pa.int64()),
            pa.array([chance.choice([2**64 - 1, 31337]) for _ in range(3)], pa.uint64()),
            pa.array([chance.choice([3.1337e307, float("nan"), float("-inf"), 31337.5, None]) for _ in range(3)]),
            pa.array([decimal.Decimal("313373133731337.31337")] * 3),
            pa.array([None] * 3),
            pa.Array.from_buffers(pa.string(), 3, pa.array(texts, pa.binary()).buffers()),
            moments.cast(pa.timestamp(chance.choice(["ms", "us", "ns"]))),
        ]
    )


@pytest.mark.parametrize("part", range(2))
def test_a_broken_value_of_a_parquet_file_costs_its_row_only(tmp_path: Path, part: int) -> None:
    chance = random.Random(100 + part)  # noqa: S311 - repeatable cases
    when = pa.array([dt.datetime(2026, 3, 27, 7, 30)] * 3)  # noqa: DTZ001 - local time
    for batch in range(part, PARQUET_BATCHES, 2):
        files = []
        for number in range(PARQUET_FILES):
            columns: dict[str, Any] = {
                "origin": pa.array(["1"] * 3),
                "destination": pa.array(["2"] * 3),
                "departure": when,
                "user": pa.array(["u"] * 3),
            }
            column = chance.choice(list(columns))
            odd = odd_values(chance)
            stamps = pa.types.is_timestamp(odd.type)
            if column == "departure" and not (stamps or pa.types.is_string(odd.type) or pa.types.is_null(odd.type)):
                odd = moments_of(chance)
            elif column != "departure" and stamps:
                odd = pa.array([31337] * 3)
            columns[column] = odd
            files.append(tmp_path / f"{batch}-{number}.parquet")
            pq.write_table(pa.table(columns), files[-1])
        clean = {"origin": ["1"], "destination": ["2"], "departure": when[:1], "user": ["u"]}
        files.append(tmp_path / f"{batch}-clean.parquet")
        pq.write_table(pa.table(clean), files[-1])
        _, rows_read = read(files, **[{}, {"unit": "user", "max_requests": 1000}][batch % 4 // 2])
        assert unmarked(str(rows_read))
        assert rows_read.counted >= 1
        assert rows_read.read == 3 * PARQUET_FILES + 1


def moments_of(chance: random.Random) -> Any:
    return pa.array([chance.choice([2**63 - 1, 31337 * 10**9]) for _ in range(3)], pa.int64()).cast(pa.timestamp("ms"))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_damaged_file_is_read_or_refused_and_never_quoted(tmp_path: Path, ending: str) -> None:
    chance = random.Random(7)  # noqa: S311 - repeatable cases
    path = tmp_path / f"trips.{ending}"
    whole = HEADER + GOOD * 20
    if ending == "parquet":
        marks = {"origin": [MARK] * 9, "destination": ["2"] * 9, "departure": [f"31337{MARK}"] * 9, "user": [MARK] * 9}
        pq.write_table(pa.table(marks), path)
        whole = path.read_bytes()
    refused = 0
    for case in range(DAMAGED // 2):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(len(HEADER) if ending == "csv" and case % 2 else len(data))
            data[at : at + chance.randrange(4)] = bytes(chance.randrange(256) for _ in range(chance.randrange(4)))
        path.write_bytes(data[: chance.randrange(len(data))] if case % 5 == 0 else data)
        try:
            read(path, unit="user", max_requests=5)
        except pr.PrivrouteError as problem:
            refused += 1
            found = everything(problem)
            assert unmarked(found), found
    assert refused > 5


def test_the_cases_are_ten_thousand() -> None:
    assert BATCH * BATCHES + PARQUET_FILES * PARQUET_BATCHES + DAMAGED >= 10_000
