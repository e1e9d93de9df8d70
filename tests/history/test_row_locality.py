"""The theorem that every proof rests on, with neighbours as files: a row changes the counts by its own part alone.

    request level:   counts(D) − counts(D without r) = counts({r})
    user level:      counts(D) − counts(D without r) = counts(D of r's user) − counts(D of r's user without r)

for every row r of files D, however these are typed, encoded, compressed and split, and whatever stands in other rows;
and reading D stops exactly where reading D without r does, which is nowhere. docs/proofs/row-locality.md

PRIVROUTE_ROW_CASES sets how many neighbours are tried (unless set, 2,000 under CI=true and 500 elsewhere),
PRIVROUTE_ROW_TALLIES a folder to which is written what they were.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.cli.command import run
from tests.history.row_cases import Layout, draw_layout, draw_rows, users_of
from tests.history.row_files import TALLY, write
from tests.history.row_reading import counts_of_files, draw_borders, numbers_of
from tests.history.trip_cases import AREAS, NETWORK, RANGE, read

import privroute as pr
from privroute import _core
from privroute.history import bounding, trip_batches, trip_texts
from privroute.history.nearest_zone import NearestZone

CASES = int(os.environ.get("PRIVROUTE_ROW_CASES", "2000" if os.environ.get("CI") == "true" else "500"))
TALLIES = os.environ.get("PRIVROUTE_ROW_TALLIES")
COMMANDS = max(12, CASES // 500)
PARTS = 8
ROWS, CHAINS = 16, 2  # of each layout: different rows, and orders in which rows leave the files one by one


class Reader:
    """Reads rows of one layout through files, with the salt of the bounding fixed."""

    def __init__(self, folder: Path, chance: random.Random, layout: Layout) -> None:
        self.folder, self.chance, self.layout = folder, chance, layout

    def counts(self, rows: list[Any]) -> Any:
        paths = write(self.folder, self.chance, self.layout, rows)
        with draw_borders(self.chance):
            return counts_of_files(paths, self.layout.options)


def check_chain(reader: Reader, rows: list[Any], known: dict[tuple[int, ...], Any]) -> int:
    """Take rows out one by one, in any order, and check what each was worth; returns the number of neighbours.

    known : what some rows by themselves count, so that each part is read once
    """

    def by_themselves(some: list[Any]) -> Any:
        key = tuple(sorted(map(id, some)))
        if key not in known:
            known[key] = reader.counts(some)
        return known[key]

    left = list(rows)
    reader.chance.shuffle(left)
    before = reader.counts(left)
    by_user = "unit" in reader.layout.options
    while left:
        row = left.pop(reader.chance.randrange(len(left)))
        after = reader.counts(left)
        others = users_of(left, row) if by_user else []
        part = by_themselves([*others, row]) - by_themselves(others)
        np.testing.assert_array_equal(before - after, part, err_msg=f"{reader.layout.options} {reader.layout.kinds}")
        before = after
    assert not before.any()
    return len(rows)


def check_layouts(folder: Path, seed: int, cases: int, *, wanted: Callable[[Layout], bool] = lambda _: True) -> int:
    """Neighbours of random layouts, of those wanted, until there are as many as asked for."""
    chance = random.Random(seed)  # noqa: S311 - repeatable cases
    done = 0
    while done < cases:
        layout = draw_layout(chance)
        if not wanted(layout):
            continue
        rows = draw_rows(chance, layout, chance.randint(1, ROWS))
        known: dict[tuple[int, ...], Any] = {}
        for _ in range(CHAINS):
            done += check_chain(Reader(folder, chance, layout), rows, known)
    return done


class Lasting:
    """A connection that outlives a reading, since making one takes longer than a small reading."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._settings: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str) -> Any:
        if statement.startswith("SET "):  # said once, and locked since
            if statement in self._settings:
                return SimpleNamespace(fetchall=list)
            self._settings.add(statement)
        return self._connection.execute(statement)

    def create_function(self, name: str, *given: Any, **options: Any) -> None:
        with suppress(duckdb.InvalidInputException):
            self._connection.remove_function(name)
        self._connection.create_function(name, *given, **options)

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def one_connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: list[Any] = []
    connect = duckdb.connect

    def again(place: str, config: dict[str, Any]) -> Any:
        if not made:
            made.append(Lasting(connect(place, config=config)))
        return made[0]

    monkeypatch.setattr(duckdb, "connect", again)
    yield
    for lasting in made:
        lasting._connection.close()


@pytest.fixture(autouse=True)
def fixed_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounding, "new_salt", lambda: "salt")


@pytest.mark.parametrize("part", range(PARTS))
def test_a_row_changes_the_counts_by_its_own_part_alone(tmp_path: Path, part: int) -> None:
    TALLY.clear()
    TALLY["neighbours"] = check_layouts(tmp_path, part, CASES // PARTS)
    assert TALLY["neighbours"] >= CASES // PARTS
    if TALLIES:
        lines = [f"{number}\t{kind}" for kind, number in sorted(TALLY.items())]
        Path(TALLIES, f"part{part}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_the_cases_count_something(tmp_path: Path) -> None:
    chance = random.Random(1)  # noqa: S311 - repeatable cases
    counted = []
    for _ in range(60):
        layout = draw_layout(chance)
        rows = draw_rows(chance, layout, ROWS)
        counted.append(int(Reader(tmp_path, chance, layout).counts(rows).sum()))
    assert np.count_nonzero(counted) > 25


def test_a_row_stops_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same through the command line: equal exit codes, and histories that differ by the row's own part."""
    for network, name in ((NETWORK, "nodes"), (AREAS, "areas")):
        pr.write_gmns(network, tmp_path / name)
    seen: list[Any] = []
    reader = pr.read_trips

    def kept(*given: Any, **options: Any) -> Any:
        seen.append(reader(*given, **options))
        return seen[-1]

    monkeypatch.setattr(pr, "read_trips", kept)
    chance = random.Random(3)  # noqa: S311 - repeatable cases
    told = 0
    for case in range(COMMANDS):
        layout = draw_layout(chance)
        rows = draw_rows(chance, layout, 6)
        counts = []
        for part in (rows, rows[1:]):
            paths = write(tmp_path, chance, layout, part)
            done = run(
                *_command(
                    tmp_path / ("areas" if "areas" in layout.options else "nodes"),
                    paths,
                    layout.options,
                    tmp_path / f"out{case}{len(part)}",
                )
            )
            assert done.code == 0, done.err
            counts.append(numbers_of(seen[-1]))
        alone = users_of(rows, rows[0]) if "unit" in layout.options else [rows[0]]
        worth = [Reader(tmp_path, chance, layout).counts(part) for part in (alone, alone[1:]) if part]
        np.testing.assert_array_equal(counts[0] - counts[1], worth[0] - (worth[1] if len(worth) > 1 else 0))
        told += int(counts[0].sum())
    assert told > 0


def _command(roads: Path, paths: list[Path], options: dict[str, Any], out: Path) -> list[object]:
    words: list[object] = ["learn", "--network", roads, "--from", RANGE[0], "--to", RANGE[1], "--out", out]
    words += ["--epsilon", 1, "--delta", 1e-6]
    for path in paths:
        words += ["--trips", path]
    period = options["period"]
    for hours in period if isinstance(period, list) else ["-".join(period)]:
        words += ["--period", hours]
    flags = {"tz": "tz", "max_zone_distance_km": "max-zone-distance-km", "weekdays": "weekdays"}
    flags |= {"unit": "unit", "max_requests": "max-requests", "max_per_pair": "max-per-pair"}
    for name, flag in flags.items():
        if name in options:
            words += [f"--{flag}", options[name]]
    of_trips = ("epoch_unit", "time_format", "weight", "weight_unit")
    keys = {f"trips.{name}": options[name] for name in of_trips if name in options}
    keys |= {"unit.max_weight": options["max_weight"]} if "max_weight" in options else {}
    keys |= {f"calendar.{name}": options[name] for name in ("day_types", "holidays") if name in options}
    keys |= {f"unit.{name}": value for name, value in options.get("bounds", {}).items()}
    for name, value in keys.items():
        words += ["--set", f"{name}={_spelt(value)}"]
    for end in ("origin", "destination"):
        if end in options:
            words += [f"--{end}-column", ",".join(options[end])]
    return words


def _spelt(value: Any) -> str:
    if isinstance(value, dict):
        return ";".join(f"{name}={each}" for name, each in value.items())
    return ",".join(value) if isinstance(value, list) else str(value)


def zones_that_depend_on_the_block(network: pr.Network = NETWORK) -> int:
    """How many of 4,000 points, most of them half way between two zones, have another zone alone than among others."""
    draw = np.random.default_rng(5)
    longitude = np.where(draw.random(4000) < 0.8, 13.45, 13.4 + draw.random(4000) / 10)
    latitude = 52.5 + draw.random(4000) / 50
    nearest = NearestZone(network, 20.0)
    together = nearest(longitude, latitude)
    alone = np.concatenate([nearest(longitude[at : at + 1], latitude[at : at + 1]) for at in range(4000)])
    spread = np.repeat(longitude, 3)[::3], np.repeat(latitude, 3)[::3]  # the same numbers, elsewhere in memory
    return int(((together != alone) | (together != nearest(*spread))).sum())


@pytest.mark.parametrize("network", [NETWORK, AREAS], ids=["nodes", "areas"])
def test_the_zone_of_a_point_is_the_same_alone_and_among_others(network: pr.Network) -> None:
    assert zones_that_depend_on_the_block(network) == 0


def test_a_point_on_a_shared_edge_goes_to_the_first_area() -> None:
    find = NearestZone(AREAS, None)
    edge, corner = (
        (np.array([13.45, 13.45, 13.4]), np.array([52.5, 52.55, 52.55])),
        (np.array([13.55]), np.array([52.65])),
    )
    assert find(*edge).tolist() == [0, 0, 0]
    assert find(*corner).tolist() == [2]
    assert find(np.array([13.43, 13.42]), np.array([52.575, 52.575])).tolist() == [-1, 2]  # in the hole, on its edge


_PEAK = """
import sys
import pyarrow as pa
from tests.history.trip_cases import read
assert read(sys.argv[1])[1].read == 2
print(pa.default_memory_pool().max_memory())
"""


class TestOneRowNeedsLittle:
    """Less memory than one value has: a reading that ends without the row ends with it."""

    def write(self, folder: Path, **columns: Any) -> Path:
        usual = {"origin": ["1", "2"], "destination": ["2", "1"], "user": ["a", "b"]}
        when = ["2026-03-27 07:30:00"] * 2
        path = folder / "trips.parquet"
        pq.write_table(pa.table(usual | {"departure": when} | columns), path, write_statistics=False)
        return path

    @pytest.mark.parametrize("column", ["origin", "destination", "departure", "user"])
    @pytest.mark.parametrize("unit", ["request", "user"])
    @pytest.mark.parametrize("encoded", [False, True], ids=["plain", "dictionary"])
    def test_a_text_of_megabytes_is_missing(self, tmp_path: Path, column: str, unit: str, encoded: bool) -> None:
        bounds = {} if unit == "request" else {"max_requests": 2}
        texts = pa.array(["x" * 30_000_000, "2026-03-27 07:30:00" if column == "departure" else "1"])
        path = self.write(tmp_path, **{column: texts.dictionary_encode() if encoded else texts})
        history, rows = read(path, unit=unit, memory_mb=64, **bounds)
        assert rows.read == 2
        assert history.counts.sum() == rows.counted <= 2

    @pytest.mark.parametrize(("column", "timed"), [("origin", False), ("origin", True), ("departure", False)])
    def test_a_long_text_is_not_copied_once_it_is_decoded(self, tmp_path: Path, column: str, timed: bool) -> None:
        """Once in its page and once decoded; in a process of its own, whose Arrow can say how much it had at most."""
        size = 64 * 2**20
        when = {"departure": [dt.datetime(2026, 3, 27, 7, 30)] * 2} if timed else {}  # noqa: DTZ001 - local time
        path = self.write(tmp_path, **when, **{column: ["x" * size, "1"]})
        pq.write_table(pq.read_table(path), path, use_dictionary=False, write_statistics=False)
        command = [sys.executable, "-c", _PEAK, str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert 2 * size <= int(done.stdout) < 2.5 * size  # a copy would be a third one

    def test_a_user_with_a_million_equal_rows_is_bounded_in_little_memory(self, tmp_path: Path) -> None:
        many = 1_000_000
        columns = {"origin": 1, "destination": 2, "user": 7, "departure": dt.datetime(2026, 3, 27, 7, 30)}  # noqa: DTZ001 - local time
        table = pa.table({name: pa.repeat(value, many) for name, value in columns.items()})
        pq.write_table(table, tmp_path / "trips.parquet")
        history, rows = read(tmp_path / "trips.parquet", unit="user", max_requests=3, memory_mb=128)
        assert history.counts.sum() == 3
        assert rows.above_bounds == many - 3

    def test_a_number_of_many_digits_takes_no_longer_than_it_is_long(self, tmp_path: Path) -> None:
        path = tmp_path / "daily.csv"
        path.write_text("date,origin,destination,trips\n" + f"2026-03-27,1,2,{'0' * 65_000}x\n" * 50)
        counts = pr.read_daily_od(path, NETWORK, dates=RANGE, report=lambda _: None).counts
        assert not counts.any()


def with_coordinates(layout: Layout) -> bool:
    return "origin" in layout.options


class TestPlantedBugsAreFound:
    """Each of these was a bug of an earlier reader, or is its like."""

    def found(self, folder: Path, wanted: Callable[[Layout], bool], seed: int = 100) -> bool:
        """Some seeds find a bug sooner than others."""
        try:
            check_layouts(folder, seed, 1000, wanted=lambda layout: "unit" not in layout.options and wanted(layout))
        except (AssertionError, AttributeError, pr.PrivrouteError):
            return True
        return False

    def test_times_that_are_rounded_once_a_value_of_the_batch_is_missing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        floored = trip_batches._microseconds

        def rounded(number: Any, unit: str) -> Any:
            shifted = pc.add(number.fill_null(0), 500) if unit == "ns" and number.null_count else number
            return floored(shifted, unit)

        monkeypatch.setattr(trip_batches, "_microseconds", rounded)
        assert self.found(tmp_path, lambda layout: layout.kinds.get("departure") == pa.timestamp("ns"))

    def test_a_nearest_zone_by_matrix_products(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def by_product(self: NearestZone, longitude: Any, latitude: Any) -> Any:
            def sphere(x: Any, y: Any) -> Any:
                east, north = np.radians(x), np.radians(y)
                return np.column_stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])

            with np.errstate(invalid="ignore"):
                zones = sphere(self._longitude, self._latitude)
                nearest = (sphere(longitude, latitude) @ zones.T).argmax(axis=1)
                usable = (np.abs(longitude) <= 180) & (np.abs(latitude) <= 90)
            return np.where(usable, self._zones[nearest], -1).astype(np.int32)

        monkeypatch.setattr(NearestZone, "__call__", by_product)
        assert zones_that_depend_on_the_block()

    def test_a_zone_that_depends_on_the_size_of_the_block(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alone = NearestZone.__call__

        def by_block(self: NearestZone, longitude: Any, latitude: Any) -> Any:
            shift = 1e-9 * (longitude.size > 2)
            return alone(self, longitude + shift, latitude)

        monkeypatch.setattr(NearestZone, "__call__", by_block)
        assert self.found(tmp_path, with_coordinates)

    def test_hours_that_shift_with_the_first_time_of_a_batch(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alone = trip_batches.Hours.rows

        def shifted(self: trip_batches.Hours, time_us: Any) -> Any:
            first = next((time.as_py() for time in time_us if time.is_valid), 0)
            return alone(self, pc.add(time_us, first % 2))

        monkeypatch.setattr(trip_batches.Hours, "rows", shifted)
        assert self.found(tmp_path, lambda layout: pa.types.is_timestamp(layout.kinds.get("departure", pa.null())), 103)

    def test_an_edge_that_goes_to_the_area_of_the_row_before(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alone = NearestZone.__call__

        def by_neighbour(self: NearestZone, longitude: Any, latitude: Any) -> Any:
            found = alone(self, longitude, latitude).copy()
            edge = np.flatnonzero((longitude == 13.45) & (found == 0))
            found[edge[edge > 0]] = np.where(found[edge[edge > 0] - 1] == 1, 1, found[edge[edge > 0]])
            return found

        monkeypatch.setattr(NearestZone, "__call__", by_neighbour)
        assert self.found(tmp_path, lambda layout: "areas" in layout.options, 106)

    def test_an_abort_at_a_text_that_is_not_utf_8(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def strict(column: Any, rule: Any) -> Any:
            column.validate(full=True)
            return trip_texts.texts_of(column, rule)

        monkeypatch.setattr(trip_batches, "texts_of", strict)
        assert self.found(tmp_path, lambda layout: layout.kinds.get("origin") == pa.string())

    def test_quotes_that_reach_into_the_next_line(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        split = _core.split_lines

        def joined(text: bytes, *rest: Any) -> Any:
            parts = text.split(b'"')
            parts[1::2] = [part.replace(b"\n", b" ") for part in parts[1::2]]
            return split(b'"'.join(parts), *rest)

        monkeypatch.setattr(_core, "split_lines", joined)
        assert self.found(tmp_path, lambda layout: not layout.kinds, 106)
