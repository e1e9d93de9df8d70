"""A release for MATSim: network.xml (network_v2) and plans.xml (population_v6) with a person for each vehicle.

Node i is i, link e is e. A person starts on the link in<i> that leads into its origin i, because MATSim's drivers do
not drive the link on which they start, and drives the links of a route drawn from the policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np

from privroute.handover.fleet import Fleet
from privroute.handover.physical import PhysicalLinks, places_m
from privroute.handover.routes import demand_of
from privroute.network.text_files import write_whole
from privroute.study.periods import SECOND_US

if TYPE_CHECKING:
    import io
    from pathlib import Path

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.progress import Progress
    from privroute.release.release import Release

__all__ = ["FILES", "write_matsim"]

FILES = ("network.xml", "plans.xml")
_HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n'
_DTD = "http://www.matsim.org/files/dtd/"
_ENTRY_M, _ENTRY_PER_H = 10.0, 1e6
_USUAL_START_S = 8 * 3600.0  # of a release that does not say its hours


def write_matsim(
    release: Release,
    folder: Path,
    *,
    demand: Demand | None = None,
    period_min: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Path]:
    """Write both files into a folder that is there.

    period_min : how long vehicles depart, from the beginning of the release's period on (08:00 where its hours are not
        known); None: as long as the period is
    seed : from which vehicles, departures and routes are drawn
    """
    period = release.slot.period
    length_min = period.minutes if period_min is None else period_min
    fleet = Fleet.draw(demand_of(release, demand), period_min=length_min, platoon=1, seed=seed)
    start_s = _USUAL_START_S if period.begins is None else period.start_us / SECOND_US
    policy = release.policy
    origins = np.unique(policy.pairs.origin)
    with write_whole(folder / "network.xml") as stream:
        _write_network(stream, release.network, origins.tolist())
    with write_whole(folder / "plans.xml") as stream:
        stream.write(f'{_HEADER}<!DOCTYPE population SYSTEM "{_DTD}population_v6.dtd">\n<population>\n')
        origin = policy.pairs.origin[fleet.pair].tolist()
        departure = fleet.departure_s.tolist()
        for unit, links in fleet.each_route(policy, progress):
            first, last = f"in{origin[unit]}", links[-1]
            route = " ".join([first, *map(str, links)])
            stream.write(
                f'<person id="{unit}"><plan selected="yes">\n'
                f'<activity type="start" link="{first}" end_time="{_clock(start_s + departure[unit])}"/>\n'
                f'<leg mode="car"><route type="links" start_link="{first}" end_link="{last}">{route}</route></leg>\n'
                f'<activity type="end" link="{last}"/>\n</plan></person>\n'
            )
        stream.write("</population>\n")
    return [folder / name for name in FILES]


def _write_network(stream: io.TextIOWrapper, network: Network, origins: list[int]) -> None:
    physical, places = PhysicalLinks.of(network), places_m(network)
    stream.write(f'{_HEADER}<!DOCTYPE network SYSTEM "{_DTD}network_v2.dtd">\n<network>\n<nodes>\n')
    stream.writelines(f'<node id="{node}" x="{x:.2f}" y="{y:.2f}"/>\n' for node, (x, y) in enumerate(places.tolist()))
    stream.writelines(
        f'<node id="at{node}" x="{places[node, 0] - _ENTRY_M:.2f}" y="{places[node, 1]:.2f}"/>\n' for node in origins
    )
    stream.write('</nodes>\n<links capperiod="01:00:00">\n')
    stream.writelines(
        f'<link id="{link}" from="{network.tail[link]}" to="{network.head[link]}" '
        f'length="{physical.length_m[link]:.6g}" freespeed="{physical.speed_m_per_s[link]:.6g}" '
        f'capacity="{physical.capacity_per_h[link]:.6g}" permlanes="{physical.lanes[link]}" oneway="1" '
        f'modes="car" origid={quoteattr(str(network.link_labels[link]))}/>\n'
        for link in range(network.links)
    )
    stream.writelines(
        f'<link id="in{node}" from="at{node}" to="{node}" length="{_ENTRY_M:g}" freespeed="{_ENTRY_M:g}" '
        f'capacity="{_ENTRY_PER_H:g}" permlanes="100" oneway="1" modes="car"/>\n'
        for node in origins
    )
    stream.write("</links>\n</network>\n")


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
