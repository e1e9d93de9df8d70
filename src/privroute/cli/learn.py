"""`privroute learn`: from private trips to a certified release."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import privroute as pr
from privroute.cli.inputs import LedgerKeyOption
from privroute.cli.interrupted import interruption_told
from privroute.cli.output import check_release_folder
from privroute.cli.profile import say_profile
from privroute.cli.study_options import LEARN_KEYS, SetOption, StudyArgument, settings_of, with_keys
from privroute.cli.terminal import bar, figure, line, number_of, said_already, say, warn
from privroute.errors import GuaranteeError, InputError, LargeDeltaWarning, PrivrouteError, StreamError, arg, named
from privroute.study.guarantee import short
from privroute.study.layer_noise import LayerNoise
from privroute.study.mechanisms import public_options
from privroute.study.schema import KEYS

if TYPE_CHECKING:
    from privroute.history.period_histories import PeriodHistories
    from privroute.history.trip_rows import TripRows
    from privroute.mechanism.learn import Announcement
    from privroute.progress import Progress
    from privroute.study.settings import Settings

__all__ = ["learn"]

_USUAL_DELTA = 1e-4
_PROTECTED = {"request": "{}", "user": "user's {}s together", "user-day": "user's {}s of one day together"}
_FILES = "Private files"
_MOST_NAMED = 6
_MORE = "use more days, larger zones, longer periods or a larger epsilon"
_TRIP_FILES = (".csv", ".tsv", ".txt", ".parquet", ".parq", ".pq", ".gz", ".zst")


def _private(words: str, metavar: str = "PATH") -> Any:
    return typer.Option(metavar=metavar, help=words, rich_help_panel=_FILES, show_default=False)


@with_keys(*LEARN_KEYS)
def learn(
    given: dict[str, Any],
    study: StudyArgument = None,
    trips: Annotated[
        list[str] | None,
        _private(
            "PRIVATE: CSV or Parquet files with one row per trip; accepts patterns, may be repeated. Or a table, with "
            "--rows-are-trips: fleet.duckdb#table, postgresql://user@host/database#schema.table, "
            "spark://host:7077#schema.table.",
            "FILES",
        ),
    ] = None,
    history: Annotated[
        Path | None,
        _private("PRIVATE: CSV file of daily counts with date, origin, destination, trips, instead of --trips."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Folder for the release.", show_default=False)
    ] = None,
    assigned: SetOption = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="LEDGER", help="Charge the release to this ledger: a file or a server (see privroute budget)."
        ),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Data set in the ledger. Default: the only one.")] = None,
    ledger_key: LedgerKeyOption = None,
    stream: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="For daily: add the days to this folder of noisy days and average over it."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Read the files and print PRIVATE numbers of counted and dropped rows; charge and release nothing.",
        ),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing release.")] = False,
    allow_not_private: Annotated[
        bool,
        typer.Option(
            "--allow-not-private",
            help="Write a release that is not private (no noise, or a delta above 0.001), for comparison only.",
        ),
    ] = False,
    diagnostics: Annotated[Path | None, _private("Write the PRIVATE numbers of dropped rows to this file.")] = None,
    memory_mb: Annotated[int, typer.Option(help="Limit DuckDB's memory.", rich_help_panel=_FILES)] = 512,
    temp_folder: Annotated[
        Path | None,
        _private("Folder for temporary private files, removed at the end."),
    ] = None,
) -> None:
    """Learn a routing policy from trips.

    The settings come from a study file or from the flags below; --set accepts keys that have no flag. Run with
    --dry-run first: with a wrong time format or time zone no row is counted, but the budget is spent. All public
    settings are checked before the private file is opened. Each run draws new noise and spends budget again: the
    privacy costs of several releases from the same trips add up.
    """
    with interruption_told(out) as learning:
        from privroute.history.trip_tables import is_on_server  # noqa: PLC0415 - the private side
        from privroute.mechanism.learn import Announcement  # noqa: PLC0415

        if out is None and not dry_run:
            raise InputError("--out is missing: pass the folder for the release, or --dry-run to write none")
        if study is not None and study.suffix.lower() in _TRIP_FILES:
            raise InputError(
                f"{study} is a trip file where a study file is expected; quote patterns, so that the shell does not "
                "expand them: --trips 'trips/*.csv'"
            )
        settings = settings_of(study, given, assigned)
        _check_files(settings, trips, history, diagnostics, out)
        promised = not dry_run or settings.get("guarantee.epsilon") is not None
        guarantee = _guarantee(settings, allow_not_private=allow_not_private or dry_run) if promised else None
        if stream is not None and settings.get("mechanism.name") != "daily":
            raise InputError(f"--stream is only valid with {arg('mechanism', 'daily')}; remove it, or choose that")
        learning.account = account = _ledger(ledger, dataset, ledger_key)
        if out is not None and not dry_run:
            check_release_folder(out, overwrite=overwrite)
        chosen = pr.Study.of(settings, promised=promised)
        with said_already(LargeDeltaWarning):  # refused here, while nothing private is open
            noisy_days = None if stream is None or dry_run else _stream(stream, chosen, account)
            announced = Announcement(chosen, ledger=account) if promised and stream is None else None
        line(f"{chosen.network}, {number_of(len(chosen.pairs), 'pair')}: {chosen.calendar}")
        reports: list[TripRows] = []  # said when the bar is gone
        with bar() as progress:
            data = (
                pr.read_trips(
                    trips,
                    chosen,
                    diagnostics=diagnostics,
                    report=reports.append,
                    memory_mb=memory_mb,
                    temp_folder=temp_folder,
                    progress=progress,
                )
                if trips
                else pr.read_daily_od(history or "", chosen, report=reports.append)
            )
        _say_counted(data, reports[-1], chosen)
        if announced is not None:
            _say_signal(data, announced)
        if dry_run or out is None:
            if trips and not is_on_server(trips[0]):
                say_profile(trips, chosen, data, reports[-1], memory_mb=memory_mb, temp_folder=temp_folder)
            say("Dry run: nothing was charged and nothing was released.")
            return
        if noisy_days is not None:
            learning.follow(noisy_days)
        learning.release = release = _release(data, announced, noisy_days)
        release.save(out, overwrite=overwrite, allow_not_private=allow_not_private)
        _tell(release, guarantee, out)


def _check_files(
    settings: "Settings", trips: list[str] | None, history: Path | None, diagnostics: Path | None, out: Path | None
) -> None:
    """Refuse inputs that exclude each other or do not fit the study, before any is opened."""
    if trips and history is not None:
        raise InputError("--trips and --history exclude each other; pass one")
    if trips:
        if "calendar.period_min" in settings.values:
            raise InputError(f"--trips excludes {named('period_min')}; pass {named('period')}, like 07:00-08:00")
        if "calendar.periods" not in settings.values:
            raise InputError(f"--trips needs {named('period')}, like 07:00-08:00")
    elif history is None:
        raise InputError("--trips or --history is missing: pass files with one row per trip, or a file of daily counts")
    elif settings.get("unit.protect") != "request":
        raise InputError(
            f"{arg('unit', settings.get('unit.protect'))} is only valid with --trips; daily counts contain no user ids"
        )
    else:
        columns = [KEYS[key] for key in settings.given if KEYS[key].section == "trips"]
        if columns:
            raise InputError(
                f"{named(columns[0].arguments[0])} is only valid with --trips; --history has the columns date, origin, "
                "destination, trips; omit it"
            )
    if diagnostics is not None and out is not None and diagnostics.resolve().is_relative_to(out.resolve()):
        raise InputError("--diagnostics is private and must not be inside --out; choose another path")


def _release(
    data: "pr.DemandHistory | PeriodHistories", announced: "Announcement | None", noisy_days: "pr.Stream | None"
) -> "pr.Release":
    """Charge, draw, publish: once, or for each day of a stream, whose last release is kept."""
    with bar() as progress:
        if announced is not None:
            return announced.release(data, progress=progress)
        if noisy_days is None or not isinstance(data, pr.DemandHistory):
            raise GuaranteeError("nothing was announced, so nothing is released")
        return _add_days(data, noisy_days, progress)


def _add_days(data: "pr.DemandHistory", noisy_days: "pr.Stream", progress: "Progress | None") -> "pr.Release":
    """Add each day; where one is rejected, say which days before it were added and how to go on."""
    release, refused, dates = None, "", data.dates or ()
    for date, day in zip(dates, data.each_day(), strict=True):
        try:
            release = noisy_days.add_day(day, progress=progress)
        except PrivrouteError as problem:
            if release is None:
                raise
            refused = f"{problem}"
        if refused:  # raised here, so that nothing of the day stays on the error
            added = dates.index(date)
            raise StreamError(
                f"{number_of(added, 'day')} of {len(dates):,} were added to the stream ({dates[0]} to "
                f"{dates[added - 1]}) and remain charged; {date} was rejected, and no release was written: {refused}. "
                f"When that is solved, go on with --from {date}"
            )
    if release is None:
        raise StreamError("there is no day to add to the stream")
    return release


def _say_counted(data: "pr.DemandHistory | PeriodHistories", rows: "TripRows", study: "pr.Study") -> None:
    """How much was counted, on the curator's terminal."""
    units = study.network.units
    line(units.said(f"{rows}"), style="yellow")
    if isinstance(data, pr.DemandHistory):
        counted, empty = int(data.counts.sum()), int((data.counts.sum(axis=1) == 0).sum())
        days = number_of(data.days, "day")
    else:
        parts = [part.counts.sum(axis=1) for part in data.parts()]
        counted, empty = data.total, sum(int((each == 0).sum()) for each in parts)
        days = f"{number_of(sum(each.size for each in parts), 'day')} of {len(parts):,} periods"
    line(
        f"PRIVATE, do not publish: {counted:,} {_counted(study, counted)} counted, {empty:,} of {days} without any",
        style="yellow",
    )
    if not counted:
        cause = (
            f"no departure time is within {study.calendar}: check the year, the hours and the time zone"
            if rows.outside
            else "check the columns, the time format and the labels of the zones"
        )
        line(f"PRIVATE, do not publish: no {units.request} was counted; {cause}", style="yellow")


def _counted(study: "pr.Study", count: int = 2) -> str:
    """What counts are numbers of: requests, or units of their weight."""
    kept = study.frame.contribution
    one, rest = (study.network.units.request, "") if kept is None or kept.max_weight is None else ("unit", " of weight")
    return f"{one}{'' if count == 1 else 's'}{rest}"


def _say_signal(data: "pr.DemandHistory | PeriodHistories", announced: "Announcement") -> None:
    """Trips of a pair against the noise that its count will get, on the curator's terminal."""
    promise, study = announced.promise, announced.study
    if promise is None or study.mechanism.on_flows:
        return
    if isinstance(data, pr.DemandHistory):
        sizes, drowned = _sizes(data, study, promise.scale)
        line(
            f"PRIVATE, do not publish: {sizes}{f'. THE NOISE DROWNS THEM: {_MORE}' if drowned else ''}", style="yellow"
        )
        return
    thin = [
        str(slot)
        for slot, share, part in zip(study.calendar.slots, study.period_shares, data.parts(), strict=True)
        if _sizes(part, study, promise.divided(share).scale)[1]
    ]
    if thin:
        line(
            f"PRIVATE, do not publish: THE NOISE DROWNS a typical pair in {len(thin):,} of "
            f"{number_of(len(study.calendar.slots), 'period')} ({_listed(thin)}): {_MORE}",
            style="yellow",
        )


def _sizes(data: "pr.DemandHistory", study: "pr.Study", scale: float) -> tuple[str, bool]:
    """PRIVATE. Sizes of counts beside their noise in words, and whether the noise is the larger one."""
    sums = data.counts.sum(axis=0).astype(float)
    typical = float((sums * sums).mean() ** 0.5) if sums.size else 0.0
    pair = f"a typical pair (root mean square) has {figure(typical)} {_counted(study)}"
    mechanism = study.mechanism
    if isinstance(mechanism, pr.Layered):
        kept = data.contribution
        bounds = (None, None) if kept is None else (kept.max_requests, kept.max_per_pair)
        noise = LayerNoise.of(public_options(mechanism), scale, *bounds)
        zone = float(sums.sum()) / max(study.network.zones.size, 1)
        said = study.network.units.said(noise.words)
        return f"{pair}, a zone sends {figure(zone)} on average. Noise: {said}", zone < noise.zone
    scale *= data.days**0.5 if mechanism.name == "daily" else 1.0
    return f"{pair}, where the noise is {figure(scale)}", typical < scale


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _tell(release: "pr.Release", guarantee: "pr.Guarantee | None", out: Path) -> None:
    """What was released, and what it promises."""
    from privroute.cli.inspect_release import routes_in_words, show_periods  # noqa: PLC0415 - loaded when needed
    from privroute.release.explanation import budget_in_words, periods_in_words  # noqa: PLC0415
    from privroute.release.usefulness import useful_in_words  # noqa: PLC0415

    line(f"Released: {out}", style="bold")
    why, units = release.certificate.why_not_private, release.network.units
    if guarantee is None or why is not None:
        warn(f"NOT PRIVATE: {units.said(why or '')}. This release is for comparison only; do not publish it.")
        if not isinstance(release.certificate.budget, str):
            say(f"It was still charged: {budget_in_words(release.certificate)}.")
        return
    protected = _PROTECTED[guarantee.unit].format(units.request)
    say(
        f"Epsilon {guarantee.epsilon:g}, delta {short(guarantee.delta)} for one {protected}; "
        f"{routes_in_words(release.policy)}. "
        f"The costs of releases from the same {units.requests} add up: {budget_in_words(release.certificate)}."
    )
    if release.parts:
        say(periods_in_words(release.certificate))
        show_periods(release)
    else:
        for sentence in useful_in_words(release):
            say(sentence, bullet=True)
    line(f"To show what it protects, and what it does not: privroute inspect {out}")


def _guarantee(settings: "Settings", *, allow_not_private: bool) -> "pr.Guarantee | None":
    """The guarantee, checked; what is not private has to be asked for twice."""
    from privroute.study.guarantee import delta_caveat  # noqa: PLC0415 - loaded when needed

    if settings.get("mechanism.constants") == "paper" and not allow_not_private:
        raise GuaranteeError(_not_private(arg("constants", "paper")))
    guarantee = settings.guarantee()
    if guarantee is None:
        if not allow_not_private:
            raise GuaranteeError(_not_private(arg("mechanism", "none")))
        return None
    caveat = delta_caveat(guarantee.delta)
    if caveat is not None:
        if not allow_not_private:
            raise GuaranteeError(
                f"NOT PRIVATE: {named('delta')}{caveat.removeprefix('delta')}. Nothing was read; choose a "
                f"{named('delta')} such as 1e-6, or add --allow-not-private if the release will not be published"
            )
        warn(f"NOT PRIVATE: {caveat}.")
    elif guarantee.delta > _USUAL_DELTA:
        warn(f"delta {short(guarantee.delta)} is large: events that are rarer are not protected; 1e-6 is usual.")
    return guarantee


def _not_private(choice: str) -> str:
    return f"{choice} is NOT PRIVATE and nothing was read; add --allow-not-private if the release will not be published"


def _stream(folder: Path, study: "pr.Study", account: "pr.Ledger | None") -> "pr.Stream":
    """The stream to which all of these days can be added: of several none is charged if one of them is there."""
    chosen = study.mechanism if isinstance(study.mechanism, pr.Daily) else None
    noisy_days = pr.Stream(folder, study.network, study.promised, chosen, ledger=account)
    noisy_days.check(study.frame)
    return noisy_days


def _ledger(path: str | None, dataset: str | None, key: Path | None) -> "pr.Ledger | None":
    if path is None:
        if dataset is not None or key is not None:
            raise InputError(
                f"{'--ledger-key' if dataset is None else '--dataset'} needs --ledger; pass both, or neither"
            )
        return None
    return pr.Ledger(path, dataset, key=key)
