"""Trips counted where they live: one SQL text for all engines, of which only counts come back.

The text is made of public settings, of the expressions of `dialects`, and of names. Rows of the table are

1. timed and keyed: microseconds of the departure, zones as they are named or as cells of a raster, the user's id;
2. grouped by day, slot and ends (request level), and only then joined with zones and pairs;
3. at user level joined first, and bounded by keys under a salt (bounding).

What comes back: reason, day, slot, pair and how many. Expressions are checked by the forms of the columns, which come
from the table's schema alone.
"""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import HistoryError, arg
from privroute.history.bounding import Keys, bounded_total, chosen_requests
from privroute.history.dialects import put
from privroute.history.engine_texts import time_steps, user_steps
from privroute.history.trip_columns import day_number, in_period, slot_number, whole
from privroute.history.trip_rows import TripRows
from privroute.history.trip_tally import FIRST_FAULT, REASONS
from privroute.history.trip_texts import SHORT_TEXT
from privroute.study.calendar import DAY_US, EPOCH, SECOND_US

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from privroute.history.dialects import Dialect
    from privroute.history.engine_texts import Step
    from privroute.history.trip_batches import Form
    from privroute.history.trip_columns import TimeReading
    from privroute.history.trip_raster import TripRaster
    from privroute.history.trip_tally import Tally
    from privroute.study.contribution import Contribution

__all__ = ["Engine", "Statements", "count_with", "forms_of"]

_TRIPS_OF_A_ROW = "1"  # what a row adds to its count
_OUTSIDE = 99
_MISSING_PLACE, _TOO_FAR = FIRST_FAULT + 4, FIRST_FAULT + 1
_DEGREES_TEXT = " *[-+]?[0-9]{1,12}([.][0-9]{0,20})? *"  # within a double, and cast by all engines alike
_LARGEST_DEGREE = 1000
_ENDS = ("origin", "destination")
_HOUR_US = 3600 * SECOND_US


@dataclass(frozen=True, slots=True)
class Engine:
    """A table of trips on a server.

    name : of the table, for messages; dialect, forms : its SQL, and the forms of the columns of the roles
    ask : runs a statement, in which {trips}, {zones}, {cells}, {pairs} and {salt} stand for tables; an Arrow table
    """

    name: str
    dialect: Dialect
    forms: Mapping[str, Form]
    ask: Callable[[str], Any]

    def arrays(self, statement: str) -> dict[str, Any]:
        """The columns of an answer, whole numbers, -1 where there is none."""
        found = None
        with suppress(Exception):  # whatever it is, it may quote rows
            found = self.ask(statement)
        if found is None:
            raise HistoryError(
                f"{self.name}: the engine stopped before all rows were counted. Its message is not shown, because it "
                "may quote a row; see its own log"
            )
        return {name: found[name].fill_null(-1).to_numpy().astype(np.int64) for name in found.column_names}


def forms_of(name: str, columns: Mapping[str, str], kinds: Sequence[tuple[str, Form | None]]) -> dict[str, Form]:
    """The form of each role's column, by its type; a matter of the schema."""
    forms: dict[str, Form] = {}
    for role, column in columns.items():
        found = [form for other, form in kinds if other == column]
        if len(found) != 1:
            many = "no column" if not found else "more than one column"
            raise HistoryError(f"{name}: there is {many} {column!r} for {role}")
        if found[0] is None:
            raise HistoryError(
                f"{name}: the column {column!r} for {role} has a type that holds no numbers, texts or times"
            )
        forms[role] = found[0]
    return forms


@dataclass(frozen=True, slots=True)
class Statements:
    """The texts, of public settings alone.

    columns : {role: name of the column}; longest_zone : characters; longer texts are no zones
    """

    dialect: Dialect
    forms: Mapping[str, Form]
    columns: Mapping[str, str]
    reading: TimeReading
    contribution: Contribution | None
    raster: TripRaster | None
    name: str
    longest_zone: int

    def all_rows(self) -> str:
        """What becomes of every row before contributions are bounded: reason, day, slot, pair, trips.

        Rows that are outside are missing, or have the reason _OUTSIDE.
        """
        nobody = "FALSE" if self.contribution is None else "user_id IS NULL"
        keys = [key for role in _ENDS for key in self._keys(role)]
        within = [f"CASE WHEN state = 0 THEN {key} END AS {key}" for key in ("day", "slot", *keys)]
        known = "" if self.dialect.copies_into_filters else f" WHERE state < {_OUTSIDE}"
        dated = (
            f"SELECT state, {', '.join(within)}, CASE WHEN state = 0 AND {nobody} THEN 1 ELSE 0 END AS nobody "
            f"FROM ({self._dated()}) AS dated{known}{self.dialect.fence}"
        )
        by = ", ".join(("state", "nobody", "day", "slot", *keys))
        grouped = f"SELECT {by}, CAST(sum({_TRIPS_OF_A_ROW}) AS BIGINT) AS trips FROM ({dated}) AS d GROUP BY {by}"
        joins = " ".join(self._join(role, "g") for role in _ENDS)
        nodes = ", ".join(f"z_{role}.node AS {role}_node" for role in _ENDS)
        located = f"SELECT g.*, {nodes} FROM ({grouped}) AS g {joins}"
        reasoned = (
            f"SELECT {self._reason()} AS reason, l.day, l.slot, p.pair, l.trips FROM ({located}) AS l "
            "LEFT JOIN {pairs} AS p ON p.origin = l.origin_node AND p.destination = l.destination_node"
        )
        shown = ", ".join(f"CASE WHEN reason = 0 THEN {key} END AS {key}" for key in ("day", "slot", "pair"))
        final = f"SELECT reason, {shown}, trips FROM ({reasoned}) AS r"
        return self._spelt(
            f"SELECT reason, day, slot, pair, CAST(sum(trips) AS BIGINT) AS trips FROM ({final}) AS f "
            "GROUP BY reason, day, slot, pair"
        )

    def kept(self) -> str:
        """Day, slot, pair and trips of the requests that are kept of each user; those that are not kept have none."""
        chosen = chosen_requests(self._usable(), self._bounds, self._salted())
        shown = ", ".join(f"CASE WHEN kept THEN {key} END AS {key}" for key in ("day", "slot", "pair"))
        return self._spelt(
            f"SELECT day, slot, pair, CAST(sum({_TRIPS_OF_A_ROW}) AS BIGINT) AS trips "
            f"FROM (SELECT {shown} FROM ({chosen}) AS chosen) AS shown GROUP BY day, slot, pair"
        )

    def total(self) -> str:
        """Slot and requests that count for a measured total."""
        return self._spelt(bounded_total(self._usable(), self._bounds, self._salted()))

    @property
    def _bounds(self) -> Contribution:
        if self.contribution is None:
            raise HistoryError("there are no bounds at request level")
        return self.contribution

    def _spelt(self, statement: str) -> str:
        return self.dialect.spelt(statement)

    def _salted(self) -> Keys:
        text = self.dialect.text
        parts = [put(text, name) for name in ("clock_us", "pair", "copy")]
        salted = " || '/' || ".join(("(SELECT s.salt FROM {salt} AS s)", *parts, "user_id"))
        return Keys(put(self.dialect.digest, salted), self.dialect.copies)

    def _usable(self) -> str:
        """The requests that count, with their users."""
        joins = " ".join(self._join(role, "r", "JOIN") for role in _ENDS)
        nodes = " AND ".join(f"p.{role} = z_{role}.node" for role in _ENDS)
        return (
            f"(SELECT r.user_id, r.clock_us, r.day, r.slot, p.pair FROM ({self._dated()}) AS r {joins} "
            f"JOIN {{pairs}} AS p ON {nodes} WHERE r.state = 0 AND r.user_id IS NOT NULL)"
        )

    def _dated(self) -> str:
        """Rows with their clock time, and 0 where it is in a period, 1 where there is none, else _OUTSIDE."""
        days, fence = self.reading.calendar, self.dialect.fence
        clocked = f"SELECT t.*, {self.reading.local_us} AS clock_us FROM ({self._timed()}) AS t{fence}"
        state = (
            f"CASE WHEN {in_period(days)} THEN 0 WHEN local_us IS NULL AND utc_us IS NULL THEN 1 ELSE {_OUTSIDE} END"
        )
        return (
            f"SELECT c.*, {state} AS state, {day_number(days)} AS day, CAST({slot_number(days)} AS INTEGER) AS slot "
            f"FROM ({clocked}) AS c{fence}"
        )

    def _timed(self) -> str:
        """Rows with local_us, utc_us, the keys of both ends, and user_id."""
        time, time_steps = self._time()
        user, user_steps = ({}, []) if self.contribution is None else self._user()
        shown = [f"{expression} AS {name}" for name, expression in (*time.items(), *user.items())]
        shown += [end for role in _ENDS for end in self._end(role)]
        rows = f"SELECT {', '.join(shown)} FROM {{trips}} AS trips{self._near()}{self.dialect.fence}"
        nothing: Step = {}
        for step in zip_longest(time_steps, user_steps, fillvalue=nothing):
            made = "".join(f", {expression} AS {name}" for each in step for name, expression in each.items())
            rows = f"SELECT s.*{made} FROM ({rows}) AS s{self.dialect.fence}"
        return rows

    def _near(self) -> str:
        """A condition that the engine decides at once, and that leaves out only rows outside of all periods."""
        form = self.forms["departure"]
        if form not in self.dialect.near or self.reading.epoch_unit is not None:
            return ""
        name = self._column("departure")
        near = put(self.dialect.near[form], name, *self._around(form), self._times_of_day(name, form))
        return f" WHERE {name} IS NULL OR ({near})"

    def _around(self, form: Form) -> tuple[str, str]:
        """From when to when all periods are: texts of clock times, or seconds since 1970."""
        low, high = (us // SECOND_US for us in self.reading.calendar.around_us)
        if form == "utc_us":
            return f"{low}", f"{high + 1}"
        midnight = dt.datetime.combine(EPOCH, dt.time())
        return f"{midnight + dt.timedelta(seconds=low)}", f"{midnight + dt.timedelta(seconds=high + 1)}"

    def _times_of_day(self, name: str, form: Form) -> str:
        hours = self.reading.hours(form)
        if hours is None:
            return "TRUE"
        parts = []
        for start in hours.starts:
            end = start + hours.length
            parts += [(start, min(end, DAY_US))] + ([(0, end - DAY_US)] if end > DAY_US else [])
        conditions = []
        for start, end in parts:
            of_part = ", ".join(map(str, range(start // _HOUR_US, (end - 1) // _HOUR_US + 1)))
            conditions.append(put(self.dialect.time_of_day[form], name, f"{start}", f"{end - 1}", of_part))
        return " OR ".join(conditions)

    def _time(self) -> tuple[Step, list[Step]]:
        """Columns made of the table's own, and steps from them to local_us and utc_us."""
        name, form = self._column("departure"), self.forms["departure"]
        if form in self.dialect.times and self.reading.epoch_unit is None:
            none, found_us = "CAST(NULL AS BIGINT)", put(self.dialect.times[form], name)
            if form == "local_us":
                return {"local_us": found_us, "utc_us": none}, []
            if self.reading.calendar.time_zone is None:
                raise self._unusable(
                    "departure",
                    f"such times need {arg('tz')}, the time zone of period and dates, such as Europe/Berlin",
                )
            return {"local_us": none, "utc_us": found_us}, []
        if form == "text" and self.reading.epoch_unit is None and self.reading.time_format is None:
            text = put(self.dialect.trimmed, self._short(name, SHORT_TEXT))
            with_offset = self.reading.calendar.time_zone is not None
            return {"time_text": text}, time_steps(self.dialect, "time_text", with_offset=with_offset)
        # products of narrower numbers would overflow
        found = self.reading.column(f"CAST({name} AS BIGINT)", form) if form == "integer" else None
        if found is None:
            raise self._unusable(
                "departure",
                "name a column of times, of texts like 2026-03-02 07:15:00, or of whole numbers with "
                f"{arg('epoch_unit')}. {arg('time_format')} is for files",
            )
        return {"local_us": found.local_us, "utc_us": found.utc_us}, []

    def _keys(self, role: str) -> tuple[str, ...]:
        return (role,) if role in self.columns else (f"{role}_x", f"{role}_y")

    def _end(self, role: str) -> list[str]:
        if role not in self.columns:
            if self.raster is None:
                raise HistoryError("coordinates need a raster")
            degrees = [(self._degrees(f"{role}_lon"), "x"), (self._degrees(f"{role}_lat"), "y")]
            cell = "CAST(floor({0} * {1}) AS BIGINT) AS {2}"
            return [put(cell, degree, f"{self.raster.per_degree}", f"{role}_{axis}") for degree, axis in degrees]
        name, form = self._column(role), self.forms[role]
        if form == "integer":
            return [f"{name} AS {role}"]
        if form == "number":
            return [f"{self._whole(name)} AS {role}"]
        if form == "text":
            return [f"{self._short(name, self.longest_zone)} AS {role}"]
        raise self._unusable(role, "name a column of zones, as whole numbers or texts")

    def _degrees(self, role: str) -> str:
        name, form = self._column(role), self.forms[role]
        number = {"integer": self.dialect.number, "number": self.dialect.number, "text": self.dialect.number_of_text}
        if form not in number:
            raise self._unusable(role, "name columns of degrees")
        if form == "text":
            text = self._short(name, SHORT_TEXT)
            degree = f"(CASE WHEN {put(self.dialect.matches, text, _DEGREES_TEXT)} THEN {put(number[form], text)} END)"
        else:
            degree = f"({put(number[form], name)})"
        return f"CASE WHEN {degree} BETWEEN -{_LARGEST_DEGREE} AND {_LARGEST_DEGREE} THEN {degree} END"

    def _user(self) -> tuple[Step, list[Step]]:
        """Columns made of the table's own, and steps from them to user_id, which is NULL where it is missing."""
        name, form = self._column("user_id"), self.forms["user_id"]
        if form == "integer":
            return {"user_id": put(self.dialect.text, name)}, []
        if form == "number":
            return {"user_id": put(self.dialect.text, self._whole(name))}, []
        if form != "text":
            raise self._unusable("user_id", "name a column of ids, as whole numbers or texts")
        long_id = put(self.dialect.long_id, f"({put(self.dialect.text, name)})")
        text = f"coalesce({self._short(name, SHORT_TEXT)}, {long_id})"
        return {"user_text": text}, user_steps(self.dialect, "user_text")

    def _whole(self, name: str) -> str:
        """A fraction as a whole number, as a double: decimals are compared in too many ways."""
        return whole(f"({put(self.dialect.number, name)})")

    def _short(self, name: str, longest: int) -> str:
        """A text, NULL where it is long: to search or to copy it could need more memory than an engine gives."""
        text = f"({put(self.dialect.text, name)})"
        return f"(CASE WHEN length({text}) <= {longest} THEN {text} END)"

    def _join(self, role: str, rows: str, kind: str = "LEFT JOIN") -> str:
        if role not in self.columns:
            return f"{kind} {{cells}} AS z_{role} ON z_{role}.x = {rows}.{role}_x AND z_{role}.y = {rows}.{role}_y"
        if self.forms[role] != "text":
            return f"{kind} {{zones}} AS z_{role} ON z_{role}.number = {rows}.{role}"
        # trimmed only here: after rows are grouped there are fewer texts
        return f"{kind} {{zones}} AS z_{role} ON z_{role}.label = {put(self.dialect.trimmed, f'{rows}.{role}')}"

    def _reason(self) -> str:
        """The position in REASONS, or _OUTSIDE."""
        cases = [f"WHEN l.state <> 0 THEN l.state WHEN l.nobody = 1 THEN {REASONS.index('missing_user')}"]
        for code, lost in ((_MISSING_PLACE, "l.{0}_x IS NULL OR l.{0}_y IS NULL"), (_TOO_FAR, "l.{0}_node IS NULL")):
            cases += [f"WHEN {put(lost, role)} THEN {code}" for role in _ENDS if role not in self.columns]
        unknown = " OR ".join(f"l.{role}_node IS NULL" for role in _ENDS)
        return (
            f"CASE {' '.join(cases)} WHEN {unknown} THEN 3 WHEN l.origin_node = l.destination_node THEN 4 "
            "WHEN p.pair IS NULL THEN 5 ELSE 0 END"
        )

    def _column(self, role: str) -> str:
        return f"trips.{self.dialect.column(self.columns[role])}"

    def _unusable(self, role: str, advice: str) -> HistoryError:
        return HistoryError(
            f"{self.name}: the column {self.columns[role]!r} for {role} has a type by which {self.dialect.name} cannot "
            f"count trips; {advice}"
        )


def count_with(engine: Engine, statements: Statements, tally: Tally) -> TripRows:
    """Run the statements and sum up what comes back."""
    rows = engine.arrays(statements.all_rows())
    known = rows["reason"] < _OUTSIDE
    rows = {name: column[known] for name, column in rows.items()}
    outside = int(engine.arrays("SELECT count(*) AS n FROM {trips} AS t")["n"][0]) - int(rows["trips"].sum())
    bounds = statements.contribution
    above_bounds = 0
    if bounds is not None:
        # one statement bounds and counts, also what the caller asserts to be bounded: between two the table may change
        chosen = engine.arrays(statements.kept())
        kept = chosen["pair"] >= 0
        above_bounds = int(chosen["trips"][~kept].sum())
        tally.add(chosen["trips"][kept] * 0, **{name: column[kept] for name, column in chosen.items()})
        rows = {name: column[rows["reason"] != 0] for name, column in rows.items()}
        if bounds.max_for_total is not None:
            tally.add_requests(**engine.arrays(statements.total()))
    tally.add(**rows)
    named = dict(zip(REASONS, tally.reasons.tolist(), strict=True)) | {"above_bounds": above_bounds}
    return TripRows(**named, outside=outside, pre_bounded=bounds is not None and bounds.pre_bounded)
