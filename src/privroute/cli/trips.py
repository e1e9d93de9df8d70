"""Options of `privroute learn --trips`, and how they become a history."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.terminal import bar, line
from privroute.errors import InputError
from privroute.study.calendar import Calendar
from privroute.study.dates import days_between

if TYPE_CHECKING:
    from privroute.history.trip_rows import TripRows

__all__ = [
    "DailyOptions",
    "DepartureOption",
    "DestinationLonLatOption",
    "DestinationOption",
    "DiagnosticsOption",
    "EpochUnitOption",
    "KeptOnceOption",
    "LargestKmOption",
    "MaxPerPairOption",
    "MaxRequestsOption",
    "MemoryOption",
    "OriginLonLatOption",
    "OriginOption",
    "TempFolderOption",
    "TimeFormatOption",
    "TimeOfDayOption",
    "TripOptions",
    "TripsOption",
    "TzOption",
    "UnitOption",
    "UserOption",
    "WeekdaysOption",
]

_PANEL = "Trip files"
_LonLat = tuple[str, str] | None

TripsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trips",
        help="PRIVATE: CSV or Parquet with one row per trip; a pattern, or several times.",
        rich_help_panel=_PANEL,
    ),
]
TimeOfDayOption = Annotated[
    str | None,
    typer.Option(
        "--period",
        metavar="START-END",
        help="Hours of the day, like 07:00-08:00; 22:00-02:00 passes midnight.",
        rich_help_panel=_PANEL,
    ),
]
WeekdaysOption = Annotated[
    str | None,
    typer.Option(
        "--weekdays",
        help="Only these days of the range, like mon-fri or sat,sun. Default: all.",
        rich_help_panel=_PANEL,
    ),
]
TzOption = Annotated[
    str | None,
    typer.Option(
        "--tz",
        help="Time zone of the period, like Europe/Berlin, for times with an offset from UTC.",
        rich_help_panel=_PANEL,
    ),
]
OriginOption = Annotated[str, typer.Option("--origin-column", help="Zone where a trip starts.", rich_help_panel=_PANEL)]
DestinationOption = Annotated[
    str, typer.Option("--destination-column", help="Zone where it ends.", rich_help_panel=_PANEL)
]
OriginLonLatOption = Annotated[
    _LonLat,
    typer.Option(
        "--origin-lon-lat",
        metavar="LON LAT",
        help="Columns of coordinates instead: the nearest zone.",
        rich_help_panel=_PANEL,
    ),
]
DestinationLonLatOption = Annotated[
    _LonLat,
    typer.Option(
        "--destination-lon-lat", metavar="LON LAT", help="The same for where it ends.", rich_help_panel=_PANEL
    ),
]
LargestKmOption = Annotated[
    float, typer.Option("--largest-km", help="Coordinates farther from every zone are dropped.", rich_help_panel=_PANEL)
]
DepartureOption = Annotated[str, typer.Option("--departure-column", help="Time of departure.", rich_help_panel=_PANEL)]
TimeFormatOption = Annotated[
    str | None,
    typer.Option(
        "--time-format", help="Of texts, like '%d.%m.%Y %H:%M'. Default: 2026-03-02 07:15:00.", rich_help_panel=_PANEL
    ),
]
EpochUnitOption = Annotated[
    Literal["s", "ms", "us", "ns"] | None,
    typer.Option("--epoch-unit", help="Of numbers that count from 1970 in UTC.", rich_help_panel=_PANEL),
]
UnitOption = Annotated[
    Literal["request", "user", "user-day"],
    typer.Option(
        "--unit",
        help="What is protected: one trip, all trips of one user, or those of one day.",
        rich_help_panel=_PANEL,
    ),
]
UserOption = Annotated[
    str, typer.Option("--user-column", help="Ids of users, for --unit user and user-day.", rich_help_panel=_PANEL)
]
MaxRequestsOption = Annotated[
    int | None, typer.Option("--max-requests", min=1, help="Trips kept of each user (and day).", rich_help_panel=_PANEL)
]
MaxPerPairOption = Annotated[
    int | None,
    typer.Option(
        "--max-per-pair", min=1, help="Of these for one origin and destination. Default: all.", rich_help_panel=_PANEL
    ),
]
KeptOnceOption = Annotated[
    bool,
    typer.Option(
        "--kept-once",
        help="The files hold no more of a user than that, chosen before the first release (budget --kept-requests).",
        rich_help_panel=_PANEL,
    ),
]
DiagnosticsOption = Annotated[
    Path | None,
    typer.Option("--diagnostics", help="PRIVATE file to write the numbers of dropped rows to.", rich_help_panel=_PANEL),
]
MemoryOption = Annotated[int, typer.Option("--memory-mb", help="Limit of DuckDB's memory.", rich_help_panel=_PANEL)]
TempFolderOption = Annotated[
    Path | None,
    typer.Option("--temp-folder", help="Where it puts what does not fit; removed afterwards.", rich_help_panel=_PANEL),
]


@dataclass(frozen=True, slots=True)
class TripOptions:
    """Trip files and how to read them, with everything public checked before one is opened.

    calendar, contribution : what is public of the history to come; arguments : those of `read_trips`
    """

    files: list[str]
    calendar: Calendar
    contribution: pr.Contribution | None
    arguments: dict[str, Any]

    @classmethod
    def of(
        cls, files: list[str], dates: tuple[Any, Any], period: str | None, out: Path | None, **options: Any
    ) -> TripOptions:
        """Check what is public."""
        from privroute.history.trips import as_contribution  # noqa: PLC0415

        if period is None:
            raise InputError("--trips needs --period, like 07:00-08:00")
        diagnostics = options["diagnostics"]
        if diagnostics is not None and out is not None and diagnostics.resolve().is_relative_to(out.resolve()):
            raise InputError("--diagnostics is private and may not be inside --out; choose another place")
        for end in ("origin", "destination"):
            options[end] = options.pop(f"{end}_lon_lat") or options[end]
        with inputs.spoken_as_options():
            calendar = Calendar.of(period, dates, options["weekdays"], options["tz"])
            contribution = as_contribution(
                options["unit"], options["max_requests"], options["max_per_pair"], kept_once=options["kept_once"]
            )
        arguments = {"period": period, "dates": dates} | options
        return cls(files, calendar, contribution, arguments)

    def history(self, roads: pr.Network, **options: Any) -> pr.DemandHistory:
        """Read the files; what became of their rows goes to the terminal."""
        reports: list[TripRows] = []  # said when the bar is gone
        with inputs.spoken_as_options(), bar() as progress:
            found = pr.read_trips(
                self.files, roads, report=reports.append, progress=progress, **self.arguments, **options
            )
        for rows in reports:
            _say(rows)
        return found


@dataclass(frozen=True, slots=True)
class DailyOptions:
    """A file of daily counts."""

    file: Path
    calendar: Calendar
    contribution: None = None

    @classmethod
    def of(cls, file: Path, dates: tuple[Any, Any], period_min: float) -> DailyOptions:
        """Check what is public."""
        with inputs.spoken_as_options():
            days = days_between(dates)
            return cls(file, Calendar.of_days(len(days), period_min, days))

    def history(self, roads: pr.Network, **options: Any) -> pr.DemandHistory:
        """Read the file; what became of its rows goes to the terminal."""
        days = self.calendar.dates or ()
        minutes = self.calendar.period.minutes
        return pr.read_daily_od(self.file, roads, dates=(days[0], days[-1]), period_min=minutes, report=_say, **options)


def _say(rows: TripRows) -> None:
    line(f"{rows}", style="yellow")
