"""Algorithm 1 and the minimiser: isolation, options, constants, releases."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.mechanism.flow_cases import (
    CONGESTED,
    PROMISE,
    SCENARIO,
    NoNoise,
    T,
    braess,
    history,
    pairs_of,
    perturbed,
    sgd,
)

import privroute as pr
from privroute.errors import GuaranteeError, InputError
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.flows.route_metric import project_on_routes as right_projection
from privroute.mechanism import drawing
from privroute.mechanism import from_routes as from_routes_module
from privroute.mechanism import shard as shard_module
from privroute.mechanism.learn import Announcement, learn_with_noise
from privroute.mechanism.registry import implementation
from privroute.mechanism.sgd import iterates, public_caps, public_start
from privroute.privacy.noise import GRID, OpenDPNoise
from privroute.study.mechanisms import Mechanism, as_mechanism

FLOW_MECHANISMS: dict[str, Mechanism] = {
    "sgd": sgd(braess()),
    "sgd of the paper": sgd(braess(), constants="paper"),
    "minimiser": pr.Minimiser(alpha=1.0),
}


def record(seen: list[tuple[str, float]], phase: str, share: float) -> None:
    seen.append((phase, share))


def check_isolation(options: Mechanism, folder: Path, entries: int = 12 * 6) -> None:
    """With the noise's answer fixed, the release folder is the same for any data, bit for bit."""
    network = braess()
    answer = np.rint(np.random.default_rng(5).normal(0.3, 0.4, entries) / GRID).astype(np.int64)
    folders = []
    for seed in range(3):  # 0: without any trip
        counts = np.random.default_rng(seed).integers(0, 50, (4, 12)) * (seed > 0)
        noise = NoNoise(answer)
        release = learn_with_noise(network, history(network, counts), PROMISE, options, noise)
        assert noise.seen == answer.size, "the data were used in more than one noisy query"
        folder.mkdir(exist_ok=True)
        release.save(folder / str(seed), allow_not_private=True)
        folders.append({path.name: path.read_bytes() for path in (folder / str(seed)).iterdir()})
    assert folders[0] == folders[1] == folders[2]


@pytest.mark.parametrize("name", FLOW_MECHANISMS)
def test_swapping_the_raw_data_after_the_noise_changes_nothing(name: str, tmp_path: Path) -> None:
    check_isolation(FLOW_MECHANISMS[name], tmp_path)


def test_a_private_warm_start_of_the_last_projection_is_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Potentials of the last day left lying about change the last digits of what is published."""
    left: list[NDArray[np.float32]] = []

    def keeping(*arguments: Any, **named: Any) -> Any:
        bound = right_projection(*arguments, **named)
        left.append(arguments[3].copy())
        return bound

    def warm(*arguments: Any, **named: Any) -> Any:
        sets, metric, points, _ = arguments
        return right_projection(sets, metric, points, left[-1].copy(), **named)

    monkeypatch.setattr(shard_module, "project_on_routes", keeping)
    monkeypatch.setattr(from_routes_module, "project_on_routes", warm)
    with pytest.raises(AssertionError):
        check_isolation(FLOW_MECHANISMS["sgd"], tmp_path)


class TestAlgorithm1:
    def test_it_makes_one_step_for_each_day_in_order(self) -> None:
        """Each iterate is the projection of a step from the one before with that day's rates: written out."""
        network, options = braess(), sgd(braess())
        pairs = pairs_of(network)
        rates = np.random.default_rng(2).random((4, 12))
        steps, start = np.array([0.1, 0.05, 0.02, 0.01]), public_start(network, pairs, options)
        x = start.copy()
        seen: list[float] = []
        for flows in iterates(network, pairs, rates, start, alpha=0.7, steps=steps):
            day = len(seen)
            y = rates[day] @ x
            slope = np.outer(rates[day], network.latency.marginal_cost(y)) + 0.7 * x
            x = pr.project(network, pairs, x - steps[day] * slope, tolerance=1e-12).flows
            seen.append(np.abs(flows - x).max())
        assert len(seen) == 4
        assert max(seen) < 1e-8

    def test_the_start_is_public(self) -> None:
        network, demand = SCENARIO.network, SCENARIO.demand
        free = public_start(network, demand.pairs, pr.Sgd(public_demand=demand, alpha=1.0))
        assert free @ network.free_flow_min == pytest.approx(pr.free_flow_minutes(network, demand.pairs))
        prior = public_start(network, demand.pairs, pr.Sgd(public_demand=demand, alpha=1.0, start="prior"))
        best = pr.solve_optimum(network, demand)
        assert np.allclose(demand.rate_per_min @ prior, best.link_flow, rtol=1e-3)

    def test_caps_follow_the_public_rule(self) -> None:
        options = sgd(CONGESTED, rate=0.2, cap_factor=2.0, cap_trips=6)
        frame = history(CONGESTED, [[0, 0]]).frame
        assert public_caps(frame, options) == pytest.approx(2.0 * 0.2 + 6 / T)

    def test_constants_of_the_paper_are_never_called_private(self) -> None:
        network = SCENARIO.network
        data = pr.simulate_days(SCENARIO.demand, days=2, seed=1)
        options = pr.Sgd(public_demand=SCENARIO.demand, alpha=10.0, constants="paper")
        certificate = learn_with_noise(network, data, PROMISE, options, SeededNoise(1)).certificate
        told = " ".join(certificate.broken_assumptions)
        for word in ("bounded demand", "exact arithmetic", "smoothness", "classical formula"):
            assert word in told
        assert not certificate.private
        assert certificate.options["public_demand"].startswith("sha256 ")

    def test_constants_of_the_paper_give_the_published_noise(self) -> None:
        """Lines 8 and 9: s = C/T min(min(1, 2α)/β, 1/(αN)), σ² = 2 s²/ε² ln(1.25/δ)."""
        options = sgd(braess(), constants="paper", beta=50.0, derivative_bound=7.0, alpha=0.25)
        frame = history(braess(), np.zeros((9, 12), int)).frame
        study = pr.Study(braess(), frame, pr.Guarantee(0.5, 1e-5), options)
        promise = implementation(options).promise(study)
        s = 7.0 / T * min(0.5 / 50.0, 1 / (0.25 * 9))
        assert promise.sensitivity == pytest.approx(s, rel=1e-12)
        assert promise.scale == pytest.approx(s / 0.5 * np.sqrt(2 * np.log(1.25 / 1e-5)), rel=1e-12)


class TestOptions:
    @pytest.mark.parametrize(
        ("make", "says"),
        [
            (lambda: pr.Sgd(alpha=1.0), "must be public"),
            (lambda: sgd(CONGESTED, alpha=0.0), "weight of the regulariser"),
            (pr.Minimiser, "weight of the regulariser"),
            (lambda: pr.Minimiser(alpha=np.nan), "alpha is nan"),
            (lambda: pr.Minimiser(alpha=1.0, ceiling=0.5), "ceiling is 0.5"),
            (lambda: pr.Minimiser(alpha=1.0, tolerance=0), "tolerance is 0"),
            (lambda: pr.Minimiser(alpha=1.0, tolerance=1.0), "below 1"),
            (lambda: pr.Minimiser(alpha=np.inf), "alpha is inf"),
            (lambda: pr.Minimiser(alpha=1.0, tilt=-1), "tilt is -1"),
            (lambda: sgd(CONGESTED, ceiling=1.0), "ceiling is 1.0"),
            (lambda: sgd(CONGESTED, cap_trips=0.5), "cap_trips is 0.5"),
            (lambda: sgd(CONGESTED, cap_factor=-1.0), "cap_factor is -1.0"),
            (lambda: sgd(CONGESTED, beta=3.0), "beta is not valid with"),
            (lambda: sgd(CONGESTED, constants="paper", cap_trips=3), "cap_trips is not valid with"),
            (lambda: sgd(CONGESTED, constants="paper", detour=1.3), "detour is not valid with"),
            (lambda: sgd(CONGESTED, routes="some"), "routes is 'some'"),
            (lambda: sgd(CONGESTED, metric="fine"), "metric is 'fine'"),
            (lambda: sgd(CONGESTED, detour=0.9), "detour is 0.9"),
            (lambda: sgd(CONGESTED, power=-1.0), "power is -1.0"),
            (lambda: sgd(CONGESTED, steps_per_day=0), "steps_per_day is 0"),
            (lambda: sgd(CONGESTED, steps_per_day=10**6), "steps_per_day is more than"),
            (lambda: sgd(CONGESTED, step_sizes="long"), "step_sizes is 'long'"),
            (lambda: pr.Minimiser(alpha=1.0, detour=1.3), "detour is not valid without"),
            (lambda: sgd(CONGESTED, constants="best"), "constants is 'best'"),
            (lambda: sgd(CONGESTED, start="anywhere"), "start is 'anywhere'"),
            (lambda: pr.Sgd(public_demand=[1.0], alpha=1.0), "public_demand is a list"),  # type: ignore[arg-type]
        ],
    )
    def test_unusable_options_are_refused_with_a_reason(self, make: Callable[[], Any], says: str) -> None:
        with pytest.raises(GuaranteeError, match=says):
            make()

    def test_a_tolerance_that_cannot_be_certified_is_refused_before_any_trip_is_read(self) -> None:
        options = pr.Minimiser(alpha=1e-6, tolerance=1e-11)
        with pytest.raises(GuaranteeError, match="larger tolerance or alpha"):
            perturbed(SCENARIO.network, np.zeros((1, 552), int), options)

    def test_steps_beyond_the_range_of_the_projection_are_refused_before_any_trip_is_read(self) -> None:
        network = pr.Network([0, 1], [1, 0], pr.Latency.bpr([1.0, 1.0], 1.0, 0.0, 1.0), ["a", "b"])
        with pytest.raises(GuaranteeError, match="alpha is so small"):
            perturbed(network, [[0, 0]], sgd(network, rate=1e15))

    def test_a_projection_finer_than_float64_is_refused_before_any_trip_is_read(self) -> None:
        with pytest.raises(GuaranteeError, match="tolerance is 1e-16"):
            perturbed(CONGESTED, [[0, 0]], sgd(CONGESTED, tolerance=1e-16))

    @pytest.mark.parametrize("constants", ["certified", "paper"])
    def test_links_without_free_flow_time_cost_nothing_and_have_no_ceiling(self, constants: str) -> None:
        latency = pr.Latency.affine([0.0, 1.0, 0.0], 1.0)
        network = pr.Network([0, 0, 1], [1, 1, 0], latency, ["a", "b"])
        options = sgd(network, constants=constants)
        flows, _ = perturbed(network, [[3, 1]], options)
        assert np.isfinite(flows).all()

    def test_curves_of_infinite_slope_are_refused(self) -> None:
        latency = pr.Latency.bpr([1.0, 1.0], 1.0, 1.0, 0.5)
        network = pr.Network([0, 1], [1, 0], latency, ["a", "b"])
        for options in (sgd(network), pr.Minimiser(alpha=1.0)):
            with pytest.raises(pr.PrivrouteError, match="infinitely fast"):
                perturbed(network, [[0, 0]], options)


@pytest.mark.parametrize("name", [*FLOW_MECHANISMS, "counts", "daily"])
def test_the_private_phase_tells_k_of_a_public_number_and_the_same_for_all_data(name: str) -> None:
    network, options = braess(), as_mechanism(FLOW_MECHANISMS.get(name, name))
    told = []
    for counts in (np.zeros((5, 12), int), np.full((5, 12), 30), np.random.default_rng(3).integers(0, 900, (5, 12))):
        seen: list[tuple[str, float]] = []
        data = history(network, counts)
        announced = Announcement(pr.Study(network, data.frame, PROMISE, options), SeededNoise(1))
        announced.draw(data, progress=partial(record, seen))
        told.append(seen)
    days = [("Learning from the days", k / 5) for k in range(6)] if name.startswith("sgd") else []
    assert told == [[*days, ("Drawing noise", 0.0), ("Drawing noise", 1.0)]] * 3


def test_a_large_network_gets_its_noise_in_blocks_of_a_public_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_DRAWN_AT_ONCE", 7)
    seen: list[tuple[str, float]] = []
    data = history(braess(), np.zeros((2, 12), int))
    Announcement(pr.Study(braess(), data.frame, PROMISE, "daily"), SeededNoise(1)).draw(  # type: ignore[arg-type]
        data, progress=partial(record, seen)
    )
    assert seen == [("Drawing noise", k / 4) for k in range(5)]


def test_every_block_has_noise_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100 numbers with a deviation of 1e12 two are equal up to the sign with a chance below 1e-8."""
    monkeypatch.setattr(drawing, "_DRAWN_AT_ONCE", 7)
    noise = drawing._with_noise(np.zeros(100, np.int64), 1e12, OpenDPNoise(), None)
    assert np.unique(np.abs(noise)).size == noise.size


def test_what_cannot_be_called_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(epsilon=1.0, delta=1e-5, unit="request"))
    data = history(braess(), np.full((5, 12), 30))
    old: Any = True
    with pytest.raises(InputError, match="progress is a bool; pass a function"):
        pr.learn(braess(), data, PROMISE, FLOW_MECHANISMS["sgd"], ledger=ledger, progress=old)
    assert not ledger.account().charges


@pytest.mark.parametrize("name", ["sgd", "minimiser"])
def test_a_release_with_opendps_noise_is_private_and_can_be_read_back(name: str, tmp_path: Path) -> None:
    network = braess()
    release = pr.learn(network, history(network, np.full((5, 12), 30)), PROMISE, FLOW_MECHANISMS[name])
    assert release.certificate.private
    assert release.demand is None
    release.save(tmp_path / "out")
    assert pr.load_release(tmp_path / "out").certificate == release.certificate
