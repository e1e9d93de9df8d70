"""Figure 1: the Sioux Falls network, the travel times of its links and the demand of its pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.experiments.drawing import BLACK, COLOURS, GREY, finish, new_figure
from privroute.experiments.result import Claim, Curve, Experiment, Options, Reported, Result
from privroute.network.sioux_falls import sioux_falls
from privroute.progress import tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from privroute.progress import Progress

__all__ = ["FIGURE_1"]

_PLACE = "section 5.1"
_FILE = "The built-in network contains the published figures."
_MOST_TYPICAL = 1000.0


def run(options: Options, progress: Progress | None = None) -> Result:
    """Read the built-in network and count."""
    del options
    scenario = sioux_falls()
    network, demand = scenario.network, scenario.demand
    minutes = network.free_flow_min
    hourly = demand.rate_per_min[demand.rate_per_min > 0] * 60.0
    times, links = np.unique(minutes, return_counts=True)
    rates, pairs = np.unique(hourly, return_counts=True)
    median = float(np.median(hourly))
    tell(progress, FIGURE_1.title, 1.0)
    rows = (
        ("nodes", "", 24.0, network.nodes, _FILE),
        ("links", "", 76.0, network.links, _FILE),
        ("pairs with demand", "", 528.0, hourly.size, f"All {len(demand.pairs)} ordered pairs of zones are kept here."),
        (
            "mean demand of a pair with demand",
            "vehicles per hour",
            682.0,
            hourly.mean(),
            "682.95, truncated in the paper.",
        ),
        ("shortest travel time of a link", "min", 2.0, minutes.min(), _FILE),
        ("longest travel time of a link", "min", 10.0, minutes.max(), _FILE),
    )
    assert network.coordinates is not None  # noqa: S101 - the built-in network has them
    return Result(
        name=FIGURE_1.name,
        title=FIGURE_1.title,
        text=(
            (
                "The network of LeBlanc, Morlok and Pierskalla (1975) as built in: topology on its coordinates, "
                "free-flow travel times, and mean demand. Nothing is simulated."
            ),
        ),
        curves=(
            Curve.of("nodes", "coordinates", *network.coordinates.T),
            Curve.of("links", "from and to (positions of nodes)", network.tail, network.head),
            Curve.of("travel times", "links with this time", times, links),
            Curve.of("demand", "pairs with this demand", rates, pairs),
        ),
        claims=(
            Claim(
                'Every pair "typically has a few hundred trips" an hour',
                "section 5.3",
                0 < median < _MOST_TYPICAL,
                f"the median pair with demand has {median:g} an hour, the largest {hourly.max():,.0f}",
            ),
        ),
        reported=tuple(
            Reported(_PLACE, name, unit, paper, "data", float(ours), why) for name, unit, paper, ours, why in rows
        ),
        noise="none",
    )


def draw(result: Result) -> Figure:
    """Topology, and two histograms."""
    figure, (left, middle, right) = new_figure(3, width=4.4)
    nodes, links = result.panel("nodes")[0], result.panel("links")[0]
    for tail, head in zip(links.x, links.y, strict=True):
        ends = int(tail), int(head)
        left.plot([nodes.x[end] for end in ends], [nodes.y[end] for end in ends], color=GREY, linewidth=1.2, zorder=1)
    left.scatter(nodes.x, nodes.y, s=75, color="white", edgecolors=COLOURS[0], linewidths=1.3, zorder=2)
    for number, point in enumerate(zip(nodes.x, nodes.y, strict=True), 1):
        left.annotate(str(number), point, ha="center", va="center", fontsize=6, color=BLACK, zorder=3)
    finish(left, title="(a) network topology", x="longitude (degrees)", y="latitude (degrees)", legend="")
    left.set_aspect(1.0 / np.cos(np.radians(np.mean(nodes.y))))
    left.grid(visible=False)
    left.tick_params(axis="x", labelrotation=30)
    times, rates = result.panel("travel times")[0], result.panel("demand")[0]
    middle.bar(times.x, times.y, width=0.8, color=COLOURS[0], edgecolor="white")
    finish(middle, title="(b) travel time on links", x="free-flow travel time (min)", y="links", legend="")
    right.hist(rates.x, bins=np.arange(0, 4601, 200).tolist(), weights=rates.y, color=COLOURS[2], edgecolor="white")
    finish(right, title="(c) mean demand of pairs", x="demand (vehicles per hour)", y="pairs", legend="")
    mean = float(np.average(rates.x, weights=rates.y))
    right.axvline(mean, color=BLACK, linestyle="--", linewidth=1.2, label=f"mean {mean:.0f} (paper: 682)")
    right.legend(fontsize=8)
    return figure


FIGURE_1 = Experiment(
    "figure-1",
    "Figure 1: the Sioux Falls data",
    run,
    draw,
    "Map of the 24 nodes and 76 links; histograms of link travel times and of hourly demand per pair.",
)
