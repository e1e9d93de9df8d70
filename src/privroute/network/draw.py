"""Pictures of networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import InputError, MissingExtraError, arg
from privroute.network.checks import check_type, number_array
from privroute.network.demand import Demand
from privroute.network.network import Network
from privroute.network.text_files import as_path

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

__all__ = ["colour_range", "draw_network"]

_MOST_LABELS = 60
_LONG_SIDE_IN, _SHORT_SIDE_IN = 8.0, 4.0
_BAR_IN = 1.2  # beside the drawing, for the colours
_DISC_POINTS2 = (60.0, 220.0)  # area of the smallest and of the largest disc
_GREY, _DARK = "#c8ced6", "#435164"
_LIGHTEST, _SHADES = 0.2, 256  # from light, but not lost on white, to dark: the larger the value, the darker
_MOST_LINKS = (0.01, 0.99)  # quantiles
_FAR = 1.5  # times their distance: values further apart stretch the colours
_BESIDE = 0.035  # opposite links are drawn side by side, this far apart as a share of the median link


def draw_network(
    network: Network,
    path: str | os.PathLike[str] | None = None,
    *,
    demand: Demand | None = None,
    link_values: ArrayLike | None = None,
    link_title: str | None = None,
    zone_values: ArrayLike | None = None,
    zone_title: str = "",
    title: str | None = None,
    axes: Any = None,
) -> Any:
    """Draw links on their coordinates, coloured by a value, and zones as discs sized by their demand.

    link_values : (links,) values that determine the colours of the links; default: free-flow times
    link_title : what the colours mean, with its unit; default: free-flow time and its unit
    zone_values, zone_title : (zones,) values around 0 that colour the discs instead, NaN for none; links are then grey
    path : output file; its extension determines the format (.png, .svg, .pdf). Default: none is written
    axes : Matplotlib axes to draw into. Default: those of a new figure

    Returns the axes.
    """
    try:
        from matplotlib import colormaps  # noqa: PLC0415 - an optional package
        from matplotlib.collections import LineCollection  # noqa: PLC0415
        from matplotlib.colors import ListedColormap  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "drawing a network") from None
    check_type(network, Network, "network", InputError)
    place = None if path is None else as_path(path)
    if network.coordinates is None:
        raise InputError(f"the network has no coordinates, so it cannot be drawn; read it with {arg('nodes')}")
    colours = network.units.time_of(network.free_flow_min) if link_values is None else link_values
    values = number_array(colours, "link_values", network.links, InputError, signed=True)
    if demand is not None:
        check_type(demand, Demand, "demand", InputError)
        demand.pairs.check_fits(network)
    points = network.coordinates.copy()
    if network.has_longitude_latitude:
        points[:, 0] *= np.cos(np.radians(points[:, 1].mean()))  # so that a kilometre is as long east as north
    if axes is None:
        axes = _new_axes(points, shown=place is None)
    drawn, shapes = _shapes(network, points)
    shown = values[drawn]
    low, high = colour_range(shown)
    lines = LineCollection(
        shapes,
        array=shown if zone_values is None else None,
        clim=(low, high) if zone_values is None else None,
        cmap=ListedColormap(colormaps["YlOrRd"](np.linspace(_LIGHTEST, 1.0, _SHADES))),
        colors=None if zone_values is None else _GREY,
        linewidths=1.8 if network.links <= 500 else 0.8,  # noqa: PLR2004 - a picture's judgement
        zorder=1,
    )
    axes.add_collection(lines)
    discs = _draw_zones(axes, network, points, demand, zone_values)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.set_axis_off()
    if title:
        axes.set_title(title, fontsize=10)
    usual = f"free-flow time ({network.units.time})"
    coloured, meaning = (lines, link_title or usual) if zone_values is None else (discs, zone_title)
    beyond = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    extend = "neither" if zone_values is not None else beyond[bool(shown.min() < low), bool(shown.max() > high)]
    axes.figure.colorbar(coloured, ax=axes, label=meaning, shrink=0.6, aspect=30, pad=0.02, extend=extend)
    if place is not None:
        try:
            axes.figure.savefig(place, dpi=150, bbox_inches="tight")
        except (OSError, ValueError) as problem:
            raise InputError(f"{path}: cannot be written ({problem}); check the folder and the ending") from None
    return axes


def _new_axes(points: np.ndarray, *, shown: bool) -> Any:
    """Axes of a figure in the proportions of the network; of pyplot's where it is to be shown, as in notebooks."""
    span = np.ptp(points, axis=0)
    width, height = np.maximum(span / max(span.max(), 1e-300) * _LONG_SIDE_IN, _SHORT_SIDE_IN)
    size = (width + _BAR_IN, height)
    if shown:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an optional package

        return plt.subplots(figsize=size, layout="constrained")[1]
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def colour_range(values: np.ndarray) -> tuple[float, float]:
    """Values at the ends of the colours: all, but for a few far outside, which would leave one colour for the rest."""
    low, high = float(values.min()), float(values.max())
    inner, outer = np.quantile(values, _MOST_LINKS)
    if high - low > _FAR * (outer - inner) and outer > inner:
        return float(inner), float(outer)
    return low, high


def _shapes(network: Network, points: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Links to draw, and their lines: streets as they run, otherwise straight; opposite links side by side."""
    start, end = points[network.tail], points[network.head]
    along = end - start
    length = np.hypot(*along.T)
    aside = np.column_stack([along[:, 1], -along[:, 0]]) / np.maximum(length, 1e-300)[:, None]
    if network.streets is None:
        shift = aside * _BESIDE * np.median(length)
        return np.arange(network.links), list(np.stack([start + shift, end + shift], axis=1))
    drawn = np.flatnonzero(network.streets.drawn)
    shift = aside * _BESIDE * np.median(length[drawn] if drawn.size else length)
    places = network.streets.points.copy()
    if network.has_longitude_latitude and network.coordinates is not None:
        places[:, 0] *= np.cos(np.radians(network.coordinates[:, 1].mean()))
    bounds = network.streets.start
    return drawn, [places[bounds[link] : bounds[link + 1]] + shift[link] for link in drawn.tolist()]


def _draw_zones(
    axes: Any, network: Network, points: np.ndarray, demand: Demand | None, zone_values: ArrayLike | None
) -> Any:
    smallest, largest = _DISC_POINTS2
    sizes = np.full(network.nodes, 60.0)
    if demand is not None:
        ends = np.bincount(demand.pairs.origin, demand.rate_per_min, network.nodes)
        ends += np.bincount(demand.pairs.destination, demand.rate_per_min, network.nodes)
        sizes = smallest + (largest - smallest) * ends / max(float(ends.max()), 1e-300)
    zones = points[network.zones]
    few = network.zones.size <= _MOST_LABELS
    scale = 1.0 if few else 0.05
    if zone_values is None:
        look: dict[str, Any] = {"c": "white" if few else _DARK, "edgecolors": _DARK if few else "none"}
    else:
        values = np.asarray(zone_values, dtype=float)
        if values.shape != (network.zones.size,):
            raise InputError(f"zone_values has shape {values.shape}; pass one for each of {network.zones.size:,} zones")
        largest_value = max(float(np.nanmax(np.abs(values), initial=0.0)), 1e-9)
        look = {"c": values, "cmap": "PuOr_r", "vmin": -largest_value, "vmax": largest_value, "edgecolors": _DARK}
        scale = max(scale, 0.3)
    discs = axes.scatter(*zones.T, s=sizes[network.zones] * scale, linewidths=0.6, zorder=2, **look)
    if few:
        for zone in network.zones:
            text = str(network.end_labels[zone])
            axes.annotate(text, points[zone], ha="center", va="center", fontsize=6.5, color="black", zorder=3)
    return discs
