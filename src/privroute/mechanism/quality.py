"""How useful a release is on the trips that are counted: one more question, asked after the policy is public.

`questions` says what part of the promise it gets. `converse` is public, like that of a mechanism: it is made from the
study, the promise and what was published, builds the policies to compare with, asks, and returns what the noisy answer
says. Only `_Asked.ask` sees a history. Proof: docs/proofs/quality.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import GuaranteeError
from privroute.flows.optimum import solve_optimum
from privroute.flows.time_bounds import BoundedTime, LeastTime
from privroute.mechanism.comparison import GAP, policies_to_compare
from privroute.mechanism.expected_flows import ExpectedFlows
from privroute.mechanism.interface import Question
from privroute.mechanism.kept_sample import KeptSample
from privroute.network.demand import Demand
from privroute.privacy.noise import LARGEST_VALUE
from privroute.release.quality import RELEASED, MeasuredRow, Quality

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.interface import Published
    from privroute.mechanism.promise import Promise
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress
    from privroute.release.quality import Trips
    from privroute.study.study import Study

__all__ = ["converse", "moved_together", "questions"]

_FOR_TOTAL = 0.1  # of the share, where no demand is released and the total is asked first
_WEIGHTS = {RELEASED: 0.45, "least": 0.05}  # squared; the other rows share the rest
_WATCHED = 0.2  # of it, where no noisy counts are known, for what is out of range
_NEGLIGIBLE = 0.1  # expected loss over the deviation of the noise
_UPPER, _SEEN = 3.6, 3.0  # deviations of a noisy number: its upper limit (0.02 %), and from where on it is not 0
_CEILINGS = tuple(2.0**power for power in range(3, 15))  # multiples of the free-flow time
_TOLERABLE = 0.25  # deviation, or slack, over the larger of optimum and excess
_RESOLUTION = 2.0**20  # integers per sensitivity
_LARGEST_INTEGER = 2.0**58
_ROUNDED_DOWN = 1 - 1e-12
_ROUNDED_UP = 1 + 1e-9
_UNIT_ROUNDOFF = 2.0**-53
_ROUNDINGS = 64
_MOST_OF_MEAN = 1000.0  # times the mean pair, beyond which counts are cut off where no noisy counts are known
_SPARE_TRIPS, _SPARE_DEVIATIONS = 12.0, 12.0
_SMALLEST = 1e-300
_SMALLEST_LEAST = 1e-290  # where no route takes any time, losses have far less noise than the time that it may hide


def questions(study: Study, sensitivity: float) -> tuple[float, ...]:
    """Sensitivities of its questions, together the given one: the total first where no demand is released."""
    if not study.mechanism.on_flows:
        return (sensitivity,)
    return (math.sqrt(_FOR_TOTAL) * sensitivity, math.sqrt(1 - _FOR_TOTAL) * sensitivity)


def converse(
    study: Study,
    promise: Promise,
    allowed: tuple[float, ...],
    published: Published,
    total_error: float = 0.0,
    progress: Progress | None = None,
) -> Generator[Question, NDArray[np.int64], Quality]:
    """Ask and say what the answer means.

    allowed : sensitivities of its questions within the promise
    total_error : relative deviation of a measured total
    """
    model, pairs = published.demand, max(len(study.pairs), 1)
    error = promise.scale * math.sqrt(pairs)  # of the number of requests
    if model is None:
        trips = yield _total_question(study, allowed[0])
        error = promise.scale / allowed[0] * _of_one_request(study)
        model = _modelled(study, max(float(trips[0]), 0.0) * _request(study, published))
    counted = _Counted.of(study, published, model, error)
    gap = max(GAP, getattr(study.mechanism, "gap", 0.0))
    known = published.demand is not None
    rows = policies_to_compare(study.network, published.policy, model, known=known, gap=gap, progress=progress)
    best = _nearest_optimum(study, published, model, gap)
    least = LeastTime.at(study.network, study.pairs, best.link_flow(model))
    precision = promise.scale / allowed[-1]
    asked = _Asked.of(study, counted, least, model, rows, precision)
    noisy = yield Question(allowed[-1], asked.ask, allowed[-1] / asked.sensitivity * _ROUNDED_DOWN, asked.sensitivity)
    found = noisy / asked.multiplier
    deviation = precision * asked.sensitivity / asked.multiplier
    measured, spread = asked.measured(found, deviation), float(deviation[0])
    if counted.trips == "scaled" and published.factor is not None:
        requests = model.total_per_min / counted.request
        error = error if published.requests_error is None else published.requests_error
        kept, off = study.frame.contribution, math.hypot(total_error, min(error / max(requests, 1.0), 1.0))
        heaviest = 1 if kept is None or kept.max_weight is None else kept.max_weight
        sample = KeptSample.of(model, counted.request, published.factor, off, heaviest=heaviest)
        measured = {name: _of_all(row, *sample.of_excess(rows[name], least)) for name, row in measured.items()}
        spread = math.hypot(spread, sample.of_least(least.minutes))
    return Quality(study.quality_share, float(found[0]), spread, measured, counted.trips)


def _of_all(row: MeasuredRow, deviation: float, slack: float) -> MeasuredRow:
    """A row of kept trips as one of all trips: wider by what a sample may hide. docs/proofs/quality.md, Lemma 6."""
    at_least = row.at_least or not math.isfinite(slack)
    return MeasuredRow(
        row.excess, math.hypot(row.deviation, deviation), at_least, 0.0 if at_least else row.slack + slack
    )


def _nearest_optimum(study: Study, published: Published, model: Demand, gap: float) -> RoutingPolicy:
    """The public policy at whose link flows the least time is bounded: the nearer to the optimum, the tighter."""
    network = study.network
    other_aim = getattr(study.mechanism, "fairness", 0.0) or network.has_fixed_costs
    if published.demand is not None and not other_aim:
        return published.policy
    return solve_optimum(network.with_fixed_costs(0.0), model, gap=gap).policy


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """The demand on which policies are measured, as a sum of counts.

    weights : (days,) of the days in the sum, at most 1
    request : h, what one request more adds to the rate of its pair, vehicles per minute
    most : (pairs,) public; sums are cut off here, for arithmetic only
    per_unit : requests of one unit of data that may be in the sum
    trips : whose these counts are
    noisy, scale : (pairs,) noisy sums and their noise; None where the mechanism releases none
    """

    weights: NDArray[np.float64]
    request: float
    most: NDArray[np.float64]
    per_unit: int
    trips: Trips = "all"
    noisy: NDArray[np.float64] | None = None
    scale: float = 0.0

    @classmethod
    def of(cls, study: Study, published: Published, model: Demand, error: float) -> _Counted:
        """Counts of what was published.

        model, error : a demand with the noisy total, and the deviation of that number of requests
        """
        frame, sums = study.frame, published.sums
        per_unit = 1 if frame.contribution is None else frame.contribution.max_requests
        whole = frame.contribution is None or not frame.contribution.of_users
        trips: Trips = "all" if whole else "kept" if published.factor is None else "scaled"
        request = _request(study, published)
        if sums is None:
            total = 2 * model.total_per_min / request + _SPARE_DEVIATIONS * error + _SPARE_TRIPS
            of_pair = total * min(1.0, _MOST_OF_MEAN / max(len(frame.pairs), 1))  # no pair has more than all
            return cls(np.ones(frame.days), request, np.full(len(frame.pairs), of_pair), per_unit, trips)
        most = 2 * np.maximum(sums.noisy, 0.0) + _SPARE_DEVIATIONS * sums.scale + _SPARE_TRIPS
        return cls(sums.weights, request, most, per_unit, trips, sums.noisy, sums.scale)

    def sums(self, history: DemandHistory) -> NDArray[np.float64]:
        """PRIVATE. (pairs,) weighted sum of the days' counts, cut off."""
        return np.minimum(self._whole(history), self.most)

    def cut(self, history: DemandHistory) -> float:
        """PRIVATE. Requests that are cut off, of each pair at most as many as are left."""
        return math.fsum(np.clip(self._whole(history) - self.most, 0.0, self.most).tolist())

    def _whole(self, history: DemandHistory) -> NDArray[np.float64]:
        """PRIVATE."""
        return np.asarray(self.weights @ history.counts)


def _request(study: Study, published: Published) -> float:
    """h: vehicles per minute for one request."""
    frame, sums = study.frame, published.sums
    vehicles = frame.expansion * (1.0 if published.factor is None else published.factor)
    return vehicles / ((frame.days if sums is None else float(sums.weights.sum())) * frame.period_min)


def _modelled(study: Study, total_per_min: float) -> Demand:
    """A public guess with the noisy total: the mechanism's public demand in proportion, or equal demand."""
    public: Demand | None = getattr(study.mechanism, "public_demand", None)
    shape = np.ones(len(study.pairs)) if public is None else public.on(study.pairs).rate_per_min
    return Demand(study.pairs, shape * (total_per_min / max(float(shape.sum()), _SMALLEST)))


def _total_question(study: Study, allowed: float) -> Question:
    """Requests of all pairs, which one request changes by at most its weight: this is asked at request level only.

    The cap on a pair keeps the sum within 64 bits. docs/proofs/quality.md, Theorem 2
    """
    cap, most = LARGEST_VALUE // max(len(study.pairs), 1), _of_one_request(study)

    def ask(history: DemandHistory, _progress: Progress | None) -> NDArray[np.int64]:
        return np.array([np.minimum(history.counts.sum(axis=0, dtype=np.int64), cap).sum()])

    return Question(allowed, ask, allowed / most * _ROUNDED_DOWN, most)


def _of_one_request(study: Study) -> int:
    """As how many a single request counts at most: 1, or the largest weight. docs/proofs/weights.md, Lemma 2."""
    kept = study.frame.contribution
    if kept is None:
        return 1
    if kept.of_users:
        raise GuaranteeError("the total of requests is asked for at request level only")
    return kept.max_requests


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """A policy, the range in which its travel time is measured, and how far a request can move its excess.

    moved : (pairs,) bound on |change of Φ(y) − L| for one request of each pair, vehicle-minutes per minute
    beyond : (pairs,) the same for what is above the range
    most : (links,) largest flow for any data; largest : of Φ, from which rounding errors follow
    binds : whether flows above the range are expected
    """

    policy: RoutingPolicy
    time: BoundedTime
    moved: NDArray[np.float64]
    beyond: NDArray[np.float64]
    most: NDArray[np.float64]
    largest: float
    binds: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """The question: L and the excesses as integers; where no noisy counts are known also what is out of range.

    entries : 1 + rows, and where it is watched 1 + rows more: what is above the range in each row, and what is cut off
    multiplier : (entries,) integers per vehicle-minute per minute, the last of those watched per request
    sensitivity : largest ℓ2 distance of the integers between neighbours. docs/proofs/quality.md, Theorem 1
    """

    counted: _Counted
    least: LeastTime
    rows: dict[str, _Row]
    multiplier: NDArray[np.float64]
    sensitivity: float

    @classmethod
    def of(
        cls,
        study: Study,
        counted: _Counted,
        least: LeastTime,
        model: Demand,
        policies: dict[str, RoutingPolicy],
        precision: float,
    ) -> _Asked:
        watched = _WATCHED if counted.noisy is None else 0.0
        shared = (1 - sum(_WEIGHTS.values()) - watched) / max(len(policies) - 1, 1)
        weights = {**dict.fromkeys(policies, shared), **_WEIGHTS}
        modelled = least.offset + float(model.rate_per_min @ least.minutes)
        rows = {
            name: _row(
                study, counted, least, model, policy, modelled, counted.per_unit * precision / math.sqrt(weights[name])
            )
            for name, policy in policies.items()
        }
        moved = [counted.request * least.minutes * _ROUNDED_UP, *(row.moved for row in rows.values())]
        largest = [
            abs(least.offset) + float(counted.most @ least.minutes) * counted.request,
            *(row.largest for row in rows.values()),
        ]
        weight = [weights["least"], *(weights[name] for name in rows)]
        if watched:
            moved += [*(row.beyond for row in rows.values()), np.ones(len(study.pairs))]
            largest += [*(row.largest for row in rows.values()), float(counted.most.sum())]
            weight += [watched / (len(rows) + 1)] * (len(rows) + 1)
        smallest = [_SMALLEST_LEAST] + [_SMALLEST] * (len(moved) - 1)
        sizes = zip(moved, largest, smallest, strict=True)
        unit = np.array([max(float(each.max(initial=0.0)), 1e-12 * size, floor) for each, size, floor in sizes])
        multiplier = np.sqrt(weight) / unit
        bound = (np.array(largest) + largest[0]) * multiplier
        multiplier = multiplier * min(_RESOLUTION, _LARGEST_INTEGER / max(float(bound.max()), 1.0))
        one = np.sqrt(sum((factor * each) ** 2 for factor, each in zip(multiplier, moved, strict=True)))
        terms = _ROUNDINGS + 4 * float(study.network.latency.roundings().max(initial=0.0))
        terms += max(row.policy.stored.roundings for row in rows.values()) + study.frame.days
        rounding = 2 * _UNIT_ROUNDOFF * terms * (np.array(largest) + largest[0]) * multiplier + 1.0
        whole = moved_together(counted.per_unit, float(one.max(initial=0.0)), float(np.linalg.norm(rounding)))
        return cls(counted, least, rows, multiplier, whole * _ROUNDED_UP)

    def ask(self, history: DemandHistory, progress: Progress | None) -> NDArray[np.int64]:
        """PRIVATE. (entries,) L and the excess of each policy over it, times the multipliers, rounded."""
        del progress
        rates = self.counted.request * self.counted.sums(history)
        least = self.least.offset + math.fsum((rates * self.least.minutes).tolist())
        demand = Demand(history.pairs, rates)
        flows = [row.policy.link_flow(demand) for row in self.rows.values()]
        each = list(zip(self.rows.values(), flows, strict=True))
        values = [least, *(row.time(flow) - least for row, flow in each)]
        if self.counted.noisy is None:
            values += [*(row.time.beyond(flow) for row, flow in each), self.counted.cut(history)]
        return np.rint(np.array(values) * self.multiplier).astype(np.int64)

    def measured(self, found: NDArray[np.float64], deviation: NDArray[np.float64]) -> dict[str, MeasuredRow]:
        """Rows of the noisy answer, and what its other entries say of traffic out of their ranges.

        found, deviation : (entries,) noisy answer, and the deviation of its noise. docs/proofs/quality.md, Lemma 5
        """
        rows = {}
        cut = self.counted.noisy is None and bool(found[-1] > _SEEN * deviation[-1])
        for at, (name, row) in enumerate(self.rows.items(), start=1):
            excess, slack, at_least = float(found[at]), 0.0, row.binds
            if self.counted.noisy is None:
                beyond = at + len(self.rows)
                above = max(float(found[beyond]), 0.0) + _UPPER * float(deviation[beyond])
                slack = row.time.largest_loss(above, row.most)
                at_least = cut or slack > _TOLERABLE * max(float(found[0]), excess)
            rows[name] = MeasuredRow(excess, float(deviation[at]), at_least, 0.0 if at_least else slack)
        return rows


def moved_together(requests: int, each: float, rounded: float) -> float:
    """S for a unit of k requests that move the integers by `each`, and all of them once more by rounding.

    It is such that n of the k requests move them by at most n/k S, in every period. docs/proofs/quality.md, Theorem 1
    """
    return requests * (each + rounded)


def _row(
    study: Study,
    counted: _Counted,
    least: LeastTime,
    model: Demand,
    policy: RoutingPolicy,
    modelled: float,
    precision: float,
) -> _Row:
    """The lowest ceiling on marginal costs that is not expected to bind, while its noise is tolerable.

    precision : deviation of the noise over what a request moves
    """
    network = study.network
    expected = ExpectedFlows.of(policy, model, counted.request, counted.noisy, counted.scale)
    route_error = 4 * _UNIT_ROUNDOFF * policy.stored.roundings  # of the cost of a route, as of loads
    most = policy.link_flow(Demand(study.pairs, counted.request * counted.most))
    chosen = None
    for ceiling in _CEILINGS:
        time = BoundedTime.between(network, expected.low, expected.high, ceiling * network.free_flow_min)
        lowest, highest = policy.expected(time.low_cost), policy.expected(time.high_cost)
        moved = np.maximum(highest - least.minutes, least.minutes - lowest) + route_error * (highest + least.minutes)
        moved = counted.request * np.maximum(moved, 0.0) * _ROUNDED_UP
        deviation = precision * float(moved.max(initial=0.0))
        if chosen is not None and deviation > _TOLERABLE * max(modelled, time(expected.middle) - modelled):
            break
        binds = expected.loss(time) > _NEGLIGIBLE * deviation + _ROUNDED_UP - 1
        largest = float(time.high_cost @ np.maximum(most, time.high_flow))
        beyond = counted.request * highest * (_ROUNDED_UP + route_error)
        chosen = _Row(policy, time, moved, beyond, most, largest, binds)
        if not binds:
            break
    if chosen is None:  # pragma: no cover - there is a first ceiling
        raise AssertionError
    return chosen
