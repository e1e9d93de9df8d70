"""Sioux Falls, the network on which the paper's experiments run.

Topology, free-flow times, capacities and trips are the figures published by LeBlanc, Morlok and Pierskalla (1975),
"An efficient approach to solving the road network equilibrium traffic assignment problem", Transportation Research 9,
309-318, as AequilibraE's reference data carry them; the coordinates place the nodes in the city. Trips and capacities
are hourly. Data: GMNS files beside this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from privroute.network.gmns import read_gmns
from privroute.network.od_matrix import read_od_csv

if TYPE_CHECKING:
    from privroute.network.demand import Demand
    from privroute.network.network import LatencyKind, Network

__all__ = ["Scenario", "sioux_falls"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A network and the demand that belongs to it."""

    network: Network
    demand: Demand


def sioux_falls(*, latency: LatencyKind = "affine", factor: float = 2.0) -> Scenario:
    """Return Sioux Falls: 24 nodes, 76 links, 552 pairs (528 with demand), 360,600 trips per hour.

    latency : "affine" (the paper's: time is `factor` times free flow at capacity) or "bpr" (as published)
    """
    with resources.as_file(resources.files("privroute.network") / "data" / "sioux_falls") as folder:
        network = read_gmns(folder, latency=latency, factor=factor)
        return Scenario(network, read_od_csv(folder / "trips.csv", network))
