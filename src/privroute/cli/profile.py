"""What a dry run shows of trip files: PRIVATE, for the curator's terminal."""

from pathlib import Path
from typing import TYPE_CHECKING

from privroute.cli.terminal import line, share, table

if TYPE_CHECKING:
    import privroute as pr
    from privroute.history.period_histories import PeriodHistories
    from privroute.history.trip_rows import TripRows

__all__ = ["say_profile"]

_PRIVATE = "PRIVATE, do not publish"


def say_profile(
    trips: list[str],
    study: "pr.Study",
    history: "pr.DemandHistory | PeriodHistories",
    rows: "TripRows",
    *,
    memory_mb: int,
    temp_folder: Path | None,
) -> None:
    """Hours, weekdays, reasons, lengths, and what looks wrong."""
    from privroute.history.trip_profile import profile_trips  # noqa: PLC0415 - the private side
    from privroute.study.weekdays import NAMES  # noqa: PLC0415

    units = study.network.units
    found = profile_trips(trips, study, history, memory_mb=memory_mb, temp_folder=temp_folder)
    for title, names, counts in (
        ("hour of the clock", [f"{hour:02d}:00" for hour in range(24)], found.hours),
        ("weekday", list(NAMES), found.weekdays),
    ):
        largest = max(int(counts.max()), 1)
        table(
            f"{_PRIVATE}: departures by {title}, on any day near the dates of the study",
            [title, "rows", ""],
            [[name, f"{count:,}", share(count / largest)] for name, count in zip(names, counts.tolist(), strict=True)],
            left=(0, 2),
        )
    read = max(rows.read, 1)
    table(
        f"{_PRIVATE}: what became of the rows",
        ["", "rows", "share"],
        [
            [
                "in the history" if name == "counted" else name.replace("_", " "),
                f"{count:,}",
                f"{100 * count / read:.1f} %",
            ]
            for name, count in rows.numbers.items()
            if count
        ],
    )
    if found.copies:
        line(
            f"{_PRIVATE}: {found.copies:,} rows are copies of other rows in all columns that are read "
            f"({', '.join(found.compared)}). Each counts; remove those that are the same {units.request} twice",
            style="yellow",
        )
    if found.minutes is not None:
        spans = [f"free-flow {units.times} {_three(tuple(map(units.time_of, found.minutes)))}"]
        if found.kilometres is not None:
            spans.append(f"straight kilometres {_three(found.kilometres)}")
        line(f"{_PRIVATE}: counted {units.requests} (10, 50, 90 %): {'; '.join(spans)}", style="yellow")
    for doubt in found.doubts(study, rows):
        line(f"{_PRIVATE}: CHECK: {doubt}", style="bold yellow")


def _three(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
