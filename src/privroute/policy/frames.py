"""Policies as data frames and in notebooks: a row for each route."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from privroute.network.data_frames import data_frame, geo_frame, lines_of, needs_coordinates
from privroute.network.features import link_lines
from privroute.network.html import figure_html, map_svg, table_html

if TYPE_CHECKING:
    from privroute.policy.routing_policy import RoutingPolicy

__all__ = ["PolicyFrames", "route_columns"]

_LISTED = 20
_COLOURS = ("#0067a8", "#c24f00", "#007f5a", "#a84f83", "#8a6a00", "#5b6470")


class PolicyFrames:
    """What a policy gives to pandas, GeoPandas and notebooks."""

    __slots__ = ()

    def to_pandas(self, *, limit: int = _LISTED) -> Any:
        """A DataFrame with a row for each route: origin, destination, route, probability, minutes, nodes, links.

        limit : list at most this many routes of a pair, the most probable ones
        """
        return data_frame(route_columns(cast("RoutingPolicy", self), limit)[0])

    def to_geopandas(self, *, limit: int = _LISTED) -> Any:
        """The same with the line of each route."""
        policy = cast("RoutingPolicy", self)
        points = needs_coordinates(policy.network)
        columns, links = route_columns(policy, limit)
        pieces = link_lines(policy.network, points)
        lines = [[pieces[route[0]][0], *(point for link in route for point in pieces[link][1:])] for route in links]
        return geo_frame(columns, lines_of(lines), policy.network)

    @property
    def __geo_interface__(self) -> dict[str, object]:
        """GeoJSON with a line for each route, the most probable ones of each pair."""
        return dict(self.to_geopandas().__geo_interface__)

    def _repr_html_(self) -> str:
        policy = cast("RoutingPolicy", self)
        if not len(policy.pairs):
            return figure_html("Policy without pairs", "", "")
        pair = int(np.argmin(policy.likeliest()))
        labels = policy.network.end_labels
        ends = labels[policy.pairs.origin[pair]], labels[policy.pairs.destination[pair]]
        routes = policy.routes(*ends, limit=len(_COLOURS))
        along = [
            (link, colour)
            for route, colour in reversed(list(zip(routes, _COLOURS, strict=False)))
            for link in route.links
        ]
        rows = [(f"{route.probability:.1%}", " → ".join(str(node) for node in route.nodes)) for route in routes]
        title = f"Policy: {policy.summary()}. Example: {ends[0]} → {ends[1]}"
        return figure_html(title, map_svg(policy.network, along=along), table_html(("probability", "nodes"), rows))


def route_columns(policy: RoutingPolicy, limit: int) -> tuple[dict[str, Any], list[list[int]]]:
    """Columns of the routes, and the links of each."""
    network = policy.network
    found = policy.best_routes(np.arange(len(policy.pairs)), limit)
    count = np.diff(found.first)
    pair = np.repeat(np.arange(len(policy.pairs)), count)
    labels, listed, ends = network.end_labels, found.links.tolist(), found.start.tolist()
    links = [listed[ends[route] : ends[route + 1]] for route in range(pair.size)]
    origin = policy.pairs.origin[pair].tolist()
    heads = network.head
    columns = {
        "origin": [labels[node] for node in origin],
        "destination": [labels[node] for node in policy.pairs.destination[pair].tolist()],
        "route": np.arange(pair.size) - np.repeat(found.first[:-1], count),
        "probability": found.probability,
        "free_flow_min": np.add.reduceat(network.free_flow_min[found.links], found.start[:-1])
        if pair.size
        else np.empty(0),
        "nodes": [
            [network.node_labels[start], *(network.node_labels[heads[link]] for link in route)]
            for start, route in zip(origin, links, strict=True)
        ],
        "links": [[network.link_labels[link] for link in route] for route in links],
    }
    return columns, links
