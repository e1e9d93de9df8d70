"""privroute: routing policies for networks, learned from private trip records, released with differential privacy.

For every origin-destination pair w a policy gives a unit flow x_w, that is, probabilities over paths, such that the
total travel time

    F(x, Λ) = Σ_e y_e f_e(y_e),    y = background + Σ_w Λ_w x_w

is nearly minimal for the demand Λ of many days, while one trip more or less in the records hardly changes what is
released. Public names are loaded when they are first used, so that `import privroute` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privroute.demand.gravity import gravity_demand
    from privroute.errors import PrivrouteError
    from privroute.flows.optimum import Solution, solve_equilibrium, solve_optimum
    from privroute.flows.projection import Projection, project
    from privroute.flows.regularised import RegularisedOptimum, minimise_regularised
    from privroute.history.daily_od import read_daily_od
    from privroute.history.demand_history import DemandHistory
    from privroute.history.simulate import simulate_days
    from privroute.history.trips import read_trips
    from privroute.mechanism import theory
    from privroute.mechanism.learn import learn
    from privroute.mechanism.stream import Stream
    from privroute.network.demand import Demand
    from privroute.network.draw import draw_network
    from privroute.network.geojson import write_geojson
    from privroute.network.gmns import read_gmns, write_gmns
    from privroute.network.latency import Latency
    from privroute.network.network import Network
    from privroute.network.networkx_graph import from_networkx, to_networkx
    from privroute.network.od_matrix import demand_from_matrix, read_od_csv, read_omx
    from privroute.network.pairs import Pairs, free_flow_minutes
    from privroute.network.road_classes import ROAD_CLASSES, RoadClass
    from privroute.network.sioux_falls import Scenario, sioux_falls
    from privroute.network.tntp import read_tntp, read_tntp_trips
    from privroute.policy.decomposition import decompose
    from privroute.policy.routing_policy import Route, RoutingPolicy
    from privroute.policy.travel_time import TravelTimes, total_travel_time, travel_times, volume_over_capacity
    from privroute.privacy.budget import Approval
    from privroute.privacy.ledger import Ledger
    from privroute.release.certificate import Certificate
    from privroute.release.release import Release, load_release
    from privroute.study.contribution import Contribution
    from privroute.study.guarantee import Guarantee
    from privroute.study.mechanisms import Counts, Daily, Layered, Minimiser, Sgd
    from privroute.study.study import Study

__all__ = [
    "ROAD_CLASSES",
    "Approval",
    "Certificate",
    "Contribution",
    "Counts",
    "Daily",
    "Demand",
    "DemandHistory",
    "Guarantee",
    "Latency",
    "Layered",
    "Ledger",
    "Minimiser",
    "Network",
    "Pairs",
    "PrivrouteError",
    "Projection",
    "RegularisedOptimum",
    "Release",
    "RoadClass",
    "Route",
    "RoutingPolicy",
    "Scenario",
    "Sgd",
    "Solution",
    "Stream",
    "Study",
    "TravelTimes",
    "decompose",
    "demand_from_matrix",
    "draw_network",
    "free_flow_minutes",
    "from_networkx",
    "gravity_demand",
    "learn",
    "load_release",
    "minimise_regularised",
    "project",
    "read_daily_od",
    "read_gmns",
    "read_od_csv",
    "read_omx",
    "read_tntp",
    "read_tntp_trips",
    "read_trips",
    "simulate_days",
    "sioux_falls",
    "solve_equilibrium",
    "solve_optimum",
    "theory",
    "to_networkx",
    "total_travel_time",
    "travel_times",
    "volume_over_capacity",
    "write_geojson",
    "write_gmns",
]

_HOME = {
    "Approval": "privacy.budget",
    "Certificate": "release.certificate",
    "Contribution": "study.contribution",
    "Counts": "study.mechanisms",
    "Daily": "study.mechanisms",
    "Demand": "network.demand",
    "DemandHistory": "history.demand_history",
    "Guarantee": "study.guarantee",
    "Latency": "network.latency",
    "Layered": "study.mechanisms",
    "Ledger": "privacy.ledger",
    "Minimiser": "study.mechanisms",
    "Network": "network.network",
    "Pairs": "network.pairs",
    "PrivrouteError": "errors",
    "Projection": "flows.projection",
    "ROAD_CLASSES": "network.road_classes",
    "RegularisedOptimum": "flows.regularised",
    "Release": "release.release",
    "RoadClass": "network.road_classes",
    "Route": "policy.routing_policy",
    "RoutingPolicy": "policy.routing_policy",
    "Scenario": "network.sioux_falls",
    "Sgd": "study.mechanisms",
    "Solution": "flows.optimum",
    "Stream": "mechanism.stream",
    "Study": "study.study",
    "TravelTimes": "policy.travel_time",
    "decompose": "policy.decomposition",
    "demand_from_matrix": "network.od_matrix",
    "draw_network": "network.draw",
    "free_flow_minutes": "network.pairs",
    "from_networkx": "network.networkx_graph",
    "gravity_demand": "demand.gravity",
    "learn": "mechanism.learn",
    "load_release": "release.release",
    "minimise_regularised": "flows.regularised",
    "project": "flows.projection",
    "read_daily_od": "history.daily_od",
    "read_gmns": "network.gmns",
    "read_od_csv": "network.od_matrix",
    "read_omx": "network.od_matrix",
    "read_tntp": "network.tntp",
    "read_tntp_trips": "network.tntp",
    "read_trips": "history.trips",
    "simulate_days": "history.simulate",
    "sioux_falls": "network.sioux_falls",
    "solve_equilibrium": "flows.optimum",
    "solve_optimum": "flows.optimum",
    "theory": "mechanism.theory",
    "to_networkx": "network.networkx_graph",
    "total_travel_time": "policy.travel_time",
    "travel_times": "policy.travel_time",
    "volume_over_capacity": "policy.travel_time",
    "write_geojson": "network.geojson",
    "write_gmns": "network.gmns",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - slow to load

        return version("privroute")
    if name not in _HOME:
        raise AttributeError(f"module 'privroute' has no attribute {name!r}")
    home = import_module(f"privroute.{_HOME[name]}")
    return home if name == "theory" else getattr(home, name)  # of the paper's theorems there is a whole module


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
