"""Everything that may happen to the package for long: kills, mutated inputs, bad clients, and machines that fail.

- kills: processes killed with SIGKILL while they learn, add to a stream, charge a ledger, or replace a release
- mutated: damaged inputs for every reader, under address sanitizer where build/sanitized has such a core
- load: the service under 64 connections, among them slow and broken clients
- faults: full and read-only disks, a clock set back, time zone data missing

violations: what must never be seen (noise without its charge, half a release, another error than the package's own, a
crash, a wrong answer); losses: something that was granted or saved and is gone. --long takes hours; --only runs one
part of it, and --minutes ends a part early, with the figures of what was done.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from math import inf
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 - before the others
from endurance_clients import hold_out
from endurance_faults import fail_everything
from endurance_kills import kill_everything
from endurance_readers import SHARES
from networks import arguments, finish, say

PARTS = ("kills", "readers", "load", "faults")
KILLS, MUTATED, LOAD_S = 40, 20_000, 20.0
LONG_KILLS, LONG_MUTATED, LONG_LOAD_S = 1000, 1_000_000, 3600.0
QUICK_KILLS, QUICK_MUTATED, QUICK_LOAD_S = 8, 600, 3.0
CASES_PER_PROCESS = 10_000
KILLS_AT_ONCE = 100
SCRIPT = Path(__file__).with_name("endurance_readers.py")
SANITIZED = Path(__file__).resolve().parents[1] / "build" / "sanitized" / "privroute"


def sanitized_environment() -> dict[str, str] | None:
    """Variables for a process with the sanitized core that `make sanitize` builds; None where there is none."""
    if not (SANITIZED / ".built").exists():
        return None
    compiler = os.environ.get("CXX", "c++")
    libraries = [
        subprocess.run(  # noqa: S603 - the compiler's own path
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return {
        "PRIVROUTE_TEST_CORE": str(SANITIZED),
        "ASAN_OPTIONS": "detect_leaks=0",
        "LD_PRELOAD": " ".join(libraries),
    }


def most_at_once(name: str) -> int:
    """Inputs of one process, so that what it holds does not grow for hours."""
    return max(1, int(CASES_PER_PROCESS * SHARES[name] / max(SHARES.values())))


def kill_in_rounds(
    folder: Path, wanted: int, chance: random.Random, until: float, *, quiet: bool
) -> tuple[dict[str, int], list[str], list[str]]:
    """Kill this many processes, in rounds with a folder each, until all are done or the time is over."""
    each, wrong, lost = Counter[str](), list[str](), list[str]()
    while each.total() < wanted and time.monotonic() < until:
        place = folder / str(each.total())
        place.mkdir(parents=True)
        killed, more_wrong, more_lost = kill_everything(place, min(KILLS_AT_ONCE, wanted - each.total()), chance)
        each.update(killed)
        wrong, lost = wrong + more_wrong, lost + more_lost
        say(quiet, f"{each.total():,} killed: {len(wrong)} violations, {len(lost)} losses")
    return dict(each), wrong, lost


def hammer_readers(wanted: int, seed: int, until: float, *, quiet: bool) -> tuple[dict[str, Any], list[str]]:
    """Mutated inputs over all readers, in turns, so that a run that is stopped has tried every reader."""
    by_reader = dict.fromkeys(SHARES, 0)
    under_sanitizer = 0
    found: list[str] = []
    memory_mb = 0.0
    goal = {name: max(1, round(wanted * share / sum(SHARES.values()))) for name, share in SHARES.items()}
    turn = 0
    while any(by_reader[name] < goal[name] for name in goal) and time.monotonic() < until:
        sanitized = sanitized_environment()
        batch = {name: min(goal[name] - by_reader[name], most_at_once(name)) for name in goal}
        asked = [f"{name}={cases}" for name, cases in batch.items() if cases > 0]
        for readers in [[one] for one in asked] if wanted > QUICK_MUTATED else [asked]:
            if turn and time.monotonic() > until:
                break
            command = [sys.executable, str(SCRIPT), *readers, "--seed", str(seed * 1000 + turn)]
            done = subprocess.run(  # noqa: S603 - our own script
                command, capture_output=True, text=True, check=False, env={**os.environ, **(sanitized or {})}
            )
            for told in map(json.loads, done.stdout.splitlines()):
                name = told["reader"]
                by_reader[name] += told["mutated"]
                under_sanitizer += told["mutated"] * (sanitized is not None)
                memory_mb = max(memory_mb, told["memory_mb"])
                found += [f"{name}: {text}" for text in told["violations"]]
                say(quiet, f"{sum(by_reader.values()):,} inputs; {name}: {told['found']} found, {told['cpu_s']:.0f} s")
            if done.returncode:
                found.append(f"{' '.join(command[1:])} ended with {done.returncode}: {done.stderr[-2000:]}")
                return {"by_reader": by_reader, "under_sanitizer": under_sanitizer}, found
        turn += 1
    figures = {"by_reader": by_reader, "under_sanitizer": under_sanitizer, "largest_memory_mb": memory_mb}
    return figures, found


def main() -> None:
    """Run all parts, or some, and count."""
    parser = arguments(__doc__)
    parser.add_argument("--long", action="store_true", help="1,000 kills, a million inputs, an hour of load")
    parser.add_argument("--only", choices=PARTS, action="append", help="run this part (may be repeated)")
    parser.add_argument("--kills", type=int, help=f"how many (default {KILLS})")
    parser.add_argument("--mutated", type=int, help=f"how many (default {MUTATED:,})")
    parser.add_argument("--load-s", type=float, help=f"how long (default {LOAD_S:g})")
    parser.add_argument("--minutes", type=float, default=inf, help="end each part after this time (default: never)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments and of the inputs")
    options = parser.parse_args()
    sizes = (KILLS, MUTATED, LOAD_S)
    if options.quick or options.long:
        sizes = (LONG_KILLS, LONG_MUTATED, LONG_LOAD_S) if options.long else (QUICK_KILLS, QUICK_MUTATED, QUICK_LOAD_S)
    kills, mutated = int(options.kills or sizes[0]), int(options.mutated or sizes[1])
    load_s = min(float(options.load_s or sizes[2]), 60 * options.minutes)
    parts = options.only or list(PARTS)
    result: dict[str, Any] = {"kills": 0, "mutated": 0, "violations": 0, "losses": 0}
    violations: list[str] = []
    losses: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        chance = random.Random(options.seed)  # noqa: S311 - moments
        if "kills" in parts:
            until = time.monotonic() + 60 * options.minutes
            each, wrong, lost = kill_in_rounds(Path(name, "kills"), kills, chance, until, quiet=options.json)
            result |= {"kills": sum(each.values()), "killed": each}
            violations, losses = violations + wrong, losses + lost
        if "readers" in parts:
            until = time.monotonic() + 60 * options.minutes
            figures, wrong = hammer_readers(mutated, options.seed, until, quiet=options.json)
            result |= {"mutated": sum(figures["by_reader"].values()), "readers": figures}
            violations += wrong
        if "load" in parts:
            place = Path(name, "load")
            place.mkdir()
            result["load"], wrong = hold_out(place, load_s, options.seed, quiet=options.json)
            violations += wrong
        if "faults" in parts:
            place = Path(name, "faults")
            place.mkdir()
            result["faults"], wrong, lost = fail_everything(place, quick=options.quick)
            violations, losses = violations + wrong, losses + lost
    result |= {"violations": len(violations), "losses": len(losses), "found": [*violations, *losses][:50]}
    for text in [*violations, *losses][:10]:
        say(options.json, text)
    finish(result)


if __name__ == "__main__":
    main()
