"""The ledger's file: granted charges survive accidents, and whatever is odd about the file is refused."""

from __future__ import annotations

import datetime as dt
import multiprocessing
import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import privroute as pr
from privroute.errors import BudgetError, HistoryError, LedgerError
from privroute.privacy import ledger_file
from privroute.privacy.calibration import gaussian_rho, gaussian_scale, rho_to_epsilon
from privroute.privacy.charging import scope_of
from privroute.privacy.ledger import Ledger, store_at
from privroute.privacy.scope import Scope
from privroute.study.calendar import Period
from privroute.study.contribution import Contribution

FIRST = dt.date(2026, 3, 2)
APPROVED = pr.Approval(1.0, 1e-6)
PROMISE = pr.Guarantee(0.1, 1e-6)
RHO = gaussian_rho(gaussian_scale(0.1, 1e-6, 1.0), 1.0)
PROCESSES, CHARGES = 8, 100 if os.environ.get("CI") == "true" else 40
NewPlace = Callable[[str], Any]
COPY_OF_THE_FIRST = (
    "UPDATE charge SET (dataset, at, mechanism, epsilon, delta, rho, scope, digest) = (SELECT dataset, at, mechanism, "
    "epsilon, delta, rho, scope, digest FROM charge WHERE entry = 1) WHERE entry = 2"
)


def days(first: int, last: int) -> Scope:
    return Scope.of_days([FIRST + dt.timedelta(days=number) for number in range(first, last + 1)])


@pytest.fixture
def ledger(new_place: NewPlace) -> Ledger:
    return Ledger.create(new_place("city.ledger"), "city-2026", APPROVED)


def spend(ledger: Ledger, scope: Scope, **changes: Any) -> int:
    charge, _ = ledger.charge(scope, PROMISE, RHO, "counts", **changes)
    return charge.entry


def test_what_is_charged_is_read_back(ledger: Ledger) -> None:
    charge, after = ledger.charge(days(1, 10), PROMISE, RHO, "counts")
    account = Ledger(ledger.store, "city-2026").account()
    assert account.charges == after.charges == (charge,)
    assert (charge.entry, charge.status, charge.rho, charge.epsilon) == (1, "charged", RHO, 0.1)
    assert account.approval == APPROVED
    assert account.spent_epsilon == pytest.approx(0.1, rel=1e-6)
    assert account.spent_epsilon <= 0.1


def test_overspending_is_refused_with_what_is_left_and_what_fits(ledger: Ledger) -> None:
    granted = 0
    with pytest.raises(BudgetError, match="epsilon 1 at delta 1e-6") as refusal:
        while True:
            spend(ledger, days(1, 10))
            granted += 1
    assert granted == len(ledger.account().charges)
    assert rho_to_epsilon(granted * RHO, 1e-6) <= 1.0 < rho_to_epsilon((granted + 1) * RHO, 1e-6)
    text = str(refusal.value)
    assert "2026-03-03T00:00" in text
    assert "Nothing was charged" in text
    fits = float(text.split("epsilon ")[2].partition(" ")[0])
    assert 0 < fits < 0.1
    with pytest.raises(BudgetError):
        spend(ledger, days(10, 20))
    spend(ledger, days(11, 20))
    smaller = gaussian_rho(gaussian_scale(fits, 1e-6, 1.0), 1.0)
    ledger.charge(days(1, 10), pr.Guarantee(fits, 1e-6), smaller, "counts")
    with pytest.raises(BudgetError, match="other days"):
        ledger.charge(days(1, 10), pr.Guarantee(fits, 1e-6), smaller, "counts")


def test_a_check_refuses_what_a_charge_would_and_charges_nothing(ledger: Ledger) -> None:
    whole = gaussian_rho(gaussian_scale(1.0, 1e-6, 1.0), 1.0)
    ledger.check(days(1, 10), pr.Guarantee(1.0, 1e-6), whole)
    assert not ledger.account().charges
    ledger.charge(days(1, 10), pr.Guarantee(1.0, 1e-6), whole, "counts")
    for refuse in (ledger.check, partial(ledger.charge, mechanism="counts")):
        with pytest.raises(BudgetError, match="which this release would use again"):
            refuse(days(10, 20), PROMISE, RHO)
        with pytest.raises(LedgerError, match="units do not mix"):
            refuse(days(11, 20), pr.Guarantee(0.1, 1e-6, "user"), RHO)
    ledger.check(days(11, 20), PROMISE, RHO)
    assert len(ledger.account().charges) == 1


def test_a_release_that_can_never_fit_is_refused_in_an_empty_ledger(ledger: Ledger) -> None:
    with pytest.raises(BudgetError, match="0 is spent, and with this release it would be .* epsilon 0.99. at delta"):
        ledger.charge(days(1, 2), pr.Guarantee(2.0, 1e-6), 0.1, "counts")
    assert not ledger.account().charges


def test_a_charge_without_a_release_stays_and_is_seen(ledger: Ledger) -> None:
    first, second = spend(ledger, days(1, 1)), spend(ledger, days(2, 2))
    ledger.note_written(second, "réleases/märz")
    ledger.note_written(second, Path("copy"))
    found = ledger.account().charges
    assert [(one.status, one.folders) for one in found] == [("charged", ()), ("released", ("réleases/märz", "copy"))]
    assert found[0].entry == first
    with pytest.raises(LedgerError, match="no entry 3"):
        ledger.note_written(3, "out")


def test_data_sets_of_one_file_are_accounts_of_their_own(ledger: Ledger) -> None:
    other = Ledger.create(ledger.store, "Zürich: Nächte\N{MOON VIEWING CEREMONY}", pr.Approval(0.1, 1e-6, "user-day"))
    spend(ledger, days(1, 1))
    with pytest.raises(LedgerError, match="units do not mix"):
        spend(other, days(1, 1))
    assert not other.account().charges
    assert [one.dataset for one in Ledger.all_in(ledger.store)] == ["city-2026", other.dataset]
    with pytest.raises(LedgerError, match="say which data set"):
        Ledger(ledger.store)
    with pytest.raises(LedgerError, match="there is no data set 'town'"):
        Ledger(ledger.store, "town")
    with pytest.raises(LedgerError, match="no entry 1"):
        other.note_written(1, "out")


def test_one_spelling_of_a_name(new_place: NewPlace) -> None:
    Ledger.create(new_place("one"), "Caf\N{LATIN SMALL LETTER E WITH ACUTE}", APPROVED)
    assert Ledger(new_place("one"), "Cafe\N{COMBINING ACUTE ACCENT}").dataset == Ledger(new_place("one")).dataset
    with pytest.raises(LedgerError, match="already exists"):
        Ledger.create(new_place("one"), "Cafe\N{COMBINING ACUTE ACCENT}", APPROVED)


@pytest.mark.parametrize("name", ["", " city", "a\nb", "\x1b[31m", "x" * 201, None, 3, "\ud800"])
def test_names_that_cannot_be_shown_are_refused(new_place: NewPlace, name: Any) -> None:
    with pytest.raises(LedgerError, match="name of a data set"):
        Ledger.create(new_place("one"), name, APPROVED)
    assert not store_at(new_place("one")).is_there()


def test_a_path_too_long_to_look_at_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / ("x" * 300), tmp_path / "/".join(["x" * 200] * 30)):
        with pytest.raises(LedgerError, match="there is no such ledger"):
            Ledger(path)
        with pytest.raises(LedgerError, match="cannot be made there"):
            Ledger.create(path, "city", APPROVED)


def test_what_was_approved_is_not_changed(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="already exists, and its approved budget cannot be changed"):
        Ledger.create(ledger.store, "city-2026", pr.Approval(5.0, 1e-6))
    assert ledger.account().approval == APPROVED


def test_a_time_zone_and_a_kept_set_hold_for_every_release(new_place: NewPlace) -> None:
    approval = pr.Approval(1.0, 1e-6, "request", time_zone="Europe/Zurich")
    zoned = Ledger.create(new_place("one"), "zoned", approval)
    with pytest.raises(
        LedgerError, match="for dates and hours in Europe/Zurich, but this release uses the local time of the files"
    ):
        spend(zoned, days(1, 1))
    spend(zoned, days(1, 1), time_zone="Europe/Zurich")
    assert zoned.account().approval == approval


def test_periods_that_pass_midnight_are_refused_for_user_days(new_place: NewPlace) -> None:
    ledger = Ledger.create(new_place("one"), "nights", pr.Approval(1.0, 1e-6, "user-day"))
    night = Scope.of_days([FIRST], begins_s=22 * 3600, length_s=4 * 3600)
    guarantee = pr.Guarantee(0.1, 1e-6, "user-day")
    with pytest.raises(LedgerError, match="passes midnight"):
        ledger.charge(night, guarantee, RHO, "daily")
    ledger.charge(days(1, 3), guarantee, RHO, "daily")


def test_a_kept_set_needs_its_bounds(new_place: NewPlace) -> None:
    ledger = Ledger.create(new_place("one"), "kept", pr.Approval(1.0, 1e-6, "user", None, 20, 5))
    guarantee, kept = pr.Guarantee(0.1, 1e-6, "user"), Contribution("user", 20, 5, pre_bounded=True, kept_set="one")
    with pytest.raises(LedgerError, match="20 requests of a user and 5 for a pair"):
        ledger.charge(days(1, 3), guarantee, RHO, "counts", contribution=Contribution("user", 10, 5, pre_bounded=True))
    with pytest.raises(LedgerError, match="give every release these bounds"):
        ledger.charge(days(1, 3), guarantee, RHO, "counts")
    for first in range(1, 9, 2):
        ledger.charge(days(first, first + 1), guarantee, RHO, "counts", contribution=kept)
    account = ledger.account()
    assert account.spent_epsilon == pytest.approx(0.1, rel=1e-6)


def test_histories_that_each_choose_what_they_keep_of_a_user_are_no_kept_set(new_place: NewPlace) -> None:
    """Two weeks with 20 requests each hold 40 of a user: by the rule of a kept set the second one would be free."""
    ledger = Ledger.create(new_place("one"), "kept", pr.Approval(1.0, 1e-6, "user", None, 20))
    with pytest.raises(LedgerError, match="this history made its own selection"):
        ledger.charge(days(1, 7), pr.Guarantee(0.1, 1e-6, "user"), RHO, "counts", contribution=Contribution("user", 20))
    assert not ledger.account().charges


def test_the_scope_of_a_history_is_its_period_on_its_dates() -> None:
    pairs = pr.Pairs([0], [1])
    dates = [FIRST, FIRST + dt.timedelta(days=1)]

    def scope(**frame: Any) -> str:
        return str(scope_of(pr.DemandHistory(pairs, [[1], [2]], dates=dates, **frame).frame))

    assert scope(period_min=60) == "2026-03-02 to 2026-03-03"
    assert scope(period_min=60, begins=dt.time(7)) == "2026-03-02 to 2026-03-03, 07:00 to 08:00"
    assert scope(period_min=433 / 60, begins=dt.time(7)) == "2026-03-02 to 2026-03-03, 07:00 to 07:07:13"
    assert scope(period_min=1, begins=dt.time(7, 0, 0, 5)) == "2026-03-02 to 2026-03-03, 07:00 to 07:01:01"
    assert scope(period_min=240, begins=dt.time(22)) == "2026-03-02 to 2026-03-03, 22:00 to 02:00"
    assert scope(period_min=1440) == "2026-03-02 to 2026-03-03"
    assert scope(period_min=1440, begins=dt.time(7)) == "2026-03-02T07:00 to 2026-03-04T07:00"


def test_a_period_longer_than_a_day_has_no_calendar() -> None:
    """Periods of two dates would overlap, and one request would be on two days."""
    frame = pr.DemandHistory(pr.Pairs([0], [1]), [[1]], dates=[FIRST], period_min=1440).frame
    with pytest.raises(HistoryError, match=r"period_min is 1440\.5, and a day has 1,440 minutes"):
        replace(frame.calendar, periods=(Period(1440.5),))


class TestOddFiles:
    """Fail closed: neither is anything charged, nor is anything believed."""

    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Ledger:
        return Ledger.create(tmp_path / "city.ledger", "city-2026", APPROVED)

    def refused(self, path: Path, message: str) -> None:
        for attempt in (lambda: Ledger(path, "city-2026"), lambda: Ledger.all_in(path)):
            with pytest.raises(LedgerError, match=message):
                attempt()

    def test_a_missing_file(self, tmp_path: Path) -> None:
        self.refused(tmp_path / "none", "there is no such ledger; make one with privroute budget init")
        assert not (tmp_path / "none").exists()

    def test_a_folder(self, tmp_path: Path) -> None:
        self.refused(tmp_path, "is a folder")
        with pytest.raises(LedgerError, match="is a folder"):
            Ledger.create(tmp_path, "city", APPROVED)

    @pytest.mark.parametrize("content", [b"", b"x", b"date,origin\n" * 1000, b"SQLite format 3\0" + b"\0" * 5000])
    def test_another_file(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "file").write_bytes(content)
        self.refused(tmp_path / "file", "it is not a ledger|damaged")
        with pytest.raises(LedgerError):
            Ledger.create(tmp_path / "file", "city", APPROVED)
        assert (tmp_path / "file").read_bytes() == content

    def test_another_database(self, tmp_path: Path) -> None:
        with sqlite3.connect(tmp_path / "file") as file:
            file.execute("CREATE TABLE dataset (name)")
        file.close()
        self.refused(tmp_path / "file", "it is not a ledger")

    @pytest.mark.parametrize("version", [0, 2, 99])
    def test_another_version(self, ledger: Ledger, version: int) -> None:
        change(ledger, f"PRAGMA user_version = {version}")
        self.refused(ledger.path, f"format {version}, and this privroute reads format 1")

    @pytest.mark.parametrize(
        "statement",
        [
            "CREATE TABLE more (a)",
            "DROP TABLE written",
            "CREATE TRIGGER forget AFTER INSERT ON charge BEGIN DELETE FROM charge; END",
            "CREATE VIEW seen AS SELECT * FROM charge",
            "PRAGMA journal_mode = WAL",
        ],
    )
    def test_other_tables(self, ledger: Ledger, statement: str) -> None:
        change(ledger, statement)
        self.refused(ledger.path, "tables of the ledger were changed")

    @pytest.mark.parametrize(
        ("statement", "message"),
        [
            ("UPDATE charge SET rho = rho / 2 WHERE entry = 2", "entry 2 of the ledger was changed"),
            ("UPDATE charge SET scope = replace(scope, '03', '04') WHERE entry = 1", "entry 1 of the ledger"),
            ("UPDATE charge SET scope = 'x' WHERE entry = 1", "entry 1 of the ledger"),
            ("UPDATE charge SET rho = 'x' WHERE entry = 1", "entry 1 of the ledger"),
            ("UPDATE charge SET rho = x'00' WHERE entry = 1", "cannot be read"),
            ("UPDATE charge SET dataset = 'other' WHERE entry = 3", "entry 3 of the ledger"),
            (COPY_OF_THE_FIRST, "entry 2 of the ledger was changed"),
            ("DELETE FROM charge WHERE entry = 2", "entry 2 of the ledger was changed or lost"),
            ("DELETE FROM charge WHERE entry = 3", "entries after 2 of the ledger were lost"),
            ("DELETE FROM charge", "entries after 0 of the ledger were lost"),
            ("UPDATE dataset SET epsilon = 100", "what was approved for 'city-2026' was changed"),
            ("UPDATE dataset SET unit = 'user'", "what was approved"),
            ("DELETE FROM dataset", "what was approved"),
        ],
    )
    def test_changed_entries(self, ledger: Ledger, statement: str, message: str) -> None:
        for number in (1, 2, 3):
            spend(ledger, days(number, number))
        change(ledger, statement)
        with pytest.raises(LedgerError, match=message):
            ledger.account()
        with pytest.raises(LedgerError, match=message):
            spend(ledger, days(9, 9))

    def test_entries_rewritten_with_new_digests_are_found_only_by_certificates(self, ledger: Ledger) -> None:
        """What docs/limits.md says: digests without a key stop no cheat, and published digests then no longer fit."""
        for number in (1, 2, 3):
            spend(ledger, days(number, number))
        published = [charge.digest for charge in ledger.account().charges]
        with sqlite3.connect(ledger.path) as file:
            file.execute("UPDATE charge SET rho = rho / 100 WHERE entry = 2")
            digest = ""
            for entry, *row, _ in file.execute("SELECT * FROM charge ORDER BY entry").fetchall():
                digest = ledger_file.chained(digest, tuple(row))
                file.execute("UPDATE charge SET digest = ? WHERE entry = ?", (digest, entry))
        file.close()
        rewritten = ledger.account().charges
        assert rewritten[1].rho == RHO / 100
        assert [charge.digest == before for charge, before in zip(rewritten, published, strict=True)] == [
            True,
            False,
            False,
        ]

    def test_flipped_bytes_and_cut_files_never_restore_a_budget(self, ledger: Ledger, tmp_path: Path) -> None:
        for number in range(12):
            spend(ledger, days(number, number + 3))
        whole, before = ledger.path.read_bytes(), ledger.account()
        assert len(whole) > 4096
        for position in range(0, len(whole), 97):
            path = tmp_path / "hurt"
            path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x41]) + whole[position + 1 :])
            damaged(path, before)
            path.write_bytes(whole[:position])
            damaged(path, before)

    @pytest.mark.skipif(os.geteuid() == 0, reason="permissions: root may write everywhere")
    def test_a_file_that_may_not_be_written(self, ledger: Ledger) -> None:
        ledger.path.chmod(0o444)
        with pytest.raises(LedgerError, match="read-only"):
            spend(ledger, days(1, 1))
        assert ledger.account().charges == ()

    def test_a_read_only_file_is_refused_for_charges(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        right = ledger_file._address
        monkeypatch.setattr(ledger_file, "_address", lambda path, _mode: right(path, "ro"))
        with pytest.raises(LedgerError, match="it is read-only"):
            spend(ledger, days(1, 1))
        assert ledger.account().charges == ()

    def test_a_place_where_no_file_can_be_made(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match="cannot be made there"):
            Ledger.create(tmp_path / "no" / "folder", "city", APPROVED)
        for path in (None, 3, b"city", "a\0b"):
            with pytest.raises(LedgerError, match="path of a ledger"):
                Ledger(path, "city")  # type: ignore[arg-type]

    def test_a_ledger_that_is_held_by_another(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ledger_file, "_WAIT_S", 0.05)
        other = sqlite3.connect(ledger.path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="another process has held it"):
            spend(ledger, days(1, 1))
        other.close()
        spend(ledger, days(1, 1))

    def test_an_unfinished_transaction_of_a_killed_process_is_undone(self, ledger: Ledger, tmp_path: Path) -> None:
        spend(ledger, days(1, 1))
        file = sqlite3.connect(ledger.path, isolation_level=None)
        file.execute("PRAGMA cache_spill = 1")
        file.execute("PRAGMA cache_size = 1")
        file.execute("BEGIN IMMEDIATE")
        for number in range(300):
            file.execute("INSERT INTO written VALUES (1, 'now', ?)", (f"{number}" * 300,))
        journal = Path(f"{ledger.path}-journal")
        assert journal.stat().st_size
        for path in (ledger.path, journal):  # the disk as kill -9 would leave it
            shutil.copy(path, tmp_path / path.name.replace("city", "copy"))
        file.close()
        copy = Ledger(tmp_path / "copy.ledger").account()
        assert [one.folders for one in copy.charges] == [()]


def change(ledger: Ledger, statement: str) -> None:
    file = sqlite3.connect(ledger.path, isolation_level=None)
    file.execute(statement)
    file.close()


def damaged(path: Path, before: Any) -> None:
    """Either refused, or nothing that matters was hit."""
    try:
        found = Ledger(path, "city-2026").account()
    except LedgerError:
        return
    assert found.approval == before.approval
    assert found.charges == before.charges


def charge_often(path: Any, number: int, wanted: int, done: Any) -> None:
    """In a process of its own: charge scopes that overlap those of the others; report what was granted."""
    ledger = Ledger(path, "shared")
    granted = []
    for turn in range(wanted):
        try:
            charge, _ = ledger.charge(days((number + turn) % 5, 6), PROMISE, RHO, f"process {number}")
        except BudgetError:
            continue
        granted.append(charge.entry)
    done.put((number, granted))


@pytest.mark.slow
def test_processes_that_charge_at_once_never_overspend_and_lose_nothing(new_place: NewPlace) -> None:
    """Eight processes, 40 or 100 charges each, of which fewer than half fit."""
    fitting = 150
    assert 2 * fitting < PROCESSES * CHARGES
    approval = pr.Approval(rho_to_epsilon((fitting + 0.5) * RHO, 1e-6), 1e-6)
    ledger = Ledger.create(new_place("shared.ledger"), "shared", approval)
    context = multiprocessing.get_context("spawn")
    done = context.Queue()
    work = [
        context.Process(target=charge_often, args=(ledger.store, number, CHARGES, done)) for number in range(PROCESSES)
    ]
    for process in work:
        process.start()
    told = dict(done.get(timeout=300) for _ in work)
    for process in work:
        process.join()
    account = ledger.account()
    entries = sorted(entry for granted in told.values() for entry in granted)
    assert entries == [one.entry for one in account.charges]
    assert all(
        one.mechanism == f"process {number}" for number in told for one in account.charges if one.entry in told[number]
    )
    assert account.spent_epsilon <= approval.epsilon
    assert account.spending.spent <= approval.total
    assert len(entries) == fitting  # every scope has day 5


class TestKeptSets:
    """Releases from one kept set of users' trips share times; what is read from another is charged at all times."""

    def ledger(self, new_place: NewPlace) -> Ledger:
        approval = pr.Approval(10.0, 1e-6, "user", None, 5, 5)
        return Ledger.create(new_place("city"), "city", approval)

    def spend(self, ledger: Ledger, day: int, kept_set: str | None, rho: float = 0.01) -> int:
        kept = Contribution("user", 5, pre_bounded=True, kept_set=kept_set)
        scope = Scope.of_days([dt.date(2026, 3, day)])
        return ledger.charge(scope, pr.Guarantee(0.5, 1e-6, "user"), rho, "counts", contribution=kept)[0].entry

    def test_one_kept_set_costs_what_overlaps(self, new_place: NewPlace) -> None:
        ledger = self.ledger(new_place)
        for day in (2, 3, 4):
            self.spend(ledger, day, "one")
        account = ledger.account()
        assert account.approval.rho(account.spending.spent) == pytest.approx(0.01)
        assert [charge.times.all_times for charge in account.charges] == [False] * 3

    @pytest.mark.parametrize("other", ["two", None])
    def test_another_one_and_one_without_a_name_add_up(self, new_place: NewPlace, other: str | None) -> None:
        ledger = self.ledger(new_place)
        self.spend(ledger, 2, "one")
        self.spend(ledger, 3, other)
        self.spend(ledger, 4, "one")
        account = ledger.account()
        assert account.approval.rho(account.spending.spent) == pytest.approx(0.02)
        assert [charge.times.all_times for charge in account.charges] == [False, True, False]
        assert account.charges[1].scope == Scope.always()
