"""24 hourly periods and two kinds of days in one `learn`, against one period: time, readings, folder, charge.

A synthetic city: a grid of streets with 64 zones, 3 million trips of 300,000 users in 60 days. Both are whole commands,
run in turns in processes of their own, on the same files; the ratio is that of the medians.
"""

from __future__ import annotations

import json
import statistics
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


def write_city(folder: Path) -> None:
    """A grid of two-way streets, every corner a zone."""
    corners = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    one = np.concatenate([corners[:, :-1].ravel(), corners[:-1].ravel()])
    two = np.concatenate([corners[:, 1:].ravel(), corners[1:].ravel()])
    tail, head = np.concatenate([one, two]), np.concatenate([two, one])
    network = pr.Network(tail, head, pr.Latency.bpr(np.ones(tail.size), 8.0), range(1, SIDE * SIDE + 1))
    pr.write_gmns(network, folder)


def write_trips(folder: Path, rows: int) -> None:
    """Trips with two peaks a day, more between near zones, fewer and later ones at weekends."""
    chance = np.random.default_rng(1)
    zones = np.arange(SIDE * SIDE)
    distance = np.abs(zones[:, None] // SIDE - zones // SIDE) + np.abs(zones[:, None] % SIDE - zones % SIDE)
    weight = np.exp(-distance / 4.0)
    np.fill_diagonal(weight, 0.0)
    until = weight.ravel().cumsum()
    first = np.datetime64(FIRST, "us").astype(np.int64)
    folder.mkdir()
    for file in range(FILES):
        size = rows // FILES
        pair = np.searchsorted(until, chance.random(size) * until[-1]).astype(np.int32)
        second = chance.choice(24, size, p=HOURLY / HOURLY.sum()) * 3600 + chance.integers(0, 3600, size)
        departure = first + (chance.integers(0, DAYS, size) * 86_400 + second) * 1_000_000
        columns = {
            "user": chance.integers(0, USERS, size),
            "origin": pair // (SIDE * SIDE) + 1,
            "destination": pair % (SIDE * SIDE) + 1,
            "departure": pa.array(departure).cast(pa.timestamp("us")),
        }
        pq.write_table(pa.table(columns), folder / f"trips{file}.parquet")


def command(*words: str) -> float:
    """Seconds that a command of privroute takes, start and end included."""
    start = time.perf_counter()
    script = "from privroute.cli.app import main; main()"
    subprocess.run([sys.executable, "-c", script, *words], check=True, capture_output=True)  # noqa: S603
    return time.perf_counter() - start


def learned(place: Path, name: str, trips: str, mechanism: str, *more: str) -> float:
    """Seconds of one `learn`."""
    words = ["learn", "--network", str(place / "city"), "--trips", trips, "--from", FIRST, "--to", LAST]
    words += ["--epsilon", "1", "--delta", "1e-6", "--mechanism", mechanism, "--out", str(place / name), "--overwrite"]
    return command(*words, *more)


def compared(quiet: bool, repeats: int, place: Path, trips: str, mechanism: str, *more: str) -> dict[str, Any]:
    """Medians of one period and of the whole day, in turns."""
    times: dict[str, list[float]] = {"one": [], "day": []}
    for _ in range(repeats):
        times["one"].append(learned(place, "one", trips, mechanism, "--period", "07:00-08:00", *more))
        times["day"].append(learned(place, "day", trips, mechanism, "--period", "hourly", "--day-types", KINDS, *more))
    one, day = (statistics.median(times[name]) for name in ("one", "day"))
    release = pr.load_release(place / "day")
    useful = sum(each.quality is not None and each.quality.verdict == "better" for each in release.each())
    say(quiet, f"{mechanism}: one period {one:.2f} s, {len(release.slots)} periods {day:.2f} s, ratio {day / one:.2f}")
    return {
        "one_period_s": one,
        "whole_day_s": day,
        "ratio": day / one,
        "policies": len(release.slots),
        "better_than_no_data": useful,
        "same_rho_as_one_period": release.certificate.rho == pr.load_release(place / "one").certificate.rho,
        "folder_mb": sum(path.stat().st_size for path in (place / "day").iterdir()) / 1e6,
    }


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__).parse_args()
    quiet, repeats = options.json, 1 if options.quick else REPEATS
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_city(place / "city")
        write_trips(place / "trips", ROWS)
        everything = str(place / "trips" / "*.parquet")
        found = {
            f"request, {name}": compared(quiet, repeats, place, everything, name) for name in ("counts", "layered")
        }
        kept_s = command("bound", everything, "--max-requests", str(BOUND), "--out", str(place / "kept"))
        unit = ("--unit", "user", "--max-requests", str(BOUND), "--pre-bounded")
        found["user, counts"] = compared(quiet, repeats, place, str(place / "kept" / "trips.parquet"), "counts", *unit)
        kept = pq.read_metadata(place / "kept" / "trips.parquet").num_rows
        found["user, counts"] |= {"bound_s": kept_s, "kept": kept / ROWS}
    finish(json.loads(json.dumps(found)))


if __name__ == "__main__":
    main()
