"""Gains, losses and compliance as files: pairs.csv, compliance.csv, and people.png, a map beside the curve."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privroute.errors import InputError, MissingExtraError
from privroute.network.draw import draw_network
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
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{place}: cannot be used as a folder ({problem.strerror}); choose another") from None
    with write_whole(place / "pairs.csv") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(["origin", "destination", "trips_per_h", "policy_min", "fastest_min", "equilibrium_min"])
        names, pairs = losses.network.end_labels, losses.demand.pairs
        minutes = (losses.demand.rate_per_min * 60, losses.policy_min, losses.fastest_min, losses.equilibrium_min)
        for pair, row in enumerate(zip(*(values.tolist() for values in minutes), strict=True)):
            table.writerow(
                [names[pairs.origin[pair]], names[pairs.destination[pair]], *(f"{value:.6g}" for value in row)]
            )
    with write_whole(place / "compliance.csv") as stream:
        rows = csv.DictWriter(stream, list(followed[0].as_dict()), lineterminator="\n")
        rows.writeheader()
        rows.writerows(row.as_dict() for row in followed)
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
    draw_compliance(followed, parts[-1])
    figure.savefig(path, dpi=150)


def draw_losses(losses: Losses, axes: Any) -> Any:
    """Draw zones by the mean minutes that their trips lose against the equilibrium; returns the axes."""
    network = losses.network
    if network.coordinates is None:
        raise InputError("the network has no coordinates, so there is no map to draw")
    return draw_network(
        network,
        demand=losses.demand,
        zone_values=losses.zone_loss()[network.zones],
        zone_title="minutes lost by a mean trip from the zone",
        title="Gains (violet) and losses (orange) against the equilibrium",
        axes=axes,
    )


def draw_compliance(followed: Sequence[ComplianceRow], axes: Any) -> Any:
    """Draw minutes per trip over the share that follows; returns the axes."""
    shares = [100 * row.share for row in followed]
    axes.plot(shares, [row.mean_min for row in followed], color=_MEAN, marker="o", label="all trips")
    axes.plot(shares, [row.followers_min for row in followed], color=_FOLLOWERS, linestyle="--", label="followers")
    axes.plot(shares, [row.others_min for row in followed], color=_OTHERS, linestyle=":", label="others")
    axes.set_xlabel("share of drivers who follow the policy, percent")
    axes.set_ylabel("minutes per trip")
    axes.set_title("If only some follow")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    return axes
