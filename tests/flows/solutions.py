"""Problems and checks that the tests of the solver share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import privroute as pr

__all__ = ["check_solution", "grid", "public"]


def public(tntp: Path, name: str, latency: Any) -> tuple[pr.Network, pr.Demand]:
    network = pr.read_tntp(tntp / f"{name}_net.tntp", latency=latency)
    return network, pr.read_tntp_trips(tntp / f"{name}_trips.tntp", network, on_unreachable="drop")


def check_solution(network: pr.Network, demand: pr.Demand, solution: pr.Solution, *, equilibrium: bool) -> None:
    """The evidence, computed again: flows, gap, objective, and shortest paths for pairs without demand."""
    policy = solution.policy
    flow = policy.link_flow(demand)
    assert np.abs(flow - solution.link_flow).max() <= 1e-9 * max(flow.max(), 1e-300)
    cost = network.latency.time(flow) if equilibrium else network.latency.marginal_cost(flow)
    least = cheapest(network, policy.pairs, cost)
    shortest = float(demand.rate_per_min @ least)
    spent = float((flow - network.background_per_min) @ cost)
    if shortest > 0:
        assert spent / shortest - 1 == pytest.approx(solution.relative_gap, abs=1e-11)
    idle = demand.rate_per_min == 0
    assert policy.expected(cost)[idle] == pytest.approx(least[idle], rel=1e-6, abs=1e-9)
    assert (np.diff(policy.first_path())[idle] == 1).all()
    objective = float(network.latency.integral(flow).sum()) if equilibrium else float(flow @ network.latency.time(flow))
    assert solution.objective == pytest.approx(objective, rel=1e-9)


def cheapest(network: pr.Network, pairs: pr.Pairs, cost: NDArray[np.float64]) -> NDArray[np.float64]:
    priced = pr.Network(
        network.tail,
        network.head,
        pr.Latency.affine(cost, network.capacity_per_min),
        network.node_labels,
        no_through=network.no_through,
    )
    return pr.free_flow_minutes(priced, pairs)


def grid(side: int, zones: int) -> tuple[pr.Network, pr.Demand]:
    """A square street grid with zones spread over it and a demand that fills it."""
    node = np.arange(side * side).reshape(side, side)
    east, south = (node[:, :-1].ravel(), node[:, 1:].ravel()), (node[:-1].ravel(), node[1:].ravel())
    tail = np.concatenate([east[0], east[1], south[0], south[1]])
    head = np.concatenate([east[1], east[0], south[1], south[0]])
    minutes = np.random.default_rng(1).uniform(0.5, 2.0, tail.size)
    places = np.linspace(0, side * side - 1, zones).astype(int)
    network = pr.Network(tail, head, pr.Latency.bpr(minutes, 100.0), range(side * side), zones=places)
    pairs = pr.Pairs.of_zones(network)
    return network, pr.Demand(pairs, np.random.default_rng(2).uniform(0, 1, len(pairs)))
