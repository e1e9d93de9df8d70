"""The layered mechanism as users see it: releases, options, the default, a public demand."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
from tests.mechanism.layered_cases import PAIRS, SCENARIO, granted, grid, held, history, study
from tests.statistical.rates import EACH

import privroute as pr
from privroute.demand import layered_estimate
from privroute.demand.maximum_entropy import Fit, maximum_entropy
from privroute.errors import DemandError, GuaranteeError
from privroute.evaluate.audit import epsilon_lower_bound
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.evaluate.suboptimality import Baseline
from privroute.mechanism import layered
from privroute.mechanism.learn import learn_with_noise
from privroute.privacy import noise
from privroute.privacy.noise import OpenDPNoise
from privroute.release.explanation import explain
from privroute.study.layer_noise import LayerNoise
from privroute.study.mechanisms import MANY_PAIRS, default_mechanism, public_options

GUARANTEE = pr.Guarantee(1.0, 1e-6)


def test_a_release_is_private_and_can_be_saved_and_read(tmp_path: Any) -> None:
    data = history(30.0)
    release = pr.learn(SCENARIO.network, data, GUARANTEE, pr.Layered(gap=1e-4))
    assert release.certificate.private
    assert release.demand is not None
    assert release.noisy_counts is None
    release.save(tmp_path / "release")
    again = pr.load_release(tmp_path / "release")
    assert again.demand == release.demand
    assert again.certificate.options["pairs_share"] == 0.4


def test_fewer_and_better_aimed_questions_beat_counts_where_data_are_few() -> None:
    """Sioux Falls, five days of a hundredth of the trips: geometric mean of six draws."""
    demand = pr.Demand(SCENARIO.demand.pairs, SCENARIO.demand.rate_per_min, expansion=100)
    baseline = Baseline.of(SCENARIO.network, SCENARIO.demand)
    lost: dict[str, list[float]] = {"counts": [], "layered": []}
    for seed in range(6):
        data = pr.simulate_days(demand, days=5, period_min=60, seed=seed)
        for name, losses in lost.items():
            release = learn_with_noise(SCENARIO.network, data, pr.Guarantee(0.1, 1e-6), name, SeededNoise(seed))
            losses.append(float(np.log(baseline.percent(release.policy))))
    assert np.exp(np.mean(lost["counts"]) - np.mean(lost["layered"])) > 1.5


def test_a_history_without_pairs_has_an_empty_policy() -> None:
    nobody = pr.DemandHistory(pr.Pairs(np.zeros(0, int), np.zeros(0, int)), np.zeros((2, 0), int))
    release = pr.learn(SCENARIO.network, nobody, GUARANTEE, "layered")
    assert len(release.policy.pairs) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs_share": 0.3}, "sum to 0.9"),
        ({"rounds": 0}, "need both a share and a round"),
        ({"links_per_trip": 0}, "at least 1"),
        ({"public_demand": "survey.csv"}, "pass privroute.Demand"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GuaranteeError, match=message):
        pr.Layered(**options)


@pytest.mark.parametrize("kept", [None, pr.Contribution("user", 6, 3)])
def test_the_noise_that_is_stated_for_each_layer_is_what_the_mechanism_adds(kept: pr.Contribution | None) -> None:
    chosen = study(history(30.0, contribution=kept), options=pr.Layered(rounds=3))
    promise, multipliers = layered.promise(chosen), layered._Multipliers.of(chosen)
    bounds = (None, None) if kept is None else (kept.max_requests, kept.max_per_pair)
    stated = LayerNoise.of(public_options(chosen.mechanism), promise.scale, *bounds)
    assert stated.zone == pytest.approx(promise.integer_scale / multipliers.cells[0], rel=0.01)
    assert stated.pair == pytest.approx(promise.integer_scale / multipliers.pairs[1], rel=0.01)
    assert stated.link == pytest.approx(promise.integer_scale / multipliers.links[0], rel=0.01)
    assert stated.pair > promise.scale
    words = explain(pr.learn(chosen, history(30.0, contribution=kept)).certificate).made[-1]
    assert "on the count of a pair (where pairs are counted)" in words


def test_link_loads_can_be_left_out() -> None:
    data = history(300.0)
    options = pr.Layered(pairs_share=0.7, links_share=0.0, rounds=0, gap=1e-3)
    promise, asked, _ = held(study(data, options=options), data)
    assert len(asked) == len(granted(promise, asked)) == 4
    assert len(promise.questions) == 5


class TestDefault:
    def test_it_depends_on_the_number_of_pairs_and_the_bounds_alone(self) -> None:
        assert default_mechanism(MANY_PAIRS, None) == pr.Layered()
        assert default_mechanism(MANY_PAIRS - 1, None) == pr.Counts()
        assert default_mechanism(MANY_PAIRS, pr.Contribution("user", 10, 5)) == pr.Layered()
        assert default_mechanism(MANY_PAIRS, pr.Contribution("user", 10, 4)) == pr.Counts()

    def test_a_study_without_a_mechanism_has_the_default(self) -> None:
        data = history(1.0)
        assert pr.Study(SCENARIO.network, data.frame, GUARANTEE).mechanism == pr.Counts()


class TestPublicDemand:
    def estimated(self, public: pr.Demand | None, mean: float = 3.0) -> float:
        """Relative error of the estimated demand, mean of the logarithm over some draws."""
        errors = []
        for seed in range(5):
            data = history(mean, seed=2)
            chosen = study(data, options=pr.Layered(public_demand=public, gap=1e-3))
            _, _, published = held(chosen, data, seed=seed)
            assert published.demand is not None
            true = data.mean.rate_per_min
            errors.append(np.log(np.linalg.norm(published.demand.rate_per_min - true) / np.linalg.norm(true)))
        return float(np.exp(np.mean(errors)))

    def test_a_good_one_helps_and_a_bad_one_does_not_hurt(self) -> None:
        true = history(3.0, seed=2).mean.rate_per_min
        random = np.random.default_rng(1)
        good = pr.Demand(PAIRS, true * np.exp(0.1 * random.normal(size=true.size)))
        bad = pr.Demand(PAIRS, random.permutation(true))
        without = self.estimated(None)
        assert self.estimated(good) < 0.8 * without
        assert self.estimated(bad) < 1.1 * without

    def test_pairs_that_the_study_does_not_have_are_refused_before_anything_is_asked(self) -> None:
        data = history(3.0)
        chosen = study(data, options=pr.Layered(public_demand=SCENARIO.demand))
        with pytest.raises(DemandError, match="not among the new pairs"):
            layered.promise(chosen)

    def test_the_certificate_names_it_by_its_digest(self) -> None:
        data = history(3.0)
        public = pr.Demand(PAIRS, np.ones(len(PAIRS)))
        release = pr.learn(SCENARIO.network, data, GUARANTEE, pr.Layered(public_demand=public, gap=1e-3))
        assert release.certificate.options["public_demand"].startswith("sha256 ")


class TestFallback:
    def test_a_fit_that_overflows_is_left_out_and_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def overflows(prior: Any, *_: Any, **__: Any) -> Fit:
            return Fit(np.full(prior.size, np.inf), np.zeros(0), np.inf, 1, converged=False)

        monkeypatch.setattr(layered_estimate, "maximum_entropy", overflows)
        with pytest.warns(RuntimeWarning, match="the estimate before it is used"):
            release = pr.learn(SCENARIO.network, history(300.0), GUARANTEE, pr.Layered(gap=1e-3))
        assert release.demand is not None
        assert np.isfinite(release.demand.rate_per_min).all()

    def test_a_fit_that_is_far_from_its_end_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def stopped(*given: Any, **options: Any) -> Fit:
            return maximum_entropy(*given, **(options | {"max_iterations": 0}))

        monkeypatch.setattr(layered_estimate, "maximum_entropy", stopped)
        with pytest.warns(RuntimeWarning, match="standard deviations from its end"):
            pr.learn(SCENARIO.network, history(300.0), GUARANTEE, pr.Layered(gap=1e-3))

    def test_usual_data_cause_no_warning(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for mean in (0.0, 0.1, 3.0, 1e4):
                pr.learn(SCENARIO.network, history(mean), GUARANTEE, pr.Layered(gap=1e-3))


class TestAudit:
    """An adversary who sees every noisy answer and knows both neighbours: the likelihood ratio of all rounds."""

    PROMISE = pr.Guarantee(3.0, 1e-6)
    RUNS = 1000

    def bound(self) -> float:
        """The questions are those of one conversation; each run draws the noise of all their answers anew."""
        without = history(300.0)
        counts = without.counts.copy()
        counts[0, 0] += 1
        with_one = pr.DemandHistory.of(without.frame, counts)
        chosen = pr.Study(SCENARIO.network, without.frame, self.PROMISE, pr.Layered(gap=1e-3))
        promise, asked, _ = held(chosen, without)
        exact = [np.concatenate([question.ask(data, None) for question, _ in asked]) for data in (without, with_one)]
        moved, draws = exact[1] - exact[0], OpenDPNoise()
        seen = np.array(
            [
                [moved @ (draws.add_integers(each, promise.integer_scale) - exact[0]) for _ in range(self.RUNS)]
                for each in exact
            ]
        ).astype(np.float64)
        threshold = float(np.quantile(seen[1, : self.RUNS // 4], 0.05))
        fresh = seen[:, self.RUNS // 4 :]
        return epsilon_lower_bound(fresh[0], fresh[1], threshold, self.PROMISE.delta, EACH)

    def test_it_stays_below_the_promise(self) -> None:
        assert self.bound() <= self.PROMISE.epsilon

    def test_a_scale_ten_times_too_small_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = noise.gaussian_on_integers
        monkeypatch.setattr(noise, "gaussian_on_integers", lambda scale: right(scale / 10))
        assert self.bound() > self.PROMISE.epsilon


def test_memory_grows_with_the_links_of_paths_and_not_with_pairs_times_links() -> None:
    """A grid of 24 x 24 nodes with 20,592 pairs and 2,208 links: their product alone would be 364 MB."""
    network, zones = grid(24), 144
    origin, destination = np.repeat(np.arange(576)[::4], zones), np.tile(np.arange(576)[::4], zones)
    pairs = pr.Pairs(origin[origin != destination], destination[origin != destination])
    counts = np.random.default_rng(1).poisson(3.0, (1, len(pairs)))
    data = pr.DemandHistory(pairs, counts, period_min=60)
    tracemalloc.start()
    release = learn_with_noise(network, data, GUARANTEE, pr.Layered(gap=1e-3), SeededNoise(1))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert release.demand is not None
    assert release.demand.total_per_min * 60 == pytest.approx(counts.sum(), rel=0.05)
    assert most < 150e6
