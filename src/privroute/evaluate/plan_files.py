"""A plan as files: plan.csv, plan.json and the picture plan.png."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privroute.errors import InputError, MissingExtraError
from privroute.network.display_units import Units
from privroute.network.text_files import write_whole
from privroute.study.guarantee import short

if TYPE_CHECKING:
    import os

    from privroute.evaluate.plan import Plan

__all__ = ["draw_plan", "write_plan"]

_FLOOR_PERCENT = 1e-9  # what is not above the optimum is drawn here: a logarithmic axis has no zero
_COLOUR = "#0072b2"  # blue, vermilion, green and black of Okabe and Ito's palette
_OTHER_COLOUR = "#cc79a7"
_LINES = (("#56b4e9", (0, (5, 1))), ("#d55e00", "--"), ("#009e73", "-."), ("black", ":"))


def write_plan(plan: Plan, folder: str | os.PathLike[str], units: Units | None = None) -> list[Path]:
    """Write plan.csv, plan.json and plan.png into a folder; returns their paths. units : words of the picture."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{place}: cannot be used as a folder ({problem.strerror}); choose another") from None
    with write_whole(place / "plan.csv") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["row", "epsilon", "delta", "noise_scale", "median_percent", "low_percent", "high_percent"])
        caveat = "" if plan.caveat is None else ", delta too large to be private"
        for name, rows in ((plan.mechanism, plan.rows), (plan.other_mechanism, plan.other_rows)):
            for row in rows:
                values = [row.epsilon, plan.delta, row.noise_scale, row.median, row.low, row.high]
                writer.writerow([f"{name}{caveat}", *values])
        exact = plan.without_noise
        writer.writerow(["no noise, not private", "", "", 0, plan.without_noise_median, min(exact), max(exact)])
        for other in plan.without_data:
            writer.writerow([other.name, "", "", "", other.percent, other.percent, other.percent])
    with write_whole(place / "plan.json") as stream:
        json.dump(plan.as_dict(), stream, indent=2, allow_nan=False)
        stream.write("\n")
    draw_plan(plan, place / "plan.png", units)
    return [place / name for name in ("plan.csv", "plan.json", "plan.png")]


def draw_plan(plan: Plan, path: str | os.PathLike[str], units: Units | None = None) -> None:
    """Draw median and range over epsilon, both axes logarithmic, with what needs no data as horizontal lines."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an optional package
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "drawing a plan") from None
    said = (units or Units()).said
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    epsilons = [row.epsilon for row in plan.rows]
    low, high = [_drawn(row.low) for row in plan.rows], [_drawn(row.high) for row in plan.rows]
    axes.vlines(epsilons, low, high, color=_COLOUR, alpha=0.5)
    axes.fill_between(
        epsilons,
        low,
        high,
        color=_COLOUR,
        alpha=0.2,
        linewidth=0,
        label=f"range of {len(plan.without_noise)} draws",
    )
    axes.plot(
        epsilons,
        [_drawn(row.median) for row in plan.rows],
        color=_COLOUR,
        marker="o",
        label=f"learned, {plan.mechanism} (median)",
    )
    if plan.other_rows:
        axes.plot(
            epsilons,
            [_drawn(row.median) for row in plan.other_rows],
            color=_OTHER_COLOUR,
            marker="s",
            markersize=4,
            label=f"learned, {plan.other_mechanism} (median)",
        )
    axes.axhline(
        _drawn(plan.without_noise_median),
        color="#999999",
        linewidth=1.5,
        label="same days, no noise (not private)",
    )
    for other, (colour, style) in zip(plan.without_data, _LINES, strict=False):
        axes.axhline(_drawn(other.percent), color=colour, linestyle=style, label=said(f"without data: {other.name}"))
    axes.set_xscale("log")
    axes.set_yscale("log")
    delta = f"delta {short(plan.delta)}" + ("" if plan.caveat is None else ", too large to be called private")
    axes.set_xlabel(said(f"epsilon for one trip ({delta}); smaller is more private"))
    axes.set_ylabel(said("travel time above the optimum (%)"))
    axes.set_title(
        "What privacy is expected to cost: "
        + said(f"{plan.days:,} days, {plan.expected_trips:,.0f} trips expected (simulated)"),
        fontsize=11,
    )
    axes.grid(visible=True, which="major", alpha=0.3)
    figure.legend(loc="outside lower center", fontsize=9, ncols=2, frameon=False)
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as problem:
        raise InputError(f"{path}: cannot be written ({problem}); check the folder and the ending") from None


def _drawn(percent: float) -> float:
    return max(percent, _FLOOR_PERCENT)
