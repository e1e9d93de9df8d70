"""Several questions under one charge: none beyond what was promised, none that sees more than noisy answers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import privroute as pr
from privroute.errors import GuaranteeError
from privroute.mechanism import learn as learning
from privroute.mechanism.interface import Published, Question
from privroute.mechanism.learn import Announcement
from privroute.mechanism.promise import Promise
from privroute.privacy.calibration import gaussian_rho

SCENARIO = pr.sioux_falls()
HISTORY = pr.simulate_days(SCENARIO.demand, days=2, seed=1)
GUARANTEE = pr.Guarantee(epsilon=1.0, delta=1e-6)


class Asking:
    """A mechanism that promises some sensitivities and asks for others."""

    def __init__(self, promised: tuple[float, ...], asked: tuple[float, ...]) -> None:
        self.promised, self.asked, self.answers = promised, asked, list[NDArray[np.int64]]()

    def promise(self, study: pr.Study) -> Promise:
        return Promise.of(study.promised, *self.promised)

    def converse(
        self, study: pr.Study, promise: Promise, progress: object
    ) -> Generator[Question, NDArray[np.int64], Published]:
        del promise, progress
        for sensitivity in self.asked:
            noisy = yield Question(sensitivity, lambda history, _: history.counts.sum(axis=0, dtype=np.int64))
            self.answers.append(noisy)
        return Published(pr.solve_optimum(study.network, SCENARIO.demand, gap=1e-2).policy)


def released(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> pr.Release:
    monkeypatch.setattr(learning, "implementation", lambda _: asking)
    return Announcement(pr.Study(SCENARIO.network, HISTORY.frame, GUARANTEE, pr.Counts(), quality_share=0.0)).release(
        HISTORY
    )


def test_every_promised_question_gets_noise_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Asking((1.0, 2.0, 1.0), (1.0, 2.0, 0.5))
    certificate = released(asking, monkeypatch).certificate
    first, second, third = asking.answers
    assert (first != second).any()
    assert (second != third).any()
    assert certificate.sensitivity == pytest.approx(6**0.5)
    assert certificate.private


@pytest.mark.parametrize(
    "asked",
    [(1.0, 2.0, 1.0), (1.01,), (1.0, 2.1), (0.0,), (float("nan"),)],
    ids=["more", "first", "later", "zero", "nan"],
)
def test_a_question_beyond_the_promise_stops_the_release(
    asked: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(GuaranteeError, match="exceeds what the release promised"):
        released(Asking((1.0, 2.0), asked), monkeypatch)


def test_a_question_is_charged_before_it_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    ledger = pr.Ledger.create(tmp_path / "a.ledger", "city", pr.Approval(1.5, 1e-6))
    dates = [dt.date(2026, 3, 2), dt.date(2026, 3, 3)]
    history = pr.DemandHistory(HISTORY.pairs, HISTORY.counts, dates=dates, period_min=60)
    seen = list[float]()

    class Watching(Asking):
        def converse(
            self, study: pr.Study, promise: Promise, progress: object
        ) -> Generator[Question, NDArray[np.int64], Published]:
            seen.append(ledger.account().spent_epsilon)
            return (yield from super().converse(study, promise, progress))

    asking = Watching((1.0, 1.0), (1.0, 1.0))
    monkeypatch.setattr(learning, "implementation", lambda _: asking)
    release = Announcement(
        pr.Study(SCENARIO.network, history.frame, GUARANTEE, pr.Counts(), quality_share=0.0), ledger=ledger
    ).release(history)
    (charge,) = ledger.account().charges
    assert seen[0] > 0.9
    assert charge.rho == release.certificate.rho


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8), st.floats(0.01, 5))
def test_the_cost_of_all_questions_is_within_the_promise(questions: list[float], epsilon: float) -> None:
    promise = Promise.of(pr.Guarantee(epsilon=epsilon, delta=1e-6), *questions)
    assert sum(gaussian_rho(promise.integer_scale, each) for each in questions) <= promise.rho * (1 + 1e-15)
    assert promise.questions == tuple(questions)
