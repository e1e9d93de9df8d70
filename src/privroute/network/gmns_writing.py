"""Writing networks as GMNS folders: node.csv, link.csv, config.csv and, where zones have areas, zone.csv."""

from __future__ import annotations

import csv
import math
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import FormatError, NetworkError
from privroute.network.checks import check_type
from privroute.network.curve_columns import CURVE_COLUMN, curve_names, values_by_column
from privroute.network.network import Network
from privroute.network.text_files import as_path, flush_to_disk, write_whole
from privroute.network.wkt import line_text, polygon_text

if TYPE_CHECKING:
    import io

    from privroute.network.streets import Streets

__all__ = ["write_gmns"]

_SHORTEST_MIN = 1e-6  # below this no speed is written: the link is a connector


def write_gmns(network: Network, folder: str | os.PathLike[str]) -> None:
    """Write node.csv, link.csv, config.csv and, where zones have areas, zone.csv into a folder.

    The folder is created if necessary. Streets are written as GMNS has them: geometry, name, facility_type, lanes.
    """
    check_type(network, Network, "network", NetworkError)
    place = as_path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as problem:  # ValueError: a path with a NUL character
        reason = getattr(problem, "strerror", None) or str(problem)
        raise FormatError(place, f"cannot be made ({reason}); choose another folder") from None
    names = ["node.csv", "link.csv", "config.csv"]
    if network.areas is not None or os.path.exists(place / "zone.csv"):  # noqa: PTH110 - raises for no name
        names.append("zone.csv")
    with ExitStack() as stack:
        node, link, config, *zone = (stack.enter_context(write_whole(place / name)) for name in names)
        _write_nodes(network, node)
        _write_links(network, link)
        about = {"dataset_name": "privroute", "long_length": "km", "speed": "kph", "crs": network.crs or ""}
        about |= network.units.as_columns()
        csv.writer(config).writerows([list(about), list(about.values())])
        for stream in zone:
            _write_zones(network, stream)
        for stream in (node, link, config, *zone):  # what fails, fails before the first file is renamed
            flush_to_disk(stream)


def _write_nodes(network: Network, stream: io.TextIOWrapper) -> None:
    table = csv.writer(stream)
    table.writerow(["node_id", "x_coord", "y_coord", "zone_id", "no_through"])
    zones = dict(zip(network.zones.tolist(), network.zone_names, strict=True))
    if len(zones) == network.nodes and network.zone_labels is None and network.areas is None:
        zones = {}  # no node is marked: every node is a zone
    points = [(None, None)] * network.nodes if network.coordinates is None else network.coordinates.tolist()
    for index, (label, (x, y)) in enumerate(zip(network.node_labels, points, strict=True)):
        table.writerow([label, _exact(x), _exact(y), zones.get(index, ""), int(network.no_through[index])])


def _write_links(network: Network, stream: io.TextIOWrapper) -> None:
    table = csv.writer(stream)
    curve, parameters = network.latency, values_by_column(network.latency)
    fixed = {"fixed_cost_min": network.fixed_cost_min} if network.has_fixed_costs else {}
    table.writerow(
        ["link_id", "from_node_id", "to_node_id", "directed", "length", "free_speed", "capacity", "lanes"]
        + ["free_flow_min", "capacity_per_min", "background_per_min", *fixed, *parameters, CURVE_COLUMN]
        + ([] if network.streets is None else ["name", "facility_type", "osm_way_id", "geometry"])
    )
    labels = network.node_labels
    lengths = [None] * network.links if network.length_km is None else network.length_km.tolist()
    columns = (
        *(curve.free_flow_min, curve.capacity_per_min, network.background_per_min, *fixed.values()),
        *parameters.values(),
    )
    for link, (label, length, numbers, name) in enumerate(
        zip(network.link_labels, lengths, np.column_stack(columns).tolist(), curve_names(curve), strict=True)
    ):
        free_flow, capacity = numbers[:2]
        lanes, street = _street(network.streets, link)
        speed_kph = None if length is None or free_flow < _SHORTEST_MIN else length / free_flow * 60
        table.writerow(
            [label, labels[network.tail[link]], labels[network.head[link]], 1]
            + [
                _exact(length),
                _exact(speed_kph),
                _exact(capacity * 60 / (lanes or 1.0)),
                _exact(lanes) if lanes else "",
            ]
            + [*map(_exact, numbers), name, *street]
        )


def _street(streets: Streets | None, link: int) -> tuple[float, list[object]]:
    """Lanes, 0 where they are not known, and the columns of a street."""
    if streets is None:
        return 1.0, []
    way = int(streets.osm_way_id[link])
    cells: list[object] = [streets.name[link], streets.road_class[link], way or "", line_text(streets.line(link))]
    return float(streets.lanes[link]), cells


def _write_zones(network: Network, stream: io.TextIOWrapper) -> None:
    table = csv.writer(stream)
    table.writerow(["zone_id", "reach_km", "boundary"])
    areas = network.areas
    if areas is not None:
        for area, label in enumerate(network.zone_names):
            table.writerow([label, _exact(areas.reach_km), polygon_text(areas.rings(area))])


def _exact(value: float | None) -> str:
    """The shortest text that reads back as the same double; empty where there is no finite value."""
    return repr(value) if value is not None and math.isfinite(value) else ""
