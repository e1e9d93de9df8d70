"""A release for SUMO: a plain network, route distributions with a flow for each pair, and configurations.

nodes.nod.xml, edges.edg.xml : the network, from which `netconvert -c network.netccfg` makes network.net.xml
routes.rou.xml : a routeDistribution for each pair with traffic, and a flow that draws from it; departures are random
network.netccfg, simulation.sumocfg : configurations of netconvert and sumo

Node i is n<i>, link e is e<e>, the distribution of pair w is p<w>; labels of links stand in the attribute `name`.
Lengths, speeds and lanes are those of `privroute.handover.physical`.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np

from privroute.handover.physical import PhysicalLinks, places_m
from privroute.handover.routes import MOST_ROUTES, demand_of, routes_by_pair
from privroute.network.text_files import write_whole

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator
    from pathlib import Path

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.progress import Progress
    from privroute.release.release import Release

__all__ = ["FILES", "NETCONVERT_OPTIONS", "write_sumo", "write_sumo_network"]

FILES = ("nodes.nod.xml", "edges.edg.xml", "network.netccfg", "simulation.sumocfg", "routes.rou.xml")
NETCONVERT_OPTIONS = {
    "no-internal-links": "true",  # a route is as long as its links
    "no-turnarounds": "true",
    "offset.disable-normalization": "true",
    "junctions.corner-detail": "0",
    "junctions.minimal-shape": "true",  # wide roads that meet at a sharp angle would move the junction otherwise
}
_FEWEST_VEHICLES = 1e-3  # a pair that is expected to send fewer has no flow: SUMO cannot wait so long for a vehicle
_HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n'


def write_sumo(
    release: Release,
    folder: Path,
    *,
    demand: Demand | None = None,
    period_min: float | None = None,
    most_routes: int = MOST_ROUTES,
    progress: Progress | None = None,
) -> list[Path]:
    """Write all files into a folder that is there.

    period_min : how long vehicles depart; None: as long as the release's period is
    """
    traffic = demand_of(release, demand)
    length_min = release.slot.period.minutes if period_min is None else period_min
    write_sumo_network(release.network, folder)
    seconds = length_min * 60.0
    with write_whole(folder / "simulation.sumocfg") as stream:
        _write_configuration(
            stream,
            "sumoConfiguration",
            {
                "input": {"net-file": "network.net.xml", "route-files": "routes.rou.xml"},
                "time": {"begin": "0", "end": f"{2.5 * seconds:g}"},
                "processing": {"mesosim": "true"},
            },
        )
    with write_whole(folder / "routes.rou.xml") as stream:
        stream.write(f"{_HEADER}<routes>\n")
        flows = []
        least = _FEWEST_VEHICLES / length_min
        for row in routes_by_pair(release, traffic, above_per_min=least, most_routes=most_routes, progress=progress):
            stream.write(f'<routeDistribution id="p{row.pair}">\n')
            for number, (chance, links) in enumerate(zip(row.probability, row.links, strict=True)):
                edges = " ".join(f"e{link}" for link in links)
                stream.write(f'<route id="p{row.pair}_{number}" edges="{edges}" probability="{chance:.9g}"/>\n')
            stream.write("</routeDistribution>\n")
            flows.append((row.pair, row.rate_per_min * 60.0))
        for pair, per_hour in flows:  # numbers only, so that few bytes wait for their place behind the routes
            stream.write(
                f'<flow id="f{pair}" begin="0" end="{seconds:g}" period="exp({per_hour / 3600:.9g})" route="p{pair}" '
                'departLane="best" departSpeed="max"/>\n'
            )
        stream.write("</routes>\n")
    return [folder / name for name in FILES]


def write_sumo_network(network: Network, folder: Path) -> None:
    """Write nodes, edges and the configuration of netconvert."""
    physical = PhysicalLinks.of(network)
    with ExitStack() as stack:
        nodes, edges, config = (stack.enter_context(write_whole(folder / name)) for name in FILES[:3])
        nodes.write(f"{_HEADER}<nodes>\n")
        for node, (x, y) in enumerate(places_m(network).tolist()):
            # unregulated: capacities are those of the links, junctions add no delay of their own
            nodes.write(f'<node id="n{node}" x="{x:.2f}" y="{y:.2f}" type="unregulated"/>\n')
        nodes.write("</nodes>\n")
        edges.write(f"{_HEADER}<edges>\n")
        for link, shape in enumerate(_shapes(network)):
            edges.write(
                f'<edge id="e{link}" from="n{network.tail[link]}" to="n{network.head[link]}" '
                f'numLanes="{physical.lanes[link]}" speed="{physical.speed_m_per_s[link]:.6g}" '
                f'length="{physical.length_m[link]:.6g}" name={quoteattr(str(network.link_labels[link]))}{shape}/>\n'
            )
        edges.write("</edges>\n")
        _write_configuration(
            config,
            "configuration",
            {
                "input": {"node-files": "nodes.nod.xml", "edge-files": "edges.edg.xml"},
                "output": {"output-file": "network.net.xml"},
                "processing": NETCONVERT_OPTIONS,
            },
        )


def _shapes(network: Network) -> Iterator[str]:
    """The attribute `shape` of each link; empty where it is a straight line."""
    streets = network.streets
    for link in range(network.links):
        line = None if streets is None else places_m(network, np.asarray(streets.line(link)))
        if line is None or len(line) <= 2:  # noqa: PLR2004 - two ends
            yield ""
        else:
            yield ' shape="' + " ".join(f"{x:.2f},{y:.2f}" for x, y in line.tolist()) + '"'


def _write_configuration(stream: io.TextIOWrapper, root: str, sections: dict[str, dict[str, str]]) -> None:
    stream.write(f"{_HEADER}<{root}>\n")
    for section, values in sections.items():
        stream.write(f"<{section}>\n")
        stream.writelines(f"<{name} value={quoteattr(value)}/>\n" for name, value in values.items())
        stream.write(f"</{section}>\n")
    stream.write(f"</{root}>\n")
