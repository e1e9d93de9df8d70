"""Learning killed with SIGKILL at random moments: never noise without its charge, never half a release or stream day.

Every run is a process of its own that learns from one day and saves the release, or adds the day to a stream, with a
ledger; each run's day is its own, so that its charge can be told from the others'. The process looks into the ledger,
through a connection of its own, at the moment when noise is about to be drawn, and writes down whether the charge is
there; then it is killed, at a random moment. Afterwards the ledger is read, and at the end every release and stream day
that is there must be whole and name its charge.

Then eight processes charge one ledger 200 times each: nothing above the approved total is granted, nothing is lost.
"""

from __future__ import annotations

import datetime as dt
import multiprocessing
import os
import random
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from networks import arguments, finish, say

import privroute as pr
from privroute.errors import BudgetError, PrivrouteError
from privroute.history.period_histories import PeriodHistories
from privroute.mechanism import learn as learn_module
from privroute.privacy import charging
from privroute.privacy.calibration import gaussian_epsilon, gaussian_rho, gaussian_scale, rho_to_epsilon
from privroute.privacy.charging import scope_of
from privroute.privacy.noise import OpenDPNoise
from privroute.privacy.scope import Scope

if TYPE_CHECKING:
    from numpy.typing import NDArray

RUNS, QUICK_RUNS = 200, 40
EARLY = 0.15
PROCESSES, CHARGES, FITTING = 8, 200, 150
PROMISE = pr.Guarantee(epsilon=0.1, delta=1e-6)
FIRST = dt.date(2026, 1, 1)
SCENARIO = pr.sioux_falls()
PAIRS = SCENARIO.demand.pairs
COUNTS = pr.simulate_days(SCENARIO.demand, days=1, seed=1).counts


class Place:
    """The files of all runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = pr.Ledger.create(folder / "city.ledger", "city", pr.Approval(0.1, 1e-6))
        self.stream = folder / "stream"

    def release(self, run: int) -> Path:
        """Where the run's release goes."""
        return self.folder / f"release-{run}"

    def trace(self, run: int) -> Path:
        """Where the run writes down that noise is drawn."""
        return self.folder / f"trace-{run}"


def history(run: int) -> pr.DemandHistory:
    """One day, which no other run has."""
    return pr.DemandHistory(PAIRS, COUNTS, period_min=60, dates=[FIRST + dt.timedelta(days=run)])


def periods(run: int) -> PeriodHistories:
    """Three hours of such a day."""
    day = FIRST + dt.timedelta(days=run)
    frame = pr.Frame(PAIRS, pr.Calendar.of(["06:00-09:00/60min"], (day, day)))
    return PeriodHistories.of(frame, [pr.DemandHistory.of(part, COUNTS) for part in frame.parts])


def learned_from(run: int) -> pr.DemandHistory | PeriodHistories:
    """One of four runs learns several periods under one charge, one another period, and two add to a stream."""
    return periods(run) if run % 4 == 1 else history(run)


def charged(place: Place, run: int) -> bool:
    """Whether the ledger on the disk has the run's charge."""
    scope = scope_of(learned_from(run).frame)
    return any(charge.scope == scope for charge in place.ledger.account().charges)


def work(place: Place, run: int) -> None:
    """What a run does, watched at the moment when noise is drawn."""
    draw = OpenDPNoise.add_integers

    def watched(noise: OpenDPNoise, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        text = "noise, charged\n" if charged(place, run) else "noise, NOT charged\n"
        with place.trace(run).open("a") as file:
            file.write(text)
        return draw(noise, values, scale)

    OpenDPNoise.add_integers = watched  # type: ignore[method-assign, assignment]
    if run % 2:
        pr.learn(SCENARIO.network, learned_from(run), PROMISE, ledger=place.ledger).save(place.release(run))
    else:
        stream = pr.Stream(place.stream, SCENARIO.network, PROMISE, pr.Daily(window=7), ledger=place.ledger)
        stream.add_day(history(run))


def plant() -> None:
    """A bug for the tests of this script: noise is drawn before the charge."""
    right = charging.charge_release

    def late(*rest: Any) -> Any:
        OpenDPNoise().add_integers(np.zeros(3, np.int64), 1.0)
        return right(*rest)

    learn_module.__dict__["charge_release"] = late


def start(place: Place, run: int) -> int:
    """Begin a run in a process of its own."""
    child = os.fork()
    if child:
        return child
    try:
        work(place, run)
        os._exit(0)
    finally:
        os._exit(1)


def whole_run_s(place: Place, runs: range) -> float:
    """How long runs take that nobody kills."""
    took = []
    for run in runs:
        begin = time.perf_counter()
        _, status = os.waitpid(start(place, run), 0)
        took.append(time.perf_counter() - begin)
        if status:
            raise SystemExit(f"run {run} failed without being killed")
    return sorted(took)[len(took) // 2]


def kill_runs(
    place: Place, first: int, wanted: int, longest_s: float, chance: random.Random
) -> tuple[list[str], range]:
    """Kill so many runs, each at a random moment, and read the ledger after each; what went wrong, and all runs.

    Half of them are killed early, around charge and noise, which take a small part of a run.
    """
    wrong, killed, run = [], 0, first
    while killed < wanted:
        child = start(place, run)
        time.sleep(chance.uniform(0, longest_s * chance.choice((EARLY, 1.0))))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)  # others were done before
        try:
            place.ledger.account()
        except PrivrouteError as problem:
            wrong.append(f"run {run}: the ledger cannot be read: {problem}")
        run += 1
    return wrong, range(first, run)


def found_wrong(place: Place, runs: range) -> tuple[list[str], dict[str, int]]:
    """Everything that must never be seen, and how far the runs came."""
    wrong = []
    account = place.ledger.account()
    entries = {charge.entry: charge for charge in account.charges}
    stream = pr.Stream(place.stream, SCENARIO.network, PROMISE, ledger=place.ledger)
    days = {date: stream._files.read_day(date, len(PAIRS))[1] for date in stream.dates}  # noqa: SLF001
    noisy = written = 0
    for run in runs:
        trace = place.trace(run).read_text() if place.trace(run).exists() else ""
        noisy += bool(trace)
        if "NOT" in trace or (trace and not charged(place, run)):
            wrong.append(f"run {run}: noise without its charge")
        budget: Any = days.get(FIRST + dt.timedelta(days=run))
        if place.release(run).exists():
            try:
                budget = pr.load_release(place.release(run)).certificate.budget
            except PrivrouteError as problem:
                wrong.append(f"run {run}: {problem}")
                continue
        if budget is None:
            continue
        written += 1
        charge = entries.get(budget["entry"])
        if not trace or charge is None or charge.digest != budget["digest"]:
            wrong.append(f"run {run}: a release whose charge is not in the ledger")
    if account.spent_epsilon > account.approval.epsilon:
        wrong.append("more was spent than approved")
    reached = {"charged": len(entries), "drew_noise": noisy, "written": written}
    return wrong, reached


def charge_often(path: Path, number: int, done: Any) -> None:
    """In a process of its own: 200 charges on overlapping days; tells which were granted."""
    ledger = pr.Ledger(path)
    rho = gaussian_rho(gaussian_scale(PROMISE.epsilon, PROMISE.delta, 1.0), 1.0)
    granted = []
    for turn in range(CHARGES):
        days = [FIRST + dt.timedelta(days=day) for day in range((number + turn) % 5, 7)]
        try:
            granted.append(ledger.charge(Scope.of_days(days), PROMISE, rho, f"process {number}")[0].entry)
        except BudgetError:
            continue
    done.put(granted)


def charges_at_once(folder: Path) -> dict[str, Any]:
    """Eight processes on one ledger, whose total allows only some of their charges."""
    rho = gaussian_rho(gaussian_scale(PROMISE.epsilon, PROMISE.delta, 1.0), 1.0)
    approval = pr.Approval(rho_to_epsilon((FITTING + 0.5) * rho, PROMISE.delta), PROMISE.delta)
    ledger = pr.Ledger.create(folder / "shared.ledger", "shared", approval)
    context = multiprocessing.get_context("spawn")
    done = context.Queue()
    begin = time.perf_counter()
    workers = [context.Process(target=charge_often, args=(ledger.path, number, done)) for number in range(PROCESSES)]
    for worker in workers:
        worker.start()
    told = sorted(entry for _ in workers for entry in done.get())
    for worker in workers:
        worker.join()
    account = ledger.account()
    return {
        "processes": PROCESSES,
        "asked": PROCESSES * CHARGES,
        "fitting": FITTING,
        "granted": len(told),
        "lost": len(set(told) ^ {charge.entry for charge in account.charges}),
        "spent_over_approved": account.spent_epsilon / approval.epsilon,
        "seconds": time.perf_counter() - begin,
    }


def main() -> None:
    """Kill runs, look at what they left, and let processes charge at once."""
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, help=f"how many to kill (default {RUNS})")
    parser.add_argument("--seed", type=int, help="of the moments at which they are killed")
    parser.add_argument("--plant", action="store_true", help="plant a bug: noise before the charge")
    parser.add_argument("--only-kill", action="store_true", help="leave out the processes that charge at once")
    options = parser.parse_args()
    wanted = options.runs or (QUICK_RUNS if options.quick else RUNS)
    if options.plant:
        plant()
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name))
        place.ledger.account().approval.allows(1)  # searches that every run would repeat are done once, before the fork
        gaussian_epsilon(gaussian_scale(PROMISE.epsilon, PROMISE.delta, 1.0), 1.0, PROMISE.delta)
        warm = range(6)
        longest_s = whole_run_s(place, warm)
        say(options.json, f"a whole run takes about {longest_s:.2f} s; killing {wanted:,}")
        wrong, runs = kill_runs(place, len(warm), wanted, longest_s, random.Random(options.seed))  # noqa: S311 - moments
        more, reached = found_wrong(place, runs)
        wrong += more
        left = sum(path.name.endswith((".part", ".old")) for path in Path(name).iterdir())
        result: dict[str, Any] = {
            "runs": wanted,
            "violations": len(wrong),
            "finished_before_the_kill": len(runs) - wanted,
            **reached,
            "charged_without_release": reached["charged"] - len(warm) - reached["written"],
            "unfinished_folders": left,
        }
        for text in wrong[:10]:
            say(options.json, text)
        if not options.only_kill:
            result["at_once"] = charges_at_once(Path(name))
    say(options.json, f"{wanted:,} runs killed, {len(wrong):,} violations")
    finish(result)


if __name__ == "__main__":
    main()
