"""Two objectives, the mean day and all days, on real days that differ: traffic matrices of the Abilene backbone.

The matrices are public (SNDlib). `PRIVROUTE_REAL` names the folder with abilene/links.csv and abilene/traffic.parquet.
Counts are megabits per five minutes, so noise at epsilon 1 hardly matters; the question is which objective serves later
days better. Policies are learned on the first two thirds of the days at each of some hours and judged on the other
third: percent above the sum of the days' own optima. Capacities are scaled so that the optimum of the mean day fills
the fullest link to 90 %.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
from networks import arguments, finish, say

import privroute as pr

HOURS = (2, 8, 14, 20)
FULL = 0.9
TOLERANCE = 1e-3


def network(folder: Path) -> pr.Network:
    """The backbone: two directions of each link, BPR times with equal free-flow times."""
    links = pyarrow.csv.read_csv(folder / "links.csv").to_pydict()
    nodes = sorted(set(links["a"]) | set(links["b"]))
    place = {name: at for at, name in enumerate(nodes)}
    one, two = ([place[name] for name in links[end]] for end in ("a", "b"))
    capacity = np.tile(np.array(links["preinstalled_mbps"], float), 2)
    return pr.Network(one + two, two + one, pr.Latency.bpr(np.ones(capacity.size), capacity), nodes)


def days_at(folder: Path, roads: pr.Network, hour: int) -> tuple[pr.Pairs, np.ndarray]:
    """(days, pairs) megabits in the five minutes at this hour of each day."""
    pairs = pr.Pairs.of_zones(roads)
    place = {
        (roads.node_labels[o], roads.node_labels[d]): at
        for at, (o, d) in enumerate(zip(pairs.origin, pairs.destination, strict=True))
    }
    table = pq.read_table(folder / "traffic.parquet").to_pydict()
    found: dict[str, np.ndarray] = {}
    for time, origin, destination, rate in zip(*(table[name] for name in table), strict=True):
        if time[9:] == f"{hour:02}00" and (origin, destination) in place:
            day = found.setdefault(time[:8], np.zeros(len(pairs)))
            day[place[origin, destination]] += float(rate) * 300
    return pairs, np.array([found[day] for day in sorted(found)])


def scaled(roads: pr.Network, mean: pr.Demand) -> pr.Network:
    """Capacities so that the fullest link of the mean day's optimum is FULL."""
    for _ in range(20):
        flow = pr.solve_optimum(roads, mean, gap=1e-7).link_flow
        fullest = float((flow / roads.capacity_per_min).max())
        roads = pr.Network(
            roads.tail,
            roads.head,
            pr.Latency.bpr(np.ones(roads.links), roads.capacity_per_min * fullest / FULL),
            roads.node_labels,
        )
        if abs(fullest / FULL - 1) < TOLERANCE:
            break
    return roads


def above(roads: pr.Network, policy: pr.RoutingPolicy, days: list[pr.Demand]) -> float:
    """Percent above the days' own optima, all days together."""
    best = sum(pr.solve_optimum(roads, day, gap=1e-7).total_travel_time for day in days)
    return 100 * (sum(pr.total_travel_time(roads, policy, day) for day in days) / best - 1)


def at_hour(folder: Path, hour: int) -> dict[str, Any]:
    """Both objectives, learned on the first days and judged on the others."""
    backbone = network(folder)
    pairs, matrices = days_at(folder, backbone, hour)
    counts = np.rint(matrices).astype(np.int64)
    learned, later = np.split(counts, [2 * len(counts) // 3])
    mean = pr.Demand(pairs, learned.mean(axis=0) / 5)
    roads = scaled(backbone, mean)
    history = pr.DemandHistory(pairs, learned, period_min=5.0)
    rows: dict[str, Any] = {
        "days": len(counts),
        "variation": float(counts.sum(axis=1).std() / counts.sum(axis=1).mean()),
    }
    parts = {"in_sample": learned, "later": later}
    for objective in ("mean day", "all days"):
        chosen = pr.Counts(objective=objective)
        release = pr.learn(roads, history, pr.Guarantee(1.0, 1e-6), chosen, quality_share=0.0)
        rows[objective] = {"measured_variation": release.day_variation} | {
            name: above(roads, release.policy, [pr.Demand(pairs, day / 5.0) for day in days])
            for name, days in parts.items()
        }
    return rows


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__).parse_args()
    place = os.environ.get("PRIVROUTE_REAL")
    if place is None or not (Path(place) / "abilene" / "traffic.parquet").exists():
        sys.exit("set PRIVROUTE_REAL to the folder that has abilene/traffic.parquet")
    found = {}
    for hour in HOURS[:1] if options.quick else HOURS:
        found[f"{hour:02}:00"] = at_hour(Path(place) / "abilene", hour)
        say(options.json, f"{hour:02}:00 {found[f'{hour:02}:00']}")
    finish({"hours": found})


if __name__ == "__main__":
    main()
