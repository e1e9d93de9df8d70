"""How figures look: colours that colour-blind people can tell apart, a line style and a marker for every setting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from privroute.errors import MissingExtraError
from privroute.experiments.settings import CERTIFIED, COUNTS, DAILY, LETTER, METRIC, MINIMISER, REPORTED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.figure import Figure

    from privroute.experiments.result import Curve

__all__ = ["BLACK", "COLOURS", "GREY", "Look", "draw_curves", "finish", "image", "look", "new_figure"]

# Okabe and Ito's palette, in an order whose neighbours differ in lightness too
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f5f3f")
BLACK, GREY = "#000000", "#767676"
_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DPI = 150
_SHORT_AXIS = 2  # decades


@dataclass(frozen=True, slots=True)
class Look:
    """Colour, line and marker of one curve."""

    colour: str
    line: Any = "-"
    marker: str = ""


_OF_SETTING = {
    REPORTED: Look(BLACK, "none", "*"),
    LETTER: Look(COLOURS[1], "--", "s"),
    CERTIFIED: Look(COLOURS[0], "-", "o"),
    METRIC: Look(COLOURS[5], "-", "P"),
    MINIMISER: Look(COLOURS[2], "-.", "^"),
    DAILY: Look(COLOURS[3], (0, (5, 1, 1, 1, 1, 1)), "D"),
    COUNTS: Look(COLOURS[4], "-", "v"),
}


def look(label: str, position: int = 0) -> Look:
    """The look of a setting wherever it is drawn; other labels by their position."""
    by_position = Look(
        COLOURS[position % len(COLOURS)], _LINES[position % len(_LINES)], _MARKERS[position % len(_MARKERS)]
    )
    return _OF_SETTING.get(label, by_position)


def new_figure(columns: int, *, rows: int = 1, width: float = 4.6, height: float = 4.0) -> tuple[Figure, list[Any]]:
    """A figure and its axes, row by row; width and height of one panel in inches."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an optional package
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "the figures of the report") from None
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.ravel())


def draw_curves(
    axes: Any, curves: Iterable[Curve], *, markers: Literal["all", "last"] = "all", floor: float | None = None
) -> None:
    """Draw lines, and the range over draws as a band where there is one.

    markers : at all points, or where the curve ends
    floor : smallest value on a logarithmic axis; what is below is drawn there
    """
    for position, curve in enumerate(curves):
        style = look(curve.label, position)
        y, low, high = (
            tuple(values if floor is None else (max(value, floor) for value in values))
            for values in (curve.y, curve.low, curve.high)
        )
        axes.plot(
            curve.x,
            y,
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markevery=[-1] if markers == "last" else None,
            markersize=5,
            linewidth=1.6,
            label=curve.label,
        )
        if low:
            axes.fill_between(curve.x, low, high, color=style.colour, alpha=0.18, linewidth=0)


def finish(
    axes: Any,
    *,
    title: str,
    x: str,
    y: str,
    log: str = "",
    legend: Literal["inside", "below", ""] = "inside",
    columns: int = 2,
) -> None:
    """Title, axis labels with units, scales ("x", "y" or "xy" logarithmic), grid and legend; columns of one below."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8)
    for letter in log:
        getattr(axes, f"set_{letter}scale")("log")
        _whole_decades(axes, letter)
    axes.grid(visible=True, which="major", alpha=0.3)
    if legend == "inside":
        axes.legend(fontsize=7.5, framealpha=0.9)
    elif legend == "below":
        axes.legend(fontsize=7.5, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns)


def _whole_decades(axes: Any, letter: str) -> None:
    """Limits of a short logarithmic axis at powers of ten, and no labels between them, which would crowd it."""
    from matplotlib.ticker import NullFormatter  # noqa: PLC0415 - there, since a figure was made

    low, high = getattr(axes, f"get_{letter}lim")()
    if 0 < low < high < low * 10.0**_SHORT_AXIS and letter == "y":
        axes.set_ylim(10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high)))
    getattr(axes, f"{letter}axis").set_minor_formatter(NullFormatter())


def image(figure: Figure, kind: str, about: str) -> bytes:
    """The figure as a file of this kind, "png" or "svg", described by `about`; the same figure gives the same bytes."""
    from matplotlib import rc_context  # noqa: PLC0415 - there, since a figure was made

    held = BytesIO()
    with rc_context({"svg.hashsalt": "privroute"}):
        figure.savefig(
            held, format=kind, dpi=_DPI, metadata={"Description": about, **({"Date": None} if kind == "svg" else {})}
        )
    return held.getvalue()
