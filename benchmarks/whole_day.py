"""24 hourly periods and two kinds of days in one `learn`, against one period: time, folder, charge, verdicts.

A synthetic city: a grid of streets with 64 zones, 3 million trips of 300,000 users in 60 days. Each trip stands for 8
vehicles (a public factor), so that peaks are congested: the fullest link of an optimum carries more than its capacity.
One period and the whole day are whole commands, run in turns in processes of their own, on the same files.

    ratio              of the medians of whole commands: start, reading, learning and saving
    mechanism_ratio    of the medians of the time from the charge to the finished release, in the same commands
    cpu_ratio          of the medians of the processors' time of whole commands, which other work disturbs less
    verdicts           what the periods say of their policies, by kind of day: hours of each verdict
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from networks import arguments, finish, say

import privroute as pr

SIDE, ROWS, USERS, DAYS, FILES = 8, 3_000_000, 300_000, 60, 6
FIRST, LAST = "2026-03-02", "2026-04-30"
HOURLY = np.array([1, 0.6, 0.4, 0.4, 0.7, 2, 5, 8, 7, 5, 4.5, 4.5, 5, 5, 5.5, 6.5, 8, 8.5, 6.5, 5, 4, 3, 2.5, 1.6])
KINDS = "workday=mon-fri;weekend=sat,sun"
REPEATS = 3
BOUND = 10
VEHICLES = 8.0  # on the road for each trip that is counted
WEEKEND, LATER_H = 0.6, 2  # trips of a weekend day over those of a workday, and by how many hours they are later
TIMED = """
import sys, time
from privroute.cli.app import main
from privroute.mechanism.learn import Announcement
release = Announcement.release
def timed(*given, **more):
    start = time.perf_counter()
    try:
        return release(*given, **more)
    finally:
        print(f"mechanism_s={time.perf_counter() - start}", file=sys.stderr)
Announcement.release = timed
main()
"""


def write_city(folder: Path) -> None:
    """A grid of two-way streets, every corner a zone; every third street is an avenue, faster and wider."""
    corners = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    one = np.concatenate([corners[:, :-1].ravel(), corners[:-1].ravel()])
    two = np.concatenate([corners[:, 1:].ravel(), corners[1:].ravel()])
    across = np.repeat([True, False], one.size // 2)
    avenue = np.where(across, one // SIDE, one % SIDE) % 3 == 1
    tail, head, avenue = np.concatenate([one, two]), np.concatenate([two, one]), np.tile(avenue, 2)
    curve = pr.Latency.bpr(np.where(avenue, 0.75, 1.0), np.where(avenue, 12.0, 6.0))
    pr.write_gmns(pr.Network(tail, head, curve, range(1, SIDE * SIDE + 1)), folder)


def write_trips(folder: Path, rows: int) -> None:
    """Trips with two peaks a day, to some zones in the morning and back in the evening; at weekends fewer and later.

    Near zones and zones of some weight have more trips between them, and every pair has a factor of its own.
    """
    chance = np.random.default_rng(1)
    zones = np.arange(SIDE * SIDE)
    distance = np.abs(zones[:, None] // SIDE - zones // SIDE) + np.abs(zones[:, None] % SIDE - zones % SIDE)
    weight = np.exp(-distance / 4.0 + chance.normal(0.0, 0.5, distance.shape))
    weight *= np.exp(chance.normal(0.0, 0.5, zones.size))[:, None] * np.exp(chance.normal(0.0, 0.7, zones.size))
    np.fill_diagonal(weight, 0.0)
    until = weight.ravel().cumsum()
    first = np.datetime64(FIRST, "us").astype(np.int64)
    weekend = np.isin(np.arange(DAYS) % 7, (5, 6))  # FIRST is a Monday
    of_day = np.where(weekend, WEEKEND, 1.0)
    folder.mkdir()
    for file in range(FILES):
        size = rows // FILES
        pair = np.searchsorted(until, chance.random(size) * until[-1]).astype(np.int32)
        day = chance.choice(DAYS, size, p=of_day / of_day.sum())
        hour = (chance.choice(24, size, p=HOURLY / HOURLY.sum()) + np.where(weekend[day], LATER_H, 0)) % 24
        back = chance.random(size) < (1 - np.cos(np.pi * (hour - 8) / 12)) / 2
        ends = pair // (SIDE * SIDE) + 1, pair % (SIDE * SIDE) + 1
        departure = first + (day * 86_400 + hour * 3600 + chance.integers(0, 3600, size)) * 1_000_000
        columns = {
            "user": chance.integers(0, USERS, size),
            "origin": np.where(back, ends[1], ends[0]),
            "destination": np.where(back, ends[0], ends[1]),
            "departure": pa.array(departure).cast(pa.timestamp("us")),
        }
        pq.write_table(pa.table(columns), folder / f"trips{file}.parquet")


def command(*words: str) -> tuple[float, float, float]:
    """Seconds of a command of privroute, start and end included, of its mechanism, and of the processors."""
    before, start = os.times(), time.perf_counter()
    done = subprocess.run([sys.executable, "-c", TIMED, *words], check=True, capture_output=True, text=True)  # noqa: S603
    seconds, after = time.perf_counter() - start, os.times()
    mechanism = re.search(r"mechanism_s=(\S+)", done.stderr)
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, float(mechanism[1]) if mechanism else 0.0, used


def learned(place: Path, name: str, trips: str, mechanism: str, *more: str) -> tuple[float, float, float]:
    """Seconds of one `learn`."""
    words = ["learn", "--network", str(place / "city"), "--trips", trips, "--from", FIRST, "--to", LAST]
    words += ["--epsilon", "1", "--delta", "1e-6", "--mechanism", mechanism, "--expansion", str(VEHICLES)]
    return command(*words, "--out", str(place / name), "--overwrite", *more)


def compared(quiet: bool, repeats: int, place: Path, trips: str, mechanism: str, *more: str) -> dict[str, Any]:
    """Medians of one period and of the whole day, in turns."""
    times: dict[str, list[tuple[float, float, float]]] = {"one": [], "day": []}
    for _ in range(repeats):
        times["one"].append(learned(place, "one", trips, mechanism, "--period", "07:00-08:00", *more))
        times["day"].append(learned(place, "day", trips, mechanism, "--period", "hourly", "--day-types", KINDS, *more))
    one, day = (np.median(times[name], axis=0).tolist() for name in ("one", "day"))
    release = pr.load_release(place / "day")
    found = {
        "one_period_s": one[0],
        "whole_day_s": day[0],
        "ratio": day[0] / one[0],
        "mechanism_one_period_s": one[1],
        "mechanism_whole_day_s": day[1],
        "mechanism_ratio": day[1] / one[1],
        "cpu_one_period_s": one[2],
        "cpu_whole_day_s": day[2],
        "cpu_ratio": day[2] / one[2],
        "policies": len(release.slots),
        "verdicts": verdicts(release),
        "same_rho_as_one_period": release.certificate.rho == pr.load_release(place / "one").certificate.rho,
        "folder_mb": sum(path.stat().st_size for path in (place / "day").iterdir()) / 1e6,
    }
    say(quiet, f"{mechanism} {' '.join(more)}")
    for name, value in found.items():
        say(quiet, f"    {name}: {value:.3g}" if isinstance(value, float) else f"    {name}: {value}")
    return found


def verdicts(release: pr.Release) -> dict[str, dict[str, list[int]]]:
    """The hours of each verdict by kind of day."""
    found: dict[str, dict[str, list[int]]] = {}
    for slot, each in zip(release.slots, release.each(), strict=True):
        verdict = "not measured" if each.quality is None else each.quality.verdict
        found.setdefault(str(slot.day_type), {}).setdefault(verdict, []).append(slot.period.start_us // 3_600_000_000)
    return found


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__).parse_args()
    quiet, repeats = options.json, 1 if options.quick else REPEATS
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_city(place / "city")
        rows = ROWS // 10 if options.quick else ROWS
        write_trips(place / "trips", rows)
        everything = str(place / "trips" / "*.parquet")
        found = {
            f"request, {name}": compared(quiet, repeats, place, everything, name) for name in ("counts", "layered")
        }
        kept_s, *_ = command("bound", everything, "--max-requests", str(BOUND), "--out", str(place / "kept"))
        unit = ("--unit", "user", "--max-requests", str(BOUND), "--pre-bounded")
        found["user, counts"] = compared(quiet, repeats, place, str(place / "kept" / "trips.parquet"), "counts", *unit)
        kept = pq.read_metadata(place / "kept" / "trips.parquet").num_rows
        found["user, counts"] |= {"bound_s": kept_s, "kept": kept / rows}
    finish(json.loads(json.dumps(found)))


if __name__ == "__main__":
    main()
