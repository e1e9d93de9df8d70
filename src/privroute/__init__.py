"""privroute: routing policies for networks, learned from private trip records, released with differential privacy.

For every origin-destination pair w a policy gives a unit flow x_w, that is, probabilities over paths, such that the
total travel time

    F(x, Λ) = Σ_e y_e f_e(y_e),    y = background + Σ_w Λ_w x_w

is nearly minimal for the demand Λ of many days, while one trip more or less in the records hardly changes what is
released. Public names are loaded when they are first used, so that `import privroute` stays light.
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privroute.errors import PrivrouteError
    from privroute.flows.projection import Projection, project
    from privroute.flows.regularised import RegularisedOptimum, minimise_regularised
    from privroute.history.daily_od import read_daily_od
    from privroute.history.demand_history import DemandHistory
    from privroute.history.simulate import simulate_days
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

__all__ = [
    "ROAD_CLASSES",
    "Demand",
    "DemandHistory",
    "Latency",
    "Network",
    "Pairs",
    "PrivrouteError",
    "Projection",
    "RegularisedOptimum",
    "RoadClass",
    "Scenario",
    "demand_from_matrix",
    "draw_network",
    "free_flow_minutes",
    "from_networkx",
    "minimise_regularised",
    "project",
    "read_daily_od",
    "read_gmns",
    "read_od_csv",
    "read_omx",
    "read_tntp",
    "read_tntp_trips",
    "simulate_days",
    "sioux_falls",
    "to_networkx",
    "write_geojson",
    "write_gmns",
]

_HOME = {
    "Demand": "network.demand",
    "DemandHistory": "history.demand_history",
    "Latency": "network.latency",
    "Network": "network.network",
    "Pairs": "network.pairs",
    "PrivrouteError": "errors",
    "Projection": "flows.projection",
    "ROAD_CLASSES": "network.road_classes",
    "RegularisedOptimum": "flows.regularised",
    "RoadClass": "network.road_classes",
    "Scenario": "network.sioux_falls",
    "demand_from_matrix": "network.od_matrix",
    "draw_network": "network.draw",
    "free_flow_minutes": "network.pairs",
    "from_networkx": "network.networkx_graph",
    "minimise_regularised": "flows.regularised",
    "project": "flows.projection",
    "read_daily_od": "history.daily_od",
    "read_gmns": "network.gmns",
    "read_od_csv": "network.od_matrix",
    "read_omx": "network.od_matrix",
    "read_tntp": "network.tntp",
    "read_tntp_trips": "network.tntp",
    "simulate_days": "history.simulate",
    "sioux_falls": "network.sioux_falls",
    "to_networkx": "network.networkx_graph",
    "write_geojson": "network.geojson",
    "write_gmns": "network.gmns",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return metadata.version("privroute")
    if name not in _HOME:
        raise AttributeError(f"module 'privroute' has no attribute {name!r}")
    return getattr(import_module(f"privroute.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
