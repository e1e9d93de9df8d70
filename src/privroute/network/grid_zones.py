"""Zones from a grid: one for each cell of a square grid that contains nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import NetworkError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["grid_zones"]

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
    east, north = east / grid_km, north / grid_km
    columns, rows = np.floor(east), np.floor(north)
    from_centre = np.hypot(east - columns - 0.5, north - rows - 0.5)
    order = np.lexsort((np.arange(network.nodes), from_centre, columns, rows))
    new_cell = np.ones(network.nodes, dtype=bool)
    new_cell[1:] = (np.diff(columns[order]) != 0) | (np.diff(rows[order]) != 0)
    return order[new_cell].astype(np.int32)


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
