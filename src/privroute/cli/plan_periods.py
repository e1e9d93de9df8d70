"""`privroute plan` of a study with several periods: a line for each."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import privroute as pr
from privroute.cli.output import make_folder
from privroute.cli.terminal import bar, figure, line, percent, say, table
from privroute.errors import InputError, named
from privroute.network.text_files import read_table, write_whole

if TYPE_CHECKING:
    from privroute.study.mechanisms import Mechanism
    from privroute.study.settings import Settings

__all__ = ["plan_by_period"]


def plan_by_period(
    settings: "Settings",
    roads: pr.Network,
    usual: pr.Demand,
    mechanism: "Mechanism | None",
    profile: Path | None,
    *,
    prior_is_gravity: bool,
    draws: int,
    seed: int,
    out: Path | None,
) -> None:
    """A line for each period of each kind of day, at the epsilon of the study; those that are too thin are named."""
    from privroute.evaluate.plan_periods import plan_periods  # noqa: PLC0415 - the private side

    calendar, epsilon = settings.calendar(), settings.values.get("guarantee.epsilon")
    if epsilon is None:
        raise InputError(f"a plan of several periods is for one {named('epsilon')}; set it in the study")
    with bar() as progress:
        found = plan_periods(
            roads,
            usual,
            calendar,
            epsilon=epsilon,
            factors=None if profile is None else _factors(profile, calendar),
            period_weights=settings.get("guarantee.period_weights"),
            delta=settings.values.get("guarantee.delta", 1e-6),
            contribution=settings.contribution(),
            total_per_h=settings.get("data.total_vehicles_per_hour"),
            mechanism=mechanism,
            prior_is_gravity=prior_is_gravity,
            draws=draws,
            seed=seed,
            expansion=settings.get("data.expansion"),
            quality_share=settings.get("quality.share"),
            progress=progress,
        )
    max_weight = settings.get("unit.max_weight")
    line(f"{roads}: {calendar}")
    table(
        f"Expected {roads.units.delay} above the optimum by period: {found[0].plan.mechanism}, epsilon {epsilon:g}",
        [
            "period",
            roads.units.requests if max_weight is None else "units of\nweight",
            "noise on\na count",
            "median",
            "no data",
            "verdict",
        ],
        [
            (
                str(each.slot),
                f"{each.plan.expected_trips:,.0f}",
                f"± {figure(each.plan.rows[0].noise_scale)}",
                percent(each.median),
                percent(each.plan.to_gain),
                each.verdict,
            )
            for each in found
        ],
        left=(0, 5),
    )
    thin, hidden = (
        [str(each.slot) for each in found if each.verdict == verdict] for verdict in ("too thin", "better, not shown")
    )
    say(f"All data are simulated from the public prior; no {roads.units.request} was read.")
    if thin:
        say(
            f"Too thin at this epsilon, expected to be no better than a policy without data: {', '.join(thin)}. Use "
            "longer periods, fewer kinds of days, more days, larger zones or a larger epsilon."
        )
    if hidden:
        say(
            "Expected to be better than a policy without data, but the release would not show it, because "
            f"{found[0].plan.why_not_shown}: {', '.join(hidden)}."
        )
    if out is not None:
        make_folder(out)
        with write_whole(out / "plan.json") as stream:
            json.dump({"epsilon": epsilon, "periods": [each.as_dict() for each in found]}, stream, indent=2)
        line(f"Written: {out / 'plan.json'}")


def _factors(path: Path, calendar: "pr.Calendar") -> list[float]:
    """Traffic of each slot over that of the prior, from a public table."""
    rows, known = read_table(path), {}
    rows.require("period", "factor")
    for where, row in rows:
        kind = row.get("day_type", "").strip() or None
        known[kind, row.get("period", "").strip()] = where.amount(row.get("factor", ""), "factor")
    found = []
    for slot in calendar.slots:
        hours = str(slot.period)
        factor = known.get((slot.day_type, hours), known.get((None, hours)))
        if factor is None:
            raise InputError(f"{path}: there is no row for {slot}; list every period, like {hours}")
        found.append(factor)
    return found
