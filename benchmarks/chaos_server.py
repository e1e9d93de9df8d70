"""A ledger on a PostgreSQL server, charged by eight processes while clients and the server are killed at random.

Before each charge a client writes down what it asks for, and after it what it was told, in a file that it flushes. Then
at random moments a client is ended with SIGKILL and started again, one process of the server is, or the whole server is
and is started again. At the end, by the files and the ledger:

- lost: a client was told that it was granted, and the ledger has no such entry;
- twice: two grants have one entry, or one request has two entries;
- overspent: the ledger has more than what was approved;
- unasked: an entry that nobody asked for.

Then eight processes charge 200 times each, undisturbed, and the budget ends part-way: what fits is granted, exactly.
"""

from __future__ import annotations

import datetime as dt
import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from networks import arguments, finish, say
from servers import PostgreSQL, postgresql_programs

import privroute as pr
from privroute.errors import BudgetError, LedgerError
from privroute.privacy.calibration import gaussian_rho, gaussian_scale, rho_to_epsilon
from privroute.privacy.ledger_server import ServerStore
from privroute.privacy.scope import Scope

KILLS, QUICK_KILLS = 200, 20
PROCESSES, CHARGES, FITTING = 8, 200, 150
MANY = 100_000
PLANTED: list[bool] = []
SHARE = 0.3  # of charges that a planted bug forgets
PROMISE = pr.Guarantee(epsilon=0.01, delta=1e-6)
RHO = gaussian_rho(gaussian_scale(PROMISE.epsilon, PROMISE.delta, 1.0), 1.0)
SCOPE = Scope.of_days([dt.date(2026, 3, 2)])
CONTEXT = multiprocessing.get_context("fork")  # a client that was killed begins again at once


def approval(fitting: int) -> pr.Approval:
    """A total into which this many charges fit."""
    return pr.Approval(rho_to_epsilon((fitting + 0.5) * RHO, PROMISE.delta), PROMISE.delta)


def forget_some(chance: random.Random) -> None:
    """A bug for the tests of this script: some charges are granted and not committed."""
    right = ServerStore._commit  # noqa: SLF001

    def forgetful(store: ServerStore, server: Any) -> None:
        if chance.random() > SHARE:
            right(store, server)

    ServerStore._commit = forgetful  # type: ignore[method-assign, assignment]  # noqa: SLF001


def client(address: str, path: Path, life: int, wanted: int) -> None:
    """Charge until nothing more fits, and write down what was asked and told."""
    if PLANTED:
        forget_some(random.Random(path.name))  # noqa: S311
    ledger: pr.Ledger | None = None
    with path.open("a") as file:

        def note(*words: object) -> None:
            file.write(json.dumps(words) + "\n")
            file.flush()
            os.fsync(file.fileno())

        for turn in range(wanted):
            request = f"{path.name} {life} {turn}"
            try:
                ledger = ledger or pr.Ledger(address)
                note("asked", request)
                charge, _ = ledger.charge(SCOPE, PROMISE, RHO, request)
                note("granted", request, charge.entry)
            except BudgetError:
                note("full", request)
                return
            except LedgerError:
                note("refused", request)
                time.sleep(0.05)


def charge_under_fire(
    server: PostgreSQL, folder: Path, kills: int, chance: random.Random, fitting: int
) -> dict[str, Any]:
    """Kill, start again, and compare what was told with what the ledger has."""
    address = f"{server.url}#fire"
    opened = pr.Ledger.create(address, "shared", approval(fitting))
    opened.check(SCOPE, PROMISE, RHO)  # searches that every client would repeat are done once, before the fork
    lives = [0] * PROCESSES
    clients: list[Any] = [None] * PROCESSES

    def begin(number: int) -> None:
        lives[number] += 1
        clients[number] = CONTEXT.Process(target=client, args=(address, folder / str(number), lives[number], MANY))
        clients[number].start()

    for number in range(PROCESSES):
        begin(number)
    killed: Counter[str] = Counter()
    for _ in range(kills):
        _wait_for_grants(folder, chance.randrange(1, 6))  # so that each kill hits work
        time.sleep(chance.uniform(0.0, 0.1))
        kind = chance.choice(("client", "client", "backend", "server"))
        killed[kind] += 1
        if kind == "client":
            number = chance.randrange(PROCESSES)
            os.kill(clients[number].pid, signal.SIGKILL)
            clients[number].join()
            begin(number)
        elif kind == "backend":
            server.kill_backend()
        else:
            server.kill()
            server.start()
    time.sleep(1.0)
    for process in clients:
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    return {"killed": dict(killed), **compared(address, folder)}


def _wait_for_grants(folder: Path, wanted: int) -> None:
    """Until clients were told of some more grants, or for a while."""
    before, end = _granted(folder), time.monotonic() + 20.0
    while _granted(folder) < before + wanted and time.monotonic() < end:
        time.sleep(0.02)


def _granted(folder: Path) -> int:
    return sum(path.read_bytes().count(b'["granted"') for path in folder.iterdir())


def compared(address: str, folder: Path) -> dict[str, Any]:
    """What clients were told against what the ledger has."""
    account = _patient(address)
    entries = {charge.entry: charge.mechanism for charge in account.charges}
    asked, granted, refused = set(), [], 0
    for path in folder.iterdir():
        for text in path.read_text().splitlines():
            try:
                word, request, *entry = json.loads(text)
            except ValueError:
                continue  # the last line of a client that was killed
            if word == "asked":
                asked.add(request)
            elif word == "granted":
                granted.append((request, entry[0]))
            refused += word == "refused"
    told = Counter(entry for _, entry in granted)
    requests = Counter(entries.values())
    return {
        "charged": len(entries),
        "granted": len(granted),
        "refused": refused,
        "lost": sum(entries.get(entry) != request for request, entry in granted),
        "twice": sum(count > 1 for count in (*told.values(), *requests.values())),
        "unasked": len(set(requests) - asked),
        "overspent": int(account.spending.spent > account.approval.total),
    }


def _patient(address: str) -> Any:
    """The account, as soon as the server has recovered."""
    for _ in range(100):
        try:
            return pr.Ledger(address).account()
        except LedgerError:
            time.sleep(0.1)
    return pr.Ledger(address).account()


def charges_at_once(server: PostgreSQL, folder: Path, charges: int, fitting: int) -> dict[str, Any]:
    """Eight processes and a budget that ends part-way."""
    address = f"{server.url}#at_once"
    pr.Ledger.create(address, "shared", approval(fitting)).check(SCOPE, PROMISE, RHO)
    begin = time.perf_counter()
    workers = [CONTEXT.Process(target=client, args=(address, folder / str(at), 1, charges)) for at in range(PROCESSES)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - begin
    return {"asked": PROCESSES * charges, "fitting": fitting, "seconds": seconds, **compared(address, folder)}


def main() -> None:
    """Kill, compare, and let processes charge at once."""
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, help=f"how many (default {KILLS})")
    parser.add_argument("--charges", type=int, default=CHARGES, help="of each process without kills")
    parser.add_argument("--seed", type=int, help="of the moments and of who is killed")
    parser.add_argument("--plant", action="store_true", help="plant a bug: a charge is granted and not committed")
    options = parser.parse_args()
    if postgresql_programs() is None:
        finish({"skipped": "there is no PostgreSQL server on this machine; install postgresql"})
        return
    PLANTED.extend([True] * options.plant)
    kills = options.kills or (QUICK_KILLS if options.quick else KILLS)
    fitting = FITTING * options.charges // CHARGES
    with tempfile.TemporaryDirectory() as name, PostgreSQL() as server:
        places = [Path(name) / part for part in ("fire", "at_once")]
        for place in places:
            place.mkdir()
        fire = charge_under_fire(server, places[0], kills, random.Random(options.seed), MANY)  # noqa: S311
        say(options.json, f"{kills:,} kills: {fire}")
        at_once = charges_at_once(server, places[1], options.charges, fitting)
        say(options.json, f"at once: {at_once}")
    wrong = ("lost", "twice", "unasked", "overspent")
    violations = sum(part[name] for part in (fire, at_once) for name in wrong)
    finish({"kills": kills, "violations": violations, "under_fire": fire, "at_once": at_once})


if __name__ == "__main__":
    main()
