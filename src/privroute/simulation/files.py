"""A simulation as files: simulation.json and the picture simulation.png."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privroute.errors import InputError, MissingExtraError
from privroute.network.text_files import write_whole
from privroute.simulation.comparison import NAMES

if TYPE_CHECKING:
    import os

    from privroute.simulation.comparison import Simulation

__all__ = ["draw_simulation", "write_simulation"]

_COLOURS = {"released": "#0072b2", "private": "#0072b2", "optimum": "#009e73"}  # of Okabe and Ito's palette
_OTHER_COLOUR = "#999999"


def write_simulation(found: Simulation, folder: str | os.PathLike[str]) -> list[Path]:
    """Write simulation.json and simulation.png into a folder (made if it is not there); returns their paths."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{place}: cannot be used as a folder ({problem.strerror}); choose another") from None
    with write_whole(place / "simulation.json") as stream:
        json.dump(found.as_dict(), stream, indent=2, allow_nan=False)
        stream.write("\n")
    try:
        from matplotlib import rc_context, rcParamsDefault  # noqa: PLC0415
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an optional package
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "drawing a simulation") from None
    with rc_context({"font.family": rcParamsDefault["font.family"]}):  # UXsim changes it for the whole process
        figure = Figure(figsize=(8, 3.6), layout="constrained")
        FigureCanvasAgg(figure)
        draw_simulation(found, figure.add_subplot())
        figure.savefig(place / "simulation.png", dpi=150)
    return [place / "simulation.json", place / "simulation.png"]


def draw_simulation(found: Simulation, axes: Any) -> Any:
    """Draw minutes per trip as bars, with the deviation over seeds, into Matplotlib axes, which are returned."""
    rows = list(reversed(found.rows.values()))
    axes.barh(
        [NAMES.get(row.name, row.name) for row in rows],
        [row.minutes for row in rows],
        xerr=[row.deviation for row in rows],
        color=[_COLOURS.get(row.name, _OTHER_COLOUR) for row in rows],
        capsize=3,
    )
    widest = max(row.minutes + row.deviation for row in rows)
    for position, row in enumerate(rows):
        share = min(row.completed)
        late = "" if share > 0.9995 else f" ({share:.1%} arrived)"  # noqa: PLR2004 - what rounds to 100 %
        axes.text(row.minutes + row.deviation + 0.01 * widest, position, f"{row.minutes:.2f}{late}", va="center")
    axes.set_xlim(0, 1.3 * widest)
    axes.set_xlabel(f"minutes per trip in {found.engine}, {found.vehicles:,} vehicles, {len(found.seeds)} seeds")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes
