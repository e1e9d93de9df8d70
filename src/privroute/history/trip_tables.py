"""Which sources of trips are ordinary tables. Rows that a query makes may depend on each other, so queries are refused.

What a table was made of before cannot be seen; there the caller asserts that one row is one trip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import HistoryError, arg
from privroute.server_address import is_address
from privroute.study.trip_format import ROWS_ARE_TRIPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privroute.history.trip_batches import Form

__all__ = [
    "SPARK_ADDRESS",
    "check_rows_are_trips",
    "forms_of",
    "is_on_server",
    "no_source",
    "not_a_table",
    "stopped",
    "whole_numbers",
]

SPARK_ADDRESS = "spark://"


def is_on_server(source: object) -> bool:
    """Whether a source is the address of a table that PostgreSQL or Spark counts."""
    return isinstance(source, str) and (is_address(source) or source.startswith(SPARK_ADDRESS))


def not_a_table(name: object, what: str) -> HistoryError:
    """To be raised where a name stands for something that makes its rows when it is read, or may."""
    return HistoryError(
        f"{name} is {what}, whose rows may depend on each other (joins, windows, limits): one trip could change how "
        "others are counted. Write it to a Parquet file or an ordinary table (CREATE TABLE ... AS) and pass that, or "
        "count there and pass privroute.read_counts the counts"
    )


def no_source(source: object) -> HistoryError:
    """To be raised for an object that is no path and no address, such as a pandas DataFrame. It is not shown."""
    package, name = type(source).__module__.partition(".")[0].lstrip("_"), type(source).__name__
    if package == "builtins":
        return HistoryError(
            f"the source of trips is a {name}; pass a path, a pattern like 'trips/*.parquet', a list of them, or the "
            "address of a table"
        )
    return not_a_table("the source of trips", f"a {package} {name}")


def check_rows_are_trips(name: object, asserted: object) -> None:
    """Refuse a table or counts without the assertion that nobody can check here."""
    if asserted is not True:
        raise HistoryError(
            f"{name}: privroute cannot see what rows were made of. Pass {arg('rows_are_trips', True)} to assert that "
            f"{ROWS_ARE_TRIPS}. Certificates list this as asserted"
        )


def forms_of(name: str, columns: Mapping[str, str], kinds: Sequence[tuple[str, Form | None]]) -> dict[str, Form]:
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


def stopped(name: str) -> HistoryError:
    """To be raised outside `except` where an engine fails: what it says may quote a row, and goes no further."""
    return HistoryError(
        f"{name}: the engine stopped before all rows were counted. Its message is not shown, because it may quote a "
        "row; see its own log"
    )


def whole_numbers(values: Any) -> Any:
    """An array of whole numbers; -1 where there is none."""
    if isinstance(values, np.ndarray):
        return values.astype(np.int64)
    return np.array([-1 if value is None else value for value in values], dtype=np.int64)
