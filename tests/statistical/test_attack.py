"""The attack of Theorem 1: certain against exact flows, no better than promised against releases."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.statistical.rates import EACH

import privroute as pr
from privroute.errors import InputError
from privroute.evaluate import audit
from privroute.evaluate.attack import (
    Attack,
    Neighbours,
    answer_without_noise,
    attack_flows,
    attack_releases,
    net_inflow,
    rare_trip,
)
from privroute.evaluate.audit import clopper_pearson
from privroute.mechanism.learn import Announcement
from privroute.mechanism.theory import accuracy_limit
from privroute.privacy import noise
from privroute.privacy.calibration import gaussian_scale
from privroute.study.mechanisms import as_mechanism

TRIALS = 1000


@pytest.fixture(scope="module")
def history() -> pr.DemandHistory:
    return pr.simulate_days(pr.sioux_falls().demand, days=50, seed=1)


def small_case() -> tuple[pr.Network, Neighbours]:
    network, without, with_one = audit.neighbours()
    return network, Neighbours(without, with_one, 0)


def attack(mechanism: str, epsilon: float, *, trials: int = TRIALS) -> Attack:
    network, case = small_case()
    promise = pr.Guarantee(epsilon, 1e-6)
    study = pr.Study(
        network, case.without.frame, promise, as_mechanism(mechanism), quality_share=0.0
    )  # all of it is attacked
    return attack_releases(
        Announcement(study).release,
        partial(answer_without_noise, network, guarantee=promise, mechanism=mechanism),
        case,
        promise,
        trials=trials,
        false_alarm=EACH,
    )


def test_a_rare_trip_is_found_in_every_one_of_a_thousand_published_flows(history: pr.DemandHistory) -> None:
    """Averaged over 50 days one trip is 1/3,000 of a vehicle per minute; the total flows of the links are enough."""
    for found in attack_flows(pr.sioux_falls().network, history, trials=TRIALS):
        assert found.hits == found.trials == TRIALS
        assert np.count_nonzero(found.present) == TRIALS // 2
        assert np.abs(found.evidence - found.present).max() < 1e-3
        assert found.least_delta(0.1) > 0.9


@pytest.mark.parametrize("rare", [True, False])
@pytest.mark.parametrize("solve", [pr.solve_equilibrium, partial(pr.solve_optimum, gap=0.1)])
def test_every_feasible_solution_gives_it_away_and_every_trip_to_one_who_knows_the_others(
    history: pr.DemandHistory, *, rare: bool, solve: Callable[[pr.Network, pr.Demand], pr.Solution]
) -> None:
    scenario = pr.sioux_falls(latency="bpr")
    fleet = pr.simulate_days(
        pr.Demand(scenario.demand.pairs, scenario.demand.rate_per_min, expansion=10), days=5, seed=2
    )
    for days in (history, fleet):
        for found in attack_flows(scenario.network, days, trials=20, rare=rare, solve=solve):
            assert found.accuracy == 1.0


def test_background_traffic_does_not_hide_the_trip(history: pr.DemandHistory) -> None:
    plain = pr.sioux_falls().network
    background = np.linspace(0.0, 9.0, plain.links)
    network = pr.Network(plain.tail, plain.head, plain.latency, plain.node_labels, background_per_min=background)
    assert all(found.accuracy == 1.0 for found in attack_flows(network, history, trials=20))


def test_a_policy_without_noise_gives_the_trip_away_too(history: pr.DemandHistory) -> None:
    network = pr.sioux_falls().network
    learn = partial(pr.learn, network, mechanism="none")
    answer = partial(answer_without_noise, network, guarantee=None, mechanism="none")
    found = attack_releases(learn, answer, rare_trip(history, 5), None, trials=60, calibration=1)
    assert found.accuracy == 1.0
    assert found.limit is None
    assert found.passed


@pytest.mark.parametrize("mechanism", ["counts", "daily"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_releases_are_guessed_no_better_than_the_promise_allows(mechanism: str, epsilon: float) -> None:
    found = attack(mechanism, epsilon)
    odds = math.exp(epsilon)
    assert found.confidence[1] <= odds / (1 + odds) + 1e-6 + found.tolerance
    assert found.passed


def test_the_release_on_sioux_falls_faces_the_same_adversary(history: pr.DemandHistory) -> None:
    network, promise = pr.sioux_falls().network, pr.Guarantee(0.1, 1e-6)
    found = attack_releases(
        partial(pr.learn, network, guarantee=promise, quality_share=0.0),
        partial(answer_without_noise, network, guarantee=promise, mechanism="counts"),
        rare_trip(history, 0, day=49),
        promise,
        trials=100,
        calibration=10,
        false_alarm=EACH,
    )
    assert found.passed
    assert found.accuracy < 1.0


def test_the_adversary_is_as_good_as_the_noise_allows() -> None:
    """The likelihood ratio of the discrete Gaussian rises, so the best rule is right with chance P[Z ≤ 0]."""
    found = attack("counts", 4.0)
    scale = gaussian_scale(4.0, 1e-6, 1.0)
    z = np.arange(-100, 101)
    weight = np.exp(-(z**2) / (2 * scale**2))
    best = float(weight[z <= 0].sum() / weight.sum())
    low, high = found.confidence
    assert low <= best <= high
    assert low > 0.5


@pytest.mark.parametrize("mechanism", ["counts", "daily"])
def test_a_scale_a_hundred_times_too_small_is_caught(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = noise.gaussian_on_integers
    monkeypatch.setattr(noise, "gaussian_on_integers", lambda scale: right(scale / 100))
    found = attack(mechanism, 0.1)
    assert not found.passed
    assert found.confidence[1] > found.limit + found.tolerance  # type: ignore[operator]


class NoisyPolicy:
    """A mechanism that publishes a policy only: the regularised optimum with Gaussian noise, projected."""

    def __init__(self, network: pr.Network, scale: float, seed: int = 1) -> None:
        self.network, self.scale = network, scale
        self.chance = np.random.default_rng(seed)

    def answer(self, history: pr.DemandHistory) -> NDArray[np.float64]:
        return pr.minimise_regularised(self.network, history.mean, 0.01, tolerance=1e-9).flows.ravel()

    def __call__(self, history: pr.DemandHistory) -> pr.Release:
        flows = self.answer(history)
        noisy = flows + self.scale * self.chance.standard_normal(flows.shape)
        projected = pr.project(self.network, history.pairs, noisy.reshape(len(history.pairs), -1)).flows
        exact = pr.learn(self.network, history, mechanism="none")
        return dataclasses.replace(exact, policy=pr.decompose(self.network, history.pairs, projected))


@pytest.mark.parametrize("too_small", [1, 20])
def test_a_policy_is_attacked_in_the_direction_between_the_two_answers(too_small: int) -> None:
    """Whatever a mechanism publishes can be plugged in; with the right noise it passes, with a twentieth of it not."""
    network, case = small_case()
    promise = pr.Guarantee(0.5, 1e-3)
    answer = NoisyPolicy(network, 0.0).answer
    moved = float(np.linalg.norm(answer(case.with_one) - answer(case.without)))
    scale = gaussian_scale(promise.epsilon, promise.delta, 1.0) * moved / too_small
    found = attack_releases(
        NoisyPolicy(network, scale), answer, case, promise, trials=400, calibration=50, false_alarm=EACH
    )
    assert found.passed == (too_small == 1)


def test_passing_and_the_tolerance_say_the_same() -> None:
    limit = accuracy_limit(0.1, 1e-6)
    present = np.ones(200, dtype=bool)
    verdicts = []
    for hits in (0, 100, *range(125, 145), 200):  # the verdict turns at 128
        seen = np.where(np.arange(200) < hits, 1.0, 0.0)
        found = Attack("release", present, seen, 0.5, 1e-3, limit)
        assert found.hits == hits
        assert found.confidence == clopper_pearson(hits, 200, 1e-3)
        assert found.passed == (found.confidence[1] <= limit + found.tolerance + 1e-12)
        verdicts.append(found.passed)
    assert verdicts == sorted(verdicts, reverse=True)
    assert verdicts[0]
    assert not verdicts[-1]


def test_neighbours_differ_in_one_request_between_places_nobody_else_travels_to(history: pr.DemandHistory) -> None:
    case = rare_trip(history, 7, day=3)
    change = case.with_one.counts - case.without.counts
    assert np.argwhere(change).tolist() == [[3, 7]]
    assert change.sum() == 1
    ends = {int(history.pairs.origin[7]), int(history.pairs.destination[7])}
    touched = [
        w for w in range(len(history.pairs)) if ends & {int(history.pairs.origin[w]), int(history.pairs.destination[w])}
    ]
    assert not case.without.counts[:, touched].any()
    kept = rare_trip(history, 7, rare=False).without
    assert kept == history


def test_flow_balances_where_nobody_starts_or_ends() -> None:
    network = pr.Network([0, 1, 1], [1, 2, 0], pr.Latency.affine(1.0 * np.ones(3), 1.0), ["a", "b", "c"])
    flow = np.array([3.0, 2.0, 1.0])
    assert [net_inflow(network, flow, node) for node in range(3)] == [-2.0, 0.0, 2.0]


def test_bad_input_is_refused(history: pr.DemandHistory) -> None:
    network = pr.sioux_falls().network
    with pytest.raises(InputError, match="trials"):
        attack_flows(network, history, trials=0)
    with pytest.raises(InputError, match="even"):
        attack_flows(network, history, trials=5)
    with pytest.raises(InputError, match="false_alarm"):
        attack_flows(network, history, trials=6, false_alarm=0.0)
    with pytest.raises(InputError, match="seed"):
        attack_flows(network, history, trials=6, seed=-1)
    with pytest.raises(InputError, match="pair 552"):
        rare_trip(history, 552)
    learn = partial(pr.learn, network, mechanism="none")
    with pytest.raises(InputError, match="calibration"):
        attack_releases(learn, lambda _: np.zeros(1), rare_trip(history, 0), None, calibration=0)
