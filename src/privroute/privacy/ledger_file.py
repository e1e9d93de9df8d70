"""The file of a ledger: SQLite, opened for one transaction at a time, and rejected on any inconsistency.

A charge that was granted must never be forgotten, neither by kill -9 nor by a loss of power:

- The journal is a rollback journal, not a write-ahead log: with a log, committed charges may live in a second file, and
  a copy of the first one alone restores a budget that was spent.
- synchronous = EXTRA: the journal's removal, which is the commit, is itself flushed to disk. With FULL a loss of power
  right after the commit could bring the journal back, and with it the state before the charge.
- Writers take the lock before they read (BEGIN IMMEDIATE), so what is checked is what is charged.
- The file is never opened but by SQLite: closing a second handle would drop its locks (POSIX).

Charges are only ever added, and each carries a digest of itself and of the one before it. This finds accidents: entries
that were lost, damaged or half written. The digests are not keyed, so they do not stop somebody who may write to the
file and wants to cheat: anybody who changes entries can recompute all digests. Against that only file permissions and
copies elsewhere help, and the digests that published certificates carry (docs/budget.md).
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privroute.errors import LedgerError
from privroute.privacy.ledger_store import Records, moved_away
from privroute.release.folder import flush

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from privroute.privacy.ledger_store import Content, Kind, Row

__all__ = ["FileStore", "chained", "is_there", "make_file", "transaction"]

_APPLICATION = 0x50_52_42_4C  # "PRBL"
_VERSION = 1
_MOVED = 1000  # the format of a ledger that was moved elsewhere: earlier versions of privroute refuse it too
_MOVED_TABLE = "CREATE TABLE moved (place TEXT NOT NULL, at TEXT NOT NULL, arrived INTEGER NOT NULL)"
_TABLES = {
    "dataset": (
        "CREATE TABLE dataset (name TEXT PRIMARY KEY, epsilon REAL NOT NULL, delta REAL NOT NULL, unit TEXT NOT NULL, "
        "time_zone TEXT, kept_requests INTEGER, kept_per_pair INTEGER, at TEXT NOT NULL, digest TEXT NOT NULL)"
    ),
    "charge": (
        "CREATE TABLE charge (entry INTEGER PRIMARY KEY AUTOINCREMENT, dataset TEXT NOT NULL, at TEXT NOT NULL, "
        "mechanism TEXT NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL, rho REAL NOT NULL, "
        "scope TEXT NOT NULL, digest TEXT NOT NULL)"
    ),
    "written": "CREATE TABLE written (entry INTEGER NOT NULL, at TEXT NOT NULL, folder TEXT NOT NULL)",
}
_WAIT_S = 60.0
_ADVICE = {
    sqlite3.SQLITE_BUSY: f"another process has held it for {_WAIT_S:g} s; try again",
    sqlite3.SQLITE_READONLY: "it is read-only, and so nothing can be charged; make the file and its folder writable",
    sqlite3.SQLITE_PERM: "one may not open it; check its permissions",
    sqlite3.SQLITE_CANTOPEN: "it or its journal cannot be opened; check the permissions of the file and of its folder",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_NOTADB: "it is not a ledger; pass the file that privroute budget init made",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore it, and count every release since then as spent",
}


def is_there(path: Path) -> bool:
    """Whether there is anything that can be reached under this path."""
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises where it cannot know


@dataclass(frozen=True, slots=True)
class FileStore:
    """A ledger in a file."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def is_there(self) -> bool:
        """Whether there is a file."""
        return is_there(self.path)

    def make(self, content: Content | None = None, *, closed: bool = False) -> None:
        """Make the file."""
        make_file(self.path, content, closed=closed)

    @contextmanager
    def transaction(self, kind: Kind, *, moved: bool = False) -> Iterator[Records]:
        """One transaction."""
        with transaction(self.path, kind, moved=moved) as file:
            yield _FileRecords(file)

    def moved_to(self) -> str | None:
        """Where the ledger was moved to."""
        with transaction(self.path, "read", moved=True) as file:
            return _moved_to(file)


class _FileRecords(Records):
    datasets_in_order = notes_in_order = "rowid"

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file

    def run(self, statement: str, values: Row = ()) -> list[Row]:
        return self._file.execute(statement, values).fetchall()

    def given(self) -> int:
        found = self.run("SELECT seq FROM sqlite_sequence WHERE name = 'charge'")
        return int(found[0][0]) if found else 0

    def close(self, moved_to: str, at: str) -> None:
        self.run(_MOVED_TABLE)
        self.run("INSERT INTO moved VALUES (?,?,0)", (moved_to, at))
        self.run(f"PRAGMA user_version = {_MOVED}")

    def open(self, own: str) -> None:
        if _moved_to(self._file) == own:
            self.run("DROP TABLE moved")
            self.run(f"PRAGMA user_version = {_VERSION}")

    def has_arrived(self) -> bool:
        return bool(self.run("SELECT arrived FROM moved")[0][0])

    def arrive(self) -> None:
        self.run("UPDATE moved SET arrived = 1")


def _moved_to(file: sqlite3.Connection) -> str | None:
    (version,) = file.execute("PRAGMA user_version").fetchone()
    return str(file.execute("SELECT place FROM moved").fetchone()[0]) if version == _MOVED else None


def make_file(path: Path, content: Content | None = None, *, closed: bool = False) -> None:
    """Make a ledger, whole or not at all; one that is there is never replaced."""
    beside = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with closing(sqlite3.connect(_address(beside, "rwc"), uri=True, isolation_level=None)) as file:
            _configure(file)
            file.execute("BEGIN IMMEDIATE")
            for statement in _TABLES.values():
                file.execute(statement)
            file.execute(f"PRAGMA application_id = {_APPLICATION}")
            file.execute(f"PRAGMA user_version = {_VERSION}")
            if content is not None:
                _FileRecords(file).fill(content)
            if closed:
                _FileRecords(file).close(str(path.absolute()), "")
            file.execute("COMMIT")
        os.link(beside, path)  # unlike a renaming, this fails where there is a file
        flush(path.parent)
    except FileExistsError:
        if content is not None:
            raise LedgerError(f"{path} already exists; a ledger is never replaced, choose another file") from None
        # otherwise another process made it first
    except (sqlite3.Error, OSError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise LedgerError(f"{path}: a ledger cannot be made there ({reason}); check the folder") from None
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


@contextmanager
def transaction(path: Path, kind: Kind, *, moved: bool = False) -> Iterator[sqlite3.Connection]:
    """One transaction on a ledger that was checked; it is committed at the end, or undone on any error."""
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where a folder may not be entered or a name is too long
        raise LedgerError(f"{path} is a folder; a ledger is one file")
    if not is_there(path):
        raise LedgerError(f"{path}: there is no such ledger; make one with privroute budget init")
    try:
        with closing(sqlite3.connect(_address(path, "rw"), uri=True, timeout=_WAIT_S, isolation_level=None)) as file:
            _configure(file)
            file.execute("BEGIN IMMEDIATE" if kind == "write" else "BEGIN")
            _check(path, file, moved=moved)
            yield file
            file.execute("COMMIT")
    except UnicodeDecodeError:  # SQLite quotes what it cannot parse
        raise LedgerError(f"{path}: {_ADVICE[sqlite3.SQLITE_CORRUPT]}") from None
    except sqlite3.Error as problem:
        code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
        raise LedgerError(f"{path}: {_ADVICE.get(code, f'the ledger cannot be used ({problem})')}") from None


def chained(previous: str, row: tuple[object, ...]) -> str:
    """The digest of an entry and, through the one before, of all entries before it; it has no key."""
    return hashlib.sha256(json.dumps([previous, *row], ensure_ascii=False).encode()).hexdigest()


def _address(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?mode={mode}"


def _configure(file: sqlite3.Connection) -> None:
    file.execute("PRAGMA trusted_schema = OFF")
    file.execute("PRAGMA synchronous = EXTRA")
    file.execute("PRAGMA fullfsync = ON")


def _check(path: Path, file: sqlite3.Connection, *, moved: bool) -> None:
    """Refuse other files, other versions, and damage, before anything is believed."""
    (application,) = file.execute("PRAGMA application_id").fetchone()
    (version,) = file.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise LedgerError(f"{path}: {_ADVICE[sqlite3.SQLITE_NOTADB]}")
    if version not in (_VERSION, _MOVED):
        raise LedgerError(f"{path}: the ledger is of format {version}, and this privroute reads format {_VERSION}")
    tables = dict(file.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'"))
    journal = file.execute("PRAGMA journal_mode").fetchone()[0]
    if tables != _TABLES | ({"moved": _MOVED_TABLE} if version == _MOVED else {}) or journal != "delete":
        raise LedgerError(f"{path}: the tables of the ledger were changed; restore it")
    if file.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise LedgerError(f"{path}: {_ADVICE[sqlite3.SQLITE_CORRUPT]}")
    if version == _MOVED and not moved:
        raise moved_away(path, path.absolute(), _moved_to(file))
