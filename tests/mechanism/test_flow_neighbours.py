"""Neighbours and errors, searched adversarially, never move flows further than declared; planted bugs are caught."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.mechanism.flow_cases import (
    CONGESTED,
    PROMISE,
    SCENARIO,
    TIGHT,
    T,
    braess,
    history,
    pairs_of,
    perturbed,
    perturbed_history,
    roads,
    sgd,
)

import privroute as pr
from privroute.errors import GuaranteeError
from privroute.flows.regularised import minimise_regularised
from privroute.flows.route_metric import RouteMetric
from privroute.flows.route_metric import project_on_routes as right_projection
from privroute.flows.route_minimiser import minimise_on_routes
from privroute.flows.route_sets import RouteSets
from privroute.mechanism import minimiser as minimiser_module
from privroute.mechanism import sgd as sgd_module
from privroute.mechanism import shard as shard_module
from privroute.mechanism.theory import step_sizes
from privroute.privacy import flow_sensitivity
from privroute.privacy.flow_sensitivity import SgdBounds, ceiling_min
from privroute.study.mechanisms import Mechanism


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
            (one, declared), (two, _) = (perturbed_history(TIGHT, each, options) for each in data)
            moved.append(float(np.linalg.norm(two - one)))
            assert moved[-1] <= declared
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
                arguments[2][:] += sign * size / np.sqrt(3) * np.tile([1.0, -1.0, 1.0], 2)
                return bound

            monkeypatch.setattr(shard_module, "project_on_routes", shifted)
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

        monkeypatch.setattr(shard_module, "project_on_routes", watched)
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
        data = history(network, counts)
        coarse, fine = (pr.Minimiser(alpha=0.5, tolerance=tolerance) for tolerance in (1e-3, 1e-8))
        far, near = (
            minimiser_module.optimum_of_mean(pr.Study(network, data.frame, PROMISE, each), data)
            for each in (coarse, fine)
        )
        assert np.linalg.norm(far - near) <= coarse.tolerance + fine.tolerance

    def test_the_minimiser_never_gives_up(self) -> None:
        """Giving up on some data and not on others would be an answer about the data."""
        assert "max_iterations" not in inspect.signature(minimise_on_routes).parameters
        flows, _ = perturbed(CONGESTED, np.full((1, 2), 2**40), pr.Minimiser(alpha=0.5))
        assert np.isfinite(flows).all()

    def test_with_constant_momentum_it_still_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("privroute.flows.regularised._MOST_WITH_RESTARTS", 1)
        found = minimise_regularised(CONGESTED, [0.1, 0.2], 0.5, pairs=pairs_of(CONGESTED), max_iterations=None)
        assert found.converged
        monkeypatch.setattr("privroute.flows.route_minimiser._MOST_WITH_RESTARTS", 1)
        sets = RouteSets.whole(CONGESTED, pairs_of(CONGESTED))
        ceiling = ceiling_min(CONGESTED, 8.0)
        plain = RouteMetric.plain(sets)
        same = minimise_on_routes(sets, plain, np.array([0.1, 0.2]), 0.5, tolerance=1e-6, ceiling=ceiling)
        assert np.linalg.norm(sets.dense(same.flows) - found.flows) <= same.error_bound + found.error_bound


class TestPlantedBugs:
    def test_a_fifth_of_the_change_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = SgdBounds.on_routes
        monkeypatch.setattr(SgdBounds, "on_routes", lambda *a: replace(right(*a), change=right(*a).change / 5))
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
