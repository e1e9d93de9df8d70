"""The core's fastest ways from link to link against their readable twin."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.local_paths import least_cost

from privroute import _core


@given(st.integers(0, 2**32), st.integers(2, 7), st.integers(2, 18))
@settings(max_examples=150, deadline=None)
def test_costs_are_the_least_and_ways_have_them(seed: int, nodes: int, links: int) -> None:
    chance = np.random.default_rng(seed)
    tail = chance.integers(0, nodes, links)
    head = (tail + chance.integers(1, nodes, links)) % nodes
    ends = [(int(a), int(b)) for a, b in zip(tail, head, strict=True)]
    reverse = [next((k for k, (a, b) in enumerate(ends) if (b, a) == each), -1) for each in ends]
    cost = chance.integers(0, 5, links).astype(float)
    sources = {int(link): float(chance.integers(0, 4)) for link in chance.integers(0, links, 2)}
    targets = {int(link): float(chance.integers(0, 4)) for link in chance.integers(0, links, 2)}
    turn_back = float(chance.choice([0.0, 3.0, 100.0]))
    paths = _core.LocalPaths(
        tail.astype(np.int32),
        head.astype(np.int32),
        np.zeros(nodes, np.uint8),
        cost,
        np.array(reverse, np.int32),
        turn_back,
    )
    found, total = paths.path(
        np.array(list(sources), np.int32),
        np.array(list(sources.values())),
        np.array(list(targets), np.int32),
        np.array(list(targets.values())),
    )
    assert total == pytest.approx(least_cost(ends, cost.tolist(), reverse, turn_back, sources, targets))
    way = found.tolist()
    if not way:
        assert total == float("inf")
        return
    driven = sources[way[0]] + cost[way[1:-1]].sum() + targets[way[-1]]
    for first, second in pairwise(way):
        assert ends[first][1] == ends[second][0]
        alone = sum(a == ends[first][1] for a, _ in ends) == 1
        driven += turn_back if reverse[first] == second and not alone else 0.0
    assert driven == pytest.approx(total)
