"""Which area has a point: the kernel and its readable twin agree, also on edges, corners and degenerate rings."""

from __future__ import annotations

import random

import numpy as np
import pytest
import shapely
from tests.reference.areas import containing

import privroute as pr
from privroute.errors import NetworkError


def star(chance: random.Random, x: float, y: float, points: int, size: float) -> np.ndarray:
    angles = sorted(chance.uniform(0, 2 * np.pi) for _ in range(points))
    radius = [size * chance.uniform(0.3, 1.0) for _ in angles]
    return np.array([(x + r * np.cos(a), y + r * np.sin(a)) for a, r in zip(angles, radius, strict=True)])


def draw_areas(chance: random.Random) -> list[list[np.ndarray]]:
    found = []
    for _ in range(chance.randint(1, 8)):
        x, y = chance.uniform(13, 13.1), chance.uniform(52, 52.1)
        rings = [star(chance, x, y, chance.randint(3, 40), 0.03)]
        if chance.random() < 0.4:
            rings.append(star(chance, x, y, 5, 0.008))
        if chance.random() < 0.3:
            rings = [np.round(ring, 2) for ring in rings]  # many edges that lie on each other
        found.append(rings)
    return found


def draw_points(chance: random.Random, areas: list[list[np.ndarray]]) -> list[tuple[float, float]]:
    points = [(chance.uniform(12.95, 13.15), chance.uniform(51.95, 52.15)) for _ in range(60)]
    for rings in areas:
        for ring in rings:
            x, y = ring[chance.randrange(len(ring))]
            u, v = ring[chance.randrange(len(ring))]
            points += [(float(x), float(y)), (float((x + u) / 2), float((y + v) / 2)), (float(u), float(y))]
    odd = [(float("nan"), 52.0), (13.0, float("inf")), (181.0, 0.0), (0.0, -90.1), (180.0, 90.0)]
    return points + odd


@pytest.mark.parametrize("seed", range(60))
def test_the_kernel_agrees_with_its_twin(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - repeatable cases
    areas = draw_areas(chance)
    points = draw_points(chance, areas)
    x, y = np.ascontiguousarray(np.array(points).T)
    found = pr.ZoneAreas.of(areas).index().find(0.0, x, y)
    assert found.tolist() == [containing(areas, *point) for point in points]


@pytest.mark.parametrize("seed", range(20))
def test_polygons_agree_with_another_library_away_from_edges(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    areas = [[star(chance, chance.uniform(13, 13.1), chance.uniform(52, 52.1), 12, 0.03)] for _ in range(6)]
    shapes = [shapely.make_valid(shapely.polygons(rings[0])) for rings in areas]
    points = np.array([(chance.uniform(12.95, 13.15), chance.uniform(51.95, 52.15)) for _ in range(300)])
    found = pr.ZoneAreas.of(areas).index().find(0.0, *np.ascontiguousarray(points.T))
    for (x, y), number in zip(points, found.tolist(), strict=True):
        inside = [k for k, shape in enumerate(shapes) if shape.contains(shapely.Point(x, y))]
        assert number == (inside[0] if inside else -1)


def test_the_nearest_area_within_reach_is_the_fallback() -> None:
    square = np.array([(13.0, 52.0), (13.1, 52.0), (13.1, 52.1), (13.0, 52.1)])
    areas = pr.ZoneAreas.of([[square], [square + (0.2, 0.0)]])
    x, y = np.array([13.16, 13.11, 13.29, 13.05]), np.array([52.05, 52.05, 52.05, 52.3])
    assert areas.index().find(0.0, x, y).tolist() == [-1, -1, 1, -1]
    assert areas.index().find(1.0, x, y).tolist() == [-1, 0, 1, -1]
    assert areas.index().find(5.0, x, y).tolist() == [1, 0, 1, -1]
    assert areas.index().find(5.0, np.array([13.15]), np.array([52.05])).tolist() == [0]  # half way: the first


def test_an_area_that_is_one_point_of_the_lattice_is_near_nothing() -> None:
    """Its box is empty, and a build with sanitizers stops where a difference from it overflows."""
    square = np.array([(14.0, 52.0), (15.0, 52.0), (15.0, 53.0), (14.0, 53.0)])
    areas = pr.ZoneAreas.of([[np.array([(13.0, 52.0), (13.0 + 1e-12, 52.0), (13.0, 52.0)])], [square]])
    x, y = np.array([13.0, 13.95, -13.9]), np.array([52.0, 52.5, -52.5])
    assert areas.index().find(50.0, x, y).tolist() == [-1, 1, -1]


def test_a_million_points_take_seconds() -> None:
    chance = random.Random(1)  # noqa: S311
    grid = [
        [np.array([(x, y), (x + 0.01, y), (x + 0.01, y + 0.01), (x, y + 0.01)]) + (13, 52)]
        for x in np.arange(30) / 100
        for y in np.arange(30) / 100
    ]
    areas = pr.ZoneAreas.of([*grid, [star(chance, 13.5, 52.2, 5000, 0.1)]])
    draw = np.random.default_rng(1)
    found = areas.index().find(0.0, 13 + draw.random(1_000_000) * 0.6, 52 + draw.random(1_000_000) * 0.3)
    assert len(set(found.tolist())) == 902


@pytest.mark.parametrize(
    "rings", [[np.array([(0.0, 0.0), (1.0, 1.0)])], [np.array([(0.0, 0.0), (200.0, 1.0), (1.0, 1.0)])], []]
)
def test_areas_that_are_none_are_refused(rings: list[np.ndarray]) -> None:
    with pytest.raises(NetworkError):
        pr.ZoneAreas.of([rings])
