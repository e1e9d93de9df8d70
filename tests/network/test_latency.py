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
    lambda c, k, b, p: pr.Latency([c], [k], [b], [p]), numbers(0, 60), numbers(1e-2, 1e4), numbers(0, 5), POWERS
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
    expected = latency.free_flow_min * (1 + latency.b * (latency.power == 0))
    assert latency.time([0.0]) == expected
    assert latency.marginal_cost([0.0]) == pytest.approx(expected)
    assert latency.integral([0.0]) == 0


def test_affine_factor_is_the_time_at_capacity() -> None:
    latency = pr.Latency.affine([3.0, 5.0], [10.0, 2.0], factor=5)
    assert latency.time([10.0, 2.0]) == pytest.approx([15.0, 25.0])
    assert latency.time([5.0, 1.0]) == pytest.approx([9.0, 15.0])


@given(ONE_LINK.filter(lambda curve: curve.power[0] >= 1 or curve.power[0] == 0), LOADS, numbers(0, 300))
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


def test_constant_links_have_no_slope_whatever_the_flow() -> None:
    latency = pr.Latency([0.0, 3.0, 3.0], [1, 1, 1], [1.0, 0.0, 2.0], [4.0, 4.0, 0.0])
    assert (latency.marginal_slope_bound(np.inf) == 0).all()
    assert latency.marginal_cost_bound(np.inf) == pytest.approx([0.0, 3.0, 9.0])


def test_infinite_slopes_are_refused_by_name() -> None:
    latency = pr.Latency([1.0, 1.0], [1.0, 1.0], 0.15, [1.0, 0.5])
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
        pr.Latency(*arguments)  # type: ignore[arg-type]


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
