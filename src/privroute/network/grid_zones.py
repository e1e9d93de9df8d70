"""Zones from a grid: one for each cell of a square grid that contains nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import NetworkError, named
from privroute.network.checks import real_number
from privroute.network.zone_areas import ZoneAreas

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["grid_areas", "grid_zones"]

_KM_PER_DEGREE = 111.195  # 6371.0088 km · π / 180: mean Earth radius
_LARGEST_DEGREES = (180.0, 90.0)
_MOST_CELLS = 2**31  # per axis


def grid_zones(network: Network, grid_km: float) -> NDArray[np.int32]:
    """(zones,) node indices: for each cell that contains nodes, its node nearest to the cell's centre.

    The grid starts at the smallest x and y; cells are `grid_km` wide and high and own their left and lower edge.
    The zones are in the order of the cells, row by row from the south, from west to east; of two nodes equally near
    to the centre the first is taken. Longitudes and latitudes are scaled to km at the mean latitude (right for a city
    or a region); other coordinates are taken as metres.
    """
    east, north = _from_corner(network, grid_km)
    east, north = east / grid_km, north / grid_km
    columns, rows = np.floor(east), np.floor(north)
    from_centre = np.hypot(east - columns - 0.5, north - rows - 0.5)
    order = np.lexsort((np.arange(network.nodes), from_centre, columns, rows))
    new_cell = np.ones(network.nodes, dtype=bool)
    new_cell[1:] = (np.diff(columns[order]) != 0) | (np.diff(rows[order]) != 0)
    return order[new_cell].astype(np.int32)


def grid_areas(network: Network, grid_km: float) -> ZoneAreas:
    """Areas of the cells that contain nodes, row by row from the south, from west to east.

    Cells are `grid_km` wide and high at the mean latitude. A place that is in none of them belongs to the nearest one
    within `grid_km`, if nothing else is said.
    """
    width = real_number(grid_km, "grid_km", NetworkError, lambda value: value > 0, "pass kilometres above 0")
    if network.coordinates is None or not network.has_longitude_latitude:
        raise NetworkError(
            f"{named('grid_km')}: zones of a grid need longitudes and latitudes of the nodes; import the network with "
            "coordinates in EPSG:4326"
        )
    east, north = _from_corner(network, width)
    cells = np.unique(np.column_stack([np.floor(north / width), np.floor(east / width)]).astype(np.int64), axis=0)
    x, y = network.coordinates.T
    step = width / _KM_PER_DEGREE
    wide = step / np.cos(np.radians(y.mean()))
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    rings = x.min() + wide * (cells[:, 1:] + corners[:, 0]), y.min() + step * (cells[:, :1] + corners[:, 1])
    points = np.clip(np.stack(rings, axis=2), (-180.0, -90.0), (180.0, 90.0))
    return ZoneAreas.of([[ring] for ring in points], reach_km=width)


def _from_corner(network: Network, grid_km: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """East and north of each node in km from the smallest x and y; a grid of too many cells is refused."""
    with np.errstate(over="ignore", invalid="ignore"):
        east, north = _kilometres(network)
        east, north = east - east.min(), north - north.min()
        span = max(east.max(), north.max())
        countable = span / grid_km < _MOST_CELLS
    if not countable:
        raise NetworkError(
            f"grid_km={grid_km:g}: the nodes span {span:.6g} km, too many cells; pass a larger grid_km, or check the "
            "nodes' x and y"
        )
    return east, north


def _kilometres(network: Network) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """East and north of each node in km from a common origin."""
    if network.coordinates is None:
        raise NetworkError("grid_km: the nodes have no coordinates; give every node x and y, or pass zones=")
    x, y = network.coordinates.T
    if network.has_longitude_latitude:
        if np.abs(y).max() > _LARGEST_DEGREES[1]:
            raise NetworkError(
                f"grid_km: a latitude (y) of {y[np.abs(y).argmax()]:g} is not between -90 and 90; check whether x and "
                "y are swapped or metres, and set crs accordingly"
            )
        return x * _KM_PER_DEGREE * np.cos(np.radians(y.mean())), y * _KM_PER_DEGREE
    if np.all(np.abs(network.coordinates) <= _LARGEST_DEGREES):
        raise NetworkError(
            f"grid_km: the coordinates have crs {network.crs!r} but look like degrees; grid_km takes EPSG:4326 or "
            "metres: project the graph (osmnx.project_graph), or pass zones="
        )
    return x / 1000.0, y / 1000.0
