"""`layered` against `counts` on days of real trips: bike-share trips in Chicago, as a fleet of 10 % on Chicago Sketch.

Every other day is learned from, the days between judge: percent above the optimum of their mean. A day's trips are
taken as those of one hour, and roads as a tenth as wide, so that fastest paths lose some 10 %. Coordinates of stations
become the nearest zone; trips within a zone are left out. Needs the TNTP files and, in the folder PRIVROUTE_REAL,
divvy_trips.parquet (departure, olon, olat, dlon, dlat) and ChicagoSketch_node_lonlat.tntp.

Beside both mechanisms: the exact counts of the days that are learned from, the user equilibrium and what needs no trip,
where the gravity model knows the zones' sizes of the days that judge, or of those that are learned from.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
from networks import arguments, finish, load, say

import privroute as pr
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.evaluate.suboptimality import Baseline, gravity_policy, policies_to_beat
from privroute.mechanism.learn import learn_with_noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXPANSION = 10.0 * 10.0  # a fleet of 10 %; bikes are few, so capacities are taken as a tenth of those of the roads
EPSILONS = (1.0, 0.7, 0.3, 0.15, 0.1, 0.01)
DRAWS = 10


def zones_of(longitude: NDArray[np.float64], latitude: NDArray[np.float64], place: Path) -> NDArray[np.int64]:
    """Position of the nearest zone, by degrees at Chicago's latitude."""
    rows = [line.split()[:3] for line in (place / "ChicagoSketch_node_lonlat.tntp").read_text().splitlines()[1:]]
    zones = np.array([[float(x), float(y)] for node, x, y in rows if int(node) <= 387])  # noqa: PLR2004 - its zones
    stretch = np.array([np.cos(np.radians(41.9)), 1.0])
    stations, place_of = np.unique(np.stack([longitude, latitude], axis=1), axis=0, return_inverse=True)
    apart = ((stations[:, None] - zones) * stretch) ** 2
    return np.asarray(apart.sum(axis=2).argmin(axis=1)[place_of.ravel()])


def daily_counts(network: pr.Network, pairs: pr.Pairs, place: Path) -> NDArray[np.int64]:
    """(days, pairs) trips between two different zones, for every date from the first to the last."""
    table = pq.read_table(place / "divvy_trips.parquet").to_pydict()
    ends = [
        network.zones[zones_of(np.array(table[f"{end}lon"]), np.array(table[f"{end}lat"]), place)] for end in ("o", "d")
    ]
    day = np.array([moment.toordinal() for moment in table["departure"]])
    kept = ends[0] != ends[1]
    found = np.zeros((day.max() - day.min() + 1, len(pairs)), np.int64)
    np.add.at(found, (day[kept] - day.min(), pairs.positions(ends[0][kept], ends[1][kept])), 1)
    return found


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__).parse_args()
    if "PRIVROUTE_REAL" not in os.environ:
        sys.exit("set PRIVROUTE_REAL to the folder of divvy_trips.parquet")
    network = load("ChicagoSketch", "affine").network
    pairs = pr.Pairs.of_zones(network)
    counts = daily_counts(network, pairs, Path(os.environ["PRIVROUTE_REAL"]))
    learned = pr.DemandHistory(pairs, counts[::2], period_min=60, expansion=EXPANSION)
    judged = pr.DemandHistory(pairs, counts[1::2], period_min=60, expansion=EXPANSION)
    baseline = Baseline.of(network, judged.mean)
    exact = pr.solve_optimum(network, learned.mean).policy
    result: dict[str, Any] = {
        "days": len(counts),
        "trips": int(counts.sum()),
        "pairs": len(pairs),
        "pairs_with_trips": int(np.count_nonzero(counts.any(axis=0))),
        "exact counts of the other days": baseline.percent(exact),
        **{name: baseline.percent(policy) for name, policy in policies_to_beat(network, judged.mean).items()},
        "gravity model of the other days' zone sizes": baseline.percent(gravity_policy(network, learned.mean)),
    }
    for name, value in result.items():
        say(options.json, f"{name:45} {value:,}" if isinstance(value, int) else f"{name:45} {value:8.3f} %")
    for epsilon in EPSILONS:
        for name in ("counts", "layered"):
            found = [
                baseline.percent(
                    learn_with_noise(network, learned, pr.Guarantee(epsilon, 1e-6), name, SeededNoise(draw)).policy
                )
                for draw in range(2 if options.quick else DRAWS)
            ]
            result[f"{name}_{epsilon:g}"] = found
            spread = f"{min(found):.3f} to {max(found):.3f}"
            say(options.json, f"{f'{name}, epsilon {epsilon:g}':45} {geometric_mean(found):8.3f} % ({spread})")
    finish(result)


if __name__ == "__main__":
    main()
