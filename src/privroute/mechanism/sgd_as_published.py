"""Algorithm 1 with the constants that were published, for study; not to the letter (docs/paper-notes.md, 1 to 4).

A release made with them lists the assumptions that nothing here ensures, and is never called private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from privroute.errors import GuaranteeError
from privroute.mechanism.from_flows import publish
from privroute.mechanism.promise import Promise
from privroute.mechanism.public_routes import public_demand
from privroute.mechanism.sgd import iterates, public_start
from privroute.mechanism.theory import classical_gaussian_scale, step_sizes
from privroute.privacy.calibration import gaussian_rho
from privroute.privacy.flow_sensitivity import SgdBounds, rate_of_one_request
from privroute.privacy.noise import GRID, on_grid
from privroute.progress import each_told

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.network.network import Network
    from privroute.progress import Progress
    from privroute.study.frame import Frame
    from privroute.study.guarantee import Guarantee
    from privroute.study.mechanisms import Sgd
    from privroute.study.study import Study

__all__ = ["broken_assumptions", "promise", "publish", "published_constants", "query"]


def published_constants(network: Network, frame: Frame, options: Sgd) -> tuple[float, float]:
    """β and C: the largest eigenvalue of BᵀQB, as the paper's text names it, for the public demand, and C = β."""
    beta = options.beta
    if beta is None:
        if not np.all(network.latency.straight):
            raise GuaranteeError("the paper's constants are for affine latency; pass beta= for other curves")
        slope = network.latency.time_slope(np.zeros(network.links))  # q
        public = public_demand(options).on(frame.pairs).rate_per_min
        beta = float(slope.max(initial=0.0)) * float(public @ public)
    if not beta > 0:
        raise GuaranteeError("beta of the public demand is 0; pass beta=, or a public demand with traffic")
    return beta, beta if options.derivative_bound is None else options.derivative_bound


def promise(study: Study) -> Promise:
    """Algorithm 1, lines 8 and 9: s = C/T min(min(1, 2α)/β, 1/(αN)) and σ = s √(2 ln(1.25/δ)) / ε, as published."""
    options, frame, guarantee = cast("Sgd", study.mechanism), study.frame, study.promised
    beta, bound = published_constants(study.network, frame, options)
    request = rate_of_one_request(guarantee, frame)
    moved = bound * request * min(min(1.0, 2.0 * options.alpha) / beta, 1.0 / (options.alpha * frame.days))
    scale = classical_gaussian_scale(moved, guarantee.epsilon, guarantee.delta, beyond_its_proof=True)
    broken = broken_assumptions(study.network, frame, guarantee, options)
    return Promise(guarantee, moved, scale, gaussian_rho(scale, moved), GRID, broken)


def broken_assumptions(network: Network, frame: Frame, guarantee: Guarantee, options: Sgd) -> tuple[str, ...]:
    """What the paper's proof assumes and nothing here ensures; judged by public numbers alone."""
    beta, bound = published_constants(network, frame, options)
    found = [
        "bounded demand: rates are used as they are, so no public bound holds for every data set",
        "exact arithmetic: errors of the projections and of floating-point numbers are not in the sensitivity",
    ]
    if options.public_demand is not None:
        public = options.public_demand.on(frame.pairs).rate_per_min
        needed = SgdBounds.of(network, public, options.alpha, np.inf)
        if needed.beta > beta:
            found.append(f"smoothness: beta is {beta:.4g}, and the public demand alone needs {needed.beta:.4g}")
        if needed.change > bound:
            found.append(f"bounded derivative: C is {bound:.4g}, and the public demand alone needs {needed.change:.4g}")
        if step_sizes(1, options.alpha, beta)[0] > 2.0 / (options.alpha + needed.beta):
            found.append("contraction: step sizes are above 2/(alpha + beta) for the public demand")
    if guarantee.epsilon >= 1:
        found.append(f"Gaussian noise: the classical formula holds for epsilon below 1, not for {guarantee.epsilon:g}")
    return tuple(found)


def query(study: Study, history: DemandHistory, progress: Progress | None) -> NDArray[np.int64]:
    """PRIVATE. x_N on the grid: nothing is clipped, nothing cut off."""
    frame, options = study.frame, cast("Sgd", study.mechanism)
    rates = np.asarray(history.counts * np.float64(frame.expansion / frame.period_min))
    steps = step_sizes(frame.days, options.alpha, published_constants(study.network, frame, options)[0])
    flows = public_start(study.network, study.pairs, options)
    days = iterates(
        study.network, study.pairs, rates, flows, alpha=options.alpha, steps=steps, tolerance=options.tolerance
    )
    for last in each_told(days, len(steps), "Learning from the days", progress):
        flows = last
    return on_grid(flows.ravel())
