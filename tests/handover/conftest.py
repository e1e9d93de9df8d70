"""Releases to hand over: Sioux Falls with coordinates, few vehicles, and one with labels that need care."""

from __future__ import annotations

import pytest

import privroute as pr


@pytest.fixture(scope="session")
def release() -> pr.Release:
    """Sioux Falls with a hundredth of its demand: about 3,600 vehicles per hour."""
    scenario = pr.sioux_falls()
    history = pr.simulate_days(scenario.demand * 0.01, days=20, seed=1)
    return pr.learn(scenario.network, history, pr.Guarantee(epsilon=1.0, delta=1e-6))


@pytest.fixture(scope="session")
def odd() -> pr.Release:
    """Labels with quotes and brackets, a connector without time or length, and pairs without traffic."""
    labels = ['"a"', "<b>", "c & d", "e"]
    tail, head = [0, 1, 2, 0, 3, 3], [1, 2, 3, 2, 0, 1]
    latency = pr.Latency.bpr([1.0, 0.0, 2.0, 3.0, 1.0, 2.0], 10.0)
    network = pr.Network(tail, head, latency, labels, link_labels=['"1"', "<2>", "3 & 4", "5", "6", "7"])
    pairs = pr.Pairs.of_zones(network)
    demand = pr.Demand(pairs, [5.0] + [0.0] * (len(pairs) - 2) + [3.0])
    return pr.learn(network, pr.simulate_days(demand, days=50, seed=1), pr.Guarantee(epsilon=10.0, delta=1e-6))
