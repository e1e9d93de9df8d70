"""Measured quality where no noisy counts are known: what is out of range or cut off is found, not guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.mechanism.flow_cases import braess, history, roads
from tests.mechanism.quality_cases import SCENARIO, SHARE, above, moved, one_more, published_of, question_of, study_of

import privroute as pr
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.flows.time_bounds import BoundedTime
from privroute.mechanism import quality as measuring
from privroute.mechanism.comparison import policies_to_compare
from privroute.mechanism.learn import learn_with_noise
from privroute.mechanism.registry import implementation
from privroute.mechanism.shares import Shares
from privroute.policy.travel_time import total_travel_time
from privroute.release.quality import RELEASED

NETWORKS = {"braess": braess(), "roads": roads([1.0, 1.5], capacity=0.5)}


def one_centre(size: float) -> pr.Demand:
    """Nearly all trips go to one zone: nothing like equal demand."""
    demand = SCENARIO.demand
    rates = np.where(demand.pairs.destination == 9, 1.0, 0.02) * demand.rate_per_min
    return pr.Demand(demand.pairs, rates * size * demand.total_per_min / rates.sum())


def test_flows_beyond_the_model_are_found_and_leave_no_upper_limit() -> None:
    """No noisy counts, and a public demand that is wrong: every upper limit that is stated holds."""
    network, demand = SCENARIO.network, one_centre(0.35)
    data = pr.simulate_days(demand, days=50, seed=5)
    best = pr.solve_optimum(network, data.mean, gap=1e-9).total_travel_time
    flat = pr.Demand(demand.pairs, np.full(len(demand.pairs), demand.rate_per_min.mean()))
    options = pr.Minimiser(alpha=1000 / 60, public_demand=flat)
    release = learn_with_noise(network, data, pr.Guarantee(1.0, 1e-6), options, SeededNoise(1), quality_share=SHARE)
    assert release.quality is not None
    policies = policies_to_compare(network, release.policy, data.mean, known=False)
    said = {RELEASED: release.quality.above_optimum, **release.quality.baselines}
    for name, policy in policies.items():
        true = 100 * (total_travel_time(network, policy, data.mean) / best - 1)
        high = said[name].high
        assert said[name].low <= true + 1e-7
        assert high is None or true <= high + 1e-7
    assert any(each.high is None for each in said.values())


def test_flows_within_the_model_keep_their_upper_limit() -> None:
    network = SCENARIO.network
    data = pr.simulate_days(SCENARIO.demand, days=50, seed=5)
    options = pr.Minimiser(alpha=1000 / 60, public_demand=SCENARIO.demand)
    release = learn_with_noise(network, data, pr.Guarantee(1.0, 1e-6), options, SeededNoise(1), quality_share=SHARE)
    assert release.quality is not None
    true, high = above(release, data.mean), release.quality.above_optimum.high
    assert high is not None
    assert release.quality.above_optimum.low <= true <= high < true + 10


@pytest.mark.parametrize("name", NETWORKS)
def test_no_flows_lose_more_than_what_is_measured_above_the_range_allows(name: str) -> None:
    network = NETWORKS[name]
    chance = np.random.default_rng(8)
    low = network.background_per_min
    for _ in range(50):
        high = low + chance.exponential(0.3, network.links)
        time = BoundedTime.between(network, low, high, np.full(network.links, np.inf))
        flow = low + chance.exponential(0.5, network.links)
        lost = float(flow @ network.latency.time(flow)) - time(flow)
        most = np.full(network.links, 1e6)
        assert lost <= time.largest_loss(time.beyond(flow), most) * (1 + 1e-9) + 1e-9
        one = np.where(np.arange(network.links) == chance.integers(network.links), flow, time.high_flow)
        one = np.maximum(one, time.high_flow)
        single = float(one @ network.latency.time(one)) - time(one)
        assert single <= time.largest_loss(time.beyond(one), most) * (1 + 1e-9) + 1e-9


def test_links_that_are_full_leave_the_rest_to_others() -> None:
    """Each of three roads can take a part of what is above the range, and together they lose more than each alone."""
    roads_apart = pr.Network([0, 0, 0], [1, 1, 1], pr.Latency.bpr([1.0, 1.0, 2.0], [10.0, 12.0, 8.0]), list("ab"))
    low, high, most = np.zeros(3), np.array([8.0, 9.0, 7.0]), np.array([20.0, 18.0, 12.0])
    time = BoundedTime.between(roads_apart, low, high, np.full(3, np.inf))
    full = float(most @ roads_apart.latency.time(most)) - time(most)
    assert time.largest_loss(time.beyond(most), most) == pytest.approx(full, rel=1e-12)
    chance = np.random.default_rng(3)
    for _ in range(200):
        flow = high + chance.beta(0.3, 0.3, 3) * (most - high)
        lost = float(flow @ roads_apart.latency.time(flow)) - time(flow)
        assert lost <= time.largest_loss(time.beyond(flow), most) * (1 + 1e-9)


def test_a_heavy_pair_is_measured_whole_where_no_noisy_counts_are_known() -> None:
    """One pair has 1.5 · 10⁹ trips, and no other has any."""
    network = roads([1.0, 1.5], capacity=0.5)
    data = history(network, np.zeros((3, len(pr.Pairs.of_zones(network))), dtype=int))
    counts = data.counts.copy()
    counts[:, 0] = 5 * 10**8
    heavy = pr.DemandHistory.of(data.frame, counts)
    study = study_of(network, heavy, 1.0, pr.Minimiser(alpha=1.0))
    shares = Shares.of(study, implementation(study.mechanism).promise(study))
    asking = measuring.converse(study, shares.whole, shares.quality, published_of(study, data))
    total = next(asking).ask(heavy, None)
    assert total.tolist() == [15 * 10**8]
    question = asking.send(total)
    counted: Any = question.ask.__self__.counted  # type: ignore[attr-defined]
    assert counted.sums(heavy).tolist() == counts.sum(axis=0).tolist()
    assert counted.cut(heavy) == 0.0


def test_trips_that_are_cut_off_are_found_and_leave_no_upper_limit() -> None:
    network = NETWORKS["braess"]
    data = history(network, np.full((3, 12), 20))
    study = study_of(network, data, 1.0, pr.Minimiser(alpha=1.0))
    question = question_of(study, published_of(study, data))
    asked: Any = question.ask.__self__  # type: ignore[attr-defined]
    heavy = pr.DemandHistory.of(data.frame, data.counts * 10**6)
    for each, cut in ((data, False), (heavy, True)):
        found = question.ask(each, None) / asked.multiplier
        deviation = 1e-6 * found.max() * np.ones(found.size)
        assert (asked.counted.cut(each) > 0) == cut
        assert all(row.at_least for row in asked.measured(found, deviation).values()) or not cut
    steps = [moved(question, heavy, one_more(heavy, 1, pair)) for pair in range(12)]
    assert max(steps) <= 1.0
