"""Whether an engine knows the types of columns, or guesses them from rows: then one row would change how all are read.

Sources are accepted that are known to have types of their own, by the plan of a query before it is optimised, which
depends on the query and not on rows; all others are refused. A table that was once created with guessed types looks
like any other: that the types of columns do not depend on rows is an assumption of the proof
(docs/proofs/row-locality.md, Tables in engines).
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["untyped_in_duckdb", "untyped_in_spark"]

# In DuckDB's plans: tables and constants, and steps whose types follow from those of what they read. Not Parquet files,
# whose partitions get their types from the names of folders, nor Arrow, behind which anything may be, nor functions
# of Python, whose rows go through pandas
_TYPED_IN_DUCKDB = frozenset(
    ("SEQ_SCAN", "POSTGRES_SCAN", "POSTGRES_SCAN_PUSHDOWN", "ICEBERG_SCAN", "DELTA_SCAN")
    + ("DUMMY_SCAN", "EMPTY_RESULT", "EXPRESSION_GET", "GENERATE_SERIES", "RANGE", "REPEAT", "UNNEST")
    + ("AGGREGATE", "DISTINCT", "FILTER", "LIMIT", "ORDER_BY", "PROJECTION", "SAMPLE", "TOP_N", "WINDOW")
    + ("ANY_JOIN", "ASOF_JOIN", "COMPARISON_JOIN", "CROSS_PRODUCT", "DELIM_GET", "DELIM_JOIN", "DEPENDENT_JOIN")
    + ("CTE", "CTE_SCAN", "EXCEPT", "INTERSECT", "POSITIONAL_JOIN", "REC_CTE", "UNION")
)
# In Spark's plans: what reads nothing or a table of a catalog, and files and servers that state types
_TYPED_IN_SPARK = frozenset(("CTERelationRef", "HiveTableRelation", "OneRowRelation", "Range"))
_TYPED_FORMATS = frozenset(("AvroFileFormat", "DeltaParquetFileFormat", "OrcFileFormat", "ParquetFileFormat"))
_TYPED_TABLES = frozenset(("AvroTable", "JDBCTable", "OrcTable", "ParquetTable"))
_GUESSED_PARTITIONS = "spark.sql.sources.partitionColumnTypeInference.enabled"
_UNEXPLAINED = "what it does not explain"


def untyped_in_duckdb(relation: Any) -> str | None:
    """What a DuckDB relation has in its plan that is not known to have types of its own; None if there is nothing."""
    with suppress(Exception):  # whatever it is, it may quote rows
        return min(_operators(_logical_plan(relation)) - _TYPED_IN_DUCKDB, default=None)
    return f"{_UNEXPLAINED} (is its configuration locked?)"


def untyped_in_spark(frame: Any) -> str | None:
    """What a Spark DataFrame reads that is not known to have types of its own; None if there is nothing.

    A frame of Spark Connect cannot be asked.
    """
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        return None
    with suppress(Exception):
        guesses_partitions = frame.sparkSession.conf.get(_GUESSED_PARTITIONS) != "false"
        leaves = _leaves(frame._jdf.queryExecution().analyzed())  # noqa: SLF001 - the only way to the plan
        found = (_untyped_leaf(leaf, guesses_partitions=guesses_partitions) for leaf in leaves)
        return min((name for name in found if name is not None), default=None)
    return _UNEXPLAINED


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
    """Names of all operators of a plan."""
    return {node["name"].strip() for node in nodes}.union(*(_operators(node["children"]) for node in nodes))


def _leaves(plan: Any) -> Iterator[Any]:
    """What a plan of Spark reads, also in subqueries."""
    others = plan.subqueriesAll()
    for part in (plan, *(others.apply(at) for at in range(others.size()))):
        leaves = part.collectLeaves()
        yield from (leaves.apply(at) for at in range(leaves.size()))


def _untyped_leaf(leaf: Any, *, guesses_partitions: bool) -> str | None:
    name = _class(leaf)
    if name == "LogicalRelation":
        source = leaf.relation()
        name = _class(source)
        if leaf.catalogTable().isDefined() or name == "JDBCRelation":
            return None
        if name != "HadoopFsRelation":
            return name
        name = _class(source.fileFormat())
        if name in _TYPED_FORMATS and source.partitionSchema().length() and guesses_partitions:
            return "folders of partitions"
        return None if name in _TYPED_FORMATS else name
    if name == "DataSourceV2Relation":
        name = _class(leaf.table())
        return None if leaf.catalog().isDefined() or name in _TYPED_TABLES else name
    return None if name in _TYPED_IN_SPARK else name


def _class(thing: Any) -> str:
    return str(thing.getClass().getSimpleName())
