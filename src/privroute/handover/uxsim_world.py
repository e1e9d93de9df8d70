"""A network and vehicles as a world of UXsim, the kinematic-wave simulator (Seo 2025).

A link is as long as its free-flow time at one speed, has enough lanes for its capacity, and lets out no more than its
capacity: UXsim's own fundamental diagram decides on queues and delays, no volume-delay function does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import MissingExtraError
from privroute.handover.fleet import Fleet
from privroute.handover.physical import check_roads
from privroute.handover.routes import demand_of
from privroute.progress import check_progress, tell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.network.pairs import Pairs
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress
    from privroute.release.release import Release

__all__ = ["add_vehicles", "empty_world", "simulated_min", "to_uxsim"]

_SPEED_M_PER_S = 16.7
_LANE_PER_S = 0.7  # what a lane of UXsim's usual diagram lets through, vehicles per second
_JAM_PER_M = 0.2
_SHORTEST_S = 5.0  # a platoon of ten needs about as much; connectors that take no time get it
_UNITS_BETWEEN = 1000

_TIMES_PERIOD = 2.5  # length of a simulation over the period of departures, so that queues can dissolve
_TIMES_EMPTY = 2.0  # least time after the departures, over the longest trip on empty roads


def simulated_min(policies: Iterable[RoutingPolicy], period_min: float) -> float:
    """Minutes that a simulation lasts: also in a short period the longest trips can end.

    The longest trip is the longest mean over the routes of a pair, on empty roads.
    """
    longest = max((float(each.expected(_seconds(each.network)).max(initial=0.0)) for each in policies), default=0.0)
    return max(_TIMES_PERIOD * period_min, period_min + _TIMES_EMPTY * longest / 60.0)


def _seconds(network: Network) -> NDArray[np.float64]:
    """(links,) on empty roads, as they are simulated."""
    return np.maximum(network.free_flow_min * 60.0, _SHORTEST_S)


def empty_world(network: Network, *, platoon: int, end_s: float, seed: int = 0) -> Any:
    """The network without vehicles: node i is "i", link e is "e"."""
    try:
        import uxsim  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError("uxsim", "uxsim", "simulating with UXsim") from None
    world = uxsim.World(
        name="",
        deltan=platoon,
        tmax=end_s,
        print_mode=0,
        save_mode=0,
        show_mode=0,
        show_progress=0,
        random_seed=seed,
        cpp=True,
    )
    points = np.zeros((network.nodes, 2)) if network.coordinates is None else network.coordinates
    for node, (x, y) in enumerate(points.tolist()):
        world.addNode(str(node), x, y)
    per_second = network.capacity_per_min / 60.0
    lanes = np.maximum(np.rint(per_second / _LANE_PER_S), 1.0).astype(int)
    seconds = _seconds(network)
    for link in range(network.links):
        world.addLink(
            str(link),
            str(network.tail[link]),
            str(network.head[link]),
            length=float(seconds[link]) * _SPEED_M_PER_S,
            free_flow_speed=_SPEED_M_PER_S,
            jam_density_per_lane=_JAM_PER_M,
            number_of_lanes=int(lanes[link]),
            capacity_out=float(per_second[link]),
        )
    return world


def to_uxsim(
    release: Release,
    *,
    demand: Demand | None = None,
    period_min: float = 60.0,
    platoon: int = 10,
    seed: int = 0,
    follow: bool = True,
    progress: Progress | None = None,
) -> Any:
    """Make a `uxsim.World` in which vehicles of the released demand follow the released policy.

    demand : another one than the released
    period_min : how long vehicles depart; the world ends after two and a half times as long, or later where trips on
        empty roads need it
    platoon : vehicles that drive together
    follow : False leaves the choice of routes to UXsim's own navigation

    Run it with `world.exec_simulation()`. Nodes and links are called by their indices.
    """
    check_roads(release.network)
    fleet = Fleet.draw(demand_of(release, demand), period_min=period_min, platoon=platoon, seed=seed)
    end_s = simulated_min([release.policy], period_min) * 60.0
    world = empty_world(release.network, platoon=platoon, end_s=end_s, seed=seed)
    add_vehicles(world, fleet, release.policy.pairs, fleet.routes(release.policy) if follow else None, progress)
    return world


def add_vehicles(
    world: Any, fleet: Fleet, pairs: Pairs, routes: list[list[int]] | None, progress: Progress | None = None
) -> None:
    """Let the units of a fleet depart on their routes; None leaves the choice of routes to UXsim."""
    check_progress(progress)
    origin, destination = pairs.origin[fleet.pair].tolist(), pairs.destination[fleet.pair].tolist()
    for unit, second in enumerate(fleet.departure_s.tolist()):
        if unit % _UNITS_BETWEEN == 0:
            tell(progress, "Adding vehicles", unit / len(fleet))
        vehicle = world.addVehicle(str(origin[unit]), str(destination[unit]), second)
        if routes is not None:
            vehicle.enforce_route([str(link) for link in routes[unit]])
    tell(progress, "Adding vehicles", 1.0)
