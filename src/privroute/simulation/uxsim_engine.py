"""Runs of UXsim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privroute.handover.fleet import Simulated
from privroute.handover.uxsim_world import add_vehicles, empty_world

if TYPE_CHECKING:
    from privroute.handover.fleet import Fleet
    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = ["run_uxsim"]


def run_uxsim(
    network: Network, pairs: Pairs, fleet: Fleet, routes: list[list[int]] | None, end_min: float
) -> Simulated:
    """Simulate a fleet on its routes; None: UXsim's reactive navigation, by the travel times of the moment."""
    world = empty_world(network, platoon=fleet.platoon, end_s=end_min * 60.0, seed=fleet.seed)
    add_vehicles(world, fleet, pairs, routes)
    world.exec_simulation()
    world.analyzer.basic_analysis()
    found = world.analyzer
    return Simulated(
        mean_min=float(found.average_travel_time) / 60.0,
        completed=float(found.trip_completed) / max(float(found.trip_all), 1.0),
        vehicles=fleet.vehicles,
    )
