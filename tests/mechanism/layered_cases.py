"""Conversations of the layered mechanism, round by round, and neighbours for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

import numpy as np
from numpy.typing import NDArray

import privroute as pr
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.mechanism import layered
from privroute.mechanism.interface import Published, Question
from privroute.mechanism.promise import Promise

SCENARIO = pr.sioux_falls()
_ZONES = SCENARIO.network.zones[:: len(SCENARIO.network.zones) // 6][:6]
PAIRS = pr.Pairs(
    [a for a in _ZONES for b in _ZONES if a != b],
    [b for a in _ZONES for b in _ZONES if a != b],
)
DAYS = 2
USERS = pr.Contribution("user", 4, 2)
USER_DAYS = pr.Contribution("user-day", 3, 1)

Asked = list[tuple[Question, NDArray[np.int64]]]


def history(mean: float, seed: int = 1, contribution: pr.Contribution | None = None) -> pr.DemandHistory:
    """Days with about this many requests of each pair: some pairs have many, some none, and roads are congested."""
    random = np.random.default_rng(seed)
    rate = mean * random.exponential(size=len(PAIRS)) ** 2
    counts = random.poisson(np.tile(rate, (DAYS, 1)))
    return pr.DemandHistory(PAIRS, counts, period_min=60, expansion=40, contribution=contribution)


def grid(side: int) -> pr.Network:
    """A square of nodes, each a zone, with links of one to two minutes both ways between neighbours."""
    node = np.arange(side * side).reshape(side, side)
    tail = np.concatenate([node[:, :-1].ravel(), node[:, 1:].ravel(), node[:-1].ravel(), node[1:].ravel()])
    head = np.concatenate([node[:, 1:].ravel(), node[:, :-1].ravel(), node[1:].ravel(), node[:-1].ravel()])
    minutes = np.random.default_rng(2).uniform(1.0, 2.0, tail.size)
    return pr.Network(tail, head, pr.Latency.affine(minutes, 50.0), list(range(side * side)))


def study(data: pr.DemandHistory, epsilon: float = 1.0, options: pr.Layered | None = None) -> pr.Study:
    unit = "request" if data.frame.contribution is None else data.frame.contribution.unit
    guarantee = pr.Guarantee(epsilon, 1e-6, unit)
    return pr.Study(SCENARIO.network, data.frame, guarantee, options or pr.Layered(gap=1e-3))


def held(chosen: pr.Study, data: pr.DemandHistory, *, seed: int = 5) -> tuple[Promise, Asked, Published]:
    """All questions with their noisy answers, and what is published in the end."""
    promise = layered.promise(chosen)
    noise = SeededNoise(seed)
    conversation = layered.converse(chosen, promise, None)
    asked: Asked = []
    question = next(conversation)
    while True:
        answer = noise.add_integers(question.ask(data, None), promise.integer_scale)
        asked.append((question, answer))
        try:
            question = conversation.send(answer)
        except StopIteration as done:
            return promise, asked, done.value


def granted(promise: Promise, asked: Asked) -> list[float]:
    """The sensitivity that each question may have; together they take up all of the promise."""
    left, found = list(promise.questions), []
    for question, _ in asked:
        taken = [left.pop(0) for _ in range(question.in_place_of)]
        found.append(taken[0] if len(taken) == 1 else math.hypot(*taken) * (1 + 1e-13))
    assert not left
    return found


def replayed(chosen: pr.Study, data: pr.DemandHistory, asked: Asked) -> Published | None:
    """What is published after the same answers; None where a question is not the recorded one."""
    conversation = layered.converse(chosen, layered.promise(chosen), None)
    question = next(conversation)
    for recorded, answer in asked:
        if not np.array_equal(probe(recorded, data), probe(question, data)):
            return None
        try:
            question = conversation.send(answer)
        except StopIteration as done:
            return cast("Published", done.value)
    return None


def probe(question: Question, data: pr.DemandHistory) -> NDArray[np.int64]:
    """(pairs, entries) what a question gives for a single request of each pair: all that it is."""
    empty = pr.DemandHistory.of(data.frame, np.zeros_like(data.counts))
    return np.stack([question.ask(with_requests(empty, [(0, pair)]), None) for pair in range(len(PAIRS))])


def with_requests(data: pr.DemandHistory, requests: list[tuple[int, int]]) -> pr.DemandHistory:
    """The history with one request more for each (day, pair)."""
    counts = data.counts.copy()
    for day, pair in requests:
        counts[day, pair] += 1
    return pr.DemandHistory.of(data.frame, counts)


def neighbours(data: pr.DemandHistory) -> Iterator[pr.DemandHistory]:
    """Every request more; or, for bounded units, users that use their bounds in every greedy way from each pair."""
    kept = data.frame.contribution
    if kept is None:
        yield from (with_requests(data, [(0, pair)]) for pair in range(len(PAIRS)))
        return
    for first in range(len(PAIRS)):
        alike = {
            "origin": PAIRS.origin == PAIRS.origin[first],
            "destination": PAIRS.destination == PAIRS.destination[first],
            "any": np.ones(len(PAIRS), bool),
        }
        for same in alike.values():
            order = [first, *(int(pair) for pair in np.flatnonzero(same) if pair != first)]
            full = [pair for pair in order for _ in range(kept.max_per_pair or 1)][: kept.max_requests]
            yield with_requests(data, [(0, pair) for pair in full])


def spent(asked: Asked, one: pr.DemandHistory, other: pr.DemandHistory) -> list[float]:
    """Squared distance of each question between two histories, in the integers that get noise."""
    moved = [question.ask(other, None) - question.ask(one, None) for question, _ in asked]
    return [float(np.sum(each.astype(object) ** 2)) for each in moved]
