"""Networks and demands as data frames and in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from privroute.errors import InputError
from privroute.network.checks import one_of
from privroute.network.data_frames import data_frame, geo_frame, lines_of, needs_coordinates
from privroute.network.features import feature_collection, link_columns, link_lines
from privroute.network.html import figure_html, map_svg, table_html

if TYPE_CHECKING:
    from privroute.network.demand import Demand
    from privroute.network.network import Network

__all__ = ["DemandFrames", "NetworkFrames"]

NetworkTable = Literal["links", "nodes", "zones"]
_LARGEST = 8


class NetworkFrames:
    """What a network gives to pandas, GeoPandas and notebooks."""

    __slots__ = ()

    def to_pandas(self, table: NetworkTable = "links") -> Any:
        """A DataFrame with a row for each link, node or zone."""
        return data_frame(_columns(cast("Network", self), table))

    def to_geopandas(self, table: NetworkTable = "links") -> Any:
        """A GeoDataFrame: links as lines, nodes and zones as points."""
        network = cast("Network", self)
        points = needs_coordinates(network)
        columns = _columns(network, table)
        if table == "links":
            return geo_frame(columns, lines_of(link_lines(network, points)), network)
        import shapely  # noqa: PLC0415 - comes with GeoPandas, which geo_frame needs

        chosen = points if table == "nodes" else points[network.zones]
        return geo_frame(columns, shapely.points(chosen), network)

    @property
    def __geo_interface__(self) -> dict[str, object]:
        """GeoJSON of links and zones, for tools that know the protocol."""
        network = cast("Network", self)
        return feature_collection(network, needs_coordinates(network), {})

    def _repr_html_(self) -> str:
        network = cast("Network", self)
        rows: list[tuple[str, object]] = [
            ("nodes", f"{network.nodes:,}"),
            ("links", f"{network.links:,}"),
            ("zones", f"{network.zones.size:,}"),
            (f"{network.units.delay}s", network.latency.words),
            *([] if network.units.on_roads else [("units", f"{network.units.flow}, {network.units.time}")]),
            ("coordinates", network.crs or ("yes" if network.coordinates is not None else "none")),
        ]
        return figure_html("Network", map_svg(network), table_html(("", ""), rows))


def _columns(network: Network, table: NetworkTable) -> dict[str, Any]:
    one_of(table, ("links", "nodes", "zones"), "table", InputError)
    if table == "links":
        return {**link_columns(network), **_parameters(network)}
    points = network.coordinates
    nodes = np.arange(network.nodes) if table == "nodes" else network.zones
    columns: dict[str, Any] = {"node_id": [network.node_labels[node] for node in nodes.tolist()]}
    if table == "zones":
        columns["zone_id"] = list(network.zone_names)
    else:
        columns["zone"] = np.isin(nodes, network.zones)
        columns["no_through"] = network.no_through
    if points is not None:
        columns |= {"x": points[nodes, 0], "y": points[nodes, 1]}
    return columns


def _parameters(network: Network) -> dict[str, Any]:
    return {"time_at_capacity_min": network.latency.time(network.capacity_per_min)}


class DemandFrames:
    """What a demand gives to pandas, GeoPandas and notebooks."""

    __slots__ = ()

    def to_pandas(self, network: Network | None = None) -> Any:
        """A DataFrame with a row for each pair: origin, destination, rate_per_min.

        network : gives labels of the ends; without it they are node indices
        """
        return data_frame(_demand_columns(cast("Demand", self), network))

    def to_geopandas(self, network: Network) -> Any:
        """A GeoDataFrame with a straight line from origin to destination for each pair."""
        demand = cast("Demand", self)
        points = needs_coordinates(network)
        ends = np.stack([points[demand.pairs.origin], points[demand.pairs.destination]], axis=1)
        return geo_frame(_demand_columns(demand, network), lines_of(ends.tolist()), network)

    def _repr_html_(self) -> str:
        demand = cast("Demand", self)
        first = np.argsort(-demand.rate_per_min, kind="stable")[:_LARGEST]
        rows = [
            (int(demand.pairs.origin[pair]), int(demand.pairs.destination[pair]), f"{demand.rate_per_min[pair]:.4g}")
            for pair in first.tolist()
        ]
        title = f"Demand: {len(demand.pairs):,} pairs, {demand.total_per_min:,.1f} per minute; the largest"
        return figure_html(title, "", table_html(("origin (index)", "destination (index)", "per minute"), rows))


def _demand_columns(demand: Demand, network: Network | None) -> dict[str, Any]:
    origin, destination = demand.pairs.origin, demand.pairs.destination
    columns: dict[str, Any] = {"origin": origin, "destination": destination}
    if network is not None:
        demand.pairs.check_fits(network)
        labels = network.end_labels
        columns = {
            "origin": [labels[node] for node in origin.tolist()],
            "destination": [labels[node] for node in destination.tolist()],
        }
    return {**columns, "rate_per_min": demand.rate_per_min}
