"""Mechanisms on a network whose marginal costs jump: those that work on counts run, those on flows refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.flows.test_optimum_of_every_curve import KINKS

import privroute as pr
from privroute.errors import NetworkError
from privroute.network.point_curves import point_parameters


@pytest.fixture(scope="module")
def kinked() -> tuple[pr.Network, pr.Demand]:
    scenario = pr.sioux_falls()
    return scenario.network.with_latency("piecewise", **point_parameters(KINKS)), scenario.demand * 0.3


@pytest.mark.parametrize("mechanism", ["counts", "layered", "daily"])
def test_mechanisms_on_counts_run(mechanism: str, kinked: tuple[pr.Network, pr.Demand], tmp_path: Path) -> None:
    network, demand = kinked
    history = pr.simulate_days(demand, days=5, seed=1)
    release = pr.learn(network, history, pr.Guarantee(epsilon=1.0, delta=1e-6), mechanism=mechanism)
    least = pr.solve_optimum(network, demand, gap=1e-8).total_travel_time
    assert least <= pr.total_travel_time(network, release.policy, demand) <= 1.02 * least
    assert release.quality is not None
    release.save(tmp_path / "release")
    assert pr.load_release(tmp_path / "release").network.latency == network.latency


@pytest.mark.parametrize("name", ["sgd", "minimiser"])
def test_mechanisms_on_flows_refuse_with_the_reason(name: str, kinked: tuple[pr.Network, pr.Demand]) -> None:
    network, demand = kinked
    history = pr.simulate_days(demand, days=5, seed=1)
    options: pr.Sgd | pr.Minimiser = (
        pr.Sgd(public_demand=demand, alpha=1e6) if name == "sgd" else pr.Minimiser(alpha=1e6, public_demand=demand)
    )
    with pytest.raises(NetworkError, match=r"jumps at its kinks.*counts, layered, daily"):
        pr.learn(network, history, pr.Guarantee(epsilon=1.0, delta=1e-6), mechanism=options)
