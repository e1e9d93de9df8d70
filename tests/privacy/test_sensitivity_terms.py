"""Every term of a sensitivity, at sizes where each of them counts, against exact fractions; and rounding upwards."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import privroute as pr
from privroute.errors import GuaranteeError
from privroute.flows.route_metric import LARGEST_ROUTE_POINT, RouteMetric, smallest_route_tolerance
from privroute.flows.route_sets import RouteSets
from privroute.privacy.flow_sensitivity import (
    SgdBounds,
    ceiling_min,
    contraction,
    largest_mean_rate,
    loads_per_unit,
    minimiser_sensitivity,
    on_grid_sensitivity,
    rate_of_one_request,
    sgd_sensitivity,
)
from privroute.privacy.noise import GRID
from privroute.privacy.sensitivity import summed_counts_sensitivity, sums_of_pairs_sensitivity
from privroute.study.calendar import Calendar
from privroute.study.contribution import Contribution
from privroute.study.frame import Frame

U = Fraction(1, 2**53)
BOUNDS = SgdBounds(alpha=0.5, beta=3.0, change=7.0, norm=2.0, cost_rounding=0.375, reach=1.0)
STEPS = np.array([0.5, 0.125, 0.25, 0.0625, 0.375, 0.5])
NEARLY = Fraction(1, 10**10)


def exact_left(steps: np.ndarray, alpha: float) -> list[Fraction]:
    """Π_{j>k} (1 − η_j α) for each k, and for k = −1 first."""
    left = [Fraction(1)]
    for step in reversed(steps.tolist()):
        left.insert(0, left[0] * (1 - Fraction(step) * Fraction(alpha)))
    return left


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_sgds_sensitivity_is_theorem_1_rounded_upwards(rounds: int) -> None:
    """The rounding of rates, costs and steps is made as large as the rest: cap 2^50, weights of 2^104."""
    found = sgd_sensitivity(
        BOUNDS, STEPS, request=0.75, cap=2.0**50, pairs=9.0, entries=2.0**104, tolerance=0.25, rounds=rounds
    )
    left = exact_left(STEPS, BOUNDS.alpha)
    days = [range(first, first + rounds) for first in range(0, STEPS.size, rounds)]
    moved = max(sum(Fraction(STEPS[k]) * left[k + 1] for k in day) for day in days)
    moved *= 7 * (Fraction(3, 4) + 4 * U * 2**50)
    errors = [3 * Fraction(1, 4) + Fraction(step) * 2 * Fraction(3, 8) + 8 * U * 2**52 for step in STEPS.tolist()]
    exact = moved + 2 * (3 * Fraction(1, 4) * left[0] + sum(a * b for a, b in zip(errors, left[1:], strict=True)))
    assert exact <= Fraction(found) <= exact * (1 + NEARLY)


def test_contractions_are_rounded_upwards_by_a_few_units() -> None:
    chance = np.random.default_rng(1)
    for _ in range(50):
        alpha, steps = float(chance.uniform(0.1, 3.0)), chance.uniform(1e-3, 0.3, 6)
        found, exact = contraction(steps, alpha).tolist(), exact_left(steps, alpha)[1:]
        for one, other in zip(found, exact, strict=True):
            assert other <= Fraction(one) <= other * (1 + 2000 * U)
        assert found[-1] == 1.0


def step_of(size: float, bounds: SgdBounds = BOUNDS) -> float:
    return sgd_sensitivity(
        bounds, np.array([size]), request=1.0, cap=1.0, pairs=1.0, entries=1.0, tolerance=1e-9, rounds=1
    )


def test_steps_up_to_the_limit_are_proved_and_no_larger_ones() -> None:
    limit = 2.0 / (BOUNDS.alpha + BOUNDS.beta)
    assert step_of(limit) > 0
    for size in (limit * (1 + 1e-12), 0.0, -1e-300):
        with pytest.raises(GuaranteeError, match="above 2/"):
            step_of(size)
    longest = 1e-3 * LARGEST_ROUTE_POINT
    assert step_of(0.5, replace(BOUNDS, reach=math.nextafter(2 * longest, 0.0))) > 0
    with pytest.raises(GuaranteeError, match="range of the projection"):
        step_of(0.5, replace(BOUNDS, reach=2 * longest))


@pytest.mark.parametrize("entries", [1, 2, 77, 10**7])
@pytest.mark.parametrize("moved", [1e-12, 0.3, 7.0])
def test_the_grid_adds_its_step_rounded_upwards(entries: int, moved: float) -> None:
    found = on_grid_sensitivity(moved, entries)
    with mpmath.workdps(40):
        exact = mpmath.mpf(moved) + mpmath.sqrt(entries) * mpmath.mpf(GRID)
        assert exact <= found <= exact * (1 + mpmath.mpf(10) ** -11)


def test_the_minimisers_sensitivity_is_theorem_1_rounded_upwards() -> None:
    """One pair with two routes; the rounding of rates is made as large as the request."""
    network = pr.Network([0, 0, 1], [1, 1, 0], pr.Latency.bpr([1.0, 1.5, 1.0], 10.0), ["a", "b"])
    sets = RouteSets.whole(network, pr.Pairs([0], [1]))
    metric, highest = RouteMetric.plain(sets), ceiling_min(network, 8.0)
    request, cap, days, alpha, tolerance = 0.5, 2.0**48, 4, 0.5, 1e-3
    found = minimiser_sensitivity(
        sets, metric, request=request, cap=cap, days=days, alpha=alpha, ceiling=highest, tolerance=tolerance
    )
    low, slope = network.free_flow_min, network.latency.marginal_slope_bound(np.inf, highest)
    with mpmath.workdps(40):
        own = mpmath.sqrt(sets.cost_spread(low, highest, np.ones(3))[0])
        steep = mpmath.mpf(float(sets.heaviest(slope)[0]))
        change = mpmath.mpf(request) / days + 4 * mpmath.mpf(2) ** -53 * cap
        exact = change * (own + mpmath.sqrt(own**2 + alpha * steep)) / (2 * mpmath.mpf(alpha)) + 2 * mpmath.mpf(
            tolerance
        )
        assert exact <= found <= exact * (1 + mpmath.mpf(10) ** -8)


@pytest.mark.parametrize("largest", [1e-5, 0.75, 1.0, 3.0, 1e9])
def test_the_largest_load_fills_sums_of_61_bits(largest: float) -> None:
    units = loads_per_unit(np.array([0.0, largest]))
    assert math.frexp(units)[0] == 0.5  # a power of 2
    assert 2.0**59 < largest * units <= 2.0**60
    assert math.isfinite(loads_per_unit(np.zeros(2)))
    assert loads_per_unit(np.array([np.inf])) > 0


def test_costs_that_grow_faster_than_rounding_is_bounded_for_are_refused() -> None:
    for power, refused in ((990.0, False), (1010.0, True)):
        latency = pr.Latency.bpr([1.0, 1.0], [2.0, 2.0], power=[4.0, power])
        network = pr.Network([0, 1], [1, 0], latency, ["a", "b"])
        if refused:
            with pytest.raises(GuaranteeError, match="rounding is bounded for powers up to 1000"):
                SgdBounds.of(network, np.array([1.0, 1.0]), 1.0, 8.0)
        else:
            assert SgdBounds.of(network, np.array([1.0, 1.0]), 1.0, 8.0).cost_rounding > 0


def unequal() -> tuple[pr.Network, np.ndarray]:
    """Three pairs on links of different powers, times and background, with different caps."""
    latency = pr.Latency.bpr([1.0, 1.5, 2.0, 0.5], [2.0, 3.0, 2.5, 4.0], power=[4.0, 1.0, 2.0, 5.0])
    network = pr.Network([0, 0, 1, 2], [1, 2, 2, 0], latency, list("abc"), background_per_min=[0.1, 0.0, 0.2, 0.3])
    return network, np.array([0.5, 0.25, 1.0])


def test_sgds_constants_are_those_of_the_lemmas() -> None:
    network, caps = unequal()
    bounds = SgdBounds.of(network, caps, 0.5, 3.0)
    latency, most, highest = network.latency, network.background_per_min + 1.75, 3.0 * network.free_flow_min
    cost, slope = latency.marginal_cost_bound(most, highest), latency.marginal_slope_bound(most, highest)
    steep, square = float(np.sqrt(slope @ slope)), float(caps @ caps)
    others = square - 1.0  # of the pairs beside the one with the largest cap
    assert bounds.norm == pytest.approx(math.sqrt(square), rel=1e-12)
    assert bounds.beta == pytest.approx(0.5 + square * slope.max(), rel=1e-12)
    assert bounds.reach == pytest.approx(1.0 * cost.max(), rel=1e-12)
    change = (float(np.sqrt(cost @ cost)) + 1.0 * steep) ** 2 + others * steep**2
    assert bounds.change == pytest.approx(math.sqrt(change), rel=1e-12)
    power = np.maximum(latency.elasticity_bound(cost), 1.0)
    each = cost * ((3 + 4) * power + 20 + latency.roundings(cost)) * 2.0**-53
    assert bounds.cost_rounding == pytest.approx(1.01 * float(np.sqrt(each @ each)), rel=1e-12, abs=0)


def test_constants_on_routes_are_those_of_the_lemmas() -> None:
    """Pair by pair and link by link; a metric with other weights than 1."""
    network, caps = unequal()
    sets = RouteSets.whole(network, pr.Pairs([0, 0, 1], [1, 2, 2]))
    metric = RouteMetric.nearest(np.array([1.0, 4.0, 0.25, 2.0]), np.array([0.25, 2.0, 1.0]))
    highest = 3.0 * network.free_flow_min
    bounds = SgdBounds.on_routes(sets, metric, caps, 0.5, highest)
    latency, most = network.latency, network.background_per_min + sets.sum_by_link(caps)
    cost, slope = latency.marginal_cost_bound(most, highest), latency.marginal_slope_bound(most, highest)
    low = np.minimum(latency.marginal_cost(network.background_per_min), cost)
    share = caps**2 / metric.pair
    crowd = sets.sum_by_link(share)
    assert bounds.norm == pytest.approx(math.sqrt(share.sum()), rel=1e-8)
    assert bounds.norm >= math.sqrt(share.sum())
    assert bounds.beta == pytest.approx(0.5 + (slope * crowd / metric.link).max(), rel=1e-8)
    assert bounds.beta >= 0.5 + (slope * crowd / metric.link).max()
    assert bounds.reach == pytest.approx((caps / metric.pair).max() * (cost / metric.link).max(), rel=1e-12)
    steep = slope**2 / metric.link
    own = np.sqrt(sets.cost_spread(low, cost, 1.0 / metric.link))
    beside = sets.heaviest(steep * crowd, steep, share)
    change = (own + caps * np.sqrt(sets.heaviest(steep))) ** 2 / metric.pair + beside
    assert bounds.change == pytest.approx(math.sqrt(change.max()), rel=1e-7)
    assert bounds.change >= math.sqrt(change.max())
    power = np.maximum(latency.elasticity_bound(cost), 1.0)
    each = cost * (8 * power + 20 + latency.roundings(cost)) * 2.0**-53
    each += slope * sets.sum_by_link(np.ones(3)) / loads_per_unit(sets.sum_by_link(caps))
    expected = 1.01 * float(np.sqrt((each**2 / metric.link).sum()))
    assert bounds.cost_rounding == pytest.approx(expected, rel=1e-9, abs=0)


def test_the_cap_of_mean_rates_keeps_rounding_and_curvature_within_a_quarter() -> None:
    """The two terms of Lemma 2 of the minimiser, each where it is the smaller one."""
    network, _ = unequal()
    sets = RouteSets.whole(network, pr.Pairs([0, 0, 1], [1, 2, 2]))
    metric = RouteMetric.nearest(np.array([1.0, 4.0, 0.25, 2.0]), np.array([0.25, 2.0, 1.0]))
    highest, alpha = 3.0 * network.free_flow_min, 0.5
    slope = network.latency.marginal_slope_bound(np.inf, highest)
    steepest = (slope / metric.link * sets.sum_by_link(1.0 / metric.pair)).max()
    each = smallest_route_tolerance(sets, metric) + 4 * 2.0**-53 * math.sqrt(metric.link.sum())
    tolerance = 100.0 * 16 * math.sqrt(metric.pair.sum()) * each  # curvature may be 99 times alpha
    power = np.maximum(network.latency.elasticity_bound(highest), 1.0)
    rounded = highest * ((3 + 4) * power + 20 + network.latency.roundings(highest)) * 2.0**-53
    rounding = 1.01 * math.sqrt((rounded**2 / metric.link).sum() * (1.0 / metric.pair).sum())

    def cap(tolerance: float) -> float:
        return largest_mean_rate(sets, metric, alpha=alpha, ceiling=highest, tolerance=tolerance)

    curved = math.sqrt(99.0 * alpha / steepest)
    assert cap(tolerance) == pytest.approx(min(curved, tolerance * alpha / (16 * rounding)), rel=1e-9)
    assert cap(tolerance / 100) == 0.0
    assert cap(1e-3) == pytest.approx(min(math.sqrt(1e6 * alpha / steepest), 1e-3 * alpha / (16 * rounding)), rel=1e-9)


def test_one_request_is_its_expansion_over_the_period() -> None:
    frame = Frame(pr.Pairs([0], [1]), Calendar.of_days(5, 60.0), expansion=3.0)
    assert rate_of_one_request(pr.Guarantee(1.0, 1e-6), frame) == 3.0 / 60.0
    with pytest.raises(GuaranteeError, match="no sensitivity of unit flows is proved"):
        rate_of_one_request(pr.Guarantee(1.0, 1e-6, unit="user"), frame)


@pytest.mark.parametrize(("most", "per_pair"), [(1, 1), (3, 2), (7, 5), (10, 10), (4, 4)])
def test_roots_are_exact_or_rounded_upwards(most: int, per_pair: int) -> None:
    user, kept = pr.Guarantee(1.0, 1e-6, unit="user"), Contribution("user", most, per_pair)
    request = pr.Guarantee(1.0, 1e-6)
    for found, square in (
        (summed_counts_sensitivity(user, kept, multiplier=3), 9 * most * per_pair),
        (sums_of_pairs_sensitivity(user, kept, squared_row=5), 5 * most**2),
        (summed_counts_sensitivity(request, multiplier=7), 49),
        (sums_of_pairs_sensitivity(request, squared_row=6), 6),
        (summed_counts_sensitivity(request), 1),
        (sums_of_pairs_sensitivity(request), 1),
    ):
        assert square <= Fraction(found) ** 2 <= square * (1 + Fraction(1, 2**50))
        root = math.isqrt(square)
        assert root * root != square or found == root
