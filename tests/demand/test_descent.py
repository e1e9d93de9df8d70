"""L-BFGS: the minimum of convex functions, and what it does where there is no way down."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from privroute.demand.descent import minimum


def log_sum(
    matrix: NDArray[np.float64], goal: NDArray[np.float64], at: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Σ exp(A u) − goal'u + |u|²/20: smooth, strictly convex, curved very differently along its axes."""
    risen = np.exp(matrix @ at)
    return float(risen.sum() - goal @ at + at @ at / 20), matrix.T @ risen - goal + at / 10


@given(st.integers(0, 10_000), st.integers(1, 60), st.floats(0.01, 1.0))
def test_it_ends_where_the_gradient_vanishes_and_agrees_with_scipy(seed: int, size: int, spread: float) -> None:
    random = np.random.default_rng(seed)
    matrix, goal = spread * random.normal(size=(2 * size, size)), random.normal(size=size)
    found = minimum(lambda at: log_sum(matrix, goal, at), np.zeros(size), tolerance=1e-6, max_iterations=2000)
    value, gradient = log_sum(matrix, goal, found.at)
    assert np.abs(gradient).max() <= 1e-6
    assert np.array_equal(gradient, found.gradient)
    other = minimize(lambda at: log_sum(matrix, goal, at), np.zeros(size), jac=True, method="BFGS")
    assert value <= other.fun + 1e-9 * max(abs(other.fun), 1.0)


def test_the_function_is_called_last_at_the_point_that_is_returned() -> None:
    """Since the fit of sums leaves its counts there."""
    seen: list[NDArray[np.float64]] = []

    def steep(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        seen.append(at.copy())
        return float(np.sum(np.cosh(at)) * 1e3), np.sinh(at) * 1e3

    for most in range(12):
        found = minimum(steep, np.array([3.0, -5.0, 0.1]), tolerance=1e-9, max_iterations=most)
        assert found.iterations <= most
        assert np.array_equal(seen[-1], found.at)


def test_no_variables_need_no_step() -> None:
    found = minimum(lambda at: (0.0, at), np.zeros(0), tolerance=1e-9, max_iterations=5)
    assert found.iterations == 0
    assert found.at.size == 0


def test_steps_to_where_the_function_is_not_finite_are_shortened() -> None:
    def barrier(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        if at[0] >= 1.0:
            return np.nan, np.full(1, np.nan)
        return float(-np.log(1.0 - at[0]) - 50.0 * at[0]), np.array([1.0 / (1.0 - at[0]) - 50.0])

    found = minimum(barrier, np.zeros(1), tolerance=1e-9, max_iterations=100)
    assert found.at[0] == pytest.approx(0.98, rel=1e-9)


def test_where_no_step_goes_down_it_stays_and_says_so() -> None:
    found = minimum(lambda at: (float(at @ at), -at - 1.0), np.ones(3), tolerance=1e-9, max_iterations=100)
    assert found.iterations == 0
    assert np.array_equal(found.at, np.ones(3))
