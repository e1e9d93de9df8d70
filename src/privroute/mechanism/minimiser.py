"""The regularised optimum of the mean demand, with noise: output perturbation.

    x* = argmin Φ(y) + α/2 ‖x‖²  over X,   y = background + Σ_w Λ̄_w x_w,        released: Π( x* + Z )

Any solver may be used, since the sensitivity is that of x* itself and of a public bound τ on the distance from it: the
same idea as Algorithm 1 without its step-size losses. Proof: docs/proofs/minimiser.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import GuaranteeError
from privroute.flows.regularised import minimise_regularised
from privroute.mechanism.noisy_flows import noisy_flows, publish_flows
from privroute.mechanism.promise import Promise
from privroute.mechanism.steps import Steps
from privroute.privacy.flow_sensitivity import (
    ceiling_min,
    largest_mean_rate,
    minimiser_sensitivity,
    on_grid_sensitivity,
    rate_of_one_request,
)
from privroute.privacy.noise import GRID

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.history.frame import Frame
    from privroute.mechanism.options import Minimiser
    from privroute.network.network import Network
    from privroute.privacy.noise import Noise
    from privroute.progress import Progress
    from privroute.release.guarantee import Guarantee

__all__ = ["MINIMISER", "noisy_minimiser", "optimum_of_mean", "public_cap"]


def public_cap(network: Network, frame: Frame, options: Minimiser) -> float:
    """Largest mean rate of a pair, vehicles per minute on the road; refused where no request would fit below it."""
    cap = largest_mean_rate(
        network, pairs=len(frame.pairs), alpha=options.alpha, ceiling=options.ceiling, tolerance=options.tolerance
    )
    if not cap >= frame.expansion / frame.period_min:
        raise GuaranteeError(
            f"with alpha {options.alpha:g} the optimum of {len(frame.pairs):,} pairs cannot be certified to within "
            f"{options.tolerance:g}; choose a larger tolerance or alpha"
        )
    return cap


def minimiser_promise(network: Network, frame: Frame, guarantee: Guarantee, options: Minimiser) -> Promise:
    """Noise for the optimum's sensitivity. docs/proofs/minimiser.md, Theorem 1."""
    moved = minimiser_sensitivity(
        network,
        request=rate_of_one_request(guarantee, frame),
        cap=public_cap(network, frame, options),
        days=frame.days,
        alpha=options.alpha,
        ceiling=options.ceiling,
        tolerance=options.tolerance,
    )
    return Promise.of(guarantee, on_grid_sensitivity(moved, len(frame.pairs) * network.links), grid=GRID)


def optimum_of_mean(network: Network, history: DemandHistory, options: Minimiser) -> NDArray[np.float64]:
    """PRIVATE. x within the tolerance of the regularised optimum of the clipped mean demand: (pairs, links).

    It runs until its own certificate is within the tolerance, however many steps that takes: stopping earlier on some
    data and not on others would be an answer about the data.
    """
    frame = history.frame
    total = history.counts.sum(axis=0, dtype=np.int64)
    rates = np.minimum(total * (frame.expansion / (frame.period_min * frame.days)), public_cap(network, frame, options))
    solution = minimise_regularised(
        network,
        rates,
        options.alpha,
        pairs=frame.pairs,
        tolerance=0.75 * options.tolerance,  # a quarter is left for rounding
        ceiling_min=ceiling_min(network, options.ceiling),
        max_iterations=None,
    )
    return solution.flows


def noisy_minimiser(
    network: Network,
    history: DemandHistory,
    options: Minimiser,
    promise: Promise,
    noise: Noise,
    progress: Progress | None,
) -> NDArray[np.float64]:
    """x* + Z, (pairs, links). The private phase; while it solves there is no progress to show."""
    return noisy_flows(optimum_of_mean(network, history, options), promise.scale, noise, progress)


MINIMISER = Steps(minimiser_promise, noisy_minimiser, publish_flows)
