"""Whether an engine knows the types of columns, or guesses them from rows: then one row would change how all are read.

Sources are accepted that are known to have types of their own, by the plan of a query before it is optimised, which
depends on the query and not on rows; all others are refused. A table that was once created with guessed types looks
like any other: that the types of columns do not depend on rows is an assumption of the proof
(docs/proofs/row-locality.md, Tables in engines).
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["skips_files_in_spark", "untyped_in_duckdb", "untyped_in_spark"]

# In DuckDB's plans: tables, and steps whose types follow from those of what they read. Not constants and parameters,
# whose types follow from their values, nor lists that become rows and may be such; nor Parquet files, whose partitions
# get their types from the names of folders, nor Arrow, behind which anything may be, nor functions of Python, whose
# rows go through pandas, nor joins by any condition or ASOF, whose subqueries are not in the plan
_TYPED_IN_DUCKDB = frozenset(
    ("SEQ_SCAN", "POSTGRES_SCAN", "POSTGRES_SCAN_PUSHDOWN", "ICEBERG_SCAN", "DELTA_SCAN")
    + ("AGGREGATE", "DISTINCT", "FILTER", "LIMIT", "ORDER_BY", "PROJECTION", "SAMPLE", "TOP_N", "WINDOW")
    + ("COMPARISON_JOIN", "CROSS_PRODUCT", "DELIM_GET", "DELIM_JOIN", "DEPENDENT_JOIN")
    + ("CTE", "CTE_SCAN", "EXCEPT", "INTERSECT", "POSITIONAL_JOIN", "REC_CTE", "UNION")
)
# In Spark's plans: the same steps, tables of a catalog that states types, and files and servers that do
_STEPS_IN_SPARK = frozenset(
    ("Aggregate", "Deduplicate", "Distinct", "Except", "Expand", "Filter", "Intersect", "Project", "Sample", "Sort")
    + ("AsOfJoin", "CTERelationDef", "Join", "LateralJoin", "SubqueryAlias", "Union", "View", "Window", "WithCTE")
    + ("GlobalLimit", "LocalLimit", "Offset", "Repartition", "RepartitionByExpression", "ResolvedHint")
)
_TYPED_IN_SPARK = frozenset(("CTERelationRef", "HiveTableRelation"))
_TYPED_FORMATS = frozenset(("AvroFileFormat", "OrcFileFormat", "ParquetFileFormat"))
_DELTA = "DeltaParquetFileFormat"  # states the types of partitions too
_GUESSING_CATALOG = "spark_catalog"  # may ask a source for its types at each reading
_SKIPPING = ("ignoreCorruptFiles", "multiLine")  # what comes after a bad value, or a quote that is open, is lost
_UNEXPLAINED = "what it does not explain"


def untyped_in_duckdb(relation: Any) -> str | None:
    """What a DuckDB relation has in its plan that is not known to have types of its own; None if there is nothing."""
    with suppress(Exception):  # whatever it is, it may quote rows
        return min(_operators(_logical_plan(relation)) - _TYPED_IN_DUCKDB, default=None)
    return f"{_UNEXPLAINED} (is its configuration locked?)"


def untyped_in_spark(frame: Any, *, partitions_are_texts: bool = False) -> str | None:
    """What a Spark DataFrame reads that is not known to have types of its own; None if there is nothing.

    partitions_are_texts : whether Spark takes the values in names of folders as texts, which cannot be seen; views have
        the types that their folders had elsewhere, or before
    A frame of Spark Connect cannot be asked.
    """
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        return None
    with suppress(Exception):
        plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - the only way to the plan
        steps = list(_steps(plan))
        texts = partitions_are_texts and not any(_class(step) == "View" for step in steps)
        found = (_untyped(step, partitions_are_texts=texts) for step in steps)
        return min((name for name in found if name is not None), default=None)
    return _UNEXPLAINED


def skips_files_in_spark(frame: Any) -> bool:
    """Whether Spark may leave out rows of a file because of another one, instead of an error.

    By the session's settings, by an option of a file or table, or since the format has no rows of its own.
    """
    settings = (f"{prefix}.{_SKIPPING[0]}" for prefix in ("spark.sql.files", "spark.files"))
    if any(frame.sparkSession.conf.get(setting, "false") != "false" for setting in settings):
        return True
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        return False
    return any(map(_skips, _steps(frame._jdf.queryExecution().analyzed())))  # noqa: SLF001 - the only way to the plan


def _skips(step: Any) -> bool:
    if _class(step) == "DataSourceV2Relation":
        return any(step.options().getBoolean(option, False) for option in _SKIPPING)
    if _class(step) != "LogicalRelation" or _class(step.relation()) != "HadoopFsRelation":
        return False
    options = step.relation().options().toString().lower()
    in_one = _class(step.relation().fileFormat()) == "XmlFileFormat"
    return in_one or any(f"{option} -> true".lower() in options for option in _SKIPPING)


def _logical_plan(relation: Any) -> Any:
    """How DuckDB understands a relation; its connection, and its settings, are the curator's."""
    view = f"privroute_{secrets.token_hex(8)}"

    def asked(statement: str) -> Any:
        return relation.query(view, statement)

    ((shown,),) = asked("SELECT current_setting('explain_output')").fetchall()
    asked("SET explain_output = 'all'").fetchall()
    try:
        plans = dict(asked(f"EXPLAIN (FORMAT json) FROM {view}").fetchall())
    finally:
        asked(f"SET explain_output = '{shown.lower()}'").fetchall()
    return json.loads(plans["logical_plan"])


def _operators(nodes: Any) -> set[str]:
    """Names of all operators of a plan, and whether conditions of joins have subqueries, which are none."""
    names = {node["name"].strip() for node in nodes}
    joins = (node for node in nodes if node["name"].strip().endswith("JOIN"))
    hidden = {"SUBQUERY" for node in joins if "SUBQUERY" in json.dumps(node.get("extra_info"))}
    return names.union(hidden, *(_operators(node["children"]) for node in nodes))


def _steps(plan: Any) -> Iterator[Any]:
    """Everything in a plan of Spark, also in subqueries."""
    yield plan
    for others in (plan.children(), plan.subqueries()):
        for at in range(others.size()):
            yield from _steps(others.apply(at))


def _untyped(step: Any, *, partitions_are_texts: bool) -> str | None:
    name = _class(step)
    if step.children().size():
        return None if name in _STEPS_IN_SPARK else name
    if name == "DataSourceV2Relation":
        name, catalog = _class(step.table()), step.catalog()
        stated = catalog.isDefined() and catalog.get().name() != _GUESSING_CATALOG
        return None if stated or name == "JDBCTable" else name
    if name != "LogicalRelation":
        return None if name in _TYPED_IN_SPARK else name
    source, table = step.relation(), step.catalogTable()
    name = _class(source)
    # Spark adds columns of which a catalog has no type, as it finds them in names of folders
    if name == "JDBCRelation" or (table.isDefined() and not _names(source.schema()) - _names(table.get().schema())):
        return None
    if name == "HadoopFsRelation":
        name = _class(source.fileFormat())
        if name in _TYPED_FORMATS and not partitions_are_texts and source.partitionSchema().length():
            return "folders of partitions"
    return None if name in _TYPED_FORMATS or name == _DELTA else name


def _names(schema: Any) -> Counter[str]:
    """How often each name is there; two that differ in case only are two, if Spark is told so."""
    return Counter(str(name).lower() for name in schema.fieldNames())


def _class(thing: Any) -> str:
    return str(thing.getClass().getSimpleName())
