"""The scale of the noise: OpenDP's map, two independent evaluations of the same theory, and the classical formula."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privroute.errors import NoiseError
from privroute.privacy import calibration
from privroute.privacy.calibration import gaussian_epsilon, gaussian_rho, gaussian_scale, rho_bounds, rho_to_epsilon
from privroute.release.certificate import epsilon_of_rho

NEAR = 1 + 1e-9
SMALLEST = 5e-324  # of what float64 can say
LEVELS = [(0.01, 1e-6), (0.1, 1e-6), (0.1, 0.1), (0.5, 1e-9), (1.0, 1e-6), (3.0, 1e-5), (10.0, 1e-8)]


def epsilon_by_mpmath(rho: float, delta: float) -> float:
    """Least epsilon with inf over orders a > 1 of exp((a−1)(a rho − epsilon)) (1 − 1/a)^a / (a − 1) ≤ delta.

    The conversion of Canonne, Kamath and Steinke (2020), Proposition 12, evaluated with 50 digits by golden section.
    """
    with mpmath.workdps(50):

        def epsilon(order: mpmath.mpf) -> mpmath.mpf:
            return order * rho + mpmath.log1p(-1 / order) - (mpmath.log(delta) + mpmath.log(order)) / (order - 1)

        low, high = mpmath.mpf("1.0000001"), mpmath.mpf(10) ** 7
        golden = (mpmath.sqrt(5) - 1) / 2
        left, right = mpmath.log(low - 1), mpmath.log(high)
        for _ in range(200):
            a, b = right - golden * (right - left), left + golden * (right - left)
            if epsilon(1 + mpmath.exp(a)) < epsilon(1 + mpmath.exp(b)):
                right = b
            else:
                left = a
        return float(epsilon(1 + mpmath.exp((left + right) / 2)))


@pytest.mark.parametrize(("epsilon", "delta"), LEVELS)
def test_the_scale_is_within_its_own_map_and_hardly_larger_than_needed(epsilon: float, delta: float) -> None:
    scale = gaussian_scale(epsilon, delta, 1.0)
    assert gaussian_epsilon(scale, 1.0, delta) <= epsilon
    assert gaussian_epsilon(scale * (1 - 1e-6), 1.0, delta) > epsilon


EXTREMES = [
    *((epsilon, delta, 1.0) for epsilon in (1e-200, 1e-9, 1e-3, 0.3, 7.0, 900.0) for delta in (SMALLEST, 1e-60, 1e-6)),
    *((0.3, 0.3, 1.0), (7.0, 1 - 1e-12, 1.0), (1e4, 1e-3, 1.0)),
    *((0.1, 1e-6, sensitivity) for sensitivity in (1e-300, 1e-12, 2.0**-40, 12.5, 1e9, 2.0**39)),
]


@pytest.mark.parametrize(("epsilon", "delta", "sensitivity"), EXTREMES)
def test_the_scale_is_one_that_the_map_was_read_for(
    epsilon: float, delta: float, sensitivity: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the search computes, it returns a scale for which OpenDP said that it is within the guarantee."""
    read: dict[float, float] = {}

    def mapped(scale: float, moved: float, at: float) -> float:
        read[scale] = gaussian_epsilon.__wrapped__(scale, moved, at)
        return read[scale]

    monkeypatch.setattr(calibration, "gaussian_epsilon", mapped)
    try:
        scale = gaussian_scale.__wrapped__(epsilon, delta, sensitivity)
    except NoiseError:
        assert gaussian_epsilon(2.0**40, sensitivity, delta) > epsilon
        return
    assert read[scale] <= epsilon
    assert any(scale * (1 - 1.001e-9) <= smaller < scale and read[smaller] > epsilon for smaller in read)


@pytest.mark.parametrize(("epsilon", "delta"), LEVELS)
def test_a_plain_bisection_finds_the_same_scale(epsilon: float, delta: float) -> None:
    low, high = 1e-3, 1e4
    while high > low * NEAR:
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_epsilon(middle, 1.0, delta) <= epsilon else (middle, high)
    assert gaussian_scale(epsilon, delta, 1.0) == pytest.approx(high, rel=1e-9)


@pytest.mark.parametrize("wrong", [0.3, 0.999, 1.001, 30.0])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (10.0, 1e-8)])
def test_where_the_closed_form_is_wrong_opendps_map_decides(
    epsilon: float, delta: float, wrong: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    scale, (within, beyond) = gaussian_scale(epsilon, delta, 1.0), rho_bounds(epsilon, delta)
    monkeypatch.setattr(calibration, "epsilon_of_rho", lambda rho, at: wrong * epsilon_of_rho(rho, at))
    monkeypatch.setattr(calibration, "_likely_rho", calibration._likely_rho.__wrapped__)
    found = gaussian_scale.__wrapped__(epsilon, delta, 1.0)
    assert found == pytest.approx(scale, rel=1e-9)
    assert gaussian_epsilon(found, 1.0, delta) <= epsilon
    assert rho_bounds(epsilon, delta) == pytest.approx((within, beyond), rel=2e-9)


@given(st.floats(-3, 2.9).map(lambda power: 10.0**power), st.floats(-15, -0.1).map(lambda power: 10.0**power))
@settings(max_examples=25)
def test_opendp_allows_the_first_rho_and_not_the_second(epsilon: float, delta: float) -> None:
    within, beyond = rho_bounds(epsilon, delta)
    assert within < beyond <= within * NEAR
    assert rho_to_epsilon(within, delta) <= epsilon < rho_to_epsilon(beyond, delta)


SHAPES = {
    "falls": lambda x: 1 / x,
    "falls fast": lambda x: math.expm1(min(1 / x, 700.0)),
    "rises": lambda x: x**3,
    "rises slowly": math.log1p,
    "a step down": lambda x: 5.0 if x < 0.3 else 0.0,
    "a step up from nothing": lambda x: 0.0 if x < 7e-20 else math.inf,
    "overflows": lambda x: math.inf if x < 20 else 1 / x,
}


@pytest.mark.parametrize("shape", SHAPES)
@given(st.floats(-25, 25).map(lambda power: 10.0**power), st.floats(-2, 0), st.sampled_from([1e-10, 0.1, 1.0]))
@settings(max_examples=40)
def test_a_bracket_holds_the_limit_wherever_its_search_begins(
    shape: str, start: float, log_limit: float, by: float
) -> None:
    value, limit, calls = SHAPES[shape], 10.0**log_limit, 0

    def counted(x: float) -> float:
        nonlocal calls
        calls += 1
        return float(value(x))  # type: ignore[no-untyped-call]

    falls = counted(1e-30) > counted(1e30)
    within, beyond = calibration._bracket(counted, limit, start, 1 + by if falls else 1 / (1 + by))
    assert counted(within) <= limit < counted(beyond)
    assert abs(beyond - within) <= 1e-9 * within
    assert calls < 400


@pytest.mark.parametrize(("epsilon", "delta"), LEVELS)
def test_the_map_agrees_with_a_high_precision_evaluation(epsilon: float, delta: float) -> None:
    scale = gaussian_scale(epsilon, delta, 1.0)
    exact = epsilon_by_mpmath(1 / (2 * scale**2), delta)
    assert gaussian_epsilon(scale, 1.0, delta) == pytest.approx(exact, rel=1e-6)
    assert gaussian_epsilon(scale, 1.0, delta) >= exact * (1 - 1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), LEVELS)
def test_another_accountant_finds_no_more_than_the_promise(epsilon: float, delta: float) -> None:
    """For the continuous Gaussian dp-accounting's loss distribution is tighter, its Rényi accountant as tight."""
    dp_accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution  # noqa: PLC0415
    from dp_accounting.rdp import rdp_privacy_accountant  # noqa: PLC0415

    scale = gaussian_scale(epsilon, delta, 1.0)
    exact = privacy_loss_distribution.from_gaussian_mechanism(scale).get_epsilon_for_delta(delta)
    assert exact <= epsilon
    accountant = rdp_privacy_accountant.RdpAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(scale))
    assert accountant.get_epsilon(delta) == pytest.approx(epsilon, rel=0.05)


@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_the_classical_formula_needs_more_noise(delta: float) -> None:
    for epsilon in (0.01, 0.1, 0.9):
        assert gaussian_scale(epsilon, delta, 1.0) < math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@given(st.floats(0.05, 5.0), st.floats(1e-9, 1e-2), st.floats(0.1, 50.0))
@settings(max_examples=10)
def test_the_scale_grows_with_the_sensitivity_in_proportion(epsilon: float, delta: float, sensitivity: float) -> None:
    one = gaussian_scale(epsilon, delta, 1.0)
    assert gaussian_scale(epsilon, delta, sensitivity) == pytest.approx(sensitivity * one, rel=1e-6)


def test_rho_is_opendps_and_never_below_the_formula() -> None:
    for scale in (0.5, 4.53, 39.46, 395.0):
        assert gaussian_rho(scale, 1.0) >= 1 / (2 * scale**2)
        assert gaussian_rho(scale, 1.0) == pytest.approx(1 / (2 * scale**2), rel=1e-12)
        assert gaussian_rho(scale, 3.0) == pytest.approx(9 / (2 * scale**2), rel=1e-12)


def test_round_trip_from_rho_to_epsilon() -> None:
    scale = gaussian_scale(0.1, 1e-6, 1.0)
    assert rho_to_epsilon(gaussian_rho(scale, 1.0), 1e-6) == pytest.approx(0.1, rel=1e-6)


def test_the_epsilon_of_rho_is_that_of_noise_with_no_smaller_rho() -> None:
    """Roots are rounded, one in thirty so that the sensitivity would belong to less than was spent."""
    rounded_down = 0
    for rho in np.random.default_rng(1).uniform(0.1, 1.0, 200).tolist():
        sensitivity = math.sqrt(2 * rho)
        too_small = gaussian_epsilon(1.0, sensitivity, 1e-6)
        if gaussian_rho(1.0, sensitivity) < rho:
            sensitivity = math.nextafter(sensitivity, math.inf)
            assert gaussian_rho(1.0, sensitivity) >= rho
            rounded_down += gaussian_epsilon(1.0, sensitivity, 1e-6) > too_small
        assert rho_to_epsilon(rho, 1e-6) >= gaussian_epsilon(1.0, sensitivity, 1e-6)
    assert rounded_down > 0


def test_less_epsilon_or_delta_means_more_noise() -> None:
    assert gaussian_scale(0.1, 1e-6, 1.0) > gaussian_scale(0.2, 1e-6, 1.0)
    assert gaussian_scale(0.1, 1e-9, 1.0) > gaussian_scale(0.1, 1e-6, 1.0)


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.inf, math.nan])
def test_unusable_sensitivities_are_refused(sensitivity: float) -> None:
    with pytest.raises(NoiseError, match="sensitivity"):
        gaussian_scale(0.1, 1e-6, sensitivity)


def test_noise_too_small_for_any_bound_has_no_finite_epsilon() -> None:
    for scale in (1e-3, 1e-100, 1e-300):
        assert gaussian_epsilon(scale, 1.0, 1e-6) == math.inf


def test_guarantees_beyond_any_noise_are_refused() -> None:
    with pytest.raises(NoiseError, match="choose a larger epsilon"):
        gaussian_scale(1e-13, 1e-14, 1.0)


def test_scales_end_at_2_to_the_40th() -> None:
    largest = 2.0**40 / gaussian_scale(1.0, 1e-6, 1.0)  # of the sensitivities
    assert gaussian_scale(1.0, 1e-6, largest * (1 - 1e-8)) == pytest.approx(2.0**40, rel=1e-7)
    with pytest.raises(NoiseError, match="above 2\\^40"):
        gaussian_scale(1.0, 1e-6, largest * (1 + 1e-8))
