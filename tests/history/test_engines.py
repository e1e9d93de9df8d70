"""Trips counted in DuckDB, PostgreSQL and Spark: the same counts, whatever stands in rows, and no row is quoted."""

from __future__ import annotations

import datetime as dt
import logging
import math
import secrets
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines import CASES, FIRST, HOURS, LAST, choose_alike, digest, dirty_trips, in_duckdb, in_spark, into_server
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import PostgreSQL
from tests.cli.command import refused, run
from tests.history.engine_cases import GRID, POSTGRES, TEXTS, counted, in_postgresql

import privroute as pr
from privroute.errors import HistoryError
from privroute.history import bounding, postgresql_tables, spark_tables, trips
from privroute.history.dialects import POSTGRESQL, SPARK

ROWS = 3_000


@pytest.fixture(autouse=True)
def one_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trips, "new_salt", bounding.new_salt)  # as they are again at the end
    monkeypatch.setattr(bounding.Keys, "of_files", bounding.Keys.of_files)
    choose_alike()


@pytest.fixture(scope="session")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> tuple[pa.Table, Path]:
    path = tmp_path_factory.mktemp("engines") / "trips.parquet"
    table = dirty_trips(ROWS)
    pq.write_table(table, path)
    return table, path


def replace_trips(postgresql: PostgreSQL, table: pa.Table, folder: Path) -> None:
    with psycopg.connect(postgresql.url, autocommit=True) as server:
        server.execute("DROP TABLE IF EXISTS trips")
    into_server(postgresql.url, table, folder)


@POSTGRES
def test_dirty_trips_have_the_same_digest_in_duckdb_and_postgresql(
    dirty: tuple[pa.Table, Path], postgresql: PostgreSQL, tmp_path: Path
) -> None:
    table, path = dirty
    replace_trips(postgresql, table, tmp_path)
    here = in_duckdb(table, tmp_path)
    for settings_of_case in CASES.values():
        files = digest(path, settings_of_case)[0]
        assert digest(here, settings_of_case)[0] == digest(f"{postgresql.url}#trips", settings_of_case)[0] == files


@POSTGRES
def test_dirty_trips_have_the_same_digest_in_spark(dirty: tuple[pa.Table, Path], spark: Any) -> None:
    _, path = dirty
    address = in_spark(spark, path)
    for case in CASES:
        assert digest(address, CASES[case])[0] == digest(path, CASES[case])[0]


@POSTGRES
@pytest.mark.parametrize(
    "wanted",
    [
        {"departure": "clock", "period": ("23:59", "00:01")},
        {"departure": "clock", "period": ["06:30-09:30/60min", ("22:00", "23:59")], "weekdays": "mon-fri"},
        {"departure": "clock", "period": ("12:00", "12:00:01")},
        {"departure": "clock", "dates": ("9999-12-25", "9999-12-27")},
        {"departure": "instant", "tz": "Europe/Berlin", "period": ("00:30", "03:15")},
        {"departure": "instant", "tz": "Pacific/Kiritimati", "period": ("23:10", "01:05")},
        {"departure": "instant", "tz": "America/St_Johns", "period": ["hourly"]},
        {"departure": "instant", "tz": "Asia/Kathmandu", "dates": ("1970-01-05", "1970-01-06")},
    ],
)
def test_no_trip_of_a_period_is_left_out_by_what_spark_decides_first(
    spark: Any, tmp_path: Path, wanted: dict[str, Any]
) -> None:
    """Times at and around every border, from the first to the last day of calendars, and those that none has."""
    dates = wanted.get("dates", ("2026-03-28", "2026-03-30"))
    first = np.datetime64(dates[0], "us").astype(np.int64) - 2 * 86_400_000_000
    minutes = first + np.arange(0, 8 * 1440, 5) * 60_000_000
    far = [-62_135_596_800_000_000, 253_402_300_799_999_999, -(2**62), 2**62, -(2**63) + 1, 2**63 - 1]
    times = [int(at) + rest for at in minutes for rest in (-1, 0, 1)] + far
    clock = pa.array([*times, None], pa.timestamp("us"))
    table = pa.table(
        {
            "origin": ["1"] * len(clock),
            "destination": ["2"] * len(clock),
            "clock": clock,
            "instant": clock.cast(pa.timestamp("us", "UTC")),
        }
    )
    pq.write_table(table, tmp_path / "borders.parquet")
    here = counted(tmp_path / "borders.parquet", **wanted)
    assert here == counted(in_spark(spark, tmp_path / "borders.parquet"), **wanted)
    assert here[1].counted > 0


@POSTGRES
def test_an_assertion_that_bounds_hold_is_checked_in_every_engine(
    dirty: tuple[pa.Table, Path], postgresql: PostgreSQL, spark: Any
) -> None:
    table, path = dirty
    replace_trips(postgresql, table, path.parent)
    case: dict[str, Any] = {"departure": "clock", "unit": "user", "period": HOURS[0], "dates": (FIRST, LAST)}
    case["pre_bounded"] = True
    for source in (in_duckdb(table, path.parent), f"{postgresql.url}#trips", in_spark(spark, path)):
        assert counted(source, **case, max_requests=10_000, max_per_pair=10_000)[1].above_bounds == 0
        for bounds in ({"max_requests": 2, "max_per_pair": 2}, {"max_requests": 10_000, "max_per_pair": 1}):
            with pytest.raises(HistoryError, match="and there are more"):
                counted(source, **case, **bounds)


PLACES = st.sampled_from(["1", "2", " 3", "100", "0", "101", "x", "", None, "1.0", "٣", "'; --", "%s", "{salt}"])
USERS = st.sampled_from(["a", "b", "7", "007", " 7", "+7", "NULL", "", None, "é", "%", "{zones}", "-"])
EARLY, LATE = dt.datetime(2026, 3, 28, 6), dt.datetime(2026, 3, 30, 10)  # noqa: DTZ001 - clock times
TIMES = st.one_of(
    st.none(),
    st.datetimes(EARLY, LATE),
    st.sampled_from([dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31), dt.datetime(1969, 12, 31, 7)]),  # noqa: DTZ001
)
TRIPS = st.lists(st.tuples(USERS, PLACES, PLACES, TIMES), max_size=30)


@POSTGRES
@given(rows=TRIPS, level=st.sampled_from([{}, {"unit": "user", "max_requests": 2, "max_per_pair": 1}]))
@settings(max_examples=12)
def test_random_tables_are_counted_alike(postgresql: PostgreSQL, rows: list[Any], level: dict[str, Any]) -> None:
    names = ("user", "origin", "destination", "departure")
    kinds = (pa.string(), pa.string(), pa.string(), pa.timestamp("us"))
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    table = pa.table({name: pa.array(c, kind) for name, kind, c in zip(names, kinds, columns, strict=True)})
    with tempfile.TemporaryDirectory() as folder:
        here = counted(in_duckdb(table, Path(folder)), **level)
    assert here == counted(in_postgresql(postgresql, "random_trips", TEXTS, rows), **level)


@POSTGRES
class TestHostileRows:
    """No value of a column's type stops the reading, and each costs its own row only."""

    GOOD = ("a", "1", "2", "2026-03-28 07:30")
    HOSTILE: dict[str, list[tuple[str, Any]]] = {  # noqa: RUF012
        "numeric": [("user", value) for value in ("NaN", "Infinity", "-Infinity", "1e-400", "1e400", "0.5", "-7")],
        "real": [("origin", value) for value in ("NaN", "Infinity", "-Infinity", "1e38", "1e-45", "1.0000001")],
        "double precision": [("origin", value) for value in ("NaN", "Infinity", "1e308", "1e-308", "1.5", "-0")],
        "bigint": [("origin", value) for value in (2**63 - 1, -(2**63), None)],
        "timestamp": [
            ("departure", value) for value in ("infinity", "-infinity", "294276-12-31 23:59:59", "4713-01-01 BC")
        ],
        "timestamptz": [("departure", value) for value in ("infinity", "-infinity", "294276-12-31 23:59:59+00")],
    }

    @pytest.mark.parametrize("kind", HOSTILE)
    def test_of_a_type(self, postgresql: PostgreSQL, kind: str) -> None:
        role = self.HOSTILE[kind][0][0]
        types = {"user": "text", "origin": "text", "destination": "text", "departure": "timestamp", role: kind}
        good = dict(zip(types, self.GOOD, strict=True)) | ({"user": 7} if kind == "numeric" else {})
        rows_of_kind = [good, *(good | {role: value} for _, value in self.HOSTILE[kind])]
        columns = ", ".join(f'"{column}" {kind_of}' for column, kind_of in types.items())
        address = in_postgresql(postgresql, "hostile", columns, [tuple(row.values()) for row in rows_of_kind])
        level: dict[str, Any] = {"unit": "user", "max_requests": 9, "max_per_pair": 9} if role == "user" else {}
        zone = {"tz": "UTC"} if kind == "timestamptz" else {}
        counts, rows = counted(address, **level, **zone)
        expected = 1 + (role == "user")  # -7 is an id
        assert (sum(counts), rows.read) == (expected, 1 + len(self.HOSTILE[kind]))

    def test_coordinates(self, postgresql: PostgreSQL, tmp_path: Path) -> None:
        """Texts and numbers of any size; far from borders the raster says the same as exact places."""
        roads = _city()
        places = ["8.001", " 8.0194 ", "8,01", "1e999", "1e-999", "", "NaN", "inf", "9" * 400, None]
        places.append("8." + "0" * 300 + "1")
        rows = [("u", lon, "50.001", "8.0101", "50.0102", dt.datetime(2026, 3, 28, 7, 30)) for lon in places]  # noqa: DTZ001
        names = ("user", "olon", "olat", "dlon", "dlat", "departure")
        table = pa.table({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
        columns = '"user" text, olon text, olat text, dlon text, dlat text, departure timestamp'
        address = in_postgresql(postgresql, "places", columns, rows)
        wanted: dict[str, Any] = GRID | {"origin": ("olon", "olat"), "destination": ("dlon", "dlat")}
        seen: list[Any] = []
        found = [
            pr.read_trips(source, roads, report=seen.append, rows_are_trips=True, **wanted).counts.tolist()
            for source in (in_duckdb(table, tmp_path), address)
        ]
        assert found[0] == found[1]
        assert seen[0].counted == seen[1].counted == 2

    def test_texts_of_hundreds_of_megabytes(self, postgresql: PostgreSQL) -> None:
        """To search one by a regular expression would need more memory than a server gives to one value."""
        address = in_postgresql(postgresql, "huge", TEXTS, [self.GOOD, self.GOOD])
        with psycopg.connect(postgresql.url, autocommit=True) as server:
            server.execute("UPDATE huge SET \"user\" = repeat('9', 270000000) WHERE ctid = '(0,1)'")
        counts, rows = counted(address, unit="user", max_requests=1, max_per_pair=1)
        assert (sum(counts), rows.read) == (2, 2)

    @pytest.mark.parametrize(("kind", "bits"), [("integer", 31), ("bigint", 63)])
    def test_seconds_in_numbers_of_every_width(self, postgresql: PostgreSQL, kind: str, bits: int) -> None:
        """Their microseconds are beyond what four bytes hold."""
        departure = int(dt.datetime(2026, 3, 28, 7, 30, tzinfo=dt.UTC).timestamp())
        trips = [("1", "2", value) for value in (departure, 2**bits - 1, -(2**bits), None)]
        columns = f"origin text, destination text, departure {kind}"
        counts, rows = counted(in_postgresql(postgresql, "seconds", columns, trips), epoch_unit="s", tz="UTC")
        assert (sum(counts), rows.read) == (1, 4)

    def test_collations_that_do_not_tell_letters_apart(self, postgresql: PostgreSQL) -> None:
        """A row has one zone, and users are told apart by their ids."""
        with psycopg.connect(postgresql.url, autocommit=True) as server:
            if not server.execute("SELECT 1 FROM pg_collation WHERE collprovider = 'i'").fetchone():
                pytest.skip("this PostgreSQL was built without ICU")
            server.execute("DROP TABLE IF EXISTS alike")
            server.execute("DROP COLLATION IF EXISTS any_case")
            server.execute("CREATE COLLATION any_case (provider=icu, locale='und-u-ks-level2', deterministic=false)")
        rows = [(*each, "C", self.GOOD[-1]) for each in (("u", "A"), ("U", "a"), ("u", "A"), ("v", "x"))]
        address = in_postgresql(postgresql, "alike", TEXTS.replace("text,", "text COLLATE any_case,"), rows)
        city = _city()
        roads = pr.Network(city.tail, city.head, pr.Latency.affine(np.ones(8), 30.0), ["A", "a", "C", "D"])
        seen: list[Any] = []
        for level, most in (({}, 3), ({"unit": "user", "max_requests": 1, "max_per_pair": 1}, 2)):
            wanted: dict[str, Any] = {**GRID, **level, "rows_are_trips": True}
            found = pr.read_trips(address, roads, report=seen.append, **wanted)
            assert found.counts.sum() == most
            assert (seen[-1].read, seen[-1].unknown_zone, seen[-1].outside) == (4, 1, 0)
        assert found.counts.max() == 1

    def test_tables_with_signs_of_the_driver(self, postgresql: PostgreSQL) -> None:
        assert counted(in_postgresql(postgresql, "50%s", TEXTS))[1].read == 0

    def test_what_an_engine_says_of_a_row_goes_nowhere(
        self, postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No row makes an expression of ours fail; here one is planted that does, with words that have the row."""
        address = in_postgresql(postgresql, "secret", TEXTS, [("u", "Ada Lovelace", *self.GOOD[2:])])
        failing = replace(POSTGRESQL, trimmed="CAST(CAST({0} AS INTEGER) AS TEXT)")
        monkeypatch.setattr(postgresql_tables, "POSTGRESQL", failing)
        with pytest.raises(HistoryError, match="stopped before all rows") as caught:
            counted(address)
        assert "Ada" not in repr(caught.value)
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None

    def test_nothing_can_be_written(self, postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
        address = in_postgresql(postgresql, "noted", TEXTS, [self.GOOD])
        with psycopg.connect(postgresql.url, autocommit=True) as server:
            server.execute(
                "CREATE OR REPLACE FUNCTION note() RETURNS text LANGUAGE sql "
                "AS 'INSERT INTO public.noted VALUES (1, 1) RETURNING 1::text'"
            )
            writing = replace(POSTGRESQL, trimmed="public.note()")
            monkeypatch.setattr(postgresql_tables, "POSTGRESQL", writing)
            with pytest.raises(HistoryError, match="stopped before"):
                counted(address)
            assert server.execute("SELECT count(*) FROM noted").fetchone() == (1,)


@POSTGRES
def test_spark_says_nothing_of_a_row_that_stops_it(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its usual level of messages it would write the row to standard error, and so would pyspark's own logger."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - heavy

    said: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.handle = lambda record: said.append(record) or True  # type: ignore[method-assign,func-returns-value]
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    logger.addHandler(handler)
    levels = spark.sparkContext._jvm.org.apache.logging.log4j.LogManager
    spark.sparkContext.setLogLevel("WARN")
    trip = "SELECT 'Ada' AS origin, '2' AS destination, TIMESTAMP_NTZ '2026-03-28 07:30:00' AS departure"
    spark.sql(trip).write.parquet(str(tmp_path / "trips.parquet"))
    failing = "CAST(CAST({0} AS BIGINT) AS STRING)"
    address = in_spark(spark, tmp_path / "trips.parquet")
    try:
        with spark_tables._silent(spark):
            assert str(levels.getRootLogger().getLevel()) == "OFF"
        assert str(levels.getRootLogger().getLevel()) == "WARN"
        monkeypatch.setattr(spark_tables, "SPARK", replace(SPARK, trimmed=failing))
        with pytest.raises(HistoryError, match="stopped before all rows"):
            counted(address)
        assert str(levels.getRootLogger().getLevel()) == "OFF"  # tasks that end later would quote the row
        assert not said
        with pytest.raises(Exception, match="Ada"):
            spark.sql("SELECT CAST(origin AS BIGINT) FROM trips").toArrow()
        assert said
    finally:
        logger.removeHandler(handler)
        spark.sparkContext.setLogLevel("OFF")


def _city() -> pr.Network:
    """Two by two nodes of a town, with places."""
    tail, head = [0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]
    places = [(8.0, 50.0), (8.02, 50.0), (8.02, 50.01), (8.01, 50.01)]
    return pr.Network(tail, head, pr.Latency.affine(np.ones(8), 30.0), range(1, 5), coordinates=places, crs="EPSG:4326")


def test_a_raster_differs_from_exact_geometry_by_half_a_cell_at_most() -> None:
    from privroute.history.nearest_zone import NearestZone  # noqa: PLC0415
    from privroute.history.trip_raster import TripRaster  # noqa: PLC0415

    roads = _city()
    nearest = NearestZone(roads, None)
    raster = TripRaster.of(nearest)
    node = dict(zip(zip(raster.x.tolist(), raster.y.tolist(), strict=True), raster.node.tolist(), strict=True))
    chance = np.random.default_rng(1)
    lon, lat = chance.uniform(7.99, 8.03, 4000), chance.uniform(49.99, 50.02, 4000)
    exact = nearest(lon, lat)
    per = raster.per_degree
    by_cell = [node.get((math.floor(x * per), math.floor(y * per)), -1) for x, y in zip(lon, lat, strict=True)]
    differ = np.flatnonzero(exact != by_cell)
    assert differ.size < 0.1 * lon.size
    around = [(dx / (2 * per), dy / (2 * per)) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
    for at in differ:  # whoever differs lies within half a cell of the zone that it got, or of none
        near = {int(nearest(lon[[at]] + dx, lat[[at]] + dy)[0]) for dx, dy in around}
        assert by_cell[at] in near


@POSTGRES
def test_times_in_utc_need_a_time_zone_and_formats_are_for_files(postgresql: PostgreSQL) -> None:
    aware, told = (
        in_postgresql(postgresql, kind, f"origin text, destination text, departure {kind}")
        for kind in ("timestamptz", "text")
    )
    with pytest.raises(HistoryError, match="such times need tz="):
        counted(aware)
    for option in ({"time_format": "%d.%m.%Y %H:%M"}, {"epoch_unit": "s", "tz": "UTC"}):
        with pytest.raises(HistoryError, match="name a column of times, of texts like 2026-03-02 07:15:00"):
            counted(told, **option)
    for address, message in (
        (postgresql.url, "name the table behind a #"),
        (f"{postgresql.url}#none", "no such table"),
        ("postgresql://eve:geheim@127.0.0.1:1/x#trips", "cannot be reached"),
        (f"{postgresql.url}#a.b.c", "name the table behind a #"),
        ("spark://nowhere", "an address of Spark"),
    ):
        with pytest.raises(HistoryError, match=message) as caught:
            counted(address)
        assert "geheim" not in str(caught.value)


@POSTGRES
def test_the_salt_is_a_parameter_and_no_text_has_it(postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    salt = secrets.token_hex(16)
    monkeypatch.setattr(trips, "new_salt", lambda: salt)
    texts: list[str] = []
    right = psycopg.Cursor.execute

    def watched(cursor: Any, query: Any, *rest: Any, **more: Any) -> Any:
        texts.append(str(query))
        return right(cursor, query, *rest, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", watched)
    counted(in_postgresql(postgresql, "salted", TEXTS), unit="user", max_requests=2, max_per_pair=1)
    assert any("md5" in text for text in texts)
    assert not any(salt in text for text in texts)


@POSTGRES
def test_learn_takes_addresses(postgresql: PostgreSQL, tmp_path: Path) -> None:
    in_postgresql(postgresql, "rides", TEXTS, [("u", "1", "2", "2026-03-28 07:30")] * 40)
    period = ("--from", "2026-03-28", "--to", "2026-03-28", "--period", "07:00-08:00")
    words: tuple[str, ...] = ("--network", "sioux-falls", *period)
    table = f"{postgresql.url.replace('privroute@', 'privroute:geheim@')}#rides"
    assert "pass --rows-are-trips" in refused("learn", *words, "--trips", table, "--dry-run").lower()
    words += ("--rows-are-trips",)
    tried = run("learn", *words, "--trips", table, "--dry-run", width=300)
    assert tried.code == 0, tried.err
    assert "40 of 40 rows counted" in tried.text
    done = run("learn", *words, "--trips", table, "--epsilon", 1, "--delta", "1e-6", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "geheim" not in done.text + tried.text
    assert "is read alone" in refused("learn", *words, "--trips", "x.csv", "--trips", table, "--dry-run")
