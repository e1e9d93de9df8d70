"""The same dirty trips counted by DuckDB, PostgreSQL and Spark: counts by digest, and Spark's time against by hand.

The trips are in a table of a DuckDB file, of a PostgreSQL server, and of Spark's catalog, as Parquet files. Three
million have missing and impossible times, duplicates, users with thousands of trips and users without an id, zones that
are none, and the night on which clocks change. Each engine counts them at request and at user level, under one salt,
with times by the clock and in UTC. The digests of all counts must agree, and of what became of rows.

By hand means: the query that a person writes for just these settings in Spark, with the same joins and the same blanks
around zones, in turns with ours, on twenty million such trips in several files. Both must count the same trips. The
tables of zones and pairs for the query by hand are made before its time is taken.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from networks import arguments, finish, say
from servers import PostgreSQL, postgresql_programs
from trips import network

import privroute as pr
from privroute.history import bounding
from privroute.history import trips as reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privroute.history.trip_rows import TripRows

ROWS = 3_000_000
ROWS_BY_HAND = 20_000_000
REPEATS = 5
WARM = 3  # turns until the virtual machine has compiled both
FIRST, LAST = "2026-03-23", "2026-04-19"
HOURS: list[Any] = [("07:00", "09:00"), ("22:00", "02:00")]
USERS: dict[str, Any] = {"unit": "user", "max_requests": 5, "max_per_pair": 2}
CASES: dict[str, dict[str, Any]] = {
    "request, clock": {"departure": "clock"},
    "request, UTC": {"departure": "instant", "tz": "Europe/Berlin"},
    "user, clock": {"departure": "clock", **USERS},
    "user, UTC": {"departure": "instant", "tz": "Europe/Berlin", **USERS},
    "user-day, UTC": {"departure": "instant", "tz": "Europe/Berlin", **USERS, "unit": "user-day"},
}


def dirty_trips(rows: int, seed: int = 1) -> pa.Table:
    """Rows as a careless export has them."""
    chance = np.random.default_rng(seed)

    def some(share: float) -> Any:
        return chance.random(rows) < share

    first = np.datetime64(FIRST, "us").astype(np.int64)
    time_us = first + chance.integers(-2 * 86_400, 30 * 86_400, rows) * 1_000_000 + chance.integers(0, 10**6, rows)
    time_us[some(0.001)] = np.datetime64("9998-12-31", "us").astype(np.int64)
    time_us[some(0.001)] = np.datetime64("0001-01-02", "us").astype(np.int64)
    users = np.where(
        some(0.1),
        chance.integers(0, 20, rows),
        (chance.pareto(1.2, rows) * 500).astype(np.int64) % (rows // 20),
    )
    names = pa.array(np.char.add("u", users.astype(str)))
    kind = chance.random(rows)
    for share, text in ((0.03, " 7 "), (0.025, "007"), (0.02, "NULL"), (0.01, ""), (0.005, "Zoë")):
        names = pa.compute.if_else(pa.array(kind < share), text, names)
    zones = []
    for _ in range(2):
        labels = pa.array(chance.integers(0, 102, rows).astype(str))  # 1 to 100 are zones
        kind = chance.random(rows)
        for share, name in ((0.02, "nowhere"), (0.015, " 5\t"), (0.01, None)):
            labels = pa.compute.if_else(pa.array(kind < share), pa.scalar(name, pa.string()), labels)
        zones.append(labels)
    clock = pa.array(time_us, mask=some(0.01)).cast(pa.timestamp("us"))
    table = pa.table(
        {
            "user": pa.compute.if_else(pa.array(some(0.01)), pa.scalar(None, pa.string()), names),
            "origin": zones[0],
            "destination": zones[1],
            "clock": clock,
            "instant": clock.cast(pa.timestamp("us", "UTC")),
        }
    )
    again = chance.integers(0, rows, rows // 50)  # duplicates, in place of the last rows
    return pa.concat_tables([table.slice(0, rows - again.size), table.take(again)])


def many_trips(folder: Path, rows: int) -> Path:
    """Files of dirty trips in a folder."""
    folder.mkdir()
    files = max(1, rows // 2_000_000)
    for number in range(files):
        pq.write_table(dirty_trips(rows // files, seed=number), folder / f"{number}.parquet")
    return folder


def into_server(url: str, table: pa.Table, folder: Path) -> None:
    """Make the table trips on a server."""
    path = folder / "trips.csv"
    pa.csv.write_csv(table, path, pa.csv.WriteOptions(include_header=False))
    kinds = '"user" text, origin text, destination text, clock timestamp, instant timestamptz'
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE TABLE trips ({kinds})")
        with path.open("rb") as file, server.cursor().copy("COPY trips FROM STDIN (FORMAT csv)") as copy:
            while part := file.read(2**20):
                copy.write(part)
        server.execute("ANALYZE trips")
    path.unlink()


@contextmanager
def spark_session() -> Iterator[Any]:
    """A session of this machine."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": "-Dderby.stream.error.file=/dev/null",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "America/New_York",  # which must not matter
        "spark.sql.warehouse.dir": tempfile.mkdtemp(prefix="privroute-spark-"),
    }
    builder = SparkSession.builder.master("local[2]").appName("privroute")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()
        shutil.rmtree(settings["spark.sql.warehouse.dir"], ignore_errors=True)


def in_duckdb(table: pa.Table, folder: Path) -> str:
    """The address of a table in a new DuckDB file."""
    path = folder / f"{uuid4().hex}.duckdb"
    with duckdb.connect(path) as connection:
        connection.from_arrow(table).create("trips")
    return f"{path}#trips"


def in_spark(session: Any, path: Path, name: str = "trips") -> str:
    """The address of a table in Spark's catalog, of Parquet files."""
    session.sql(f"DROP TABLE IF EXISTS {name}")
    session.sql(f"CREATE TABLE {name} USING parquet LOCATION '{path}'")
    return f"spark://#{name}"


def choose_alike() -> None:
    """Let all readers keep the same requests of users: by one salt, and keys in hexadecimal digits."""
    salt = "5a" * 16
    key = f"md5('{salt}' || '/' || clock_us || '/' || pair || '/' || copy || '/' || user_id)"
    reader.new_salt = lambda: salt  # type: ignore[attr-defined]
    bounding.Keys.of_files = classmethod(lambda cls, **_: cls(key))  # type: ignore[method-assign,assignment]


def digest(source: Any, case: dict[str, Any]) -> tuple[str, float]:
    """Of all counts and of what became of rows; and seconds."""
    seen: list[TripRows] = []
    begin = time.perf_counter()
    wanted = {"period": HOURS, "dates": (FIRST, LAST), "rows_are_trips": "#" in str(source), **case}
    history = pr.read_trips(source, ROADS, report=seen.append, **wanted)
    seconds = time.perf_counter() - begin
    told = repr((history.cells.tolist(), history.trips.tolist(), sorted(seen[0].numbers.items())))
    return hashlib.sha256(told.encode()).hexdigest()[:16], seconds


def by_hand(session: Any, path: Path) -> int:
    """The trips of one hour by day and pair, as one would write it."""
    session.read.parquet(str(path)).createOrReplaceTempView("trips_by_hand")
    found = session.sql(
        f"""
        WITH counted AS (
          SELECT CAST(clock AS DATE) AS day, origin, destination, count(*) AS n FROM trips_by_hand
          WHERE clock >= TIMESTAMP_NTZ '{FIRST} 00:00:00' AND clock < TIMESTAMP_NTZ '{LAST} 23:59:59'
            AND hour(clock) BETWEEN 7 AND 8
          GROUP BY ALL)
        SELECT day, p.pair, sum(n) AS n FROM counted
        JOIN zones_by_hand o ON o.label = trim(BOTH concat(' ', char(9), char(13)) FROM counted.origin)
        JOIN zones_by_hand d ON d.label = trim(BOTH concat(' ', char(9), char(13)) FROM counted.destination)
        JOIN pairs_by_hand p ON p.origin = o.node AND p.destination = d.node GROUP BY ALL"""  # noqa: S608 - constants
    ).toArrow()
    return int(sum(found.column("n").to_pylist()))


def by_privroute(address: str) -> int:
    """The same with the package."""
    settings: dict[str, Any] = {"period": ("07:00", "09:00"), "dates": (FIRST, LAST), "departure": "clock"}
    return int(pr.read_trips(address, ROADS, report=lambda _: None, rows_are_trips=True, **settings).counts.sum())


def against_by_hand(session: Any, path: Path, repeats: int, quiet: bool) -> dict[str, float]:
    """Medians of turns, and their ratio."""
    pairs = pr.Pairs.of_zones(ROADS)
    zones = pa.table({"label": [str(name) for name in ROADS.zone_names], "node": ROADS.zones})
    ends = pa.table({"origin": pairs.origin, "destination": pairs.destination, "pair": np.arange(len(pairs))})
    session.createDataFrame(zones).createOrReplaceTempView("zones_by_hand")
    session.createDataFrame(ends).createOrReplaceTempView("pairs_by_hand")
    address = in_spark(session, path, "many_trips")
    ways: dict[str, Callable[[], int]] = {
        "by_hand": lambda: by_hand(session, path),
        "privroute": lambda: by_privroute(address),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    counted: set[int] = set()
    for turn in range(repeats + WARM):
        for name, way in ways.items():
            begin = time.perf_counter()
            found = way()
            if turn >= WARM:
                seconds[name].append(time.perf_counter() - begin)
            counted.add(found)
            say(quiet, f"turn {turn}, {name}: {time.perf_counter() - begin:.2f} s, {found:,} trips")
    if len(counted) != 1:
        sys.exit("the query by hand counted other trips")
    medians = {name: float(np.median(times)) for name, times in seconds.items()}
    return {f"{name}_s": value for name, value in medians.items()} | {
        "overhead": medians["privroute"] / medians["by_hand"]
    }


def main() -> None:
    """Make trips, count them three times, compare."""
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=int, help=f"how many trips, {ROWS:,} unless said")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=["spark", "postgresql", "by-hand", "counts"],
        help="leave out an engine, the comparison with by hand, or that of counts",
    )
    options = parser.parse_args()
    if postgresql_programs() is None:
        say(options.json, "there is no PostgreSQL server on this machine; it is left out")
        options.without.append("postgresql")
    if shutil.which("java") is None or find_spec("pyspark") is None:
        say(options.json, "there is no Spark on this machine; it is left out")
        options.without.append("spark")
    cases = {} if "counts" in options.without else CASES
    rows = options.rows or (ROWS // 10 if options.quick else ROWS)
    choose_alike()
    seen: dict[str, dict[str, tuple[str, float]]] = {}
    spark: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = dirty_trips(rows)
        pq.write_table(table, folder / "trips.parquet")
        address = in_duckdb(table, folder)
        seen["duckdb"] = {case: digest(address, settings) for case, settings in cases.items()}
        say(options.json, f"duckdb: {seen['duckdb']}")
        if "postgresql" not in options.without:
            with PostgreSQL() as server:
                into_server(server.url, table, folder)
                seen["postgresql"] = {c: digest(f"{server.url}#trips", settings) for c, settings in cases.items()}
            say(options.json, f"postgresql: {seen['postgresql']}")
        if "spark" not in options.without:
            with spark_session() as session:
                address = in_spark(session, folder / "trips.parquet")
                seen["spark"] = {case: digest(address, settings) for case, settings in cases.items()}
                say(options.json, f"spark: {seen['spark']}")
                if "by-hand" not in options.without:
                    trips = many_trips(folder / "many", options.rows or ROWS_BY_HAND // (10 if options.quick else 1))
                    spark = against_by_hand(session, trips, 2 if options.quick else REPEATS, options.json)
    digests = {case: {engine: runs[case][0] for engine, runs in seen.items()} for case in cases}
    differ = [case for case, found in digests.items() if len(set(found.values())) != 1]
    finish(
        {
            "rows": rows,
            "engines": list(seen),
            "differ": len(differ),
            "digests": {case: next(iter(found.values())) for case, found in digests.items()},
            "seconds": {engine: {case: run[1] for case, run in runs.items()} for engine, runs in seen.items()},
            "spark": spark,
        }
    )
    if differ:
        sys.exit(f"the engines counted different trips: {differ}")


ROADS = network()

if __name__ == "__main__":
    main()
