"""`privroute learn`: from a private history to a certified release."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import privroute as pr
from privroute.cli import inputs, trips
from privroute.cli.inspect_release import routes_in_words
from privroute.cli.mechanisms import AlphaOption, CeilingOption, ConstantsOption, chosen_mechanism
from privroute.cli.output import check_release_place
from privroute.cli.terminal import bar, line, number_of, said_already, say, warn
from privroute.errors import GuaranteeError, InputError, LargeDeltaWarning
from privroute.network.demand import check_expansion
from privroute.release.explanation import budget_in_words
from privroute.study.frame import Frame
from privroute.study.guarantee import delta_caveat
from privroute.study.mechanisms import as_mechanism
from privroute.study.study import Study

if TYPE_CHECKING:
    from privroute.network.network import LatencyKind
    from privroute.network.pairs import OnUnreachable
    from privroute.network.tntp import TimeUnit

_USUAL_DELTA = 1e-4
_UNITS = {"request": "trip", "user": "user's trips together", "user-day": "user's trips of one day together"}

__all__ = ["learn"]


def learn(
    network: inputs.NetworkOption,
    out: Annotated[Path | None, typer.Option(help="Folder for the release.", show_default=False)] = None,
    history: Annotated[
        Path | None, typer.Option(help="PRIVATE: CSV with date, origin, destination, trips.", show_default=False)
    ] = None,
    files: trips.TripsOption = None,
    first: inputs.FirstDayOption = None,
    last: inputs.LastDayOption = None,
    epsilon: inputs.EpsilonOption = None,
    delta: inputs.DeltaOption = None,
    period_min: Annotated[
        float | None,
        typer.Option(
            "--period-min", help="With --history: minutes of a day in which its trips fall, at most 1440. Default: 60."
        ),
    ] = None,
    expansion: inputs.ExpansionOption = 1.0,
    mechanism: Annotated[
        Literal["counts", "daily", "minimiser", "sgd", "none"],
        typer.Option(
            help="Noise on the sum over the days, on every day, on the best routes themselves (minimiser), on the "
            "paper's gradient descent (sgd), or none (NOT PRIVATE)."
        ),
    ] = "counts",
    window: Annotated[
        int | None, typer.Option(min=1, help="For daily: use only the last so many days. Default: all.")
    ] = None,
    half_life: Annotated[
        float | None, typer.Option(help="For daily: a day counts half as much as one so many days younger.")
    ] = None,
    next_weekday: Annotated[
        bool, typer.Option("--next-weekday", help="For daily: only days of the weekday that follows the last day.")
    ] = False,
    stream: Annotated[
        Path | None,
        typer.Option(help="For daily: folder of noisy days. The days are added to it, and it is averaged over."),
    ] = None,
    ledger: Annotated[Path | None, typer.Option(help="Charge the release here (see privroute budget).")] = None,
    dataset: Annotated[str | None, typer.Option(help="The data set in the ledger. Default: its only one.")] = None,
    alpha: AlphaOption = None,
    ceiling: CeilingOption = None,
    constants: ConstantsOption = None,
    public_demand: Annotated[
        Path | None,
        typer.Option(help=f"For sgd, per hour. {inputs.PUBLIC_DEMAND}"),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Only read, and print the PRIVATE numbers of rows counted and left out; charge and release nothing.",
        ),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a release that is there.")] = False,
    allow_not_private: Annotated[
        bool,
        typer.Option(
            "--allow-not-private",
            help="Write a release that is not private (no noise, or a delta above 0.001), for comparison only.",
        ),
    ] = False,
    nodes: inputs.NodesOption = None,
    latency: inputs.LatencyOption = None,
    factor: inputs.FactorOption = None,
    time_unit: inputs.TimeUnitOption = None,
    on_unreachable: inputs.UnreachableOption = "error",
    period: trips.TimeOfDayOption = None,
    weekdays: trips.WeekdaysOption = None,
    tz: trips.TzOption = None,
    departure: trips.DepartureOption = "departure",
    origin: trips.OriginOption = "origin",
    destination: trips.DestinationOption = "destination",
    origin_lon_lat: trips.OriginLonLatOption = None,
    destination_lon_lat: trips.DestinationLonLatOption = None,
    largest_km: trips.LargestKmOption = 1.0,
    time_format: trips.TimeFormatOption = None,
    epoch_unit: trips.EpochUnitOption = None,
    unit: trips.UnitOption = "request",
    user: trips.UserOption = "user",
    max_requests: trips.MaxRequestsOption = None,
    max_per_pair: trips.MaxPerPairOption = None,
    kept_once: trips.KeptOnceOption = False,
    diagnostics: trips.DiagnosticsOption = None,
    memory_mb: trips.MemoryOption = 512,
    temp_folder: trips.TempFolderOption = None,
) -> None:
    """Learn a routing policy from files of trips, or of daily counts, and release it under a guarantee.

    Run it with --check first: with a wrong time format or zone nothing is counted, and the budget is spent anyway.
    Everything public is checked before the private file is opened. Each run draws new noise and spends the guarantee
    anew: the promises of several releases from the same trips add up.
    """
    if out is None and not check:
        raise InputError("--out is missing: the folder for the release (or --check, which makes none)")
    dates = inputs.check_dates(first, last)
    read: trips.TripOptions | trips.DailyOptions
    if files:
        if history is not None or period_min is not None:
            raise InputError("--trips comes without --history and --period-min; --period says when, like 07:00-08:00")
        read = trips.TripOptions.of(
            files,
            dates,
            period,
            out,
            weekdays=weekdays,
            tz=tz,
            departure=departure,
            origin=origin,
            destination=destination,
            origin_lon_lat=origin_lon_lat,
            destination_lon_lat=destination_lon_lat,
            largest_km=largest_km,
            time_format=time_format,
            epoch_unit=epoch_unit,
            unit=unit,
            user=user,
            max_requests=max_requests,
            max_per_pair=max_per_pair,
            kept_once=kept_once,
            diagnostics=diagnostics,
            memory_mb=memory_mb,
            temp_folder=temp_folder,
        )
    else:
        if history is None:
            raise InputError("--trips or --history is missing: files with one row per trip, or a file of daily counts")
        if unit != "request" or period is not None:
            raise InputError("--unit and --period belong to --trips; daily counts do not tell users or hours apart")
        read = trips.DailyOptions.of(history, dates, 60.0 if period_min is None else period_min)
    with inputs.spoken_as_options():
        check_expansion(expansion)
    if check or out is None:
        roads, pairs = _roads(network, nodes, latency, factor, time_unit, on_unreachable)
        _read(read, roads, pairs, expansion, on_unreachable)
        say("Only checked: nothing was charged and nothing was released.")
        return
    guarantee = _guarantee(mechanism, epsilon, delta, read.contribution, constants, allow_not_private=allow_not_private)
    account = _ledger(ledger, dataset)
    check_release_place(out, overwrite=overwrite)
    roads, pairs = _roads(network, nodes, latency, factor, time_unit, on_unreachable)
    chosen = chosen_mechanism(
        mechanism,
        days=read.calendar.days,
        window=window,
        half_life=half_life,
        next_weekday=next_weekday,
        stream=stream,
        alpha=alpha,
        ceiling=ceiling,
        constants=constants,
        public_demand=None
        if public_demand is None
        else inputs.read_public_demand(public_demand, roads, on_unreachable=on_unreachable),
    )
    from privroute.mechanism.learn import Announcement  # noqa: PLC0415 - the private side

    with inputs.spoken_as_options(), said_already(LargeDeltaWarning):
        study = Study(roads, Frame(pairs, read.calendar, expansion, read.contribution), guarantee, as_mechanism(chosen))
        if stream is None:
            announced = Announcement(study, ledger=account)  # refused here, while nothing private is open
        else:
            noisy_days = _stream(stream, study, account)

    data = _read(read, roads, pairs, expansion, on_unreachable)
    if stream is None:
        with bar() as progress:
            release = announced.release(data, progress=progress)
    else:
        with bar() as progress:
            for day in data.each_day():
                release = noisy_days.add_day(day, progress=progress)
    release.save(out, overwrite=overwrite, allow_not_private=allow_not_private)
    _tell(release, guarantee, out)


def _tell(release: pr.Release, guarantee: pr.Guarantee | None, out: Path) -> None:
    """What was released, and what it promises."""
    line(f"Released: {out}", style="bold")
    why = release.certificate.why_not_private
    if guarantee is None or why is not None:
        warn(f"NOT PRIVATE: {why}. This release is for comparison only; do not publish it.")
        if not isinstance(release.certificate.budget, str):
            say(f"It was charged all the same: {budget_in_words(release.certificate)}.")
        return
    say(
        f"Epsilon {guarantee.epsilon:g}, delta {guarantee.delta:g} for one {_UNITS[guarantee.unit]}; "
        f"{routes_in_words(release.policy)}. "
        f"Releases from the same trips add up: {budget_in_words(release.certificate)}."
    )
    line(f"What it promises, and what it does not: privroute inspect {out}")


def _roads(
    network: str,
    nodes: Path | None,
    latency: "LatencyKind | None",
    factor: float | None,
    time_unit: "TimeUnit | None",
    on_unreachable: "OnUnreachable",
) -> tuple[pr.Network, pr.Pairs]:
    roads, _ = inputs.read_network(network, nodes=nodes, latency=latency, factor=factor, time_unit=time_unit)
    with inputs.spoken_as_options():
        return roads, pr.Pairs.of_zones(roads, on_unreachable=on_unreachable)


def _read(
    read: trips.TripOptions | trips.DailyOptions,
    roads: pr.Network,
    pairs: pr.Pairs,
    expansion: float,
    on_unreachable: "OnUnreachable",
) -> "pr.DemandHistory":
    """The history; how much was counted goes to the curator's terminal."""
    days = number_of(read.calendar.days, "day")
    line(f"{roads}, {number_of(len(pairs), 'pair')}, {days} of {read.calendar.period.minutes:g} minutes")
    data = read.history(roads, expansion=expansion, on_unreachable=on_unreachable)
    counted, empty = int(data.counts.sum()), int((data.counts.sum(axis=1) == 0).sum())
    line(
        f"PRIVATE, do not publish: {number_of(counted, 'trip')} counted, {empty:,} of {days} without any",
        style="yellow",
    )
    return data


def _guarantee(
    mechanism: str,
    epsilon: float | None,
    delta: float | None,
    contribution: "pr.Contribution | None",
    constants: str | None,
    *,
    allow_not_private: bool,
) -> pr.Guarantee | None:
    """The guarantee, checked; None only where that was asked for twice."""
    if constants == "paper" and not allow_not_private:
        raise GuaranteeError(
            "--constants paper is NOT PRIVATE and nothing was read; add --allow-not-private if the release will not be "
            "published"
        )
    if mechanism == "none":
        if epsilon is not None or delta is not None:
            raise GuaranteeError("--mechanism none adds no noise, so it has no --epsilon and no --delta")
        if not allow_not_private:
            raise GuaranteeError(
                "--mechanism none is NOT PRIVATE and nothing was read; add --allow-not-private if the release will not "
                "be published"
            )
        return None
    if epsilon is None or delta is None:
        raise GuaranteeError(
            "--epsilon and --delta are needed, for instance --epsilon 0.1 --delta 1e-6; privroute plan helps to choose"
        )
    unit = "request" if contribution is None else contribution.unit
    guarantee = pr.Guarantee(epsilon=epsilon, delta=delta, unit=unit)
    caveat = delta_caveat(guarantee.delta)
    if caveat is not None:
        if not allow_not_private:
            raise GuaranteeError(
                f"NOT PRIVATE: --{caveat}. Nothing was read; choose a --delta such as 1e-6, or add --allow-not-private "
                "if the release will not be published"
            )
        warn(f"NOT PRIVATE: {caveat}.")
    elif guarantee.delta > _USUAL_DELTA:
        warn(f"delta {guarantee.delta:g} is large: events rarer than that are not protected at all; 1e-6 is usual.")
    return guarantee


def _stream(folder: Path, study: Study, account: "pr.Ledger | None") -> "pr.Stream":
    """The stream to which all of these days can be added: of several none is charged if one of them is there."""
    chosen = study.mechanism if isinstance(study.mechanism, pr.Daily) else None
    noisy_days = pr.Stream(folder, study.network, study.promised, chosen, ledger=account)
    noisy_days.check(study.frame)
    return noisy_days


def _ledger(path: Path | None, dataset: str | None) -> "pr.Ledger | None":
    if path is None:
        if dataset is not None:
            raise InputError("--dataset names a data set of --ledger; give both, or neither")
        return None
    return pr.Ledger(path, dataset)
