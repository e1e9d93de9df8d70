"""Networks as GeoJSON, which QGIS, browsers and most map tools open."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from privroute.errors import InputError
from privroute.network.checks import check_type, number_array, show
from privroute.network.network import Network
from privroute.network.text_files import write_whole

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from privroute.network.labels import Label

__all__ = ["write_geojson"]


def write_geojson(
    network: Network, path: str | os.PathLike[str], *, link_values: Mapping[str, ArrayLike] | None = None
) -> None:
    """Write links as lines and zones as points, with their numbers as properties.

    link_values : further properties of the links by name, each (links,), e.g. {"flow_per_min": solution.link_flow}
    """
    check_type(network, Network, "network", InputError)
    if network.coordinates is None:
        raise InputError("the network has no coordinates, so it cannot be drawn on a map; read it with nodes=")
    values: dict[str, list[float] | tuple[Label, ...]] = {
        "link_id": network.link_labels,
        "from_node_id": tuple(network.node_labels[tail] for tail in network.tail),
        "to_node_id": tuple(network.node_labels[head] for head in network.head),
        "free_flow_min": network.free_flow_min.tolist(),
        "capacity_per_min": network.capacity_per_min.tolist(),
        "background_per_min": network.background_per_min.tolist(),
    }
    if network.length_km is not None:
        values["length_km"] = network.length_km.tolist()
    further = {} if link_values is None else link_values
    if not isinstance(further, Mapping):
        raise InputError(f'link_values is a {type(further).__name__}; pass a mapping such as {{"flow_per_min": flow}}')
    for name, given in further.items():
        if not isinstance(name, str) or name in values:
            raise InputError(f"link_values has the name {show(name)}; pass texts that are not {', '.join(values)}")
        values[name] = number_array(given, f"link_values[{name!r}]", network.links, InputError, signed=True).tolist()
    points = network.coordinates.tolist()
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "LineString", "coordinates": [points[tail], points[head]]},
            "properties": {name: column[link] for name, column in values.items()},
        }
        for link, (tail, head) in enumerate(zip(network.tail.tolist(), network.head.tolist(), strict=True))
    ]
    features += [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": points[zone]},
            "properties": {"node_id": network.node_labels[zone], "zone": True},
        }
        for zone in network.zones.tolist()
    ]
    collection: dict[str, object] = {"type": "FeatureCollection", "features": features}
    if network.crs is not None and not network.has_longitude_latitude:
        # RFC 7946 knows degrees only; readers of the older form (QGIS, GDAL) take the system from this member
        collection["crs"] = {"type": "name", "properties": {"name": network.crs}}
    with write_whole(path) as stream:
        json.dump(collection, stream, ensure_ascii=False, allow_nan=False)
        stream.write("\n")
