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
    from privroute.advice.compliance import compliance_curve as compliance_curve
    from privroute.advice.fairness import fairness_curve as fairness_curve
    from privroute.advice.fairness import unfairness as unfairness
    from privroute.advice.losses import who_loses as who_loses
    from privroute.advice.select_link import select_link as select_link
    from privroute.advice.tolls import check_tolls as check_tolls
    from privroute.advice.tolls import marginal_tolls as marginal_tolls
    from privroute.advice.tolls import with_tolls as with_tolls
    from privroute.demand.gravity import gravity_demand as gravity_demand
    from privroute.errors import PrivrouteError as PrivrouteError
    from privroute.flows.optimum import Solution as Solution
    from privroute.flows.optimum import solve_equilibrium as solve_equilibrium
    from privroute.flows.optimum import solve_optimum as solve_optimum
    from privroute.flows.projection import Projection as Projection
    from privroute.flows.projection import project as project
    from privroute.flows.regularised import RegularisedOptimum as RegularisedOptimum
    from privroute.flows.regularised import minimise_regularised as minimise_regularised
    from privroute.handover.export import hand_over as hand_over
    from privroute.handover.uxsim_world import to_uxsim as to_uxsim
    from privroute.history.daily_od import read_daily_od as read_daily_od
    from privroute.history.demand_history import DemandHistory as DemandHistory
    from privroute.history.external_counts import read_counts as read_counts
    from privroute.history.simulate import simulate_days as simulate_days
    from privroute.history.trips import read_trips as read_trips
    from privroute.mechanism import theory as theory
    from privroute.mechanism.learn import learn as learn
    from privroute.mechanism.stream import Stream as Stream
    from privroute.network.data_network import LineOptions as LineOptions
    from privroute.network.data_network import read_topology_zoo as read_topology_zoo
    from privroute.network.demand import Demand as Demand
    from privroute.network.display_units import Units as Units
    from privroute.network.draw import draw_network as draw_network
    from privroute.network.geojson import write_geojson as write_geojson
    from privroute.network.gmns import read_gmns as read_gmns
    from privroute.network.gmns_writing import write_gmns as write_gmns
    from privroute.network.inspection import inspect_network as inspect_network
    from privroute.network.latency import Latency as Latency
    from privroute.network.network import Network as Network
    from privroute.network.network_files import read_network as read_network
    from privroute.network.networkx_graph import from_networkx as from_networkx
    from privroute.network.networkx_graph import to_networkx as to_networkx
    from privroute.network.od_matrix import demand_from_matrix as demand_from_matrix
    from privroute.network.od_matrix import read_od_csv as read_od_csv
    from privroute.network.od_matrix import read_omx as read_omx
    from privroute.network.pairs import Pairs as Pairs
    from privroute.network.pairs import free_flow_minutes as free_flow_minutes
    from privroute.network.road_classes import ROAD_CLASSES as ROAD_CLASSES
    from privroute.network.road_classes import RoadClass as RoadClass
    from privroute.network.sioux_falls import Scenario as Scenario
    from privroute.network.sioux_falls import sioux_falls as sioux_falls
    from privroute.network.sndlib import read_sndlib as read_sndlib
    from privroute.network.sndlib import read_sndlib_demands as read_sndlib_demands
    from privroute.network.streets import Streets as Streets
    from privroute.network.tntp import read_tntp as read_tntp
    from privroute.network.tntp import read_tntp_trips as read_tntp_trips
    from privroute.network.zone_areas import ZoneAreas as ZoneAreas
    from privroute.network.zone_files import with_grid as with_grid
    from privroute.network.zone_files import with_zones as with_zones
    from privroute.policy.decomposition import decompose as decompose
    from privroute.policy.routes import Route as Route
    from privroute.policy.routing_policy import RoutingPolicy as RoutingPolicy
    from privroute.policy.travel_time import TravelTimes as TravelTimes
    from privroute.policy.travel_time import total_travel_time as total_travel_time
    from privroute.policy.travel_time import travel_times as travel_times
    from privroute.policy.travel_time import volume_over_capacity as volume_over_capacity
    from privroute.privacy.budget import Approval as Approval
    from privroute.privacy.ledger import Ledger as Ledger
    from privroute.release.certificate import Certificate as Certificate
    from privroute.release.release import Release as Release
    from privroute.release.release import load_release as load_release
    from privroute.release.reroute import reroute as reroute
    from privroute.release.signing import sign_release as sign_release
    from privroute.simulation.comparison import simulate as simulate
    from privroute.study.calendar import Calendar as Calendar
    from privroute.study.contribution import Contribution as Contribution
    from privroute.study.frame import Frame as Frame
    from privroute.study.guarantee import Guarantee as Guarantee
    from privroute.study.mechanisms import Counts as Counts
    from privroute.study.mechanisms import Daily as Daily
    from privroute.study.mechanisms import Layered as Layered
    from privroute.study.mechanisms import Minimiser as Minimiser
    from privroute.study.mechanisms import Sgd as Sgd
    from privroute.study.source import Source as Source
    from privroute.study.study import Study as Study
    from privroute.study.trip_format import TripFormat as TripFormat

_PUBLIC = {
    "advice.compliance": ("compliance_curve",),
    "advice.fairness": ("fairness_curve", "unfairness"),
    "advice.losses": ("who_loses",),
    "advice.select_link": ("select_link",),
    "advice.tolls": ("check_tolls", "marginal_tolls", "with_tolls"),
    "demand.gravity": ("gravity_demand",),
    "errors": ("PrivrouteError",),
    "flows.optimum": ("Solution", "solve_equilibrium", "solve_optimum"),
    "flows.projection": ("Projection", "project"),
    "flows.regularised": ("RegularisedOptimum", "minimise_regularised"),
    "handover.export": ("hand_over",),
    "handover.uxsim_world": ("to_uxsim",),
    "history.daily_od": ("read_daily_od",),
    "history.external_counts": ("read_counts",),
    "history.demand_history": ("DemandHistory",),
    "history.simulate": ("simulate_days",),
    "history.trips": ("read_trips",),
    "mechanism.learn": ("learn",),
    "mechanism.stream": ("Stream",),
    "mechanism.theory": ("theory",),
    "network.data_network": ("LineOptions", "read_topology_zoo"),
    "network.demand": ("Demand",),
    "network.display_units": ("Units",),
    "network.draw": ("draw_network",),
    "network.geojson": ("write_geojson",),
    "network.gmns": ("read_gmns",),
    "network.gmns_writing": ("write_gmns",),
    "network.inspection": ("inspect_network",),
    "network.latency": ("Latency",),
    "network.network": ("Network",),
    "network.network_files": ("read_network",),
    "network.networkx_graph": ("from_networkx", "to_networkx"),
    "network.od_matrix": ("demand_from_matrix", "read_od_csv", "read_omx"),
    "network.pairs": ("Pairs", "free_flow_minutes"),
    "network.road_classes": ("ROAD_CLASSES", "RoadClass"),
    "network.sioux_falls": ("Scenario", "sioux_falls"),
    "network.sndlib": ("read_sndlib", "read_sndlib_demands"),
    "network.streets": ("Streets",),
    "network.tntp": ("read_tntp", "read_tntp_trips"),
    "network.zone_areas": ("ZoneAreas",),
    "network.zone_files": ("with_grid", "with_zones"),
    "policy.decomposition": ("decompose",),
    "policy.routes": ("Route",),
    "policy.routing_policy": ("RoutingPolicy",),
    "policy.travel_time": ("TravelTimes", "total_travel_time", "travel_times", "volume_over_capacity"),
    "privacy.budget": ("Approval",),
    "privacy.ledger": ("Ledger",),
    "release.certificate": ("Certificate",),
    "release.release": ("Release", "load_release"),
    "release.reroute": ("reroute",),
    "release.signing": ("sign_release",),
    "simulation.comparison": ("simulate",),
    "study.calendar": ("Calendar",),
    "study.contribution": ("Contribution",),
    "study.frame": ("Frame",),
    "study.guarantee": ("Guarantee",),
    "study.mechanisms": ("Counts", "Daily", "Layered", "Minimiser", "Sgd"),
    "study.source": ("Source",),
    "study.study": ("Study",),
    "study.trip_format": ("TripFormat",),
}
_HOME = {name: home for home, names in _PUBLIC.items() for name in names}

__all__ = sorted(_HOME)  # noqa: PLE0605 - a list; type checkers read the aliases above


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
