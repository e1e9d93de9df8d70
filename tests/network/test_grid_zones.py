from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from privroute.errors import NetworkError
from privroute.network.grid_zones import grid_zones
from privroute.network.latency import Latency
from privroute.network.network import Network


def path_through(points: list[tuple[float, float]] | None, crs: str | None, nodes: int | None = None) -> Network:
    count = len(points) if points is not None else nodes or 2
    links = list(pairwise(range(count)))
    return Network(
        [tail for tail, _ in links],
        [head for _, head in links],
        Latency.affine(np.ones(len(links)), np.ones(len(links))),
        range(count),
        coordinates=points,
        crs=crs,
    )


METRES = [
    (5000.0, 3000.0),  # the corner of the grid
    (5500.0, 3600.0),  # 100 m from the centre of the first cell
    (5500.0, 3400.0),  # as near, but later
    (6900.0, 3900.0),  # alone in the second cell of the first row
    (5100.0, 5100.0),  # first cell of the third row
    (5400.0, 5500.0),  # nearer to its centre
]


def test_each_cell_with_nodes_has_one_zone_at_the_node_nearest_to_its_centre() -> None:
    assert grid_zones(path_through(METRES, "EPSG:32633"), 1.0).tolist() == [1, 3, 5]


def test_zones_come_row_by_row_from_the_south_west() -> None:
    backwards = path_through(METRES[::-1], "EPSG:32633")
    assert grid_zones(backwards, 1.0).tolist() == [3, 2, 0]  # of the two equally near nodes the first


def test_degrees_give_the_zones_that_their_distances_in_km_give() -> None:
    latitude, km_per_degree = 52.0, 6371.0088 * np.pi / 180
    east, north = (np.array(METRES) / 1000).T
    longitudes = east / (km_per_degree * np.cos(np.radians(latitude)))
    latitudes = latitude + (north - north.mean()) / km_per_degree
    degrees = list(zip(longitudes.tolist(), latitudes.tolist(), strict=True))
    # a hair more than 1 km, so that rounding cannot decide between two cells or two nodes
    for crs in ("EPSG:4326", "epsg:4326", None):
        assert grid_zones(path_through(degrees, crs), 1.0001).tolist() == [1, 3, 5]


def test_a_grid_wider_than_the_network_has_one_zone() -> None:
    assert grid_zones(path_through(METRES, "EPSG:32633"), 1000.0).size == 1


def test_a_fine_grid_makes_every_node_a_zone() -> None:
    assert sorted(grid_zones(path_through(METRES, "EPSG:32633"), 0.01).tolist()) == list(range(6))


def test_nodes_without_coordinates_are_refused() -> None:
    with pytest.raises(NetworkError, match=r"grid_km: the nodes have no coordinates; give every node x and y, or pass"):
        grid_zones(path_through(None, None), 1.0)


def test_latitudes_beyond_the_poles_are_refused() -> None:
    with pytest.raises(NetworkError, match=r"a latitude \(y\) of 3000 is not between -90 and 90; check whether"):
        grid_zones(path_through([(0.0, 0.0), (1.0, 3000.0)], "EPSG:4326"), 1.0)


def test_degrees_of_another_reference_system_are_not_taken_for_metres() -> None:
    with pytest.raises(NetworkError, match=r"crs 'EPSG:4269' but look like degrees.*project the graph"):
        grid_zones(path_through([(4.3, 52.0), (4.4, 52.1)], "EPSG:4269"), 1.0)


@pytest.mark.parametrize(("far", "grid_km"), [(1e12, 1e-3), (1e308, 1.0), (1e6, 5e-324)])
def test_a_grid_too_fine_for_its_extent_is_refused(far: float, grid_km: float) -> None:
    with pytest.raises(NetworkError, match=r"grid_km=.*too many cells; pass a larger grid_km"):
        grid_zones(path_through([(-far, 0.0), (far, 1.0)], "EPSG:32633"), grid_km)
