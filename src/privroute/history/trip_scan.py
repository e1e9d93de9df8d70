"""Trips of files, counted by DuckDB: the statements, and what became of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privroute.errors import FormatError, arg
from privroute.history.bounding import bounded_total, exceeding, kept_requests
from privroute.history.trip_columns import (
    coordinate,
    day_number,
    in_period,
    slot_number,
    user_key,
    weight_units,
    zone_key,
)
from privroute.history.trip_database import UnreadableError
from privroute.history.trip_files import COLUMN_ADVICE, sources
from privroute.history.trip_rows import TripRows
from privroute.history.trip_tally import FIRST_FAULT, REASONS, UNREADABLE_WEIGHT
from privroute.progress import polled

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from privroute.history.duckdb_tables import DuckDBTable
    from privroute.history.trip_columns import TimeReading
    from privroute.history.trip_database import Database
    from privroute.history.trip_files import Source
    from privroute.history.trip_tally import Tally
    from privroute.progress import Progress
    from privroute.study.contribution import Contribution

__all__ = ["FileScan"]


@dataclass(frozen=True, slots=True)
class _End:
    """SQL of one end of the trips: its key, what to join, the node, and the fault if any."""

    key: str
    join: str
    node: str
    fault: str = "0"


class FileScan:
    """The statements that count trips of files, and what they need to know; all of it public but the files."""

    def __init__(
        self,
        database: Database,
        reading: TimeReading,
        contribution: Contribution | None,
        roles: Mapping[str, str],
        longest_zone: int,
        weight_unit: float,
    ) -> None:
        self.database = database
        self.reading = reading
        self.contribution = contribution
        self.roles = roles
        self.longest_zone = longest_zone
        self.weight_unit = weight_unit
        self.of_users = contribution is not None and contribution.of_users
        self.max_weight = None if contribution is None else contribution.max_weight

    def files(self, paths: list[Path | DuckDBTable], tally: Tally, *, progress: Progress | None) -> TripRows:
        """Sum up the rows; every file is read once. Returns what became of each row."""
        tables = sources(paths, self.roles, self.longest_zone)
        located = " UNION ALL ".join(self._located(source, f"trips{at}") for at, source in enumerate(tables))
        for at, source in enumerate(tables):
            self.database.put(f"trips{at}", source.stream(self.reading.hours(source.forms["departure"])))
        with polled("Reading trips", lambda: _share(tables), progress):
            try:
                return self._count(located, tables, tally)
            except UnreadableError:
                pass
        for source in tables:
            source.check_whole()
        damaged = next((source.unreadable for source in tables if source.unreadable), paths[0])
        raise FormatError(damaged, "cannot be read to its end; it is damaged")

    def _count(self, located: str, tables: list[Source], tally: Tally) -> TripRows:
        requests = (
            f"SELECT l.* EXCLUDE (origin, destination, fault), pair, {self._reason()} AS reason FROM ({located}) l "
            "LEFT JOIN pairs p ON p.origin = l.origin AND p.destination = l.destination"
        )
        above_bounds = 0
        weighed = self.max_weight is not None
        if self.contribution is None or not self.of_users:
            # summed up here and not by DuckDB, which would hash what is an index
            slot = ", slot" if self.reading.calendar.has_slots else ""
            slot += ", coalesce(weight, 0) AS weight" if weighed else ""
            for rows in self.database.batches(f"SELECT reason, day, pair{slot} FROM ({requests})"):
                tally.add(**rows)
        else:
            self.database.rows(f"CREATE OR REPLACE TEMP TABLE requests AS {requests}")
            usable = "(SELECT * FROM requests WHERE reason = 0)"
            # files that are within the bounds, as the caller asserts, need no choice: all of their requests are kept
            within = (
                self.contribution.pre_bounded and not self.database.rows(exceeding(usable, self.contribution))[0][0]
            )
            chosen = f"(SELECT day, slot, pair FROM {usable})" if within else kept_requests(usable, self.contribution)
            shown, none = (", weight", ", 0 AS weight") if weighed else ("", "")
            kept = f"SELECT 0 AS reason, day, slot, pair{shown} FROM ({chosen})"
            dropped = f"SELECT reason, -1 AS day, 0 AS slot, -1 AS pair{none} FROM requests WHERE reason > 0"
            sums = "reason, day, slot, pair, CAST(sum(weight) AS BIGINT) AS weight" if weighed else "*"
            tally.add(
                **self.database.arrays(
                    f"SELECT {sums}, count(*) AS trips FROM ({kept} UNION ALL {dropped}) GROUP BY ALL"
                )
            )
            above_bounds = self.database.rows("SELECT count(*) FROM requests")[0][0] - int(tally.reasons.sum())
            if self.contribution.max_for_total is not None:
                tally.add_requests(**self.database.arrays(bounded_total(usable, self.contribution)))
        named = dict(zip(REASONS, tally.reasons.tolist(), strict=True)) | {"above_bounds": above_bounds}
        outside = sum(source.read for source in tables) - sum(named.values())
        malformed = sum(source.malformed for source in tables)
        pre_bounded = self.contribution is not None and self.contribution.pre_bounded
        return TripRows(**named, malformed=malformed, outside=outside, pre_bounded=pre_bounded)

    def _reason(self) -> str:
        """SQL of the position in REASONS."""
        missing_user = "user_id IS NULL" if self.of_users else "FALSE"
        unreadable = "" if self.max_weight is None else f"WHEN weight IS NULL THEN {UNREADABLE_WEIGHT} "
        return (
            f"CASE WHEN day IS NULL THEN 1 WHEN {missing_user} THEN 2 "
            f"WHEN l.fault < 0 THEN {FIRST_FAULT} - l.fault WHEN l.origin IS NULL OR l.destination IS NULL THEN 3 "
            f"WHEN l.origin = l.destination THEN 4 WHEN pair IS NULL THEN 5 {unreadable}ELSE 0 END"
        )

    def _located(self, source: Source, table: str) -> str:
        """SQL of the period's requests: day, ends as nodes (NULL where unknown); for users also id and time.

        Rows without a readable time are there too, with a day of NULL; those outside the period are not.
        """
        days = self.reading.calendar
        time = self.reading.column("departure", source.forms["departure"])
        if time is None:
            raise _unusable(source, "departure", self.reading)
        ends = [self._end(source, role) for role in ("origin", "destination")]
        shown = [f"{day_number(days)} AS day", f"{slot_number(days)} AS slot", *(end.key for end in ends)]
        if self.max_weight is not None:
            weight = weight_units("weight", source.forms["weight"], self.weight_unit, self.max_weight)
            if weight is None:
                raise _unusable(source, "weight", self.reading)
            shown.append(f"{weight} AS weight")
        if self.of_users:
            key = user_key("user_id", source.forms["user_id"])
            if key is None:
                raise _unusable(source, "user_id", self.reading)
            shown += [f"{key} AS user_id", "clock_us"]
        times = f"{time.local_us} AS local_us, {time.utc_us} AS utc_us"
        rows = (  # keys are made of the rows that are left only
            f"SELECT {', '.join(shown)} FROM (SELECT *, {self.reading.local_us} AS clock_us FROM "
            f"(SELECT *, {times} FROM {table})) "
            f"WHERE {in_period(days)} OR (local_us IS NULL AND utc_us IS NULL)"
        )
        joins = " ".join(end.join for end in ends)
        extra = ", r.user_id, r.clock_us" if self.of_users else ""
        extra += "" if self.max_weight is None else ", r.weight"
        fault = f"least({ends[0].fault}, {ends[1].fault})"
        nodes = f"{ends[0].node} AS origin, {ends[1].node} AS destination, {fault} AS fault"
        return f"SELECT r.day, r.slot, {nodes}{extra} FROM ({rows}) r {joins}"

    def _end(self, source: Source, role: str) -> _End:
        """Zones are joined by number or label; coordinates become nodes row by row."""
        if role in source.forms:
            key = zone_key(role, source.forms[role])
            if key is None:
                raise _unusable(source, role, self.reading)
            sql, column = key
            return _End(
                f"{sql} AS {role}",
                f"LEFT JOIN zones z_{role} ON z_{role}.{column} = r.{role}",
                f"z_{role}.node",
            )
        degrees = []
        for name in (f"{role}_lon", f"{role}_lat"):
            number = coordinate(name, source.forms[name])
            if number is None:
                raise _unusable(source, name, self.reading)
            degrees.append(number)
        node = f"CASE WHEN r.{role} >= 0 THEN r.{role} END"
        return _End(f"nearest_zone({', '.join(degrees)}) AS {role}", "", node, f"least(r.{role}, 0)")


def _share(tables: list[Source]) -> float:
    """Of the files' bytes, how much has been read."""
    return sum(source.bytes_done for source in tables) / max(1, sum(source.bytes for source in tables))


def _unusable(source: Source, role: str, reading: TimeReading) -> FormatError:
    """The form of a column cannot be what it is said to be: a matter of the whole file."""
    form = source.forms[role]
    advice = COLUMN_ADVICE[role]
    if role == "departure" and form == "utc_us":
        advice = f"such times need {arg('tz')}, the time zone of period and dates, such as Europe/Berlin"
    if role == "departure" and reading.epoch_unit is not None:
        advice = f"with {arg('epoch_unit')} departure times are numbers"
    return FormatError(source.files[0].path, f"the column for {role} holds {_FORM_WORDS[form]}; {advice}")


_FORM_WORDS = {
    "integer": "whole numbers",
    "number": "fractions",
    "text": "texts",
    "local_us": "times without an offset",
    "utc_us": "times with an offset from UTC",
}
