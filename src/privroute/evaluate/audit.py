"""An empirical lower bound on epsilon: how well somebody who sees releases can tell two neighbours apart.

For (epsilon, delta)-privacy and every event E,  P[M(D') ∈ E] ≤ e^epsilon P[M(D) ∈ E] + delta, so

    epsilon ≥ ln( (P[M(D') ∈ E] − delta) / P[M(D) ∈ E] ).

Releases are made of two neighbours that differ in one unit of data, by default in one request. The event "what was
released for that pair is at least a threshold" has its threshold chosen on one set of releases; on a fresh set the two
probabilities are bounded by Clopper and Pearson, each at half the false-alarm rate. If the mechanism keeps its promise
the bound exceeds epsilon with at most that probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import InputError
from privroute.history.demand_history import DemandHistory
from privroute.network.demand import Demand
from privroute.network.latency import Latency
from privroute.network.network import Network
from privroute.network.pairs import Pairs
from privroute.progress import check_progress, each_told
from privroute.study.mechanisms import Minimiser, Sgd

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from privroute.progress import Progress
    from privroute.release.release import Release
    from privroute.study.guarantee import Guarantee
    from privroute.study.mechanisms import Mechanism

__all__ = [
    "Audit",
    "audit",
    "clopper_pearson",
    "epsilon_lower_bound",
    "neighbours",
    "neighbours_for_flows",
    "worst_case",
]


_FEWEST_RUNS = 50


@dataclass(frozen=True, slots=True)
class Audit:
    """What the audit found.

    epsilon_lower_bound : holds with confidence 1 − false_alarm
    passed : the bound is not above the promise
    """

    guarantee: Guarantee
    runs: int
    threshold: float
    false_alarm: float
    epsilon_lower_bound: float

    @property
    def passed(self) -> bool:
        """Whether the releases are compatible with the promise."""
        return self.epsilon_lower_bound <= self.guarantee.epsilon


def neighbours() -> tuple[Network, DemandHistory, DemandHistory]:
    """A worst case: a pair nobody uses, and the same data with its one request, on a network of two roads."""
    network = Network([0, 0, 1], [1, 1, 0], Latency.affine([1.0, 1.5, 1.0], 10.0), ["home", "work"])
    pairs = Pairs([0, 1], [1, 0])
    without = DemandHistory(pairs, [[0, 7], [0, 9]], period_min=60)
    with_one = DemandHistory(pairs, [[1, 7], [0, 9]], period_min=60)
    return network, without, with_one


def neighbours_for_flows() -> tuple[Network, DemandHistory, DemandHistory]:
    """The same for noise on unit flows: of ten roads one is long, and a request moves its pair away from that one.

    Nothing else moves, so the distance is nearly the sensitivity that is proved.
    """
    roads = 10
    latency = Latency.affine([0.1] + [1e-5] * roads, 1e9)
    network = Network([0] * roads + [1], [1] * roads + [0], latency, ["home", "work"])
    pairs = Pairs([0, 1], [1, 0])
    without = DemandHistory(pairs, [[0, 7], [0, 9]], period_min=60)
    with_one = DemandHistory(pairs, [[0, 7], [1, 9]], period_min=60)
    return network, without, with_one


def worst_case(mechanism: str) -> tuple[str | Mechanism, tuple[Network, DemandHistory, DemandHistory]]:
    """A mechanism with options under which its proof leaves least room, and neighbours for it."""
    if mechanism not in ("minimiser", "sgd"):
        return mechanism, neighbours()
    data = neighbours_for_flows()
    if mechanism == "minimiser":
        return Minimiser(alpha=1.0, ceiling=1.01, tilt=0.0, tolerance=1e-7), data
    nobody = Demand(data[1].pairs, np.zeros(len(data[1].pairs)))
    # every road at its public cost: there the bound is attained
    return Sgd(public_demand=nobody, alpha=1.0, tilt=0.0, routes="all", prior_ceiling=1.0, steps_per_day=3), data


def audit(
    learn: Callable[[Network, DemandHistory], Release],
    guarantee: Guarantee,
    *,
    data: tuple[Network, DemandHistory, DemandHistory] | None = None,
    runs: int = 2000,
    false_alarm: float = 1e-3,
    progress: Progress | None = None,
) -> Audit:
    """Bound epsilon from below by `runs` releases of each neighbour, a quarter of them to choose the threshold.

    learn : makes a release of a network and a history, e.g. lambda n, h: privroute.learn(n, h, guarantee), or faster,
        with one announcement for all of them: lambda _, h: announcement.release(h)
    data : a network and two neighbours, of which the second has the unit more, on the first pair; default: `neighbours`
    progress : called with the share of the releases that are made
    """
    check_progress(progress)
    if runs < _FEWEST_RUNS:
        raise InputError(f"runs is {runs}; an audit needs at least {_FEWEST_RUNS}")
    if not 0 < false_alarm < 1:
        raise InputError(f"false_alarm is {false_alarm}; pass a probability between 0 and 1, for instance 0.001")
    network, without, with_one = neighbours() if data is None else data
    seen = np.empty((2, runs))
    for run in each_told(range(runs), runs, "Releasing two neighbours", progress):
        for row, history in zip(seen, (without, with_one), strict=True):
            row[run] = _statistic(learn(network, history))
    first = runs // 4
    fresh = runs - first
    threshold = _best_threshold(seen[0, :first], seen[1, :first], guarantee.delta, fresh, false_alarm)
    bound = epsilon_lower_bound(seen[0, first:], seen[1, first:], threshold, guarantee.delta, false_alarm)
    return Audit(guarantee, runs, threshold, false_alarm, bound)


def epsilon_lower_bound(
    without: NDArray[np.float64], with_one: NDArray[np.float64], threshold: float, delta: float, false_alarm: float
) -> float:
    """ln((p' − delta) / p) with p' bounded from below and p from above; 0 where that says nothing."""
    low, _ = clopper_pearson(int(np.count_nonzero(with_one >= threshold)), with_one.size, false_alarm / 2)
    _, high = clopper_pearson(int(np.count_nonzero(without >= threshold)), without.size, false_alarm / 2)
    return max(0.0, math.log((low - delta) / high)) if low > delta and high > 0 else 0.0


def clopper_pearson(hits: int, trials: int, alarm: float) -> tuple[float, float]:
    """One-sided limits of a probability, below and above, each wrong with probability at most `alarm`.

    The lower limit p solves P[Binomial(trials, p) ≥ hits] = alarm, the upper one P[Binomial(trials, p) ≤ hits] = alarm.
    """
    low = 0.0 if hits == 0 else _solve(lambda p: _upper_tail(hits, trials, p) - alarm)
    high = 1.0 if hits == trials else _solve(lambda p: alarm - _upper_tail(trials - hits, trials, 1.0 - p))
    return low, high


def _upper_tail(hits: int, trials: int, p: float) -> float:
    """P[Binomial(trials, p) ≥ hits]."""
    k = np.arange(hits, trials + 1)
    if p <= 0.0 or p >= 1.0:
        return float(p >= 1.0 or hits == 0)
    factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, trials + 1)))])
    logs = factorial[trials] - factorial[k] - factorial[trials - k] + k * math.log(p) + (trials - k) * math.log1p(-p)
    return float(np.exp(logs).sum())


def _solve(rising: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if rising(middle) > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def _best_threshold(
    without: NDArray[np.float64], with_one: NDArray[np.float64], delta: float, fresh: int, false_alarm: float
) -> float:
    """The threshold that, by these samples, will give the largest bound on `fresh` releases of each neighbour."""
    errors = math.sqrt(2 * math.log(2 / false_alarm) / fresh)  # how far the limits will lie away, in deviations
    best, chosen = -math.inf, float(np.median(without))
    for threshold in np.unique(np.concatenate([without, with_one])):
        p_with, p_without = float(np.mean(with_one >= threshold)), float(np.mean(without >= threshold))
        low = p_with - errors * math.sqrt(p_with * (1 - p_with)) - delta
        high = p_without + errors * math.sqrt(p_without * (1 - p_without)) + errors**2 / 2
        if low > 0 and math.log(low / high) > best:
            best, chosen = math.log(low / high), float(threshold)
    return chosen


def _statistic(release: Release) -> float:
    """What an adversary looks at: the released count or demand of the rare pair, or else how short its routes are."""
    if release.noisy_counts is not None:
        return float(release.noisy_counts[0])
    if release.demand is not None:
        return float(release.demand.rate_per_min[0])
    return -float(release.policy.expected(release.network.free_flow_min)[0])
