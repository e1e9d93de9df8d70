from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privroute as pr
from privroute.serve.layout import SIDE, drawing_points, spread_by_hops


def network(tail: list[int], head: list[int], nodes: int) -> pr.Network:
    return pr.Network(tail, head, pr.Latency.affine(np.ones(len(tail)), 1.0), range(nodes))


def test_a_path_is_laid_out_in_its_order() -> None:
    points = spread_by_hops(network(list(range(9)), list(range(1, 10)), 10))
    steps = np.diff(points[:, 0])
    assert np.all(steps > 0) or np.all(steps < 0)


def test_a_grid_keeps_neighbours_near() -> None:
    side = 6
    ends = [(i * side + j, i * side + j + 1) for i in range(side) for j in range(side - 1)]
    ends += [(i * side + j, i * side + side + j) for i in range(side - 1) for j in range(side)]
    tail, head = map(list, zip(*ends, strict=True))
    points = drawing_points(network(tail, head, side**2))
    linked = np.hypot(*(points[tail] - points[head]).T)
    apart = np.hypot(*(points[:, None] - points[None]).T)
    assert linked.max() < 0.5 * apart.max()
    assert np.all(apart[~np.eye(side**2, dtype=bool)] > 0)


@given(data=st.data())
def test_any_network_gets_finite_points_in_the_drawing_always_the_same(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(2, 12))
    links = data.draw(
        st.lists(st.tuples(*[st.integers(0, nodes - 1)] * 2).filter(lambda ends: ends[0] != ends[1]), min_size=1)
    )
    tail, head = map(list, zip(*links, strict=True))
    made = network(tail, head, nodes)
    points = drawing_points(made)
    assert points.shape == (nodes, 2)
    assert np.all(np.isfinite(points))
    assert points.min() == 0
    assert points.max() <= SIDE
    assert np.array_equal(points, drawing_points(made))


def test_degrees_are_drawn_so_that_a_kilometre_is_as_long_east_as_north() -> None:
    made = pr.Network(
        [0, 1, 2],
        [1, 2, 0],
        pr.Latency.affine(np.ones(3), 1.0),
        range(3),
        coordinates=[[10.0, 60.0], [12.0, 60.0], [10.0, 61.0]],
        crs="EPSG:4326",
    )
    points = drawing_points(made)
    assert points[1, 0] / points[2, 1] == pytest.approx(1.0, abs=0.02)  # two degrees east at 60° are one degree north
