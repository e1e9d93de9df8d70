"""Runs of UXsim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privroute.handover.fleet import Simulated
from privroute.handover.uxsim_world import TIMES_PERIOD, add_vehicles, empty_world

if TYPE_CHECKING:
    from privroute.handover.fleet import Fleet
    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = ["run_uxsim"]


def run_uxsim(network: Network, pairs: Pairs, fleet: Fleet, routes: list[list[int]] | None) -> Simulated:
    """Simulate a fleet on its routes; None: UXsim's reactive navigation, by the travel times of the moment."""
    end_s = TIMES_PERIOD * fleet.period_min * 60.0
    world = empty_world(network, platoon=fleet.platoon, end_s=end_s, seed=fleet.seed)
    add_vehicles(world, fleet, pairs, routes)
    world.exec_simulation()
    world.analyzer.basic_analysis()
    found = world.analyzer
    return Simulated(
        mean_min=float(found.average_travel_time) / 60.0,
        completed=float(found.trip_completed) / max(float(found.trip_all), 1.0),
        vehicles=fleet.vehicles,
    )
