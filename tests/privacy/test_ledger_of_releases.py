"""A ledger and the releases charged to it speak of the same data: of one unit, one clock, one choice of requests."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import privroute as pr
from privroute.errors import BudgetError, LedgerError
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.mechanism.learn import Announcement, learn_with_noise
from privroute.privacy.calibration import rho_to_epsilon
from privroute.privacy.ledger_file import transaction
from privroute.privacy.noise import OpenDPNoise

NETWORK = pr.Network([0, 1], [1, 0], pr.Latency.affine([1.0, 1.0], 1.0), ["a", "b"])
PAIRS = pr.Pairs([0, 1], [1, 0])
FIRST = dt.date(2026, 3, 2)


def history(days: int = 2, first: int = 0, **frame: Any) -> pr.DemandHistory:
    dates = [FIRST + dt.timedelta(days=first + day) for day in range(days)]
    return pr.DemandHistory(PAIRS, np.full((days, 2), 9), dates=dates, **frame)


def learn(data: pr.DemandHistory, guarantee: pr.Guarantee, ledger: pr.Ledger) -> None:
    pr.learn(NETWORK, data, guarantee, ledger=ledger)


def check(data: pr.DemandHistory, guarantee: pr.Guarantee, ledger: pr.Ledger) -> None:
    """What the command line does before it opens a trip file."""
    Announcement(pr.Study(NETWORK, data.frame, guarantee), ledger=ledger)


def stream(data: pr.DemandHistory, guarantee: pr.Guarantee, ledger: pr.Ledger) -> None:
    one = pr.Stream(ledger.path.parent / "stream", NETWORK, guarantee, ledger=ledger)
    for day in data.each_day():
        one.add_day(day)


@pytest.fixture
def no_noise_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_noise: OpenDPNoise, _values: NDArray[np.int64], _scale: float) -> NDArray[np.int64]:
        raise AssertionError("noise was drawn for a release that the ledger has to refuse")

    monkeypatch.setattr(OpenDPNoise, "add_integers", refuse)


def refused(
    place: Path, attempt: Callable[..., None], approval: pr.Approval, data: pr.DemandHistory, message: str
) -> None:
    ledger = pr.Ledger.create(place / "city.ledger", "city", approval)
    with pytest.raises(LedgerError, match=message):
        attempt(data, pr.Guarantee(0.1, 1e-6, approval.unit), ledger)  # type: ignore[arg-type]
    assert not ledger.account().charges


ZONES = [None, "Europe/Zurich", "UTC"]


@pytest.mark.usefixtures("no_noise_is_drawn")
@pytest.mark.parametrize("attempt", [learn, check, stream])
@pytest.mark.parametrize(("approved", "given_zone"), [(one, other) for one in ZONES for other in ZONES if one != other])
def test_days_of_another_clock_are_refused(
    tmp_path: Path, attempt: Callable[..., None], approved: str | None, given_zone: str | None
) -> None:
    """Days of two clocks overlap by hours that no scope shows, so one request could be in two days of the account."""
    approval = pr.Approval(1.0, 1e-6, time_zone=approved)
    refused(tmp_path, attempt, approval, history(time_zone=given_zone), "for dates and hours in")


@pytest.mark.parametrize("attempt", [learn, check, stream])
@pytest.mark.parametrize("zone", ZONES)
def test_days_of_the_approved_clock_are_charged(tmp_path: Path, attempt: Callable[..., None], zone: str | None) -> None:
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6, time_zone=zone))
    attempt(history(time_zone=zone), pr.Guarantee(0.1, 1e-6), ledger)
    assert len(ledger.account().charges) == {learn: 1, check: 0, stream: 2}[attempt]


@pytest.mark.usefixtures("no_noise_is_drawn")
@pytest.mark.parametrize("attempt", [learn, check])
@pytest.mark.parametrize(
    ("contribution", "message"),
    [
        (pr.Contribution("user", 20, 4, pre_bounded=True), "give every release these bounds"),
        (pr.Contribution("user", 19, 5, pre_bounded=True), "give every release these bounds"),
        (pr.Contribution("user", 20, 5), "this history made its own selection"),
    ],
)
def test_a_release_of_other_requests_than_the_kept_ones_is_refused(
    tmp_path: Path, attempt: Callable[..., None], contribution: pr.Contribution, message: str
) -> None:
    approval = pr.Approval(1.0, 1e-6, "user", None, 20, 5)
    refused(tmp_path, attempt, approval, history(contribution=contribution), message)


@pytest.mark.usefixtures("no_noise_is_drawn")
@pytest.mark.parametrize("attempt", [learn, check, stream])
def test_nights_are_refused_where_the_unit_is_a_users_day(tmp_path: Path, attempt: Callable[..., None]) -> None:
    data = history(contribution=pr.Contribution("user-day", 3), begins=dt.time(22), period_min=240.0)
    refused(tmp_path, attempt, pr.Approval(1.0, 1e-6, "user-day"), data, "passes midnight")


@pytest.mark.usefixtures("no_noise_is_drawn")
@pytest.mark.parametrize("attempt", [learn, check, stream])
def test_a_release_above_what_is_left_is_refused_before_any_trip_is_read(
    tmp_path: Path, attempt: Callable[..., None]
) -> None:
    refused(tmp_path, attempt, pr.Approval(0.0999, 1e-6), history(), "nothing was charged|Nothing was charged")


@pytest.mark.parametrize("unit", ["request", "user-day", "user"])
def test_a_charge_is_the_rho_of_the_certificate_on_all_its_days(tmp_path: Path, unit: Any) -> None:
    kept = None if unit == "request" else pr.Contribution(unit, 6, 2)
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6, unit))
    release = pr.learn(NETWORK, history(5, contribution=kept), pr.Guarantee(0.6, 1e-6, unit), ledger=ledger)
    (charge,) = ledger.account().charges
    assert charge.rho == release.certificate.rho
    assert release.certificate.sensitivity == pytest.approx(1.0 if kept is None else 12**0.5)
    assert release.certificate.noise_scale is not None
    ratio = (1.0 if kept is None else 12**0.5) / release.certificate.noise_scale
    # a twentieth of rho is for measuring how useful the release is
    assert charge.rho * 0.95 == pytest.approx(ratio**2 / 2, rel=1e-9)
    assert str(charge.scope) == "2026-03-02 to 2026-03-06"
    for first in range(5):  # each of its days is spent
        with pytest.raises(BudgetError):
            learn(history(1, first, contribution=kept), pr.Guarantee(0.9, 1e-6, unit), ledger)
    if unit != "user":
        learn(history(1, 5, contribution=kept), pr.Guarantee(0.9, 1e-6, unit), ledger)


@given(
    st.integers(1, 2**60) | st.integers(2**58, 2**59).map(lambda even: even // 64 * 64 + 3),
    st.sampled_from([0.01, 1.0, 30.0]),
)
def test_what_is_spent_is_never_rounded_down(grains: int, epsilon: float) -> None:
    """Totals have 58 bits and more, floats 53: a sum as a float is the next one above, if any."""
    approval = pr.Approval(epsilon, 1e-6)
    assert Fraction(approval.rho(grains)) >= grains * Fraction(approval.grain)


def test_a_charge_is_on_the_disk_when_it_is_granted(tmp_path: Path) -> None:
    """SQLite's EXTRA (3): the removal of the journal, which is the commit, is flushed too."""
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6))
    for kind in ("read", "write"):
        with transaction(ledger.path, kind) as file:
            assert file.execute("PRAGMA synchronous").fetchone() == (3,)
            assert file.execute("PRAGMA fullfsync").fetchone() == (1,)


def test_a_ledger_that_another_process_makes_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking whether there is a file and making one, another process may have made and charged it."""
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6))
    learn(history(), pr.Guarantee(0.5, 1e-6), ledger)
    monkeypatch.setattr("privroute.privacy.ledger.FileStore.is_there", lambda _: False)
    pr.Ledger.create(ledger.path, "town", pr.Approval(1.0, 1e-6))
    assert len(ledger.account().charges) == 1
    assert [one.dataset for one in pr.Ledger.all_in(ledger.path)] == ["city", "town"]


def test_a_day_of_a_stream_is_flushed_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a loss of power leaves a named file without its content, for a day that is charged."""
    flushed, right_fsync, right_replace = set(), os.fsync, Path.replace
    named = {}

    def fsync(handle: int) -> None:
        flushed.add(os.fstat(handle).st_ino)
        right_fsync(handle)

    def replace(path: Path, target: Path) -> Path:
        named[target.name] = path.stat().st_ino in flushed
        return right_replace(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    pr.Stream(tmp_path / "stream", NETWORK, pr.Guarantee(1.0, 1e-6)).add_day(history(1))
    assert named == {"pairs.parquet": True, "stream.json": True, "2026-03-02.parquet": True}
    assert (tmp_path / "stream").stat().st_ino in flushed


def test_a_certificate_states_what_all_releases_so_far_cost_together(tmp_path: Path) -> None:
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(2.0, 1e-6))
    guarantee = pr.Guarantee(epsilon=0.5, delta=1e-6)
    budgets = [pr.learn(NETWORK, history(), guarantee, ledger=ledger).certificate.budget for _ in range(2)]
    costs = [charge.rho for charge in ledger.account().charges]
    for number, budget in enumerate(budgets, start=1):
        assert not isinstance(budget, str)
        assert budget["spent_epsilon"] == pytest.approx(rho_to_epsilon(sum(costs[:number]), 1e-6), rel=1e-6)


def test_noise_with_a_seed_is_never_charged(tmp_path: Path) -> None:
    """A charge would say that a guarantee was given."""
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6))
    with pytest.raises(LedgerError, match=r"NOT PRIVATE \(mechanism counts, noise seeded\) cannot be charged"):
        learn_with_noise(NETWORK, history(), pr.Guarantee(0.1, 1e-6), "counts", SeededNoise(1), ledger=ledger)
    assert not ledger.account().charges


def test_a_kept_set_is_charged_with_the_bounds_that_were_approved(tmp_path: Path) -> None:
    """The charge itself compares them, not only the look at the budget before."""
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6, "user", kept_requests=3))
    kept = pr.Contribution("user", 3, 3, pre_bounded=True)
    learn(history(contribution=kept), pr.Guarantee(0.1, 1e-6, "user"), ledger)
    assert len(ledger.account().charges) == 1
