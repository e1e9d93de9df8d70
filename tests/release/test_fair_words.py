"""Screens and numbers of a fair release say that it is one."""

from __future__ import annotations

import numpy as np

import privroute as pr
from privroute.release.explanation import explain
from privroute.serve.answers import LinkTimes


def test_a_fair_release_says_so_and_weighs_by_its_own_cost() -> None:
    scenario = pr.sioux_falls()
    history = pr.simulate_days(scenario.demand, days=5, seed=1)
    fair = pr.learn(scenario.network, history, pr.Guarantee(1.0, 1e-6), pr.Counts(fairness=0.25))
    plain = pr.learn(scenario.network, history, pr.Guarantee(1.0, 1e-6))
    assert any("Fairness 0.25 of 1" in sentence for sentence in explain(fair.certificate).made)
    assert not any("Fairness" in sentence for sentence in explain(plain.certificate).made)
    assert fair.demand is not None
    flow = fair.policy.link_flow(fair.demand)
    latency = scenario.network.latency
    expected = 60 * (0.25 * latency.time(flow) + 0.75 * latency.marginal_cost(flow))
    np.testing.assert_allclose(LinkTimes.of(fair, flow).weight, expected)
    # used routes of a pair weigh the same: that is what the solver equalised
    for route_ends in ((12, 6), (13, 19)):
        weights = [LinkTimes.of(fair, flow).weight[list(r.links)].sum() for r in fair.policy.routes(*route_ends)]
        np.testing.assert_allclose(weights, weights[0], rtol=1e-3)
