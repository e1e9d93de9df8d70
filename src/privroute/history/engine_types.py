"""Whether an engine knows the types of columns, or guesses them from rows: then one row would change how all are read.

What can be seen is refused. A table that was once created with guessed types looks like any other: that the types of
columns do not depend on rows is an assumption of the proof (docs/proofs/row-locality.md, Tables in engines).
"""

from __future__ import annotations

import json
import re
import secrets
from contextlib import suppress
from typing import Any

__all__ = ["guessed_scan", "reads_guessed_files"]

# in DuckDB's plans: tables, which have types of their own, and constants. Not Parquet files, whose partitions get their
# types from the names of folders, nor Arrow, behind which anything may be
_TYPED_SCANS = frozenset(
    ("SEQ_SCAN", "POSTGRES_SCAN", "POSTGRES_SCAN_PUSHDOWN", "ICEBERG_SCAN", "DELTA_SCAN")
    + ("DUMMY_SCAN", "CTE_SCAN", "DELIM_GET", "EMPTY_RESULT", "RANGE", "GENERATE_SERIES", "UNNEST", "REPEAT")
)
# in Spark's plans: files that no catalog has a schema for
_GUESSED_FILES = re.compile(r"Relation(V2)? ?\[.*\] (csv|json|text|xml)\b")


def guessed_scan(relation: Any) -> str | None:
    """What a DuckDB relation scans that has no types of its own; None where everything has.

    By the plan before DuckDB optimises it, which depends on the query and not on rows.
    """
    plan = None
    with suppress(Exception):  # whatever it is, it may quote rows
        plan = _logical_plan(relation)
    scans = {"what DuckDB does not explain (is its configuration locked?)"} if plan is None else _leaves(plan)
    return min(scans - _TYPED_SCANS, default=None)


def reads_guessed_files(frame: Any) -> bool:
    """Whether a Spark DataFrame reads files whose types Spark may have guessed."""
    plan = ""
    with suppress(Exception):  # a frame of Spark Connect has no such plan
        plan = frame._jdf.queryExecution().analyzed().toString()  # noqa: SLF001
    return _GUESSED_FILES.search(plan) is not None


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


def _leaves(plan: Any) -> set[str]:
    """Names of the operators that have nothing below them."""
    nodes = plan if isinstance(plan, list) else [plan]
    return {
        name for node in nodes for name in (_leaves(node["children"]) if node["children"] else {node["name"].strip()})
    }
