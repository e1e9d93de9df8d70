"""Checks behind other checks: each one holds also where the one before it is passed by."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import privroute as pr
from privroute.errors import GuaranteeError, LedgerError, NoiseError
from privroute.mechanism import drawing, from_counts, promise
from privroute.mechanism.learn import Announcement, _promise
from privroute.mechanism.lost_ledger import KnownCharge, _by_entry
from privroute.mechanism.promise import Promise
from privroute.mechanism.public_routes import public_demand
from privroute.mechanism.quality import _of_one_request
from privroute.mechanism.registry import asked_once
from privroute.mechanism.shares import Shares, total_question, with_total
from privroute.privacy.calibration import gaussian_rho, gaussian_scale
from privroute.privacy.charged_times import ChargedTimes
from privroute.privacy.scope import Scope
from privroute.study.calendar import Calendar
from privroute.study.contribution import Contribution
from privroute.study.frame import Frame
from privroute.study.mechanisms import Minimiser, Unprotected

SCENARIO = pr.sioux_falls()
DAYS = pr.simulate_days(SCENARIO.demand, days=3, seed=1)
GUARANTEE = pr.Guarantee(epsilon=1.0, delta=1e-6)
STUDY = pr.Study(SCENARIO.network, DAYS.frame, GUARANTEE)
USERS = Frame(DAYS.pairs, DAYS.frame.calendar, contribution=Contribution("user", 3))


@pytest.mark.parametrize("given", [{"guarantee": GUARANTEE}, {"mechanism": "counts"}])
def test_a_study_is_learned_as_it_is(given: dict[str, Any]) -> None:
    with pytest.raises(GuaranteeError, match="a study has its own; omit"):
        pr.learn(STUDY, DAYS, **given)


def test_what_has_no_noise_answers_nothing() -> None:
    none = pr.Study(SCENARIO.network, DAYS.frame, None, Unprotected())
    with pytest.raises(GuaranteeError, match="draws no noise"):
        Announcement(none).draw(DAYS)
    with pytest.raises(GuaranteeError, match="adds no noise and promises nothing"):
        asked_once(Unprotected())


def test_parts_of_one_release_promise_the_same() -> None:
    def part(period_min: float) -> pr.Study:
        frame = Frame(DAYS.pairs, Calendar.of_days(3, period_min))
        options = Minimiser(alpha=10.0, public_demand=SCENARIO.demand)
        return pr.Study(SCENARIO.network, frame, GUARANTEE, options)

    assert _promise((part(60.0), part(60.0))) == _promise((part(60.0),))
    with pytest.raises(GuaranteeError, match="the periods would promise different things"):
        _promise((part(60.0), part(120.0)))


def test_bounds_of_users_are_asked_for_where_they_are_known() -> None:
    users = pr.Study(SCENARIO.network, USERS, replace(GUARANTEE, unit="user"))
    with pytest.raises(GuaranteeError, match="at request level only"):
        _of_one_request(users)
    assert _of_one_request(STUDY) == 1
    for study in (users, STUDY):
        with pytest.raises(GuaranteeError, match="does not say how many requests of a user count"):
            total_question(study, 1.0)


def test_flows_need_a_public_demand() -> None:
    with pytest.raises(GuaranteeError, match="needs a public_demand here"):
        public_demand(Minimiser(alpha=1.0))


def test_charges_of_one_data_set_have_one_unit_and_one_time_zone() -> None:
    budget = {"dataset": "city", "approved_epsilon": 1.0, "approved_delta": 1e-6, "digest": "a"}
    first = KnownCharge(budget, GUARANTEE, 1e-3, ChargedTimes(Scope.always()), "counts", "Europe/Berlin", "one")
    charges = [
        replace(first, budget={**budget, "entry": 1}),
        replace(first, budget={**budget, "entry": 2}, place="two"),
    ]
    assert len(_by_entry(charges, set())) == 2
    others: list[dict[str, Any]] = [{"time_zone": "Europe/Paris"}, {"guarantee": replace(GUARANTEE, unit="user")}]
    for other in others:
        with pytest.raises(LedgerError, match="two: its unit or time zone is not that of one"):
            _by_entry([charges[0], replace(charges[1], **other)], set())


def test_what_is_approved_is_an_approval(tmp_path: Path) -> None:
    with pytest.raises(GuaranteeError, match="approval is a Guarantee; pass privroute.Approval"):
        pr.Ledger.create(tmp_path / "city.ledger", "city", GUARANTEE)  # type: ignore[arg-type]
    assert not (tmp_path / "city.ledger").exists()


@pytest.mark.parametrize("share", [0.5, 0.01, 1 / 3])
def test_a_share_of_a_promise_costs_its_share_and_no_more(share: float) -> None:
    whole = Promise.of(GUARANTEE, 1.0, 2.0)
    part = whole.divided(share)
    assert part.rho <= share * whole.rho
    assert part.rho == pytest.approx(share * whole.rho, rel=1e-9)
    assert part.rho == gaussian_rho(part.scale, part.sensitivity)
    assert part.sensitivity == whole.sensitivity
    assert whole.divided(1.0) is whole
    assert sum(gaussian_rho(part.scale, each) for each in part.questions) <= part.rho


def test_a_promise_covers_its_questions_together() -> None:
    promised = Promise.of(GUARANTEE, 3.0, 4.0)
    assert 5.0 <= promised.sensitivity <= 5.0 * (1 + 1e-11)
    assert promised.questions == (3.0, 4.0)
    assert promised.scale == gaussian_scale(1.0, 1e-6, promised.sensitivity)
    assert Promise.of(GUARANTEE, 3.0).questions == (3.0,)
    assert Promise.of(GUARANTEE, 3.0, grid=0.25).integer_scale == Promise.of(GUARANTEE, 3.0).scale / 0.25


def test_noise_that_integers_cannot_hold_is_refused() -> None:
    fine = 2.0**-58
    assert Promise.of(GUARANTEE, 0.125, grid=fine).integer_scale < 2.0**60
    with pytest.raises(NoiseError, match="beyond the grid on which it is drawn"):
        Promise.of(GUARANTEE, 1.0, grid=fine)
    with pytest.raises(NoiseError, match="use fewer periods"):
        Promise.of(GUARANTEE, 0.125, grid=fine).divided(1e-3)


def test_a_measured_total_needs_bounds_and_says_how_sure_it_is() -> None:
    with pytest.raises(GuaranteeError, match="does not bound users"):
        with_total(STUDY, np.array([5]), 1.0)
    users = pr.Study(SCENARIO.network, USERS, replace(GUARANTEE, unit="user"))
    for noisy, scale, error in ((1000, 10.0, 0.01), (0, 10.0, 1.0)):
        study, found = with_total(users, np.array([noisy]), scale)
        assert found == pytest.approx(error, rel=1e-6)
        assert study.frame.total_per_h is not None
        assert study.frame.total_per_h > 0


def test_a_mechanism_sees_its_own_questions_under_the_scale_of_all() -> None:
    shares = Shares.of(STUDY, _promise((STUDY,)))
    assert len(shares.whole.questions) > len(shares.own)
    assert shares.for_mechanism.questions == shares.own
    assert shares.for_mechanism.scale == shares.whole.scale


def test_noise_with_a_state_is_asked_in_one_thread_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_DRAWN_AT_ONCE", 3)
    seen: list[tuple[int, int]] = []

    class Counting:
        def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
            seen.append((threading.get_ident(), int(values[0])))
            return values + int(scale)

    found = drawing._with_noise(np.arange(20), 5.0, Counting(), None)
    assert found.tolist() == [value + 5 for value in range(20)]
    assert [first for _, first in seen] == list(range(0, 20, 3))
    assert len({thread for thread, _ in seen}) == 1


def test_the_optimum_is_asked_for_with_all_options(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(from_counts, "solve_optimum", lambda _network, _demand, **given: asked.update(given))

    def progress(_phase: str, _share: float) -> None:
        pass

    start = pr.solve_optimum(SCENARIO.network, SCENARIO.demand, gap=1e-2).policy
    options = pr.Counts(fairness=0.25, gap=1e-3)
    from_counts.best_for(SCENARIO.network, SCENARIO.demand, options, progress=progress, start=start)
    assert asked == {"fairness": 0.25, "gap": 1e-3, "start": start, "progress": progress}


@pytest.mark.parametrize("grid", [1.0, 2.0**-10, 4.0])
def test_a_share_of_a_promise_costs_that_share_of_rho_on_any_grid(grid: float) -> None:
    whole = Promise.of(GUARANTEE, 3.0, grid=grid)
    part = whole.divided(0.25)
    assert part.scale == pytest.approx(2 * whole.scale)
    assert part.rho == pytest.approx(whole.rho / 4, rel=1e-9)


@pytest.mark.parametrize("smaller", [0.5, 0.999])
def test_noise_that_is_too_small_for_the_guarantee_is_refused(smaller: float, monkeypatch: pytest.MonkeyPatch) -> None:
    scale = vars(promise)["gaussian_scale"]
    monkeypatch.setattr(promise, "gaussian_scale", lambda *given: smaller * scale(*given))
    with pytest.raises(GuaranteeError, match="smaller than the guarantee needs"):
        Promise.of(GUARANTEE, 3.0, grid=0.25)


def test_questions_that_cost_more_than_their_sum_says_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(math, "hypot", lambda *given: max(given))
    with pytest.raises(GuaranteeError, match="smaller than the guarantee needs"):
        Promise.of(GUARANTEE, 3.0, 3.0, grid=0.25)
