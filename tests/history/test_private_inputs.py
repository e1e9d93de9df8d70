"""Row by row, for private inputs beside trips that are counted: the making of a kept set, and files of daily counts."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.command import run
from tests.history.row_cases import BROKEN, LABELS, Layout, Row, draw_layout, draw_rows, users_of
from tests.history.row_files import write
from tests.history.row_reading import draw_borders
from tests.history.trip_cases import NETWORK, RANGE

import privroute as pr
from privroute.history import kept_set
from privroute.history.demand_history import LARGEST_COUNT
from privroute.history.kept_set import TRIPS, bound_trips
from privroute.study.trip_format import TripFormat

LAYOUTS = 12
FAR = 2**60 + 1  # no float has it


class Keeper:
    """Makes kept sets of rows of one layout with a fixed salt."""

    def __init__(self, folder: Path, chance: random.Random, layout: Layout) -> None:
        self.folder, self.chance, self.layout = folder, chance, layout
        ends = {end: layout.options[end] for end in ("origin", "destination") if end in layout.options}
        self.options: dict[str, Any] = {"max_requests": chance.randint(1, 3), "trips": TripFormat(**ends)}
        if not ends and chance.random() < 0.5:
            self.options["max_per_pair"] = 1
        self.made = 0

    def make(self, rows: list[Row], **more: Any) -> Path:
        paths = write(self.folder, self.chance, self.layout, rows)
        self.made += 1
        out = self.folder / f"kept{self.made}"
        for folder in more.get("previous", ()):  # each time as if no later part had been made
            (folder / "continued").unlink(missing_ok=True)
        with draw_borders(self.chance):
            bound_trips(paths, out, **self.options, **more)
        return out

    def kept(self, rows: list[Row], **more: Any) -> Counter[str]:
        found = pq.read_table(self.make(rows, **more) / TRIPS)
        # times that Python cannot hold are compared as numbers
        columns = [
            column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in found.columns
        ]
        return Counter(map(repr, zip(*(column.to_pylist() for column in columns), strict=True)))


def difference(one: Counter[str], other: Counter[str]) -> Counter[str]:
    left = Counter(one)
    left.subtract(other)
    return Counter({row: times for row, times in left.items() if times})


@pytest.mark.parametrize("part", range(LAYOUTS))
def test_a_row_changes_only_what_is_kept_of_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr(kept_set, "new_salt", lambda: "salt")
    chance = random.Random(part)  # noqa: S311 - repeatable cases
    layout = replace(draw_layout(chance), others=())
    rows = draw_rows(chance, layout, 8)
    keeper = Keeper(tmp_path, chance, layout)
    more = {"previous": [keeper.make(draw_rows(chance, layout, 4))]} if chance.random() < 0.3 else {}
    before = keeper.kept(rows, **more)
    for _ in range(4):
        row = rows.pop(chance.randrange(len(rows)))
        after, others = keeper.kept(rows, **more), users_of(rows, row)
        part_of_user = difference(keeper.kept([*others, row], **more), keeper.kept(others, **more))
        assert difference(before, after) == part_of_user
        before = after


class TestOneRowWithoutAValue:
    """It must neither stop the kept set nor round the numbers of the other rows of its batch."""

    def columns(self) -> dict[str, Any]:
        when = pa.array([10**15, 10**15], pa.int64()).cast(pa.timestamp("us"))
        return {name: pa.array([FAR, 2], pa.int64()) for name in ("origin", "destination", "user")} | {
            "departure": when
        }

    @pytest.mark.parametrize("column", ["origin", "destination", "departure"])
    def test_is_kept_and_the_others_stay_as_they_are(self, tmp_path: Path, column: str) -> None:
        columns = self.columns()
        columns[column] = pa.array([columns[column][0], None], columns[column].type)
        pq.write_table(pa.table(columns), tmp_path / "trips.parquet")
        bound_trips(tmp_path / "trips.parquet", tmp_path / "kept", max_requests=1)
        found = {row["user"]: row for row in pq.read_table(tmp_path / "kept" / TRIPS).to_pylist()}
        assert found[2][column] is None
        assert found[FAR] == pa.table(columns).to_pylist()[0]

    def test_does_not_change_the_exit_code(self, tmp_path: Path) -> None:
        columns = self.columns() | {"origin": pa.array([1, None], pa.int64())}
        for rows in (1, 2):
            pq.write_table(pa.table(columns).slice(0, rows), tmp_path / "trips.parquet")
            done = run("bound", tmp_path / "trips.parquet", "--max-requests", 1, "--out", tmp_path / f"kept{rows}")
            assert done.code == 0, done.err


def daily_line(chance: random.Random) -> bytes:
    cells = [
        chance.choice(
            ["2026-03-26", *["2026-03-27", "2026-03-30"] * 3, "2026-03-31", "20260328", "2026-02-30", "x"]
        ).encode(),
        chance.choice(LABELS).encode(),
        chance.choice(LABELS).encode(),
        chance.choice(["1", "2", "+3", "4.0", "-1", "1.5", "9" * 30, "9" * 5000, str(2**40), "1e3", "٣"]).encode(),
    ]
    if chance.random() < 0.2:
        cells[chance.randrange(4)] = chance.choice([*BROKEN, b'"', b'"open', b'a"b', b'"1"', b"9" * 5000])
    if chance.random() < 0.05:
        cells.pop()
    return b",".join(cells) + chance.choice([b"\n", b"\r\n", b"\r"])


def test_daily_counts_are_the_sum_of_what_each_line_says(tmp_path: Path) -> None:
    chance = random.Random(1)  # noqa: S311 - repeatable cases
    path = tmp_path / "daily.csv"

    def counts(lines: list[bytes]) -> Any:
        path.write_bytes(b"date,origin,destination,trips\n" + b"".join(lines))
        with draw_borders(chance):
            return pr.read_daily_od(path, NETWORK, dates=RANGE, report=lambda _: None).counts

    counted = 0
    for _ in range(80):
        lines = [daily_line(chance) for _ in range(chance.randint(1, 8))]
        alone = np.sum([counts([line]) for line in lines], axis=0)
        np.testing.assert_array_equal(counts(lines), np.minimum(alone, LARGEST_COUNT))
        counted += int((alone > 0).sum())
    assert counted > 30
