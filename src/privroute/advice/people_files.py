"""Gains, losses and compliance as files: pairs.csv, compliance.csv, and people.png, a map beside the curve."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privroute.errors import InputError, MissingExtraError
from privroute.network.display_units import Units
from privroute.network.draw import draw_network
from privroute.network.features import in_units
from privroute.network.text_files import write_whole

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from privroute.advice.compliance import ComplianceRow
    from privroute.advice.losses import Losses

__all__ = ["draw_compliance", "draw_losses", "write_people"]

_FOLLOWERS, _OTHERS, _MEAN = "#0072b2", "#d55e00", "#000000"  # of Okabe and Ito's palette


def write_people(losses: Losses, followed: Sequence[ComplianceRow], folder: str | os.PathLike[str]) -> list[Path]:
    """Write the files into a folder (made if it is not there); returns their paths. The map needs coordinates."""
    place, units = Path(folder), losses.network.units
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{place}: cannot be used as a folder ({problem.strerror}); choose another") from None
    with write_whole(place / "pairs.csv") as stream:
        table = csv.writer(stream, lineterminator="\n")
        names, pairs = losses.network.end_labels, losses.demand.pairs
        minutes = {name: getattr(losses, name).tolist() for name in ("policy_min", "fastest_min", "equilibrium_min")}
        traffic = "trips_per_h" if units.on_roads else "traffic_per_h"
        columns = in_units(units, {traffic: (losses.demand.rate_per_min * 60).tolist(), **minutes})
        table.writerow(["origin", "destination", *columns])
        for pair, row in enumerate(zip(*columns.values(), strict=True)):
            table.writerow(
                [names[pairs.origin[pair]], names[pairs.destination[pair]], *(f"{value:.6g}" for value in row)]
            )
    with write_whole(place / "compliance.csv") as stream:
        shares = in_units(units, {name: [row.as_dict()[name] for row in followed] for name in followed[0].as_dict()})
        table = csv.writer(stream, lineterminator="\n")
        table.writerows([list(shares), *zip(*shares.values(), strict=True)])
    _write_picture(losses, followed, place / "people.png")
    return [place / name for name in ("pairs.csv", "compliance.csv", "people.png")]


def _write_picture(losses: Losses, followed: Sequence[ComplianceRow], path: Path) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an optional package
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "drawing gains and losses") from None
    with_map = losses.network.coordinates is not None
    figure = Figure(figsize=(12 if with_map else 6, 5.2), layout="constrained")
    FigureCanvasAgg(figure)
    parts = figure.subplots(1, 2 if with_map else 1, squeeze=False)[0]
    if with_map:
        draw_losses(losses, parts[0])
    draw_compliance(followed, parts[-1], losses.network.units)
    figure.savefig(path, dpi=150)


def draw_losses(losses: Losses, axes: Any) -> Any:
    """Draw zones by the mean minutes that their trips lose against the equilibrium; returns the axes."""
    network = losses.network
    if network.coordinates is None:
        raise InputError("the network has no coordinates, so there is no map to draw")
    return draw_network(
        network,
        demand=losses.demand,
        zone_values=network.units.time_of(losses.zone_loss()[network.zones]),
        zone_title=f"{network.units.times} lost by a mean {network.units.request} from the zone",
        title="Gains (violet) and losses (orange) against the equilibrium",
        axes=axes,
    )


def draw_compliance(followed: Sequence[ComplianceRow], axes: Any, units: Units | None = None) -> Any:
    """Draw minutes per trip, or other units, over the share that follows; returns the axes."""
    shown = units or Units()
    shares = [100 * row.share for row in followed]
    for name, label, look in (
        ("mean_min", f"all {shown.requests}", {"color": _MEAN, "marker": "o"}),
        ("followers_min", "followers", {"color": _FOLLOWERS, "linestyle": "--"}),
        ("others_min", "others", {"color": _OTHERS, "linestyle": ":"}),
    ):
        axes.plot(shares, [shown.time_of(getattr(row, name)) for row in followed], label=label, **look)
    who = "drivers who follow" if shown.on_roads else f"{shown.requests} that follow"
    axes.set_xlabel(f"share of {who} the policy, percent")
    axes.set_ylabel(f"{shown.times} per {shown.request}")
    axes.set_title("If only some follow")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    return axes
