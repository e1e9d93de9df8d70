"""`privroute plan`: choose epsilon from public data, before any trip is read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.plan_options import PublicPrior, tuned
from privroute.cli.plan_periods import plan_by_period
from privroute.cli.study_options import SetOption, StudyArgument, settings_of, with_keys
from privroute.cli.terminal import bar, figure, heading, line, percent, percent_in_text, say, table, warn, within
from privroute.errors import InputError, arg, named
from privroute.release.quality import VERDICTS
from privroute.study.guarantee import short
from privroute.study.mechanisms import noise_is_on_flows

if TYPE_CHECKING:
    from privroute.evaluate.plan import Plan
    from privroute.network.pairs import OnUnreachable
    from privroute.study.settings import Settings

__all__ = ["plan"]

_GOOD_PERCENT = 0.1
_HOUR = 60.0  # minutes for which the demand of a study counts trips
_KEYS = (
    *("network.source", "network.latency", "network.on_unreachable"),
    *("calendar.days", "calendar.period_min", "data.expansion", "guarantee.delta", "mechanism.name", "mechanism.alpha"),
    "mechanism.fairness",
    *("unit.protect", "unit.max_requests", "unit.max_per_pair", "quality.share"),
)


@with_keys(*_KEYS)
def plan(
    given: dict[str, Any],
    study: StudyArgument = None,
    prior: Annotated[Path | None, typer.Option(metavar="PATH", help=inputs.PUBLIC_DEMAND)] = None,
    prior_period_min: Annotated[float, typer.Option(help="Length of the period of the prior file, in minutes.")] = 60.0,
    zone_sizes: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Use a gravity model instead of --prior: CSV with zone, size, optionally receives."
        ),
    ] = None,
    trips_per_hour: Annotated[
        float | None, typer.Option(help="With --zone-sizes: vehicles on the road per hour, or what else flows.")
    ] = None,
    epsilons: Annotated[
        str | None, typer.Option(metavar="LIST", help="Epsilons to try, like 0.01,0.1,1. Default: from 0.001 to 10.")
    ] = None,
    tune_for: Annotated[
        float | None,
        typer.Option(
            metavar="EPSILON", help="First choose the options of minimiser or sgd for this epsilon, on the prior alone."
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, max=1000, help="Number of simulated histories for each epsilon.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation: the same seed gives the same plan.")] = 1,
    trips_per_user: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Public CSV with trips, users: compare bounds on users (and days) instead."),
    ] = None,
    fairness_curve: Annotated[
        bool, typer.Option("--fairness-curve", help="Also show what fairer policies cost: total time and unfairness.")
    ] = False,
    day_profile: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="For a study with several periods: public CSV with period, factor, optionally day_type: traffic over "
            "that of the prior.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Folder for plan.csv, plan.json and plan.png.")
    ] = None,
    matrix: inputs.MatrixOption = None,
    assigned: SetOption = None,
) -> None:
    """Estimate what each epsilon costs.

    The settings come from a study file or from the flags below. The command simulates days from a public prior demand,
    learns policies from them, and compares each with the optimum of the prior and with baselines that need no data.
    """
    from privroute.evaluate.plan import plan as make_plan  # noqa: PLC0415 - the private side
    from privroute.evaluate.plan_files import write_plan  # noqa: PLC0415
    from privroute.study.source import read_public_demand  # noqa: PLC0415

    wanted = _numbers(epsilons)
    _check_prior(prior, zone_sizes, trips_per_hour)
    settings = settings_of(study, given, assigned)
    own = settings.values.get("guarantee.epsilon")
    if trips_per_user is not None:
        _show_bounds(trips_per_user, settings, wanted)
        return
    _check_days(settings)
    calendar, source, kept = settings.calendar(), settings.source(), settings.contribution()
    _check_mechanism(settings, tune_for)
    roads, usual = source.read()
    roads = settings.with_units(roads)
    if prior is not None:
        usual = read_public_demand(
            prior, roads, period_min=prior_period_min, on_unreachable=source.on_unreachable, matrix=matrix
        )
    elif zone_sizes is not None and trips_per_hour is not None:
        usual = _gravity(roads, zone_sizes, trips_per_hour, source.on_unreachable)
    if usual is None:
        raise InputError("a plan needs a public demand: pass --prior, or --zone-sizes with --trips-per-hour")
    if tune_for is None:
        mechanism = settings.chosen_mechanism(usual if noise_is_on_flows(settings.get("mechanism.name")) else None)
    else:
        usable = zone_sizes is None and matrix is None and prior_period_min == _HOUR
        named = PublicPrior(usual, str(source.network if prior is None else prior) if usable else None)
        mechanism = tuned(settings, roads, named, tune_for, seed=seed, out=out)
    if calendar.has_slots:
        gravity = zone_sizes is not None
        plan_by_period(
            settings, roads, usual, mechanism, day_profile, prior_is_gravity=gravity, draws=draws, seed=seed, out=out
        )
        return
    if day_profile is not None:
        raise InputError("--day-profile is for a study with several periods; omit it")
    with bar() as progress:
        found = make_plan(
            roads,
            usual,
            days=calendar.days,
            period_min=calendar.period.minutes,
            expansion=settings.get("data.expansion"),
            delta=settings.values.get("guarantee.delta", 1e-6),
            contribution=kept,
            total_per_h=settings.get("data.total_vehicles_per_hour"),
            epsilons=wanted if own is None else sorted({*wanted, own}),
            mechanism=mechanism,
            draws=draws,
            seed=seed,
            prior_is_gravity=zone_sizes is not None,
            quality_share=settings.get("quality.share"),
            progress=progress,
        )
    _show(found, roads, kept, own)
    written = [] if out is None else write_plan(found, out, roads.units)
    if fairness_curve:
        written += _fairness(roads, usual, out)
    for path in written:
        line(f"Written: {path}")


def _fairness(roads: pr.Network, prior: pr.Demand, out: Path | None) -> list[Path]:
    """Show the trade-off of total time against unfairness on the prior; write it where there is a folder."""
    from privroute.advice.fairness_files import write_fairness  # noqa: PLC0415 - numbers

    with bar() as progress:
        rows = pr.fairness_curve(roads, prior, progress=progress)
    table(
        "Fairness of the prior's optimum",
        [
            "fairness",
            "total time\nabove optimum",
            "longest over shortest\nroute, worst pair",
            f"mean {roads.units.request}",
        ],
        [(f"{row.fairness:g}", percent(row.above_optimum), f"{row.worst:.3f}", f"{row.mean:.4f}") for row in rows],
    )
    say(
        "Fairness 0 minimizes total time; 1 is the equilibrium, where all routes of a pair take equally long. Choose "
        "it with --fairness (mechanisms counts, daily, layered)."
    )
    return [] if out is None else write_fairness(rows, out, roads.units)


def _check_days(settings: "Settings") -> None:
    """Refuse a plan that does not know its days."""
    if {"calendar.days", "calendar.from", "calendar.to"} & set(settings.values):
        return
    if settings.file is None:
        raise InputError(f"{named('days')} is missing: pass the number of days of data")
    raise InputError(
        f"{named('from')} and {named('to')} are missing: fill in the dates, or {named('days')}, their number"
    )


def _check_prior(prior: Path | None, zone_sizes: Path | None, trips_per_hour: float | None) -> None:
    """Refuse sources of a public demand that exclude each other."""
    if prior is not None and zone_sizes is not None:
        raise InputError("--prior and --zone-sizes exclude each other; pass one")
    if (zone_sizes is None) != (trips_per_hour is None):
        raise InputError("--zone-sizes and --trips-per-hour are only valid together; pass both, or --prior")


def _check_mechanism(settings: "Settings", tune_for: float | None) -> None:
    if settings.get("mechanism.name") == "none":
        raise InputError(f"{arg('mechanism', 'none')} is part of every plan; choose a private mechanism")
    if tune_for is None:
        settings.check_mechanism(prior=True)
    elif not noise_is_on_flows(settings.get("mechanism.name")):
        raise InputError(f"--tune-for is for {arg('mechanism', 'minimiser')} and {arg('mechanism', 'sgd')}; omit it")


def _numbers(text: str | None) -> tuple[float, ...]:
    from privroute.evaluate.plan import DEFAULT_EPSILONS  # noqa: PLC0415 - the private side

    if text is None:
        return DEFAULT_EPSILONS
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--epsilons {text[:40]!r} is not a list of numbers; write it like 0.01,0.1,1") from None


def _show_bounds(path: Path, settings: "Settings", epsilons: tuple[float, ...]) -> None:
    """Compare max_requests by what they keep of a public distribution and what noise they need."""
    from privroute.evaluate.bounds import compare_bounds  # noqa: PLC0415 - the private side
    from privroute.network.text_files import read_table  # noqa: PLC0415

    unit = settings.get("unit.protect")
    if unit == "request":
        raise InputError(f"--trips-per-user is for {arg('unit', 'user')} or {arg('unit', 'user-day')}; pass one")
    sizes, users = read_table(path), {}
    sizes.require("trips", "users")
    for where, row in sizes:
        users[int(where.amount(row.get("trips", ""), "trips"))] = where.amount(row.get("users", ""), "users")
    epsilon = settings.values.get("guarantee.epsilon", 1.0 if 1.0 in epsilons else epsilons[-1])
    guarantee = pr.Guarantee(epsilon, settings.values.get("guarantee.delta", 1e-6), unit)
    rows = compare_bounds(users, guarantee)
    best = min(rows, key=lambda row: row.noise_over_kept)
    table(
        f"Bounds on each {unit}: epsilon {guarantee.epsilon:g}, delta {short(guarantee.delta)}",
        ["max-requests", "trips kept", "noise on a count", "with max-per-pair 1", "noise over kept"],
        [
            (
                f"{row.max_requests:,}",
                percent(100 * row.kept),
                f"± {figure(row.noise)}",
                f"± {figure(row.noise_one_per_pair)}",
                f"{figure(row.noise_over_kept)}",
            )
            for row in rows
        ],
    )
    say(
        f"The noise over what is kept is smallest with {best.max_requests:,}. A larger bound keeps more of frequent "
        "travellers. A small max-per-pair lowers the noise, and drops repeated trips like commutes. Trips that are "
        "dropped make the demand too small: state the total (total_vehicles_per_hour) or measure it (max_for_total)."
    )


def _gravity(roads: pr.Network, zone_sizes: Path, trips_per_hour: float, on_unreachable: "OnUnreachable") -> pr.Demand:
    if not 0 < trips_per_hour < float("inf"):
        raise InputError(f"--trips-per-hour is {trips_per_hour}; pass a positive number")
    sends, receives = inputs.read_zone_sizes(zone_sizes, roads)
    pairs = pr.Pairs.of_zones(roads, on_unreachable=on_unreachable)
    return pr.gravity_demand(roads, pairs, sends, receives, total_per_min=trips_per_hour / 60)


def _show(found: "Plan", roads: pr.Network, kept: "pr.Contribution | None", own: float | None) -> None:
    line(f"{roads}")
    trips = roads.units.requests
    if kept is not None and not kept.of_users:
        say(
            f"Noise for {trips} that count as at most {kept.max_requests:,} each. Simulated {trips} count as one each: "
            "days with heavy ones differ more than the table says."
        )
    elif kept is not None:
        say(
            f"Noise for each {kept.unit} with at most {kept.max_requests:,} {trips}, {kept.max_per_pair:,} of them for "
            f"one pair. {_begin(trips)} that these bounds leave out are not simulated: expect more than the table says."
        )
    say(
        f"{found.days:,} days of {found.period_min:g} minutes, about {found.expected_trips:,.0f} {trips} in the data "
        f"according to the public prior. All data are simulated from the prior; no {roads.units.request} was read."
    )
    if not noise_is_on_flows(found.mechanism):
        say(
            f"A typical pair (root mean square over all pairs) has about {figure(found.trips_per_pair)} of these "
            f"{trips}, beside the noise on its count."
        )
    blank = () if found.other_mechanism is None else ("",)
    table(
        f"Expected {roads.units.delay} above the optimum: {found.mechanism}, delta {short(found.delta)}",
        [
            "epsilon",
            f"noise on\n{'a typical share' if noise_is_on_flows(found.mechanism) else 'a pair'}",
            "median",
            "lowest",
            "highest",
            *([] if found.other_mechanism is None else [f"median of\n{found.other_mechanism}"]),
        ],
        [
            *(
                (
                    f"{row.epsilon:g}" + (" (study)" if row.epsilon == own else ""),
                    f"± {figure(row.noise_scale)}",
                    percent(row.median),
                    percent(row.low),
                    percent(row.high),
                    *(percent(other.median) for other in found.other_rows[position : position + 1]),
                )
                for position, row in enumerate(found.rows)
            ),
            (
                "no noise, NOT PRIVATE",
                "0",
                percent(found.without_noise_median),
                percent(min(found.without_noise)),
                percent(max(found.without_noise)),
                *blank,
            ),
            *(
                (f"no data: {roads.units.said(_without_data(row.name))}", "-", percent(row.percent), "", "", *blank)
                for row in found.without_data
            ),
        ],
    )
    if found.caveat is not None:
        warn(roads.units.said(f"NOT PRIVATE at any of these epsilons: {found.caveat}."))
    heading("Which epsilon?")
    for sentence in _advice(found):
        say(roads.units.said(sentence))


def _begin(words: str) -> str:
    return words[0].upper() + words[1:]


def _without_data(name: str) -> str:
    """The name of a baseline in a sentence, where a colon would be misread."""
    return "equilibrium without advice" if name.startswith("no advice") else name


def _advice(found: "Plan") -> list[str]:
    free = min(found.without_data, key=lambda row: row.percent)
    goal = min(_GOOD_PERCENT, free.percent)  # a policy that no data beat is not good, however near the optimum
    good = found.smallest_epsilon(goal)
    useful = found.smallest_epsilon(free.percent)
    chance = found.smallest_epsilon(2 * found.without_noise_median)
    if found.enough is not None:
        return [
            (
                f"There is nothing to gain. A policy without data ({_without_data(found.enough.name)}) is "
                f"{within(found.enough.percent)} of the optimum of this demand, because the roads are hardly "
                "congested. Choose busier hours, or publish nothing."
            )
        ]
    best = f"{_without_data(free.name)}, {percent_in_text(free.percent)}"
    sentences = [
        f"Epsilon {good:g} is the smallest of these whose policy is {within(goal)} of the optimum (median)."
        if good is not None
        else f"None of these is {within(goal)} of the optimum (median): use more days, larger zones or a "
        "larger epsilon."
    ]
    if good == found.rows[0].epsilon:
        sentences.append("It is also the smallest that was tried; smaller ones may be sufficient (--epsilons).")
    if useful is None:
        sentences.append(f"None beats the best baseline without data ({best}).")
    elif useful > found.rows[0].epsilon:
        sentences.append(f"Below epsilon {useful:g} the best baseline without data is better ({best}).")
    else:
        sentences.append(f"All of them beat the best baseline without data ({best}).")
    if useful is not None and found.rows[-1].verdict is not None:
        sentences.append(_shown(found))
    if chance is not None:
        sentences.append(f"From epsilon {chance:g} on, the noise costs no more than the random variation of the days.")
    return sentences


def _shown(found: "Plan") -> str:
    """From which epsilon on the release's own measurement would show what the table expects."""
    useful = f"better than no data, or {VERDICTS['near best']}"
    if found.smallest_shown is not None:
        return f"From epsilon {found.smallest_shown:g} on, a release should measure that it is {useful}."
    return f"Not even with the largest would a release measure that it is {useful}: {found.why_not_shown}."
