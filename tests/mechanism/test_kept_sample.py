"""Kept trips as a sample of all trips: what it adds to the measured quality."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.mechanism.quality_cases import SCENARIO, SHARE, above
from tests.mechanism.test_quality import STEEP

import privroute as pr
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.flows.time_bounds import LeastTime
from privroute.mechanism.kept_sample import KeptSample
from privroute.mechanism.learn import learn_with_noise
from privroute.network.point_curves import point_parameters
from privroute.policy.travel_time import total_travel_time
from privroute.release.quality import RELEASED

PAIRS = pr.Pairs.of_zones(STEEP)
MODEL = pr.Demand(PAIRS, np.random.default_rng(1).exponential(0.1, len(PAIRS)))


@pytest.mark.parametrize("total_error", [0.0, 0.05])
@pytest.mark.parametrize("solve", [pr.solve_optimum, pr.solve_equilibrium])
def test_all_trips_are_within_what_the_sample_leaves_open(total_error: float, solve: Any) -> None:
    """1,500 demands around the kept one: the excess is never below its straight part, rarely above it and the slack."""
    policy, best = solve(STEEP, MODEL).policy, pr.solve_optimum(STEEP, MODEL)
    least = LeastTime.at(STEEP, PAIRS, best.policy.link_flow(MODEL))
    sample = KeptSample.of(MODEL, 1e-4, 2.5, total_error)
    deviation, slack = sample.of_excess(policy, least)

    def excess(rates: NDArray[np.float64]) -> float:
        demand = pr.Demand(PAIRS, rates)
        return total_travel_time(STEEP, policy, demand) - least.offset - float(rates @ least.minutes)

    price = STEEP.latency.marginal_cost(policy.link_flow(MODEL))
    slopes = policy.expected(price) - least.minutes
    chance, base = np.random.default_rng(2), excess(MODEL.rate_per_min)
    straight, beyond = [], []
    for _ in range(1500):
        moved = chance.normal(0, np.sqrt(sample.variance)) + total_error * chance.normal() * MODEL.rate_per_min
        moved = np.maximum(moved, -MODEL.rate_per_min)
        straight.append(float(moved @ slopes))
        beyond.append(excess(MODEL.rate_per_min + moved) - base - straight[-1])
    assert min(beyond) >= -1e-9 * best.total_travel_time
    assert np.mean(np.array(beyond) > slack) <= 0.001 + 4 * math.sqrt(0.001 / 1500)
    assert slack < 40 * np.mean(beyond)
    assert deviation == pytest.approx(np.std(straight), rel=0.1, abs=1e-12)


def test_the_largest_eigenvalue_is_bounded_from_above() -> None:
    """The slack is at least that of the dense covariance, whose shares are squared, and at most that of its trace."""
    policy = pr.solve_optimum(STEEP, MODEL).policy
    sample = KeptSample.of(MODEL, 1e-6, 2.5, 0.02)
    _, slack = sample.of_excess(policy, LeastTime.at(STEEP, PAIRS, policy.link_flow(MODEL)))
    shares = np.array([policy.expected(unit) for unit in np.eye(STEEP.links)])
    covariance = np.diag(sample.variance) + 0.02**2 * np.outer(sample.rate, sample.rate)
    root = np.sqrt(STEEP.latency.marginal_slope(policy.link_flow(MODEL)))[:, None]
    values = np.linalg.eigvalsh(root * (shares @ covariance @ shares.T) * root.T)
    rare = math.log(1000)
    exact = (values.sum() + 2 * math.sqrt(rare * float(values @ values)) + 2 * rare * values.max()) / 2
    assert exact < slack < 2 * exact


def test_a_steep_rise_of_the_marginal_cost_is_within_the_slack() -> None:
    """The curve has a rounded corner at the expected flow: beyond it every trip costs much more."""
    points = point_parameters([(0.5, 1.1), (1.5, 9.0)])
    road = pr.Network([0], [1], pr.Latency.of("table", [1.0], [2.0], **points), list("ab"))
    pairs, chance = pr.Pairs([0], [1]), np.random.default_rng(4)
    model = pr.Demand(pairs, [1.0])
    policy = pr.solve_optimum(road, model).policy
    sample = KeptSample.of(model, 1e-3, 2.5, 0.0)
    _, slack = sample.of_excess(policy, LeastTime.at(road, pairs, policy.link_flow(model)))

    def minutes(flow: NDArray[np.float64]) -> NDArray[np.float64]:
        return flow * road.latency.time(flow[:, None])[:, 0]

    moved = chance.normal(0, math.sqrt(float(sample.variance[0])), 20_000)
    price = float(road.latency.marginal_cost([1.0])[0])
    beyond = minutes(1.0 + moved) - minutes(np.ones(1)) - price * moved
    assert np.mean(beyond > slack) <= 0.001 + 4 * math.sqrt(0.001 / 20_000)
    assert math.isfinite(slack)


def test_nothing_is_added_where_all_trips_are_kept_and_the_total_is_sure() -> None:
    policy = pr.solve_equilibrium(STEEP, MODEL).policy
    least = LeastTime.at(STEEP, PAIRS, policy.link_flow(MODEL))
    every = KeptSample.of(MODEL, 1e-4, 1.0, 0.0)
    assert every.of_excess(policy, least) == (0.0, 0.0)
    assert every.of_least(least.minutes) == 0.0


@pytest.mark.parametrize("source", ["public", "measured"])
def test_intervals_of_scaled_trips_cover_the_traffic_of_all(source: str) -> None:
    """Two fifths of the trips at epsilon 10, where the sample is off by more than the noise."""
    every = pr.simulate_days(SCENARIO.demand, days=20, seed=2)
    bounds = pr.Contribution("user", 10, 2, max_for_total=100 if source == "measured" else None)
    total = 60 * every.mean.total_per_min if source == "public" else None
    frame = replace(every.frame, contribution=bounds, total_per_h=total)
    requests = int(every.counts.sum()) if source == "measured" else None
    for seed in range(5):
        kept = np.random.default_rng(seed).binomial(every.counts, 0.4)
        history = pr.DemandHistory.of(frame, kept, requests=requests, simulated=True)
        release = learn_with_noise(
            SCENARIO.network,
            history,
            pr.Guarantee(10.0, 1e-6, "user"),
            "counts",
            SeededNoise(seed),
            quality_share=SHARE,
        )
        assert release.quality is not None
        said = release.quality.above_optimum
        assert said.high is not None
        assert said.low <= above(release, every.mean) <= said.high < 1.0
        assert release.quality.verdict == "better"
        noise = release.quality.rows[RELEASED]
        assert noise.slack > 0


def test_no_upper_limit_is_stated_where_marginal_costs_jump() -> None:
    """At a kink the excess grows in proportion to what a sample hides, not with its square."""
    points = {"load_1": 0.5, "factor_1": 1.0, "load_2": 1.0, "factor_2": 4.0}
    kinked = STEEP.with_latency("piecewise", **points)
    rounded = STEEP.with_latency("table", **points)
    for network, bounded in ((kinked, False), (rounded, True)):
        policy = pr.solve_optimum(network, MODEL).policy
        least = LeastTime.at(network, PAIRS, policy.link_flow(MODEL))
        _, slack = KeptSample.of(MODEL, 1e-4, 2.5, 0.01).of_excess(policy, least)
        assert math.isfinite(slack) == bounded


def test_trips_with_weights_are_a_coarser_sample() -> None:
    """A pair's weights, kept whole or not at all: the spread of their sum is within the stated variance."""
    chance, heaviest, kept = np.random.default_rng(4), 9, 0.4
    weights = chance.choice([1, 9], 400)
    sums = [float(weights[chance.random(400) < kept].sum()) for _ in range(3000)]
    rate = np.zeros(len(PAIRS))
    rate[0] = weights.sum()  # a request stands for 1/kept after scaling
    stated = KeptSample.of(pr.Demand(PAIRS, rate), 1 / kept, 1 / kept, 0.0, heaviest=heaviest).variance[0]
    assert 0.5 * stated < np.var(np.array(sums) / kept) < stated
