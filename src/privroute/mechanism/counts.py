"""The `counts` and `daily` mechanisms: noise on integers, and everything after it as post-processing.

The private phase is one function each, `noisy_total` and `noisy_days`; they alone see a history, and they return
integers with noise. `publish_total` and `publish_days` see those integers and public data only, so whatever they do
(fit, solve, stop early) reveals nothing more. Proofs: docs/proofs/counts.md and docs/proofs/daily.md.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from privroute.demand.gravity import GravityModel
from privroute.demand.nonnegative import nonnegative_counts
from privroute.flows.optimum import solve_optimum
from privroute.mechanism.promise import Promise
from privroute.mechanism.steps import Published, Steps
from privroute.network.checks import freeze
from privroute.network.demand import Demand
from privroute.privacy.sensitivity import summed_counts_sensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.history.frame import Frame
    from privroute.mechanism.options import Counts, Daily
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.privacy.noise import Noise
    from privroute.progress import Progress
    from privroute.release.guarantee import Guarantee

__all__ = ["COUNTS", "DAILY", "day_weights", "demand_from_counts", "noisy_days", "noisy_total", "policy_from_counts"]


_WEEK = 7


def counts_promise(network: Network, frame: Frame, guarantee: Guarantee, options: Counts | Daily) -> Promise:
    """Noise for the sensitivity of the summed counts, and of the stacked daily counts."""
    del network, options  # the bound needs neither
    return Promise.of(guarantee, summed_counts_sensitivity(guarantee, frame.contribution))


def noisy_total(
    network: Network, history: DemandHistory, options: Counts, promise: Promise, noise: Noise, progress: Progress | None
) -> NDArray[np.int64]:
    """Σ_days counts + discrete Gaussian: (pairs,) integers. docs/proofs/counts.md, Theorem 1."""
    del network, options, progress
    return noise.add_integers(history.counts.sum(axis=0, dtype=np.int64), promise.scale)


def noisy_days(
    network: Network, history: DemandHistory, options: Daily, promise: Promise, noise: Noise, progress: Progress | None
) -> NDArray[np.int64]:
    """Each day's counts + its own discrete Gaussian: (days, pairs) integers. docs/proofs/daily.md, Theorem 1.

    All entries are drawn in one call: one Gaussian on the stacked vector, of which a request changes one entry.
    """
    del network, options, progress
    return noise.add_integers(history.counts.ravel(), promise.scale).reshape(history.counts.shape)


def publish_total(
    network: Network,
    frame: Frame,
    options: Counts,
    promise: Promise,
    noisy: NDArray[np.int64],
    progress: Progress | None,
) -> Published:
    """Policy and demand of the noisy sum over all days."""
    return _publish(network, frame, options, noisy, scale=promise.scale, days=frame.days, progress=progress)


def publish_days(
    network: Network,
    frame: Frame,
    options: Daily,
    promise: Promise,
    noisy: NDArray[np.int64],
    progress: Progress | None,
) -> Published:
    """Policy and demand of the noisy days, summed without clipping, so that their noise averages out."""
    weights = day_weights(frame, options)
    alike = bool(np.isin(weights, (0.0, 1.0)).all())  # a sum of whole numbers
    total = noisy[weights > 0].sum(axis=0) if alike else weights @ noisy
    scale = promise.scale * float(np.linalg.norm(weights))
    return _publish(network, frame, options, total, scale=scale, days=float(weights.sum()), progress=progress)


def day_weights(frame: Frame, options: Daily) -> NDArray[np.float64]:
    """How much each day counts, (days,), from public dates alone; the largest weight is 1."""
    age = np.arange(frame.days)[::-1]
    recent = age < (options.window or frame.days)
    if frame.dates is not None:
        ordinal = np.array([day.toordinal() for day in frame.dates])
        age = ordinal[-1] - ordinal
        same = recent & ((age + 1) % _WEEK == 0)
        if options.next_weekday and same.any():
            recent = same
    faded = np.ones(frame.days) if options.half_life_days is None else 0.5 ** (age / options.half_life_days)
    weights: NDArray[np.float64] = np.where(recent, faded, 0.0)
    weights /= weights.max()
    return weights


COUNTS = Steps(counts_promise, noisy_total, publish_total)
DAILY = Steps(counts_promise, noisy_days, publish_days)


def _publish(
    network: Network,
    frame: Frame,
    options: Counts | Daily,
    noisy: NDArray[np.int64] | NDArray[np.float64],
    *,
    scale: float,
    days: float,
    progress: Progress | None,
) -> Published:
    demand = demand_from_counts(network, frame, noisy, options, scale=scale, days=days)
    policy = policy_from_counts(network, demand, options, progress=progress)
    return Published(policy, demand, freeze(noisy.astype(np.int64)) if noisy.dtype == np.int64 else None)


def demand_from_counts(
    network: Network,
    frame: Frame,
    noisy: NDArray[np.int64] | NDArray[np.float64],
    options: Counts | Daily,
    *,
    scale: float,
    days: float,
) -> Demand:
    """Demand of the whole traffic from summed noisy counts: non-negative, per minute, expanded. Post-processing.

    scale : of the noise in the sum
    days : over which the counts were summed, or the sum of the days' weights
    """
    model = GravityModel.of(network, frame.pairs)
    counts = nonnegative_counts(model, noisy, scale, bins=options.bins, smallest_bin=options.smallest_bin)
    return Demand.from_observed(frame.pairs, counts / (days * frame.period_min), expansion=frame.expansion)


def policy_from_counts(
    network: Network, demand: Demand, options: Counts | Daily, *, progress: Progress | None
) -> RoutingPolicy:
    """Optimum of a released demand. Post-processing: start, support and stopping depend on that demand only."""
    solution = solve_optimum(network, demand, gap=options.gap, progress=progress)
    if solution.status != "converged":
        warnings.warn(f"the optimum of the released demand: {solution.message}", RuntimeWarning, stacklevel=2)
    return solution.policy
