"""Machines that fail: a full disk, a read-only disk, a clock set back, time zone data missing.

Disks are small file systems in memory, mounted in a namespace of their own (Linux, as root or with user namespaces);
where that is not possible, a limit on the size of files stands for the full disk. The clock is set back by `faketime`,
where it is installed. What could not be tried is said in the figures.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import resource
import shutil
import subprocess
import sys
import traceback
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import chaos

import privroute as pr
from privroute.errors import PrivrouteError
from privroute.privacy.noise import OpenDPNoise
from privroute.release.signing import make_keys
from privroute.study.time_zones import time_zone

if TYPE_CHECKING:
    from collections.abc import Callable

DISK_KB = 4096
FREE_KB = (0, 4, 8, 12, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 512)
QUICK_FREE_KB = (0, 4, 24, 64, 512)


@dataclass
class Found:
    """What a fault was seen to do."""

    tried: int = 0
    failed: int = 0
    done: int = 0
    violations: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)

    def act(self, name: str, work: Callable[[], object]) -> bool:
        """Do something that may fail, with the package's own error only; whether it was done."""
        self.tried += 1
        try:
            work()
        except PrivrouteError:
            self.failed += 1
            return False
        except Exception:  # noqa: BLE001 - what is looked for
            self.violations.append(f"{name}: {traceback.format_exc(limit=-3)}")
            return False
        self.done += 1
        return True


class Things:
    """A ledger with a charge, a release, a stream of a day and keys, all on one disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.release, self.stream, self.key = folder / "release", folder / "stream", folder / "key"
        self.ledger = pr.Ledger.create(folder / "city.ledger", "city", pr.Approval(0.5, 1e-6))
        make_keys(self.key)
        self.learn(0)
        self.add_day(0)
        self.charges = self.ledger.account().charges
        self.known = [self._counts()]

    def learn(self, run: int) -> None:
        """Learn from a day of its own and replace the release."""
        learned = pr.learn(chaos.SCENARIO.network, chaos.history(run), chaos.PROMISE, ledger=self.ledger)
        if learned.noisy_counts is not None and hasattr(self, "known"):
            self.known.append(learned.noisy_counts.tolist())
        learned.save(self.release, overwrite=True)

    def add_day(self, run: int) -> None:
        """Add a day of its own to the stream."""
        promise = pr.Guarantee(0.05, 1e-6)
        stream = pr.Stream(self.stream, chaos.SCENARIO.network, promise, pr.Daily(window=7), ledger=self.ledger)
        stream.add_day(chaos.history(run))

    def sign(self, _: int) -> None:
        """Sign the release."""
        pr.sign_release(self.release, self.key)

    def _counts(self) -> Any:
        counts = pr.load_release(self.release).noisy_counts
        return None if counts is None else counts.tolist()

    def check(self, name: str, found: Found) -> None:
        """All that was there is there, whole."""
        try:
            charges = self.ledger.account().charges
            if [charge.digest for charge in charges[: len(self.charges)]] != [one.digest for one in self.charges]:
                found.losses.append(f"{name}: a charge is gone")
            self.charges = charges
            if self._counts() not in self.known:
                found.violations.append(f"{name}: a release that nobody saved")
            pr.Stream(self.stream, chaos.SCENARIO.network, pr.Guarantee(0.05, 1e-6), ledger=self.ledger)
        except PrivrouteError as problem:
            found.losses.append(f"{name}: {problem}")
        left = [path.name for path in self.folder.rglob("*.part")]
        if left:
            found.violations.append(f"{name}: half-written files are left: {left[:3]}")


def watch_noise(things: Things, found: Found) -> None:
    """Noise is drawn only after a charge is on the disk."""
    draw = OpenDPNoise.add_integers

    def watched(noise: OpenDPNoise, values: Any, scale: float) -> Any:
        if len(things.ledger.account().charges) <= len(things.charges):
            found.violations.append("noise without its charge")
        return draw(noise, values, scale)

    OpenDPNoise.add_integers = watched  # type: ignore[method-assign, assignment]


def full_disk(folder: Path, *, quick: bool, mounted: bool) -> Found:
    """Learn, save, add to a stream and sign with less and less space."""
    found = Found()
    things = Things(folder)
    watch_noise(things, found)
    run = 1
    for free in QUICK_FREE_KB if quick else FREE_KB:
        for name, work in (("learn", things.learn), ("stream", things.add_day), ("sign", things.sign)):
            filler = folder / "filler"
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            if mounted:
                _fill(filler, shutil.disk_usage(folder).free - 1024 * free)
            else:
                resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * free, before[1]))
            found.act(f"{name} with {free} KB", partial(work, run))
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            filler.unlink(missing_ok=True)
            things.check(f"{name} with {free} KB", found)
            run += 1
    if not found.failed or not found.done:
        found.violations.append(f"{found.failed} failed and {found.done} were done: the disk was not full at times")
    return found


def _fill(path: Path, size: int) -> None:
    with path.open("wb") as file:
        for _ in range(max(0, size) // 4096):
            file.write(bytes(4096))


def read_only(folder: Path, *, quick: bool, mounted: bool) -> Found:
    """Everything that is written is refused, and what is there can be read."""
    del quick
    found = Found()
    things = Things(folder)
    watch_noise(things, found)
    _switch(folder, "ro", mounted=mounted)
    for name, work in (("learn", things.learn), ("stream", things.add_day), ("sign", things.sign)):
        if found.act(f"{name} read-only", partial(work, 1)) and (mounted or os.getuid()):
            found.violations.append(f"{name}: done on a read-only disk")
    found.act("create", lambda: pr.Ledger.create(folder / "new.ledger", "new", pr.Approval(1.0, 1e-6)))
    things.check("read-only", found)
    _switch(folder, "rw", mounted=mounted)
    things.check("writable again", found)
    if not found.act("learn again", lambda: things.learn(2)):
        found.violations.append("nothing can be learned after the disk is writable again")
    return found


def _switch(folder: Path, how: str, *, mounted: bool) -> None:
    if mounted:
        subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True)  # noqa: S603, S607
    else:
        for path in [folder, *folder.rglob("*")]:
            path.chmod((0o500 if path.is_dir() else 0o400) if how == "ro" else 0o700)


def clock_set_back(folder: Path, *, quick: bool, mounted: bool) -> Found:
    """Charges under a clock that is decades early count as all others; called with and without the false clock."""
    del quick, mounted
    found = Found()
    if not (folder / "city.ledger").exists():
        Things(folder)
        return found
    ledger = pr.Ledger(folder / "city.ledger")
    before = ledger.account()
    early = dt.datetime.now(dt.UTC).isoformat() < before.charges[0].at
    found.tried += 1
    found.done += early
    run = len(before.charges)
    learned = pr.learn(chaos.SCENARIO.network, chaos.history(run), chaos.PROMISE, ledger=ledger)
    learned.save(folder / "release", overwrite=True)
    after = ledger.account()
    if after.charges[:-1] != before.charges or len(after.charges) != run + 1:
        found.losses.append("a charge is gone after the clock was set back")
    if pr.load_release(folder / "release").noisy_counts is None:
        found.violations.append("the release of an early clock is not whole")
    try:
        for _ in range(100):
            pr.learn(chaos.SCENARIO.network, chaos.history(run), chaos.PROMISE, ledger=ledger)
        found.violations.append("more was granted than approved")
    except PrivrouteError:
        found.failed += 1
    return found


def no_time_zones(folder: Path, *, quick: bool, mounted: bool) -> Found:
    """Without time zone data nothing is read by the wrong clock: it is refused, and what needs no zone works."""
    del quick, mounted
    found = Found()
    path = folder / "trips.csv"
    path.write_text("origin,destination,departure\n1,20,2026-03-02 07:30\n1,20,2026-03-02 07:31\n")
    scenario = pr.sioux_falls()

    def read(**options: Any) -> Any:
        dates = ("2026-03-02", "2026-03-02")
        return pr.read_trips(path, scenario.network, period=("07:00", "08:00"), dates=dates, **options)

    try:
        time_zone("Europe/Berlin")
        found.violations.append("time zone data is there after all")
    except PrivrouteError as problem:
        if "tzdata" not in str(problem):
            found.violations.append(f"the error does not say what to install: {problem}")
    if not found.act("times without a zone", lambda: read().counts.sum() == 2 or 1 / 0):  # noqa: PLR2004
        found.violations.append("trips without a time zone cannot be read")
    if found.act("times of a zone", lambda: read(tz="Europe/Berlin")):
        found.violations.append("times were read by a zone that is not known")
    history = pr.simulate_days(scenario.demand, days=1, seed=1)
    release = pr.learn(scenario.network, history, pr.Guarantee(1.0, 1e-6))
    if not found.act("learn and save", lambda: release.save(folder / "release")):
        found.violations.append("nothing can be learned without time zone data")
    return found


FAULTS: dict[str, Callable[..., Found]] = {
    "full": full_disk,
    "read-only": read_only,
    "clock": clock_set_back,
    "time zones": no_time_zones,
}


def fail_everything(folder: Path, *, quick: bool = False) -> tuple[dict[str, Any], list[str], list[str]]:
    """Each fault in a process of its own; figures, violations and losses."""
    figures: dict[str, Any] = {}
    violations: list[str] = []
    losses: list[str] = []

    def run(name: str, place: Path, before: tuple[str, ...] = (), **variables: str) -> None:
        place.mkdir(exist_ok=True)
        command = [*before, sys.executable, str(Path(__file__)), name, str(place), *(["--quick"] if quick else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})  # noqa: S603
        if done.returncode:
            violations.append(f"{name} ended with {done.returncode}: {done.stderr[-2000:]}")
            return
        told = json.loads(done.stdout.splitlines()[-1])
        figures[name] = {key: told[key] + figures.get(name, {}).get(key, 0) for key in ("tried", "failed", "done")}
        figures[name]["how"] = told["how"]
        violations.extend(f"{name}: {text}" for text in told["violations"])
        losses.extend(f"{name}: {text}" for text in told["losses"])

    space = _namespace()
    run("full", folder / "full", space)
    run("read-only", folder / "read-only", space)
    clock = shutil.which("faketime")
    if clock:
        run("clock", folder / "clock")
        early = (clock, "-m", "2001-02-03 04:05:06")
        run("clock", folder / "clock", early, FAKETIME_DONT_FAKE_MONOTONIC="1")
        if not figures.get("clock", {}).get("done"):
            violations.append("clock: it was not set back")
        run("clock", folder / "clock")
    else:
        figures["clock"] = "not tried: faketime is not installed"
    run("time zones", folder / "zones", PYTHONTZPATH="")
    return figures, violations, losses


def _namespace() -> tuple[str, ...]:
    """Command that gives a process its own mounts, or nothing where that is not allowed."""
    for options in (("--mount",), ("--user", "--map-root-user", "--mount")):
        program = shutil.which("unshare")
        if program is None:
            break
        command = (program, *options)
        if not subprocess.run([*command, "true"], capture_output=True, check=False).returncode:  # noqa: S603
            return command
    return ()


def main() -> None:
    """Run one fault in this process: its name, a folder, and --quick."""
    name, folder, quick = sys.argv[1], Path(sys.argv[2]), "--quick" in sys.argv
    if name == "time zones":
        sys.modules["tzdata"] = None  # type: ignore[assignment]
    mounted = False
    how = "process"
    if name in {"full", "read-only"}:
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_KB}k", "tmpfs", str(folder)]
        outer, inner = Path("/proc/1/ns/mnt"), Path("/proc/self/ns/mnt")
        try:
            apart = outer.readlink() != inner.readlink()
        except OSError:
            apart = True  # another user's namespace cannot be looked at
        mounted = apart and not subprocess.run(command, capture_output=True, check=False).returncode  # noqa: S603
        how = "mounted file system" if mounted else "limits and permissions"
    found = FAULTS[name](folder, quick=quick, mounted=mounted)
    sys.stdout.write(json.dumps({**found.__dict__, "how": how}) + "\n")


if __name__ == "__main__":
    main()
