"""`privroute learn`: from a private history to a certified release."""

from pathlib import Path
from typing import Annotated, Literal

import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.inspect_release import routes_in_words
from privroute.cli.mechanisms import AlphaOption, CeilingOption, ConstantsOption, chosen_mechanism
from privroute.cli.output import check_release_place
from privroute.cli.terminal import line, on_terminal, say, warn
from privroute.errors import GuaranteeError
from privroute.network.checks import check_period
from privroute.network.demand import check_expansion

_USUAL_DELTA = 1e-4

__all__ = ["learn"]


def learn(
    network: inputs.NetworkOption,
    history: Annotated[
        Path, typer.Option(help="PRIVATE: CSV with date, origin, destination, trips.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Folder for the release.", show_default=False)],
    first: inputs.FirstDayOption = None,
    last: inputs.LastDayOption = None,
    epsilon: inputs.EpsilonOption = None,
    delta: inputs.DeltaOption = None,
    period_min: inputs.PeriodOption = 60.0,
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
    alpha: AlphaOption = None,
    ceiling: CeilingOption = None,
    constants: ConstantsOption = None,
    public_demand: Annotated[
        Path | None,
        typer.Option(help="For sgd: a PUBLIC demand, TNTP trips (.tntp), CSV (.csv) or Open Matrix (.omx), per hour."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a release that is there.")] = False,
    allow_not_private: Annotated[
        bool, typer.Option("--allow-not-private", help="Write a release without protection, for comparison only.")
    ] = False,
    nodes: inputs.NodesOption = None,
    latency: inputs.LatencyOption = None,
    factor: inputs.FactorOption = None,
    time_unit: inputs.TimeUnitOption = None,
    on_unreachable: inputs.UnreachableOption = "error",
) -> None:
    """Learn a routing policy from daily counts of trips and release it under a guarantee.

    Everything public is checked before the private file is opened. Each run draws new noise and spends the guarantee
    anew: the promises of several releases from the same trips add up.
    """
    dates = inputs.check_dates(first, last)
    days = (dates[1] - dates[0]).days + 1
    guarantee = _guarantee(mechanism, epsilon, delta, allow_not_private=allow_not_private)
    if constants == "paper" and not allow_not_private:
        raise GuaranteeError(
            "--constants paper is NOT PRIVATE and nothing was read; add --allow-not-private if the release will not be "
            "published"
        )
    with inputs.spoken_as_options():
        check_period(period_min)
        check_expansion(expansion)
    check_release_place(out, overwrite=overwrite)
    roads, _ = inputs.read_network(network, nodes=nodes, latency=latency, factor=factor, time_unit=time_unit)
    with inputs.spoken_as_options():
        pairs = pr.Pairs.of_zones(roads, on_unreachable=on_unreachable)
    chosen = chosen_mechanism(
        mechanism,
        days=days,
        window=window,
        alpha=alpha,
        ceiling=ceiling,
        constants=constants,
        public_demand=None
        if public_demand is None
        else inputs.read_public_demand(public_demand, roads, on_unreachable=on_unreachable),
    )
    if guarantee is not None:
        _check_promise(roads, pairs, guarantee, chosen, days, period_min, expansion)
    line(f"{roads}, {len(pairs):,} pairs, {days:,} days of {period_min:g} minutes")

    data = pr.read_daily_od(
        history, roads, dates=dates, period_min=period_min, expansion=expansion, on_unreachable=on_unreachable
    )
    trips, empty = int(data.counts.sum()), int((data.counts.sum(axis=1) == 0).sum())
    line(f"PRIVATE, do not publish: {trips:,} trips counted, {empty:,} of {days:,} days without any", style="yellow")
    release = pr.learn(roads, data, guarantee, chosen, progress=on_terminal())
    release.save(out, overwrite=overwrite, allow_not_private=allow_not_private)

    line(f"Released: {out}", style="bold")
    if guarantee is None or not release.certificate.private:
        why = "no noise was added" if guarantee is None else "the paper's proof does not hold here"
        warn(f"NOT PRIVATE: {why}. This release is for comparison only; do not publish it.")
        return
    say(
        f"Epsilon {guarantee.epsilon:g}, delta {guarantee.delta:g} for one trip; {routes_in_words(release.policy)}. "
        "The budget of this data set is not tracked: releases from the same trips add up."
    )
    line(f"What it promises, and what it does not: privroute inspect {out}")


def _guarantee(
    mechanism: str, epsilon: float | None, delta: float | None, *, allow_not_private: bool
) -> pr.Guarantee | None:
    """The guarantee, checked; None only where that was asked for twice."""
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
    guarantee = pr.Guarantee(epsilon=epsilon, delta=delta)
    if guarantee.delta > _USUAL_DELTA:
        warn(f"delta {guarantee.delta:g} is large: events rarer than that are not protected at all; 1e-6 is usual.")
    return guarantee


def _check_promise(
    roads: pr.Network,
    pairs: pr.Pairs,
    guarantee: pr.Guarantee,
    chosen: "str | pr.Daily | pr.Minimiser | pr.Sgd",
    days: int,
    period_min: float,
    expansion: float,
) -> None:
    """Whatever the proof excludes is refused here, while nothing private is open."""
    from privroute.history.frame import Frame  # noqa: PLC0415 - the private side
    from privroute.mechanism.learn import steps_of  # noqa: PLC0415
    from privroute.mechanism.options import as_mechanism  # noqa: PLC0415

    mechanism = as_mechanism(chosen)
    frame = Frame(pairs, days, period_min, expansion, None, simulated=False)
    steps_of(mechanism).promise(roads, frame, guarantee, mechanism)
