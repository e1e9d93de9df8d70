"""A ledger on a PostgreSQL server, which several curators share; rejected on any doubt.

A charge that was granted must never be forgotten, and one that may have been entered must not be granted again:

- Transactions are SERIALIZABLE, and those that write take a lock on the ledger before their first reading: they follow
  one another, and what is checked is what is charged.
- synchronous_commit is on in every transaction, whatever the server's setting, and a server with fsync off is refused.
  So is a replica, a read-only server, and a ledger whose tables are unlogged, have triggers, rules or row security.
- A connection that is lost before the commit leaves nothing. One that is lost during it leaves an unknown outcome:
  then nothing is granted, and the charge stays if it was entered. So it is if the server warns at the commit, as it
  does where it did not wait for its replicas.
- The number of entries stands in a row of its own and changes with every charge, so lost last entries are noticed.

Messages of the server are not passed on: they may name users and hosts.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from privroute.errors import InputError, LedgerError
from privroute.privacy.ledger_store import Records, moved_away
from privroute.server_address import ServerAddress, driver, is_address, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privroute.privacy.ledger_store import Content, Kind, Row

__all__ = ["ServerStore", "is_address"]

_SCHEMA = "privroute"
_VERSION = 1
_WAIT_S = 60
# name -> columns: name, type, whether it may not be NULL
_COLUMNS: dict[str, list[tuple[str, str, bool]]] = {
    "ledger": [
        ("format", "integer", True),
        ("entries", "bigint", True),
        ("moved_to", "text", False),
        ("arrived", "boolean", True),  # whether the ledger there is known to have been made
    ],
    "dataset": [
        ("name", "text", True),
        ("epsilon", "double precision", True),
        ("delta", "double precision", True),
        ("unit", "text", True),
        ("time_zone", "text", False),
        ("kept_requests", "bigint", False),
        ("kept_per_pair", "bigint", False),
        ("at", "text", True),
        ("digest", "text", True),
    ],
    "charge": [
        ("entry", "bigint", True),
        ("dataset", "text", True),
        ("at", "text", True),
        ("mechanism", "text", True),
        ("epsilon", "double precision", True),
        ("delta", "double precision", True),
        ("rho", "double precision", True),
        ("scope", "text", True),
        ("digest", "text", True),
    ],
    "written": [("number", "bigint", True), ("entry", "bigint", True), ("at", "text", True), ("folder", "text", True)],
}
_NUMBERED = "written"  # its first column counts its rows
_KEYS = {"dataset": "name", "charge": "entry"}
_SETTINGS = (
    "SELECT pg_catalog.pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('fsync'), "
    "current_setting('synchronous_commit'), current_setting('transaction_isolation'), "
    "current_setting('server_encoding')"
)
_TABLES = (
    "SELECT c.relname::text, c.relkind = 'r' AND c.relpersistence = 'p' AND NOT (c.relrowsecurity OR c.relhasrules OR "
    "c.relhastriggers OR c.relhassubclass OR c.relispartition) "
    "FROM pg_catalog.pg_class c WHERE c.relnamespace = %s::regnamespace AND c.relname::text = ANY(%s)"
)
_SHAPES = (
    "SELECT c.relname::text, a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull "
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 "
    "AND NOT a.attisdropped WHERE c.relnamespace = %s::regnamespace AND c.relname::text = ANY(%s) "
    "ORDER BY c.relname, a.attnum"
)
_NOT_THERE = ("42P01", "3F000", "3D000")
_DENIED = ("42501", "28000", "28P01")
_UNDONE = ("40001", "40P01")  # the server says that it undid the transaction
_LOCKED = ("55P03", "57014", "25P03")
_READ_ONLY = ("25006", "0A000")


@dataclass(frozen=True, slots=True)
class ServerStore:
    """A ledger in a schema of a PostgreSQL database."""

    address: ServerAddress

    @classmethod
    def at(cls, text: str) -> Self:
        """Of an address like postgresql://user@host/database#schema; the schema is privroute unless named."""
        try:
            address = ServerAddress.of(text)
        except InputError as problem:
            raise LedgerError(f"{problem}") from None
        name = address.name or (_SCHEMA,)
        if len(name) != 1:
            raise LedgerError(f"{address}: name one schema behind the #, like #{_SCHEMA}")
        return cls(ServerAddress(address.url, name, address.shown))

    def __str__(self) -> str:
        return str(self.address)

    @property
    def _schema(self) -> str:
        return quoted(self.address.name[0])

    def is_there(self) -> bool:
        """Whether the schema has a ledger."""
        with self._errors(), closing(self.address.connect()) as server:
            named = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'ledger'"
            return server.execute(named, (self.address.name[0],)).fetchone() is not None

    def make(self, content: Content | None = None, *, closed: bool = False) -> None:
        """Make the schema and its tables, in one transaction."""
        with self._errors(), closing(self.address.connect()) as server:
            server.execute("BEGIN")
            # a process that makes this ledger at the same time waits here, and then sees it
            server.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"privroute {self._schema}",))
            self._configure(server)
            server.execute(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
            named = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'ledger'"
            if server.execute(named, (self.address.name[0],)).fetchone():
                if content is not None:
                    raise LedgerError(f"{self} already exists; a ledger is never replaced, choose another schema")
                return
            for table, columns in _COLUMNS.items():
                parts = [f"{name} {kind}{' NOT NULL' if filled else ''}" for name, kind, filled in columns]
                if table == _NUMBERED:
                    parts[0] += " GENERATED ALWAYS AS IDENTITY"
                if table in _KEYS:
                    parts.append(f"PRIMARY KEY ({_KEYS[table]})")
                server.execute(f"CREATE TABLE {self._schema}.{table} ({', '.join(parts)})")
            server.execute(f"INSERT INTO {self._schema}.ledger VALUES ({_VERSION}, 0, NULL, FALSE)")
            if content is not None:
                _ServerRecords(server).fill(content)
            if closed:
                _ServerRecords(server).close(str(self), "")
            self._commit(server)

    @contextmanager
    def transaction(self, kind: Kind, *, moved: bool = False) -> Iterator[Records]:
        """One transaction on a connection of its own."""
        with self._errors(), closing(self.address.connect()) as server:
            if server.execute("SELECT pg_catalog.pg_is_in_recovery()").fetchone()[0]:
                raise self._replica()
            server.execute(f"BEGIN ISOLATION LEVEL SERIALIZABLE{', READ ONLY' if kind == 'read' else ''}")
            self._configure(server)
            if kind == "write":  # before the first reading, which fixes what the transaction sees
                server.execute(f"LOCK TABLE {self._schema}.ledger IN EXCLUSIVE MODE")
            self._check(server, kind, moved=moved)
            yield _ServerRecords(server)
            self._commit(server)

    def moved_to(self) -> str | None:
        """Where the ledger was moved to."""
        with self.transaction("read", moved=True) as records:
            found = records.run("SELECT moved_to FROM ledger")[0][0]
            return None if found is None else str(found)

    def _configure(self, server: Any) -> None:
        for setting in (
            "synchronous_commit = on",
            "client_min_messages = warning",  # those at the commit are wanted, whatever the user's setting
            "row_security = off",  # rows that a policy hides would be an error
            f"lock_timeout = '{_WAIT_S}s'",
            f"statement_timeout = '{_WAIT_S}s'",
            f"idle_in_transaction_session_timeout = '{_WAIT_S}s'",
            f"search_path = {self._schema}, pg_temp",
        ):
            server.execute(f"SET LOCAL {setting}")

    def _check(self, server: Any, kind: Kind, *, moved: bool) -> None:
        """Refuse other servers, versions and tables before anything is believed."""
        replica, read_only, fsync, commit, isolation, encoding = server.execute(_SETTINGS).fetchone()
        if replica or (kind == "write" and read_only != "off"):
            raise self._replica()
        if fsync != "on" or commit != "on" or isolation != "serializable":
            raise LedgerError(
                f"{self}: the server may forget a charge (fsync {fsync}, synchronous_commit {commit}, isolation "
                f"{isolation}); nothing can be charged there. Set fsync = on"
            )
        if encoding != "UTF8":
            raise LedgerError(f"{self}: the database has the encoding {encoding}; make one with the encoding UTF8")
        names = (self._schema, list(_COLUMNS))
        tables = dict(server.execute(_TABLES, names).fetchall())
        if "ledger" not in tables:
            raise self._missing()
        found: dict[str, list[tuple[str, str, bool]]] = {}
        for table, *column in server.execute(_SHAPES, names).fetchall():
            found.setdefault(table, []).append(tuple(column))
        if found != _COLUMNS or not all(tables.values()):
            raise LedgerError(f"{self}: the tables of the ledger were changed; restore it")
        rows = server.execute("SELECT format, moved_to FROM ledger").fetchall()
        if len(rows) != 1:
            raise LedgerError(f"{self}: the ledger is damaged: it has {len(rows):,} heads; restore it")
        version, moved_to = rows[0]
        if version != _VERSION:
            raise LedgerError(f"{self}: the ledger is of format {version}, and this privroute reads format {_VERSION}")
        if moved_to is not None and not moved:
            raise moved_away(self, self, moved_to)

    def _commit(self, server: Any) -> None:
        """Commit, or say that the outcome is not known."""
        psycopg, warnings = driver(), list[Any]()
        server.add_notice_handler(warnings.append)
        undone = False
        try:
            done = server.execute("COMMIT").statusmessage
        except psycopg.Error as problem:
            done, undone = "", problem.sqlstate in _UNDONE
        if undone or done == "ROLLBACK":
            raise LedgerError(f"{self}: the server undid the transaction, so nothing was charged; try again")
        if done != "COMMIT" or warnings:
            raise LedgerError(
                f"{self}: whether the server committed is not known. Nothing was released; treat it as charged: "
                "privroute budget history shows whether it is"
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of the driver into ours, without their words."""
        psycopg = driver()
        try:
            yield
        except psycopg.Error as problem:
            state = problem.sqlstate or ""
            lost = isinstance(problem, psycopg.OperationalError)
        else:
            return
        if state in _NOT_THERE:
            raise self._missing() from None
        if state in _READ_ONLY:
            raise self._replica() from None
        advice = (
            "one may not use it; check the user, the password in ~/.pgpass, and what was granted to the user"
            if state in _DENIED
            else f"another process has held it for {_WAIT_S} s; try again"
            if state in _LOCKED
            else "the server undid the transaction, so nothing was charged; try again"
            if state in _UNDONE
            else "the server cannot be reached, or the connection was lost; nothing was charged. Try again"
            if lost
            else f"the ledger cannot be used (SQLSTATE {state or 'unknown'}); nothing was charged"
        )
        raise LedgerError(f"{self}: {advice}") from None  # a block that failed is left: its error would be shown too

    def _missing(self) -> LedgerError:
        return LedgerError(f"{self}: there is no such ledger; make one with privroute budget init")

    def _replica(self) -> LedgerError:
        return LedgerError(
            f"{self}: the server is a replica or read-only, and so nothing can be charged; pass the primary"
        )


class _ServerRecords(Records):
    datasets_in_order = "at, name"
    notes_in_order = "number"

    def __init__(self, server: Any) -> None:
        self._server = server

    def run(self, statement: str, values: Row = ()) -> list[Row]:
        done = self._server.execute(statement.replace("?", "%s"), values)
        return list(done.fetchall()) if done.description is not None else []

    def given(self) -> int:
        return int(self.run("SELECT entries FROM ledger")[0][0])

    def add_charge(self, row: Row) -> int:
        entry = super().add_charge(row)
        self.run("UPDATE ledger SET entries = ?", (entry,))
        return entry

    def close(self, moved_to: str, at: str) -> None:  # noqa: ARG002 - the transaction has a time of its own
        self.run("UPDATE ledger SET moved_to = ?", (moved_to,))

    def open(self, own: str) -> None:
        self.run("UPDATE ledger SET moved_to = NULL WHERE moved_to = ?", (own,))

    def has_arrived(self) -> bool:
        return bool(self.run("SELECT arrived FROM ledger")[0][0])

    def arrive(self) -> None:
        self.run("UPDATE ledger SET arrived = TRUE")
