"""Trips with coordinates fall into the area that has them; what has no zone is counted by its reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.history.trip_cases import AREAS, NETWORK, RANGE, read, write_parquet

import privroute as pr
from privroute.history.nearest_zone import NearestZone

ENDS = {"origin": ("ox", "oy"), "destination": ("dx", "dy")}
INSIDE = {1: (13.40, 52.47), 2: (13.50, 52.47), "a b": (13.45, 52.62)}


def trips(folder: Path, origins: list[tuple[float | None, float | None]]) -> Path:
    count = len(origins)
    return write_parquet(
        folder / "trips.parquet",
        departure=["2026-03-27 07:30:00"] * count,
        ox=[x for x, _ in origins],
        oy=[y for _, y in origins],
        dx=[13.45] * count,
        dy=[52.62] * count,
    )


def test_each_reason_is_counted_by_itself(tmp_path: Path) -> None:
    places: list[tuple[float | None, float | None]] = [
        (13.40, 52.47),  # in zone 1
        (13.43, 52.575),  # in the hole of the third area: in no zone
        (None, 52.47),
        (13.40, float("nan")),
        (52.47, 13.40),  # swapped
        (2.35, 48.86),  # outside of the network
        (200.0, 10.0),  # not on the Earth
        (13.45, 52.60),  # as the destination
    ]
    _, rows = read(trips(tmp_path, places), areas=True, **ENDS)
    assert rows.counted == 1
    assert rows.too_far == 1
    assert rows.missing_place == 2
    assert rows.swapped_place == 1
    assert rows.outside_network == 2
    assert rows.within_zone == 1
    assert rows.read == len(places)
    assert "look swapped" in f"{rows}"


def test_a_place_beyond_any_side_is_outside_and_one_within_all_of_them_is_not() -> None:
    west, south, east, north = 13.35, 52.45, 13.55, 52.65
    beyond = [(west - 1, 52.5), (east + 1, 52.5), (13.4, south - 1), (13.4, north + 1)]
    within = [(13.43, 52.575), (13.425, 52.571)]  # in the hole
    longitude, latitude = np.array([*beyond, *within]).T
    for find in (NearestZone(AREAS, None), NearestZone(NETWORK, 0.001)):
        assert find.codes(longitude, latitude).tolist() == [-2] * 4 + [-1] * 2


def test_polygons_have_no_fallback_unless_a_distance_is_given(tmp_path: Path) -> None:
    path = trips(tmp_path, [(13.34, 52.5)])
    assert read(path, areas=True, **ENDS)[1].outside_network == 1
    assert read(path, areas=True, **ENDS, max_zone_distance_km=2)[1].counted == 1
    assert read(path, areas=True, **ENDS, max_zone_distance_km=0.3)[1].counted == 0


@pytest.mark.parametrize("reach_km", [1.0, 50.0, 5000.0])
def test_the_reach_is_in_kilometres_on_the_earth(reach_km: float) -> None:
    """Southwards from the two zones in the south, along their meridians; a quarter of one is 10,007.5 km."""
    latitude = 52.5 - np.array([0.999, 1.001]) * reach_km / 10_007.557 * 90
    for node, longitude in enumerate((13.4, 13.5)):
        assert NearestZone(NETWORK, reach_km)(np.full(2, longitude), latitude).tolist() == [node, -1]


def test_a_reach_of_more_than_half_the_way_around_the_earth_is_all_of_it() -> None:
    for reach_km in (20_016, 30_000, 1e9):
        assert NearestZone(NETWORK, reach_km)(np.array([13.4 - 180]), np.array([-52.5])).min() >= 0


def test_a_grid_reaches_as_far_as_its_cells() -> None:
    network = pr.with_grid(NETWORK, 3.0)
    assert NearestZone(network, None).max_zone_distance_km == 3.0
    assert NearestZone(NETWORK, None).max_zone_distance_km == 1.0
    assert NearestZone(AREAS, None).max_zone_distance_km == 0.0


def test_trips_that_name_zones_use_the_ids_of_the_polygons(tmp_path: Path) -> None:
    named = replace(AREAS, zone_labels=("north", 7, "1"))
    path = write_parquet(
        tmp_path / "t.parquet",
        departure=["2026-03-27 07:30:00"] * 3,
        origin=["north", "7", "2"],
        destination=["7", "1", "north"],
    )
    seen: list[object] = []
    history = pr.read_trips(path, named, period=("07:00", "08:00"), dates=RANGE, report=seen.append)
    counted = {
        (history.pairs.origin[pair].item(), history.pairs.destination[pair].item())
        for pair in np.flatnonzero(history.counts.sum(axis=0))
    }
    assert counted == {(0, 1), (1, 2)}  # "1" is the third zone, and no zone is called 2


@pytest.mark.parametrize("zone", list(INSIDE))
def test_a_place_in_an_area_is_in_its_zone_however_far_from_its_node(zone: int | str) -> None:
    x, y = (np.array([value]) for value in INSIDE[zone])
    assert NearestZone(AREAS, None)(x, y).tolist() == [AREAS.node(zone)]
