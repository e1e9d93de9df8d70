"""Which sources of trips are ordinary tables. Rows that a query makes may depend on each other, so queries are refused.

What a table was made of before cannot be seen; there the caller asserts that one row is one trip.
"""

from __future__ import annotations

from privroute.errors import HistoryError, arg
from privroute.server_address import is_address
from privroute.study.trip_format import ROWS_ARE_TRIPS

__all__ = ["SPARK_ADDRESS", "check_rows_are_trips", "is_on_server", "no_source", "not_a_table"]

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
