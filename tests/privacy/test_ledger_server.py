"""A ledger on a PostgreSQL server: whatever leaves a doubt is refused, and nothing is granted twice or lost."""

from __future__ import annotations

import datetime as dt
import json
import secrets
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from servers import PostgreSQL
from tests.cli.command import refused, run

import privroute as pr
from privroute.errors import LedgerError
from privroute.privacy import ledger_file, ledger_server
from privroute.privacy.calibration import gaussian_rho, gaussian_scale
from privroute.privacy.charged_times import ChargedTimes
from privroute.privacy.ledger import Ledger
from privroute.privacy.ledger_file import FileStore
from privroute.privacy.moved_ledger import move_ledger
from privroute.privacy.scope import Scope
from privroute.server_address import ServerAddress

pytestmark = pytest.mark.xdist_group("postgresql")

PROMISE = pr.Guarantee(0.1, 1e-6)
RHO = gaussian_rho(gaussian_scale(0.1, 1e-6, 1.0), 1.0)
APPROVED = pr.Approval(1.0, 1e-6)
CHAOS = Path(__file__).resolve().parents[2] / "benchmarks" / "chaos_server.py"


def spend(ledger: Ledger, day: int = 1) -> int:
    scope = Scope.of_days([dt.date(2026, 3, 1) + dt.timedelta(days=day)])
    return ledger.charge(scope, PROMISE, RHO, "counts")[0].entry


@pytest.fixture
def schema() -> str:
    return f"ledger_{secrets.token_hex(6)}"


@pytest.fixture
def ledger(postgresql: PostgreSQL, schema: str) -> Ledger:
    return Ledger.create(f"{postgresql.url}#{schema}", "city", APPROVED)


@pytest.fixture
def change(postgresql: PostgreSQL, schema: str) -> Iterator[Callable[[str], None]]:
    with psycopg.connect(postgresql.url, autocommit=True) as server:

        def run_statement(statement: str) -> None:
            server.execute(statement.replace("S!", schema))

        yield run_statement
        server.execute("SET default_transaction_read_only = off")
        for reset in ("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()", "ALTER DATABASE postgres RESET ALL"):
            server.execute(reset)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE S!.charge SET rho = rho / 2 WHERE entry = 2", "entry 2 of the ledger was changed"),
        ("DELETE FROM S!.charge WHERE entry = 2", "entry 2 of the ledger was changed or lost"),
        ("DELETE FROM S!.charge WHERE entry = 3", "entries after 2 of the ledger were lost"),
        ("DELETE FROM S!.charge", "entries after 0 of the ledger were lost"),
        ("UPDATE S!.dataset SET epsilon = 100", "what was approved for 'city' was changed"),
        ("DELETE FROM S!.dataset", "what was approved"),
        ("UPDATE S!.ledger SET format = 2", "format 2, and this privroute reads format 1"),
        ("DELETE FROM S!.ledger", "it has 0 heads"),
        ("ALTER TABLE S!.charge SET UNLOGGED", "tables of the ledger were changed"),
        ("ALTER TABLE S!.charge ENABLE ROW LEVEL SECURITY", "tables of the ledger were changed"),
        ("ALTER TABLE S!.charge ALTER rho TYPE real", "tables of the ledger were changed"),
        ("CREATE RULE forget AS ON INSERT TO S!.charge DO INSTEAD NOTHING", "tables of the ledger were changed"),
        ("DROP TABLE S!.written", "tables of the ledger were changed"),
        ("DROP SCHEMA S! CASCADE", "there is no such ledger"),
        ("ALTER DATABASE postgres SET default_transaction_read_only = on", "replica or read-only"),
    ],
)
def test_changed_ledgers_and_servers_grant_nothing(
    ledger: Ledger, change: Callable[[str], None], statement: str, message: str
) -> None:
    for day in (1, 2, 3):
        spend(ledger, day)
    change(statement)
    with pytest.raises(LedgerError, match=message):
        spend(ledger, 9)


def test_a_server_that_may_forget_is_refused(ledger: Ledger, change: Callable[[str], None]) -> None:
    change("ALTER DATABASE postgres SET synchronous_commit = off")
    spend(ledger)  # the transaction waits for the disk whatever the server would do
    with ledger.store.transaction("write") as records:
        assert records.run("SHOW synchronous_commit") == [("on",)]
        assert records.run("SHOW transaction_isolation") == [("serializable",)]
    change("ALTER SYSTEM SET fsync = off")
    change("SELECT pg_reload_conf()")
    with pytest.raises(LedgerError, match="may forget a charge"):
        for _ in range(50):  # until the server has read its settings again
            spend(ledger, 2)


def test_a_replica_is_refused(postgresql: PostgreSQL, ledger: Ledger) -> None:
    spend(ledger)
    with postgresql.replica() as url:
        with pytest.raises(LedgerError, match="replica or read-only"):
            Ledger(f"{url}#{ledger.store.address.name[0]}")  # type: ignore[attr-defined]
        with pytest.raises(LedgerError, match="replica or read-only|there is no such"):
            Ledger.create(f"{url}#new", "city", APPROVED)
    assert spend(ledger, 2) == 2


def test_a_wrong_address_says_neither_user_nor_password(postgresql: PostgreSQL) -> None:
    for address in (
        f"postgresql://eve:geheim@127.0.0.1:{postgresql.port}/postgres#none",
        f"postgresql://eve:geheim@127.0.0.1:{postgresql.port}/nowhere",
        "postgresql://eve:geheim@127.0.0.1:1/postgres",
        "postgresql://eve:geheim@127.0.0.1:x/postgres",
        "postgresql://eve:geheim@127.0.0.1/postgres#a.b",
    ):
        with pytest.raises(LedgerError) as caught:
            Ledger(address)
        assert "eve" not in str(caught.value)
        assert "geheim" not in str(caught.value)
        shown = "".join(traceback.format_exception(caught.value))
        assert "psycopg.Op" not in shown  # the words of the driver
        assert caught.value.__context__ is None or "geheim" not in str(caught.value.__context__)
    assert "geheim" not in repr(ServerAddress.of("postgresql://eve:geheim@h/d"))
    assert str(ServerAddress.of("postgresql://eve@[::1]:5,h:6/d#s")) == "postgresql://[::1]:5,h:6/d#s"
    for sign in "#/?":  # of a password, not written as %23
        for password in (f"ge{sign}heim", f"1{sign}heim"):
            with pytest.raises(LedgerError, match="cannot be read"):
                Ledger(f"postgresql://eve:{password}@h/d#s")


def test_a_connection_lost_before_the_commit_leaves_nothing(ledger: Ledger, change: Callable[[str], None]) -> None:
    def broken() -> None:
        with ledger.store.transaction("write") as records:
            ledger._enter(records, ChargedTimes(Scope.of_days([dt.date(2026, 3, 2)])), PROMISE, RHO, "counts")
            (pid,) = records.run("SELECT pg_backend_pid()")[0]
            change(f"SELECT pg_terminate_backend({pid})")
            records.given()

    with pytest.raises(LedgerError, match="connection was lost; nothing was charged"):
        broken()
    assert ledger.account().charges == ()
    assert spend(ledger) == 1


class Proxy:
    """Between a client and the server; cuts the connection at a commit, before or after the server hears of it."""

    def __init__(self, port: int, *, heard: bool) -> None:
        self._port, self._heard = port, heard
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._port))
            cut = threading.Event()
            threading.Thread(target=self._pass_on, args=(server, client, cut), daemon=True).start()
            threading.Thread(
                target=self._pass_on, args=(client, server, cut), kwargs={"watch": True}, daemon=True
            ).start()

    def _pass_on(
        self, source: socket.socket, target: socket.socket, cut: threading.Event, *, watch: bool = False
    ) -> None:
        while True:
            try:
                data = source.recv(65_536)
                if watch and b"COMMIT" in data:
                    cut.set()
                    if self._heard:
                        target.sendall(data)
                        threading.Event().wait(1.0)  # the server commits, and its answer is not passed on
                    source.close()
                    target.close()
                    return
                if not data or (cut.is_set() and not watch):
                    return
                target.sendall(data)
            except OSError:
                return

    def close(self) -> None:
        self._door.close()


@pytest.mark.parametrize("heard", [False, True])
def test_an_unknown_outcome_of_a_commit_grants_nothing_and_may_stay_charged(
    postgresql: PostgreSQL, ledger: Ledger, schema: str, heard: bool
) -> None:
    proxy = Proxy(postgresql.port, heard=heard)
    through = Ledger.__new__(Ledger)  # its own constructor would commit through the proxy
    address = f"postgresql://privroute@127.0.0.1:{proxy.port}/postgres#{schema}"
    object.__setattr__(through, "store", ledger_server.ServerStore.at(address))
    object.__setattr__(through, "dataset", "city")
    object.__setattr__(through, "_key", None)
    with pytest.raises(LedgerError, match="whether the server committed is not known.*treat it as charged"):
        spend(through)
    proxy.close()
    assert len(ledger.account().charges) == int(heard)


def test_a_commit_that_did_not_wait_for_its_replicas_grants_nothing(
    ledger: Ledger, change: Callable[[str], None]
) -> None:
    """Somebody ends the waiting: the server then commits all the same, and warns."""
    change("SET synchronous_commit = local")
    change("ALTER DATABASE postgres SET client_min_messages = error")  # which would keep the warning back
    change("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    change("SELECT pg_reload_conf()")
    done = threading.Event()

    def end_waiting() -> None:
        while not done.wait(0.2):
            change("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")

    impatient = threading.Thread(target=end_waiting)
    impatient.start()
    try:
        with pytest.raises(LedgerError, match="not known"):
            for day in range(1, 9):  # until the server has read its settings again
                spend(ledger, day)
    finally:
        done.set()
        impatient.join()


def test_a_ledger_held_by_another_is_waited_for_and_then_refused(
    postgresql: PostgreSQL, ledger: Ledger, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_server, "_WAIT_S", 1)
    with psycopg.connect(postgresql.url) as other:
        other.execute(f"LOCK TABLE {schema}.ledger IN EXCLUSIVE MODE")
        with pytest.raises(LedgerError, match="another process has held it"):
            spend(ledger)
        assert ledger.account().charges == ()  # reading is free
    assert spend(ledger) == 1


def test_a_curator_who_may_only_add_entries_can_charge_and_change_nothing(
    postgresql: PostgreSQL, ledger: Ledger, schema: str, change: Callable[[str], None]
) -> None:
    """The grants of docs/budget.md."""
    name = f"curator_{secrets.token_hex(4)}"
    change(f"CREATE ROLE {name} LOGIN")
    for grant in (
        "USAGE ON SCHEMA S!",
        "SELECT ON ALL TABLES IN SCHEMA S!",
        "INSERT ON S!.charge, S!.written",
        "UPDATE ON S!.ledger",
    ):
        change(f"GRANT {grant} TO {name}")
    curator = Ledger(f"postgresql://{name}@127.0.0.1:{postgresql.port}/postgres#{schema}")
    entry = spend(curator)
    curator.note_written(entry, "out")
    with pytest.raises(LedgerError, match="one may not use it"):
        Ledger.create(curator.store, "more", APPROVED)
    with pytest.raises(LedgerError, match="one may not use it"):
        curator.set_time_zone("Europe/Berlin")
    assert [charge.folders for charge in ledger.account().charges] == [("out",)]
    change(f"DROP OWNED BY {name}")
    change(f"DROP ROLE {name}")


def _grants(place: Any) -> bool:
    """Whether a ledger enters a charge, which then is there."""
    try:
        spend(Ledger(place), 3)
    except LedgerError:
        return False
    return True


def _interrupted(*_given: object, **_options: object) -> None:
    raise KeyboardInterrupt


class TestMoving:
    def test_there_and_back_keeps_entries_digests_and_what_is_left(
        self, postgresql: PostgreSQL, tmp_path: Path, schema: str
    ) -> None:
        file = Ledger.create(tmp_path / "city.ledger", "city", APPROVED)
        Ledger.create(tmp_path / "city.ledger", "town", pr.Approval(2.0, 1e-6, "user", "Europe/Berlin"))
        for day in (1, 1, 2):
            file.note_written(spend(file, day), "réleases/märz")
        before = file.account()
        move_ledger(tmp_path / "city.ledger", f"{postgresql.url}#{schema}")
        with pytest.raises(LedgerError, match=f"was moved to postgresql://.*#{schema}"):
            spend(file)
        server = Ledger(f"{postgresql.url}#{schema}", "city")
        assert (server.account().charges, server.account().id) == (before.charges, before.id)
        assert spend(server, 3) == 4
        back = move_ledger(server.store, tmp_path / "back.ledger")
        assert [one.dataset for one in back] == ["city", "town"]
        with pytest.raises(LedgerError, match="was moved to"):
            spend(server)
        assert [charge.entry for charge in back[0].account().charges] == [1, 2, 3, 4]
        assert spend(back[0], 4) == 5

    def test_a_moving_that_was_killed_goes_on_and_nowhere_else(
        self, postgresql: PostgreSQL, tmp_path: Path, schema: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = Ledger.create(tmp_path / "city.ledger", "city", APPROVED)
        spend(file)
        target = f"{postgresql.url}#{schema}"

        def killed(*_given: object, **_options: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(ledger_server.ServerStore, "make", killed)
            with pytest.raises(KeyboardInterrupt):
                move_ledger(file.store, target)
        with pytest.raises(LedgerError, match="was moved"):
            spend(file)
        with pytest.raises(LedgerError, match="was moved"):
            move_ledger(file.store, tmp_path / "elsewhere.ledger")
        (moved,) = move_ledger(file.store, target)
        assert spend(moved, 2) == 2
        assert len(move_ledger(file.store, target)) == 1  # again: nothing changes
        assert len(moved.account().charges) == 2

    def test_a_moving_does_not_go_on_with_a_ledger_of_another_approval(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = Ledger.create(tmp_path / "city.ledger", "city", APPROVED)
        with monkeypatch.context() as patch:
            patch.setattr(ledger_file.FileStore, "make", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                move_ledger(file.store, tmp_path / "new.ledger")
        Ledger.create(tmp_path / "new.ledger", "city", pr.Approval(100.0, 1e-6))
        with pytest.raises(LedgerError, match="there is another ledger"):
            move_ledger(file.store, tmp_path / "new.ledger")

    def test_a_time_zone_that_was_named_since_does_not_make_it_another_ledger(self, tmp_path: Path) -> None:
        file = Ledger.create(tmp_path / "city.ledger", "city", APPROVED)
        (moved,) = move_ledger(file.store, tmp_path / "new.ledger")
        moved.set_time_zone("Asia/Tokyo")
        (again,) = move_ledger(file.store, tmp_path / "new.ledger")
        assert again.account().approval.time_zone == "Asia/Tokyo"

    @pytest.mark.parametrize("killed_at", ["close", "make", "arrive", "open"])
    @pytest.mark.parametrize("to_server", [False, True])
    def test_wherever_a_moving_is_killed_nothing_is_granted_until_it_went_on(
        self,
        postgresql: PostgreSQL,
        tmp_path: Path,
        schema: str,
        monkeypatch: pytest.MonkeyPatch,
        to_server: bool,
        killed_at: str,
    ) -> None:
        """The process ends right after one of its steps has been committed, or before the first one that was not."""
        server, file = f"{postgresql.url}#{schema}", tmp_path / "city.ledger"
        old, new = (file, server) if to_server else (server, file)
        spend(Ledger.create(old, "city", APPROVED))
        stores = (FileStore, ledger_server.ServerStore)
        records = {FileStore: ledger_file._FileRecords, ledger_server.ServerStore: ledger_server._ServerRecords}
        with monkeypatch.context() as patch:
            for store in stores:
                place: Any = store if killed_at == "make" else records[store]
                done = getattr(place, killed_at)

                def killed(*given: Any, done: Any = done, **more: Any) -> None:
                    if killed_at == "make":
                        done(*given, **more)
                    raise KeyboardInterrupt

                patch.setattr(place, killed_at, killed)
            with pytest.raises(KeyboardInterrupt):
                move_ledger(old, new)
        granting = [place for place in (old, new) if _grants(place)]
        assert granting == ([old] if killed_at == "close" else [])
        if killed_at == "make":
            with pytest.raises(LedgerError, match="interrupted"):
                move_ledger(new, tmp_path / "elsewhere.ledger")
        before = Ledger(old).account().charges if granting else None
        (moved,) = move_ledger(old, new)
        assert not _grants(old)
        assert len(moved.account().charges) == len(before or [0])
        assert _grants(new)

    @pytest.mark.parametrize("to_server", [False, True])
    def test_one_that_arrived_and_was_lost_is_not_made_again(
        self, postgresql: PostgreSQL, tmp_path: Path, schema: str, to_server: bool
    ) -> None:
        """It may have had charges that the old one does not know."""
        server, file = f"{postgresql.url}#{schema}", tmp_path / "city.ledger"
        old, new = (file, server) if to_server else (server, file)
        spend(Ledger.create(old, "city", APPROVED))
        (moved,) = move_ledger(old, new)
        spend(moved, 2)
        if to_server:
            with psycopg.connect(postgresql.url, autocommit=True) as connection:
                connection.execute(f"DROP SCHEMA {schema} CASCADE")
        else:
            file.unlink()
        with pytest.raises(LedgerError, match="may have had more charges"):
            move_ledger(old, new)
        assert not moved.store.is_there()

    @pytest.mark.parametrize("to_server", [False, True])
    def test_one_that_was_used_before_it_was_noted_is_not_made_again(
        self, postgresql: PostgreSQL, tmp_path: Path, schema: str, monkeypatch: pytest.MonkeyPatch, to_server: bool
    ) -> None:
        """A process dies before it notes the new ledger; charges to it, if it grants any, are not forgotten."""
        server, file = f"{postgresql.url}#{schema}", tmp_path / "city.ledger"
        old, new = (file, server) if to_server else (server, file)
        spend(Ledger.create(old, "city", APPROVED))
        with monkeypatch.context() as patch:
            for records in (ledger_file._FileRecords, ledger_server._ServerRecords):
                patch.setattr(records, "arrive", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                move_ledger(old, new)
        charged = _grants(new)
        if to_server:
            with psycopg.connect(postgresql.url, autocommit=True) as connection:
                connection.execute(f"DROP SCHEMA {schema} CASCADE")
        else:
            file.unlink()
        (moved,) = move_ledger(old, new)
        assert not charged  # it would be forgotten now
        assert len(moved.account().charges) == 1

    def test_nothing_is_replaced(self, ledger: Ledger, tmp_path: Path) -> None:
        other = Ledger.create(tmp_path / "other.ledger", "city", APPROVED)
        spend(other)
        for place, message in ((ledger.store, "already exists"), (other.store, "this is where the ledger is")):
            with pytest.raises(LedgerError, match=message):
                move_ledger(other.store, place)
        assert spend(other, 2) == 2
        with pytest.raises(LedgerError, match="there is no such ledger"):
            move_ledger(FileStore(tmp_path / "none"), tmp_path / "new")


def test_budget_commands_take_addresses(postgresql: PostgreSQL, tmp_path: Path, schema: str) -> None:
    url = postgresql.url.replace("privroute@", "privroute:geheim@") + f"#{schema}"
    made = run("budget", "init", url, "--dataset", "city", "--epsilon", 1, "--delta", "1e-6", width=300)
    assert made.code == 0, made.err
    assert "geheim" not in made.text
    daily = tmp_path / "daily.csv"
    daily.write_text("date,origin,destination,trips\n2026-03-02,1,2,3\n")
    words = ("--network", "sioux-falls", "--history", daily, "--from", "2026-03-02", "--to", "2026-03-02")
    terms = ("--epsilon", "0.1", "--delta", "1e-6", "--ledger", url, "--out", tmp_path / "out")
    done = run("learn", *words, *terms)
    assert done.code == 0, done.err
    assert "geheim" not in "".join(path.read_text(errors="replace") for path in (tmp_path / "out").glob("*.json"))
    found = json.loads(run("budget", "history", url, "--json").out)
    assert found["ledger"] == f"postgresql://127.0.0.1:{postgresql.port}/postgres#{schema}"
    assert [charge["folders"] for charge in found["datasets"][0]["charges"]] == [[str(tmp_path / "out")]]
    assert run("budget", "verify", url, tmp_path / "out").code == 0
    again = f"{postgresql.url}#{schema}_again"
    assert run("budget", "rebuild", again, tmp_path / "out", "--complete").code == 0
    assert "already exists" in refused("budget", "rebuild", again, tmp_path / "out", "--complete")
    moved = run("budget", "move", url, tmp_path / "city.ledger", width=300)
    assert moved.code == 0, moved.err
    assert "was moved to" in refused("budget", "show", url)
    assert run("budget", "show", tmp_path / "city.ledger").code == 0


@pytest.mark.usefixtures("postgresql")
def test_a_charge_that_is_granted_and_forgotten_would_be_noticed() -> None:
    command = [sys.executable, str(CHAOS), "--json", "--kills", "1", "--seed", "5", "--charges", "20", "--plant"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert json.loads(done.stdout.splitlines()[-1])["violations"] > 0


@pytest.mark.usefixtures("postgresql")  # skipped where there is none
def test_killed_clients_and_servers_lose_nothing_and_grant_nothing_twice() -> None:
    """A small share of benchmarks/chaos_server.py."""
    command = [sys.executable, str(CHAOS), "--json", "--kills", "10", "--seed", "5", "--charges", "40"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["violations"] == 0
    assert found["kills"] == 10
    assert found["at_once"]["granted"] == found["at_once"]["fitting"]
    assert found["at_once"]["lost"] == found["at_once"]["twice"] == 0
