"""The paper's constants and bounds against direct computation: what holds, and what does not hold as printed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import privroute as pr
from privroute import theory
from privroute.errors import DemandError, GuaranteeError, InputError, NetworkError
from privroute.flows.unit_flows import gradient
from privroute.mechanism.theory import Constants

ALPHA, RATE = 3.0, 2.0
TAIL, HEAD = [0, 1, 1, 2, 0], [1, 0, 2, 1, 2]


def triangle(*, proportional: bool = False) -> pr.Network:
    """Three nodes, five links; with `proportional` free-flow times are proportional to the slopes q."""
    free_flow = np.array([1.0, 2.0, 0.5, 1.5, 2.5])
    capacity = np.full(5, 4.0) if proportional else np.array([3.0, 1.0, 4.0, 2.0, 5.0])
    return pr.Network(TAIL, HEAD, pr.Latency.affine(free_flow, capacity), ["a", "b", "c"])


def pairs_of(network: pr.Network) -> int:
    return network.nodes * (network.nodes - 1)


def hessian(network: pr.Network, rates: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """F is quadratic in x, so differences of its gradient are the columns of the Hessian."""
    shape = rates.size, network.links
    middle = np.full(shape, 0.5)
    base = gradient(network, rates, middle, alpha=alpha)
    columns = []
    for position in range(middle.size):
        moved = middle.copy()
        moved.flat[position] += 0.5
        columns.append(2 * (gradient(network, rates, moved, alpha=alpha) - base).ravel())
    return np.array(columns)


def test_beta_as_printed_is_too_small_and_corrected_it_is_the_largest_eigenvalue() -> None:
    network = triangle()
    rates = np.full(pairs_of(network), RATE)
    eigenvalues = np.linalg.eigvalsh(hessian(network, rates, ALPHA))
    assert eigenvalues[0] == pytest.approx(ALPHA, rel=1e-9)
    assert eigenvalues[-1] > 1.2 * theory.printed_constants(network, ALPHA, RATE).beta
    assert eigenvalues[-1] == pytest.approx(theory.corrected_constants(network, ALPHA, rates).beta, rel=1e-9)


@pytest.mark.parametrize("alpha", [ALPHA, 300.0])
def test_beta_as_printed_is_half_of_the_hessian_where_all_n_squared_pairs_have_the_largest_rate(alpha: float) -> None:
    """Section 3.4 bounds B'QB + α/2 I by n² max q λ² + α/2. It is reached, and the Hessian is twice that matrix."""
    network = triangle()
    pairs = pairs_of(network)
    rates = np.full(pairs, RATE * math.sqrt(network.nodes**2 / pairs))  # |Λ|² = n² λ²
    largest = np.linalg.eigvalsh(hessian(network, rates, alpha))[-1]
    assert theory.printed_constants(network, alpha, RATE).beta == pytest.approx(largest / 2, rel=1e-9)


def cross_derivative(
    network: pr.Network, rates: NDArray[np.float64], flows: NDArray[np.float64], pair: int
) -> NDArray[np.float64]:
    """∂∇F/∂Λ_w at Λ: ∇F is quadratic in Λ_w, so three values give its derivative without error but rounding."""
    step = rates[pair] / 2
    moved = [rates.copy() for _ in range(2)]
    moved[0][pair] -= step
    moved[1][pair] -= 2 * step
    here, one, two = (gradient(network, r, flows, alpha=ALPHA) for r in (rates, *moved))
    return np.asarray((3 * here - 4 * one + two) / (2 * step))


@given(seed=st.integers(0, 10**6))
def test_no_gradient_exceeds_c_or_k(seed: int) -> None:
    chance = np.random.default_rng(seed)
    network = triangle()
    caps = chance.uniform(0.1, 3.0, pairs_of(network))
    rates = caps * chance.choice([0.3, 1.0], caps.size)
    flows = chance.integers(0, 2, (caps.size, network.links)).astype(float)
    constants = theory.corrected_constants(network, ALPHA, caps)
    changes = [np.linalg.norm(cross_derivative(network, rates, flows, pair)) for pair in range(caps.size)]
    assert max(changes) <= constants.lipschitz * (1 + 1e-9)
    assert constants.lipschitz <= theory.printed_constants(network, ALPHA, caps.max()).lipschitz
    assert np.linalg.norm(gradient(network, rates, flows, alpha=ALPHA)) <= constants.gradient_bound


def test_the_corrected_c_is_reached_where_times_are_proportional_to_slopes() -> None:
    network = triangle(proportional=True)
    rates = np.array([1.0, 2.0, 0.5, 3.0, 1.5, 1.0])
    flows = np.ones((rates.size, network.links))
    found = max(float(np.linalg.norm(cross_derivative(network, rates, flows, w))) for w in range(rates.size))
    assert found == pytest.approx(theory.corrected_constants(network, ALPHA, rates).lipschitz, rel=1e-9)


def test_constants_need_affine_latency_and_public_caps() -> None:
    scenario = pr.sioux_falls(latency="bpr")
    with pytest.raises(NetworkError, match="affine"):
        theory.printed_constants(scenario.network, ALPHA, RATE)
    for caps in ([], [0.0], [-1.0], [np.nan], [[1.0]]):
        with pytest.raises(DemandError, match="caps"):
            theory.corrected_constants(triangle(), ALPHA, caps)
    for alpha in (0.0, -1.0, np.inf, True):
        with pytest.raises(InputError, match="alpha"):
            theory.corrected_constants(triangle(), alpha, [1.0])


positive = st.floats(0.05, 50.0)


@given(alpha=positive, ratio=st.floats(1.0, 300.0), days=st.integers(1, 120))
def test_the_product_form_equals_the_closed_form_for_the_papers_steps(alpha: float, ratio: float, days: int) -> None:
    constants = Constants(alpha, alpha * ratio, 7.0, 1.0)
    exact = theory.exact_sensitivity(constants, days, 60)
    assert exact == pytest.approx(theory.sensitivity(constants, days, 60), rel=1e-10)


def test_influences_are_the_products_they_are_said_to_be() -> None:
    alpha, beta = 2.0, 5.0
    steps = np.array([0.2, 0.05, 0.1, 0.15])
    direct = [steps[t] * math.prod(1 - eta * alpha for eta in steps[t + 1 :]) for t in range(4)]
    claimed = [steps[t] * math.exp(-alpha * sum(steps[t + 1 :])) for t in range(4)]
    assert theory.day_influence(steps, alpha, beta) == pytest.approx(direct, rel=1e-12)
    assert theory.day_influence_as_claimed(steps, alpha) == pytest.approx(claimed, rel=1e-12)
    with pytest.raises(InputError, match="contract"):
        theory.day_influence(steps * 2, alpha, beta)
    with pytest.raises(InputError, match="one for each day"):
        theory.exact_sensitivity(Constants(alpha, beta, 1.0, 1.0), 5, 60, steps=steps)


def test_the_papers_integral_points_the_wrong_way() -> None:
    """The proof claims η_t exp(−α Σ η_k) ≤ 1/(α N); at N = 50 it is 1.51 times that. The product stays below."""
    days = 50
    steps = theory.step_sizes(days, 1.0, 1.0)
    excess = theory.day_influence_as_claimed(steps, 1.0).max() * days
    assert excess == pytest.approx(days * math.exp(1 - sum(1 / k for k in range(1, days + 1))), rel=1e-12)
    assert excess == pytest.approx(1.51, abs=0.005)
    assert theory.day_influence(steps, 1.0, 1.0).max() * days <= 1 + 1e-12


def test_below_t0_more_days_do_not_lower_the_sensitivity() -> None:
    constants = Constants(1e4, 2.08e7, 2.08e7, 1.0)  # the paper's experiments: t_0 = 2079
    values = [theory.sensitivity(constants, days, 60) for days in (1, 50, 2080)]
    assert values == pytest.approx([1 / 60] * 3, rel=1e-12)
    assert theory.sensitivity(constants, 4160, 60) == pytest.approx(1 / 120, rel=1e-12)


@pytest.mark.parametrize("day", [0, 4, 9])
def test_neighbours_move_the_last_iterate_by_less_than_the_sensitivity(day: int) -> None:
    """Algorithm 1 without noise on two neighbours, from the same start, with the corrected constants."""
    network = triangle()
    pairs = pr.Pairs.of_zones(network)
    chance = np.random.default_rng(day)
    rates = chance.uniform(0.0, 1.0, (10, len(pairs)))
    caps = np.full(len(pairs), 1.5)
    constants = theory.corrected_constants(network, 30.0, caps)
    steps = theory.step_sizes(10, constants.alpha, constants.beta)

    def last(daily: NDArray[np.float64]) -> NDArray[np.float64]:
        flows = pr.project(network, pairs, np.zeros((len(pairs), network.links))).flows
        for eta, today in zip(steps, daily, strict=True):
            flows = pr.project(network, pairs, flows - eta * gradient(network, today, flows, alpha=30.0)).flows
        return flows

    more = rates.copy()
    more[day, 1] += 0.5  # a request in a period of two minutes
    moved = float(np.linalg.norm(last(more) - last(rates)))
    assert 0 < moved <= theory.exact_sensitivity(constants, 10, 2.0) + 1e-7


@given(alpha=st.floats(0.5, 50.0), ratio=st.floats(1.0, 100.0), target=st.floats(0.01, 100.0))
def test_rescaling_gains_nothing_and_the_print_drops_a_c(alpha: float, ratio: float, target: float) -> None:
    constants = Constants(alpha, alpha * ratio, 9.0, 4.0)
    new = theory.rescaled(constants, target)
    assert new.beta / new.alpha == pytest.approx(ratio)
    assert new.lipschitz / new.alpha == pytest.approx(constants.lipschitz / alpha)
    before, after = theory.sensitivity(constants, 50, 60), theory.sensitivity(new, 50, 60)
    if new.alpha >= 0.5:
        assert after == pytest.approx(before)
    else:  # min(1, 2α) sees the unit
        assert after <= before * (1 + 1e-12)
    printed = theory.rescaled(constants, target, as_printed=True)
    assert (printed.alpha, printed.beta) == pytest.approx((alpha / 9.0, alpha * ratio / 9.0))
    many = 10**6
    if min(printed.alpha, new.alpha) >= 0.5:  # in the regime 1/(α N) the print is off by exactly C
        ratio_of_both = theory.sensitivity(printed, many, 60) / theory.sensitivity(new, many, 60)
        assert ratio_of_both == pytest.approx(target)


def gaussian_delta(scale: float, epsilon: float) -> float:
    """The exact delta of the Gaussian mechanism of sensitivity 1 (Balle and Wang 2018)."""

    def below(z: float) -> float:
        return math.erfc(-z / math.sqrt(2)) / 2

    return below(0.5 / scale - epsilon * scale) - math.exp(epsilon) * below(-0.5 / scale - epsilon * scale)


def test_the_classical_scale_holds_below_one_and_fails_far_above() -> None:
    for epsilon in (0.01, 0.1, 0.5, 0.99):
        for delta in (0.1, 1e-3, 1e-6):
            assert gaussian_delta(theory.classical_gaussian_scale(1.0, epsilon, delta), epsilon) <= delta
    with pytest.raises(GuaranteeError, match="below 1 only"):
        theory.classical_gaussian_scale(1.0, 1.0, 1e-6)
    with pytest.raises(GuaranteeError, match="delta"):
        theory.classical_gaussian_scale(1.0, 0.1, 0.0)
    large = theory.classical_gaussian_scale(1.0, 40.0, 1e-6, beyond_its_proof=True)
    assert gaussian_delta(large, 40.0) > 1e-3
    assert theory.classical_gaussian_scale(1.0, 0.1, 1e-6) == pytest.approx(53, abs=0.5)


@given(alpha=positive, ratio=st.floats(1.0, 3.0), far=positive, spread=positive, days=st.integers(1, 100))
def test_the_recursion_is_never_above_theorem_3(
    alpha: float, ratio: float, far: float, spread: float, days: int
) -> None:
    constants = Constants(alpha, alpha * ratio, 1.0, spread)
    bound = theory.accuracy_bound(constants, days, 60, 0.1, 1e-6, 10, start_distance=far)
    before_noise = np.logaddexp(bound.log_sampling, bound.log_start)
    assert theory.accuracy_recursion(constants, days, far)[-1] <= before_noise + 1e-9


def test_step_a_of_the_performance_proof_needs_the_factor_that_its_integral_lost() -> None:
    for days in (2, 10, 50, 1000):
        terms = theory.day_influence_as_claimed(theory.step_sizes(days, 1.0, 1.0), 1.0)
        assert (terms**2).sum() * days > 1.0
        assert terms.max() * days <= math.exp(1 - np.euler_gamma)


@given(scale=st.floats(1.0, 100.0))
def test_theorem_3_does_not_depend_on_the_unit_of_f_once_its_spurious_c_is_gone(scale: float) -> None:
    """Above α = 1/2, where min(1, 2α) does not see the unit."""
    one = Constants(1.0, 2.0, 5.0, 3.0)
    other = Constants(scale, 2.0 * scale, 5.0 * scale, 3.0 * scale)
    corrected = [theory.accuracy_bound(c, 50, 60, 0.1, 1e-6, 40) for c in (one, other)]
    assert corrected[0].log_bound == pytest.approx(corrected[1].log_bound)
    printed = [theory.accuracy_bound(c, 50, 60, 0.1, 1e-6, 40, as_printed=True) for c in (one, other)]
    assert printed[1].log_sampling - printed[0].log_sampling == pytest.approx(math.log(scale), abs=1e-9)


def test_theorem_3_as_printed_is_false_where_c_is_small_in_its_unit() -> None:
    """Roads of 0 and 1 minute without congestion, F = Λ⟨c, x⟩ + |x|²/2, a trip a minute or none on each of N days.

    Then α = β = 1 and steps are 1/k, so x_N is the mean of the days: its share of the faster road is 1/2 + S/(2N),
    where S is binomial, and E‖x_N − x*‖ = E|S/N − 1/2|/√2. Noise of mean 0 makes no expected distance smaller.
    """
    network = pr.Network([0, 0], [1, 1], pr.Latency.affine([0.0, 1.0], 1.0, factor=1.0), ["o", "d"])
    pairs, flows = pr.Pairs([0], [1]), np.full((1, 2), 0.5)
    days = np.random.default_rng(1).integers(0, 2, 40).astype(float)
    for eta, rate in zip(theory.step_sizes(40, 1.0, 1.0), days, strict=True):
        flows = pr.project(network, pairs, flows - eta * gradient(network, [rate], flows, alpha=1.0)).flows
    assert flows[0, 0] == pytest.approx(0.5 + days.mean() / 2, abs=1e-7)

    many, day_min = 100_000, 1440.0
    log_middle = math.lgamma(many + 1) - 2 * math.lgamma(many / 2 + 1) - many * math.log(2)
    distance = math.exp(log_middle) / 2 / math.sqrt(2)  # E|S − N/2| = N/2 · P[S = N/2]
    minutes = theory.corrected_constants(network, 1.0, [1.0])
    per_day = replace(minutes, lipschitz=minutes.lipschitz / day_min)

    def bound(constants: Constants, period: float, *, as_printed: bool) -> float:
        return theory.accuracy_bound(constants, many, period, 0.1, 1e-6, 2**2 * 2, as_printed=as_printed).bound

    assert bound(per_day, 1.0, as_printed=True) < distance / 10
    assert bound(minutes, day_min, as_printed=True) > distance
    corrected = [bound(minutes, day_min, as_printed=False), bound(per_day, 1.0, as_printed=False)]
    assert corrected[0] == pytest.approx(corrected[1])
    assert corrected[0] > distance


def test_theorem_3_is_vacuous_at_the_papers_constants_and_still_computable() -> None:
    bound = theory.accuracy_bound(Constants(1e4, 2.08e7, 2.08e7, 1e6), 50, 60, 0.1, 0.1, 528 * 76)
    assert bound.bound == math.inf
    assert bound.log_bound == pytest.approx(3.56e6, rel=1e-3)
    assert bound.log_noise < 10


def test_theorem_3_holds_on_a_problem_whose_minimiser_is_known() -> None:
    """Two roads, one pair: x = (u, 1 − u), Poisson days; Algorithm 1 with the classical noise, 300 times over."""
    free_flow, capacity, alpha, period, days = np.array([1.0, 1.4]), np.array([4.0, 4.0]), 2.0, 10.0, 30
    network = pr.Network([0, 0], [1, 1], pr.Latency.affine(free_flow, capacity), ["o", "d"])
    pairs = pr.Pairs([0], [1])
    q = free_flow / capacity
    chance = np.random.default_rng(3)
    cap = 2.0
    counts = np.minimum(chance.poisson(1.0 * period, (300, days)), cap * period)
    constants = theory.corrected_constants(network, alpha, [cap])
    # over all possible days: E Λ and E Λ² of the capped Poisson, and the minimiser of the expected F on u in [0, 1]
    support = np.arange(200)
    chances = np.exp(support * np.log(period) - period - np.array([math.lgamma(k + 1) for k in support]))
    rates = np.minimum(support / period, cap)
    first, second = float(chances @ rates), float(chances @ rates**2)
    slope = second * q + alpha / 2
    u = (first * (free_flow[1] - free_flow[0]) + 2 * slope[1]) / (2 * slope.sum())
    best = np.array([u, 1 - u])
    scale = theory.classical_gaussian_scale(theory.sensitivity(constants, days, period), 0.9, 0.1)
    steps = theory.step_sizes(days, alpha, constants.beta)
    before, after = [], []
    for run in counts / period:
        flows = np.array([[0.0, 1.0]])
        for eta, rate in zip(steps, run, strict=True):
            flows = pr.project(network, pairs, flows - eta * gradient(network, [rate], flows, alpha=alpha)).flows
        noisy = pr.project(network, pairs, flows + scale * chance.standard_normal(flows.shape)).flows
        before.append(np.linalg.norm(flows[0] - best))
        after.append(np.linalg.norm(noisy[0] - best))
    start = float(np.linalg.norm([0.0 - u, u]))
    bound = theory.accuracy_bound(constants, days, period, 0.9, 0.1, 2, start_distance=start)
    assert 0 < np.mean(before) <= math.exp(theory.accuracy_recursion(constants, days, start)[-1])
    assert np.mean(after) <= bound.bound
    assert np.mean(before) < np.mean(after)


def test_theorem_1_leaves_no_delta_below_one() -> None:
    for epsilon in (0.01, 1.0, 100.0, 1e4):
        assert theory.least_delta(1.0, 0.0, epsilon) == 1.0
        assert theory.least_delta(0.0, 1.0, epsilon) == 1.0
    keep = math.e / (1 + math.e)  # randomised response has epsilon 1 exactly, with no delta
    assert theory.least_delta(keep, 1 - keep, 1.0) == pytest.approx(0.0, abs=1e-12)
    assert theory.least_delta(keep, 1 - keep, 0.9) > 0.01
    with pytest.raises(InputError, match="chance_with"):
        theory.least_delta(1.1, 0.0, 1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 0.05), (3.0, 0.0), (0.5, 0.3)])
def test_no_rule_is_right_more_often_than_the_limit_and_one_reaches_it(epsilon: float, delta: float) -> None:
    limit = theory.accuracy_limit(epsilon, delta)
    found, mistaken = np.meshgrid(np.linspace(0, 1, 501), np.linspace(0, 1, 501))
    odds = math.exp(epsilon)
    allowed = (found <= odds * mistaken + delta) & (1 - mistaken <= odds * (1 - found) + delta)
    right = np.where(allowed, (found + 1 - mistaken) / 2, 0.0)
    assert right.max() <= limit + 1e-12
    assert right.max() >= limit - 0.003
    assert limit <= odds / (1 + odds) + delta + 1e-12
    assert theory.accuracy_limit(1e4, 1e-6) == pytest.approx(1.0)
    assert theory.least_delta(limit, 1 - limit, epsilon) == pytest.approx(delta, abs=1e-12)


def test_the_theorems_are_a_documented_public_module() -> None:
    assert pr.theory.__name__ == "privroute.mechanism.theory"
    assert all(getattr(theory, name).__doc__ for name in theory.__all__)


def test_numbers_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="beta"):
        Constants(1.0, math.inf, 1.0, 1.0)
    with pytest.raises(InputError, match="days"):
        theory.step_sizes(0, 1.0, 1.0)
    with pytest.raises(InputError, match="period_min"):
        theory.sensitivity(Constants(1.0, 2.0, 1.0, 1.0), 5, 0)
    with pytest.raises(InputError, match="steps"):
        theory.day_influence([0.1, -0.1], 1.0, 2.0)
    with pytest.raises(GuaranteeError, match="delta"):
        theory.accuracy_limit(1.0, -0.1)
