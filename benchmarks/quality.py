"""How well the measured quality of a release tells the truth: coverage, width, verdicts, and what it costs.

    python benchmarks/quality.py --json

Releases of simulated days on public networks, with reproducible noise, over {50, 5 days} x {100, 10, 1 % fleet} x
epsilon {1, 0.1, 0.01} for single trips, and for users with at most ten trips. The truth is computed from the same
private days: travel time of each policy on their mean demand, above its optimum.

Networks: Sioux Falls is built in; TNTP files of Anaheim, Eastern Massachusetts (EMA) and Chicago Sketch are read from
the folder of --folder or PRIVROUTE_TNTP.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

import privroute as pr
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.mechanism.learn import learn_with_noise
from privroute.mechanism.quality import policies_to_compare
from privroute.policy.travel_time import total_travel_time
from privroute.release.quality import RELEASED, Excess

Latency = Literal["affine", "bpr"]
Unit = Literal["request", "user"]
FILES: dict[str, Literal["min", "h"]] = {"Anaheim": "min", "EMA": "h", "ChicagoSketch": "min"}
DAYS, FLEETS, EPSILONS = (50, 5), (1, 10, 100), (1.0, 0.1, 0.01)
USER_TRIPS = 10
DELTA = 1e-6


@dataclass(frozen=True)
class Draw:
    """One release.

    true, low, high : percent above the optimum of the true demand, and what the release says; high may be infinite
    rows_covered, rows : baselines whose interval holds the truth, and how many there are
    better : it is better than every baseline; verdict : what the release says
    without : percent above the optimum of a release of the same days that spends nothing on quality
    """

    true: float
    low: float
    high: float
    rows_covered: int
    rows: int
    better: bool
    verdict: str
    without: float


def network_of(name: str, folder: Path, latency: Latency) -> tuple[pr.Network, pr.Demand]:
    """A network and its demand."""
    if name == "SiouxFalls":
        scenario = pr.sioux_falls(latency=latency)
        return scenario.network, scenario.demand
    network = pr.read_tntp(folder / f"{name}_net.tntp", latency=latency, time_unit=FILES[name])
    return network, pr.read_tntp_trips(folder / f"{name}_trips.tntp", network)


def draw(
    network: pr.Network, history: pr.DemandHistory, guarantee: pr.Guarantee, share: float, seed: int, best: float
) -> Draw:
    """Release once and compare with the truth."""
    mean = history.mean
    release = learn_with_noise(network, history, guarantee, "counts", SeededNoise(seed), quality_share=share)
    plain = learn_with_noise(network, history, guarantee, "counts", SeededNoise(seed))
    quality = release.quality
    if quality is None or release.demand is None:
        raise SystemExit("nothing was measured")

    def above(policy: pr.RoutingPolicy) -> float:
        return max(100 * (total_travel_time(network, policy, mean) / best - 1), 0.0)

    true = {name: above(each) for name, each in policies_to_compare(network, release.policy, release.demand).items()}
    said = quality.above_optimum
    rows = quality.baselines
    covered = sum(each.low <= true[name] + 1e-7 and true[name] <= _high(each) + 1e-7 for name, each in rows.items())
    others = [value for name, value in true.items() if name != RELEASED]
    return Draw(
        true=true[RELEASED],
        low=said.low,
        high=_high(said),
        rows_covered=covered,
        rows=len(rows),
        better=true[RELEASED] < min(others),
        verdict=quality.verdict,
        without=above(plain.policy),
    )


def _high(excess: Excess) -> float:
    return math.inf if excess.high is None else excess.high


def summary(draws: list[Draw]) -> dict[str, float | None]:
    """Shares over the draws; widths and excesses are medians."""
    bounded = [each.high - each.low for each in draws if math.isfinite(each.high)]
    with_share, without = (
        statistics.fmean(values) for values in zip(*((d.true, d.without) for d in draws), strict=True)
    )
    return {
        "draws": len(draws),
        "coverage": statistics.fmean(d.low <= d.true + 1e-7 <= d.high + 2e-7 for d in draws),
        "coverage_bounded": statistics.fmean(
            d.low <= d.true + 1e-7 <= d.high + 2e-7 for d in draws if d.high < math.inf
        )
        if bounded
        else None,
        "coverage_of_baselines": sum(d.rows_covered for d in draws) / sum(d.rows for d in draws),
        "true_percent": statistics.median(d.true for d in draws),
        "width_percent": statistics.median(bounded) if bounded else None,
        "at_least": 1 - len(bounded) / len(draws),
        "better": statistics.fmean(d.verdict == "better" for d in draws),
        "wrong_better": statistics.fmean(d.verdict == "better" and not d.better for d in draws),
        "worse": statistics.fmean(d.verdict == "worse" for d in draws),
        "wrong_worse": statistics.fmean(d.verdict == "worse" and d.better for d in draws),
        "undecided": statistics.fmean(d.verdict == "undecided" for d in draws),
        "cost_ratio": with_share / without if without > 0 else None,
    }


def cases(demand: pr.Demand, chosen_days: tuple[int, ...]) -> list[tuple[str, pr.DemandHistory, Unit]]:
    """Simulated histories by name, and the unit that is protected."""
    found: list[tuple[str, pr.DemandHistory, Unit]] = []
    for days in chosen_days:
        for fleet in FLEETS:
            traffic = pr.Demand(demand.pairs, demand.rate_per_min, expansion=fleet)
            history = pr.simulate_days(traffic, days=days, period_min=60, seed=days + fleet)
            found.append((f"{days} days, {100 // fleet} %", history, "request"))
        full = found[-len(FLEETS)][1]
        users = replace(full.frame, contribution=pr.Contribution("user", USER_TRIPS))
        found.append((f"{days} days, users", pr.DemandHistory.of(users, full.counts, simulated=True), "user"))
    return found


def run(
    name: str, folder: Path, latency: Latency, share: float, repeats: int, days: tuple[int, ...], first_seed: int
) -> dict[str, list[Draw]]:
    """All draws of a network by case."""
    network, demand = network_of(name, folder, latency)
    found: dict[str, list[Draw]] = {}
    for label, history, unit in cases(demand, days):
        best = pr.solve_optimum(network, history.mean, gap=1e-9).total_travel_time
        for epsilon in EPSILONS:
            guarantee = pr.Guarantee(epsilon, DELTA, unit)
            seeds = np.random.SeedSequence([first_seed, len(found)]).generate_state(repeats).tolist()
            found[f"{label}, epsilon {epsilon:g}"] = [
                draw(network, history, guarantee, share, seed, best) for seed in seeds
            ]
    return found


def main() -> None:
    """Print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--networks", default="SiouxFalls,Anaheim,EMA,ChicagoSketch")
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("PRIVROUTE_TNTP", ".")))
    parser.add_argument("--latency", default="bpr")
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--days", default="50,5")
    parser.add_argument("--seed", type=int, default=7, help="of the noise")
    chosen = parser.parse_args()
    days = tuple(int(part) for part in chosen.days.split(","))
    result: dict[str, object] = {"share": chosen.share, "latency": chosen.latency}
    every: list[Draw] = []
    for name in chosen.networks.split(","):
        repeats = min(chosen.draws, 2) if name == "ChicagoSketch" else chosen.draws
        found = run(name, chosen.folder, chosen.latency, chosen.share, repeats, days, chosen.seed)
        every += [each for draws in found.values() for each in draws]
        result[name] = {
            "all": summary([each for draws in found.values() for each in draws]),
            "cases": {case: summary(draws) for case, draws in found.items()},
        }
        if not chosen.json:
            _show(name, found)
    total = summary(every)
    result |= {key: total[key] for key in ("coverage", "coverage_bounded", "wrong_better", "undecided")}
    useful = [d for d in every if math.isfinite(d.high)]
    ratios = [summary([d])["cost_ratio"] for d in useful]
    result["cost_ratio"] = statistics.median(ratio for ratio in ratios if ratio is not None)
    print(json.dumps(result, indent=2) if chosen.json else f"all: {total} cost ratio {result['cost_ratio']:.3f}")


def _show(name: str, found: dict[str, list[Draw]]) -> None:
    for case, draws in found.items():
        shown = {key: value if value is None else float(f"{value:.3g}") for key, value in summary(draws).items()}
        print(f"{name:14} {case:28} {shown}", flush=True)


if __name__ == "__main__":
    main()
