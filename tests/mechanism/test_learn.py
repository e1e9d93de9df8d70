"""The spine: bad input is refused first, the certificate keeps its word, after the noise no raw count is seen."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.statistical.rates import EACH

import privroute as pr
from privroute.errors import DemandError, GuaranteeError, HistoryError
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.mechanism import counts as counts_module
from privroute.mechanism import from_counts as from_counts_module
from privroute.mechanism import learn as learn_module
from privroute.mechanism.learn import learn_with_noise
from privroute.policy.travel_time import total_travel_time
from privroute.privacy.calibration import gaussian_epsilon
from privroute.privacy.noise import OpenDPNoise

SCENARIO = pr.sioux_falls()
NETWORK = SCENARIO.network
DAYS = pr.simulate_days(SCENARIO.demand, days=6, seed=1)
PROMISE = pr.Guarantee(epsilon=1.0, delta=1e-6)
# A share of a gravity model is mixed into counts; where all are equal it is nearly even.
MODEL_ERROR = 1e-3
MECHANISMS = ["counts", "daily"]


class RecordingNoise:
    """Remembers what it was given, and returns what it was told, whatever it was given."""

    def __init__(self, answer: NDArray[np.int64] | None = None) -> None:
        self.answer = answer
        self.seen: list[NDArray[np.int64]] = []
        self.scales: list[float] = []

    def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        self.seen.append(values.copy())
        self.scales.append(scale)
        return values.copy() if self.answer is None else self.answer.copy()


def history_like(seed: int) -> pr.DemandHistory:
    """Another history with the same public frame; 0: one without any trip, 3: one with empty days and pairs."""
    counts = np.random.default_rng(seed).integers(0, 5000, DAYS.counts.shape)
    counts[1:4] *= seed != 3
    counts[:, 100:300] *= seed != 3
    counts *= seed != 0
    return pr.DemandHistory(DAYS.pairs, counts, period_min=60, dates=DAYS.dates, simulated=True)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_certificate_says_what_opendps_map_says(mechanism: str) -> None:
    release = pr.learn(NETWORK, DAYS, PROMISE, mechanism)
    certificate = release.certificate
    assert certificate.private
    assert (certificate.noise, certificate.data, certificate.unit) == ("opendp", "simulated", "request")
    assert certificate.noise_scale is not None
    assert gaussian_epsilon(certificate.noise_scale, 1.0, 1e-6) <= 1.0
    assert certificate.sensitivity == 1.0
    assert certificate.mechanism == mechanism
    assert certificate.days == 6
    assert release.noisy_counts is not None
    assert release.noisy_counts.dtype == np.int64
    assert release.demand is not None
    assert (release.demand.rate_per_min >= 0).all()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_swapping_the_raw_data_after_the_noise_changes_nothing(mechanism: str, tmp_path: Path) -> None:
    """Post-processing isolation: with the noise's answer fixed, the release folder is the same, bit for bit."""
    check_isolation(learn_with_noise, mechanism, tmp_path)


def check_isolation(learn: Callable[..., pr.Release], mechanism: str, folder: Path) -> None:
    shape = DAYS.counts.shape if mechanism == "daily" else DAYS.counts.shape[1:]
    answer = np.random.default_rng(5).integers(-50, 3000, shape).ravel()
    folders = []
    for seed in range(4):
        noise = RecordingNoise(answer)
        release = learn(NETWORK, history_like(seed), PROMISE, mechanism, noise)
        assert len(noise.seen) == 1, "the data were used in more than one noisy query"
        release.save(folder / str(seed), allow_not_private=True)
        folders.append({path.name: path.read_bytes() for path in (folder / str(seed)).iterdir()})
    assert all(folder == folders[0] for folder in folders)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_neighbours_move_what_is_perturbed_by_at_most_the_declared_sensitivity(mechanism: str) -> None:
    check_sensitivity(learn_with_noise, mechanism)


def check_sensitivity(learn: Callable[..., pr.Release], mechanism: str) -> None:
    """Random and extreme neighbours: any day, any pair, counts of zero and of millions."""
    chance = np.random.default_rng(7)
    for case in range(25):
        counts = chance.integers(0, [3, 10**6][case % 2], DAYS.counts.shape)
        more = counts.copy()
        more[chance.integers(6), chance.integers(552)] += 1
        noises = []
        for data in (counts, more):
            noise = RecordingNoise()
            history = pr.DemandHistory(DAYS.pairs, data, period_min=60)
            certificate = learn(NETWORK, history, PROMISE, mechanism, noise).certificate
            noises.append(noise)
        assert certificate.sensitivity is not None
        moved = float(np.linalg.norm((noises[1].seen[0] - noises[0].seen[0]).astype(float)))
        assert moved <= certificate.sensitivity
        assert noises[0].scales == noises[1].scales == [certificate.noise_scale]
        assert gaussian_epsilon(certificate.noise_scale, moved, PROMISE.delta) <= PROMISE.epsilon


def test_the_noise_in_a_release_has_the_scale_of_its_certificate() -> None:
    check_scale(pr.learn)


def check_scale(learn: Callable[..., pr.Release]) -> None:
    errors = []
    for _ in range(4):
        release = learn(NETWORK, DAYS, PROMISE)
        assert release.noisy_counts is not None
        errors.append(release.noisy_counts - DAYS.counts.sum(axis=0))
    drawn = np.concatenate(errors)
    assert release.certificate.noise_scale is not None
    ratio = drawn.var() / release.certificate.noise_scale**2
    limit = math.sqrt(2 * math.log(1 / EACH)) * math.sqrt(2 / drawn.size) * 1.1
    assert abs(ratio - 1) < limit


def test_two_releases_have_independent_noise() -> None:
    check_fresh_noise(pr.learn)


def check_fresh_noise(learn: Callable[..., pr.Release]) -> None:
    first, second = (learn(NETWORK, DAYS, PROMISE).noisy_counts - DAYS.counts.sum(axis=0) for _ in range(2))
    correlation = np.corrcoef(first, second)[0, 1]
    assert abs(correlation) < math.sqrt(2 * math.log(1 / EACH)) / math.sqrt(first.size) * 1.05


def test_noise_that_only_calls_itself_opendp_is_not_called_private() -> None:
    class Pretender(RecordingNoise):
        kind = "opendp"

        @property  # type: ignore[misc]
        def __class__(self) -> Any:
            return OpenDPNoise

    class Changed(OpenDPNoise):
        pass

    for noise in (Pretender(), Changed()):
        assert isinstance(noise, OpenDPNoise)
        certificate = learn_with_noise(NETWORK, DAYS, PROMISE, "counts", noise).certificate
        assert not certificate.private
        assert certificate.noise == "seeded"


def test_noise_that_is_derived_from_opendps_is_not_called_private() -> None:
    class Quieter(OpenDPNoise):
        def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
            return super().add_integers(values, scale / 1000)

    assert not learn_with_noise(NETWORK, DAYS, PROMISE, "counts", Quieter()).certificate.private


def test_a_history_that_computes_its_public_frame_is_refused() -> None:
    class Telling(pr.DemandHistory):
        pass

    with pytest.raises(HistoryError, match="history is a Telling"):
        pr.learn(NETWORK, Telling(DAYS.pairs, DAYS.counts), PROMISE)


def test_certificates_share_nothing_that_can_be_changed() -> None:
    one, two = (pr.learn(NETWORK, DAYS, PROMISE).certificate for _ in range(2))
    assert one.versions is not two.versions


def test_an_optimum_that_does_not_converge_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    def hurried(network: pr.Network, demand: pr.Demand, **options: Any) -> pr.Solution:
        return pr.solve_optimum(network, demand, **(options | {"max_iterations": 1, "gap": 1e-12}))

    monkeypatch.setattr("privroute.mechanism.from_counts.solve_optimum", hurried)
    with pytest.warns(RuntimeWarning, match="optimum of the released demand: iteration limit"):
        pr.learn(NETWORK, DAYS, PROMISE)


class TestPlantedBugs:
    """Each check above fails when its bug is planted."""

    def test_noise_halved_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from privroute.privacy import noise  # noqa: PLC0415 - planted there

        right = noise.gaussian_on_integers
        monkeypatch.setattr(noise, "gaussian_on_integers", lambda scale: right(scale / 2))
        with pytest.raises(AssertionError):
            check_scale(pr.learn)

    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_a_sensitivity_five_times_too_small_is_caught(
        self, mechanism: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(counts_module, "summed_counts_sensitivity", lambda *_: 0.2)
        with pytest.raises(AssertionError):
            check_sensitivity(learn_with_noise, mechanism)

    def test_one_noise_vector_used_twice_is_caught(self) -> None:
        kept = SeededNoise(1).add_integers(np.zeros(552, np.int64), 4.53)

        def learn(network: pr.Network, history: pr.DemandHistory, guarantee: pr.Guarantee) -> pr.Release:
            answer = history.counts.sum(axis=0) + kept
            return learn_with_noise(network, history, guarantee, "counts", RecordingNoise(answer))

        with pytest.raises(AssertionError):
            check_fresh_noise(learn)

    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_raw_counts_used_after_the_noise_are_caught(
        self, mechanism: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        raw: list[pr.DemandHistory] = []

        def leaky(network: pr.Network, history: pr.DemandHistory, *rest: Any) -> pr.Release:
            raw.append(history)
            return learn_with_noise(network, history, *rest)

        def policy_from_raw(network: pr.Network, _demand: pr.Demand, options: Any, *, progress: object) -> Any:
            del progress
            return pr.solve_optimum(network, raw[-1].mean, gap=options.gap).policy

        monkeypatch.setattr(from_counts_module, "policy_from_counts", policy_from_raw)
        with pytest.raises(AssertionError):
            check_isolation(leaky, mechanism, tmp_path)

    def test_counts_in_the_certificate_are_caught(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        right, raw = learn_module.certify, []

        def leaky(network: pr.Network, history: pr.DemandHistory, *rest: Any) -> pr.Release:
            raw.append(history)
            return learn_with_noise(network, history, *rest)

        def telling(*arguments: Any, **named: Any) -> pr.Certificate:
            certificate = right(*arguments, **named)
            object.__setattr__(certificate, "budget", f"large counts: {np.count_nonzero(raw[-1].counts > 2500)}")
            return certificate

        monkeypatch.setattr(learn_module, "certify", telling)
        with pytest.raises(AssertionError):
            check_isolation(leaky, "counts", tmp_path)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_private_policy_is_far_better_than_no_data(mechanism: str) -> None:
    demand = SCENARIO.demand
    best = pr.solve_optimum(NETWORK, demand).total_travel_time
    empty = pr.Demand(demand.pairs, np.zeros(len(demand.pairs)))
    blind = total_travel_time(NETWORK, pr.solve_optimum(NETWORK, empty).policy, demand)
    private = total_travel_time(NETWORK, pr.learn(NETWORK, DAYS, PROMISE, mechanism).policy, demand)
    assert private < best + 0.01 * (blind - best)


def test_daily_averages_its_window_only() -> None:
    counts = np.zeros((4, 552), dtype=np.int64)
    counts[:2] = 10_000
    history = pr.DemandHistory(DAYS.pairs, counts, period_min=60)
    late = learn_with_noise(NETWORK, history, PROMISE, pr.Daily(window=2), RecordingNoise())
    assert late.demand is not None
    assert late.demand.total_per_min == 0
    whole = learn_with_noise(NETWORK, history, PROMISE, pr.Daily(window=4), RecordingNoise())
    assert whole.demand is not None
    assert whole.demand.total_per_min == pytest.approx(552 * 10_000 * 2 / 4 / 60)
    assert whole.demand.rate_per_min == pytest.approx(10_000 * 2 / 4 / 60, rel=MODEL_ERROR)


def test_a_fleets_counts_are_expanded_to_the_traffic() -> None:
    history = pr.DemandHistory(DAYS.pairs, np.full((3, 552), 60), period_min=60, expansion=20)
    release = learn_with_noise(NETWORK, history, PROMISE, "counts", RecordingNoise())
    assert release.demand is not None
    assert release.demand.total_per_min == pytest.approx(552 * 20.0)
    assert release.demand.rate_per_min == pytest.approx(20.0, rel=MODEL_ERROR)
    assert release.demand.expansion == 20


def test_without_noise_nothing_is_called_private() -> None:
    release = pr.learn(NETWORK, DAYS, mechanism="none")
    certificate = release.certificate
    assert not certificate.private
    assert (certificate.noise, certificate.epsilon, certificate.noise_scale) == ("none", None, None)
    assert release.demand is None
    assert "NOT PRIVATE" in repr(release)


def test_seeded_noise_is_never_called_private() -> None:
    release = learn_with_noise(NETWORK, DAYS, PROMISE, "counts", SeededNoise(1))
    assert not release.certificate.private
    assert release.certificate.noise == "seeded"
    again = learn_with_noise(NETWORK, DAYS, PROMISE, "counts", SeededNoise(1))
    assert again.policy == release.policy


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epsilon": 0.0, "delta": 1e-6}, "epsilon is 0.0"),
        ({"epsilon": -1.0, "delta": 1e-6}, "epsilon"),
        ({"epsilon": math.inf, "delta": 1e-6}, "epsilon"),
        ({"epsilon": math.nan, "delta": 1e-6}, "epsilon"),
        ({"epsilon": "1", "delta": 1e-6}, "epsilon is a str"),
        ({"epsilon": True, "delta": 1e-6}, "epsilon is a bool"),
        ({"epsilon": 1.0, "delta": 0.0}, "delta is 0.0"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta is 1.0"),
        ({"epsilon": 1.0, "delta": math.nan}, "delta"),
        ({"epsilon": 1.0, "delta": 1e-6, "unit": "person"}, "unit is 'person'"),
    ],
)
def test_guarantees_that_promise_nothing_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(GuaranteeError, match=message):
        pr.Guarantee(**values)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"guarantee": None}, GuaranteeError),
        ({"guarantee": "strong"}, GuaranteeError),
        ({"mechanism": "magic"}, GuaranteeError),
        ({"mechanism": 3}, GuaranteeError),
        ({"network": "Sioux Falls"}, DemandError),
        ({"network": pr.Network([0], [1], pr.Latency.affine([1.0], [1.0]), [1, 2])}, DemandError),
        ({"mechanism": pr.Daily(window=7)}, GuaranteeError),
    ],
)
def test_bad_input_is_refused_before_anything_private_is_touched(
    change: dict[str, Any], error: type[Exception]
) -> None:
    class Untouchable:
        """Counts of which only the number of days, which is public, may be asked."""

        def __len__(self) -> int:
            return DAYS.days

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"private counts were touched ({name})")

    class Guarded(RecordingNoise):
        def add_integers(self, _values: NDArray[np.int64], _scale: float) -> NDArray[np.int64]:
            raise AssertionError("noise was drawn")

    history = pr.DemandHistory(DAYS.pairs, DAYS.counts, period_min=60)
    object.__setattr__(history, "counts", Untouchable())
    arguments: dict[str, Any] = {"network": NETWORK, "guarantee": PROMISE, "mechanism": "counts"} | change
    with pytest.raises(error):
        learn_with_noise(arguments["network"], history, arguments["guarantee"], arguments["mechanism"], Guarded())


def test_a_history_must_be_a_history() -> None:
    with pytest.raises(HistoryError, match="history is a list"):
        pr.learn(NETWORK, [[1, 2]], PROMISE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: pr.Counts(gap=0),
        lambda: pr.Counts(bins=0),
        lambda: pr.Counts(smallest_bin=1.5),  # type: ignore[arg-type]
        lambda: pr.Daily(window=0),
        lambda: pr.Daily(gap=2.0),
        lambda: pr.Daily(window=True),
    ],
)
def test_options_are_checked(make: Callable[[], object]) -> None:
    with pytest.raises(GuaranteeError):
        make()


@given(st.integers(1, 4), st.sampled_from(MECHANISMS), st.integers(0, 2**32))
@settings(max_examples=25)
def test_any_small_history_gives_a_feasible_policy(days: int, mechanism: str, seed: int) -> None:
    counts = np.random.default_rng(seed).poisson(0.3, (days, 552))
    history = pr.DemandHistory(DAYS.pairs, counts, period_min=30, dates=[dt.date(2026, 1, 1 + d) for d in range(days)])
    release = learn_with_noise(NETWORK, history, pr.Guarantee(0.01, 1e-6), mechanism, SeededNoise(seed))
    assert len(release.policy.pairs) == 552
    assert release.certificate.calendar.first == dt.date(2026, 1, 1)
    assert release.certificate.data == "counts"  # from arrays
