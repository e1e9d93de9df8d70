"""From files or tables of trips to a history: operation periods on the days of a public range."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from privroute.errors import HistoryError, arg
from privroute.history.bounding import new_salt
from privroute.history.engine_counts import Statements, count_with
from privroute.history.kept_set import check_kept_set
from privroute.history.nearest_zone import NearestZone
from privroute.history.postgresql_tables import open_postgresql
from privroute.history.spark_tables import open_spark
from privroute.history.trip_columns import TimeReading
from privroute.history.trip_database import open_database
from privroute.history.trip_files import find_files
from privroute.history.trip_raster import TripRaster
from privroute.history.trip_rows import TripRows
from privroute.history.trip_scan import FileScan
from privroute.history.trip_tables import check_rows_are_trips, is_on_server
from privroute.history.trip_tally import Histories, Tally
from privroute.history.trip_texts import SHORT_TEXT
from privroute.network.checks import check_type
from privroute.network.network import Network
from privroute.network.pairs import OnUnreachable, Pairs
from privroute.progress import check_progress
from privroute.server_address import is_address
from privroute.study.calendar import Calendar
from privroute.study.contribution import as_contribution
from privroute.study.frame import Frame
from privroute.study.settings import named_by_keys
from privroute.study.study import Study
from privroute.study.trip_format import TripFormat

if TYPE_CHECKING:
    import datetime as dt
    import os
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from privroute.progress import Progress
    from privroute.study.calendar import PeriodOfDay
    from privroute.study.dates import DayRange
    from privroute.study.guarantee import Unit
    from privroute.study.trip_format import Columns, EpochUnit

__all__ = ["read_trips"]


def read_trips(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    network: Network | Study,
    *,
    period: PeriodOfDay | list[PeriodOfDay] | None = None,
    dates: DayRange | None = None,
    weekdays: str | Sequence[str | int] | None = None,
    tz: str | None = None,
    day_types: Mapping[str, str] | None = None,
    holidays: Sequence[dt.date | str] | None = None,
    origin: Columns | None = None,
    destination: Columns | None = None,
    departure: str | None = None,
    user: str | None = None,
    time_format: str | None = None,
    epoch_unit: EpochUnit | None = None,
    times_as_before: bool | None = None,
    max_zone_distance_km: float | None = None,
    rows_are_trips: bool | None = None,
    unit: Unit | None = None,
    max_requests: int | None = None,
    max_per_pair: int | None = None,
    max_weight: int | None = None,
    weight: str | None = None,
    weight_unit: float | None = None,
    pre_bounded: bool | None = None,
    kept_set: str | None = None,
    expansion: float | None = None,
    on_unreachable: OnUnreachable | None = None,
    diagnostics: str | os.PathLike[str] | None = None,
    report: Callable[[TripRows], object] | None = None,
    memory_mb: int = 512,
    temp_folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Histories:
    """Count PRIVATE trips from files or tables with one row per trip. They may be larger than memory.

    source : a path of CSV or Parquet files, a pattern like "trips/*.parquet", or a list of them; or the address of a
        table: "fleet.duckdb#trips"; "postgresql://user@host/database#schema.table" and
        "spark://host:7077#catalog.schema.table", which are counted there, so that only counts come back. Queries and
        views are refused: docs/trips.md, Tables
    network : a network; or a study, which sets all options from `period` to `on_unreachable`, so that none of them is
        passed, and whose frame the history then has
    period : start and end of the operation period, ("07:00", "08:00"), the end not included; ("22:00", "02:00") crosses
        midnight, and times after midnight belong to the day on which the period began. A list of periods, in which
        "06:00-09:00/60min" and "hourly" stand for several, gives a history for each, from one reading
    dates : first and last day, both included. N is the number of these days, independently of the files.
    weekdays : only these days of the range: "mon-fri", "sat,sun" or numbers with Monday 0; N counts only them
    day_types, holidays : kinds of days, {"workday": "mon-fri", "weekend": "sat,sun,holidays"}, each with histories of
        its own, and a public list of holidays, which are no weekday
    tz : time zone of period and dates, such as "Europe/Berlin": departure times with an offset from UTC are converted
        to it. Times without an offset are local clock time and not converted.
    origin, destination : column of the zone label, or the columns of (longitude, latitude), which select the zone
        whose area has the place, else the nearest zone within `max_zone_distance_km`. Default: origin, destination;
        the distance is 0 for polygons, the width of a grid's cells, and 1 km for zones without areas
    departure : column of the departure time: a timestamp, or text like 2026-03-02 07:15:00 (or in `time_format`, a
        strptime format), or with `epoch_unit` a number counted from 1970 in UTC. Default: departure
    times_as_before : the caller asserts that these columns and formats give each trip the time that earlier releases
        from the same data set read; a ledger asks for it where they differ
    rows_are_trips : True, which tables need: the caller asserts that one row is one trip, that no trip is in two rows
        (every exact copy of a row counts), and that no row was made of other people's trips
    unit : "request" (default); or "user" or "user-day", which keep at most `max_requests` requests of each user (and
        day), and of those at most `max_per_pair` for one pair, chosen at random independently of other users; `user`
        is the column of ids (default: user). The guarantee must be for the same unit.
    weight, weight_unit, max_weight : column of weights, the weight that counts as one request, and as how many a
        request counts at most: weights are rounded to whole numbers and cut off at `max_weight`, and bounds on users
        are on these numbers. Rows whose weight is negative or no number are dropped. Default: each counts as one
    pre_bounded : for unit user: the caller asserts that the files contain no more than these bounds for each user in
        the whole data set, selected before its first release. A ledger with kept requests requires it: every call
        selects again, so calls for different dates would contain more requests of a user together.
    kept_set : the name that `privroute bound` gave that selection; without it a ledger charges the release at all times
    expansion, on_unreachable : as in DemandHistory and Pairs.of_zones. Default: 1, error
    diagnostics : PRIVATE file to write the numbers of dropped rows to; never put it into a release folder
    report : called with those numbers; by default they are printed on the error stream, marked PRIVATE
    memory_mb, temp_folder : limit of DuckDB's memory, and the folder for its temporary files (private; removed at the
        end)
    progress : called from another thread with the share of the files that has been read

    Unusable rows are dropped and counted, so that no single row decides whether there is a release. Only problems with
    whole files (no file, damaged, a column missing or of an unsuitable type) are errors. Messages never show the
    contents of a record. Returns a DemandHistory; where there are several periods or kinds of days, a PeriodHistories
    with one for each. For details see docs/trips.md.
    """
    check_progress(progress)
    spelling = named_by_keys() if isinstance(network, Study) else nullcontext()
    network, frame, trips = _chosen(
        network,
        {
            "period": period,
            "dates": dates,
            "weekdays": weekdays,
            "tz": tz,
            **_given({"day_types": day_types, "holidays": holidays}),
        },
        {
            "unit": unit,
            "max_requests": max_requests,
            "max_per_pair": max_per_pair,
            "pre_bounded": pre_bounded,
            "kept_set": kept_set,
            "max_weight": max_weight,
        },
        {
            "weight": weight,
            "weight_unit": weight_unit,
            "origin": origin,
            "destination": destination,
            "departure": departure,
            "user": user,
            "time_format": time_format,
            "epoch_unit": epoch_unit,
            "times_as_before": times_as_before,
            "max_zone_distance_km": max_zone_distance_km,
            "rows_are_trips": rows_are_trips,
        },
        {"expansion": expansion, "on_unreachable": on_unreachable},
    )
    kept = frame.contribution
    if (trips.weight is None) != (kept is None or kept.max_weight is None):
        raise HistoryError(
            f"{arg('weight')} and {arg('max_weight')} belong together: the column of weights, and as how many requests "
            "one of them counts at most; pass both or none"
        )
    frame = replace(frame, reading=trips)
    roles = trips.roles(with_user=kept is not None and kept.of_users)
    tally = Tally(frame)
    if isinstance(source, list | tuple) and len(source) == 1:
        source = source[0]
    if is_on_server(source):
        with spelling:
            rows = _count_table(f"{source}", network, frame, trips, tally)
        return _told(rows, tally, diagnostics, report)
    with spelling, open_database(memory_mb, temp_folder) as database:
        reading = TimeReading(frame.calendar, trips.time_format, trips.epoch_unit)
        nearest = NearestZone(network, trips.max_zone_distance_km) if trips.has_coordinates else None
        reading.check_format(database)
        # everything above is public and has been checked; here the private files are opened
        found = find_files(source, rows_are_trips=trips.rows_are_trips)
        check_kept_set(found, kept)
        for name, table in _public_tables(network, frame.pairs).items():
            database.put(name, table)
        if nearest is not None:
            database.define("nearest_zone", lambda lon, lat: pa.array(nearest.codes(_floats(lon), _floats(lat))))
        scan = FileScan(database, reading, kept, roles, _longest_zone(network), trips.weight_unit)
        rows = scan.files(found, tally, progress=progress)
    return _told(rows, tally, diagnostics, report)


def _count_table(address: str, network: Network, frame: Frame, trips: TripFormat, tally: Tally) -> TripRows:
    """Count a table on its server."""
    check_rows_are_trips(address.partition("#")[2] or "the table", trips.rows_are_trips)  # an address has a password
    if trips.weight is not None:
        raise HistoryError("weights are read from files and tables of DuckDB only; write the table to a Parquet file")
    reading = TimeReading(frame.calendar, trips.time_format, trips.epoch_unit)
    roles = trips.roles(with_user=frame.contribution is not None)
    public, raster = _public_tables(network, frame.pairs), None
    if trips.has_coordinates:
        raster = TripRaster.of(NearestZone(network, trips.max_zone_distance_km))
        public["cells"] = pa.table({"x": raster.x, "y": raster.y, "node": raster.node})
    if frame.contribution is not None:
        public["salt"] = pa.table({"salt": [new_salt()]})
    longest = max(SHORT_TEXT, _longest_zone(network))
    # everything above is public and has been checked; here the private table is opened
    opened = open_postgresql if is_address(address) else open_spark
    with opened(address, roles, public) as engine:
        statements = Statements(
            engine.dialect, engine.forms, roles, reading, frame.contribution, raster, engine.name, longest
        )
        return count_with(engine, statements, tally)


def _told(
    rows: TripRows,
    tally: Tally,
    diagnostics: str | os.PathLike[str] | None,
    report: Callable[[TripRows], object] | None,
) -> Histories:
    """Report what became of the rows; the histories, unless they contradict what the caller asserted."""
    if diagnostics is not None:
        rows.write(diagnostics)
    (report or TripRows.show)(rows)
    if rows.pre_bounded and rows.above_bounds:
        # what the caller asserted is not so: outside the domain of the guarantee (docs/proofs/user.md, Assertion)
        raise HistoryError(
            f"{arg('pre_bounded', True)} asserts that there are at most {arg('max_requests')} requests of each "
            "user, and there are more; nothing was charged or released. Limit the data set once, before its first "
            "release, and read the result"
        )
    return tally.histories()


def _public_tables(network: Network, pairs: Pairs) -> dict[str, Any]:
    """Zones by number and label, and the position of each pair."""
    labels = list(network.zone_names)
    zones = {
        "number": pa.array([label if isinstance(label, int) else None for label in labels], pa.int64()),
        "label": pa.array([str(label) for label in labels], pa.string()),
        "node": pa.array(network.zones),
    }
    ends = {"origin": pa.array(pairs.origin), "destination": pa.array(pairs.destination)}
    pair = pa.array(np.arange(len(pairs), dtype=np.int32))
    return {"zones": pa.table(zones), "pairs": pa.table(ends | {"pair": pair})}


def _longest_zone(network: Network) -> int:
    """Bytes of the longest label."""
    return max(len(str(label).encode()) for label in network.zone_names)


def _floats(column: Any) -> NDArray[np.float64]:
    values = column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


def _chosen(
    study: Study | Network,
    calendar: dict[str, Any],
    bounds: dict[str, Any],
    layout: dict[str, Any],
    rest: dict[str, Any],
) -> tuple[Network, Frame, TripFormat]:
    """What is public of the history to come: of a study as it stands, otherwise of the arguments."""
    if isinstance(study, Study):
        said = list(_given(calendar | bounds | layout | rest))
        if said:
            raise HistoryError(f"the study already sets {said[0]}; omit {arg(said[0])}")
        if study.calendar.dates is None or study.calendar.periods[0].begins is None:
            with named_by_keys():
                raise HistoryError(
                    f"trips are counted by dates and hours; the study needs {arg('dates')} and {arg('period')}"
                )
        if not study.calendar.is_regular:
            raise HistoryError(
                "trips are counted on a range of days, thinned out by weekdays and holidays; the study has other days"
            )
        return study.network, study.frame, study.trips
    days = Calendar.of(**calendar)
    contribution = as_contribution(**bounds)
    trips = TripFormat(**_given(layout))
    TimeReading(days, trips.time_format, trips.epoch_unit)  # before pairs are searched, which may take a while
    check_type(study, Network, "network", HistoryError)
    pairs = Pairs.of_zones(study, on_unreachable=rest.pop("on_unreachable") or "error")
    return study, Frame(pairs, days, contribution=contribution, **_given(rest)), trips


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Those that the caller passed."""
    return {name: value for name, value in arguments.items() if value is not None}
