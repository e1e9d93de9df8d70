"""Sensitivities of learned flows: closed forms, the constants they rest on, and rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privroute as pr
from privroute.errors import GuaranteeError
from privroute.flows.route_metric import RouteMetric
from privroute.flows.route_minimiser import minimise_on_routes
from privroute.flows.route_sets import RouteSets
from privroute.flows.unit_flows import gradient, step_in_place
from privroute.mechanism.theory import step_sizes
from privroute.privacy.flow_sensitivity import (
    SgdBounds,
    ceiling_min,
    contraction,
    largest_mean_rate,
    minimiser_sensitivity,
    on_grid_sensitivity,
    sgd_sensitivity,
)
from privroute.privacy.noise import GRID

NETWORK, DEMAND = pr.sioux_falls().network, pr.sioux_falls().demand
CAPS = 2.0 * DEMAND.rate_per_min + 0.1
SETS = RouteSets.whole(NETWORK, DEMAND.pairs)
PLAIN = RouteMetric.plain(SETS)
POSITIVE = st.floats(1e-3, 1e4)


@given(POSITIVE, st.floats(1.0, 1e6), st.integers(1, 400))
def test_with_the_papers_steps_the_recursion_is_the_papers_closed_form(alpha: float, ratio: float, days: int) -> None:
    beta = alpha * ratio
    steps = step_sizes(days, alpha, beta)
    recursion = float((steps * contraction(steps, alpha)).max())
    assert recursion == pytest.approx(min(min(1.0, 2.0 * alpha) / beta, 1.0 / (alpha * days)), rel=1e-10)


@given(POSITIVE, st.floats(1.0, 1e6), st.integers(1, 50))
def test_the_papers_steps_are_never_too_large_for_the_contraction(alpha: float, ratio: float, days: int) -> None:
    steps = step_sizes(days, alpha, alpha * ratio)
    assert (steps * (alpha + alpha * ratio) <= 2.0 * (1 + 1e-12)).all()


def bounds_of(alpha: float = 5.0, ceiling: float = 8.0) -> SgdBounds:
    return SgdBounds.of(NETWORK, CAPS, alpha, ceiling)


def sensitivity(bounds: SgdBounds, steps: np.ndarray, tolerance: float = 1e-10) -> float:
    return sgd_sensitivity(bounds, steps, request=1 / 60, cap=70.0, pairs=552, entries=552 * 76, tolerance=tolerance)


def test_the_tolerance_enters_once_for_each_day_and_twice_for_two_data_sets() -> None:
    bounds = bounds_of()
    steps = step_sizes(7, bounds.alpha, bounds.beta)
    rise = sensitivity(bounds, steps, 1e-3) - sensitivity(bounds, steps, 1e-12)
    left = contraction(steps, bounds.alpha)
    at_start = left[0] * (1 - steps[0] * bounds.alpha)
    assert rise == pytest.approx(2 * math.sqrt(552) * 1e-3 * (at_start + left.sum()), rel=1e-6)


@pytest.mark.parametrize("factor", [0.0, -1.0, 2.5, math.nan])
def test_steps_outside_the_proof_are_refused(factor: float) -> None:
    bounds = bounds_of()
    with pytest.raises(GuaranteeError, match="above 2/"):
        sensitivity(bounds, np.array([factor / (bounds.alpha + bounds.beta)]))
    with pytest.raises(GuaranteeError, match="above 2/"):
        sensitivity(bounds, np.empty(0))


class TestConstants:
    """α, β and C hold for random and extreme flows and rates within the caps, above and below the ceiling."""

    @pytest.mark.parametrize("latency", ["affine", "bpr"])
    @pytest.mark.parametrize("seed", range(4))
    def test_gradients_change_as_the_constants_say(self, latency: str, seed: int) -> None:
        network = pr.sioux_falls(latency=latency).network  # type: ignore[arg-type]
        chance = np.random.default_rng(seed)
        ceiling = ceiling_min(network, 3.0)
        bounds = SgdBounds.of(network, CAPS, 2.0, 3.0)
        one, two = (chance.integers(0, 2, (552, 76)) * chance.random((552, 76)) ** seed for _ in range(2))
        two = one + (two - one) * 10.0 ** -chance.integers(0, 6)
        rates = CAPS * chance.integers(0, 2, 552) * chance.random()

        def slope(flows: np.ndarray, day: np.ndarray) -> np.ndarray:
            return gradient(network, day, flows, alpha=2.0, ceiling_min=ceiling)

        moved, change = two - one, slope(two, rates) - slope(one, rates)
        assert np.linalg.norm(change) <= bounds.beta * np.linalg.norm(moved) * (1 + 1e-9)
        assert np.vdot(change, moved) >= bounds.alpha * np.vdot(moved, moved) * (1 - 1e-6)
        pair = int(chance.integers(552))
        request = min(1e-3, CAPS[pair])
        more = rates.copy()
        more[pair] = min(more[pair] + request, CAPS[pair])
        by = more[pair] - rates[pair]
        assert np.linalg.norm(slope(one, more) - slope(one, rates)) <= bounds.change * by * (1 + 1e-6) + 1e-9

    def test_the_change_is_nearly_attained_where_all_links_are_full(self) -> None:
        """All flow on all links at the caps, ceiling out of reach: only the norm of the path is overestimated."""
        network = pr.Network([0, 1], [1, 0], pr.Latency.affine([1.0, 1.0], 0.1), ["a", "b"])
        caps = np.array([0.4, 0.4])
        bounds = SgdBounds.of(network, caps, 1e-9, 1e6)
        full = np.ones((2, 2))
        less = caps - [1e-6, 0.0]
        change = np.linalg.norm(gradient(network, caps, full) - gradient(network, less, full)) / 1e-6
        assert bounds.change / 1.05 < change <= bounds.change

    def test_a_ceiling_lowers_the_constants(self) -> None:
        assert bounds_of(ceiling=4.0).change < bounds_of(ceiling=8.0).change

    def test_steps_are_rounded_by_less_than_the_bound(self) -> None:
        """Against exact fractions on a network of two links."""
        network = pr.Network([0, 1], [1, 0], pr.Latency.affine([0.3, 0.7], 0.11), ["a", "b"])
        chance = np.random.default_rng(3)
        caps = np.array([5.0, 7.0])
        bounds = SgdBounds.of(network, caps, 0.9, 1e3)
        step = 1.9 / (0.9 + bounds.beta)
        latency = network.latency
        for _ in range(20):
            flows, rates = chance.random((2, 2)), caps * chance.random(2)
            computed = flows.copy()
            step_in_place(network, rates, computed, step, alpha=0.9, ceiling_min=ceiling_min(network, 1e3))
            x = [[Fraction(float(value)) for value in row] for row in flows]
            exact = np.empty((2, 2))
            for link in range(2):
                y = sum(Fraction(float(rate)) * x[pair][link] for pair, rate in enumerate(rates))
                free, room = (Fraction(float(a[link])) for a in (latency.free_flow_min, latency.capacity_per_min))
                cost = free * (1 + 2 * Fraction(float(latency.parameter("b")[link])) * y / room)
                for pair in range(2):
                    point = x[pair][link] - Fraction(step) * (
                        Fraction(float(rates[pair])) * cost + Fraction(0.9) * x[pair][link]
                    )
                    exact[pair, link] = float(Fraction(float(computed[pair, link])) - point)
            assert np.linalg.norm(exact) <= bounds.step_rounding(step, 4)


class TestMinimiser:
    def test_the_bound_solves_its_quadratic_inequality(self) -> None:
        """α s² = h a s + h² b²/4, from which it comes."""
        alpha, days = 6.0, 50
        highest = ceiling_min(NETWORK, 8.0)
        s = minimiser_sensitivity(
            SETS, PLAIN, request=1 / 60, cap=0.0, days=days, alpha=alpha, ceiling=highest, tolerance=1e-300
        )
        h = 1 / (60 * days)
        spread = SETS.cost_spread(NETWORK.free_flow_min, highest, np.ones(NETWORK.links))
        a = math.sqrt(spread.max())
        assert a <= np.linalg.norm(highest) * (1 + 1e-9)
        b2 = NETWORK.latency.marginal_slope_bound(np.inf, highest).sum()
        assert alpha * s**2 == pytest.approx(h * a * s + h**2 * b2 / 4, rel=1e-7)

    def test_it_falls_with_days_and_alpha_and_rises_with_the_tolerance(self) -> None:
        usual = {"request": 1 / 60, "cap": 1.0, "days": 50, "alpha": 6.0, "tolerance": 1e-6}
        highest = ceiling_min(NETWORK, 8.0)

        def s(**other: float) -> float:
            return minimiser_sensitivity(SETS, PLAIN, ceiling=highest, **(usual | other))  # type: ignore[arg-type]

        assert s(days=100) < s()
        assert s(alpha=12.0) < s()
        assert s(tolerance=1e-3) - s() == pytest.approx(2 * (1e-3 - 1e-6), rel=1e-6)

    def test_the_cap_grows_with_the_tolerance_and_real_traffic_is_below_it(self) -> None:
        caps = [
            largest_mean_rate(SETS, PLAIN, alpha=400 / 60, ceiling=ceiling_min(NETWORK, 8.0), tolerance=tolerance)
            for tolerance in (1e-6, 1e-5, 1e-4)
        ]
        assert caps == sorted(caps)
        assert caps[1] > DEMAND.rate_per_min.max()

    def test_at_the_cap_the_certificate_still_reaches_the_tolerance(self) -> None:
        network = pr.Network([0, 0, 1], [1, 1, 0], pr.Latency.bpr([1.0, 1.5, 1.0], 0.1), ["a", "b"])
        sets = RouteSets.whole(network, pr.Pairs([0, 1], [1, 0]))
        plain, highest = RouteMetric.plain(sets), ceiling_min(network, 8.0)
        cap = largest_mean_rate(sets, plain, alpha=0.5, ceiling=highest, tolerance=1e-6)
        found = minimise_on_routes(sets, plain, np.full(2, cap), 0.5, tolerance=0.75e-6, ceiling=highest)
        assert found.error_bound <= 0.75e-6

    @pytest.mark.parametrize("seed", range(4))
    def test_however_coarse_the_tolerance_rates_at_the_cap_are_solved_in_thousands_of_steps(self, seed: int) -> None:
        chance = np.random.default_rng(seed)
        tail, head = np.nonzero(~np.eye(4, dtype=bool))
        times, capacity = chance.uniform(1, 10, 12), chance.uniform(1, 30, 12)
        latency = pr.Latency.affine(times, capacity) if seed % 2 else pr.Latency.bpr(times, capacity)
        network = pr.Network(tail, head, latency, ["a", "b", "c", "d"])
        alpha = float(10 ** chance.uniform(-1.5, 1.7))
        sets = RouteSets.whole(network, pr.Pairs(tail, head))
        highest = ceiling_min(network, 8.0)
        metric = RouteMetric.nearest(chance.uniform(0.1, 10.0, 12), chance.uniform(0.2, 5.0, 12))
        cap = largest_mean_rate(sets, metric, alpha=alpha, ceiling=highest, tolerance=1e-2)
        rates = cap * chance.uniform(0.5, 1.0, 12).round()
        found = minimise_on_routes(sets, metric, rates, alpha, tolerance=0.75e-2, ceiling=highest)
        assert found.error_bound <= 0.75e-2
        assert found.iterations <= 30_000


@given(st.integers(1, 10**7), st.floats(1e-9, 1.0))
def test_rounding_to_the_grid_adds_half_a_step_for_each_of_two_data_sets(entries: int, moved: float) -> None:
    assert on_grid_sensitivity(moved, entries) == pytest.approx(moved + math.sqrt(entries) * GRID, rel=1e-9)


def test_caps_whose_bounds_are_not_finite_are_refused() -> None:
    with pytest.raises(GuaranteeError, match="out of the range of floating-point numbers"):
        SgdBounds.of(NETWORK, np.full(len(CAPS), 1e200), 1.0, np.inf)


def test_a_step_that_may_leave_the_range_of_the_projection_is_refused() -> None:
    bounds = SgdBounds.of(NETWORK, CAPS * 1e-15, 1e-30, 8.0)
    with pytest.raises(GuaranteeError, match="a step may leave the range of the projection"):
        sgd_sensitivity(
            bounds,
            np.full(2, 1.0 / bounds.beta),
            request=0.1,
            cap=1e-15,
            pairs=len(CAPS),
            entries=len(CAPS) * NETWORK.links,
            tolerance=1e-8,
        )
