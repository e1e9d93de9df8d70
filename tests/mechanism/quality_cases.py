"""The question that measures a release, as `learn` would ask it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import privroute as pr
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.mechanism import quality
from privroute.mechanism.interface import Published, Question
from privroute.mechanism.registry import implementation
from privroute.mechanism.shares import Shares
from privroute.policy.travel_time import total_travel_time

__all__ = [
    "SCENARIO",
    "SHARE",
    "above",
    "bounded_fleet",
    "days_of",
    "moved",
    "one_more",
    "published_of",
    "question_of",
    "study_of",
]

SHARE = 0.05
SCENARIO = pr.sioux_falls(latency="bpr")


def study_of(
    network: pr.Network, history: pr.DemandHistory, epsilon: float = 1.0, mechanism: Any = "counts"
) -> pr.Study:
    unit = "request" if history.contribution is None else history.contribution.unit
    return pr.Study(network, history.frame, pr.Guarantee(epsilon, 1e-6, unit), mechanism, quality_share=SHARE)


def published_of(study: pr.Study, history: pr.DemandHistory, seed: int = 1) -> Published:
    """What the mechanism publishes of a history, with reproducible noise."""
    promise = Shares.of(study, implementation(study.mechanism).promise(study)).for_mechanism
    asking = implementation(study.mechanism).converse(study, promise, None)
    question = next(asking)
    noisy = SeededNoise(seed).add_integers(question.ask(history, None), promise.integer_scale)
    try:
        asking.send(noisy)
    except StopIteration as done:
        made: Published = done.value
        return made
    raise AssertionError


def question_of(study: pr.Study, published: Published) -> Question:
    """The last question of the measurement; where the total is asked first, it is 1,000."""
    shares = Shares.of(study, implementation(study.mechanism).promise(study))
    asking = quality.converse(study, shares.whole, shares.quality, published)
    question = next(asking)
    return question if len(shares.quality) == 1 else asking.send(np.array([1000]))


def moved(question: Question, one: pr.DemandHistory, other: pr.DemandHistory) -> float:
    """How far the integers of two histories are apart, over what the question declares: at most 1."""
    values: list[NDArray[np.int64]] = [question.ask(each, None) for each in (one, other)]
    distance = float(np.sqrt(sum((int(a) - int(b)) ** 2 for a, b in zip(*values, strict=True))))
    assert question.moved is not None
    return distance / question.moved


def days_of(network: pr.Network, seed: int, size: int, **options: Any) -> pr.DemandHistory:
    pairs = pr.Pairs.of_zones(network)
    counts = np.random.default_rng(seed).integers(0, size + 1, (3, len(pairs)))
    return pr.DemandHistory(pairs, counts, **options)


def one_more(data: pr.DemandHistory, day: int, pair: int, requests: int = 1) -> pr.DemandHistory:
    counts = data.counts.copy()
    counts[day, pair] += requests
    return pr.DemandHistory.of(data.frame, counts)


def bounded_fleet(**bounds: Any) -> tuple[pr.DemandHistory, pr.Demand]:
    """Users of whose trips two fifths are kept, and the demand of all trips."""
    every = pr.simulate_days(SCENARIO.demand, days=20, seed=2)
    kept = np.random.default_rng(3).binomial(every.counts, 0.4)
    total = int(every.counts.sum()) if "max_for_total" in bounds else None
    frame = replace(every.frame, contribution=pr.Contribution("user", 10, 2, **bounds))
    return pr.DemandHistory.of(frame, kept, requests=total), every.mean


def above(release: pr.Release, demand: pr.Demand) -> float:
    best = pr.solve_optimum(SCENARIO.network, demand).total_travel_time
    return 100 * (total_travel_time(SCENARIO.network, release.policy, demand) / best - 1)
