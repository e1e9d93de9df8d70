"""The demand nearest to a prior, in the sense of entropy, that agrees with measured sums and counts.

    minimise  Σ_w λ_w (d_w log(d_w / g_w) − d_w + g_w)  +  ½ Σ_w ((d_w − y_w) / τ_w)²  +  ½ Σ_i ((Bᵀd − z)_i / s_i)²

    g > 0 the prior, λ > 0 its weight; y, τ counts of pairs and their deviations; B, z, s a layer of sums

It is strictly convex with d > 0. The dual has one variable u_i for each row: with q = B u a pair solves its own scalar
equation, λ log(d/g) + (d − y)/τ² + q = 0, whose solution is d = λτ² ω(log(g/λτ²) + (y/τ² − q)/λ), ω Wright's function.
L-BFGS minimises the dual; memory grows with the entries of B, never with pairs times links. Threads share blocks of
pairs; the blocks are the same for any number of threads, and so is the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import wrightomega

from privroute.demand.descent import minimum
from privroute.threads import available_threads, shared_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.demand.layers import Block, Layer

__all__ = ["Fit", "maximum_entropy"]

_TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Where the solver ended.

    counts : (pairs,) d > 0
    multipliers : (rows,) u, the dual solution
    residual : largest violation of stationarity in a row, in standard deviations of what that row can still change
    converged : the residual is at most the tolerance
    """

    counts: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    residual: float
    iterations: int
    converged: bool


def maximum_entropy(
    prior: NDArray[np.float64],
    weight: NDArray[np.float64],
    counts: NDArray[np.float64],
    deviation: NDArray[np.float64],
    layer: Layer,
    *,
    start: NDArray[np.float64] | None = None,
    tolerance: float = 1e-3,
    max_iterations: int = 60,
) -> Fit:
    """Solve the problem above.

    prior, weight : (pairs,) g > 0 and λ > 0; counts, deviation : (pairs,) y and τ; layer : B, z, s
    start : multipliers of a fit to the first of these rows, from which to start; tolerance : on the residual
    """
    rigid = weight * deviation**2
    still = np.log(prior / rigid) + counts / rigid
    variance = layer.scale**2
    blocks = layer.blocks()

    # rows differ by orders of magnitude: measure each in deviations, its own and what the prior leaves open
    scale = np.sqrt(variance + layer.sums(1.0 / (weight / prior + deviation**-2)))

    def solve(block: Block, multipliers: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """What the pairs of a block add to the value and to the sums; their counts are written to `found`."""
        at, members, of_rows = block
        pull, goal, spread = weight[at], counts[at], deviation[at]
        own = np.maximum(rigid[at] * wrightomega(still[at] - (members @ multipliers) / pull), _TINY)
        found[at] = own
        value = float(np.sum(pull * (own * np.log(own / prior[at]) - own + prior[at])))
        value += 0.5 * float(np.sum((own / spread) * ((own - 2 * goal) / spread)))
        return value, of_rows @ own

    def dual(scaled: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        multipliers = scaled / scale
        parts = list(each(lambda block: solve(block, multipliers), blocks))
        sums = np.sum([part for _, part in parts], axis=0)
        value = sum(part for part, _ in parts)
        value += float(multipliers @ (sums - layer.values) - 0.5 * np.sum(variance * multipliers**2))
        return -value, (layer.values + variance * multipliers - sums) / scale

    found = np.empty(prior.size)
    first = np.zeros(layer.values.size)
    if start is not None:
        first[: start.size] = start
    with shared_by(min(available_threads(), len(blocks))) as each:
        solved = minimum(dual, first * scale, tolerance=tolerance, max_iterations=max_iterations)  # leaves its counts
    residual = float(np.abs(solved.gradient).max(initial=0.0))
    return Fit(found, solved.at / scale, residual, solved.iterations, residual <= tolerance)
