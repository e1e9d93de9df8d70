"""Reading 20 million trips from Parquet and CSV files, against a bare DuckDB group-by and pandas on the same files.

Each reader runs in a process of its own, in turns, so that its peak memory is its own; the timer starts after imports.
All must count the same trips for every day and pair.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb  # loaded, as all packages, before the timer starts
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from networks import arguments, finish, say

import privroute as pr

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, FILES = 20_000_000, 20
SIDE = 10  # zones are the corners of a grid
DAYS, FIRST, LAST = 60, "2026-03-02", "2026-04-30"
START, END = "07:00", "08:00"
REPEATS = 5
USERS = 500_000


def network() -> pr.Network:
    """A grid of two-way streets, every corner a zone, labels from 1."""
    corners = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    one = np.concatenate([corners[:, :-1].ravel(), corners[:-1].ravel()])
    two = np.concatenate([corners[:, 1:].ravel(), corners[1:].ravel()])
    tail, head = np.concatenate([one, two]), np.concatenate([two, one])
    return pr.Network(tail, head, pr.Latency.affine(np.ones(tail.size), 30.0), range(1, SIDE * SIDE + 1))


def write_trips(folder: Path, rows: int) -> None:
    """Trips around the clock with a peak in the morning, more between near zones, as a fleet would log them."""
    chance = np.random.default_rng(1)
    zones = np.arange(SIDE * SIDE)
    distance = np.abs(zones[:, None] // SIDE - zones // SIDE) + np.abs(zones[:, None] % SIDE - zones % SIDE)
    weight = np.exp(-distance / 4.0).ravel().cumsum()
    first = np.datetime64(FIRST, "us").astype(np.int64)
    for ending in ("parquet", "csv"):
        (folder / ending).mkdir()
    for file in range(FILES):
        size = rows // FILES
        pair = np.searchsorted(weight, chance.random(size) * weight[-1]).astype(np.int32)
        second = np.clip(chance.normal(9.5 * 3600, 4 * 3600, size), 0, 86_399).astype(np.int64)
        departure = first + (chance.integers(0, DAYS, size) * 86_400 + second) * 1_000_000
        columns = {
            "user": chance.integers(0, USERS, size),
            "origin": pair // (SIDE * SIDE) + 1,
            "destination": pair % (SIDE * SIDE) + 1,
            "departure": pa.array(departure).cast(pa.timestamp("us")),
        }
        pq.write_table(pa.table(columns), folder / "parquet" / f"trips{file:03}.parquet")
        # to the second, as people write it; the same trips, since all are at full seconds
        columns["departure"] = columns["departure"].cast(pa.timestamp("s"))
        pyarrow.csv.write_csv(pa.table(columns), folder / "csv" / f"trips{file:03}.csv")


def with_privroute(folder: Path, ending: str = "parquet") -> Any:
    """The package's reader; counts of every day and pair."""
    roads = network()
    pr.Pairs.of_zones(roads)
    reader = pr.read_trips  # names of the package are loaded when they are first used

    def read() -> int:
        history = reader(f"{folder}/{ending}/*", roads, period=(START, END), dates=(FIRST, LAST), report=lambda _: None)
        origin, destination = history.pairs.origin + 1, history.pairs.destination + 1
        day, pair = history.counts.nonzero()
        return checksum(day, origin[pair], destination[pair], history.counts[day, pair])

    return read


def with_duckdb(folder: Path) -> Any:
    """The least that has to be done: select the period, group by day and ends."""
    return partial(_by_duckdb, f"read_parquet('{folder}/parquet/*')")


def with_duckdb_csv(folder: Path) -> Any:
    """The same for text: each cell is cast, or missing."""
    casts = "TRY_CAST(departure AS TIMESTAMP) AS departure, TRY_CAST(origin AS BIGINT) AS origin"
    scan = f"read_csv('{folder}/csv/*', header = true, delim = ',', all_varchar = true)"
    return partial(_by_duckdb, f"(SELECT {casts}, TRY_CAST(destination AS BIGINT) AS destination FROM {scan})")  # noqa: S608


def _by_duckdb(table: str) -> int:
    found: Any = duckdb.sql(f"""
        SELECT date_diff('day', DATE '{FIRST}', CAST(departure AS DATE)) AS day, origin, destination, count(*) AS n
        FROM {table}
        WHERE departure >= DATE '{FIRST}' AND departure < DATE '{LAST}' + 1
          AND CAST(departure AS TIME) >= TIME '{START}' AND CAST(departure AS TIME) < TIME '{END}'
        GROUP BY ALL""")  # noqa: S608 - constants
    found = found.fetchnumpy()
    return checksum(found["day"], found["origin"], found["destination"], found["n"])


def with_pandas(folder: Path) -> Any:
    """The same in pandas, as one would write it, with only the columns that are needed."""
    return partial(_by_pandas, [folder / "parquet"])


def with_pandas_by_file(folder: Path) -> Any:
    """The same with care: file by file, so that less has to be moved through memory."""
    return partial(_by_pandas, sorted(folder.glob("parquet/*")))


def _by_pandas(paths: list[Path]) -> int:
    parts = []
    for path in paths:
        trips = pd.read_parquet(path, columns=["origin", "destination", "departure"])
        within = (trips.departure >= FIRST) & (trips.departure < pd.Timestamp(LAST) + pd.Timedelta(days=1))
        chosen = trips[within & (trips.departure.dt.hour == int(START[:2]))]
        parts.append(chosen.groupby([chosen.departure.dt.date, "origin", "destination"]).size())
    total = pd.concat(parts).groupby(level=[0, 1, 2]).sum().reset_index(name="n")
    day = (pd.to_datetime(total.departure) - pd.Timestamp(FIRST)).dt.days.to_numpy()
    return checksum(day, total.origin.to_numpy(), total.destination.to_numpy(), total.n.to_numpy())


READERS: dict[str, Callable[[Path], Any]] = {
    "privroute": with_privroute,
    "duckdb": with_duckdb,
    "pandas": with_pandas,
    "pandas_by_file": with_pandas_by_file,
    "privroute_csv": partial(with_privroute, ending="csv"),
    "duckdb_csv": with_duckdb_csv,
}


def checksum(day: Any, origin: Any, destination: Any, trips: Any) -> int:
    """A number that hardly agrees where one count does not; trips within a zone are no requests."""
    weight = 1 + (np.asarray(day, np.int64) * 10_007 + np.asarray(origin, np.int64) * 101 + destination) % 9973
    return int((weight * trips)[np.asarray(origin) != np.asarray(destination)].sum())


def measure(name: str, folder: Path) -> None:
    """In a process of its own: seconds, peak memory and the checksum."""
    read = READERS[name](folder)
    start = time.perf_counter()
    check = read()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak, "check": check}))


def main() -> None:
    """Write the files, run the readers in turns, compare."""
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=int, help=f"how many trips, {ROWS:,} unless said")
    parser.add_argument("--reader", choices=READERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reader:
        measure(options.reader, options.folder)
        return
    rows = options.rows or (ROWS // 10 if options.quick else ROWS)
    rows = max(1, rows // FILES) * FILES
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in READERS}
    with tempfile.TemporaryDirectory() as place:
        say(options.json, f"Writing {rows:,} trips")
        write_trips(Path(place), rows)
        for turn in range(REPEATS):
            for name in READERS:
                command = [sys.executable, __file__, "--reader", name, "--folder", place]
                done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - ourselves
                seen[name].append(json.loads(done.stdout.splitlines()[-1]))
                say(options.json, f"turn {turn + 1}, {name}: {seen[name][-1]['seconds']:.2f} s")
    checks = {run["check"] for runs in seen.values() for run in runs}
    if len(checks) != 1:
        sys.exit("the readers counted different trips")
    seconds = {name: float(np.median([run["seconds"] for run in runs])) for name, runs in seen.items()}
    peak = {name: max(run["peak_mb"] for run in runs) for name, runs in seen.items()}
    finish(
        {
            "rows": rows,
            "seconds": seconds,
            "ratio_duckdb": seconds["privroute"] / seconds["duckdb"],
            "ratio_duckdb_csv": seconds["privroute_csv"] / seconds["duckdb_csv"],
            "ratio_pandas": seconds["pandas"] / seconds["privroute"],
            "ratio_pandas_by_file": seconds["pandas_by_file"] / seconds["privroute"],
            "rows_per_second": rows / seconds["privroute"],
            "peak_memory_mb": peak["privroute"],
            "peak_memory_mb_csv": peak["privroute_csv"],
            "peak_memory_mb_peers": {name: peak[name] for name in peak if not name.startswith("privroute")},
        }
    )


if __name__ == "__main__":
    main()
