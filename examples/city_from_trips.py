"""A city, its people's trips in Parquet files, and the way from the files to a private release.

    python examples/city_from_trips.py --rows 5_000_000 --folder city

Nobody is in these files: people, homes and habits are drawn from a gravity model on a public network. People go to work
in the morning when they are used to, come back in the evening, and sometimes go elsewhere.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import privroute as pr

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST, LAST, DAYS = "2026-03-02", "2026-04-30", 60
ROWS_PER_FILE = 1_000_000
TRIPS_PER_DAY = 1.9  # to work and back on seven days of ten, and every other day somewhere else
HOUR = 3600


def choose(chance: np.random.Generator, weights: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each of `rows` a column, drawn by that row's weights."""
    steps = weights.cumsum(axis=1)
    steps /= steps[:, -1:]
    drawn = chance.random(rows.size)
    places = np.searchsorted((steps + np.arange(len(steps))[:, None]).ravel(), rows + drawn, side="right")
    columns: NDArray[np.intp] = np.minimum(places - rows * steps.shape[1], steps.shape[1] - 1)
    return columns


def write_city(scenario: pr.Scenario, folder: Path, rows: int, seed: int = 1) -> None:
    """Write about `rows` trips: user, origin, destination, departure (local time)."""
    chance = np.random.default_rng(seed)
    network, pairs = scenario.network, scenario.demand.pairs
    zones = network.zones.size
    # gravity: people live and work where the public trip table has traffic, and prefer what is near
    table = np.zeros((zones, zones))
    place = {int(node): position for position, node in enumerate(network.zones)}
    ends = [np.array([place[int(node)] for node in side]) for side in (pairs.origin, pairs.destination)]
    table[ends[0], ends[1]] = scenario.demand.rate_per_min
    near = np.zeros((zones, zones))
    near[ends[0], ends[1]] = np.exp(-pr.free_flow_minutes(network, pairs) / 10)
    gravity = table.sum(axis=1)[:, None] * near * table.sum(axis=0)
    people = max(1, round(rows / (DAYS * TRIPS_PER_DAY)))
    home = choose(chance, table.sum(axis=1)[None], np.zeros(people, dtype=np.intp))
    work = choose(chance, gravity, home)
    leaves = chance.normal(7.5, 0.7, people) * HOUR  # everybody's own habit
    labels = np.array([int(network.node_labels[node]) for node in network.zones])

    per_file = max(1, round(ROWS_PER_FILE / (people * TRIPS_PER_DAY)))  # days
    for start in range(0, DAYS, per_file):
        parts = []
        for day in range(start, min(start + per_file, DAYS)):
            working = np.flatnonzero(chance.random(people) < (0.9 if day % 7 < 5 else 0.2))  # noqa: PLR2004 - Mon to Fri
            morning = leaves[working] + chance.normal(0, 0.15 * HOUR, working.size)
            evening = morning + chance.normal(9, 1, working.size) * HOUR
            free = chance.integers(0, people, people // 2)
            elsewhere = choose(chance, gravity, home[free])
            trips = [
                (working, home[working], work[working], morning),
                (working, work[working], home[working], evening),
                (free, home[free], elsewhere, chance.uniform(6, 22, free.size) * HOUR),
            ]
            moment = np.datetime64(FIRST, "s") + np.timedelta64(day, "D")
            for who, origin, destination, second in trips:
                when = moment + second.clip(0, 24 * HOUR - 1).astype("timedelta64[s]")
                parts.append((who, labels[origin], labels[destination], when))
        user, origin, destination, departure = (np.concatenate(column) for column in zip(*parts, strict=True))
        columns = {"user": user, "origin": origin, "destination": destination, "departure": departure}
        pq.write_table(pa.table(columns), folder / f"trips-{start:02}.parquet")


def main() -> None:
    """Make the city, then do what an agency would do with its own files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="about so many trips")
    parser.add_argument("--folder", type=Path, help="where to keep files and releases; default: nowhere")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        (folder / "trips").mkdir(parents=True, exist_ok=True)
        scenario = pr.sioux_falls()
        write_city(scenario, folder / "trips", options.rows)

        # The public frame is chosen first: one hour of working days, whatever the files hold.
        files = str(folder / "trips" / "*.parquet")
        history = pr.read_trips(
            files, scenario.network, period=("07:00", "08:00"), dates=(FIRST, LAST), weekdays="mon-fri"
        )
        release = pr.learn(scenario.network, history, pr.Guarantee(epsilon=0.1, delta=1e-6))
        release.save(folder / "release", overwrite=True)

        policy = pr.load_release(folder / "release").policy  # never touches the private side
        for route in policy.routes(12, 6):
            print(f"{route.probability:.0%}", route.nodes)

        # The same for whole users: at most five trips of each, at most two for one origin and destination.
        history = pr.read_trips(
            files,
            scenario.network,
            period=("07:00", "08:00"),
            dates=(FIRST, LAST),
            weekdays="mon-fri",
            unit="user",
            max_requests=5,
            max_per_pair=2,
        )
        release = pr.learn(scenario.network, history, pr.Guarantee(epsilon=1.0, delta=1e-6, unit="user"))
        release.save(folder / "release-users", overwrite=True)
        print(
            release.certificate.unit, "level: noise of", round(release.certificate.noise_scale or 0, 1), "on each count"
        )


if __name__ == "__main__":
    main()
