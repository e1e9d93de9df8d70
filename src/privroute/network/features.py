"""Links and zones of a network as GeoJSON features: lines, points and their properties."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from privroute.network.display_units import Units
    from privroute.network.network import Network

__all__ = ["feature_collection", "in_units", "link_columns", "link_lines"]


def feature_collection(
    network: Network,
    points: NDArray[np.float64],
    link_values: Mapping[str, Sequence[object]],
    *,
    per_hour: bool = False,
    units: Units | None = None,
) -> dict[str, object]:
    """Return the GeoJSON object: links as lines, zones as points.

    points : (nodes, 2); links run as streets where the network knows how, otherwise straight between them
    per_hour : give capacity and background traffic per hour, as files for planners have them, not per minute
    units : in which to give all of them, under names that say so; default: minutes
    """
    values: Mapping[str, Sequence[object]] = {**link_columns(network, per_hour=per_hour), **link_values}
    values = values if units is None else in_units(units, values)
    places = points.tolist()
    lines = link_lines(network, points)
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "LineString", "coordinates": line},
            "properties": {name: column[link] for name, column in values.items()},
        }
        for link, line in enumerate(lines)
    ]
    features += [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": places[zone]},
            "properties": {"node_id": network.node_labels[zone], "zone_id": name, "zone": True},
        }
        for zone, name in zip(network.zones.tolist(), network.zone_names, strict=True)
    ]
    collection: dict[str, object] = {"type": "FeatureCollection", "features": features}
    if network.crs is not None and not network.has_longitude_latitude:
        # RFC 7946 knows degrees only; readers of the older form (QGIS, GDAL) take the system from this member
        collection["crs"] = {"type": "name", "properties": {"name": network.crs}}
    return collection


def in_units(units: Units, columns: Mapping[str, Sequence[object]]) -> dict[str, Sequence[object]]:
    """Columns in minutes and per hour, in these units and under names that say so; None stays None."""
    found = {}
    for name, values in columns.items():
        shown, factor = units.column(name)
        found[shown] = values if factor == 1.0 else [None if each is None else each * factor for each in values]  # type: ignore[operator]
    return found


def link_lines(network: Network, points: NDArray[np.float64]) -> list[list[list[float]]]:
    """Points of each link's line, [x, y] each; points : (nodes, 2), used where the network has no streets."""
    streets = network.streets
    if streets is None:
        places = points.tolist()
        ends = zip(network.tail.tolist(), network.head.tolist(), strict=True)
        return [[places[tail], places[head]] for tail, head in ends]
    drawn, start = streets.points.tolist(), streets.start.tolist()
    return [drawn[begin:end] for begin, end in itertools.pairwise(start)]


def link_columns(network: Network, *, per_hour: bool = False) -> dict[str, Sequence[object]]:
    """Properties of the links by name."""
    unit, times = ("h", 60.0) if per_hour else ("min", 1.0)
    columns: dict[str, Sequence[object]] = {
        "link_id": network.link_labels,
        "from_node_id": [network.node_labels[tail] for tail in network.tail],
        "to_node_id": [network.node_labels[head] for head in network.head],
        "free_flow_min": network.free_flow_min.tolist(),
        f"capacity_per_{unit}": (network.capacity_per_min * times).tolist(),
        f"background_per_{unit}": (network.background_per_min * times).tolist(),
    }
    if network.has_fixed_costs:
        columns["fixed_cost_min"] = network.fixed_cost_min.tolist()
    if network.length_km is not None:
        columns["length_km"] = network.length_km.tolist()
    if network.streets is not None:
        columns["name"] = network.streets.name
        columns["road_class"] = network.streets.road_class
        columns["lanes"] = network.streets.lanes.tolist()
        columns["osm_way_id"] = network.streets.osm_way_id.tolist()
    return columns
