"""Algorithm 1 before its noise, with the paper's constants or with certified ones, and what each iterate costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.experiments.settings import percent_above
from privroute.flows.projection import project
from privroute.flows.regularised import minimise_regularised
from privroute.mechanism.sgd import iterates, public_caps
from privroute.mechanism.theory import step_sizes
from privroute.privacy.flow_sensitivity import SgdBounds, ceiling_min

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from privroute.evaluate.suboptimality import Baseline
    from privroute.experiments.settings import Days
    from privroute.study.mechanisms import Sgd

__all__ = ["Descent", "after_noise", "as_printed", "certified", "regularisation_gap"]

_TOLERANCE = 1e-9
_NORM = 45.0  # about ‖x‖ of a policy on Sioux Falls


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """One pass over the days.

    last : (pairs, links) x_N
    percent : (days + 1,) how far x_0 … x_N are above the optimum of the days' mean
    """

    last: NDArray[np.float64]
    percent: tuple[float, ...]


def as_printed(
    days: Days,
    start: NDArray[np.float64],
    *,
    alpha: float,
    beta: float,
    regulariser: float = 2.0,
    plus: bool = False,
) -> Descent:
    """Algorithm 1 with its step sizes for this α and β, and nothing clipped.

    regulariser : times α is the weight of x in the gradient: 2 for α‖x‖², as in the paper's section 5.2, 1 for
        α/2 ‖x‖², as in its section 3.4
    plus : x + η∇F, as line 6 has it, in place of x − η∇F, as the proofs have it
    """
    steps = step_sizes(days.history.days, alpha, beta) * (-1.0 if plus else 1.0)
    return _descend(days, days.rates, start, alpha * regulariser, steps, np.inf)


def certified(days: Days, start: NDArray[np.float64], options: Sgd) -> Descent:
    """Algorithm 1 as `privroute.Sgd` runs it: rates clipped at public caps, costs at the ceiling, β that holds."""
    caps = public_caps(days.history.frame, options)
    ceiling = options.ceiling if options.ceiling is not None else np.inf
    bounds = SgdBounds.of(days.network, caps, options.alpha, ceiling)
    steps = step_sizes(days.history.days, options.alpha, bounds.beta)
    return _descend(days, np.minimum(days.rates, caps), start, options.alpha, steps, ceiling_min(days.network, ceiling))


def after_noise(days: Days, flows: NDArray[np.float64], scale: float, seed: int) -> NDArray[np.float64]:
    """Π(x + Z), the last line of Algorithm 1, with normal noise from a seed."""
    noise = np.random.default_rng(seed).normal(0.0, scale, flows.shape)
    return project(days.network, days.pairs, flows + noise).flows


def regularisation_gap(baseline: Baseline, weight: float) -> float:
    """How far the minimiser of F + weight/2 ‖x‖² is above the optimum without regulariser, percent.

    No number of gradient steps on the regularised objective ends below it, though they may pass below on their way.
    """
    # moving x by τ changes the regulariser by at most weight ‖x‖ τ: a hundredth of a percent of F, in fact much less
    tolerance = 1e-4 * baseline.minutes / (weight * _NORM)
    optimum = minimise_regularised(baseline.network, baseline.demand, weight, tolerance=tolerance)
    return percent_above(baseline, optimum.flows)


def _descend(
    days: Days,
    rates: NDArray[np.float64],
    start: NDArray[np.float64],
    weight: float,
    steps: NDArray[np.float64],
    ceiling: ArrayLike,
) -> Descent:
    percent = [percent_above(days.baseline, start)]
    last = start
    for last in iterates(
        days.network, days.pairs, rates, start, alpha=weight, steps=steps, ceiling=ceiling, tolerance=_TOLERANCE
    ):
        percent.append(percent_above(days.baseline, last))
    return Descent(last, tuple(percent))
