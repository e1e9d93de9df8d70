"""The SQL of PostgreSQL and Spark, as a table of the few expressions in which they differ.

Everything else is one text: `engine_counts`. Each expression holds for every value that a column of its type can have:
none of them fails, so no row can stop the reading or be quoted in a message (docs/proofs/row-locality.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privroute.history.trip_batches import Form

__all__ = ["POSTGRESQL", "POSTGRESQL_ASCII", "SPARK", "Dialect", "put"]

_DAY_US = 86_400_000_000
_HOUR_US = 3_600_000_000
_MINUTE_US = 60_000_000
_NEVER = -(2**62)  # a time on no day of a study
_BLANKS = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200C))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_ASCII_BLANKS = "\t\n\v\f\r "


@dataclass(frozen=True, slots=True)
class Dialect:
    """Expressions of an engine; {0} stands for a column or an expression, to be put in by `put`.

    divide : the operator of whole numbers; times : {form: microseconds since 1970 of a column of times}
    text : as a text; trimmed : without blanks, tabs and carriage returns at its ends
    bare : without any white space of Unicode at its ends, as core/user_ids.hpp has it but for NUL
    matches : whether a text as a whole, line ends included, matches a regular expression {1}, which has no backslash
    number_of_text : a text of digits with a point as a double; number : a number as a double, NULL where it is huge
    digest : MD5 of a text in hexadecimal digits, which compare by their codes
    long_id : what stands for a long id of a user: SHA-256 with a tag, so that it is neither a number nor a UUID
    whole_of_text : a text of at most 18 digits as a whole number
    quote : of names; copies : an order for equal rows, where the engine wants one
    fence : behind a subquery whose expressions the engine would otherwise copy to each place that uses them
    copies_into_filters : whether it copies them into filters in spite of all fences; rows outside of all periods are
        then no filter's matter but a group of their own
    near : {form: whether a time is from {1} to before {2}, and at the times of day {3}}, by the column itself: true of
        every time within a period, so that the exact condition, which is dear, is for few rows; clock times are
        written with {1} and {2} as texts, instants as seconds
    time_of_day : {form: whether a time is from microsecond {1} to {2} of its day, {3} the hours that these have}
    """

    name: str
    divide: str
    times: Mapping[Form, str]
    text: str
    trimmed: str
    bare: str
    matches: str
    number_of_text: str
    number: str
    whole_of_text: str
    digest: str
    long_id: str
    quote: str = '"'
    copies: str = ""
    fence: str = ""
    copies_into_filters: bool = False
    near: Mapping[Form, str] = field(default_factory=dict)
    time_of_day: Mapping[Form, str] = field(default_factory=dict)

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
    bare=f"btrim({{0}}, '{_BLANKS}')",
    matches="{0} ~ '^({1})$'",
    number_of_text="CAST({0} AS DOUBLE PRECISION)",
    # a long decimal next to 0 is not within a double, and the cast would fail
    number=(
        "CASE WHEN {0} BETWEEN -1e17 AND 1e17 THEN CASE WHEN {0} BETWEEN -1e-300 AND 1e-300 "
        "THEN CAST(sign({0}) * 1e-300 AS DOUBLE PRECISION) ELSE CAST({0} AS DOUBLE PRECISION) END END"
    ),
    whole_of_text="CAST({0} AS BIGINT)",
    digest='md5({0}) COLLATE "C"',
    # the bytes as they are stored: none is converted, so that no text of the database stops it
    long_id="('sha256:' || encode(sha256(convert_to({0}, getdatabaseencoding())), 'hex')) COLLATE \"C\"",
    fence=" OFFSET 0",
)

POSTGRESQL_ASCII = replace(POSTGRESQL, bare=f"btrim({{0}}, '{_ASCII_BLANKS}')")
"""For a server whose encoding does not have all blanks of Unicode."""

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
    bare=f"trim(BOTH '{_BLANKS}' FROM try_validate_utf8({{0}}))",  # else it takes parts of characters for blanks
    matches="{0} RLIKE '^({1})(?!(?s:.))'",  # Java's $ would also match before a line end at the end
    number_of_text="try_cast({0} AS DOUBLE)",
    number="CAST({0} AS DOUBLE)",
    whole_of_text="try_cast({0} AS BIGINT)",
    digest="md5({0})",
    long_id="concat('sha256:', sha2({0}, 256))",
    quote="`",
    copies="ORDER BY day",
    copies_into_filters=True,
    near={
        "local_us": "{0} >= TIMESTAMP_NTZ '{1}' AND {0} < TIMESTAMP_NTZ '{2}' AND ({3})",
        "utc_us": "{0} >= timestamp_seconds({1}) AND {0} < timestamp_seconds({2}) AND ({3})",
    },
    # hour() of an instant would go by the session's clock
    time_of_day={
        "local_us": "hour({0}) IN ({3})",
        "utc_us": f"pmod(unix_micros({{0}}), {_DAY_US}) BETWEEN {{1}} AND {{2}}",
    },
)
