"""`privroute route`: show or sample the routes of a pair."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.terminal import chance, line, percent_in_text, say_json, table, warn
from privroute.errors import InputError, NetworkError

if TYPE_CHECKING:
    from privroute.policy.routes import RouteList

__all__ = ["load", "route", "say_period"]

_NEGLIGIBLE = 1e-12  # below this it is rounding


def route(
    release: inputs.ReleaseArgument,
    origin: Annotated[
        str, typer.Argument(metavar="ORIGIN", help="Label of the zone where the route starts.", show_default=False)
    ],
    destination: Annotated[
        str, typer.Argument(metavar="DESTINATION", help="Label of the zone where it ends.", show_default=False)
    ],
    sample: Annotated[
        int | None, typer.Option(min=1, max=10_000_000, help="Sample this many routes by their probabilities.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Show at most this many routes, the most probable.")] = 20,
    seed: Annotated[int | None, typer.Option(min=0, help="With --sample: the same seed gives the same draws.")] = None,
    at: inputs.AtOption = None,
    trusted: inputs.TrustedOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the routes of a pair with their probabilities and travel times, or sample from them."""
    if seed is not None and sample is None:
        raise InputError("--seed is only valid with --sample; pass the number of routes to sample")
    found = load(release, trusted, at)
    network, units = found.network, found.network.units
    routes = _routes(found, origin, destination, limit)
    busy = None if found.demand is None else network.latency.time(found.policy.link_flow(found.demand))
    rows: list[dict[str, Any]] = [
        {
            "probability": each.probability,
            "free_flow_min": float(network.free_flow_min[list(each.links)].sum()),
            "expected_min": None if busy is None else float(busy[list(each.links)].sum()),
            "nodes": list(each.nodes),
        }
        for each in routes
    ]
    drawn = None if sample is None else found.policy.sample(origin, destination, size=sample, seed=seed)
    if drawn is not None:
        # routes beyond the limit may have been drawn too
        for row, times in zip(rows, np.bincount(drawn, minlength=len(rows)).tolist(), strict=False):
            row["drawn"] = times
    if as_json:
        result = {
            "origin": routes[0].nodes[0],
            "destination": routes[0].nodes[-1],
            "private": found.certificate.private,
            **({"at": found.slot.as_dict} if found.parts else {}),
            "remaining_probability": routes.remaining,
            "units": units.as_dict(),
        }
        say_json({**result, "routes": rows, **({} if drawn is None else {"sample": drawn.tolist()})})
        return
    columns = ["route", "probability", *([] if drawn is None else ["drawn"]), f"{units.time}, {units.empty}"]
    columns += [] if busy is None else [f"{units.time}, released demand"]
    table(
        f"From {origin} to {destination}" + (f", {found.slot}" if found.parts else ""),
        [*columns, "nodes"],
        [_cells(position, row, units) for position, row in enumerate(rows, start=1)],
        left=(len(columns),),
    )
    if routes.remaining > _NEGLIGIBLE:
        line(f"Other routes have probability {percent_in_text(100 * routes.remaining)} together; --limit shows more.")
    if sample == 1 and drawn is not None:
        line(f"Take route {int(drawn[0]) + 1}.")


def load(release: Path, trusted: Path | None = None, at: str | None = None, *, whole: bool = False) -> pr.Release:
    """Read a release, and choose a period of it; warn on the error stream if it is not private."""
    found = pr.load_release(release, trusted=trusted, whole=whole)
    if at is not None:
        found = found.at(at)
    if not found.certificate.private:
        warn(f"{release} is NOT PRIVATE; see: privroute inspect {release}")
    return found


def say_period(found: pr.Release) -> None:
    """Say which period of several is shown."""
    if found.parts:
        line(f"For {found.slot}, one of {len(found.slots):,} periods (--at chooses another).")


def _routes(found: pr.Release, origin: str, destination: str, limit: int) -> "RouteList":
    try:
        return found.policy.routes(origin, destination, limit=limit)
    except NetworkError as problem:
        between = "; privroute serve gives routes between coordinates" if found.network.has_longitude_latitude else ""
        raise InputError(f"{problem}{between}") from None


def _cells(position: int, row: dict[str, Any], units: pr.Units) -> list[str]:
    cells = [str(position), chance(row["probability"])]
    cells += [f"{row['drawn']:,}"] if "drawn" in row else []
    cells += [f"{units.time_of(row[name]):.2f}" for name in ("free_flow_min", "expected_min") if row[name] is not None]
    return [*cells, " → ".join(str(node) for node in row["nodes"])]
