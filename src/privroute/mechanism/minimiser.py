"""The regularised optimum of the mean demand, with noise: output perturbation.

    x* = argmin Φ(y) + α/2 |x|²_W  over X,   y = background + Σ_w Λ̄_w x_w,        released: Π_W( x* + Z )

Any solver may be used, since the sensitivity is that of x* itself and of a public bound τ on the distance from it: the
same idea as Algorithm 1 without its step-size losses. X are unit flows on public route sets. Proof:
docs/proofs/minimiser.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from privroute.errors import GuaranteeError
from privroute.flows.route_minimiser import minimise_on_routes
from privroute.mechanism.from_routes import perturbed_integers, promise_on_routes, publish
from privroute.mechanism.public_routes import public_routes
from privroute.privacy.flow_sensitivity import largest_mean_rate, minimiser_sensitivity, rate_of_one_request

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.promise import Promise
    from privroute.progress import Progress
    from privroute.study.mechanisms import Minimiser
    from privroute.study.study import Study

__all__ = ["optimum_of_mean", "promise", "public_cap", "publish", "query"]


def public_cap(study: Study) -> float:
    """Largest mean rate of a pair, vehicles per minute on the road; refused where no request would fit below it."""
    options, frame, routes = _options(study), study.frame, public_routes(study)
    cap = largest_mean_rate(
        routes.sets, routes.metric, alpha=options.alpha, ceiling=routes.ceiling, tolerance=options.tolerance
    )
    if not cap >= frame.expansion / frame.period_min:
        raise GuaranteeError(
            f"with alpha {options.alpha:g} the optimum of {len(frame.pairs):,} pairs cannot be certified to within "
            f"{options.tolerance:g}; choose a larger tolerance or alpha"
        )
    return cap


def promise(study: Study) -> Promise:
    """Noise for the optimum's sensitivity. docs/proofs/minimiser.md, Theorem 1."""
    options, routes = _options(study), public_routes(study)
    moved = minimiser_sensitivity(
        routes.sets,
        routes.metric,
        request=rate_of_one_request(study.promised, study.frame),
        cap=public_cap(study),
        days=study.frame.days,
        alpha=options.alpha,
        ceiling=routes.ceiling,
        tolerance=options.tolerance,
    )
    return promise_on_routes(study, routes, moved)


def query(study: Study, history: DemandHistory, progress: Progress | None) -> NDArray[np.int64]:
    """PRIVATE. The regularised optimum on the grid; while it is solved there is no progress to show."""
    del progress
    return perturbed_integers(public_routes(study), optimum_of_mean(study, history))


def optimum_of_mean(study: Study, history: DemandHistory) -> NDArray[np.float64]:
    """PRIVATE. x within the tolerance of the regularised optimum of the clipped mean demand: (entries,).

    It runs until its own certificate is within the tolerance, however many steps that takes: stopping earlier on some
    data and not on others would be an answer about the data.
    """
    options, frame, routes = _options(study), study.frame, public_routes(study)
    total = history.counts.sum(axis=0, dtype=np.int64)
    rates = np.minimum(total * (frame.expansion / (frame.period_min * frame.days)), public_cap(study))
    solution = minimise_on_routes(
        routes.sets,
        routes.metric,
        rates,
        options.alpha,
        tolerance=0.75 * options.tolerance,  # a quarter is left for rounding
        ceiling=routes.ceiling,
    )
    return solution.flows


def _options(study: Study) -> Minimiser:
    return cast("Minimiser", study.mechanism)
