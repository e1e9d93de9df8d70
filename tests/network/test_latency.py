from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.network.strategies import numbers

import privroute as pr
from privroute.errors import NetworkError

POWERS = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 4.0, 6.3])
ONE_LINK = st.builds(
    lambda c, k, b, p: pr.Latency.bpr([c], [k], [b], [p]), numbers(0, 60), numbers(1e-2, 1e4), numbers(0, 5), POWERS
)
LOADS = numbers(0.05, 3.0)


def slope(function: object, at: float) -> float:
    """Central difference with Richardson extrapolation."""
    step = at * 1e-3

    def difference(h: float) -> float:
        ahead, behind = function(np.array([at + h])), function(np.array([at - h]))  # type: ignore[operator]
        return float((ahead - behind)[0] / (2 * h))

    return (4 * difference(step / 2) - difference(step)) / 3


@given(ONE_LINK, LOADS)
def test_integral_has_the_travel_time_as_derivative(latency: pr.Latency, load: float) -> None:
    flow = load * latency.capacity_per_min[0]
    assert slope(latency.integral, flow) == pytest.approx(latency.time(np.array([flow]))[0], rel=1e-6, abs=1e-9)


@given(ONE_LINK, LOADS)
def test_marginal_cost_is_the_derivative_of_total_time(latency: pr.Latency, load: float) -> None:
    flow = load * latency.capacity_per_min[0]
    numeric = slope(lambda y: y * latency.time(y), flow)
    assert numeric == pytest.approx(latency.marginal_cost(np.array([flow]))[0], rel=1e-6, abs=1e-9)


@given(ONE_LINK, LOADS)
def test_marginal_slope_is_the_derivative_of_marginal_cost(latency: pr.Latency, load: float) -> None:
    flow = load * latency.capacity_per_min[0]
    numeric = slope(latency.marginal_cost, flow)
    scale = latency.free_flow_min[0] / flow  # differences of nearly constant curves carry rounding of this size
    assert numeric == pytest.approx(latency.marginal_slope(np.array([flow]))[0], rel=1e-6, abs=1e-9 * (1 + scale))


@given(ONE_LINK)
def test_at_zero_flow_only_the_free_flow_time_counts(latency: pr.Latency) -> None:
    expected = latency.free_flow_min * (1 + latency.parameter("b") * (latency.parameter("power") == 0))
    assert latency.time([0.0]) == expected
    assert latency.marginal_cost([0.0]) == pytest.approx(expected)
    assert latency.integral([0.0]) == 0


def test_affine_factor_is_the_time_at_capacity() -> None:
    latency = pr.Latency.affine([3.0, 5.0], [10.0, 2.0], factor=5)
    assert latency.time([10.0, 2.0]) == pytest.approx([15.0, 25.0])
    assert latency.time([5.0, 1.0]) == pytest.approx([9.0, 15.0])


def has_bound(curve: pr.Latency) -> bool:
    """Whether the slope of the marginal cost is finite, and neither it nor its parts vanish by rounding."""
    b, power = curve.parameters[0]
    constant = power * b * curve.free_flow_min[0] == 0
    return bool(constant or (power >= 1 and min(b, curve.free_flow_min[0]) > 1e-100))


@given(ONE_LINK.filter(has_bound), LOADS, numbers(0, 300))
def test_bounds_hold_for_every_flow_and_are_attained(latency: pr.Latency, load: float, ceiling: float) -> None:
    flow_max = load * latency.capacity_per_min[0]
    flows = np.linspace(0, flow_max, 2001)[:, None]
    cost = latency.marginal_cost(flows)
    slopes = latency.marginal_slope(flows)[cost < ceiling]
    cost_bound = latency.marginal_cost_bound(flow_max, ceiling)[0]
    slope_bound = latency.marginal_slope_bound(flow_max, ceiling)[0]
    assert np.minimum(cost, ceiling).max() == pytest.approx(cost_bound, rel=1e-12)
    largest = slopes.max(initial=0.0)
    assert largest <= slope_bound * (1 + 1e-12)
    if len(slopes) > 100:
        assert largest >= 0.93 * slope_bound


def test_a_ceiling_makes_the_bounds_finite_without_a_largest_flow() -> None:
    latency = pr.Latency.bpr([4.0], [10.0])
    meets = 10.0 * ((8 - 1) / (0.15 * 5)) ** 0.25  # where t(y) = 8 c
    assert latency.marginal_slope_bound(np.inf, 32.0) == pytest.approx(latency.marginal_slope([meets]))
    with pytest.raises(NetworkError, match="finite flow_max or a finite ceiling"):
        latency.marginal_slope_bound(np.inf)
    straight = pr.Latency.affine([4.0], [10.0])
    assert straight.marginal_slope_bound(np.inf) == pytest.approx([0.8])


def test_without_flow_the_slope_at_zero_is_the_bound() -> None:
    latency = pr.Latency.bpr(np.full(3, 2.0), np.full(3, 4.0), 1.0, [1.0, 2.0, 1.0])
    assert latency.marginal_slope_bound(0.0, [np.inf, np.inf, 2.0]).tolist() == [1.0, 0.0, 0.0]
    with pytest.raises(NetworkError, match="power 0.5 < 1"):
        pr.Latency.bpr([1.0], [1.0], 1.0, 0.5).marginal_slope_bound(0.0)


def test_a_ceiling_just_above_the_free_flow_time_keeps_its_digits() -> None:
    latency = pr.Latency.bpr([0.3], [1.0], 0.15, 4.0)
    ceiling = np.nextafter(0.3, 1.0)
    meets = ((ceiling - 0.3) / (0.3 * 0.15 * 5)) ** 0.25
    assert latency.marginal_slope_bound(np.inf, ceiling) == pytest.approx(
        latency.marginal_slope([meets]), rel=1e-12, abs=0
    )


@pytest.mark.parametrize(
    ("curve", "flow_max"),
    [
        (pr.Latency.bpr([1e200], [1e-200], 1.0, 1.0), 1.0),  # too large
        (pr.Latency.bpr([1e200], [1e-200], 1.0, 2.0), 1.0),
        (pr.Latency.bpr([1e-200], [1e200], 1.0, 1.0), 1.0),  # too small
        (pr.Latency.bpr([1e-200], [1e200], 1.0, 1.0), 0.0),
        (pr.Latency.bpr([1.0], [1.0], 1.0, 4.0), 1e-200),
    ],
)
def test_a_bound_that_rounds_to_infinity_or_zero_is_refused(curve: pr.Latency, flow_max: float) -> None:
    with pytest.raises(NetworkError, match="link 0: the slope of the marginal cost is out of the range"):
        curve.marginal_slope_bound(flow_max)


EXTREME = st.sampled_from([0.0, 5e-324, 1e-300, 1e-3, 1.0, 7.0, 1e3, 1e300, 1.7e308])


@given(EXTREME, EXTREME.filter(bool), EXTREME, EXTREME, st.sampled_from([0.0, 5e-324, 1.0, 1e200, 1.7e308, np.inf]))
def test_no_curve_is_ever_not_a_number(c: float, k: float, b: float, p: float, flow: float) -> None:
    latency = pr.Latency.bpr([c], [k], [b], [p])
    for function in (latency.time, latency.marginal_cost, latency.marginal_slope, latency.integral):
        assert function([flow])[0] >= 0


def test_constant_links_take_any_flow() -> None:
    latency = pr.Latency.bpr([0.0, 3.0, 3.0], [1e-300, 1e-300, 1e-300], [1.0, 0.0, 2.0], [4.0, 4.0, 0.0])
    for flow in (1e10, np.inf):
        assert latency.time(np.full(3, flow)).tolist() == [0, 3, 9]
        assert latency.marginal_cost(np.full(3, flow)).tolist() == [0, 3, 9]
        assert latency.integral(np.full(3, flow)).tolist() == [0, 3 * flow, 9 * flow]


def test_constant_links_have_no_slope_whatever_the_flow() -> None:
    latency = pr.Latency.bpr([0.0, 3.0, 3.0], [1, 1, 1], [1.0, 0.0, 2.0], [4.0, 4.0, 0.0])
    assert (latency.marginal_slope_bound(np.inf) == 0).all()
    assert latency.marginal_cost_bound(np.inf) == pytest.approx([0.0, 3.0, 9.0])


def test_infinite_slopes_are_refused_by_name() -> None:
    latency = pr.Latency.bpr([1.0, 1.0], [1.0, 1.0], 0.15, [1.0, 0.5])
    with pytest.raises(NetworkError, match=r"link 1: .*power 0\.5.*at least 1"):
        latency.marginal_slope_bound(10.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([-1.0], [1.0], 0, 1), r"free_flow_min: position 0 .*not negative"),
        (([np.inf], [1.0], 0, 1), "free_flow_min: .*finite"),
        (([np.nan], [1.0], 0, 1), "free_flow_min: .*finite"),
        (([1.0], [0.0], 0, 1), "capacity_per_min: .*greater than 0"),
        (([1.0], [1.0, 2.0], 0, 1), "capacity_per_min has 2 values where 1 are needed"),
        (([1.0], [1.0], -0.1, 1), "b: position 0"),
        (([1.0], [1.0], 0, [-1]), "power: position 0"),
        ((["a"], [1.0], 0, 1), "free_flow_min has type"),
        (([[1.0], [2.0, 3.0]], [1.0], 0, 1), "free_flow_min cannot be read"),
        (([[1.0]], [1.0], 0, 1), "free_flow_min has shape"),
    ],
)
def test_unusable_curves_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        pr.Latency.bpr(*arguments)  # type: ignore[arg-type]


def test_unusable_flows_and_factors_are_refused() -> None:
    latency = pr.Latency.affine([1.0], [1.0])
    with pytest.raises(NetworkError, match="last axis must have 1 links"):
        latency.time([1.0, 2.0])
    with pytest.raises(NetworkError, match="negative or not a number"):
        latency.time([-1.0])
    with pytest.raises(NetworkError, match="at least 1"):
        pr.Latency.affine([1.0], [1.0], factor=0.5)
    with pytest.raises(NetworkError, match="ceiling"):
        latency.marginal_slope_bound(1.0, -1.0)
    with pytest.raises(NetworkError, match="flow_max"):
        latency.marginal_cost_bound(np.nan)
