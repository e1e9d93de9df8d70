"""Networks as GeoJSON, which QGIS, browsers and most map tools open."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from privroute.errors import InputError, arg
from privroute.network.checks import check_type, number_array, show
from privroute.network.features import feature_collection, link_columns, link_lines
from privroute.network.network import Network
from privroute.network.text_files import write_whole

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

__all__ = ["feature_collection", "link_columns", "link_lines", "write_geojson"]


def write_geojson(
    network: Network, path: str | os.PathLike[str], *, link_values: Mapping[str, ArrayLike] | None = None
) -> None:
    """Write links as lines and zones as points, with their numbers as properties.

    link_values : further properties of the links by name, each (links,), e.g. {"flow_per_min": solution.link_flow}
    """
    check_type(network, Network, "network", InputError)
    if network.coordinates is None:
        raise InputError(f"the network has no coordinates, so it cannot be drawn on a map; read it with {arg('nodes')}")
    further = {} if link_values is None else link_values
    if not isinstance(further, Mapping):
        raise InputError(f'link_values is a {type(further).__name__}; pass a mapping such as {{"flow_per_min": flow}}')
    known = link_columns(network)
    columns: dict[str, list[float]] = {}
    for name, given in further.items():
        if not isinstance(name, str) or name in known:
            raise InputError(f"link_values has the name {show(name)}; pass texts that are not {', '.join(known)}")
        columns[name] = number_array(given, f"link_values[{name!r}]", network.links, InputError, signed=True).tolist()
    collection = feature_collection(network, network.coordinates, columns)
    with write_whole(path) as stream:
        json.dump(collection, stream, ensure_ascii=False, allow_nan=False)
        stream.write("\n")
