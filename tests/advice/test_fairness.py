from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from tests.advice.busy import busy_grid
from tests.flows.solutions import cheapest, public

import privroute as pr
from privroute.advice.fairness import DEFAULT_LEVELS, FairnessRow, fairness_curve, unfairness
from privroute.errors import DemandError, GuaranteeError, InputError
from privroute.study.mechanisms import check_public_options, public_options

GAP = 1e-8


def check_trade_off(rows: tuple[FairnessRow, ...]) -> None:
    """Theory: total time never falls, the worst pair is within its bound, nobody differs at the equilibrium."""
    total = [row.total_travel_time for row in rows]
    assert all(row.relative_gap <= GAP for row in rows)
    assert all(later >= earlier * (1 - 10 * GAP) for earlier, later in itertools.pairwise(total))
    assert all(1.0 <= row.mean <= row.worst <= row.bound * (1 + 1e-5) for row in rows)
    assert rows[-1].worst == pytest.approx(1.0, abs=1e-4)
    assert rows[0].above_optimum == 0.0


@pytest.mark.parametrize("name", ["SiouxFalls", "Anaheim", "ChicagoSketch"])
def test_total_time_rises_and_unfairness_falls_with_fairness(tntp: Path, name: str) -> None:
    network, demand = public(tntp, name, "bpr")
    rows = fairness_curve(network, demand, gap=GAP)
    assert tuple(row.fairness for row in rows) == DEFAULT_LEVELS
    check_trade_off(rows)
    # theory bounds the worst pair by a line that falls; that it falls itself is true on the public networks
    assert all(later.worst < earlier.worst for earlier, later in itertools.pairwise(rows))
    assert rows[0].mean > rows[-1].mean


def test_the_ends_are_the_optimum_and_the_equilibrium() -> None:
    network, demand = busy_grid(8, 12)
    for fairness, expected in ((0.0, pr.solve_optimum(network, demand)), (1.0, pr.solve_equilibrium(network, demand))):
        found = pr.solve_optimum(network, demand, fairness=fairness)
        np.testing.assert_allclose(found.link_flow, expected.link_flow, rtol=1e-12)
        assert found.objective == expected.objective


@pytest.mark.parametrize("fairness", [0.1, 0.5, 0.9])
def test_used_paths_have_the_least_mixed_cost(fairness: float) -> None:
    """The evidence, computed again: f + (1 − fairness) y f' plus fixed costs, and the objective."""
    network, demand = busy_grid(8, 12)
    fixed = np.random.default_rng(3).uniform(0.0, 2.0, network.links)
    priced = pr.Network(
        network.tail,
        network.head,
        network.latency,
        network.node_labels,
        zones=network.zones,
        background_per_min=1.0,
        fixed_cost_min=fixed,
    )
    solution = pr.solve_optimum(priced, demand, fairness=fairness, gap=1e-9)
    flow = solution.link_flow
    latency = network.latency
    cost = fairness * latency.time(flow) + (1 - fairness) * latency.marginal_cost(flow) + fixed
    spent = float((flow - 1.0) @ cost)
    assert solution.relative_gap <= 1e-9
    least = float(demand.rate_per_min @ cheapest(priced, demand.pairs, cost))
    assert spent / least - 1 == pytest.approx(solution.relative_gap, abs=1e-11)
    objective = (1 - fairness) * flow @ latency.time(flow) + fairness * latency.integral(flow).sum() + fixed @ flow
    assert solution.objective == pytest.approx(float(objective), rel=1e-9)
    assert solution.total_travel_time == pytest.approx(float(flow @ latency.time(flow)), rel=1e-12)


def test_used_routes_of_both_storages_have_the_same_range() -> None:
    network, demand = busy_grid(6, 6)
    policy = pr.solve_optimum(network, demand).policy
    minutes = network.latency.time(policy.link_flow(demand))
    by_origin = policy.route_range(minutes, least_share=0.0)
    paths = policy.as_paths().route_range(minutes, least_share=0.0)
    for mine, theirs in zip(by_origin, paths, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    for pair in range(len(policy.pairs)):
        origin, destination = policy.pairs.origin[pair], policy.pairs.destination[pair]
        times = [minutes[list(route.links)].sum() for route in policy.routes(int(origin), int(destination))]
        assert (min(times), max(times)) == pytest.approx((by_origin[0][pair], by_origin[1][pair]))


def test_two_parallel_roads_have_the_unfairness_of_the_closed_form() -> None:
    """f = 1 and f = y with one vehicle: θ y + y = 1, so y = 1 / (1 + θ), and the times are 1 and y."""
    latency = pr.Latency.bpr([1.0, 1e-9], 1.0, [0.0, 1e9], 1.0)
    network = pr.Network([0, 0], [1, 1], latency, ["a", "b"])
    demand = pr.Demand(pr.Pairs([0], [1]), [1.0])
    for fairness in (0.0, 0.25, 0.5, 0.75):
        theta = 1 - fairness
        solution = pr.solve_optimum(network, demand, fairness=fairness, gap=1e-10)
        assert solution.link_flow[1] == pytest.approx(1 / (1 + theta), rel=1e-6)
        assert unfairness(network, solution.policy, demand).worst == pytest.approx(1 + theta, rel=1e-6)


def test_what_is_no_level_of_fairness_is_refused() -> None:
    network, demand = busy_grid(3, 3)
    for wrong in (-0.1, 1.1, float("nan"), True):
        with pytest.raises(InputError, match="fairness"):
            pr.solve_optimum(network, demand, fairness=wrong)
        with pytest.raises(GuaranteeError, match="fairness"):
            pr.Counts(fairness=wrong)
    with pytest.raises(InputError, match="rising"):
        fairness_curve(network, demand, levels=(0.5, 0.0))
    with pytest.raises(DemandError, match="zero"):
        unfairness(network, pr.solve_optimum(network, demand).policy, demand * 0.0)


@pytest.mark.parametrize("mechanism", [pr.Counts, pr.Daily, pr.Layered])
def test_releases_are_as_fair_as_asked_and_say_so(mechanism: type[pr.Counts], tmp_path: Path) -> None:
    scenario = pr.sioux_falls()
    network, demand = scenario.network, scenario.demand
    history = pr.simulate_days(demand, days=5, seed=1)
    promise = pr.Guarantee(epsilon=1.0, delta=1e-6)
    released = {fairness: pr.learn(network, history, promise, mechanism(fairness=fairness)) for fairness in (0.0, 1.0)}
    worst = {fairness: unfairness(network, one.policy, demand).worst for fairness, one in released.items()}
    assert worst[1.0] < 1.02 < worst[0.0]
    released[1.0].save(tmp_path / "fair")
    manifest = json.loads((tmp_path / "fair" / "release.json").read_text())
    assert manifest["certificate"]["options"]["fairness"] == 1.0
    assert pr.load_release(tmp_path / "fair").certificate.options["fairness"] == 1.0


def test_the_measured_quality_of_a_fair_release_is_against_the_optimum_of_time() -> None:
    """At the equilibrium the release is above the optimum by what the equilibrium costs, and the interval says so."""
    scenario = pr.sioux_falls()
    history = pr.simulate_days(scenario.demand, days=50, seed=1)
    release = pr.learn(scenario.network, history, pr.Guarantee(epsilon=10.0, delta=1e-6), pr.Counts(fairness=1.0))
    best = pr.solve_optimum(scenario.network, history.mean).total_travel_time
    true = 100 * (pr.total_travel_time(scenario.network, release.policy, history.mean) / best - 1)
    assert release.quality is not None
    measured = release.quality.above_optimum
    assert measured.high is not None
    assert measured.low - 1e-3 <= true <= measured.high + 1e-3
    assert measured.high - measured.low < true


def test_certificates_without_fairness_mean_the_optimum() -> None:
    options = public_options(pr.Counts())
    check_public_options("counts", options)
    del options["fairness"]
    check_public_options("counts", options)
    with pytest.raises(GuaranteeError, match="other options"):
        check_public_options("counts", {**options, "unheard": 1})
    del options["gap"]
    with pytest.raises(GuaranteeError, match="other options"):
        check_public_options("counts", options)


def test_with_fixed_costs_unfairness_is_of_time_and_cost_and_within_its_bound() -> None:
    network, demand = busy_grid(8, 12)
    priced = network.with_fixed_costs(np.random.default_rng(3).uniform(0.0, 5.0, network.links))
    rows = fairness_curve(priced, demand, levels=(0.0, 0.5, 1.0), gap=GAP)
    assert all(1.0 <= row.mean <= row.worst <= row.bound * (1 + 1e-5) for row in rows)
    assert rows[0].worst > 1.01
    assert rows[-1].worst == pytest.approx(1.0, abs=1e-4)
