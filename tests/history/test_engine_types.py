"""Sources whose types an engine would guess from rows are refused, whatever their rows are; other tables are read."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.history.engine_cases import GRID, POSTGRES, counted

import privroute as pr
from privroute.errors import HistoryError
from privroute.history import trip_engines
from privroute.history.engine_types import untyped_in_spark


@pytest.mark.parametrize("odd", [None, 0.5, "x"])
def test_a_relation_whose_types_are_guessed_from_rows_is_refused_whatever_its_rows_are(
    tmp_path: Path, odd: object
) -> None:
    """One odd value makes DuckDB read all of a column in another way."""
    ids = [2**53 + 1 + at for at in range(5)] + ([] if odd is None else [odd])
    trips = {"origin": "1", "destination": "2", "departure": "2026-03-28 07:30:00"}
    frame = pd.DataFrame({**trips, "user": pd.Series(ids, dtype=object)})
    csv, ndjson, parquet = (tmp_path / f"trips.{kind}" for kind in ("csv", "json", "parquet"))
    frame.astype(str).to_parquet(parquet)
    frame.to_csv(csv, index=False)
    frame.to_json(ndjson, orient="records", lines=True)
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW trips AS FROM '{csv}'")
    connection.execute(f"PREPARE prepared AS FROM read_csv('{csv}')")
    scans = (
        connection.from_df(frame),
        connection.sql("FROM frame"),
        connection.table("trips"),
        connection.read_json(str(ndjson)).filter("origin = '1'"),
        connection.sql("EXECUTE prepared"),
        connection.from_arrow(pa.Table.from_pandas(frame.astype(str))),
        connection.sql(f"FROM '{parquet}'"),
        connection.sql("SELECT 1 AS origin, a.* FROM trips AS a, range(3) WHERE false"),
    )
    for source in (*scans, *(each.materialize() for each in scans[:2] if hasattr(each, "materialize"))):
        for shown in ("physical_only", "optimized_only"):
            connection.execute(f"SET explain_output = '{shown}'")
            with pytest.raises(HistoryError, match="may guess types from some rows"):
                counted(source, unit="user", max_requests=1)
            ((after,),) = connection.execute("SELECT current_setting('explain_output')").fetchall()
            assert after.lower() == shown  # as the curator had it
    connection.execute("CREATE TABLE READ_CSV (kind INT)")
    connection.execute("CREATE TABLE known (origin INT, destination INT, departure TIMESTAMP, user VARCHAR)")
    connection.executemany("INSERT INTO known VALUES (1, 2, '2026-03-28 07:30', ?)", [[str(one)] for one in ids])
    rows = [{**trips, "user": one} for one in ids if not isinstance(one, str)]
    for passed in (
        connection.sql(
            "FROM known SEMI JOIN READ_CSV ON origin = kind AND known.user IN (SELECT CAST(user AS TEXT) FROM trips)"
        ),
        connection.sql(
            "SELECT known.* FROM known LEFT JOIN READ_CSV ON origin = (SELECT CAST(max(origin) AS INT) FROM trips)"
        ),
        connection.sql(
            "SELECT known.* FROM known ASOF JOIN READ_CSV ON origin >= kind "
            "AND known.user IN (SELECT CAST(user AS TEXT) FROM trips)"
        ),
        connection.table("known").map(lambda rows: rows),  # through pandas
        connection.sql("FROM known, json_each('[1]')"),
        connection.sql("SELECT unnest($rows, recursive := true)", params={"rows": rows}),
        connection.sql("SELECT unnest($rows, recursive := true) FROM known", params={"rows": rows}),
        connection.sql("FROM (VALUES ('1', '2', TIMESTAMP '2026-03-28 07:30')) AS t(origin, destination, departure)"),
    ):
        with pytest.raises(HistoryError, match="may guess types from some rows"):
            counted(passed)
    fenced = "WITH a AS MATERIALIZED (FROM known) FROM a WHERE origin NOT IN (SELECT kind FROM READ_CSV)"
    for query in ("FROM known", fenced):
        assert counted(connection.sql(query), unit="user", max_requests=1)[1].counted == len(ids)


def test_a_relation_is_read_by_the_rules_for_files() -> None:
    """Long labels are zones, formats are checked, and a name stands for one column."""
    label = "z" * 300
    network = pr.Network([0, 1], [1, 0], pr.Latency.bpr([1.0, 1.0], [2.0, 2.0]), [label, "b"])
    connection = duckdb.connect()
    connection.execute("CREATE TABLE trips (origin VARCHAR, destination VARCHAR, departure VARCHAR)")
    connection.execute("INSERT INTO trips VALUES (?, 'b', '28.03.2026 07:30')", [label])
    table = connection.table("trips")
    found = pr.read_trips(table, network, report=lambda _: None, time_format="%d.%m.%Y %H:%M", **GRID)
    assert isinstance(found, pr.DemandHistory)
    assert found.counts.sum() == 1
    with pytest.raises(HistoryError, match="letters that strptime does not know"):
        pr.read_trips(table, network, time_format="%Q", **GRID)
    with pytest.raises(HistoryError, match="there is more than one column 'origin'"):
        trip_engines._forms("trips", {"origin": "origin"}, [("origin", "text"), ("origin", "integer")])


def test_a_relation_that_does_not_show_its_plan_is_refused() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE trips (origin INT, destination INT, departure TIMESTAMP)")
    connection.execute("SET lock_configuration = true")
    with pytest.raises(HistoryError, match="is its configuration locked"):
        counted(connection.table("trips"))


def test_a_relation_that_changes_between_readings_is_bounded_all_the_same() -> None:
    """As a table may, to which others write: counts and bounds come from one reading."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE trips (origin INT, destination INT, departure TIMESTAMP, user INT)")
    connection.execute("INSERT INTO trips SELECT 1, 2, '2026-03-28 07:30', 7 FROM range(3)")
    drawn = connection.sql("FROM trips WHERE random() < 0.4")
    found = []
    for _ in range(40):
        with suppress(HistoryError):  # the assertion is seen to be false
            found.append(sum(counted(drawn, unit="user", max_requests=1, pre_bounded=True)[0]))
    assert max(found) == 1
    connection.execute("CREATE TABLE single AS SELECT * REPLACE (range::INT AS user) FROM trips, range(50)")
    single = connection.sql("FROM (SELECT DISTINCT * EXCLUDE (range) FROM single) WHERE random() < 0.5")
    for _ in range(5):  # and what is within the bounds is never refused
        counted(single, unit="user", max_requests=1, pre_bounded=True)


@POSTGRES
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")  # which mapInArrow says
def test_files_whose_types_spark_guesses_are_refused_and_partitions_are_texts(spark: Any, tmp_path: Path) -> None:
    stated = "origin STRING, destination STRING, departure TIMESTAMP_NTZ"
    places = {kind: str(tmp_path / f"trips.{kind}") for kind in ("csv", "json", "parquet", "typed", "overlapping")}
    trip = "SELECT '{0}' AS origin, '2' AS destination, TIMESTAMP_NTZ '2026-03-28 07:30:00' AS departure"
    spark.sql(trip.format("01")).write.csv(places["csv"], header=True)
    spark.sql(trip.format("1")).write.json(places["json"])
    spark.sql(trip.format("01")).write.partitionBy("origin").parquet(places["parquet"])  # a folder for each origin
    spark.sql(trip.format("1")).write.parquet(places["typed"])
    spark.sql(f"CREATE TABLE stated ({stated}) USING json LOCATION '{places['json']}'")
    overlapping = spark.sql(trip.format("01"))  # the column is in the files and in the names of folders
    overlapping.write.parquet(f"{places['overlapping']}/origin=01")
    spark.sql(f"CREATE TABLE unstated USING parquet OPTIONS (path '{places['overlapping']}')")
    guessed, typed = spark.read.csv(places["csv"], header=True), spark.read.parquet(places["typed"])
    guessed.createOrReplaceTempView("guessed")
    typed.createOrReplaceTempView("typed")
    spark.conf.set("spark.sql.maxPlanStringLength", "20")  # what Spark shows of a plan does not matter
    within = (
        "SELECT * FROM typed WHERE origin IN"
        " (SELECT origin FROM typed WHERE origin = (SELECT max(origin) FROM guessed))"
    )
    refused = (
        ("CSVFileFormat", guessed.filter("origin <> 'x'")),
        ("CSVFileFormat", spark.sql(within)),
        ("JsonFileFormat", spark.read.schema(stated).json(places["json"])),
        ("LogicalRDD", guessed.localCheckpoint()),
        ("LocalRelation", spark.createDataFrame(pa.table({"origin": ["1"]})).crossJoin(typed.drop("origin"))),
        ("OneRowRelation", spark.sql(trip.format("1"))),
        ("MapInArrow", typed.mapInArrow(lambda batches: batches, typed.schema)),
        ("folders of partitions", spark.read.parquet(places["parquet"])),
        ("folders of partitions", spark.table("unstated")),  # of which the catalog has no types
        ("Generate", typed.selectExpr("*", "explode(array(1, 0.5)) AS user")),
    )
    try:
        for source, frame in refused:
            with pytest.raises(HistoryError, match=f"from {source}, for which Spark may guess types from some rows"):
                counted(frame)
        of_many_steps = (
            "WITH a AS (SELECT * FROM typed UNION ALL SELECT * FROM stated) SELECT DISTINCT a.*, row_number() OVER "
            "(PARTITION BY a.origin ORDER BY a.departure) AS user FROM a JOIN typed USING (destination) LIMIT 5"
        )
        for frame in (typed, spark.table("stated").filter("origin <> 'x'"), spark.sql(of_many_steps)):
            assert untyped_in_spark(frame) is None
        address = f"spark://local#{places['parquet']}"
        frame, _ = trip_engines._frame_at(address)
        assert frame.schema["origin"].dataType.simpleString() == "string"
        assert counted(address)[1].unknown_zone == 1  # 01 is not zone 1
        with pytest.raises(HistoryError, match="folders of partitions"):
            counted(spark.read.parquet(places["parquet"]))
    finally:
        spark.conf.unset("spark.sql.maxPlanStringLength")
        spark.sql("DROP TABLE stated")
        spark.sql("DROP TABLE unstated")


@POSTGRES
def test_columns_that_spark_finds_in_names_of_folders_have_no_stated_type(spark: Any, tmp_path: Path) -> None:
    """However it came to them: a table that was made before its folders, or a view that was made elsewhere."""
    trip = "SELECT '2' AS destination, TIMESTAMP_NTZ '2026-03-28 07:30:00' AS departure"
    place = tmp_path / "trips"
    place.mkdir()
    late, folders = f"USING parquet LOCATION '{place}'", str(place)
    spark.sql(f"CREATE TABLE late (destination STRING, departure TIMESTAMP_NTZ) {late}")
    spark.sql(f"CREATE TABLE other (Origin STRING, destination STRING, departure TIMESTAMP_NTZ) {late}")
    spark.sql(f"CREATE TABLE said (origin STRING, destination STRING, departure TIMESTAMP_NTZ) {late}")
    spark.sql(trip).write.parquet(f"{folders}/origin=01")
    spark.read.parquet(folders).createGlobalTempView("elsewhere")
    spark.sql(f"CREATE VIEW before AS TABLE parquet.`{folders}`")
    try:
        for name in ("late", "other", "said"):
            spark.catalog.refreshTable(name)
        spark.conf.set("spark.sql.caseSensitive", "true")
        with pytest.raises(HistoryError, match="folders of partitions"):
            counted(spark.table("other"))
        spark.conf.unset("spark.sql.caseSensitive")
        frames = (spark.table("late"), "spark://local#global_temp.elsewhere", "spark://local#before")
        for source in (*frames, spark.table("before")):
            with pytest.raises(HistoryError, match="from folders of partitions, for which Spark may guess types"):
                counted(source)
        for source in (spark.table("said"), "spark://local#said", "spark://local#late"):
            assert counted(source)[1].unknown_zone == 1  # 01 is not zone 1
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
        for name in ("VIEW global_temp.elsewhere", "VIEW before", "TABLE late", "TABLE other", "TABLE said"):
            spark.sql(f"DROP {name}")


@POSTGRES
def test_ids_that_are_not_utf8_are_missing_in_spark_as_in_files(spark: Any, tmp_path: Path) -> None:
    trip = "SELECT '1' AS origin, '2' AS destination, TIMESTAMP_NTZ '2026-03-28 07:30:00' AS departure"
    for at, user in enumerate(("37E280", "80616263", "37")):
        spark.sql(f"{trip}, CAST(X'{user}' AS STRING) AS user").write.parquet(str(tmp_path / f"{at}"))
        rows = counted(spark.read.parquet(str(tmp_path / f"{at}")), unit="user", max_requests=1)[1]
        assert (rows.missing_user, rows.counted) == ((0, 1) if user == "37" else (1, 0))


@POSTGRES
def test_a_spark_that_skips_files_is_refused(spark: Any, tmp_path: Path) -> None:
    """One time that is too far away would take the rest of its file along, without an error."""
    near, far = dt.datetime(2026, 3, 28, 7, 30, tzinfo=dt.UTC), 2**62
    times = pa.array([int(near.timestamp() * 1000)] * 5 + [far], pa.int64()).cast(pa.timestamp("ms", "UTC"))
    path = str(tmp_path / "trips.parquet")
    pq.write_table(pa.table({"origin": ["1"] * 6, "destination": ["2"] * 6, "departure": times}), path)
    skipping = spark.read.option("IgnoreCorruptFiles", "TRUE").parquet(path)
    spark.sql(f"CREATE TABLE skipping USING parquet OPTIONS (ignoreCorruptFiles 'true', path '{path}')")
    plain = spark.read.parquet(path)
    try:
        for source in (skipping, skipping.filter("origin = '1'"), spark.table("skipping"), "spark://local#skipping"):
            with pytest.raises(HistoryError, match="one trip could take others along"):
                counted(source, tz="UTC")
        for kind, option in (("csv", ", multiLine 'true'"), ("json", ", multiLine 'TRUE'"), ("xml", ", rowTag 'trip'")):
            columns = "origin STRING, destination STRING, departure TIMESTAMP_NTZ"
            spark.sql(f"CREATE TABLE lines ({columns}) USING {kind} OPTIONS (path '{tmp_path}/{kind}'{option})")
            with pytest.raises(HistoryError, match="one trip could take others along"):
                counted(spark.table("lines"))
            spark.sql("DROP TABLE lines")
        spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
        with pytest.raises(HistoryError, match="one trip could take others along"):
            counted(plain, tz="UTC")
    finally:
        spark.conf.unset("spark.sql.files.ignoreCorruptFiles")
        for name in ("skipping", "lines"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")
