"""Streets and zones of a release: streets.parquet (one row for each link) and zones.parquet (one for each zone).

A release has the first where its network says how links run, and the second where zones have labels or areas of their
own. Both are public: they come from the network, never from trips.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from privroute.errors import ReleaseError
from privroute.network.labels import as_label
from privroute.network.streets import Streets
from privroute.network.zone_areas import ZoneAreas
from privroute.release.arrow_arrays import as_numpy, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["STREET_COLUMNS", "ZONE_COLUMNS", "has_zone_table", "street_table", "with_map", "zone_table"]

_NUMBERS = pa.large_list(pa.float64())
STREET_COLUMNS = {
    "name": pa.string(),
    "road_class": pa.string(),
    "lanes": pa.float64(),
    "osm_way_id": pa.int64(),
    "x": _NUMBERS,
    "y": _NUMBERS,
}
ZONE_COLUMNS = {
    "zone_id": pa.string(),
    "reach_km": pa.float64(),
    "ring_points": pa.large_list(pa.int64()),
    "x": _NUMBERS,
    "y": _NUMBERS,
}


def street_table(streets: Streets) -> dict[str, pa.Array]:
    """Columns of streets.parquet."""
    columns = {
        "name": pa.array(streets.name, pa.string()),
        "road_class": pa.array(streets.road_class, pa.string()),
        "lanes": pa.array(streets.lanes),
        "osm_way_id": pa.array(streets.osm_way_id),
    }
    return columns | _lists(streets.start, streets.points)


def has_zone_table(network: Network) -> bool:
    """Whether zones have labels or areas of their own."""
    return network.zone_labels is not None or network.areas is not None


def zone_table(network: Network) -> dict[str, pa.Array]:
    """Columns of zones.parquet, in the order of the zones; zones without areas have no rings."""
    count = network.zones.size
    areas = network.areas
    labels = pa.array([str(label) for label in network.zone_names], pa.string())
    if areas is None:
        none = np.zeros(count + 1, np.int64)
        rings = pa.LargeListArray.from_arrays(pa.array(none), pa.array([], pa.int64()))
        return {
            "zone_id": labels,
            "reach_km": pa.array(np.zeros(count)),
            "ring_points": rings,
            **_lists(none, np.empty((0, 2))),
        }
    return {
        "zone_id": labels,
        "reach_km": pa.array(np.full(count, areas.reach_km)),
        "ring_points": pa.LargeListArray.from_arrays(pa.array(areas.area_start), pa.array(np.diff(areas.ring_start))),
        **_lists(areas.ring_start[areas.area_start], areas.points),
    }


def with_map(network: Network, streets: pa.Table | None, zones: pa.Table | None) -> Network:
    """The network with what the tables say; a table that does not fit it is refused."""
    if streets is not None:
        if len(streets) != network.links:
            raise ReleaseError(f"streets.parquet has {len(streets):,} rows where there are {network.links:,} links")
        start, points = _points(streets, "streets.parquet")
        network = replace(
            network,
            streets=Streets(
                start,
                points,
                name=streets["name"].to_pylist(),
                road_class=streets["road_class"].to_pylist(),
                lanes=streets["lanes"].to_numpy(),
                osm_way_id=streets["osm_way_id"].to_numpy(),
            ),
        )
    if zones is not None:
        if len(zones) != network.zones.size:
            raise ReleaseError(f"zones.parquet has {len(zones):,} rows where there are {network.zones.size:,} zones")
        labels = tuple(as_label(text) for text in zones["zone_id"].to_pylist())
        network = replace(network, zone_labels=labels, areas=_areas(zones))
    return network


def _areas(zones: pa.Table) -> ZoneAreas | None:
    start, points = _points(zones, "zones.parquet")
    rings = whole(zones["ring_points"])
    count = as_numpy(rings.values)
    if not len(points) and not count.size:
        return None
    # before they are summed: numbers beyond the points make the sum wrap around
    if rings.values.null_count or (count.size and (count.min() < 1 or count.max() > len(points))):
        raise ReleaseError("zones.parquet has other points than its rings need")
    area_start = rings.offsets.to_numpy()
    ring_start = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    complete = ring_start[-1] == len(points) and area_start[-1] == count.size
    if not complete or not np.array_equal(ring_start[area_start], start):
        raise ReleaseError("zones.parquet has other points than its rings need")
    reach = zones["reach_km"].to_numpy()
    if (reach != reach[0]).any():
        raise ReleaseError("zones.parquet has several values of reach_km")
    return ZoneAreas(points, ring_start, area_start, reach_km=float(reach[0]))


def _lists(start: NDArray[np.int64], points: NDArray[np.float64]) -> dict[str, pa.Array]:
    offsets = pa.array(start, pa.int64())
    return {
        name: pa.LargeListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(points[:, column])))
        for column, name in enumerate(("x", "y"))
    }


def _points(table: pa.Table, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    x, y = (whole(table[column]) for column in ("x", "y"))
    if x.values.null_count or y.values.null_count or not x.offsets.equals(y.offsets):
        raise ReleaseError(f"{name}: x and y have different numbers of points, or empty ones")
    start = x.offsets.to_numpy()
    if start.size and start[0] != 0:
        raise ReleaseError(f"{name}: points do not begin with the first row")
    values = [part.values.to_numpy()[: start[-1]] if len(part.values) else np.empty(0) for part in (x, y)]
    return start.astype(np.int64), np.column_stack(values)
