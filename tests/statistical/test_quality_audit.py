"""Whether the measured quality, beside the counts, tells two neighbours apart better than promised."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.mechanism.flow_cases import braess, history
from tests.mechanism.quality_cases import moved, published_of, question_of
from tests.statistical.rates import EACH

import privroute as pr
from privroute.evaluate.audit import _best_threshold, epsilon_lower_bound
from privroute.mechanism import quality as measuring
from privroute.mechanism.drawing import Draws
from privroute.mechanism.interface import Question
from privroute.mechanism.learn import Announcement
from privroute.privacy.noise import OpenDPNoise

PROMISE = pr.Guarantee(epsilon=3.0, delta=1e-6)
SHARE = 0.45  # as much as allowed, so that much of what can be told is in the quality
RUNS = 2000


def bound() -> float:
    """An adversary who knows both neighbours takes the likelihood ratio of all that is drawn for a release."""
    network, without = braess(), history(braess(), np.full((2, 12), 40))
    study = pr.Study(network, without.frame, PROMISE, quality_share=SHARE)
    measured = question_of(study, published_of(study, without))
    more = [history(network, without.counts + np.eye(1, 24, pair, dtype=int).reshape(2, 12)) for pair in range(12)]
    with_one = max(more, key=lambda each: moved(measured, without, each))
    exact = {id(each): measured.ask(each, None) for each in (without, with_one)}
    quality = Question(measured.sensitivity, lambda each, _: exact[id(each)], measured.grid, measured.moved)
    shares = Announcement(study).shares
    assert shares is not None
    own = Question(shares.own[0], lambda each, _: each.counts.sum(axis=0, dtype=np.int64))
    scales = [shares.whole.scale / (question.grid or 1.0) for question in (own, quality)]
    steps = [(q.ask(with_one, None) - q.ask(without, None)).astype(float) for q in (own, quality)]
    seen = np.empty((2, RUNS))
    for row, data in zip(seen, (without, with_one), strict=True):
        for run in range(RUNS):
            draws = Draws(shares.whole, data, OpenDPNoise(), None, [*shares.own, *shares.quality])
            answers = [draws.answer(question) for question in (own, quality)]
            row[run] = sum(
                float((answer - question.ask(without, None)) @ step) / scale**2
                for answer, question, step, scale in zip(answers, (own, quality), steps, scales, strict=True)
            )
    first = RUNS // 4
    best = _best_threshold(seen[0, :first], seen[1, :first], PROMISE.delta, RUNS - first, EACH)
    return epsilon_lower_bound(seen[0, first:], seen[1, first:], best, PROMISE.delta, EACH)


def test_a_release_with_its_quality_stays_below_the_promise() -> None:
    assert bound() <= PROMISE.epsilon


def test_a_sensitivity_thirty_times_too_small_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = measuring._Asked.of.__func__  # type: ignore[attr-defined]

    def small(kind: Any, *arguments: Any) -> Any:
        asked = right(kind, *arguments)
        return replace(asked, sensitivity=asked.sensitivity / 30)

    monkeypatch.setattr(measuring._Asked, "of", classmethod(small))
    assert bound() > PROMISE.epsilon
