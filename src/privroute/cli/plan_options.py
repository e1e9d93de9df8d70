"""`privroute plan --tune-for`: options of a mechanism on flows, chosen on public data and ready to be used."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import privroute as pr
from privroute.cli.output import make_folder
from privroute.cli.terminal import bar, heading, line, percent_in_text, say
from privroute.network.text_files import write_whole
from privroute.study.mechanisms import public_options

if TYPE_CHECKING:
    from privroute.study.mechanisms import Mechanism
    from privroute.study.settings import Settings

__all__ = ["PublicPrior", "tuned"]

_BLOCK_FILE, _DEMAND_FILE = "mechanism.toml", "public_demand.csv"


@dataclass(frozen=True, slots=True)
class PublicPrior:
    """The demand of a plan.

    name : what a study calls it; None if no file holds it as trips per hour
    """

    demand: pr.Demand
    name: str | None


def tuned(
    settings: "Settings", roads: pr.Network, prior: PublicPrior, epsilon: float, *, seed: int, out: Path | None
) -> "Mechanism":
    """Choose options on public data, and show them as a study and as `privroute learn` take them."""
    from privroute.evaluate.tuning import tune  # noqa: PLC0415 - the private side

    calendar, delta = settings.calendar(), settings.values.get("guarantee.delta", 1e-6)
    with bar() as progress:
        (found,) = tune(
            roads,
            prior.demand,
            [pr.Guarantee(epsilon, delta)],
            settings.get("mechanism.name"),
            days=calendar.days,
            period_min=calendar.period.minutes,
            expansion=settings.get("data.expansion"),
            seed=seed,
            progress=progress,
        )
    named = prior.name
    if named is None and out is not None:
        named = str(_write_demand(prior.demand, roads, out))
    _show(found.best.options, named, epsilon, found.best.median, out)
    return found.best.options


def _show(options: "Mechanism", demand: str | None, epsilon: float, median: float, out: Path | None) -> None:
    from privroute.study.toml_text import section_as_toml  # noqa: PLC0415 - readers

    values = _values(options, demand)
    block = section_as_toml("mechanism", values)
    heading(f"Options chosen on the public prior for epsilon {epsilon:g}")
    say(
        f"They gave {percent_in_text(median)} above the optimum (median) on simulated days of demands that differ from "
        "the prior by chance. As a part of a study:"
    )
    line(f"\n{block}")
    if demand is None:
        say(
            "public_demand is missing above: the prior is not in a file of trips per hour that a study can name. Pass "
            "--out, and it is written there."
        )
    flags = " ".join(f"--set mechanism.{name}={_plain(value)}" for name, value in values.items() if name != "name")
    say("Or on the command line:")
    line(f"\nprivroute learn ... --mechanism {options.name} {flags}\n")
    if out is not None:
        make_folder(out)
        with write_whole(out / _BLOCK_FILE) as stream:
            stream.write(block)
        line(f"Written: {out / _BLOCK_FILE}")


def _values(options: "Mechanism", demand: str | None) -> dict[str, Any]:
    """Every option, those with their defaults too, so that a later version means the same by them."""
    values = {name: value for name, value in public_options(options).items() if value is not None}
    values.pop("public_demand", None)
    return {"name": options.name} | ({} if demand is None else {"public_demand": demand}) | values


def _plain(value: object) -> str:
    text = str(value)
    return f"'{text}'" if " " in text else text


def _write_demand(demand: pr.Demand, roads: pr.Network, out: Path) -> Path:
    """Trips per hour of each pair, as `read_public_demand` reads them."""
    make_folder(out)
    names, zones = list(roads.zone_names), {int(node): place for place, node in enumerate(roads.zones)}
    with write_whole(out / _DEMAND_FILE) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["origin", "destination", "trips"])
        for origin, destination, rate in zip(
            demand.pairs.origin.tolist(), demand.pairs.destination.tolist(), demand.rate_per_min.tolist(), strict=True
        ):
            writer.writerow([names[zones[origin]], names[zones[destination]], rate * 60.0])
    return out / _DEMAND_FILE
