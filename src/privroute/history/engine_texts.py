"""Texts of tables in engines, as SQL: times like 2026-03-02 07:15:00 and ids of users, by the rules for files.

An expression here is made of functions that DuckDB, PostgreSQL and Spark have under one name. A text is compared with a
pattern as a whole before any part of it becomes a number, so none of them fails on any text. Expressions come in steps:
each step may use the columns of those before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privroute.history.dialects import put
from privroute.history.trip_columns import MISSING_USERS, OFFSET_TEXT, TIME_TEXT
from privroute.history.trip_database import literal

if TYPE_CHECKING:
    from privroute.history.dialects import Dialect

__all__ = ["Step", "time_steps", "user_steps"]

Step = dict[str, str]
"""{name of a column: its SQL}."""

_SECOND_US = 1_000_000
_HEX = "[0-9a-f]"
_UUID_DIGITS = f"({_HEX}{{32}}|{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}})"
_UUID_TEXT = f"(urn:uuid:)?({_UUID_DIGITS}|[{{]{_UUID_DIGITS}[}}])"
_UUID_SIGNS = ("urn:uuid:", "{", "}", "-")
_UUID_PARTS = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
_NUMBER_TEXT = "[+-]?[0-9]+([.]0*)?"
_MOST_DIGITS = 40
_UUID_LENGTH = 32


def time_steps(dialect: Dialect, text: str, *, with_offset: bool) -> list[Step]:
    """Steps to local_us and utc_us of a text without blanks around it; NULL where it is no time.

    with_offset : whether times that say their distance from UTC are read
    """

    def whole(part: str) -> str:
        return put(dialect.whole_of_text, part)

    pattern = f"{TIME_TEXT}({OFFSET_TEXT})?" if with_offset else TIME_TEXT
    matched = put(dialect.matches, text, pattern)
    rest = f"replace(replace(substr({text}, 12), ' ', ''), 'Z', '+00')"
    clock = "split_part(split_part(time_rest, '+', 1), '-', 1)"
    padded = f"CASE WHEN substr(time_rest, 2, 1) = ':' THEN '0' ELSE '' END || {clock}"
    micros = "substr(substr(time_clock, 10) || '000000', 1, 6)"
    of_day = (
        f"({whole('substr(time_clock, 1, 2)')} * 3600 + {whole('substr(time_clock, 4, 2)')} * 60 "
        f"+ {whole(_or_zero('substr(time_clock, 7, 2)'))}) * {_SECOND_US} + {whole(micros)}"
    )
    ahead = (
        f"(CASE WHEN time_offset LIKE '-%' THEN -60 ELSE 60 END * {_SECOND_US}) * "
        f"({whole('substr(time_offset, 2, 2)')} * 60 + {whole(_or_zero('substr(time_offset, 4, 2)'))})"
    )
    numbers = {
        "time_year": whole("substr(time_date, 1, 4)"),
        "time_month": whole("substr(time_date, 6, 2)"),
        "time_day": whole("substr(time_date, 9, 2)"),
        "time_of_day": of_day,
        "time_ahead": f"CASE WHEN time_offset <> '' THEN {ahead} END",
    }
    time_us = f"CASE WHEN time_day <= {_LAST_DAY} THEN {_days('time_year', 'time_month', 'time_day')} * 86400"
    time_us += f" * {_SECOND_US} + time_of_day END"
    return [
        {
            "time_date": f"CASE WHEN {matched} THEN substr({text}, 1, 10) END",
            "time_rest": f"CASE WHEN {matched} THEN {rest} END",
        },
        {"time_clock": padded, "time_offset": f"replace(substr(time_rest, length({clock}) + 1), ':', '')"},
        numbers,
        {"time_us": time_us},
        {
            "local_us": "CASE WHEN time_ahead IS NULL THEN time_us END",
            "utc_us": "CASE WHEN time_ahead IS NOT NULL THEN time_us - time_ahead END",
        },
    ]


_LAST_DAY = (  # of a month
    "CASE WHEN time_month <> 2 THEN 30 + (time_month + time_month // 8) % 2 "
    "WHEN time_year % 4 = 0 AND (time_year % 100 <> 0 OR time_year % 400 = 0) THEN 29 ELSE 28 END"
)


def _days(year: str, month: str, day: str) -> str:
    """Days since 1970 of a date from the year 0 on. Years begin in March here: a leap day is the last of its year."""
    years = f"({year} + 400 - CASE WHEN {month} <= 2 THEN 1 ELSE 0 END)"
    leap = f"{years} // 4 - {years} // 100 + {years} // 400"
    return f"({years} * 365 + {leap} + (({month} + 9) % 12 * 153 + 2) // 5 + {day} - {_DAYS_TO_1970})"


_DAYS_TO_1970 = 865_566  # by the same sum


def _or_zero(digits: str) -> str:
    """Digits, 0 where there are none."""
    return f"('0' || {digits})"


def user_steps(dialect: Dialect, text: str) -> list[Step]:
    """Steps to user_id, the canonical id of a text, NULL where it is missing: as core/user_ids.hpp, no exponents."""
    missing = ", ".join(literal(word) for word in MISSING_USERS)
    digits = "user_small"
    for sign in _UUID_SIGNS:
        digits = f"replace({digits}, {literal(sign)}, '')"
    uuid = " || '-' || ".join(f"substr(user_uuid, {start}, {length})" for start, length in _UUID_PARTS)
    whole = "split_part(replace(replace(user_small, '+', ''), '-', ''), '.', 1)"
    minus = "CASE WHEN user_small LIKE '-%' AND user_digits <> '' THEN '-' ELSE '' END"
    number = f"{minus} || CASE WHEN user_digits = '' THEN '0' ELSE user_digits END"
    is_uuid, is_number = (put(dialect.matches, "user_small", each) for each in (_UUID_TEXT, _NUMBER_TEXT))
    return [
        {"user_bare": put(dialect.bare, text)},
        {"user_small": "lower(user_bare)"},
        {
            "user_hex": f"CASE WHEN {is_uuid} THEN {digits} END",
            "user_digits": f"CASE WHEN {is_number} THEN trim(LEADING '0' FROM {whole}) END",
        },
        {  # as it is when these digits are spelt plainly
            "user_uuid": "CASE WHEN user_hex IS NOT NULL THEN user_hex "
            f"WHEN length(user_digits) = {_UUID_LENGTH} AND user_small NOT LIKE '-%' THEN user_digits END"
        },
        {
            "user_id": f"CASE WHEN user_small IN ({missing}) THEN NULL WHEN user_uuid IS NOT NULL THEN {uuid} "
            f"WHEN length(user_digits) <= {_MOST_DIGITS} THEN {number} ELSE user_bare END"
        },
    ]
