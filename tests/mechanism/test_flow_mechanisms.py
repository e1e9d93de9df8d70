"""`sgd` and `minimiser`: no neighbours move what is perturbed further than declared; after the noise nothing leaks."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

import privroute as pr
from privroute.errors import GuaranteeError
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.flows.projection import project_in_place as right_projection
from privroute.flows.regularised import minimise_regularised as right_minimiser
from privroute.mechanism import minimiser as minimiser_module
from privroute.mechanism import noisy_flows as noisy_flows_module
from privroute.mechanism import sgd as sgd_module
from privroute.mechanism.learn import learn_with_noise, steps_of
from privroute.mechanism.options import Mechanism
from privroute.mechanism.sgd import iterates, public_caps, public_start
from privroute.mechanism.theory import step_sizes
from privroute.privacy import flow_sensitivity
from privroute.privacy.flow_sensitivity import SgdBounds
from privroute.privacy.noise import GRID

PROMISE = pr.Guarantee(epsilon=1.0, delta=1e-6)
SCENARIO = pr.sioux_falls()
T = 60.0


class NoNoise:
    """Gives the values back; remembers how many it saw."""

    def __init__(self, answer: NDArray[np.int64] | None = None) -> None:
        self.answer = answer
        self.seen = 0

    @property
    def kind(self) -> Any:
        return "seeded"

    def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        del scale
        first, self.seen = self.seen, self.seen + values.size
        return values.copy() if self.answer is None else self.answer[first : self.seen].copy()


def roads(times: list[float], capacity: float = 1.0, factor: float = 2.0, back: float = 1.0) -> pr.Network:
    """Parallel roads from a to b with these free-flow minutes, and one back."""
    count = len(times)
    return pr.Network(
        [0] * count + [1], [1] * count + [0], pr.Latency.affine([*times, back], capacity, factor), ["a", "b"]
    )


def braess() -> pr.Network:
    """Four nodes, five links and one way back: routes that share links."""
    return pr.Network(
        [0, 0, 1, 1, 2, 3],
        [1, 2, 2, 3, 3, 0],
        pr.Latency.affine([1.0, 3.0, 0.5, 3.0, 1.0, 2.0], [0.3, 1.0, 1.0, 1.0, 0.3, 1.0], 3.0),
        list("abcd"),
    )


# Free roads but one that costs: a trip moves its pair away from that one, and nothing else has a say.
TIGHT = roads([0.1, *[1e-5] * 9], capacity=1e9, back=1e-5)
CONGESTED = roads([1.0, 1.5], capacity=0.05, factor=3.0)


def pairs_of(network: pr.Network) -> pr.Pairs:
    return pr.Pairs.of_zones(network)


def sgd(network: pr.Network, rate: float = 0.1, **options: Any) -> pr.Sgd:
    public = pr.Demand(pairs_of(network), np.full(len(pairs_of(network)), rate))
    return pr.Sgd(public_demand=public, **({"alpha": 1.0, "cap_trips": 3} | options))


def history(network: pr.Network, counts: Any) -> pr.DemandHistory:
    return pr.DemandHistory(pairs_of(network), np.asarray(counts), period_min=T)


def perturbed(network: pr.Network, counts: Any, options: Mechanism) -> tuple[NDArray[np.float64], float]:
    """What gets noise, as the noise sees it, and its declared sensitivity."""
    data, steps = history(network, counts), steps_of(options)
    promise = steps.promise(network, data.frame, PROMISE, options)
    return steps.perturb(network, data, options, promise, NoNoise(), False), promise.sensitivity


def ratio(network: pr.Network, counts: NDArray[np.int64], day: int, pair: int, options: Mechanism) -> float:
    """How far one request more on a day moves it, as a share of the declared sensitivity."""
    more = counts.copy()
    more[day, pair] += 1
    first, declared = perturbed(network, counts, options)
    second, _ = perturbed(network, more, options)
    return float(np.linalg.norm(second - first)) / declared


def worst_found(
    network: pr.Network, options: Mechanism, days: int, most: int, tries: int, day: int | None = None, seed: int = 1
) -> float:
    """Hill climbing over data sets, days and pairs; every data set that is tried has to keep the bound."""
    chance = np.random.default_rng(seed)
    pairs = len(pairs_of(network))
    best, kept = 0.0, (chance.integers(0, most, (days, pairs)), 0, 0)
    for trial in range(tries):
        counts, where, pair = kept[0].copy(), kept[1], kept[2]
        if trial % 4 == 0:
            counts = chance.choice([0, 1, most // 2, most], (days, pairs))
        changed = chance.random(counts.shape) < 0.2
        counts[changed] = chance.integers(0, most + 1, int(changed.sum()))
        if trial % 2:
            where, pair = int(chance.integers(days)), int(chance.integers(pairs))
        where = where if day is None else day
        found = ratio(network, counts, where, pair, options)
        assert found <= 1.0, "one request moved more than was declared"
        if found > best:
            best, kept = found, (counts, where, pair)
    return best


SMALL = {"tight": TIGHT, "congested": CONGESTED, "braess": braess()}


def check_search(options: Callable[[pr.Network], Mechanism], tries: int) -> float:
    return max(worst_found(network, options(network), 4, 12, tries) for network in SMALL.values())


class TestSensitivity:
    """Searched for counterexamples; and the bound is not far above what is found."""

    @pytest.mark.parametrize("alpha", [0.2, 1.0, 30.0])
    def test_sgd_keeps_its_bound_and_comes_within_a_factor_three(self, alpha: float) -> None:
        best = check_search(lambda network: sgd(network, alpha=alpha), 60)
        assert best > 1 / 3

    @pytest.mark.parametrize("alpha", [0.3, 10.0])
    def test_the_minimiser_keeps_its_bound_and_comes_within_a_factor_three(self, alpha: float) -> None:
        best = check_search(lambda _: pr.Minimiser(alpha=alpha, ceiling=1.2, tolerance=1e-7), 40)
        assert best > 1 / 3

    @pytest.mark.parametrize("day", [0, 4])
    def test_the_first_and_the_last_day_keep_the_bound(self, day: int) -> None:
        assert worst_found(braess(), sgd(braess(), alpha=2.0), 5, 9, 40, day=day) > 0.0

    def test_every_data_set_of_a_tiny_frame_keeps_the_bound(self) -> None:
        network = roads([1.0, 1.4], capacity=0.02, factor=2.0)
        for options in (sgd(network, rate=0.01, cap_trips=1), pr.Minimiser(alpha=0.5, tolerance=1e-6)):
            values = {}
            for counts in itertools.product(range(3), repeat=4):
                values[counts], declared = perturbed(network, np.reshape(counts, (2, 2)), options)
            pairs = [(one, other) for one in values for other in values if np.abs(np.subtract(one, other)).sum() == 1]
            assert max(np.linalg.norm(values[one] - values[other]) for one, other in pairs) <= declared

    def test_requests_beyond_the_cap_change_nothing_and_one_across_it_no_more_than_declared(self) -> None:
        options = sgd(CONGESTED, rate=0.0, cap_trips=3.5)
        assert ratio(CONGESTED, np.full((3, 2), 9), 1, 0, options) == 0.0
        for counts in (2, 3, 4):
            assert ratio(CONGESTED, np.full((3, 2), counts), 1, 0, options) <= 1.0

    def test_a_fleet_that_sees_one_in_ten_moves_ten_times_as_far(self) -> None:
        counts = np.array([[2, 1], [0, 3]])
        options = pr.Minimiser(alpha=30.0, tolerance=1e-9)
        moved = []
        for expansion in (1.0, 10.0):
            data = [
                pr.DemandHistory(pairs_of(TIGHT), c, period_min=T, expansion=expansion)
                for c in (counts, counts + [[1, 0], [0, 0]])
            ]
            steps = steps_of(options)
            promise = steps.promise(TIGHT, data[0].frame, PROMISE, options)
            one, two = (steps.perturb(TIGHT, each, options, promise, NoNoise(), False) for each in data)
            moved.append(float(np.linalg.norm(two - one)))
            assert moved[-1] <= promise.sensitivity
        assert moved[1] == pytest.approx(10 * moved[0], rel=0.05)

    @pytest.mark.parametrize("name", ["sgd", "minimiser"])
    def test_sioux_falls_keeps_its_bound(self, name: str) -> None:
        network, demand = SCENARIO.network, SCENARIO.demand
        options: Mechanism = (
            pr.Sgd(public_demand=demand, alpha=5.0) if name == "sgd" else pr.Minimiser(alpha=300.0, tolerance=1e-4)
        )
        usual = pr.simulate_days(demand, days=5, period_min=T, seed=3).counts
        busiest, idle = int(usual[0].argmax()), int(usual[0].argmin())
        cases = [(usual, 4, busiest), (usual * 0, 0, 3)] + ([(usual * 9, 4, idle)] if name == "sgd" else [])
        assert max(ratio(network, counts, day, pair, options) for counts, day, pair in cases) <= 1.0


class TestErrorsOfTheSolvers:
    """Projections and optima are computed to a public tolerance: the worst error within it is in the sensitivity."""

    TOLERANCE = 1e-3
    COUNTS = np.array([[3, 1], [2, 2], [0, 4]])

    def moved_by_errors(self, monkeypatch: pytest.MonkeyPatch, size: float) -> tuple[float, float]:
        """An adversary shifts every projection by `size`, one way or the other, besides one request."""
        results = []
        for sign, counts in ((1.0, self.COUNTS), (-1.0, self.COUNTS + [[0, 0], [0, 0], [1, 0]])):

            def shifted(*arguments: Any, sign: float = sign, **named: Any) -> Any:
                bound = right_projection(*arguments, **named)
                arguments[2][:] += sign * size / np.sqrt(arguments[2].shape[1]) * np.array([1.0, -1.0, 1.0])
                return bound

            monkeypatch.setattr(sgd_module, "project_in_place", shifted)
            results.append(perturbed(CONGESTED, counts, sgd(CONGESTED, alpha=1e-3, tolerance=self.TOLERANCE)))
        return float(np.linalg.norm(results[0][0] - results[1][0])), results[0][1]

    def test_errors_within_the_tolerance_are_covered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        moved, declared = self.moved_by_errors(monkeypatch, self.TOLERANCE)
        assert declared / 3 < moved <= declared

    def test_a_sensitivity_that_ignores_the_tolerance_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = flow_sensitivity.sgd_sensitivity
        monkeypatch.setattr(sgd_module, "sgd_sensitivity", lambda *a, **k: right(*a, **(k | {"tolerance": 0.0})))
        moved, declared = self.moved_by_errors(monkeypatch, self.TOLERANCE)
        assert moved > declared

    def check_projections(self, monkeypatch: pytest.MonkeyPatch, inner: Callable[..., Any]) -> None:
        """Every projection of the private phase is certified to the public tolerance."""
        worst = []

        def watched(*arguments: Any, **named: Any) -> Any:
            bound = inner(*arguments, **named)
            worst.append(float(bound.max()))
            return bound

        monkeypatch.setattr(sgd_module, "project_in_place", watched)
        options = sgd(braess(), tolerance=1e-10)
        perturbed(braess(), np.full((6, 12), 5), options)
        assert len(worst) == 6
        assert max(worst) <= options.tolerance

    def test_every_projection_is_certified_to_the_tolerance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.check_projections(monkeypatch, right_projection)

    def test_a_projection_that_ignores_the_tolerance_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def careless(*arguments: Any, tolerance: float, threads: int | None) -> Any:
            del tolerance
            arguments[2][:] += 1e-4
            return right_projection(*arguments, tolerance=1e-2, threads=threads) + 1e-6

        with pytest.raises(AssertionError):
            self.check_projections(monkeypatch, careless)

    @pytest.mark.parametrize("network", [CONGESTED, braess()], ids=["congested", "braess"])
    def test_the_optimum_is_as_near_as_the_sensitivity_says(self, network: pr.Network) -> None:
        counts = np.random.default_rng(4).integers(0, 9, (3, len(pairs_of(network))))
        coarse, fine = (pr.Minimiser(alpha=0.5, tolerance=tolerance) for tolerance in (1e-3, 1e-8))
        far, near = (
            minimiser_module.optimum_of_mean(network, history(network, counts), each) for each in (coarse, fine)
        )
        assert np.linalg.norm(far - near) <= coarse.tolerance + fine.tolerance

    def test_the_minimiser_never_gives_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Giving up on some data and not on others would be an answer about the data."""
        limits = []

        def watched(*arguments: Any, **named: Any) -> Any:
            limits.append(named["max_iterations"])
            return right_minimiser(*arguments, **named)

        monkeypatch.setattr(minimiser_module, "minimise_regularised", watched)
        perturbed(CONGESTED, np.full((1, 2), 2**40), pr.Minimiser(alpha=0.5))
        assert limits == [None]

    def test_with_constant_momentum_it_still_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("privroute.flows.regularised._MOST_WITH_RESTARTS", 1)
        found = right_minimiser(CONGESTED, [0.1, 0.2], 0.5, pairs=pairs_of(CONGESTED), max_iterations=None)
        assert found.converged


FLOW_MECHANISMS: dict[str, Mechanism] = {
    "sgd": sgd(braess()),
    "sgd of the paper": sgd(braess(), constants="paper", cap_trips=None),
    "minimiser": pr.Minimiser(alpha=1.0),
}


def check_isolation(options: Mechanism, folder: Path) -> None:
    """With the noise's answer fixed, the release folder is the same for any data, bit for bit."""
    network = braess()
    answer = np.rint(np.random.default_rng(5).normal(0.3, 0.4, 12 * 6) / GRID).astype(np.int64)
    folders = []
    for seed in (1, 2):
        counts = np.random.default_rng(seed).integers(0, 50, (4, 12))
        noise = NoNoise(answer)
        release = learn_with_noise(network, history(network, counts), PROMISE, options, noise)
        assert noise.seen == answer.size, "the data were used in more than one noisy query"
        release.save(folder / str(seed), allow_not_private=True)
        folders.append({path.name: path.read_bytes() for path in (folder / str(seed)).iterdir()})
    assert folders[0] == folders[1]


@pytest.mark.parametrize("name", FLOW_MECHANISMS)
def test_swapping_the_raw_data_after_the_noise_changes_nothing(name: str, tmp_path: Path) -> None:
    check_isolation(FLOW_MECHANISMS[name], tmp_path)


def test_a_private_warm_start_of_the_last_projection_is_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Potentials of the last day left lying about change the last digits of what is published."""
    left: list[NDArray[np.float64]] = []

    def keeping(*arguments: Any, **named: Any) -> Any:
        bound = right_projection(*arguments, **named)
        left.append(arguments[3].copy())
        return bound

    def warm(network: pr.Network, pairs: pr.Pairs, points: Any) -> pr.Projection:
        return pr.project(network, pairs, points, potentials=left[-1])

    monkeypatch.setattr(sgd_module, "project_in_place", keeping)
    monkeypatch.setattr(noisy_flows_module, "project", warm)
    with pytest.raises(AssertionError):
        check_isolation(FLOW_MECHANISMS["sgd"], tmp_path)


class TestPlantedBugs:
    def test_a_fifth_of_the_change_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = SgdBounds.of

        def smaller(*arguments: Any) -> SgdBounds:
            bounds = right(*arguments)
            return SgdBounds(bounds.alpha, bounds.beta, bounds.change / 5, bounds.norm, bounds.cost_rounding)

        monkeypatch.setattr(SgdBounds, "of", smaller)
        with pytest.raises(AssertionError, match="more than was declared"):
            check_search(sgd, 60)

    def test_a_fifth_of_the_minimisers_sensitivity_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = flow_sensitivity.minimiser_sensitivity
        monkeypatch.setattr(minimiser_module, "minimiser_sensitivity", lambda *a, **k: right(*a, **k) / 5)
        with pytest.raises(AssertionError, match="more than was declared"):
            check_search(lambda _: pr.Minimiser(alpha=10.0, ceiling=1.2, tolerance=1e-7), 40)

    def test_steps_that_are_too_large_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sgd_module, "step_sizes", lambda days, alpha, beta: 3.0 * step_sizes(days, alpha, beta))
        with pytest.raises(GuaranteeError, match="above 2/"):
            perturbed(CONGESTED, np.ones((3, 2), int), sgd(CONGESTED, alpha=1e-2 + 0.5))


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
        options = sgd(braess(), constants="paper", cap_trips=None, beta=50.0, derivative_bound=7.0, alpha=0.25)
        frame = history(braess(), np.zeros((9, 12), int)).frame
        promise = steps_of(options).promise(braess(), frame, pr.Guarantee(0.5, 1e-5), options)
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
            (lambda: sgd(CONGESTED, beta=3.0), "beta does not belong"),
            (lambda: sgd(CONGESTED, constants="paper"), "cap_trips does not belong"),
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
        network = pr.Network([0, 1], [1, 0], pr.Latency([1.0, 1.0], 1.0, 0.0, 1.0), ["a", "b"])
        with pytest.raises(GuaranteeError, match="alpha is so small"):
            perturbed(network, [[0, 0]], sgd(network, rate=1e15))

    def test_a_projection_finer_than_float64_is_refused_before_any_trip_is_read(self) -> None:
        with pytest.raises(GuaranteeError, match="tolerance is 1e-16"):
            perturbed(CONGESTED, [[0, 0]], sgd(CONGESTED, tolerance=1e-16))

    @pytest.mark.parametrize("constants", ["certified", "paper"])
    def test_links_without_free_flow_time_cost_nothing_and_have_no_ceiling(self, constants: str) -> None:
        latency = pr.Latency.affine([0.0, 1.0, 0.0], 1.0)
        network = pr.Network([0, 0, 1], [1, 1, 0], latency, ["a", "b"])
        options = sgd(network, constants=constants, cap_trips=None)
        flows, _ = perturbed(network, [[3, 1]], options)
        assert np.isfinite(flows).all()

    def test_curves_of_infinite_slope_are_refused(self) -> None:
        latency = pr.Latency([1.0, 1.0], 1.0, 1.0, 0.5)
        network = pr.Network([0, 1], [1, 0], latency, ["a", "b"])
        for options in (sgd(network), pr.Minimiser(alpha=1.0)):
            with pytest.raises(pr.PrivrouteError, match="infinitely fast"):
                perturbed(network, [[0, 0]], options)


@pytest.mark.parametrize("name", ["sgd", "minimiser"])
def test_progress_shows_how_many_of_how_many_and_nothing_measured(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, color_system=None, width=80)
    monkeypatch.setattr(noisy_flows_module, "Console", lambda **_: console)
    data = history(braess(), np.full((5, 12), 30))
    learn_with_noise(braess(), data, PROMISE, FLOW_MECHANISMS[name], SeededNoise(1), progress=True)
    shown = terminal.getvalue()
    assert "Noise" in shown
    assert ("5/5" in shown) == (name == "sgd")
    assert not any(word in shown for word in ("gap", "error", "step", "%", "e-"))


@pytest.mark.parametrize("name", ["sgd", "minimiser"])
def test_a_release_with_opendps_noise_is_private_and_can_be_read_back(name: str, tmp_path: Path) -> None:
    network = braess()
    release = pr.learn(network, history(network, np.full((5, 12), 30)), PROMISE, FLOW_MECHANISMS[name])
    assert release.certificate.private
    assert release.demand is None
    release.save(tmp_path / "out")
    assert pr.load_release(tmp_path / "out").certificate == release.certificate
