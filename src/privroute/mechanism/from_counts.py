"""From noisy counts to a demand and a policy: the end that `counts` and `daily` share. Post-processing."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, cast

import numpy as np

from privroute.demand.gravity import GravityModel
from privroute.demand.neighbouring_periods import Estimate
from privroute.demand.nonnegative import nonnegative_counts
from privroute.flows.optimum import solve_optimum
from privroute.mechanism.interface import NoisySums, Published
from privroute.network.checks import freeze
from privroute.network.demand import Demand
from privroute.progress import tell

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.flows.optimum import Solution
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress
    from privroute.study.frame import Frame
    from privroute.study.mechanisms import Counts, Daily, Layered
    from privroute.study.study import Study

__all__ = ["best_for", "demand_from_counts", "policy_from_counts", "publish_counts", "with_known_total"]


def publish_counts(
    study: Study,
    noisy: NDArray[np.int64] | NDArray[np.float64],
    *,
    scale: float,
    weights: NDArray[np.float64],
    progress: Progress | None,
    better: Estimate | None = None,
) -> Published:
    """Demand and policy of summed noisy counts, as in `demand_from_counts`.

    weights : (days,) of the days in the sum
    better : an estimate of the same counts that uses neighbouring periods too, if there is one
    """
    options = cast("Counts | Daily", study.mechanism)
    tell(progress, "Fitting the demand", 0.0)
    used = Estimate(noisy.astype(np.float64), scale) if better is None else better
    values = noisy if better is None else used.counts
    demand = demand_from_counts(
        study.network, study.frame, values, options, scale=used.scale, days=float(weights.sum())
    )
    demand, factor = with_known_total(study, demand)
    policy = policy_from_counts(study.network, demand, options, progress=progress)
    counts = freeze(noisy.astype(np.int64)) if noisy.dtype == np.int64 else None
    sums = NoisySums(noisy.astype(np.float64), scale, weights)
    error = scale * math.sqrt(noisy.size)
    return Published(policy, demand, counts, sums, factor, error)


def with_known_total(study: Study, demand: Demand) -> tuple[Demand, float | None]:
    """A demand with the total that the study states or that was measured, and the factor that gave it.

    Where no total is known the demand stays as it is, and there is no factor. A demand of which the noise left nothing
    has no factor either: the total is then spread evenly.
    """
    total = study.frame.total_per_min
    if total is None:
        return demand, None
    if not demand.total_per_min > 0:
        return Demand(demand.pairs, np.full(len(demand.pairs), total / max(len(demand.pairs), 1))), None
    factor = total / demand.total_per_min
    return demand * factor, factor


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


def best_for(
    network: Network,
    demand: Demand,
    options: Counts | Daily | Layered,
    *,
    progress: Progress | None,
    start: RoutingPolicy | None = None,
) -> Solution:
    """The optimum of the mean day.

    start : an optimum of another demand, made from noisy data too
    """
    return solve_optimum(network, demand, fairness=options.fairness, gap=options.gap, start=start, progress=progress)


def policy_from_counts(
    network: Network, demand: Demand, options: Counts | Daily, *, progress: Progress | None
) -> RoutingPolicy:
    """Optimum of a released demand. Post-processing: start, support and stopping depend on that demand only."""
    solution = best_for(network, demand, options, progress=progress)
    if solution.status != "converged":
        warnings.warn(f"the optimum of the released demand: {solution.message}", RuntimeWarning, stacklevel=2)
    return solution.policy
