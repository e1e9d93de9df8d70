"""The trade-off of total time against unfairness as files: fairness.csv and the picture fairness.png."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privroute.errors import MissingExtraError
from privroute.network.display_units import Units
from privroute.network.text_files import write_whole

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from privroute.advice.fairness import FairnessRow

__all__ = ["draw_fairness", "write_fairness"]

_WORST, _MEAN = "#d55e00", "#0072b2"  # of Okabe and Ito's palette
_OFFSET_POINTS = (6, 6)


def write_fairness(
    rows: Sequence[FairnessRow], folder: str | os.PathLike[str], units: Units | None = None
) -> list[Path]:
    """Write fairness.csv and fairness.png into a folder that is there; returns their paths."""
    place = Path(folder)
    with write_whole(place / "fairness.csv") as stream:
        table = csv.DictWriter(stream, list(rows[0].as_dict()), lineterminator="\n")
        table.writeheader()
        table.writerows(row.as_dict() for row in rows)
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an optional package
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "drawing the fairness curve") from None
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    draw_fairness(rows, figure.add_subplot(), units)
    figure.savefig(place / "fairness.png", dpi=150)
    return [place / "fairness.csv", place / "fairness.png"]


def draw_fairness(rows: Sequence[FairnessRow], axes: Any, units: Units | None = None) -> Any:
    """Draw unfairness over total time into Matplotlib axes, which are returned; each point is a level of fairness."""
    words = units or Units()
    above = [row.above_optimum for row in rows]
    axes.plot(above, [row.worst for row in rows], color=_WORST, marker="o", label="worst pair")
    axes.plot(above, [row.mean for row in rows], color=_MEAN, marker="s", label=f"mean {words.request}")
    for row in rows:
        axes.annotate(
            f"{row.fairness:g}", (row.above_optimum, row.worst), _OFFSET_POINTS, textcoords="offset points", fontsize=9
        )
    axes.set_xlabel(f"total {words.delay} above the optimum, percent")
    axes.set_ylabel("longest over shortest used route")
    axes.set_title("What fairness costs (labels: fairness)")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    return axes
