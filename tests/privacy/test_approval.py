"""What was approved, and what releases cost together, at the borders of their rules."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from pathlib import Path

import pytest

import privroute as pr
from privroute.errors import GuaranteeError, LedgerError
from privroute.privacy import ledger_file
from privroute.privacy.budget import Approval, Spending
from privroute.privacy.ledger_file import FileStore, chained
from privroute.privacy.scope import DAY_S, Profile, Scope
from privroute.privacy.sensitivity import summed_counts_sensitivity, sums_of_pairs_sensitivity

MORNING, EVENING = (Scope.of_days([date(2026, 3, 2)], begins_s=hour * 3600, length_s=3600) for hour in (7, 18))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (10.0, 1e-3)])
def test_the_total_in_grains_is_what_opendps_map_allows(epsilon: float, delta: float) -> None:
    approval = Approval(epsilon, delta)
    assert approval.epsilon_of(approval.total) <= epsilon
    assert approval.epsilon_of(approval.total) == pytest.approx(epsilon, rel=1e-7)
    assert approval.allows(approval.total)
    assert not approval.allows(int(approval.total * (1 + 1e-6)))


def test_a_total_that_the_map_just_allows_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the total by the closed form OpenDP's map decides, up to the approved epsilon and including it."""
    approval = Approval(1.0, 1e-6)
    monkeypatch.setattr(Approval, "epsilon_of", lambda _self, _grains: 1.0)
    assert approval.allows(approval.total + 1)


def test_users_days_cost_whole_days_and_requests_only_their_hours() -> None:
    for unit, both in (("request", 1), ("user-day", 2)):
        approval = Approval(1.0, 1e-6, unit=unit)
        spending = Spending(approval, [MORNING, EVENING], [0.01, 0.01])
        assert spending.spent == both * approval.grains(0.01)
        assert spending.within(MORNING) == both * approval.grains(0.01)


def test_a_part_of_the_kept_requests_may_be_as_large_as_all() -> None:
    assert Approval(1.0, 1e-6, unit="user", kept_requests=1, kept_per_pair=1).kept_per_pair == 1
    assert Approval(1.0, 1e-6, unit="user", kept_requests=3).kept_per_pair == 3


def test_other_days_are_offered_where_they_would_help(tmp_path: Path) -> None:
    promise = pr.Guarantee(1.0, 1e-6)
    for unit, name in (("request", "a"), ("user", "b")):
        approval = Approval(1.0, 1e-6, unit=unit)
        ledger = pr.Ledger.create(tmp_path / f"{name}.ledger", name, approval)
        guarantee = pr.Guarantee(1.0, 1e-6, unit=unit)  # type: ignore[arg-type]
        ledger.charge(MORNING, guarantee, 0.01, "counts")
        with pytest.raises(LedgerError) as refused:
            ledger.charge(MORNING, guarantee, 1.0, "counts")
        assert ("or other days" in str(refused.value)) == (unit == "request")
        assert (" on 2026-03-02T07:00" in str(refused.value)) == (unit == "request")
    ledger = pr.Ledger.create(tmp_path / "c.ledger", "c", Approval(1.0, 1e-6))
    with pytest.raises(LedgerError) as refused:  # nothing is spent on any day
        ledger.charge(MORNING, promise, 1.0, "counts")
    assert "or other days" not in str(refused.value)


def test_what_is_spent_between_two_intervals_is_in_neither() -> None:
    both = Scope.union([MORNING, EVENING])
    noon = Scope.of_days([date(2026, 3, 2)], begins_s=12 * 3600, length_s=3600)
    assert Profile([noon], [5]).peak(both) == 0
    assert Profile([noon, MORNING, EVENING], [5, 2, 3]).peak(both) == 3
    assert Profile([noon, MORNING], [5, 2]).peak(both) == 2


def test_a_folder_whose_name_is_no_text_is_noted(tmp_path: Path) -> None:
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", Approval(1.0, 1e-6))
    granted, _ = ledger.charge(MORNING, pr.Guarantee(1.0, 1e-6), 0.01, "counts")
    ledger.note_written(granted.entry, "release-\udcff")
    assert ledger.account().charges[0].folders[0].endswith("release-?")


def test_a_digest_is_that_of_the_entry_as_it_is_written() -> None:
    """So that ledgers of before are read: the texts as they are, in UTF-8."""
    row = ("Zürich", 1, 0.5, None)
    text = json.dumps(["before", *row], ensure_ascii=False)
    assert chained("before", row) == hashlib.sha256(text.encode("utf-8")).hexdigest()
    assert "ü" in text


def test_one_at_a_time_writes_to_a_ledger_and_others_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pr.Ledger.create(tmp_path / "city.ledger", "city", Approval(1.0, 1e-6))
    store = FileStore(tmp_path / "city.ledger")
    monkeypatch.setattr(ledger_file, "_WAIT_S", 0.05)
    with store.transaction("write"):
        with store.transaction("read") as records:
            assert records.names() == ["city"]
        with pytest.raises(LedgerError), store.transaction("write"):
            pass
    with store.transaction("write"):  # the one before has ended
        pass


def test_damage_that_sqlite_quotes_is_told_as_damage(tmp_path: Path) -> None:
    """The text of a table's definition is not UTF-8, and SQLite's message has it."""
    path = tmp_path / "city.ledger"
    pr.Ledger.create(path, "city", Approval(1.0, 1e-6))
    sound = path.read_bytes()
    path.write_bytes(sound.replace(b"CREATE TABLE charge", b"CR\xa3ATE TABLE charge"))
    assert path.read_bytes() != sound
    with pytest.raises(LedgerError, match="damaged"):
        pr.Ledger(path, "city").account()


def test_a_sensitivity_is_of_the_unit_that_is_protected() -> None:
    for sensitivity in (summed_counts_sensitivity, sums_of_pairs_sensitivity):
        with pytest.raises(GuaranteeError, match="user"):
            sensitivity(pr.Guarantee(1.0, 1e-6, unit="user"), None)


def test_the_end_of_a_day_reads_as_24_hours() -> None:
    days = [date(2026, 3, 2), date(2026, 3, 3)]
    assert str(Scope.of_days(days, begins_s=22 * 3600, length_s=2 * 3600)).endswith("22:00 to 24:00")
    assert str(Scope.of_days(days, begins_s=0, length_s=3600)).endswith("00:00 to 01:00")
    assert str(Scope.of_days(days, begins_s=0, length_s=DAY_S)) == "2026-03-02 to 2026-03-03"
