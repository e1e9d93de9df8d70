"""What trip files look like, for the curator: PRIVATE numbers by which a wrong column, hour or time zone shows.

Used by dry runs alone. Nothing here enters a history, a release or a decision of the package.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import FormatError
from privroute.history.demand_history import DemandHistory
from privroute.history.trip_columns import TimeReading
from privroute.history.trip_database import UnreadableError, open_database
from privroute.history.trip_files import find_files, sources
from privroute.network.on_earth import point_km
from privroute.network.pairs import free_flow_minutes
from privroute.study.calendar import DAY_US, EPOCH
from privroute.study.weekdays import NAMES

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from privroute.history.period_histories import PeriodHistories
    from privroute.history.trip_rows import TripRows
    from privroute.study.study import Study

__all__ = ["TripProfile", "profile_trips"]

HOURS = 24
_HOUR_US = DAY_US // HOURS
_QUIET_HOURS = 4
_NIGHT = range(-1, 6)  # the quietest hours may begin at 23:00 to 05:00
_FEWEST = 200  # rows from which a profile says anything
_FLAT = 0.5  # the quietest hours have less than this share of an even spread, or the profile says nothing
_SHARE = 0.02
_MIDNIGHT = 0.5
_SLOWEST_KPH, _FASTEST_KPH = 4.0, 120.0
_QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True, slots=True)
class TripProfile:
    """PRIVATE.

    hours : (24,) rows by hour of the clock, near the study's dates and on any weekday; weekdays : (7,) from Monday
    midnight : rows at 00:00:00 exactly
    copies, compared : rows that equal another one in all columns that are read, which are these
    minutes, kilometres : quantiles (10, 50 and 90 %) of counted trips: free-flow time of their pairs, and the straight
        distance between their zones where the network has degrees; None where no trip was counted
    """

    hours: NDArray[np.int64]
    weekdays: NDArray[np.int64]
    midnight: int
    copies: int
    compared: tuple[str, ...]
    minutes: tuple[float, ...] | None
    kilometres: tuple[float, ...] | None

    def doubts(self, study: Study, rows: TripRows) -> list[str]:
        """Sentences about what looks wrong, and what to check."""
        return [
            *_column_doubts(study),
            *_row_doubts(rows),
            *self._time_doubts(study),
            *(self._length_doubts() if study.network.units.on_roads else []),
        ]

    def _time_doubts(self, study: Study) -> list[str]:
        total = int(self.hours.sum())
        if total < _FEWEST:
            return []
        if self.midnight > _MIDNIGHT * total:
            share = f"{100 * self.midnight / total:.0f} %"
            return [f"{share} of the times are exactly midnight: the column may hold dates without a time of day"]
        windows = np.array([np.roll(self.hours, -start)[:_QUIET_HOURS].sum() for start in range(HOURS)])
        quiet = int(windows.argmin())
        if windows[quiet] > _FLAT * total * _QUIET_HOURS / HOURS or quiet in {hour % HOURS for hour in _NIGHT}:
            return []
        shift = (1 - quiet + HOURS // 2) % HOURS - HOURS // 2
        zone = study.calendar.time_zone or "none is set"
        hours = f"{quiet:02d}:00 to {(quiet + _QUIET_HOURS) % HOURS:02d}:00"
        doubt = (
            f"the quietest hours are {hours}, which is unusual: times may be in another time zone, about {shift:+d} "
            f"hours off (time zone: {zone})"
        )
        return [doubt]

    def _length_doubts(self) -> list[str]:
        if self.minutes is None or self.kilometres is None or self.minutes[1] <= 0:
            return []
        kph = self.kilometres[1] / self.minutes[1] * 60
        if _SLOWEST_KPH <= kph <= _FASTEST_KPH:
            return []
        doubt = (
            f"the median trip covers {self.kilometres[1]:.3g} km in {self.minutes[1]:.3g} minutes on empty roads, "
            f"{kph:.3g} km/h: check the units of the network (privroute network check)"
        )
        return [doubt]


def profile_trips(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    study: Study,
    history: DemandHistory | PeriodHistories,
    *,
    memory_mb: int = 512,
    temp_folder: str | os.PathLike[str] | None = None,
) -> TripProfile:
    """Read the files again, also rows of other hours; lengths come from the history."""
    reading = TimeReading(study.calendar, study.trips.time_format, study.trips.epoch_unit)
    hours, weekdays, midnight = np.zeros(HOURS, np.int64), np.zeros(len(NAMES), np.int64), 0
    found = find_files(files, rows_are_trips=study.trips.rows_are_trips)
    roles = study.trips.roles(with_user=True)
    try:
        tables = sources(found, roles)
    except FormatError:  # there need not be users
        roles = study.trips.roles(with_user=False)
        tables = sources(found, roles)
    with open_database(memory_mb, temp_folder) as database:
        database.rows("CREATE TEMP TABLE departures (clock_us BIGINT, same UBIGINT)")
        for source in tables:
            time = reading.column("departure", source.forms["departure"])
            if time is None:  # read_trips has refused the file
                continue
            database.put("trips", source.stream(None))
            times = f"SELECT *, {time.local_us} AS local_us, {time.utc_us} AS utc_us FROM trips"
            others = "".join(f", CAST({role} AS VARCHAR)" for role in source.forms if role != "departure")
            rows = f"SELECT {reading.local_us} AS clock_us, hash(clock_us{others}) AS same FROM ({times})"
            whole = False
            with suppress(UnreadableError):
                database.rows(f"INSERT INTO departures FROM ({rows}) WHERE clock_us >= 0")
                whole = True
            if not whole:
                source.check_whole()  # if it is damaged, read_trips has said so
        answer = database.arrays(
            f"SELECT CAST(clock_us // {_HOUR_US} % {HOURS} AS INTEGER) AS hour, "
            f"CAST((clock_us // {DAY_US} + {EPOCH.weekday()}) % {len(NAMES)} AS INTEGER) AS day, "
            f"clock_us % {DAY_US} = 0 AS sharp, count(*) AS trips FROM departures GROUP BY ALL"
        )
        np.add.at(hours, answer["hour"], answer["trips"])
        np.add.at(weekdays, answer["day"], answer["trips"])
        midnight = int(answer["trips"][answer["sharp"]].sum())
        copies = "SELECT count(*) - 1 AS copies FROM departures GROUP BY same"
        ((again,),) = database.rows(f"SELECT coalesce(CAST(sum(copies) AS BIGINT), 0) FROM ({copies})")
    minutes, kilometres = _lengths(study, history)
    return TripProfile(hours, weekdays, midnight, again, tuple(roles.values()), minutes, kilometres)


def _lengths(
    study: Study, history: DemandHistory | PeriodHistories
) -> tuple[tuple[float, ...] | None, tuple[float, ...] | None]:
    weight = history.counts.sum(axis=0) if isinstance(history, DemandHistory) else history.pair_sums
    if not weight.any():
        return None, None
    network, pairs = study.network, study.pairs
    minutes = _quantiles(free_flow_minutes(network, pairs), weight)
    if network.coordinates is None or not network.has_longitude_latitude:
        return minutes, None
    straight = point_km(network.coordinates[pairs.origin], network.coordinates[pairs.destination])
    return minutes, _quantiles(straight, weight)


def _quantiles(values: NDArray[np.float64], weight: NDArray[np.int64]) -> tuple[float, ...]:
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    return tuple(float(values[order[np.searchsorted(share, quantile)]]) for quantile in _QUANTILES)


def _column_doubts(study: Study) -> list[str]:
    """By the names of columns, which are public."""
    found = []
    for role, given in (("origin", study.trips.origin), ("destination", study.trips.destination)):
        if not isinstance(given, str):
            first, second = (name.lower() for name in given)
            if "lat" in first and ("lon" in second or "lng" in second):
                found.append(
                    f"the columns of the {role} are {given[0]}, {given[1]}, but longitude comes first: swap them"
                )
    return found


def _row_doubts(rows: TripRows) -> list[str]:
    read, found = max(rows.read, 1), []
    if rows.swapped_place > _SHARE * read:
        found.append(
            f"{100 * rows.swapped_place / read:.0f} % of the rows would have a zone with longitude and latitude "
            "swapped: check the order of the columns"
        )
    if rows.unreadable_time > _SHARE * read:
        found.append(
            f"{100 * rows.unreadable_time / read:.0f} % of the rows have no readable time: check the time format"
        )
    if rows.unknown_zone > _SHARE * read:
        found.append(f"{100 * rows.unknown_zone / read:.0f} % of the rows name no zone: check the labels of the zones")
    lost = rows.outside_network + rows.too_far + rows.missing_place
    if lost > _SHARE * read:
        found.append(
            f"{100 * lost / read:.0f} % of the rows have coordinates without a zone: check zones and their distance"
        )
    if rows.outside == rows.read > 0:
        found.append("all rows are outside of the dates, weekdays or hours: check the year and the time zone")
    return found
