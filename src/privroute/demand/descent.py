"""The minimum of a smooth convex function of some hundreds or thousands of variables: L-BFGS.

SciPy's own calls LAPACK for matrices of 40 x 40 in each step, whose threads took more than half of the time of a fit.
They can be limited for the whole process only, which fits in several threads would undo for each other, so this is the
plain recursion (Nocedal and Wright, Numerical Optimization, algorithm 7.4).
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["Minimum", "minimum"]

_REMEMBERED = 20  # steps
_FALL, _FLATTER = 1e-4, 0.9  # strong Wolfe conditions
_ROUNDING = 1e-13  # of the value: less is no rise
_TRIALS = 20  # of a step's length


class Minimum(NamedTuple):
    """Where the search ended: the point, the gradient there, and the number of steps."""

    at: NDArray[np.float64]
    gradient: NDArray[np.float64]
    iterations: int


def minimum(
    function: Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]],
    start: NDArray[np.float64],
    *,
    tolerance: float,
    max_iterations: int,
) -> Minimum:
    """Search until no entry of the gradient exceeds the tolerance, or no step is found that goes down.

    function : value and gradient, (variables,); it is called last at the point that is returned
    """
    at = start
    value, gradient = function(at)
    steps: deque[tuple[NDArray[np.float64], NDArray[np.float64], float]] = deque(maxlen=_REMEMBERED)
    iterations, last = 0, at
    while iterations < max_iterations and np.abs(gradient).max(initial=0.0) > tolerance:
        direction = -_unbent(gradient, steps)
        slope = float(gradient @ direction)
        length = 1.0 if steps else min(1.0, 1.0 / math.sqrt(float(gradient @ gradient)))
        low, high, found = 0.0, math.inf, None
        for _ in range(_TRIALS):
            last = at + length * direction
            reached, there = function(last)
            falls = reached <= value + _FALL * length * slope + _ROUNDING * abs(value)  # false for NaN
            if falls and (found is None or reached <= found[1]):
                found = (last, reached, there)
            if falls and abs(float(there @ direction)) <= -_FLATTER * slope:
                found = (last, reached, there)
                break
            if falls and float(there @ direction) < 0:
                low = length
            else:
                high = length
            length = (low + high) / 2 if high < math.inf else 2 * length
        if found is None:
            break
        moved, bent = found[0] - at, found[2] - gradient
        at, value, gradient = found
        iterations += 1
        if float(moved @ bent) > 0:
            steps.append((moved, bent, 1.0 / float(moved @ bent)))
    if last is not at:
        function(at)
    return Minimum(at, gradient, iterations)


def _unbent(
    gradient: NDArray[np.float64], steps: deque[tuple[NDArray[np.float64], NDArray[np.float64], float]]
) -> NDArray[np.float64]:
    """The inverse of the curvature that the steps showed, times the gradient."""
    found, pulls = gradient.copy(), []
    for moved, bent, inverse in reversed(steps):
        pulls.append(inverse * float(moved @ found))
        found -= pulls[-1] * bent
    if steps:
        _, bent, inverse = steps[-1]
        found /= inverse * float(bent @ bent)
    for (moved, bent, inverse), pull in zip(steps, reversed(pulls), strict=True):
        found += (pull - inverse * float(bent @ found)) * moved
    return found
