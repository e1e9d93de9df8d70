"""Processes killed with SIGKILL at random moments while they learn, add to a stream, charge a ledger, or save.

Learning and streams are those of chaos.py. Here two more are killed: a process that only charges, as often as it can,
and writes down what it was granted; and one that replaces a release by another, again and again.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import time
from functools import partial
from typing import TYPE_CHECKING

import chaos

import privroute as pr
from privroute.errors import BudgetError, PrivrouteError
from privroute.privacy.calibration import gaussian_epsilon, gaussian_rho, gaussian_scale
from privroute.privacy.scope import Scope

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

KILLS_PER_LEDGER = 25  # a charge reads all entries before it, so that one ledger for all would be slow


def kill_everything(folder: Path, wanted: int, chance: random.Random) -> tuple[dict[str, int], list[str], list[str]]:
    """Kill so many processes, half of them while learning or adding to a stream, a quarter each at the others.

    Returns how many of each, what must never be seen, and what was lost.
    """
    parts: dict[str, Callable[[Path, int, random.Random], tuple[list[str], list[str]]]] = {
        "learn and stream": kill_learning,
        "ledger": kill_charging,
        "save": kill_saving,
    }
    each = {"learn and stream": wanted - 2 * (wanted // 4), "ledger": wanted // 4, "save": wanted // 4}
    violations, losses = [], []
    for name, kill in parts.items():
        place = folder / name.split()[0]
        place.mkdir()
        wrong, lost = kill(place, each[name], chance)
        violations += [f"{name}: {text}" for text in wrong]
        losses += [f"{name}: {text}" for text in lost]
    return each, violations, losses


def kill_learning(folder: Path, wanted: int, chance: random.Random) -> tuple[list[str], list[str]]:
    """Runs of chaos.py. A charge whose release was never written is spent, not lost: the ledger has it."""
    place = chaos.Place(folder)
    place.ledger.account().approval.allows(1)  # searches that every run would repeat are done once, before the fork
    gaussian_epsilon(gaussian_scale(chaos.PROMISE.epsilon, chaos.PROMISE.delta, 1.0), 1.0, chaos.PROMISE.delta)
    warm = range(4)
    longest_s = chaos.whole_run_s(place, warm)
    wrong, runs = chaos.kill_runs(place, len(warm), wanted, longest_s, chance)
    more, _ = chaos.found_wrong(place, runs)
    entries = len(place.ledger.account().charges)
    lost = [f"{len(warm)} finished runs, but {entries} charges"] if entries < len(warm) else []
    return wrong + more, lost


def kill_charging(folder: Path, wanted: int, chance: random.Random) -> tuple[list[str], list[str]]:
    """Whatever a killed process was granted is in the ledger, and the ledger can still be read and charged."""
    wrong, lost = [], []
    for number in range(wanted):
        path = folder / f"{number // KILLS_PER_LEDGER}.ledger"
        if number % KILLS_PER_LEDGER == 0:
            pr.Ledger.create(path, "city", pr.Approval(0.2, 1e-6))
        granted = folder / "granted"
        granted.unlink(missing_ok=True)
        _kill(partial(_charge_often, path, granted), chance.uniform(0.0, 0.3), started=granted)
        told = [json.loads(line) for line in granted.read_text().splitlines() if line.endswith("]")]
        try:
            account = pr.Ledger(path).account()
        except PrivrouteError as problem:
            wrong.append(f"the ledger cannot be read: {problem}")
            continue
        there = {charge.entry: charge.digest for charge in account.charges}
        lost += [f"entry {entry} was granted and is not there" for entry, digest in told if there.get(entry) != digest]
        if account.spent_epsilon > account.approval.epsilon:
            wrong.append("more was spent than approved")
    return wrong, lost


def _charge_often(path: Path, granted: Path) -> None:
    rho = gaussian_rho(gaussian_scale(chaos.PROMISE.epsilon, chaos.PROMISE.delta, 1.0), 1.0)
    with granted.open("w") as file:
        ledger = pr.Ledger(path)
        for turn in range(10_000):
            days = [chaos.FIRST + dt.timedelta(days=(os.getpid() * 31 + turn * 7) % 100_000)]
            try:
                charge, _ = ledger.charge(Scope.of_days(days), chaos.PROMISE, rho, "counts")
            except BudgetError:
                continue
            file.write(json.dumps([charge.entry, charge.digest]) + "\n")
            file.flush()


def kill_saving(folder: Path, wanted: int, chance: random.Random) -> tuple[list[str], list[str]]:
    """At any moment the place has one of the two releases, whole."""
    made = [pr.learn(chaos.SCENARIO.network, chaos.history(run), chaos.PROMISE) for run in (0, 1)]
    known = [release.noisy_counts.tolist() for release in made if release.noisy_counts is not None]
    target = folder / "release"
    made[0].save(target)
    wrong: list[str] = []
    lost: list[str] = []
    for number in range(wanted):
        began = folder / "began"
        began.unlink(missing_ok=True)
        _kill(partial(_save_often, made, target, began), chance.uniform(0.0, 0.2), started=began)
        try:
            found = pr.load_release(target)
        except PrivrouteError as problem:
            (wrong if target.exists() else lost).append(f"kill {number}: {problem}")
            made[0].save(target, overwrite=True)
            continue
        if found.noisy_counts is None or found.noisy_counts.tolist() not in known:
            wrong.append(f"kill {number}: a release that nobody saved")
    return wrong, lost


def _save_often(made: list[pr.Release], target: Path, began: Path) -> None:
    began.touch()
    while True:
        for release in made:
            release.save(target, overwrite=True)


def _kill(work: Callable[[], None], after_s: float, *, started: Path) -> None:
    """Run in a process of its own until it has begun and so long after, then kill it."""
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    while not started.exists():
        time.sleep(0.001)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit("a process ended before it was killed")
