"""How useful a release is, measured under its own guarantee: sensitivity, honesty of the statements, planted bugs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mechanism.flow_cases import braess, history, roads, sgd
from tests.mechanism.quality_cases import (
    SCENARIO,
    SHARE,
    above,
    bounded_fleet,
    days_of,
    moved,
    one_more,
    published_of,
    question_of,
    study_of,
)

import privroute as pr
from privroute.demand.without_data import gravity_policy, uniform_policy
from privroute.errors import GuaranteeError, HistoryError, ReleaseError
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.flows.time_bounds import BoundedTime, LeastTime
from privroute.mechanism import comparison, counts
from privroute.mechanism import quality as measuring
from privroute.mechanism import shares as sharing
from privroute.mechanism.comparison import policies_to_compare
from privroute.mechanism.interface import Question
from privroute.mechanism.learn import learn_with_noise
from privroute.mechanism.registry import implementation
from privroute.mechanism.shares import Shares
from privroute.policy.travel_time import total_travel_time
from privroute.release.quality import RELEASED, MeasuredRow, Quality

STEEP = pr.Network(
    [0, 0, 1, 1, 2, 3],
    [1, 2, 2, 3, 3, 0],
    pr.Latency.bpr([1.0, 3.0, 0.5, 3.0, 1.0, 2.0], [0.3, 1.0, 1.0, 1.0, 0.3, 1.0]),
    list("abcd"),
    background_per_min=[0.1, 0.0, 0.2, 0.0, 0.0, 0.4],
)
NETWORKS = {"braess": braess(), "steep": STEEP, "roads": roads([1.0, 1.5], capacity=0.5)}
MECHANISMS: dict[str, Any] = {
    "counts": pr.Counts(),
    "daily": pr.Daily(),
    "recent": pr.Daily(half_life_days=1.0, window=2),
}


def test_a_policy_of_countless_routes_is_measured_as_precisely_as_one_of_few() -> None:
    """Rounding follows the size of the bushes, not the number of routes, of which there are 2^60 here."""
    count = 60
    tail = [node for k in range(count) for node in (3 * k, 3 * k, 3 * k + 1, 3 * k + 2)]
    head = [node for k in range(count) for node in (3 * k + 1, 3 * k + 2, 3 * k + 3, 3 * k + 3)]
    network = pr.Network(tail, head, pr.Latency.bpr(np.ones(4 * count), 10.0), range(3 * count + 1))
    pairs = pr.Pairs([0, 3], [3 * count, 3 * count])
    days = pr.simulate_days(pr.Demand(pairs, np.array([10.0, 5.0])), days=20, seed=1)
    release = pr.learn(network, days, pr.Guarantee(1.0, 1e-6))
    assert release.policy.summary().paths > 2.0**59
    assert release.quality is not None
    assert release.quality.least_deviation < 0.01 * release.quality.least


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_neighbour_moves_the_quality_farther_than_declared(name: str, mechanism: str) -> None:
    """The question is made from one release and asked of any data: empty, as released, far heavier, and odd ones."""
    network = NETWORKS[name]
    learned = days_of(network, 1, 300)
    study = study_of(network, learned, 0.3, MECHANISMS[mechanism])
    question = question_of(study, published_of(study, learned))
    worst = 0.0
    for data in (
        learned,
        heavier(learned),
        *(days_of(network, seed, size) for seed, size in ((2, 0), (3, 5), (4, 300), (5, 40_000))),
    ):
        for pair in range(len(data.pairs)):
            for day in (0, 2):
                worst = max(worst, moved(question, data, one_more(data, day, pair)))
    assert 0.05 < worst <= 1.0


@pytest.mark.parametrize("mechanism", ["sgd", "minimiser"])
def test_neither_where_no_demand_is_released(mechanism: str) -> None:
    network = NETWORKS["braess"]
    data = history(network, np.full((3, 12), 20))
    options = sgd(network) if mechanism == "sgd" else pr.Minimiser(alpha=1.0)
    study = study_of(network, data, 1.0, options)
    question = question_of(study, published_of(study, data))
    far = heavier(data)
    steps = [moved(question, each, one_more(each, 1, pair)) for each in (data, far) for pair in range(12)]
    assert 0.02 < max(steps) <= 1.0
    release = pr.learn(network, data, pr.Guarantee(1.0, 1e-6), options)
    assert release.quality is not None
    assert set(release.quality.baselines) == {"equal_demand", "free_flow"}


@pytest.mark.parametrize("mechanism", ["sgd", "minimiser"])
def test_a_request_with_a_weight_moves_the_total_by_its_weight(mechanism: str) -> None:
    network = NETWORKS["braess"]
    data = history(network, np.full((3, 12), 20))
    weighed = replace(data.frame, contribution=pr.Contribution("request", 9, 9, max_weight=9))
    data = pr.DemandHistory.of(weighed, data.counts)
    options = sgd(network) if mechanism == "sgd" else pr.Minimiser(alpha=1.0)
    study = study_of(network, data, 1.0, options)
    parts = Shares.of(study, implementation(study.mechanism).promise(study))
    asking = measuring.converse(study, parts.whole, parts.quality, published_of(study, data))
    total = next(asking)
    assert total.grid is not None
    assert total.moved is not None
    assert total.grid * total.moved <= total.sensitivity  # what a draw may cost
    last = asking.send(np.array([1000]))
    for pair in range(12):
        more = one_more(data, 1, pair, 9)
        assert moved(total, data, more) == 1.0
        assert moved(last, data, more) <= 1.0


def test_a_user_moves_it_by_at_most_as_much_as_all_that_is_kept_of_them() -> None:
    kept = pr.Contribution("user", 7, 7)
    data = days_of(STEEP, 1, 300, contribution=kept)
    study = study_of(STEEP, data, 0.3)
    question = question_of(study, published_of(study, data))
    steps = [
        moved(question, each, one_more(each, 0, pair, 7))
        for each in (data, heavier(data), days_of(STEEP, 2, 3, contribution=kept))
        for pair in range(12)
    ]
    assert 0.05 < max(steps) <= 1.0


@pytest.mark.parametrize("kept", [None, pr.Contribution("user", 5), pr.Contribution("user-day", 5)])
def test_a_replacement_moves_it_by_up_to_twice_as_much_and_no_more(kept: pr.Contribution | None) -> None:
    """Two separate roads, of which the release takes one as lighter and one as heavier than they are."""
    network = pr.Network([0, 2], [1, 3], pr.Latency.bpr([10.0, 10.0], [20.0, 20.0]), list("abcd"))
    pairs = pr.Pairs([0, 2], [1, 3])
    requests = 1 if kept is None else kept.max_requests
    empty = pr.DemandHistory(pairs, np.zeros((1, 2), dtype=int), contribution=kept)
    study = study_of(network, empty, 1.0)
    promise = Shares.of(study, counts.promise(study)).for_mechanism
    question = question_of(study, counts.publish(study, promise, np.array([6000, 6000]), None))
    apart = int(3 * promise.scale)
    one, other = (
        pr.DemandHistory.of(empty.frame, np.array([[6000 + apart + first, 6000 - apart + second]]))
        for first, second in ((requests, 0), (0, requests))
    )
    assert math.sqrt(2) < moved(question, one, other) <= 2.0


def heavier(data: pr.DemandHistory) -> pr.DemandHistory:
    """Nearly twice as many requests: above the range of measurement, below the caps."""
    return pr.DemandHistory.of(data.frame, data.counts * 19 // 10)


def farthest() -> float:
    """Over pairs and heavy data, as declared by whatever the module does now."""
    learned = days_of(STEEP, 1, 300)
    heavy = heavier(learned)
    study = study_of(STEEP, learned, 0.3)
    question = question_of(study, published_of(study, learned))
    return max(moved(question, each, one_more(each, 0, pair)) for each in (learned, heavy) for pair in range(12))


class TestPlantedBugs:
    def test_a_ceiling_that_is_ignored_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def as_it_is(self: BoundedTime, flow: Any) -> float:
            return float(flow @ self.network.latency.time(flow))

        monkeypatch.setattr(BoundedTime, "__call__", as_it_is)
        assert farthest() > 1.0

    def test_an_optimum_without_its_sensitivity_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = measuring._Asked.ask

        def solved(self: Any, data: pr.DemandHistory, progress: Any) -> Any:
            """Excess over the optimum of the private data, where the sensitivity is that of the public bound."""
            values = right(self, data, progress)
            rates = self.counted.request * self.counted.sums(data)
            best = pr.solve_optimum(STEEP, pr.Demand(data.pairs, rates)).total_travel_time
            least = self.least.offset + rates @ self.least.minutes
            return values - np.rint((best - least) * self.multiplier).astype(np.int64) * (np.arange(values.size) > 0)

        monkeypatch.setattr(measuring._Asked, "ask", solved)
        assert farthest() > 1.0

    def test_a_share_that_is_charged_but_not_added_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The quality is drawn on top of noise that is calibrated for the mechanism alone."""
        right = sharing.Shares.of.__func__  # type: ignore[attr-defined]

        def unadded(kind: Any, study: pr.Study, alone: Any) -> Any:
            good = right(kind, study, alone)
            return replace(good, whole=replace(alone, questions=good.whole.questions))

        monkeypatch.setattr(sharing.Shares, "of", classmethod(unadded))
        data = days_of(STEEP, 1, 300)
        certificate = pr.learn(STEEP, data, pr.Guarantee(0.5, 1e-6)).certificate
        with pytest.raises(ReleaseError, match="rho"):
            pr.Certificate.from_dict(json.loads(json.dumps(certificate.as_dict())))

    def test_a_question_beyond_its_share_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A question may choose its grid, and not ask for more than the share that was set apart."""
        right, more = measuring.converse, [1.0]

        def greedy(*arguments: Any) -> Any:
            asking = right(*arguments)
            question = next(asking)
            yield Question(question.sensitivity * more[0], question.ask, question.grid, question.moved)

        monkeypatch.setattr(measuring, "converse", greedy)
        data = days_of(STEEP, 1, 300)
        pr.learn(STEEP, data, pr.Guarantee(0.5, 1e-6))
        more[0] = 1.001
        with pytest.raises(GuaranteeError, match="nothing is released"):
            pr.learn(STEEP, data, pr.Guarantee(0.5, 1e-6))


@pytest.mark.parametrize("name", NETWORKS)
def test_the_bounds_lie_below_every_policy(name: str) -> None:
    network = NETWORKS[name]
    pairs = pr.Pairs.of_zones(network)
    chance = np.random.default_rng(3)
    policies = [
        pr.solve_optimum(network, pr.Demand(pairs, chance.exponential(0.1, len(pairs)))).policy for _ in range(6)
    ]
    for policy in policies:
        demand = pr.Demand(pairs, chance.exponential(0.2, len(pairs)))
        flow = policy.link_flow(demand)
        middle = chance.uniform(0.5, 1.5, flow.size) * flow
        time = BoundedTime.between(network, 0.8 * middle, 1.2 * middle, 4 * network.free_flow_min)
        assert time(flow) <= total_travel_time(network, policy, demand) * (1 + 1e-12)
        least = LeastTime.at(network, pairs, middle)
        value = least.offset + float(demand.rate_per_min @ least.minutes)
        assert value <= pr.solve_optimum(network, demand).total_travel_time * (1 + 1e-9)
        inside = BoundedTime.between(network, 0.5 * flow, 2 * flow, np.full(flow.size, np.inf))
        assert inside(flow) == pytest.approx(total_travel_time(network, policy, demand), rel=1e-12)


def test_policies_to_compare_are_as_near_to_their_optimum_as_without_a_start() -> None:
    network, demand = pr.sioux_falls().network, pr.sioux_falls().demand
    released = pr.solve_optimum(network, demand, gap=1e-8).policy
    rows = policies_to_compare(network, released, demand, gap=1e-6)
    alone = {
        "equilibrium": pr.solve_equilibrium(network, demand, gap=1e-8).policy,
        "gravity": gravity_policy(network, demand),
        "equal_demand": uniform_policy(network, demand.pairs, demand.total_per_min),
    }
    assert list(rows) == [RELEASED, "equilibrium", "gravity", "equal_demand", "free_flow"]
    for name, policy in alone.items():
        found, expected = (total_travel_time(network, each, demand) for each in (rows[name], policy))
        assert found == pytest.approx(expected, rel=1e-3), name


def test_equal_demand_is_solved_to_the_gap_only_where_it_comes_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far behind the released policy a rough one does; near it, a rough one would make the release look better."""
    network, demand = pr.sioux_falls().network, pr.sioux_falls().demand
    gaps: list[float] = []

    def noted(*given: Any, gap: float, **options: Any) -> pr.RoutingPolicy:
        gaps.append(gap)
        return uniform_policy(*given, gap=gap, **options)

    monkeypatch.setattr(comparison, "uniform_policy", noted)
    policies_to_compare(network, pr.solve_optimum(network, demand).policy, demand, gap=1e-6)
    assert gaps == [1e-3]
    equal = pr.Demand(demand.pairs, np.full(len(demand.pairs), demand.rate_per_min.mean()))
    near = policies_to_compare(network, pr.solve_optimum(network, equal).policy, equal, gap=1e-6)
    assert gaps == [1e-3, 1e-3, 1e-6]
    least = pr.solve_optimum(network, equal, gap=1e-9).total_travel_time
    assert total_travel_time(network, near["equal_demand"], equal) <= least * (1 + 2e-6)


def test_a_stop_in_one_comparison_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    network, demand = pr.sioux_falls().network, pr.sioux_falls().demand
    told = []

    def interrupted(*_: Any, progress: Any, **__: Any) -> None:
        told.append(progress)
        assert progress("", 0.0), "nobody has stopped yet"
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "solve_equilibrium", interrupted)
    released = pr.solve_optimum(network, demand, gap=1e-4).policy
    with pytest.raises(KeyboardInterrupt):
        policies_to_compare(network, released, demand)
    assert told[0]("", 0.0) is False


def test_intervals_cover_the_truth_and_verdicts_are_right() -> None:
    """Sioux Falls, two days of a tenth of the traffic, at two strengths: 40 releases."""
    network = SCENARIO.network
    traffic = pr.Demand(SCENARIO.demand.pairs, SCENARIO.demand.rate_per_min, expansion=10)
    data = pr.simulate_days(traffic, days=2, seed=4)
    best = pr.solve_optimum(network, data.mean, gap=1e-10).total_travel_time
    covered = rows = rows_covered = wrong = better = 0
    for seed in range(40):
        promise = pr.Guarantee((1.0, 0.1)[seed % 2], 1e-6)
        release = learn_with_noise(network, data, promise, "counts", SeededNoise(seed), quality_share=SHARE)
        assert release.quality is not None
        assert release.demand is not None
        policies = policies_to_compare(network, release.policy, release.demand)
        true = {name: 100 * (total_travel_time(network, each, data.mean) / best - 1) for name, each in policies.items()}
        own = release.quality.above_optimum
        covered += own.low <= true[RELEASED] + 1e-7 and (own.high is None or true[RELEASED] <= own.high + 1e-7)
        for name, row in release.quality.baselines.items():
            rows += 1
            rows_covered += row.low <= true[name] + 1e-7 and (row.high is None or true[name] <= row.high + 1e-7)
        says = release.quality.verdict == "better"
        better += says
        wrong += says and true[RELEASED] > min(value for name, value in true.items() if name != RELEASED)
    assert covered >= 37
    assert rows_covered >= 0.93 * rows
    assert wrong <= 1
    assert better >= 20


@pytest.mark.parametrize("unit", ["request", "user", "user-day"])
@pytest.mark.parametrize("mechanism", ["counts", "daily"])
def test_every_unit_gets_its_quality_and_a_share_of_zero_measures_nothing(unit: Any, mechanism: str) -> None:
    kept = None if unit == "request" else pr.Contribution(unit, 4)
    data = pr.DemandHistory.of(
        replace(pr.simulate_days(SCENARIO.demand, days=2, seed=1).frame, contribution=kept),
        pr.simulate_days(SCENARIO.demand, days=2, seed=1).counts,
    )
    promise = pr.Guarantee(1.0, 1e-6, unit)
    release = pr.learn(SCENARIO.network, data, promise, mechanism)
    assert release.quality is not None
    assert list(release.quality.rows) == [RELEASED, "equilibrium", "gravity", "equal_demand", "free_flow"]
    own = release.quality.above_optimum
    if kept is None:
        assert release.quality.verdict == "better"
        assert own.high is not None
        assert own.low <= own.value <= own.high < 1
    else:  # without a total
        assert release.quality.trips == "kept"
        assert own.high is None
        assert own.value < 1
    without = pr.learn(SCENARIO.network, data, promise, mechanism, quality_share=0.0)
    assert without.quality is None
    assert without.certificate.noise_scale is not None
    assert release.certificate.noise_scale == pytest.approx(without.certificate.noise_scale / math.sqrt(0.95), rel=1e-6)
    assert release.certificate.rho == pytest.approx(without.certificate.rho, rel=1e-6)


def test_nothing_is_measured_without_a_guarantee() -> None:
    data = pr.simulate_days(SCENARIO.demand, days=1, seed=1)
    assert pr.learn(SCENARIO.network, data, mechanism="none").quality is None


def test_a_release_keeps_its_quality_and_refuses_one_that_contradicts_itself(tmp_path: Path) -> None:
    data = pr.DemandHistory(SCENARIO.demand.pairs, pr.simulate_days(SCENARIO.demand, days=2, seed=1).counts)
    release = pr.learn(SCENARIO.network, data, pr.Guarantee(1.0, 1e-6))
    release.save(tmp_path / "out")
    assert pr.load_release(tmp_path / "out").quality == release.quality
    path = tmp_path / "out" / "release.json"
    good = json.loads(path.read_text())
    measured = good["quality"]["measured"]
    contradictions: list[Any] = [
        {**good["quality"], "verdict": "worse than no data: do not use"},
        {**good["quality"], "share_of_rho": 0.1},
        {**good["quality"], "measured": {**measured, "least_deviation": -1.0}},
        {**good["quality"], "measured": {**measured, "rows": {}}},
        {**good["quality"], "more": 1},
        [],
    ]
    for bad in contradictions:
        path.write_text(json.dumps({**good, "quality": bad}))
        with pytest.raises(ReleaseError, match="quality"):
            pr.load_release(tmp_path / "out")
    del good["quality"]  # as written before anything was measured
    path.write_text(json.dumps(good))
    assert pr.load_release(tmp_path / "out").quality is None


def test_swapping_the_raw_data_behind_the_noise_changes_no_quality() -> None:
    answers = [np.random.default_rng(1).integers(0, 3000, 552), np.arange(10**6, 10**6 + 6)]

    class Fixed:
        def __init__(self) -> None:
            self.left = list(answers)

        def add_integers(self, values: Any, scale: float) -> Any:
            del scale
            answer = self.left.pop(0)
            assert values.shape == answer.shape
            return answer.copy()

    found = []
    for seed in range(3):
        data = pr.simulate_days(SCENARIO.demand, days=1 + 0 * seed, seed=seed)
        release = learn_with_noise(
            SCENARIO.network, data, pr.Guarantee(1.0, 1e-6), "counts", Fixed(), quality_share=SHARE
        )
        found.append(release.quality)
    assert found[0] == found[1] == found[2]


def test_what_the_numbers_say() -> None:
    """Closed cases: far below all rows, above one of them, in between, and without an upper limit."""

    def measured(own: float, other: float, deviation: float, *, at_least: bool = False) -> Quality:
        rows = {RELEASED: MeasuredRow(own, deviation, at_least), "free_flow": MeasuredRow(other, deviation)}
        return Quality(0.05, 100.0, 0.01, rows)

    assert measured(1.0, 20.0, 0.1).verdict == "better"
    assert measured(20.0, 1.0, 0.1).verdict == "worse"
    assert measured(1.0, 1.1, 1.0).verdict == "undecided"
    assert measured(1.0, 20.0, 0.1, at_least=True).verdict == "undecided"
    assert "do not use" in measured(1.0, 20.0, 0.1, at_least=True).words
    assert "do not use" in measured(20.0, 1.0, 0.1).words
    assert "do not use" not in measured(1.0, 1.1, 1.0).words
    own = measured(20.0, 1.0, 0.1).above_optimum
    assert own.low == pytest.approx(19.0 - 2.05 * math.hypot(0.1, 0.1), rel=0.02)
    assert own.high == pytest.approx(20.2, rel=0.01)
    assert measured(20.0, 1.0, 0.1, at_least=True).above_optimum.high is None
    assert measured(-5.0, 1.0, 0.1).above_optimum.value == 0.0


def test_kept_trips_alone_route_the_traffic_worse_than_no_advice_and_a_total_mends_it() -> None:
    promise = pr.Guarantee(1.0, 1e-6, "user")
    data, everybody = bounded_fleet()
    release = pr.learn(SCENARIO.network, data, promise)
    no_advice = pr.solve_equilibrium(SCENARIO.network, everybody).policy
    equilibrium = above(replace(release, policy=no_advice), everybody)
    assert above(release, everybody) > max(10.0, 2 * equilibrium)
    assert release.certificate.total == {"source": "kept"}
    assert release.quality is not None
    assert release.quality.verdict == "undecided"
    assert release.quality.above_optimum.high is None

    measured, _ = bounded_fleet(max_for_total=100)
    release = pr.learn(SCENARIO.network, measured, promise)
    assert above(release, everybody) < 1.0
    assert release.certificate.total == {"source": "measured", "max_requests": 100, "share": 0.02}
    assert release.demand is not None
    assert release.demand.total_per_min == pytest.approx(everybody.total_per_min, rel=0.02)

    public = replace(data.frame, total_per_h=60 * everybody.total_per_min)
    release = pr.learn(SCENARIO.network, pr.DemandHistory.of(public, data.counts), promise)
    assert above(release, everybody) < 1.0
    assert release.certificate.total is not None
    assert release.certificate.total["source"] == "public"
    assert release.quality is not None
    assert release.quality.above_optimum.high is not None
    assert release.quality.above_optimum.high < 1.0
    assert release.quality.trips == "scaled"


def test_a_release_of_drowned_counts_says_do_not_use() -> None:
    """Epsilon 0.01 on five days of one vehicle in a hundred: far above the optimum, and said so."""
    traffic = pr.Demand(SCENARIO.demand.pairs, SCENARIO.demand.rate_per_min, expansion=100)
    data = pr.simulate_days(traffic, days=5, seed=5)
    release = learn_with_noise(
        SCENARIO.network, data, pr.Guarantee(0.01, 1e-6), "counts", SeededNoise(2), quality_share=SHARE
    )
    assert above(release, data.mean) > 50
    assert release.quality is not None
    assert "do not use" in release.quality.words


def test_totals_that_contradict_each_other_are_refused() -> None:
    data, _ = bounded_fleet()
    with pytest.raises(HistoryError, match="pass one"):
        replace(data.frame, contribution=pr.Contribution("user", 2, max_for_total=9), total_per_h=5.0)
    with pytest.raises(HistoryError, match="leave trips out"):
        replace(data.frame, contribution=None, total_per_h=5.0)
    for bad in (0.0, -1.0, math.nan, math.inf, True):
        with pytest.raises(HistoryError, match="total_vehicles_per_hour"):
            replace(data.frame, total_per_h=bad)
    with pytest.raises(HistoryError, match="max_for_total"):
        pr.Contribution("user", 5, max_for_total=4)
    with pytest.raises(HistoryError, match="max_for_total"):
        pr.Contribution("user", 5, pre_bounded=True, max_for_total=9)
    with pytest.raises(HistoryError, match="needs the total"):
        pr.DemandHistory.of(replace(data.frame, contribution=pr.Contribution("user", 2, max_for_total=9)), data.counts)
    for share in (-0.1, 0.5, math.nan, True):
        with pytest.raises(GuaranteeError, match="quality_share"):
            pr.Study(SCENARIO.network, data.frame, pr.Guarantee(1, 1e-6, "user"), quality_share=share)
