"""`privroute bound`: the kept set of a data set at user level, made once."""

from pathlib import Path
from typing import Annotated, Any

import typer

from privroute.cli.study_options import settings_of, with_keys
from privroute.cli.terminal import bar, line, say

__all__ = ["bound"]


@with_keys("trips.departure", "trips.origin", "trips.destination", "trips.user", "trips.rows_are_trips")
def bound(
    given: dict[str, Any],
    trips: Annotated[
        list[str],
        typer.Argument(
            metavar="TRIPS...",
            help="PRIVATE: all trip files of the data set; accepts patterns. Or a table: fleet.duckdb#table.",
            show_default=False,
        ),
    ],
    max_requests: Annotated[int, typer.Option(help="Keep at most this many trips of each user.", show_default=False)],
    out: Annotated[
        Path, typer.Option(metavar="PATH", help="New folder for the kept trips. PRIVATE.", show_default=False)
    ],
    max_per_pair: Annotated[
        int | None, typer.Option(help="Keep at most this many of them for one origin and destination.")
    ] = None,
    previous: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="Earlier part of the kept set, whose trips count towards the limits (a limit for life); repeat it.",
        ),
    ] = None,
    memory_mb: Annotated[int, typer.Option(help="Limit DuckDB's memory.")] = 512,
    temp_folder: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Folder for temporary private files, removed at the end.")
    ] = None,
) -> None:
    """Keep a limited number of trips of each user, once.

    Releases from the kept set contain at most that many trips of a user in all, so releases of different times cost a
    user what one of them costs (budget init --kept-requests). Which trips are kept is random within each user and
    depends on no other user. Make the kept set once, before the first release, and release from it alone.
    """
    from privroute.history.kept_set import TRIPS, bound_trips  # noqa: PLC0415 - the private side

    settings = settings_of(None, given)
    with bar() as progress:
        read, kept_rows, name = bound_trips(
            trips,
            out,
            max_requests=max_requests,
            max_per_pair=max_per_pair,
            trips=settings.trip_format(),
            previous=previous or (),
            memory_mb=memory_mb,
            temp_folder=temp_folder,
            progress=progress,
        )
    line(f"PRIVATE, do not publish: {kept_rows:,} of {read:,} rows kept", style="yellow")
    line(f"Written: {out / TRIPS} (PRIVATE)", style="bold")
    bounds = f"--max-requests {max_requests}" + ("" if max_per_pair is None else f" --max-per-pair {max_per_pair}")
    kept = f"--kept-requests {max_requests}" + ("" if max_per_pair is None else f" --kept-per-pair {max_per_pair}")
    files = " ".join(f"--trips '{folder / TRIPS}'" for folder in [*(previous or ()), out])
    if not previous:  # all parts of a data set share one budget
        say(f"Approve its budget with: privroute budget init ... --unit user {kept}")
    say(f"Read it with: privroute learn ... {files} --unit user {bounds} --pre-bounded --set unit.kept_set={name}")
