"""The attack of the paper's Theorem 1, which tells whether one rare trip was in the data.

Neighbours differ in one request from o to d, and a fair coin decides which of them is published from: half of the
trials have the trip, in random order. The adversary knows everything but the coin: network, pairs, days, all other
trips and the mechanism. Against flows the rule is the theorem's. Whatever solves the standard problem conserves flow at
d but for the trips that begin or end there, so

    (net flow into d  −  what the known trips bring)  /  (what one request brings)

is 0 without the trip and 1 with it, to rounding. If nobody else travels to or from d the known part is zero, and the
adversary needs to know nothing else at all.

Against a release the same adversary computes what the mechanism answers for both neighbours D and D' before it adds
noise, q(D) and q(D'), and looks at how far the release lies in the direction from one to the other,

    ⟨φ(release), q(D') − q(D)⟩ / ‖q(D') − q(D)‖,

φ being the released counts or, where there are none, the unit flows of the policy. For Gaussian noise on q the
likelihood ratio rises in this direction, so no rule does better while φ = q + noise, as for counts. What follows the
noise, such as a projection, shifts φ: the threshold is calibrated on releases that the adversary makes by itself.

(epsilon, delta)-privacy caps how often any rule is right at (e^epsilon + delta)/(1 + e^epsilon).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import InputError
from privroute.evaluate.audit import clopper_pearson
from privroute.flows.optimum import solve_optimum
from privroute.flows.unit_flows import unit_flows_of
from privroute.history.demand_history import DemandHistory
from privroute.mechanism.learn import learn_with_noise
from privroute.mechanism.theory import accuracy_limit, least_delta
from privroute.progress import check_progress, each_told, tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from privroute.flows.optimum import Solution
    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress
    from privroute.release.release import Release
    from privroute.study.guarantee import Guarantee
    from privroute.study.mechanisms import Mechanism

__all__ = [
    "Attack",
    "Neighbours",
    "answer_without_noise",
    "attack_flows",
    "attack_releases",
    "net_inflow",
    "rare_trip",
]


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Two histories that differ in one request.

    pair : position of the request's pair
    """

    without: DemandHistory
    with_one: DemandHistory
    pair: int


@dataclass(frozen=True, slots=True, eq=False)
class Attack:
    """How often the adversary was right.

    published : what it saw
    present : (trials,) whether the trip was in the data
    evidence : (trials,) what the adversary computed; larger values speak for the trip. Of published flows it is 0
        without the trip and 1 with it, of released counts the count of the trip's pair
    threshold : from here on the adversary says that the trip was there
    limit : how often a rule can be right if the guarantee holds; None where nothing was promised
    false_alarm : each confidence limit is wrong with at most this probability
    """

    published: str
    present: NDArray[np.bool_]
    evidence: NDArray[np.float64]
    threshold: float
    false_alarm: float
    limit: float | None = None

    @property
    def trials(self) -> int:
        """How often the adversary was asked."""
        return self.present.size

    @property
    def hits(self) -> int:
        """How many answers were right."""
        return int(np.count_nonzero((self.evidence >= self.threshold) == self.present))

    @property
    def accuracy(self) -> float:
        """Share of right answers; 0.5 is guessing."""
        return self.hits / self.trials

    @property
    def confidence(self) -> tuple[float, float]:
        """Clopper and Pearson's lower and upper limit of the accuracy.

        With a fixed half of the trials each, hits spread less than a binomial count of the same mean (Hoeffding 1956).
        """
        return clopper_pearson(self.hits, self.trials, self.false_alarm)

    @property
    def passed(self) -> bool:
        """Whether the answers are compatible with the promise: the accuracy's lower limit is within what it allows."""
        return self.limit is None or self.confidence[0] <= self.limit

    @property
    def most_hits(self) -> int:
        """The most right answers that are compatible with the promise; all of them where nothing is promised."""
        low, high = 0, self.trials  # the lower limit rises with the hits; of no hits it is 0
        while self.limit is not None and low < high:
            middle = (low + high + 1) // 2
            if clopper_pearson(middle, self.trials, self.false_alarm)[0] <= self.limit:
                low = middle
            else:
                high = middle - 1
        return high

    @property
    def tolerance(self) -> float:
        """How far the upper confidence limit may lie above `limit` before the promise counts as broken.

        The most hits that pass have a lower limit just within `limit`; the tolerance takes their upper one to it. So
        `passed` says the same as "the upper limit is at most `limit` + `tolerance`".
        """
        if self.limit is None:
            return 0.0
        return max(0.0, clopper_pearson(self.most_hits, self.trials, self.false_alarm)[1] - self.limit)

    def least_delta(self, epsilon: float) -> float:
        """The smallest delta that a guarantee at this epsilon can have after these answers, but for `false_alarm`."""
        says = self.evidence >= self.threshold
        yes, no = self.present, ~self.present
        alarm = self.false_alarm / 2
        found, _ = clopper_pearson(int(np.count_nonzero(says & yes)), int(np.count_nonzero(yes)), alarm)
        _, mistaken = clopper_pearson(int(np.count_nonzero(says & no)), int(np.count_nonzero(no)), alarm)
        return least_delta(found, mistaken, epsilon) if found > mistaken else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        low, high = self.confidence
        return {
            "published": self.published,
            "trials": self.trials,
            "hits": self.hits,
            "accuracy": self.accuracy,
            "accuracy_low": low,
            "accuracy_high": high,
            "false_alarm": self.false_alarm,
            "threshold": self.threshold,
            "limit": self.limit,
            "tolerance": None if self.limit is None else self.tolerance,
            "passed": None if self.limit is None else self.passed,
        }


class _Overheard:
    """Noise that is none, and remembers what it was given, for an adversary that runs a mechanism by itself."""

    def __init__(self) -> None:
        self.values: list[NDArray[np.int64]] = []

    def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:  # noqa: ARG002 - no noise
        """Return a copy of the values."""
        self.values.append(values.copy())
        return values.copy()


def answer_without_noise(
    network: Network, history: DemandHistory, guarantee: Guarantee | None, mechanism: str | Mechanism
) -> NDArray[np.float64]:
    """What a mechanism would release of a history if it added no noise, one entry for each entry that is looked at.

    Counts are released as they are with their noise. Flows are projected after it, and may be pushed onto fastest paths
    where both neighbours look the same: of them the adversary takes what the noise would have been added to.
    """
    overheard = _Overheard()
    release = learn_with_noise(network, history, guarantee, mechanism, overheard)
    shown = _seen(release)
    if release.demand is None and overheard.values:
        before = np.concatenate(overheard.values).astype(np.float64)
        return before if before.size == shown.size else shown
    return shown


def rare_trip(history: DemandHistory, pair: int, *, day: int = 0, rare: bool = True) -> Neighbours:
    """The history without and with one request of `pair` on `day`.

    rare : nobody else travels to or from the two places, as in the theorem; otherwise all other requests stay
    """
    if not 0 <= pair < len(history.pairs) or not 0 <= day < history.days:
        raise InputError(
            f"pair {pair} on day {day} is not in a history of {len(history.pairs):,} pairs and {history.days:,} days"
        )
    counts = history.counts.copy()
    if rare:
        ends = [history.pairs.origin[pair], history.pairs.destination[pair]]
        counts[:, np.isin(history.pairs.origin, ends) | np.isin(history.pairs.destination, ends)] = 0
    without = _with_counts(history, counts)
    counts[day, pair] += 1
    return Neighbours(without, _with_counts(history, counts), pair)


def net_inflow(network: Network, link_flow: NDArray[np.float64], node: int) -> float:
    """Flow into a node minus flow out of it, vehicles per minute: zero unless somebody starts or ends there."""
    return float(link_flow[network.head == node].sum() - link_flow[network.tail == node].sum())


def attack_flows(
    network: Network,
    history: DemandHistory,
    *,
    trials: int = 1000,
    false_alarm: float = 1e-3,
    seed: int = 1,
    rare: bool = True,
    solve: Callable[[Network, Demand], Solution] = solve_optimum,
    progress: Progress | None = None,
) -> tuple[Attack, Attack]:
    """Attack published flows of the days' mean demand: once those of every pair, once the total flow of each link only.

    history : simulated or public, the traffic around the trip
    trials : an even number; each takes another pair and day
    rare : see `rare_trip`
    solve : whatever routes a demand; Theorem 1 holds for every feasible solution, e.g. solve_equilibrium
    progress : called with the share of the trials that are made
    """
    check_progress(progress)
    _check(trials, false_alarm, seed)
    chance = np.random.default_rng(seed)
    present = _coins(chance, trials)
    seen = np.empty((2, trials))
    one = history.expansion / (history.days * history.period_min)  # what one request adds to the mean, per minute
    for trial in each_told(range(trials), trials, "Looking for a trip in published flows", progress):
        case = rare_trip(
            history, int(chance.integers(len(history.pairs))), day=int(chance.integers(history.days)), rare=rare
        )
        demand = (case.with_one if present[trial] else case.without).mean
        solution = solve(network, demand)
        node = int(history.pairs.destination[case.pair])
        of_pair = demand.rate_per_min[case.pair] * _unit_flow(solution.policy, case.pair)
        known = case.without.mean
        seen[0, trial] = (net_inflow(network, of_pair, node) - known.rate_per_min[case.pair]) / one
        others = net_inflow(network, network.background_per_min, node) + _net_arrivals(known, node)
        seen[1, trial] = (net_inflow(network, solution.link_flow, node) - others) / one
    names = "standard flows, pair by pair", "total flow of each link only"
    per_pair, total = (
        Attack(name, present, row, threshold=0.5, false_alarm=false_alarm)
        for name, row in zip(names, seen, strict=True)
    )
    return per_pair, total


def attack_releases(
    learn: Callable[[DemandHistory], Release],
    answer: Callable[[DemandHistory], NDArray[np.float64]],
    case: Neighbours,
    guarantee: Guarantee | None,
    *,
    trials: int = 1000,
    calibration: int = 100,
    false_alarm: float = 1e-3,
    seed: int = 1,
    progress: Progress | None = None,
) -> Attack:
    """Attack releases of the neighbours `case` in the direction between their answers without noise.

    learn : the curator, e.g. lambda h: privroute.learn(network, h, guarantee); its noise is what is attacked
    answer : what the adversary computes of a history by itself, e.g. `answer_without_noise` of the same mechanism:
        (pairs,) counts, or the unit flows of all pairs in one row where the release has no counts
    guarantee : what is promised, None where nothing is
    trials : an even number of releases to be judged
    calibration : releases of each neighbour that the adversary makes to set its threshold, apart from the trials
    progress : called with the share of the trials + 2 · calibration releases that are made
    """
    check_progress(progress)
    _check(trials, false_alarm, seed)
    if calibration < 1:
        raise InputError(f"calibration is {calibration}; pass at least 1 release of each data set")
    direction = answer(case.with_one) - answer(case.without)
    length = float(np.linalg.norm(direction))
    if length > 0:  # else the trip changes nothing, even without noise, and every answer is a guess
        direction /= length
    done = 0

    def evidence(history: DemandHistory) -> float:
        nonlocal done
        value = float(_seen(learn(history)) @ direction)
        done += 1
        tell(progress, "Looking for a trip in releases", done / (trials + 2 * calibration))
        return value

    own = np.array([[evidence(history) for history in (case.without, case.with_one)] for _ in range(calibration)])
    present = _coins(np.random.default_rng(seed), trials)
    seen = np.array([evidence(case.with_one if here else case.without) for here in present])
    return Attack(
        "release",
        present,
        seen,
        threshold=float(own.mean()),
        false_alarm=false_alarm,
        limit=None if guarantee is None else accuracy_limit(guarantee.epsilon, guarantee.delta),
    )


def _seen(release: Release) -> NDArray[np.float64]:
    """What the adversary looks at: the released counts or demand, else the unit flows of all pairs in one row."""
    if release.noisy_counts is not None:
        return release.noisy_counts.astype(np.float64)
    if release.demand is not None:
        return release.demand.rate_per_min
    return unit_flows_of(release.policy).ravel()


def _unit_flow(policy: RoutingPolicy, pair: int) -> NDArray[np.float64]:
    labels = policy.network.node_labels
    return policy.unit_flow(labels[policy.pairs.origin[pair]], labels[policy.pairs.destination[pair]])


def _net_arrivals(demand: Demand, node: int) -> float:
    """Trips that end at a node minus trips that start there, per minute."""
    ends = demand.rate_per_min[demand.pairs.destination == node].sum()
    return float(ends - demand.rate_per_min[demand.pairs.origin == node].sum())


def _coins(chance: np.random.Generator, trials: int) -> NDArray[np.bool_]:
    """As many trials with the trip as without it, so that no rule gains by always saying the same."""
    return np.asarray(chance.permutation(np.arange(trials) % 2 == 0))


def _with_counts(history: DemandHistory, counts: NDArray[np.int64]) -> DemandHistory:
    return DemandHistory.of(history.frame, counts, simulated=history.simulated)


def _check(trials: int, false_alarm: float, seed: int) -> None:
    for name, value, least in (("trials", trials, 2), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{name} is {value!r}; pass a whole number of at least {least}")
    if trials % 2:
        raise InputError(f"trials is {trials}; pass an even number, half of them have the trip")
    if not 0 < false_alarm < 1:
        raise InputError(f"false_alarm is {false_alarm}; pass a probability between 0 and 1, for instance 0.001")
