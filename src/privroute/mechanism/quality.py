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

from privroute.demand.without_data import free_flow_policy, gravity_policy, uniform_policy
from privroute.errors import PrivrouteError
from privroute.flows.optimum import solve_equilibrium
from privroute.flows.time_bounds import BoundedTime, LeastTime
from privroute.mechanism.interface import Question
from privroute.network.demand import Demand
from privroute.release.quality import RELEASED, MeasuredRow, Quality

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.interface import Published
    from privroute.mechanism.promise import Promise
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress
    from privroute.release.quality import Trips
    from privroute.study.study import Study

__all__ = ["converse", "policies_to_compare", "questions"]

_GAP = 1e-6  # of the policies to compare with, unless the released one was solved less tightly itself
_FOR_TOTAL = 0.1  # of the share, where no demand is released and the total is asked first
_WEIGHTS = {RELEASED: 0.45, "least": 0.05}  # squared; the other rows share the rest
_REACH = 3.0  # deviations of the link flows that are within the range of measurement
_UNKNOWN = (0.3, 0.15)  # where no noisy counts are known: error of the modelled flow, over it and over the capacity
_KNOWN_TOTAL = 0.3  # relative error of the noisy total up to which the released demand is believed
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(11)  # quadrature over the expected flows
_NODE_WEIGHTS /= _NODE_WEIGHTS.sum()
_NEGLIGIBLE = 0.1  # expected loss over the deviation of the noise
_CEILINGS = tuple(2.0**power for power in range(3, 15))  # multiples of the free-flow time
_TOLERABLE = 0.25  # deviation over the larger of modelled optimum and modelled excess
_RESOLUTION = 2.0**20  # integers per sensitivity
_LARGEST_INTEGER = 2.0**58
_ROUNDED_DOWN = 1 - 1e-12
_ROUNDED_UP = 1 + 1e-9
_ROUTE_ERROR = 1e-12  # of the cost of a route, a sum over its links
_UNIT_ROUNDOFF = 2.0**-53
_ROUNDINGS = 64
_MOST_TRIPS = 1e9  # beyond which counts are cut off where no noisy counts are known
_SPARE_TRIPS, _SPARE_DEVIATIONS = 12.0, 12.0


def questions(study: Study, sensitivity: float) -> tuple[float, ...]:
    """Sensitivities of its questions, together the given one: the total first where no demand is released."""
    if not study.mechanism.on_flows:
        return (sensitivity,)
    return (math.sqrt(_FOR_TOTAL) * sensitivity, math.sqrt(1 - _FOR_TOTAL) * sensitivity)


def converse(
    study: Study, promise: Promise, allowed: tuple[float, ...], published: Published
) -> Generator[Question, NDArray[np.int64], Quality]:
    """Ask and say what the answer means.

    allowed : sensitivities of its questions within the promise
    """
    counted = _Counted.of(study, published)
    model = published.demand
    if model is None:
        trips = yield counted.total_question(allowed[0])
        rate = max(float(trips[0]), 0.0) * counted.request / max(len(study.pairs), 1)
        model = Demand(study.pairs, np.full(len(study.pairs), rate))
    gap = max(_GAP, getattr(study.mechanism, "gap", 0.0))
    rows = policies_to_compare(study.network, published.policy, model, known=published.demand is not None, gap=gap)
    best = rows[RELEASED] if published.demand is not None else rows.get("equal_demand", rows[RELEASED])
    least = LeastTime.at(study.network, study.pairs, best.link_flow(model))
    precision = promise.scale / allowed[-1]
    asked = _Asked.of(study, counted, least, model, rows, precision)
    noisy = yield Question(allowed[-1], asked.ask, allowed[-1] / asked.sensitivity * _ROUNDED_DOWN, asked.sensitivity)
    found = noisy / asked.multiplier
    deviation = precision * asked.sensitivity / asked.multiplier
    measured = {
        name: MeasuredRow(float(found[at]), float(deviation[at]), row.at_least)
        for at, (name, row) in enumerate(asked.rows.items(), start=1)
    }
    return Quality(study.quality_share, float(found[0]), float(deviation[0]), measured, counted.trips)


def policies_to_compare(
    network: Network, released: RoutingPolicy, model: Demand, *, known: bool = True, gap: float = _GAP
) -> dict[str, RoutingPolicy]:
    """The released policy and those that need no data, from public data alone; one that cannot be made is left out.

    known : whether `model` is a released demand; otherwise only its total is used
    gap : to which the others are solved
    """
    pairs = released.pairs
    made: dict[str, Callable[[], RoutingPolicy]] = {
        "equilibrium": lambda: solve_equilibrium(network, model, gap=gap).policy,
        "gravity": lambda: gravity_policy(network, model, gap=gap),
        "equal_demand": lambda: uniform_policy(network, pairs, model.total_per_min, gap=gap),
        "free_flow": lambda: free_flow_policy(network, pairs),
    }
    if not known:
        made = {name: made[name] for name in ("equal_demand", "free_flow")}
    rows = {RELEASED: released}
    for name, make in made.items():
        try:
            rows[name] = make()
        except PrivrouteError:
            continue
    return rows


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
    def of(cls, study: Study, published: Published) -> _Counted:
        frame, sums = study.frame, published.sums
        per_unit = 1 if frame.contribution is None else frame.contribution.max_requests
        trips: Trips = "all" if frame.contribution is None else "kept" if published.factor is None else "scaled"
        vehicles = frame.expansion * (1.0 if published.factor is None else published.factor)
        if sums is None:
            weights = np.ones(frame.days)
            most = np.full(len(frame.pairs), _MOST_TRIPS / max(len(frame.pairs), 1) + 1000.0)
            return cls(weights, vehicles / (frame.days * frame.period_min), most, per_unit, trips)
        request = vehicles / (float(sums.weights.sum()) * frame.period_min)
        most = 2 * np.maximum(sums.noisy, 0.0) + _SPARE_DEVIATIONS * sums.scale + _SPARE_TRIPS
        return cls(sums.weights, request, most, per_unit, trips, sums.noisy, sums.scale)

    def sums(self, history: DemandHistory) -> NDArray[np.float64]:
        """PRIVATE. (pairs,) weighted sum of the days' counts, cut off."""
        return np.minimum(self.weights @ history.counts, self.most)

    def total_question(self, allowed: float) -> Question:
        """Requests of all pairs; a unit changes it by at most per_unit, and rounding by 1. docs/proofs/quality.md."""

        def ask(history: DemandHistory, _progress: Progress | None) -> NDArray[np.int64]:
            return np.array([np.rint(self.sums(history).sum())], dtype=np.int64)

        return Question(allowed, ask, allowed / (self.per_unit + 1) * _ROUNDED_DOWN, self.per_unit + 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """A policy, the range in which its travel time is measured, and how far a request can move its excess.

    moved : (pairs,) bound on |change of Φ(y) − L| for one request of each pair, vehicle-minutes per minute
    largest : of Φ for any data, from which rounding errors follow
    """

    policy: RoutingPolicy
    time: BoundedTime
    moved: NDArray[np.float64]
    largest: float
    at_least: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """The question: L and the excesses as integers.

    multiplier : (1 + rows,) integers per vehicle-minute per minute
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
        weights = {**{name: (1 - sum(_WEIGHTS.values())) / max(len(policies) - 1, 1) for name in policies}, **_WEIGHTS}
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
        unit = np.array(
            [max(float(each.max(initial=0.0)), 1e-9 * size, 1e-300) for each, size in zip(moved, largest, strict=True)]
        )
        weight = np.sqrt([weights["least"], *(weights[name] for name in rows)])
        multiplier = weight / unit
        bound = (np.array(largest) + largest[0]) * multiplier
        multiplier = multiplier * min(_RESOLUTION, _LARGEST_INTEGER / float(bound.max()))
        one = np.sqrt(sum((factor * each) ** 2 for factor, each in zip(multiplier, moved, strict=True)))
        terms = _ROUNDINGS + 4 * float(study.network.latency.roundings().max(initial=0.0))
        terms += max(row.policy.summary().paths for row in rows.values()) + len(study.pairs) + study.frame.days
        rounding = 2 * _UNIT_ROUNDOFF * terms * (np.array(largest) + largest[0]) * multiplier + 1.0
        whole = counted.per_unit * float(one.max(initial=0.0)) + float(np.linalg.norm(rounding))
        return cls(counted, least, rows, multiplier, whole * _ROUNDED_UP)

    def ask(self, history: DemandHistory, progress: Progress | None) -> NDArray[np.int64]:
        """PRIVATE. (1 + rows,) L and the excess of each policy over it, times the multipliers, rounded."""
        del progress
        rates = self.counted.request * self.counted.sums(history)
        least = self.least.offset + float(rates @ self.least.minutes)
        demand = Demand(history.pairs, rates)
        values = [least, *(row.time(row.policy.link_flow(demand)) - least for row in self.rows.values())]
        return np.rint(np.array(values) * self.multiplier).astype(np.int64)


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
    expected = _Expected.of(counted, policy, model)
    most = policy.link_flow(Demand(study.pairs, counted.request * counted.most))
    chosen = None
    for ceiling in _CEILINGS:
        time = BoundedTime.between(network, expected.low, expected.high, ceiling * network.free_flow_min)
        lowest, highest = policy.expected(time.low_cost), policy.expected(time.high_cost)
        moved = np.maximum(highest - least.minutes, least.minutes - lowest) + _ROUTE_ERROR * (highest + least.minutes)
        moved = counted.request * np.maximum(moved, 0.0) * _ROUNDED_UP
        deviation = precision * float(moved.max(initial=0.0))
        if chosen is not None and deviation > _TOLERABLE * max(modelled, time(expected.middle) - modelled):
            break
        binds = expected.loss(time) > _NEGLIGIBLE * deviation + _ROUNDED_UP - 1
        largest = float(time.high_cost @ np.maximum(most, time.high_flow))
        chosen = _Row(policy, time, moved, largest, binds)
        if not binds:
            break
    if chosen is None:  # pragma: no cover - there is a first ceiling
        raise AssertionError
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class _Expected:
    """Where the true link flows of a policy are expected: public, from noisy counts or the modelled demand.

    middle, spread : (links,) estimate of the flow and deviation of its error
    normal : whether the error is noise; otherwise the flow is taken to be within _REACH deviations
    """

    network: Network
    middle: NDArray[np.float64]
    spread: NDArray[np.float64]
    normal: bool = True

    @classmethod
    def of(cls, counted: _Counted, policy: RoutingPolicy, model: Demand) -> _Expected:
        network = policy.network
        if counted.noisy is None:
            middle = policy.link_flow(model)
            return cls(network, middle, _UNKNOWN[0] * middle + _UNKNOWN[1] * network.capacity_per_min, normal=False)

        def routed(rates: NDArray[np.float64]) -> NDArray[np.float64]:
            return policy.link_flow(Demand(model.pairs, rates)) - network.background_per_min

        rates = counted.request * counted.noisy
        middle = network.background_per_min + routed(np.maximum(rates, 0.0)) - routed(np.maximum(-rates, 0.0))
        # Σ x² ≤ Σ x for shares of the pairs' trips
        spread = counted.request * counted.scale * np.sqrt(np.maximum(routed(np.ones(rates.size)), 0.0))
        total, error = float(counted.noisy.sum()), counted.scale * math.sqrt(rates.size)
        if error < _KNOWN_TOTAL * total:  # the released demand, which uses more than each count, is a second estimate
            modelled = policy.link_flow(model)
            doubt = (_UNKNOWN[0] + error / total) * modelled + _UNKNOWN[1] * network.capacity_per_min
            weight = doubt**2 / np.maximum(doubt**2 + spread**2, 1e-300)
            middle, spread = weight * middle + (1 - weight) * modelled, np.sqrt(weight) * spread
        return cls(network, middle, spread)

    @property
    def low(self) -> NDArray[np.float64]:
        return self._at(-_REACH)

    @property
    def high(self) -> NDArray[np.float64]:
        return self._at(_REACH)

    def loss(self, time: BoundedTime) -> float:
        """Expected travel time above the range of measurement, by which what is measured would be too small."""
        nodes, weights = (_NODES, _NODE_WEIGHTS) if self.normal else (np.array([_REACH]), np.ones(1))
        flow = self._at(nodes[:, None])
        with np.errstate(over="ignore"):
            lost = flow * self.network.latency.time(flow) - time.by_link(flow)
        return float(weights @ lost.sum(axis=1))

    def _at(self, deviations: float | NDArray[np.float64]) -> NDArray[np.float64]:
        return np.maximum(self.middle + deviations * self.spread, self.network.background_per_min)
