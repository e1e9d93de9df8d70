"""Tables of trips in DuckDB, PostgreSQL and Spark, opened for counting.

What an engine says when it fails may quote a row, so nothing of it goes further: errors here say what kind of failure
it was, and are raised outside `except`, so that the caught one does not stay on them.
"""

from __future__ import annotations

import secrets
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from privroute.errors import HistoryError, InputError, MissingExtraError
from privroute.history.bounding import new_salt
from privroute.history.dialects import DUCKDB, POSTGRESQL, POSTGRESQL_ASCII, SPARK
from privroute.history.engine_types import skips_files_in_spark, untyped_in_duckdb, untyped_in_spark
from privroute.history.trip_batches import FORM_TYPES, form_of, plain_columns
from privroute.history.trip_database import UnreadableError, open_database
from privroute.history.trip_texts import LONGEST_TEXT, TextRule
from privroute.server_address import ServerAddress, driver, is_address, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from privroute.history.engine_counts import Engine
    from privroute.history.trip_batches import Form

__all__ = ["is_engine_source", "open_engine"]

_SPARK_ADDRESS = "spark://"
_BATCH_ROWS = 16_384  # of texts of at most 64 KiB: within the 2 GiB of a batch
_POSTGRESQL_FORMS: dict[int, Form] = {  # by the numbers of types, which are fixed
    **dict.fromkeys((20, 21, 23), "integer"),
    **dict.fromkeys((700, 701, 1700), "number"),
    **dict.fromkeys((25, 1042, 1043, 2950), "text"),
    1114: "local_us",
    1184: "utc_us",
}
_SPARK_FORMS: dict[str, Form] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("string", "char", "varchar"), "text"),
    "timestamp_ntz": "local_us",
    "timestamp": "utc_us",
}
_QUIET = ("WARN", "ERROR", "FATAL", "OFF")  # levels of Spark's log that tell nothing of what goes well
_SPARK_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # pyspark's own
_OLDEST_POSTGRESQL = 140_000  # whose extract() gives exact numbers


def is_engine_source(source: object) -> bool:
    """Whether trips are in an engine: an address of a server, a DuckDB relation or a Spark DataFrame."""
    if isinstance(source, str):
        return is_address(source) or source.startswith(_SPARK_ADDRESS)
    return _is_relation(source) or _is_frame(source)


def _is_relation(source: object) -> bool:
    return type(source).__name__ == "DuckDBPyRelation"


def _is_frame(source: object) -> bool:
    return type(source).__module__.startswith("pyspark.sql") and type(source).__name__ == "DataFrame"


@contextmanager
def open_engine(
    source: Any,
    columns: Mapping[str, str],
    public: Mapping[str, Any],
    *,
    longest_zone: int,
    memory_mb: object,
    temp_folder: object,
) -> Iterator[Engine]:
    """Open a table; the columns of all roles are there, and their types are known.

    columns : {role: name}; public : Arrow tables zones, pairs and perhaps cells; longest_zone : bytes of a label
    """
    if _is_relation(source):
        rules = [TextRule.of_role(role, longest_zone) for role in columns]
        opened: Any = _open_relation(source, columns, public, rules, memory_mb=memory_mb, temp_folder=temp_folder)
    elif _is_frame(source):
        opened = _open_frame(source, "the DataFrame", columns, public)
    elif is_address(source):
        opened = _open_server(source, columns, public)
    else:
        frame, name = _frame_at(source)
        opened = _open_frame(frame, name, columns, public, partitions_are_texts=True)
    with opened as engine:
        yield engine


class _Relation:
    """A DuckDB relation, read as a stream into a database of our own, with columns in their plain forms."""

    dialect = DUCKDB

    def __init__(self, name: str, forms: Mapping[str, Form], database: Any, stream: Any, read: list[int]) -> None:
        self.name, self.forms = name, forms
        self._database, self._stream, self._read = database, stream, read

    def rows(self) -> int:
        return self._read[-1]

    def arrays(self, statement: str) -> dict[str, Any]:
        self._database.put("trips", self._stream())
        for table in ("trips", "zones", "cells", "pairs"):
            statement = statement.replace(f"{{{table}}}", table)
        failed = False
        try:
            found = self._database.arrays(statement.replace("{salt}", "(SELECT salt FROM salt)"))
        except UnreadableError:
            failed = True
        if failed:
            raise _failed(self.name)
        return {name: _numbers(np.ma.filled(column, -1)) for name, column in found.items()}


@contextmanager
def _open_relation(
    relation: Any,
    columns: Mapping[str, str],
    public: Mapping[str, Any],
    rules: list[TextRule],
    *,
    memory_mb: object,
    temp_folder: object,
) -> Iterator[_Relation]:
    name = "the DuckDB relation"
    if (source := untyped_in_duckdb(relation)) is not None:
        raise _guessed(name, source, "DuckDB", "a table of a database")
    schema = _stream_of(relation, name, "limit", 0).schema
    forms = _forms(name, columns, [(field.name, form_of(field.type)) for field in schema])
    types = {column: kind.id for column, kind in zip(relation.columns, relation.types, strict=True)}
    shown = ", ".join(dict.fromkeys(_shown(column, types[column]) for column in columns.values()))
    read: list[int] = []  # rows of each reading

    def stream() -> Any:
        wanted = pa.schema([(columns[role], FORM_TYPES[form]) for role, form in forms.items()])
        read.append(0)

        def batches() -> Iterator[Any]:
            for batch in _stream_of(relation, name, "project", shown):
                read[-1] += batch.num_rows
                plain = plain_columns([batch.column(columns[role]) for role in forms], rules)
                yield pa.RecordBatch.from_arrays(plain, schema=wanted)

        return pa.RecordBatchReader.from_batches(wanted, batches())

    with open_database(memory_mb, temp_folder) as database:
        for table, content in public.items():
            database.put(table, content)
        database.put("salt", pa.table({"salt": [new_salt()]}))
        yield _Relation(name, forms, database, stream, read)


def _shown(column: str, kind: str) -> str:
    """A column of a relation; texts that are too long for any role are missing before they are copied."""
    size = {"varchar": "strlen", "blob": "octet_length", "bit": "octet_length"}.get(kind)  # JSON is a varchar, too
    name = quoted(column)
    if kind == "uhugeint":  # DuckDB hands on what has more digits as a negative number
        return f"TRY_CAST({name} AS DECIMAL(38, 0)) AS {name}"
    return name if size is None else f"CASE WHEN {size}({name}) <= {LONGEST_TEXT} THEN {name} END AS {name}"


def _stream_of(relation: Any, name: str, method: str, argument: Any) -> Any:
    """The rows of a relation after one more step."""
    try:
        return getattr(relation, method)(argument).to_arrow_reader(_BATCH_ROWS)
    except Exception:  # noqa: BLE001, S110 - whatever it is, it may quote rows
        pass
    raise _failed(name)


class _Server:
    """A table on a PostgreSQL server, read in one transaction that cannot write."""

    def __init__(
        self, name: str, forms: Mapping[str, Form], server: Any, table: str, public: Mapping[str, Any]
    ) -> None:
        self.name, self.forms = name, forms
        self.dialect = POSTGRESQL if server.info.parameter_status("server_encoding") == "UTF8" else POSTGRESQL_ASCII
        self._server, self._table = server, table
        self._values: dict[str, Any] = {"salt": new_salt()}
        self._public = {}
        for name_of, content in public.items():
            parts = []
            for column in content.column_names:
                self._values[f"{name_of}_{column}"] = content.column(column).to_pylist()
                kind = "text" if pa.types.is_string(content.schema.field(column).type) else "bigint"
                parts.append(f"%({name_of}_{column})s::{kind}[]")
            self._public[name_of] = (
                f"(SELECT * FROM unnest({', '.join(parts)}) AS t({', '.join(content.column_names)}))"
            )

    def rows(self) -> int:
        return int(self.arrays("SELECT count(*) AS n FROM {trips} AS t")["n"][0])

    def arrays(self, statement: str) -> dict[str, Any]:
        text = statement.replace("{trips}", self._table).replace("%", "%%").replace("{salt}", "CAST(%(salt)s AS TEXT)")
        for table, content in self._public.items():
            text = text.replace(f"{{{table}}}", content)
        psycopg, failed = driver(), False
        try:
            with self._server.cursor(binary=True) as cursor:
                cursor.execute(text, {name: value for name, value in self._values.items() if f"({name})s" in text})
                names = [column.name for column in cursor.description]
                rows = cursor.fetchall()
        except psycopg.Error:
            failed = True
        if failed:
            raise _failed(self.name)
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        return {name: _numbers(column) for name, column in zip(names, columns, strict=True)}


@contextmanager
def _open_server(text: str, columns: Mapping[str, str], public: Mapping[str, Any]) -> Iterator[_Server]:
    try:
        address = ServerAddress.of(text)
    except InputError as problem:
        raise HistoryError(f"{problem}") from None
    if not address.name:
        raise HistoryError(f"{address}: name the table behind a #, like #trips or #schema.trips")
    table = ".".join(quoted(part) for part in address.name)
    psycopg, server = driver(), None
    with suppress(psycopg.Error):  # whose words may have the user's name
        server = address.connect()
    if server is None:
        raise HistoryError(f"{address}: the server cannot be reached, or refuses the user; check the address")
    with closing(server):
        if server.info.server_version < _OLDEST_POSTGRESQL:
            raise HistoryError(f"{address}: the server is older than PostgreSQL 14")
        kinds = None
        try:
            server.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            found = server.execute(f"SELECT * FROM {table} LIMIT 0").description
            kinds = [(column.name, _POSTGRESQL_FORMS.get(column.type_code)) for column in found]
        except psycopg.Error:
            pass
        if kinds is None:
            raise HistoryError(f"{address}: there is no such table, or the user may not read it")
        yield _Server(str(address), _forms(str(address), columns, kinds), server, table, public)


class _Frame:
    """A Spark DataFrame, under a name that only this reading has."""

    dialect = SPARK

    def __init__(self, name: str, forms: Mapping[str, Form], session: Any, tables: Mapping[str, str]) -> None:
        self.name, self.forms = name, forms
        self._session, self._tables = session, tables

    def rows(self) -> int:
        return int(self.arrays("SELECT count(*) AS n FROM {trips} AS t")["n"][0])

    def arrays(self, statement: str) -> dict[str, Any]:
        for table, view in self._tables.items():
            statement = statement.replace(f"{{{table}}}", f"(SELECT salt FROM {view})" if table == "salt" else view)
        failed = False
        try:
            with _silent(self._session):
                found = self._session.sql(statement).toArrow()
        except Exception:  # noqa: BLE001 - whatever it is, it may quote rows
            failed = True
        if failed:
            raise _failed(self.name)
        return {name: _numbers(found.column(name).fill_null(-1).to_numpy()) for name in found.column_names}


@contextmanager
def _silent(session: Any) -> Iterator[None]:
    """Spark writes nothing to the terminal, on either side: what it says of a failure may quote a row.

    After a failure its log stays off: tasks that end later repeat the words of the first.
    """
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - heavy and optional

    loggers: list[Any] = [PySparkLogger.getLogger(name) for name in _SPARK_LOGGERS]
    disabled, level = [logger.disabled for logger in loggers], None
    with suppress(Exception):  # a session of Spark Connect has its log elsewhere
        level = str(session.sparkContext._jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel())  # noqa: SLF001
        session.sparkContext.setLogLevel("OFF")
    try:
        for logger in loggers:
            logger.disabled = True
        yield
        if level is not None:  # the root may say INFO where Spark shows less
            session.sparkContext.setLogLevel(level if level in _QUIET else _QUIET[0])
    finally:
        for logger, before in zip(loggers, disabled, strict=True):
            logger.disabled = before


@contextmanager
def _open_frame(
    frame: Any,
    name: str,
    columns: Mapping[str, str],
    public: Mapping[str, Any],
    *,
    partitions_are_texts: bool = False,
) -> Iterator[_Frame]:
    fields = None
    with suppress(Exception), _silent(frame.sparkSession):  # a frame of Spark Connect is understood only now
        fields = frame.schema.fields
    if fields is None:
        raise HistoryError(f"{name}: Spark does not say what its columns are; show its schema, and mend what it says")
    kinds = [(field.name, _SPARK_FORMS.get(field.dataType.simpleString().partition("(")[0])) for field in fields]
    forms = _forms(name, columns, kinds)
    if (source := untyped_in_spark(frame, partitions_are_texts=partitions_are_texts)) is not None:
        raise _guessed(name, source, "Spark", "a table of a catalog")
    skips = True
    with suppress(Exception):
        skips = skips_files_in_spark(frame)
    if skips:
        raise HistoryError(
            f"{name}: Spark reads these files such that one trip could take others along (ignoreCorruptFiles, "
            "multiLine, XML); set these options to false, or pass other files"
        )
    session = frame.sparkSession
    mark = secrets.token_hex(8)
    if "user_id" in columns:
        public = {**public, "salt": pa.table({"salt": [new_salt()]})}
    views = {table: f"privroute_{table}_{mark}" for table in ("trips", *public)}
    try:
        frame.createOrReplaceTempView(views["trips"])
        for table, content in public.items():
            session.createDataFrame(content).createOrReplaceTempView(views[table])
        yield _Frame(name, forms, session, views)
    finally:
        for view in views.values():
            session.catalog.dropTempView(view)


def _frame_at(text: str) -> tuple[Any, str]:
    """The table of an address like spark://host:7077#catalog.table, or spark://local#folder/trips.parquet."""
    master, _, table = text.removeprefix(_SPARK_ADDRESS).partition("#")
    if not master or not table:
        raise HistoryError(
            "an address of Spark is like spark://host:7077#catalog.schema.table, or spark://local#trips.parquet for a "
            "session of this process"
        )
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - heavy and optional
    except ImportError:
        raise MissingExtraError("pyspark", "spark", "a Spark session") from None
    builder = SparkSession.builder.appName("privroute")
    builder = builder.master("local[*]" if master == "local" else text.partition("#")[0])
    frame = None
    try:
        session = builder.getOrCreate().newSession()  # with settings of its own
        # folders of partitions are named by rows
        session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        session.conf.set("spark.sql.files.ignoreCorruptFiles", "false")
        with _silent(session):
            frame = session.read.parquet(table) if table.endswith(".parquet") else session.table(table)
    except Exception:  # noqa: BLE001, S110 - whatever it is, it may quote rows
        pass
    if frame is None:
        raise HistoryError(f"{text}: the cluster cannot be reached, or there is no such table")
    return frame, text


def _forms(name: str, columns: Mapping[str, str], kinds: Sequence[tuple[str, Form | None]]) -> dict[str, Form]:
    """The form of each role's column, by its type; a matter of the schema."""
    forms: dict[str, Form] = {}
    for role, column in columns.items():
        found = [form for other, form in kinds if other == column]
        if len(found) != 1:
            many = "no column" if not found else "more than one column"
            raise HistoryError(f"{name}: there is {many} {column!r} for {role}")
        (form,) = found
        if form is None:
            raise HistoryError(
                f"{name}: the column {column!r} for {role} has a type that holds no numbers, texts or times"
            )
        forms[role] = form
    return forms


def _failed(name: str) -> HistoryError:
    return HistoryError(
        f"{name}: the engine stopped before all rows were counted. Its message is not shown, because it may quote a "
        "row; see its own log"
    )


def _guessed(name: str, source: str, engine: str, better: str) -> HistoryError:
    return HistoryError(
        f"{name} reads from {source}, for which {engine} may guess types from some rows: one trip could change how the "
        f"others are read. Pass files themselves, or {better} with stated types"
    )


def _numbers(values: Any) -> Any:
    """Whole numbers; -1 where there is none."""
    if isinstance(values, np.ndarray):
        return values.astype(np.int64)
    return np.array([-1 if value is None else value for value in values], dtype=np.int64)
