"""`privroute link`: show which pairs use a link."""

from typing import Annotated, Any

import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.route import load, say_period
from privroute.cli.terminal import chance, line, say_json, table

__all__ = ["link"]


def link(
    release: inputs.ReleaseArgument,
    label: Annotated[str, typer.Argument(metavar="LINK", help="Label of the link.", show_default=False)],
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="Show at most this many pairs.")] = 20,
    at: inputs.AtOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show which pairs use a link, and with how much of the released demand (select link).

    Labels of links are those of links.parquet, of the exports and of the page.
    """
    found = load(release, at=at)
    used = pr.select_link(found.policy, label, found.demand)
    pairs, names = found.policy.pairs, found.network.end_labels
    units = found.network.units
    flow = units.flow.replace(" per hour", " / h")
    rows: list[dict[str, Any]] = [
        {
            "origin": names[pairs.origin[pair]],
            "destination": names[pairs.destination[pair]],
            "probability": float(used.probability[position]),
            "vehicles_per_h": None if used.rate_per_min is None else float(used.rate_per_min[position]) * 60,
        }
        for position, pair in enumerate(used.pair[:limit].tolist())
    ]
    labels, ends = found.network.node_labels, (found.network.tail[used.link], found.network.head[used.link])
    total = None if used.rate_per_min is None else float(used.rate_per_min.sum()) * 60
    if as_json:
        about = {"link": found.network.link_labels[used.link], "from_node": labels[ends[0]], "to_node": labels[ends[1]]}
        about |= {"at": found.slot.as_dict} if found.parts else {}
        say_json({**about, "pairs_using": len(used), "vehicles_per_h": total, "pairs": rows, "units": units.as_dict()})
        return
    say_period(found)
    table(
        f"Link {label}, from {labels[ends[0]]} to {labels[ends[1]]}",
        ["pair", f"share of its {units.requests}", *([] if total is None else [flow])],
        [
            [f"{row['origin']} → {row['destination']}", chance(row["probability"])]
            + ([] if total is None else [units.flow_text(row["vehicles_per_h"] / 60, 1)])
            for row in rows
        ],
    )
    shown = "" if len(used) <= limit else f"; --limit shows more than {limit}"
    traffic = "" if total is None else f", {units.flow_text(total / 60)} {units.flow}"
    line(f"Used by {len(used):,} pairs{traffic}{shown}.")
