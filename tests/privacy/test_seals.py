"""Entries that are sealed with a key that is kept elsewhere: who may write to the ledger cannot change them unseen."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import privroute as pr
from privroute.cli.app import app
from privroute.errors import LedgerError
from privroute.privacy.ledger_file import chained
from privroute.privacy.moved_ledger import move_ledger
from privroute.privacy.scope import Scope
from privroute.privacy.seals import make_key, read_key

GUARANTEE = pr.Guarantee(0.1, 1e-6)


def spend(ledger: pr.Ledger, day: int) -> None:
    ledger.charge(Scope.of_days([dt.date(2026, 3, day)]), GUARANTEE, 1e-4, "counts")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_key(tmp_path / "city.key")
    return tmp_path / "city.key"


def test_every_charge_is_sealed_and_from_then_on_needs_the_key(
    new_place: Callable[[str], Any], key: Path, tmp_path: Path
) -> None:
    place = new_place("city")
    plain = pr.Ledger.create(place, "city", pr.Approval(1.0, 1e-6))
    spend(plain, 2)
    sealed = pr.Ledger(place, key=key)
    assert sealed.unsealed() == [1]
    spend(sealed, 3)
    spend(sealed, 4)
    sealed.note_written(2, "out")
    assert sealed.unsealed() == [1]
    assert [charge.folders for charge in sealed.account().charges] == [(), ("out",), ()]
    assert [charge.status for charge in sealed.account().charges] == ["charged", "released", "charged"]
    with pytest.raises(LedgerError, match="are sealed with a key; nothing was charged"):
        spend(plain, 5)
    make_key(tmp_path / "other.key")
    with pytest.raises(LedgerError, match="entry 2 of 'city' was sealed with another key, or changed"):
        spend(pr.Ledger(place, key=tmp_path / "other.key"), 5)
    assert len(plain.account().charges) == 3
    with pytest.raises(LedgerError, match="pass key"):
        plain.unsealed()
    assert "city.key" not in repr(sealed)
    assert read_key(key).decode() not in repr(sealed)


def test_a_time_zone_is_named_with_the_key_and_seals_stay_right(new_place: Callable[[str], Any], key: Path) -> None:
    place = new_place("city")
    pr.Ledger.create(place, "city", pr.Approval(1.0, 1e-6))
    sealed = pr.Ledger(place, key=key)
    spend(sealed, 3)
    with pytest.raises(LedgerError, match="are sealed with a key"):
        pr.Ledger(place).set_time_zone("UTC")
    sealed.set_time_zone("UTC")
    assert sealed.unsealed() == []


def test_entries_that_were_rewritten_with_new_digests_are_found(tmp_path: Path, key: Path) -> None:
    """The digests have no key, so whoever writes to the file can make them anew; the seals cannot be."""
    path = tmp_path / "city.ledger"
    pr.Ledger.create(path, "city", pr.Approval(1.0, 1e-6))
    ledger = pr.Ledger(path, key=key)
    for day in (2, 3, 4):
        spend(ledger, day)
    file = sqlite3.connect(path, isolation_level=None)
    file.executescript(
        "".join(
            f"DROP TRIGGER IF EXISTS {name};"
            for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        )
    )
    digest = ""
    for row in file.execute("SELECT * FROM charge ORDER BY entry").fetchall():
        entry, *rest = row[:-1]
        if entry >= 2:
            rest[5] = 1e-9  # cheaper
        digest = chained(digest, tuple(rest))
        file.execute("UPDATE charge SET rho = ?, digest = ? WHERE entry = ?", (rest[5], digest, entry))
    file.close()
    assert ledger.account().charges[1].rho == 1e-9  # the digests are right
    assert ledger.unsealed() == [2, 3]
    with pytest.raises(LedgerError, match="entry 2 of 'city' was sealed with another key, or changed"):
        spend(ledger, 5)


def test_a_moved_ledger_keeps_its_seals(tmp_path: Path, key: Path) -> None:
    pr.Ledger.create(tmp_path / "old.ledger", "city", pr.Approval(1.0, 1e-6))
    spend(pr.Ledger(tmp_path / "old.ledger", key=key), 2)
    move_ledger(tmp_path / "old.ledger", tmp_path / "new.ledger")
    assert pr.Ledger(tmp_path / "new.ledger", key=key).unsealed() == []


def test_a_key_is_private_and_never_replaced(key: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    with pytest.raises(LedgerError, match="cannot be written"):
        make_key(key)
    assert key.read_bytes() == before


@pytest.mark.parametrize(
    "make",
    [
        lambda _path: None,
        lambda path: path.mkdir(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"short"),
        lambda path: path.write_bytes(b"k" * 10_000),
    ],
    ids=["none", "folder", "empty", "short", "huge"],
)
def test_what_is_no_key_is_refused(make: Callable[[Path], object], tmp_path: Path) -> None:
    make(tmp_path / "key")
    with pytest.raises(LedgerError, match="key"):
        read_key(tmp_path / "key")


def test_the_command_line_seals_and_verifies(tmp_path: Path) -> None:
    ledger, key = str(tmp_path / "city.ledger"), str(tmp_path / "city.key")

    def run(*words: str) -> Any:
        return CliRunner().invoke(app, ["budget", *words])

    approved = ["--dataset", "city", "--epsilon", "1", "--delta", "1e-6"]
    assert run("init", ledger, *approved, "--new-key", key).exit_code == 0
    spend(pr.Ledger(ledger, key=key), 2)
    found = run("verify", ledger, "--ledger-key", key, "--json")
    assert (found.exit_code, json.loads(found.stdout)["good"]) == (0, True)
    assert "1 charge sealed with this key" in run("verify", ledger, "--ledger-key", key).output
    make_key(tmp_path / "other.key")
    found = run("verify", ledger, "--ledger-key", str(tmp_path / "other.key"), "--json")
    assert (found.exit_code, json.loads(found.stdout)["unsealed"]) == (1, [1])
