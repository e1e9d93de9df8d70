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
from privroute.errors import GuaranteeError, PrivrouteError
from privroute.mechanism import learn as learning
from privroute.mechanism.drawing import Draws
from privroute.mechanism.interface import Published, Question
from privroute.mechanism.learn import Announcement
from privroute.mechanism.promise import Promise
from privroute.privacy.calibration import gaussian_rho

SCENARIO = pr.sioux_falls()
HISTORY = pr.simulate_days(SCENARIO.demand, days=2, seed=1)
GUARANTEE = pr.Guarantee(epsilon=1.0, delta=1e-6)


class Asking:
    """A mechanism that promises some sensitivities and asks for others."""

    def __init__(
        self, promised: tuple[float, ...], asked: tuple[float, ...], in_place_of: tuple[int, ...] | None = None
    ) -> None:
        self.promised, self.asked, self.answers = promised, asked, list[NDArray[np.int64]]()
        self.in_place_of = (1,) * len(asked) if in_place_of is None else in_place_of

    def promise(self, study: pr.Study) -> Promise:
        return Promise.of(study.promised, *self.promised)

    def converse(
        self, study: pr.Study, promise: Promise, progress: object
    ) -> Generator[Question, NDArray[np.int64], Published]:
        del promise, progress
        for sensitivity, several in zip(self.asked, self.in_place_of, strict=True):
            noisy = yield Question(
                sensitivity, lambda history, _: history.counts.sum(axis=0, dtype=np.int64), in_place_of=several
            )
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


@pytest.mark.parametrize(("asked", "in_place_of"), [((5.0, 1.0), (2, 1)), ((26**0.5,), (3,)), ((3.0, 17**0.5), (1, 2))])
def test_one_question_may_take_up_several(
    asked: tuple[float, ...], in_place_of: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = Asking((3.0, 4.0, 1.0), asked, in_place_of)
    assert released(asking, monkeypatch).certificate.sensitivity == pytest.approx(26**0.5)
    assert len(asking.answers) == len(asked)


@pytest.mark.parametrize(
    ("asked", "in_place_of"),
    [((5.001,), (2,)), ((5.0, 4.0), (2, 1)), ((5.0, 1.0, 1.0), (2, 1, 1)), ((5.0,), (4,)), ((1.0, 1.0), (3, 1))],
    ids=["larger than both", "one of both again", "one more", "more than are left", "none left"],
)
def test_what_a_question_took_up_is_spent(
    asked: tuple[float, ...], in_place_of: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(GuaranteeError, match="exceeds what the release promised"):
        released(Asking((3.0, 4.0, 1.0), asked, in_place_of), monkeypatch)


def test_a_question_takes_up_at_least_one() -> None:
    with pytest.raises(GuaranteeError, match="at least one"):
        Question(1.0, lambda history, _: history.counts.sum(axis=0), in_place_of=0)


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


class TestAGridOfItsOwn:
    """A question may choose what one of its integers stands for, and not by that how much noise it gets."""

    def drawn(self, question: Question) -> tuple[int, float]:
        """The noise of a question, and the promise's scale."""
        study = pr.Study(SCENARIO.network, HISTORY.frame, pr.Guarantee(0.1, 1e-6), pr.Counts(), quality_share=0.0)
        announced = Announcement(study)
        assert announced.shares is not None
        whole = announced.shares.whole
        draws = Draws(whole, HISTORY, announced.noise, None, list(whole.questions))
        return int(draws.answer(question)[0]) - int(HISTORY.counts.sum()), draws.promise.scale

    @staticmethod
    def total(history: pr.DemandHistory, _progress: object) -> NDArray[np.int64]:
        return np.array([history.counts.sum()])

    @pytest.mark.parametrize("grid", [1.0 + 1e-9, 2.0, 1e3, 1e9])
    def test_one_that_is_too_coarse_for_its_integers_is_refused(self, grid: float) -> None:
        """A request changes the total by 1; on a grid of 1,000 its noise would be a thousandth of what was promised."""
        with pytest.raises(GuaranteeError, match="noise is smaller than the release promised"):
            self.drawn(Question(1.0, self.total, grid, moved=1.0))

    @pytest.mark.parametrize("moved", [1.01, 3.0, float("inf")])
    def test_integers_that_move_farther_than_the_grid_allows_are_refused(self, moved: float) -> None:
        with pytest.raises(PrivrouteError):
            self.drawn(Question(1.0, self.total, 1.0, moved=moved))

    def test_a_finer_one_gets_more_noise(self) -> None:
        noise, scale = self.drawn(Question(1.0, self.total, 2.0**-20, moved=1.0))
        assert abs(noise) > scale

    @pytest.mark.parametrize("without", [{"grid": 2.0}, {"moved": 2.0}])
    def test_grid_and_movement_are_declared_together(self, without: dict[str, Any]) -> None:
        with pytest.raises(GuaranteeError, match="grid of its own"):
            Question(1.0, self.total, **without)
