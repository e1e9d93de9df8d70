"""The `counts` and `daily` mechanisms: noise on integers, and everything after it as post-processing.

The private phase is one function each, `noisy_total` and `noisy_days`; they alone see a history, and they return
integers with noise. `policy_from_counts` sees those integers and public data only, so whatever it does (fit, solve,
stop early) reveals nothing more. Proofs: docs/proofs/counts.md and docs/proofs/daily.md.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from privroute.flows.optimum import solve_optimum
from privroute.mechanism.gravity import GravityModel
from privroute.mechanism.nonnegative import nonnegative_counts
from privroute.network.demand import Demand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.options import Counts, Daily
    from privroute.network.network import Network
    from privroute.network.pairs import Pairs
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.privacy.noise import Noise

__all__ = ["demand_from_counts", "noisy_days", "noisy_total", "policy_from_counts"]


def noisy_total(history: DemandHistory, scale: float, noise: Noise) -> NDArray[np.int64]:
    """Σ_days counts + discrete Gaussian: (pairs,) integers. docs/proofs/counts.md, Theorem 1."""
    return noise.add_integers(history.counts.sum(axis=0, dtype=np.int64), scale)


def noisy_days(history: DemandHistory, scale: float, noise: Noise) -> NDArray[np.int64]:
    """Each day's counts + its own discrete Gaussian: (days, pairs) integers. docs/proofs/daily.md, Theorem 1.

    All entries are drawn in one call: one Gaussian on the stacked vector, of which a request changes one entry.
    """
    return noise.add_integers(history.counts.ravel(), scale).reshape(history.counts.shape)


def demand_from_counts(
    network: Network,
    pairs: Pairs,
    noisy: NDArray[np.int64],
    options: Counts | Daily,
    *,
    scale: float,
    days: int,
    period_min: float,
    expansion: float,
) -> Demand:
    """Demand of the whole traffic from summed noisy counts: non-negative, per minute, expanded. Post-processing.

    scale : of the noise in the sum
    """
    model = GravityModel.of(network, pairs)
    counts = nonnegative_counts(model, noisy, scale, bins=options.bins, smallest_bin=options.smallest_bin)
    return Demand.from_observed(pairs, counts / (days * period_min), expansion=expansion)


def policy_from_counts(network: Network, demand: Demand, options: Counts | Daily, *, progress: bool) -> RoutingPolicy:
    """Optimum of a released demand. Post-processing: start, support and stopping depend on that demand only."""
    solution = solve_optimum(network, demand, gap=options.gap, progress=progress)
    if solution.status != "converged":
        warnings.warn(f"the optimum of the released demand: {solution.message}", RuntimeWarning, stacklevel=2)
    return solution.policy
