"""What is no ordinary table is refused by the name of what it is; nothing beside a table has a part in what is read."""

# ruff: noqa: S608 - the statements are made here

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines import in_duckdb, in_spark
from servers import PostgreSQL
from tests.cli.command import refused, run
from tests.history.engine_cases import GRID, POSTGRES, counted

import privroute as pr
from privroute.errors import FormatError, HistoryError
from privroute.history import trip_batches

COLUMNS = "origin INT, destination INT, departure TIMESTAMP"
TRIP = "1, 2, TIMESTAMP '2026-03-28 07:30:00'"
# rows that depend on each other: one trip more changes others
QUERIES = {
    "window": "SELECT origin, destination, first_value(departure) OVER (ORDER BY departure) AS departure FROM trips",
    "self join": "SELECT a.* FROM trips AS a JOIN trips AS b ON a.origin = b.origin",
    "limit": "SELECT * FROM trips ORDER BY departure LIMIT 1",
    "subquery": "SELECT origin, destination, departure FROM trips WHERE departure = (SELECT max(departure) FROM trips)",
    "aggregate": "SELECT origin, destination, min(departure) AS departure FROM trips GROUP BY origin, destination",
    "plain": "SELECT * FROM trips",
}


def fleet(folder: Path, *statements: str) -> str:
    """A DuckDB file with a table of one trip, and what the statements make; its path."""
    path = folder / "fleet.duckdb"
    with duckdb.connect(path) as file:
        for statement in (f"CREATE TABLE trips ({COLUMNS})", f"INSERT INTO trips VALUES ({TRIP})", *statements):
            file.execute(statement)
    return str(path)


@pytest.mark.parametrize("query", QUERIES)
def test_queries_and_views_of_duckdb_are_refused(tmp_path: Path, query: str) -> None:
    path = fleet(tmp_path, f"CREATE VIEW asked AS {QUERIES[query]}")
    with pytest.raises(HistoryError, match=r"#main.asked is a view, whose rows may depend on each other"):
        counted(f"{path}#asked")
    with duckdb.connect(path, read_only=True) as file:
        for source in (file.sql(QUERIES[query]), [file.table("asked")]):
            with pytest.raises(HistoryError, match="the source of trips is a duckdb DuckDBPyRelation, whose rows may"):
                counted(source)


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (pd.DataFrame({"origin": ["Ada"]}), "a pandas DataFrame, whose rows may depend on each other"),
        (pa.table({"origin": ["Ada"]}), "a pyarrow Table"),
        (pa.table({"origin": ["Ada"]}).to_reader(), "a pyarrow RecordBatchReader"),
        ([np.array(["Ada"])], "a numpy ndarray"),
        ({"origin": ["Ada"]}, "a dict; pass a path"),
        ((row for row in ["Ada"]), "a generator; pass a path"),
    ],
)
def test_objects_are_refused_by_name_and_not_shown(source: Any, what: str) -> None:
    with pytest.raises(HistoryError, match=f"the source of trips is {what}") as caught:
        counted(source)
    assert "Ada" not in str(caught.value)
    if "depend" in what:
        assert "Write it to a Parquet file" in str(caught.value)
        assert "read_counts" in str(caught.value)


def test_a_table_has_to_be_asserted_and_a_file_has_not(tmp_path: Path) -> None:
    path = fleet(tmp_path, f"COPY trips TO '{tmp_path}/trips.parquet'")
    for address in (f"{path}#trips", "postgresql://ann:geheim@127.0.0.1:1/db#trips", "spark://#trips"):
        with pytest.raises(HistoryError, match="rows_are_trips=True to assert that one row is one trip") as caught:
            counted(address, rows_are_trips=None)
        assert "geheim" not in str(caught.value)
    assert counted(f"{tmp_path}/trips.parquet", rows_are_trips=None)[1].counted == 1
    with pytest.raises(HistoryError, match="rows_are_trips is 1; pass True or False"):
        counted(f"{path}#trips", rows_are_trips=1)


def test_names_of_a_file_mean_nothing_in_what_reads_it(tmp_path: Path) -> None:
    """Macros, views, types and schemas that are called like what our statements use."""
    functions = "trim lower floor strlen octet_length count md5_number epoch_us duckdb_tables".split()  # noqa: SIM905
    hostile = [f"CREATE MACRO {schema}{name}(a) AS 7" for name in functions for schema in ("", "attached.")]
    hostile += ["CREATE VIEW attached.trips AS SELECT * FROM main.trips, range(5)"]
    hostile += ["CREATE VIEW duckdb_columns AS SELECT 1 AS database_name"]
    hostile += ["CREATE MACRO duckdb_views() AS TABLE SELECT 1 AS database_name", "CREATE TYPE BIGINT_ AS ENUM ('x')"]
    hostile += ['CREATE TABLE "\xfcber" AS FROM trips']
    path = fleet(tmp_path, "CREATE SCHEMA attached", "CREATE SCHEMA memory", *hostile)
    assert counted(f"{path}#trips", unit="user", max_requests=1, user="origin")[1].counted == 1
    assert counted(f"{path}#MAIN.Trips")[1].counted == counted(f"{path}#\xdcBER")[1].counted == 1
    with pytest.raises(HistoryError, match="#attached.trips is a view"):
        counted(f"{path}#attached.trips")


NO_TABLES = {
    "name a table behind a #": ["", "#", "#a.b.c", "#main."],
    "there is no table": ["#nothing", '#trips" LIMIT 1 --', "#(SELECT * FROM trips)", "#trips'", "#numbers"],
    "No such file": ["/none.duckdb#trips", "/md:fleet.duckdb#trips", "/https://example.org/fleet.duckdb#trips"],
    "cannot be read as a DuckDB file": ["/text.duckdb#trips", "/lite.db#trips"],
    "no file matches": ["/*.ddb#trips"],
}


@pytest.mark.parametrize("message", NO_TABLES)
def test_addresses_that_are_no_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str) -> None:
    fleet(tmp_path, "CREATE SEQUENCE numbers")
    (tmp_path / "text.duckdb").write_text("origin,destination,departure\n1,2,2026-03-28 07:30:00\n")
    (tmp_path / "lite.db").write_bytes(b"SQLite format 3\0" + bytes(4096))
    monkeypatch.chdir(tmp_path)
    for address in NO_TABLES[message]:
        with pytest.raises((FormatError, HistoryError), match=message):
            counted(address.removeprefix("/") if address.startswith("/") else f"fleet.duckdb{address}")


def test_a_generated_column_is_refused_where_it_is_read(tmp_path: Path) -> None:
    path = fleet(
        tmp_path,
        "CREATE SEQUENCE numbers",
        "CREATE TABLE made (origin INT, Destination INT GENERATED ALWAYS AS (nextval('numbers')), departure TIMESTAMP)",
        "INSERT INTO made (origin, departure) FROM (SELECT origin, departure FROM trips)",
    )
    with pytest.raises(HistoryError, match="the column 'Destination' is a generated column, whose rows may"):
        counted(f"{path}#made")
    with pytest.raises(FormatError, match="none of its 3 columns is called 'time'"):
        counted(f"{path}#made", destination="origin", departure="time")
    assert counted(f"{path}#made", destination="origin")[1].within_zone == 1


def test_a_file_that_is_written_to_is_refused_and_one_that_is_read_is_read(tmp_path: Path) -> None:
    path = fleet(tmp_path)
    with duckdb.connect(path), pytest.raises(FormatError, match="open for writing, here or in another process"):
        counted(f"{path}#trips")
    with duckdb.connect(path, read_only=True):
        assert counted([f"{path}#trips", f"{path}#main.trips", f"{tmp_path}/*.duckdb#TRIPS"])[1].read == 1


def test_a_file_with_a_number_sign_in_its_name_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db#1.csv"
    path.write_text("origin,destination,departure\n1,2,2026-03-28 07:30:00\n")
    assert counted(path, rows_are_trips=None)[1].counted == 1


def test_a_table_of_duckdb_is_read_as_a_file(tmp_path: Path) -> None:
    """With weights, formats of times, long labels and columns in any case, beside files."""
    when = ["28.03.2026 07:30", "28.03.2026 08:00", "odd", None]
    table = pa.table({"Origin": ["1", " 1", "x", "2"], "DESTINATION": ["2"] * 4, "departure": when, "n": [2, 3, 4, 5]})
    pq.write_table(table, tmp_path / "trips.parquet")
    wanted: dict[str, Any] = {"time_format": "%d.%m.%Y %H:%M", "weight": "n", "weight_unit": 1, "max_weight": 4}
    address = in_duckdb(table, tmp_path)
    here = counted(address, **wanted)
    assert here == counted(tmp_path / "trips.parquet", **wanted)
    assert sum(here[0]) == 5
    both = counted([address, tmp_path / "trips.parquet"], **wanted)
    assert both[0] == [2 * count for count in here[0]]
    label = "z" * 300
    network = pr.Network([0, 1], [1, 0], pr.Latency.bpr([1.0, 1.0], [2.0, 2.0]), [label, "b"])
    long = in_duckdb(pa.table({"origin": [label], "destination": ["b"], "departure": ["2026-03-28 07:30"]}), tmp_path)
    found = pr.read_trips(long, network, report=lambda _: None, rows_are_trips=True, **GRID)
    assert found.counts.sum() == 1


@pytest.mark.parametrize("kind", ["VARCHAR", "JSON", "BLOB", "BIT", "alias"])
def test_long_texts_of_a_table_are_missing_before_they_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = fleet(
        tmp_path,
        "CREATE TYPE alias AS VARCHAR",
        f"CREATE TABLE long AS SELECT *, CAST(CAST(repeat('1', 600_000) AS VARCHAR) AS {kind}) AS user FROM trips",
    )
    seen: list[int] = []
    right = trip_batches._rows

    def noted(column: Any, *rest: Any) -> Any:
        seen.append(column.nbytes)
        return right(column, *rest)

    monkeypatch.setattr(trip_batches, "_rows", noted)
    assert counted(f"{path}#long", unit="user", max_requests=1)[1].missing_user == 1
    assert max(seen) < 1000


def test_a_whole_number_of_128_bits_without_a_sign_is_no_other_number(tmp_path: Path) -> None:
    values = (7, 2**53, 2**127, 2**128 - 1)
    path = fleet(
        tmp_path,
        "ALTER TABLE trips ADD COLUMN user UHUGEINT",
        *(f"INSERT INTO trips VALUES ({TRIP}, {value})" for value in values),
        "DELETE FROM trips WHERE user IS NULL",
    )
    counts, rows = counted(f"{path}#trips", unit="user", max_requests=1)
    assert (sum(counts), rows.missing_user) == (1, 3)


def test_commands_take_tables_of_duckdb(tmp_path: Path) -> None:
    path = fleet(
        tmp_path, f"INSERT INTO trips SELECT {TRIP} FROM range(299)", "ALTER TABLE trips ADD COLUMN user INT DEFAULT 7"
    )
    words = ("--network", "sioux-falls", "--from", "2026-03-28", "--to", "2026-03-28", "--period", "07:00-08:00")
    table = ("--trips", f"{path}#trips")
    assert "--rows-are-trips" in refused("learn", *words, *table, "--dry-run")
    tried = run("learn", *words, *table, "--dry-run", "--rows-are-trips", width=300)
    assert tried.code == 0, tried.err
    assert "300 of 300 rows counted" in tried.text
    assert "299 rows are copies of other rows in all columns that are read (departure, origin, destination, user)" in (
        tried.text
    )
    bounded = ("bound", table[1], "--max-requests", 1, "--out", tmp_path / "kept")
    assert "--rows-are-trips" in refused(*bounded)
    assert run(*bounded, "--rows-are-trips").code == 0
    assert pq.read_table(tmp_path / "kept" / "trips.parquet").num_rows == 1


@POSTGRES
class TestPostgreSQL:
    @pytest.fixture
    def server(self, postgresql: PostgreSQL) -> Any:
        with psycopg.connect(postgresql.url, autocommit=True) as server:
            server.execute("DROP SCHEMA IF EXISTS made CASCADE")
            server.execute("CREATE SCHEMA made")
            server.execute(f"CREATE TABLE made.trips ({COLUMNS})")
            server.execute(f"INSERT INTO made.trips VALUES ({TRIP})")
            server.execute("SET search_path = made")
            yield server

    @pytest.mark.parametrize("query", QUERIES)
    def test_views(self, postgresql: PostgreSQL, server: Any, query: str) -> None:
        server.execute(f"CREATE VIEW asked AS {QUERIES[query]}")
        server.execute(f"CREATE MATERIALIZED VIEW kept AS {QUERIES[query]}")
        for name, what in (("asked", "a view"), ("kept", "a materialised view")):
            with pytest.raises(HistoryError, match=f"#made.{name} is {what}, whose rows may depend on each other"):
                counted(f"{postgresql.url}#made.{name}")

    OTHERS = {  # noqa: RUF012
        "a table with row security": "ALTER TABLE trips ENABLE ROW LEVEL SECURITY",
        "a table with rules": "CREATE RULE none AS ON DELETE TO trips DO INSTEAD NOTHING",
        "no table": "ALTER TABLE trips RENAME TO old; CREATE SEQUENCE trips",
        "a table in which a column of the trips is generated": (
            "CREATE FUNCTION hour() RETURNS timestamp IMMUTABLE LANGUAGE sql AS 'SELECT now()::timestamp'; "
            "ALTER TABLE trips DROP departure, ADD departure timestamp GENERATED ALWAYS AS (made.hour()) STORED"
        ),
        "a table of which a part is a foreign table": (
            "CREATE EXTENSION IF NOT EXISTS file_fdw SCHEMA public; DROP SERVER IF EXISTS files CASCADE; "
            "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw; "
            f"CREATE FOREIGN TABLE part ({COLUMNS}) SERVER files OPTIONS (program 'echo'); "
            "ALTER FOREIGN TABLE part INHERIT trips"
        ),
        "a table of which a part is a table with row security": (
            "CREATE TABLE part () INHERITS (trips); ALTER TABLE part ENABLE ROW LEVEL SECURITY"
        ),
    }

    @pytest.mark.parametrize("what", OTHERS)
    def test_tables_of_which_others_make_rows(self, postgresql: PostgreSQL, server: Any, what: str) -> None:
        try:
            server.execute(self.OTHERS[what])
        except psycopg.errors.UndefinedFile:
            pytest.skip("this PostgreSQL has no file_fdw")
        with pytest.raises(HistoryError, match=f"#made.trips is {what}, whose rows may depend on each other"):
            counted(f"{postgresql.url}#made.trips")

    def test_partitions_and_inheritance(self, postgresql: PostgreSQL, server: Any) -> None:
        server.execute(f"CREATE TABLE parted ({COLUMNS}) PARTITION BY LIST (origin)")
        server.execute("CREATE TABLE one PARTITION OF parted FOR VALUES IN (1) PARTITION BY LIST (destination)")
        server.execute("CREATE TABLE two PARTITION OF one FOR VALUES IN (2)")
        server.execute(f"INSERT INTO parted VALUES ({TRIP})")
        server.execute("CREATE TABLE heir () INHERITS (trips)")
        server.execute(f"INSERT INTO heir VALUES ({TRIP})")
        assert counted(f"{postgresql.url}#made.parted")[1].counted == 1
        assert counted(f"{postgresql.url}#made.trips")[1].counted == 2

    def test_names_of_the_database_mean_nothing(self, postgresql: PostgreSQL, server: Any) -> None:
        """Functions, operators and tables that are called like the server's own, and found before them."""
        for signature in ("btrim(text, text)", "btrim(integer, text)", "md5(text)", "lower(text)"):
            server.execute(f"CREATE FUNCTION made.{signature} RETURNS text LANGUAGE sql AS $$SELECT '9'$$")
        server.execute("CREATE FUNCTION made.always(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'")
        server.execute("CREATE OPERATOR made.~ (LEFTARG = text, RIGHTARG = text, FUNCTION = made.always)")
        server.execute("CREATE VIEW made.pg_class AS SELECT 1 AS oid")
        server.execute('ALTER TABLE trips ADD COLUMN "user" text, ALTER COLUMN origin TYPE text')
        server.execute("UPDATE trips SET \"user\" = ' 07 '")
        server.execute(f"INSERT INTO trips VALUES ({TRIP}, '7'), ({TRIP}, 'x')")
        server.execute("ALTER ROLE privroute SET search_path = made, pg_catalog")
        try:
            rows = counted(f"{postgresql.url}#made.trips", unit="user", max_requests=1)[1]
            assert (rows.counted, rows.above_bounds) == (2, 1)
            for name, message in (("two", "there is no such table"), ("pg_catalog.pg_class", "of the server's own")):
                with pytest.raises(HistoryError, match=message):  # two is in no schema that is named
                    counted(f"{postgresql.url}#{name}")
        finally:
            server.execute("ALTER ROLE privroute RESET search_path")

    def test_a_table_without_a_schema_is_that_of_public(self, postgresql: PostgreSQL, server: Any) -> None:
        server.execute("DROP TABLE IF EXISTS public.plain")
        server.execute(f"CREATE TABLE public.plain ({COLUMNS})")
        server.execute("CREATE VIEW made.plain AS SELECT * FROM trips")
        assert counted(f"{postgresql.url}#plain")[1].read == 0


@POSTGRES
class TestSpark:
    @pytest.fixture
    def session(self, spark: Any, tmp_path: Path) -> Any:
        trip = TRIP.replace("TIMESTAMP", "TIMESTAMP_NTZ")
        spark.sql(f"SELECT {trip}").toDF("origin", "destination", "departure").write.parquet(f"{tmp_path}/trips")
        spark.sql("CREATE SCHEMA made")
        try:
            spark.sql("USE made")
            spark.sql(f"CREATE TABLE trips USING parquet LOCATION '{tmp_path}/trips'")
            yield spark
        finally:
            spark.sql("USE default")
            spark.sql("DROP SCHEMA made CASCADE")
            for view in ("trips", "asked"):
                spark.catalog.dropTempView(view)
                spark.catalog.dropGlobalTempView(view)

    @pytest.mark.parametrize("query", QUERIES)
    def test_views_and_frames(self, session: Any, query: str) -> None:
        session.sql(f"CREATE VIEW asked AS {QUERIES[query]}")
        with pytest.raises(HistoryError, match="#made.asked is a view, whose rows may depend on each other"):
            counted("spark://#made.asked")
        with pytest.raises(HistoryError, match="the source of trips is a pyspark DataFrame, whose rows may depend"):
            counted(session.sql(QUERIES[query]))

    def test_temporary_views_stand_for_no_table(self, session: Any) -> None:
        session.sql("DROP TABLE IF EXISTS default.trips")  # of other tests with this session
        many = session.sql("SELECT trips.* FROM trips, range(5)")
        many.createOrReplaceTempView("trips")
        many.createGlobalTempView("asked")
        assert counted("spark://#made.trips")[1].read == 1
        assert counted("spark://#spark_catalog.made.trips")[1].read == 1
        for name in ("trips", "global_temp.asked", "session.trips", "system.session.trips"):
            with pytest.raises(HistoryError, match="there is no such table in the catalog"):
                counted(f"spark://#{name}")

    def test_temporary_functions_mean_nothing(self, session: Any) -> None:
        session.udf.register("md5", lambda _text: "0")
        session.udf.register("lower", lambda _text: "x")
        session.sql("CREATE FUNCTION default.trim AS 'org.apache.spark.sql.hive.none'")
        try:
            assert counted("spark://#made.trips", unit="user", max_requests=1, user="origin")[1].counted == 1
        finally:
            session.sql("DROP FUNCTION default.trim")

    def test_formats(self, session: Any, tmp_path: Path) -> None:
        """Those that guess types or join lines are refused; tables may be managed or external."""
        for kind in ("csv", "json", "text"):
            session.sql(f"CREATE TABLE in_{kind} (value STRING) USING {kind} OPTIONS (path '{tmp_path}/{kind}')")
            with pytest.raises(HistoryError, match=f"a table of the format {kind}, not parquet, orc, avro, delta"):
                counted(f"spark://#made.in_{kind}")
            with pytest.raises(HistoryError, match="there is no such table"):
                counted(f"spark://#{kind}.{tmp_path}/{kind}")
        session.sql("CREATE TABLE kept USING orc AS SELECT * FROM trips")
        assert counted("spark://#made.kept") == counted("spark://local#made.trips")

    @pytest.mark.parametrize("option", ["ignoreCorruptFiles 'true'", "IGNORECORRUPTFILES 'TRUE'", "x ']y, z=w'"])
    def test_options_of_a_reader(self, session: Any, tmp_path: Path, option: str) -> None:
        """One time that is too far away would take the rest of its file along, without an error."""
        session.sql(f"CREATE TABLE skipping USING parquet OPTIONS (path '{tmp_path}/trips', {option})")
        with pytest.raises(HistoryError, match="a table with options of its reader"):
            counted("spark://#made.skipping")
        session.sql(f"CREATE TABLE zipped USING parquet OPTIONS (compression 'zstd', path '{tmp_path}/trips')")
        assert counted("spark://#made.zipped")[1].read == 1

    def test_settings_of_the_session_do_not_skip_files(self, session: Any, tmp_path: Path) -> None:
        near = dt.datetime(2026, 3, 28, 7, 30, tzinfo=dt.UTC)
        times = pa.array([int(near.timestamp() * 1000), 2**62], pa.int64()).cast(pa.timestamp("ms", "UTC"))
        path = tmp_path / "far.parquet"
        pq.write_table(pa.table({"origin": ["1"] * 2, "destination": ["2"] * 2, "departure": times}), path)
        session.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
        try:
            with pytest.raises(HistoryError, match="stopped before all rows"):
                counted(in_spark(session, path, "made.far"), tz="UTC")
            session.sql("CACHE TABLE made.far")
            with pytest.raises(HistoryError, match="holds this table in its cache"):
                counted("spark://#made.far", tz="UTC")
        finally:
            session.sql("UNCACHE TABLE IF EXISTS made.far")
            session.conf.unset("spark.sql.files.ignoreCorruptFiles")

    def test_partitions_that_are_found_in_names_of_folders_are_texts(self, session: Any, tmp_path: Path) -> None:
        trip = "SELECT 2 AS destination, TIMESTAMP_NTZ '2026-03-28 07:30:00' AS departure"
        place = tmp_path / "late"
        place.mkdir()
        session.sql(f"CREATE TABLE late (destination INT, departure TIMESTAMP_NTZ) USING parquet LOCATION '{place}'")
        session.sql(trip).write.parquet(f"{place}/origin=01")
        session.sql("REFRESH TABLE late")
        assert counted("spark://#made.late")[1].unknown_zone == 1  # 01 is not zone 1

    def test_catalogs_of_servers(self, session: Any) -> None:
        """Their tables have no files, and may be views."""
        catalog, name = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog", "spark.sql.catalog.derby"
        session.conf.set(name, catalog)
        session.conf.set(f"{name}.url", "jdbc:derby:memory:made;create=true")
        session.conf.set(f"{name}.driver", "org.apache.derby.jdbc.EmbeddedDriver")
        session.sql("CREATE TABLE derby.APP.TRIPS (origin INT, destination INT, departure TIMESTAMP)")
        with pytest.raises(HistoryError, match="a table of the format none, not parquet"):
            counted("spark://#derby.APP.TRIPS")

    @pytest.mark.usefixtures("session")
    def test_another_cluster_than_that_of_the_session(self) -> None:
        with pytest.raises(HistoryError, match=r"a session of local\[2\] runs in this process; omit the cluster"):
            counted("spark://elsewhere:7077#made.trips")

    def test_ids_that_are_not_utf8_are_missing_as_in_files(self, session: Any, tmp_path: Path) -> None:
        for at, user in enumerate(("37E280", "80616263", "37")):
            path = tmp_path / f"{at}"
            session.sql(f"SELECT *, CAST(X'{user}' AS STRING) AS user FROM trips").write.parquet(str(path))
            rows = counted(in_spark(session, path, "made.ids"), unit="user", max_requests=1)[1]
            assert (rows.missing_user, rows.counted) == ((0, 1) if user == "37" else (1, 0))
