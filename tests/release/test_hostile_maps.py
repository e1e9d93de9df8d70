"""Streets and zones of a release from a stranger are read as they should be, or refused before they fill the memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.release.folders import changed, column

import privroute as pr
from privroute.errors import NetworkError, PolicyError, ReleaseError
from privroute.network.streets import Streets

CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
PLACES = np.array([[13.005, 52.005], [13.015, 52.005], [13.025, 52.005]])
TAIL, HEAD = [0, 1, 1, 2], [1, 0, 2, 1]
WRAPPING = np.array([0, 2**62, -(2**63), -(2**62), 12])


def square(west: float) -> np.ndarray:
    return np.array([west, 52.0]) + 0.01 * CORNERS


def mapped() -> pr.Network:
    return pr.Network(
        TAIL,
        HEAD,
        pr.Latency.affine(np.ones(4), np.ones(4)),
        [1, 2, 3],
        coordinates=PLACES,
        crs="EPSG:4326",
        streets=Streets.straight(PLACES, TAIL, HEAD, name=["a", "a", "b", "b"]),
        zone_labels=("West", "Middle", "East"),
        areas=pr.ZoneAreas.of([[square(13.0)], [square(13.01)], [square(13.02)]]),
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    network = mapped()
    pairs = pr.Pairs.of_zones(network)
    demand = pr.Demand(pairs, np.ones(len(pairs)))
    release = pr.learn(network, pr.simulate_days(demand, days=2, seed=1), pr.Guarantee(1.0, 1e-6))
    place = tmp_path_factory.mktemp("mapped") / "out"
    release.save(place)
    return place


def rings(*first: int | None) -> Callable[[pa.ChunkedArray], pa.Array]:
    return lambda values: pa.array([list(first), *values.to_pylist()[1:]], values.type)


@pytest.mark.parametrize(
    "first",
    [(2**62, 2**62, 2**62, 2**62 + 4), (2**63 - 1, 5), (-4, 8), (0, 4), (None, 4), (13,), (3,), (5,), (), (4, 4)],
)
def test_rings_that_count_other_points_than_there_are_are_refused(
    saved: Path, tmp_path: Path, first: tuple[int | None, ...]
) -> None:
    place = changed(saved, tmp_path / "out", "zones", column("ring_points", rings(*first)))
    with pytest.raises(ReleaseError, match="other points than its rings need"):
        pr.load_release(place)


@pytest.mark.parametrize("starts", [WRAPPING, WRAPPING.astype(np.uint64), np.array([0, 13, 12]), np.array([0, -3, 12])])
def test_starts_that_would_wrap_around_or_leave_the_array_are_refused(starts: np.ndarray) -> None:
    points = np.random.default_rng(0).random((12, 2))
    with pytest.raises(NetworkError, match="ring_start must rise from 0 to 12"):
        pr.ZoneAreas(points, starts, [0, len(starts) - 1])
    with pytest.raises(NetworkError, match="start must rise from 0 to 12"):
        Streets(starts, points)
    network, parts = mapped(), len(starts) - 1
    with pytest.raises(PolicyError, match="path_start"):
        pr.RoutingPolicy(network, pr.Pairs([0], [1]), [0, parts], starts, np.zeros(12, int), np.full(parts, 1 / parts))
