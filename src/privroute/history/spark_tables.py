"""Tables of a catalog of Spark, opened for counting: `spark://host:7077#catalog.schema.table`.

They are read in a session of their own, which has no temporary views or functions but ours.
"""

from __future__ import annotations

import re
import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from privroute.errors import HistoryError, MissingExtraError
from privroute.history.dialects import SPARK
from privroute.history.engine_counts import Engine, forms_of
from privroute.history.trip_tables import SPARK_ADDRESS, not_a_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from privroute.history.trip_batches import Form

__all__ = ["open_spark"]

_FORMS: dict[str, Form] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("string", "char", "varchar"), "text"),
    "timestamp_ntz": "local_us",
    "timestamp": "utc_us",
}
_TYPES, _PROVIDERS = ("MANAGED", "EXTERNAL"), ("parquet", "orc", "avro", "delta", "iceberg")
_DETAILS = "# Detailed Table Information"
# options with which a file's rows do not depend on each other; ignoreCorruptFiles is none
_OPTIONS = re.compile(r"\[((serialization\.format|(parquet\.|orc\.)?compress(ion)?)=\w+(, |(?=\])))*\]")
_SETTINGS = {
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # folders of partitions are named by rows
    "spark.sql.files.ignoreCorruptFiles": "false",  # what comes after a value that cannot be read would be lost
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.path.enabled": "false",  # by which functions of a schema may come before Spark's own
}
_CATALOG_SETTINGS = ("spark.sql.catalog.", "spark.sql.defaultCatalog", "fs.")  # taken over from the running session
_QUIET = ("WARN", "ERROR", "FATAL", "OFF")  # levels of Spark's log that tell nothing of what goes well
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # pyspark's own


@contextmanager
def open_spark(text: str, columns: Mapping[str, str], public: Mapping[str, Any]) -> Iterator[Engine]:
    """Open the table of an address.

    columns : {role: name}; public : Arrow tables by name, as statements call them
    """
    master, _, name = text.removeprefix(SPARK_ADDRESS).partition("#")
    parts = name.split(".")
    if not all(parts):
        raise HistoryError(
            "an address of Spark is like spark://host:7077#catalog.schema.table, or spark://#schema.table for the "
            "session of this process"
        )
    parts = ["default", *parts] if len(parts) == 1 else parts  # a name alone may be that of a view of a session
    table = ".".join(map(SPARK.column, parts))
    session = _session(master, text)
    fields = _fields(session, parts, text)
    kinds = [(field.name, _FORMS.get(field.dataType.simpleString().partition("(")[0])) for field in fields]
    forms = forms_of(text, columns, kinds)
    mark = secrets.token_hex(8)
    tables = {"trips": table} | {each: f"privroute_{each}_{mark}" for each in public}

    def ask(statement: str) -> Any:
        for each, own in tables.items():
            statement = statement.replace(f"{{{each}}}", own)
        with _silent(session):
            return session.sql(statement).toArrow()

    try:
        for each, content in public.items():
            session.createDataFrame(content).createOrReplaceTempView(tables[each])
        yield Engine(text, SPARK, forms, ask)
    finally:
        for each in public:
            session.catalog.dropTempView(tables[each])


def _session(master: str, text: str) -> Any:
    """A new session on the cluster; where a session runs in this process, on that one's."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - heavy and optional
    except ImportError:
        raise MissingExtraError("pyspark", "spark", "a Spark session") from None
    cluster = "local[*]" if master == "local" else SPARK_ADDRESS + master
    session, running = None, ""
    with suppress(Exception):
        builder = SparkSession.builder.appName("privroute")
        found = (builder.master(cluster) if master else builder).getOrCreate()
        running, fresh = str(found.sparkContext.master), found.newSession()
        for name, value in found.conf.getAll.items():
            if name.startswith(_CATALOG_SETTINGS):
                fresh.conf.set(name, value)
        for name, value in _SETTINGS.items():
            fresh.conf.set(name, value)
        session = fresh
    if session is None:
        raise HistoryError(
            f"{text}: there is no such cluster, or no session of one in this process; a session of Spark Connect "
            "cannot be used"
        )
    if master and running != cluster and not (master == "local" and running.startswith("local")):
        raise HistoryError(f"{text}: a session of {running} runs in this process; omit the cluster: spark://#...")
    return session


def _fields(session: Any, parts: Sequence[str], text: str) -> Any:
    """The columns of a table, which is one by what its catalog says."""
    *schema, name = map(SPARK.column, parts)
    table, rows, listed, fields, cached = ".".join((*schema, name)), [], [], None, True
    with _silent(session), suppress(Exception):  # under names that are not listed catalogs have tables about tables
        listed = [row for row in session.sql(f"SHOW TABLES IN {'.'.join(schema)}").collect() if not row["isTemporary"]]
        rows = session.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
        fields = session.table(table).schema.fields
        cached = session.catalog.isCached(table)
    if fields is None or parts[-1].lower() not in (row["tableName"].lower() for row in listed):
        raise HistoryError(f"{text}: there is no such table in the catalog")
    heads = [at for at, row in enumerate(rows) if row[:2] == (_DETAILS, "")]  # a column of this name has a type
    details = dict(row[:2] for row in reversed(rows[max(heads, default=len(rows)) :]))  # the first ones hold
    kind, provider = details.get("Type", "view"), details.get("Provider", "none")
    if kind not in _TYPES:
        raise not_a_table(text, f"a {kind.lower()}")
    if provider.lower() not in _PROVIDERS:
        raise not_a_table(text, f"a table of the format {provider}, not {', '.join(_PROVIDERS)}")
    if not _OPTIONS.fullmatch(details.get("Storage Properties", "[]")):
        raise not_a_table(text, "a table with options of its reader (see DESCRIBE TABLE EXTENDED)")
    if cached:
        raise HistoryError(f"{text}: a session holds this table in its cache, as it read it; uncache the table first")
    return fields


@contextmanager
def _silent(session: Any) -> Iterator[None]:
    """Spark writes nothing to the terminal, on either side: what it says of a failure may quote a row.

    After a failure its log stays off: tasks that end later repeat the words of the first.
    """
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - heavy and optional

    loggers: list[Any] = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    disabled = [logger.disabled for logger in loggers]
    level = str(session.sparkContext._jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel())  # noqa: SLF001
    session.sparkContext.setLogLevel("OFF")
    try:
        for logger in loggers:
            logger.disabled = True
        yield
        session.sparkContext.setLogLevel(level if level in _QUIET else _QUIET[0])  # where Spark shows less than INFO
    finally:
        for logger, before in zip(loggers, disabled, strict=True):
            logger.disabled = before
