"""The SQL of three engines, as a table of the few expressions in which they differ.

Everything else is one text: `engine_counts`. Each expression holds for every value that a column of its type can have:
none of them fails, so no row can stop the reading or be quoted in a message (docs/proofs/row-locality.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privroute.history.trip_batches import Form

__all__ = ["DUCKDB", "POSTGRESQL", "SPARK", "Dialect", "put"]

_DAY_US = 86_400_000_000
_HOUR_US = 3_600_000_000
_MINUTE_US = 60_000_000
_NEVER = -(2**62)  # a time on no day of a study
_NUMBER_TEXT = "^ *[-+]?[0-9]{1,12}([.][0-9]{0,20})? *$"


@dataclass(frozen=True, slots=True)
class Dialect:
    """Expressions of an engine; {0} stands for a column or an expression, to be put in by `put`.

    divide : the operator of whole numbers; times : {form: microseconds since 1970 of a column of times}
    text : as a text; trimmed : without blanks, tabs and carriage returns at its ends
    matches : whether a text matches a regular expression {1}
    number_of_text, number : degrees of a text or of a number as a double, NULL where they are none
    digest : MD5 of a text in hexadecimal digits, which compare by their codes
    whole_of_text : a text of at most 18 digits as a whole number
    quote : of names; copies : an order for equal rows, where the engine wants one
    fence : behind a subquery whose expressions the engine would otherwise copy to each place that uses them
    """

    name: str
    divide: str
    times: Mapping[Form, str]
    text: str
    trimmed: str
    matches: str
    number_of_text: str
    number: str
    whole_of_text: str
    digest: str
    quote: str = '"'
    copies: str = ""
    fence: str = ""

    def column(self, name: str) -> str:
        """A name of a column, quoted."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def spelt(self, statement: str) -> str:
        """A statement that is written with DuckDB's operator of whole numbers, in this engine's words."""
        return statement.replace(" // ", f" {self.divide} ")


def put(template: str, *expressions: str) -> str:
    """An expression of the table with its columns; braces of regular expressions stay."""
    for position, expression in enumerate(expressions):
        template = template.replace(f"{{{position}}}", expression)
    return template


DUCKDB = Dialect(
    name="DuckDB",
    divide="//",
    times={"local_us": "{0}", "utc_us": "{0}"},  # the columns come in these forms: trip_batches
    text="CAST({0} AS VARCHAR)",
    trimmed="trim({0}, concat(' ', chr(9), chr(13)))",
    matches="regexp_matches({0}, '{1}')",
    number_of_text=f"CASE WHEN regexp_matches({{0}}, '{_NUMBER_TEXT}') THEN TRY_CAST({{0}} AS DOUBLE) END",
    number="{0}",
    whole_of_text="TRY_CAST({0} AS BIGINT)",
    digest="md5({0})",
)

_FINITE_TIME = (
    "CASE WHEN {0} >= {1} '0001-01-01' AND {0} < {1} '9999-12-31' "
    "THEN CAST(floor(extract(epoch FROM {0}) * 1000000) AS BIGINT) "
    f"WHEN {{0}} IS NOT NULL THEN {_NEVER} END"
)
POSTGRESQL = Dialect(
    name="PostgreSQL",
    divide="/",
    # infinite times and those before 1 or after 9999 are on no day; numeric, so that nothing is rounded
    times={"local_us": put(_FINITE_TIME, "{0}", "TIMESTAMP"), "utc_us": put(_FINITE_TIME, "{0}", "TIMESTAMPTZ")},
    # compared by codes: by a collation of the column that does not tell letters apart, a row could have two zones
    text='CAST({0} AS TEXT) COLLATE "C"',
    trimmed="btrim({0}, ' ' || chr(9) || chr(13))",
    matches="{0} ~ '{1}'",
    # texts of this form and numbers of a limited size, with 12 digits behind the point, are within a double
    number_of_text=f"CASE WHEN {{0}} ~ '{_NUMBER_TEXT}' THEN CAST({{0}} AS DOUBLE PRECISION) END",
    number="CASE WHEN {0} BETWEEN -1000 AND 1000 THEN CAST(round(CAST({0} AS NUMERIC), 12) AS DOUBLE PRECISION) END",
    whole_of_text="CAST({0} AS BIGINT)",
    digest='md5({0}) COLLATE "C"',
    fence=" OFFSET 0",
)

SPARK = Dialect(
    name="Spark",
    divide="div",
    # of clock times by parts, which no session's time zone has a part in
    times={
        "local_us": (
            "CASE WHEN {0} >= TIMESTAMP_NTZ '0001-01-01 00:00:00' AND {0} < TIMESTAMP_NTZ '9999-12-31 00:00:00' THEN "
            f"CAST(datediff(CAST({{0}} AS DATE), DATE '1970-01-01') AS BIGINT) * {_DAY_US} "
            f"+ CAST(hour({{0}}) AS BIGINT) * {_HOUR_US} + CAST(minute({{0}}) AS BIGINT) * {_MINUTE_US} "
            f"+ CAST(extract(SECOND FROM {{0}}) * 1000000 AS BIGINT) WHEN {{0}} IS NOT NULL THEN {_NEVER} END"
        ),
        "utc_us": "unix_micros({0})",
    },
    text="CAST({0} AS STRING)",
    trimmed="trim(BOTH concat(' ', char(9), char(13)) FROM {0})",
    matches="{0} RLIKE '{1}'",
    number_of_text=f"CASE WHEN {{0}} RLIKE '{_NUMBER_TEXT}' THEN try_cast({{0}} AS DOUBLE) END",
    number="CAST({0} AS DOUBLE)",
    whole_of_text="try_cast({0} AS BIGINT)",
    digest="md5({0})",
    quote="`",
    copies="ORDER BY day",
)
