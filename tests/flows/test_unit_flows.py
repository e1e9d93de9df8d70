"""Objective, gradient, link flow and feasibility of unit flows."""

from __future__ import annotations

import numpy as np
import pytest

import privroute as pr
from privroute.errors import DemandError, NetworkError, PolicyError
from privroute.flows import unit_flows
from privroute.flows.projection import project
from privroute.flows.unit_flows import (
    gradient,
    infeasibility,
    link_flow,
    marginal_costs,
    objective,
    step_in_place,
)
from privroute.policy.decomposition import decompose

SCENARIO = pr.sioux_falls()
NETWORK, DEMAND = SCENARIO.network, SCENARIO.demand
RNG = np.random.default_rng(0)
FLOWS = project(NETWORK, DEMAND.pairs, RNG.normal(0, 0.3, (len(DEMAND.pairs), NETWORK.links))).flows
DAYS = RNG.poisson(DEMAND.rate_per_min * 60, (4, len(DEMAND.pairs))) / 60


def test_link_flow_is_the_background_and_the_weighted_sum() -> None:
    np.testing.assert_allclose(link_flow(NETWORK, DEMAND, FLOWS), DEMAND.rate_per_min @ FLOWS)
    np.testing.assert_allclose(link_flow(NETWORK, DAYS, FLOWS), DAYS @ FLOWS)


def test_objective_is_the_travel_time_of_the_decomposed_policy_if_there_are_no_cycles() -> None:
    tree = project(NETWORK, DEMAND.pairs, np.zeros_like(FLOWS)).flows  # the shortest possible flow has no cycles
    policy = decompose(NETWORK, DEMAND.pairs, tree)
    flow = policy.link_flow(DEMAND)
    assert objective(NETWORK, DEMAND, tree) == pytest.approx(flow @ NETWORK.latency.time(flow), rel=1e-6)


def test_many_days_are_each_day_by_itself() -> None:
    each = np.array([objective(NETWORK, day, FLOWS, alpha=3.0) for day in DAYS])
    np.testing.assert_allclose(np.asarray(objective(NETWORK, DAYS, FLOWS, alpha=3.0)), each)
    mean = np.mean([gradient(NETWORK, day, FLOWS, alpha=3.0) for day in DAYS], axis=0)
    np.testing.assert_allclose(gradient(NETWORK, DAYS, FLOWS, alpha=3.0), mean, rtol=1e-12, atol=1e-12)


def test_the_gradient_is_the_derivative_of_the_objective() -> None:
    toward = RNG.normal(size=FLOWS.shape) * 1e-2
    inside = 0.5 + 0.0 * FLOWS  # away from zero link flow
    slope = float(np.vdot(gradient(NETWORK, DAYS, inside, alpha=2.0), toward))
    ahead = np.mean(objective(NETWORK, DAYS, inside + 1e-4 * toward, alpha=2.0))
    behind = np.mean(objective(NETWORK, DAYS, inside - 1e-4 * toward, alpha=2.0))
    assert slope == pytest.approx((ahead - behind) / 2e-4, rel=1e-6)


def test_a_step_in_place_in_blocks_is_a_gradient_step(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = FLOWS - 1e-3 * gradient(NETWORK, DAYS, FLOWS, alpha=2.0, ceiling_min=8.0)
    monkeypatch.setattr(unit_flows, "_BLOCK_VALUES", 1000)
    moved = FLOWS.copy()
    step_in_place(NETWORK, DAYS, moved, 1e-3, alpha=2.0, ceiling_min=8.0)
    np.testing.assert_allclose(moved, wanted, atol=1e-12)


def test_the_ceiling_cuts_marginal_costs() -> None:
    flow = link_flow(NETWORK, DEMAND, FLOWS)
    cut = marginal_costs(NETWORK, flow, 7.0)
    assert cut.max() == 7.0
    with pytest.raises(NetworkError, match="ceiling_min"):
        marginal_costs(NETWORK, flow, -1.0)


def test_infeasibility_is_the_largest_deviation() -> None:
    assert infeasibility(NETWORK, DEMAND.pairs, FLOWS).max() <= 1e-9
    spoilt = FLOWS.copy()
    spoilt[3, 5] += 0.25
    worst = infeasibility(NETWORK, DEMAND.pairs, spoilt)
    assert np.argmax(worst) == 3
    assert worst[3] == pytest.approx(0.25, rel=1e-6)
    spoilt[3, 5] = np.nan
    assert np.flatnonzero(np.isnan(infeasibility(NETWORK, DEMAND.pairs, spoilt))).tolist() == [3]


def test_wrong_shapes_and_rates_are_refused() -> None:
    with pytest.raises(DemandError, match="rates have shape"):
        link_flow(NETWORK, DAYS[:, 1:], FLOWS)
    with pytest.raises(DemandError, match="negative or not finite"):
        link_flow(NETWORK, -DAYS, FLOWS)
    with pytest.raises(DemandError, match="cannot be read"):
        link_flow(NETWORK, "many", FLOWS)
    with pytest.raises(PolicyError, match="flows have shape"):
        link_flow(NETWORK, DAYS, FLOWS[:, 1:])
    with pytest.raises(PolicyError, match="rows where there are"):
        infeasibility(NETWORK, DEMAND.pairs, FLOWS[1:])
