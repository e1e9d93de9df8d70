"""A lost ledger, built again from certificates and streams, never grants more than the one that was lost."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.release.days import day_histories

import privroute as pr
from privroute.errors import BudgetError, LedgerError
from privroute.mechanism.lost_ledger import (
    KnownCharge,
    _spent,
    adopt_stream,
    charges_of_releases,
    charges_of_stream,
    rebuild,
    verify,
)
from privroute.privacy.charged_times import ChargedTimes
from privroute.privacy.charging import scope_of
from privroute.privacy.scope import Scope
from privroute.study.calendar import Calendar

FIRST = date(2026, 3, 2)
CITY = pr.sioux_falls()


def made(folder: Path, ledger: pr.Ledger, first: int, days: int, **more: Any) -> Path:
    """A small release of some days, charged and saved."""
    start = FIRST + timedelta(days=first)
    calendar = Calendar.of(["07:00-09:00/60min"], (start, start + timedelta(days=days - 1)), **more)
    frame = pr.Frame(CITY.demand.pairs, calendar)
    study = pr.Study(CITY.network, frame, pr.Guarantee(0.2, 1e-6), pr.Counts(gap=1e-3), quality_share=0.0)
    place = folder / f"release-{first}-{days}"
    pr.learn(study, day_histories(frame), ledger=ledger).save(place)
    return place


@pytest.fixture
def ledger(tmp_path: Path) -> pr.Ledger:
    return pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6))


def test_a_ledger_is_rebuilt_from_release_folders(tmp_path: Path, ledger: pr.Ledger) -> None:
    folders = [made(tmp_path, ledger, 0, 5), made(tmp_path, ledger, 3, 5)]
    known = charges_of_releases(folders)
    assert all(finding.status == "same" for finding in verify(ledger.account(), known))
    again = rebuild(tmp_path / "again.ledger", known)
    account = again.account()
    assert account.approval == ledger.account().approval
    # entries written within the same second are even the same
    assert {finding.status for finding in verify(account, known)} <= {"rebuilt", "same"}
    before, after = ledger.account().spending, account.spending
    assert after.spent >= before.spent
    for days in range(1, 20):
        scope = Scope.of_days([FIRST + timedelta(days=days)])
        assert after.left(scope) <= before.left(scope)
    with pytest.raises(LedgerError, match="already exists"):
        rebuild(tmp_path / "again.ledger", known)


def test_of_two_releases_that_are_alike_the_lost_one_is_missed(tmp_path: Path, ledger: pr.Ledger) -> None:
    """An older copy of the ledger has one of them; a rebuilt one has as many charges as releases were known."""
    first = made(tmp_path / "a", ledger, 0, 5)
    older = tmp_path / "older.ledger"
    shutil.copy(tmp_path / "city.ledger", older)
    second = made(tmp_path / "b", ledger, 0, 5)
    known = charges_of_releases([first, second])
    assert [finding.status for finding in verify(pr.Ledger(older, "city").account(), known)] == ["same", "missing"]
    assert [finding.status for finding in verify(pr.Ledger(older, "city").account(), known[1:])] == ["missing"]
    account = rebuild(tmp_path / "again.ledger", known).account()
    assert len({finding.entry for finding in verify(account, known) if finding.good}) == 2
    assert all(finding.good for finding in verify(account, [*known, *known]))
    partly = rebuild(tmp_path / "partly.ledger", known[:1]).account()
    assert [finding.good for finding in verify(partly, known)] == [True, False]


def test_entries_for_what_was_lost_may_stand_for_as_much_as_they_cost(tmp_path: Path, ledger: pr.Ledger) -> None:
    folders = [made(tmp_path / f"{at}", ledger, first, 5) for at, first in enumerate((0, 3, 3, 1))]
    known = charges_of_releases(folders)
    account = rebuild(tmp_path / "again.ledger", known[3:]).account()  # entries 1 to 3 are lost
    assert [finding.status for finding in verify(account, known)] == ["perhaps"] * 3 + ["rebuilt"]
    assert [finding.good for finding in verify(account, known)] == [False] * 3 + [True]
    assert {finding.status for finding in verify(account, [known[0]] * 9)} == {"perhaps"}  # copies of one release
    # of releases that share days only one fits
    small = rebuild(tmp_path / "small.ledger", known[1:2]).account()  # entry 1 is lost
    found = {finding.place: finding.status for finding in verify(small, known)}
    assert [found[os.fspath(folder)] for folder in folders] == ["perhaps", "rebuilt", "missing", "missing"]


def test_what_was_lost_is_compared_where_the_charge_is(tmp_path: Path, ledger: pr.Ledger) -> None:
    """Other days, where less was charged, leave no room for it."""
    known = charges_of_releases([made(tmp_path / f"{at}", ledger, first, 5) for at, first in enumerate((1, 40, 0))])
    account = rebuild(tmp_path / "again.ledger", known[2:]).account()
    another = replace(known[0], budget={**known[0].budget, "digest": "0" * 64}, place="another")
    found = verify(account, [*known[:2], another])
    assert [finding.status for finding in found] == ["perhaps", "perhaps", "missing"]


@pytest.mark.parametrize("unit", ["request", "user-day", "user"])
def test_what_was_charged_before_the_last_known_release_is_never_missed(tmp_path: Path, unit: Any) -> None:
    """Theorem 7: the entries for what was lost are large enough for all of it together."""
    lost = pr.Ledger.create(tmp_path / "lost.ledger", "city", pr.Approval(3.0, 1e-6, unit))
    known = []
    kept = None if unit == "request" else pr.Contribution(unit, 2)
    for first in (0, 4, 2, 9, 0, 3):
        start = FIRST + timedelta(days=first)
        calendar = Calendar.of(["07:00-08:00"], (start, start + timedelta(days=8)))
        scope = scope_of(pr.Frame(CITY.demand.pairs, calendar, contribution=kept))
        promised = pr.Guarantee(0.3, 1e-6, unit)
        charge, account = lost.charge(scope, promised, 0.001 * (first + 1), "counts", contribution=kept)
        budget = {
            "dataset": "city",
            "entry": charge.entry,
            "digest": charge.digest,
            "approved_epsilon": 3.0,
            "approved_delta": 1e-6,
            "spent_epsilon": account.spent_epsilon,
        }
        known.append(KnownCharge(budget, promised, charge.rho, ChargedTimes(scope), "counts", None, f"{charge.entry}"))
    account = rebuild(tmp_path / "again.ledger", known[-1:]).account()
    assert {finding.status for finding in verify(account, known[:-1])} == {"perhaps"}
    more = replace(known[3], rho=3 * sum(each.rho for each in known), budget={**known[3].budget, "digest": "another"})
    assert [finding.status for finding in verify(account, [more])] == ["missing"]


@pytest.mark.parametrize("unit", ["request", "user-day", "user"])
def test_whatever_is_lost_with_the_ledger_nothing_more_is_granted(tmp_path: Path, unit: Any) -> None:
    for seed in range(25):
        chance = random.Random(seed)  # noqa: S311
        approval = pr.Approval(3.0, 1e-6, unit)
        lost = pr.Ledger.create(tmp_path / f"lost{seed}.ledger", "city", approval)
        known = []
        for _ in range(chance.randint(1, 6)):
            start = FIRST + timedelta(days=chance.randint(0, 20))
            kinds = chance.choice([None, {"a": "mon-fri", "b": "sat,sun"}])
            calendar = Calendar.of(
                [chance.choice(["hourly", "07:00-08:00"])], (start, start + timedelta(days=8)), day_types=kinds
            )
            kept = None if unit == "request" else pr.Contribution(unit, 2)
            scope = scope_of(pr.Frame(CITY.demand.pairs, calendar, contribution=kept))
            promised, rho = pr.Guarantee(0.3, 1e-6, unit), chance.choice([0.001, 0.004, 0.02])
            try:
                charge, account = lost.charge(scope, promised, rho, "counts", contribution=kept)
            except BudgetError:
                break
            budget = {
                "dataset": "city",
                "entry": charge.entry,
                "digest": charge.digest,
                "approved_epsilon": 3.0,
                "approved_delta": 1e-6,
                "spent_epsilon": account.spent_epsilon,
            }
            known.append(
                KnownCharge(budget, promised, rho, ChargedTimes(scope), "counts", None, f"release {charge.entry}")
            )
        # the last one is known, of the others any may be lost
        some = [each for each in known[:-1] if chance.random() < 0.5] + known[-1:]
        again = rebuild(tmp_path / f"again{seed}.ledger", some)
        before, after = lost.account().spending, again.account().spending
        for day in range(-3, 40):
            for begins in (0, 7, 12):
                scope = Scope.of_days([FIRST + timedelta(days=day)], begins_s=begins * 3600, length_s=3600)
                assert after.left(scope) <= before.left(scope)
        assert after.spent <= before.spent * (1 + 1e-6) + 1  # and what was spent in all is not overstated


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3])
def test_the_epsilon_that_a_certificate_names_is_turned_into_no_less_than_was_spent(delta: float) -> None:
    approval = pr.Approval(3.0, delta)
    for part in (1e-6, 0.01, 0.3, 0.999, 1.0):
        grains = int(part * approval.total)
        epsilon = approval.epsilon_of(grains)
        found = _spent(approval, epsilon)
        assert grains <= found <= approval.total
        assert approval.epsilon_of(int(found * (1 - 2e-9)) - approval.total // 10**9) <= epsilon  # and hardly more


def test_what_was_charged_since_is_charged_everywhere(tmp_path: Path, ledger: pr.Ledger) -> None:
    known = charges_of_releases([made(tmp_path, ledger, 0, 5)])
    again = rebuild(tmp_path / "again.ledger", known, spent_since=0.01)
    elsewhere = Scope.of_days([date(2030, 1, 1)])
    assert again.account().spending.left(elsewhere) < ledger.account().spending.left(elsewhere) - 0.0099


def test_releases_of_another_data_set_or_without_a_ledger_are_refused(tmp_path: Path, ledger: pr.Ledger) -> None:
    first = made(tmp_path, ledger, 0, 5)
    other = pr.Ledger.create(tmp_path / "other.ledger", "other", pr.Approval(1.0, 1e-6))
    second = made(tmp_path, other, 6, 5)
    with pytest.raises(LedgerError, match="one data set at a time"):
        rebuild(tmp_path / "again.ledger", charges_of_releases([first, second]))
    assert [finding.status for finding in verify(ledger.account(), charges_of_releases([second]))] == ["missing"]
    pr.learn(CITY.network, pr.simulate_days(CITY.demand, days=2, seed=1), pr.Guarantee(1.0, 1e-6)).save(
        tmp_path / "free"
    )
    with pytest.raises(LedgerError, match="was not tracked"):
        charges_of_releases([tmp_path / "free"])


def day(at: int) -> pr.DemandHistory:
    calendar = Calendar.of("07:00-08:00", (FIRST + timedelta(days=at), FIRST + timedelta(days=at)))
    counts = pr.simulate_days(CITY.demand, days=1, seed=at).counts
    return pr.DemandHistory.of(pr.Frame(CITY.demand.pairs, calendar), counts)


def test_a_stream_is_adopted_by_the_rebuilt_ledger_and_goes_on(tmp_path: Path, ledger: pr.Ledger) -> None:
    promised = pr.Guarantee(0.2, 1e-6)
    stream = pr.Stream(tmp_path / "stream", CITY.network, promised, pr.Daily(gap=1e-3), ledger=ledger)
    for at in range(3):
        release = stream.add_day(day(at))
    release.save(tmp_path / "out")
    known = charges_of_stream(tmp_path / "stream")
    assert [finding.status for finding in verify(ledger.account(), known)] == ["same"] * 3
    assert [charge.mechanism for charge in known] == ["daily"] * 3
    of_all = charges_of_releases([tmp_path / "out"])  # names the last day's entry; its times are those of all days
    assert [finding.status for finding in verify(ledger.account(), of_all)] == ["same"]
    again = rebuild(tmp_path / "again.ledger", of_all, known)
    assert all(finding.good for finding in verify(again.account(), [*of_all, *known]))
    other = pr.Ledger.create(tmp_path / "other.ledger", "city", pr.Approval(1.0, 1e-6))
    for each in reversed(known):  # under other numbers and digests, and one day after the other
        assert verify(other.account(), [*of_all, *known])[0].status == "missing"
        other.enter_known([(each.times, each.guarantee, each.rho, each.mechanism, "")])
    assert [finding.status for finding in verify(other.account(), [*of_all, *known])] == ["rebuilt"] * 4
    assert verify(other.account(), of_all)[0].status == "missing"  # without the stream it may be of another one
    (dearer,) = (replace(each, rho=2 * each.rho) for each in of_all)
    assert verify(ledger.account(), [dearer])[0].status == "cheaper"
    with pytest.raises(LedgerError, match="is not what"):
        rebuild(tmp_path / "forged.ledger", of_all, [replace(each, rho=each.rho / 100) for each in known])
    assert len(again.account().charges) >= 3
    with pytest.raises(pr.PrivrouteError, match="charged to the data set"):
        pr.Stream(tmp_path / "stream", CITY.network, promised, ledger=again).add_day(day(3))
    empty = pr.Ledger.create(tmp_path / "empty.ledger", "city", pr.Approval(1.0, 1e-6))
    with pytest.raises(LedgerError, match="3 of 3 days of the stream are not charged"):
        adopt_stream(empty, tmp_path / "stream")
    assert adopt_stream(again, tmp_path / "stream") == 3
    before = again.account().spending.spent
    pr.Stream(tmp_path / "stream", CITY.network, promised, pr.Daily(gap=1e-3), ledger=again).add_day(day(3))
    assert again.account().spending.spent == before  # another day, no more for any request
    assert len(pr.Stream(tmp_path / "stream", CITY.network, promised, ledger=again).dates) == 4


def test_naming_the_time_zone_later_loosens_nothing(tmp_path: Path, ledger: pr.Ledger) -> None:
    made(tmp_path, ledger, 0, 1)
    before = ledger.account().spending
    ledger.set_time_zone("Asia/Tokyo")
    account = ledger.account()
    assert account.approval.time_zone == "Asia/Tokyo"
    for hours in range(-80, 120):
        scope = Scope.of_days([FIRST + timedelta(hours=hours, days=1)], begins_s=0, length_s=3600)
        assert account.spending.left(scope) <= before.left(scope)
    # the same moment by another clock is at most 26 hours away, and is charged there
    (run,) = account.charges[0].scope.runs
    for seconds in (1 - 26 * 3600, -4 * 3600, 5 * 3600, 26 * 3600 - 1):
        assert account.spending.within(Scope(((run[0] + seconds, 1, 1),))) == before.spent
    assert account.spending.spent == before.spent  # no moment is charged twice for one release
    assert account.spending.within(Scope.of_days([FIRST + timedelta(days=30)])) == 0
    with pytest.raises(LedgerError, match="is Asia/Tokyo, and stays"):
        ledger.set_time_zone("Europe/Berlin")
    with pytest.raises(pr.PrivrouteError, match="time_zone"):
        pr.Ledger.create(tmp_path / "b.ledger", "b", pr.Approval(1.0, 1e-6)).set_time_zone("Nowhere")


def test_ledger_and_releases_know_each_other_by_digest(tmp_path: Path, ledger: pr.Ledger) -> None:
    folders = [made(tmp_path, ledger, 0, 5), made(tmp_path, ledger, 3, 5)]
    account = ledger.account()
    digests = [hashlib.sha256((Path(folder) / "release.json").read_bytes()).hexdigest() for folder in folders]
    assert [charge.releases for charge in account.charges] == [(digest,) for digest in digests]
    assert [charge.folders for charge in account.charges] == [(str(folder),) for folder in folders]
    assert [finding.listed for finding in verify(account, charges_of_releases(folders))] == [True, True]
    pr.load_release(folders[0]).save(tmp_path / "again")  # the same certificate; the ledger knows its bytes
    changed = json.loads((Path(folders[1]) / "release.json").read_text())
    (Path(folders[1]) / "release.json").write_text(json.dumps({**changed, "quality": None}))
    found = verify(account, charges_of_releases([tmp_path / "again", folders[1]]))
    assert [(finding.good, finding.listed) for finding in found] == [(True, True), (True, False)]
