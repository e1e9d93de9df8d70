"""How well the measured quality of a release tells the truth: coverage, width, verdicts, and what it costs.

    python benchmarks/quality.py --json

Releases of simulated days on public networks, with reproducible noise, over {50, 5 days} x {100, 10, 1 % fleet} x
epsilon {1, 0.1, 0.01} for single trips, and for users with at most ten trips. Of the users' trips two fifths are kept:
without a total, with the public one, and with a measured one of at most a hundred trips of each user. The truth is
computed from all trips of the same private days: travel time of each policy on their mean demand, above its optimum.
The optimum of equal demand, which takes longest, is solved once for all totals with the same two digits.

Mechanisms: counts and layered; sgd and minimiser, at request level only, with a public demand whose rates are off by a
lognormal factor, and once more with equal rates for all pairs.

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
from typing import Any, Literal
from unittest.mock import patch

import numpy as np

import privroute as pr
from privroute.demand.without_data import uniform_policy
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.mechanism import comparison
from privroute.mechanism import quality as measuring
from privroute.mechanism.learn import learn_with_noise
from privroute.policy.travel_time import total_travel_time
from privroute.release.quality import NEGLIGIBLE_PERCENT, RELEASED, Excess

Latency = Literal["affine", "bpr"]
Unit = Literal["request", "user"]
FILES: dict[str, Literal["min", "h"]] = {"Anaheim": "min", "EMA": "h", "ChicagoSketch": "min"}
DAYS, FLEETS, EPSILONS = (50, 5), (1, 10, 100), (1.0, 0.1, 0.01)
USER_TRIPS, KEPT, FOR_TOTAL = 10, 0.4, 100
ON_FLOWS = ("sgd", "minimiser")
PRIOR_SD = 0.5
ALPHA = 400 / 60
DELTA = 1e-6
SOLVED: dict[tuple[int, int, float, float], pr.RoutingPolicy] = {}


@dataclass(frozen=True)
class Draw:
    """One release.

    true, low, high : percent above the optimum of the true demand, and what the release says; high may be infinite
    rows_covered, rows : baselines whose interval holds the truth, and how many there are
    better : it is better than every baseline of the verdict, all but the gravity model; near : it is near the best
    enough : fastest paths, or the equilibrium, are; verdict, do_not_use : what the release says
    without : percent above the optimum of a release of the same days that spends nothing on quality
    """

    true: float
    low: float
    high: float
    rows_covered: int
    rows: int
    better: bool
    near: bool
    enough: bool
    verdict: str
    do_not_use: bool
    without: float


def network_of(name: str, folder: Path, latency: Latency) -> tuple[pr.Network, pr.Demand]:
    """A network and its demand."""
    if name == "SiouxFalls":
        scenario = pr.sioux_falls(latency=latency)
        return scenario.network, scenario.demand
    network = pr.read_tntp(folder / f"{name}_net.tntp", latency=latency, time_unit=FILES[name])
    return network, pr.read_tntp_trips(folder / f"{name}_trips.tntp", network)


@dataclass(frozen=True)
class Case:
    """What is released and what is true.

    history : what the mechanism sees; unit : what is protected
    every : mean demand of all trips; best : its optimal travel time
    mechanism : name or options
    """

    label: str
    network: pr.Network
    history: pr.DemandHistory
    unit: Unit
    every: pr.Demand
    best: float
    mechanism: str | pr.Sgd | pr.Minimiser


def draw(case: Case, epsilon: float, share: float, seed: int) -> Draw:
    """Release once and compare with the truth."""
    network, guarantee = case.network, pr.Guarantee(epsilon, DELTA, case.unit)
    compared: dict[str, pr.RoutingPolicy] = {}
    make = comparison.policies_to_compare

    def keep(*given: Any, **named: Any) -> dict[str, pr.RoutingPolicy]:
        compared.update(make(*given, **named))  # to make them once more would take as long as the release
        return compared

    with (
        patch.object(measuring, "policies_to_compare", keep),
        patch.object(comparison, "uniform_policy", _equal_demand),
    ):
        release, plain = (
            learn_with_noise(network, case.history, guarantee, case.mechanism, SeededNoise(seed), quality_share=part)
            for part in (share, None)
        )
    quality = release.quality
    if quality is None:
        raise SystemExit("nothing was measured")

    def above(policy: pr.RoutingPolicy) -> float:
        return max(100 * (total_travel_time(network, policy, case.every) / case.best - 1), 0.0)

    true = {name: above(each) for name, each in compared.items()}
    said = quality.above_optimum
    rows = quality.baselines
    covered = sum(each.low <= true[name] + 1e-7 and true[name] <= _high(each) + 1e-7 for name, each in rows.items())
    others = {name: value for name, value in true.items() if name not in (RELEASED, "gravity")}
    return Draw(
        true=true[RELEASED],
        low=said.low,
        high=_high(said),
        rows_covered=covered,
        rows=len(rows),
        better=true[RELEASED] < min(others.values()),
        near=true[RELEASED] <= NEGLIGIBLE_PERCENT,
        enough=min(others[name] for name in ("equilibrium", "free_flow") if name in others) <= NEGLIGIBLE_PERCENT,
        verdict=quality.verdict,
        do_not_use="do not use" in quality.words,
        without=above(plain.policy),
    )


def _equal_demand(
    network: pr.Network, pairs: pr.Pairs, total_per_min: float, *, gap: float, **_others: object
) -> pr.RoutingPolicy:
    key = (network.links, len(pairs), float(f"{total_per_min:.2g}"), gap)
    if key not in SOLVED:
        SOLVED[key] = uniform_policy(network, pairs, key[2], gap=gap)
    return SOLVED[key]


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
        "near_best": statistics.fmean(d.verdict == "near best" for d in draws),
        "wrong_near_best": statistics.fmean(d.verdict == "near best" and not d.near for d in draws),
        "nothing_to_gain": statistics.fmean(d.verdict == "nothing to gain" for d in draws),
        "wrong_nothing_to_gain": statistics.fmean(d.verdict == "nothing to gain" and not d.enough for d in draws),
        "worse": statistics.fmean(d.verdict == "worse" for d in draws),
        "wrong_worse": statistics.fmean(d.verdict == "worse" and d.better for d in draws),
        "undecided": statistics.fmean(d.verdict == "undecided" for d in draws),
        "do_not_use_of_near_best": statistics.fmean(d.do_not_use and d.near for d in draws),
        "cost_ratio": with_share / without if without > 0 else None,
    }


def histories(demand: pr.Demand, chosen_days: tuple[int, ...]) -> list[tuple[str, pr.DemandHistory, Unit, pr.Demand]]:
    """Simulated histories by name, the unit that is protected, and the mean demand of all trips."""
    found: list[tuple[str, pr.DemandHistory, Unit, pr.Demand]] = []
    for days in chosen_days:
        for fleet in FLEETS:
            traffic = pr.Demand(demand.pairs, demand.rate_per_min, expansion=fleet)
            history = pr.simulate_days(traffic, days=days, period_min=60, seed=days + fleet)
            found.append((f"{days} days, {100 // fleet} %", history, "request", history.mean))
        full, every = found[-len(FLEETS)][1], found[-len(FLEETS)][3]
        kept = np.random.default_rng(days).binomial(full.counts, KEPT)
        bounds = pr.Contribution("user", USER_TRIPS)
        for source in ("kept", "total", "measured"):
            known = 60 * every.total_per_min if source == "total" else None
            asked = replace(bounds, max_for_total=FOR_TOTAL) if source == "measured" else bounds
            users = replace(full.frame, contribution=asked, total_per_h=known)
            counted = int(full.counts.sum()) if source == "measured" else None
            history = pr.DemandHistory.of(users, kept, requests=counted, simulated=True)
            found.append((f"{days} days, users, {source}", history, "user", every))
    return found


def options(mechanism: str, demand: pr.Demand) -> list[tuple[str, str | pr.Sgd | pr.Minimiser]]:
    """A mechanism with the public demands that it is given, by name."""
    if mechanism not in ON_FLOWS:
        return [(mechanism, mechanism)]
    pairs, rates = demand.pairs, demand.rate_per_min
    off = np.exp(np.random.default_rng(1).normal(-(PRIOR_SD**2) / 2, PRIOR_SD, len(pairs)))
    priors = {"near": pr.Demand(pairs, rates * off), "equal": pr.Demand(pairs, np.full(len(pairs), rates.mean()))}
    return [
        (
            f"{mechanism}, {name} rates",
            pr.Sgd(public_demand=prior, alpha=ALPHA)
            if mechanism == "sgd"
            else pr.Minimiser(public_demand=prior, alpha=ALPHA),
        )
        for name, prior in priors.items()
    ]


def run(name: str, chosen: argparse.Namespace, repeats: int) -> dict[str, list[Draw]]:
    """All draws of a network by case."""
    network, demand = network_of(name, chosen.folder, chosen.latency)
    found: dict[str, list[Draw]] = {}
    for label, history, unit, every in histories(demand, tuple(int(part) for part in chosen.days.split(","))):
        best = pr.solve_optimum(network, every, gap=1e-9).total_travel_time
        for mechanism in chosen.mechanisms.split(","):
            if mechanism in ON_FLOWS and (unit == "user" or name != "SiouxFalls"):
                continue
            for words, given in options(mechanism, demand):
                case = Case(f"{words}, {label}", network, history, unit, every, best, given)
                for epsilon in (float(part) for part in chosen.epsilons.split(",")):
                    seeds = np.random.SeedSequence([chosen.seed, len(found)]).generate_state(repeats).tolist()
                    draws = [draw(case, epsilon, chosen.share, seed) for seed in seeds]
                    found[f"{case.label}, epsilon {epsilon:g}"] = draws
                    if not chosen.json:
                        _show(name, f"{case.label}, epsilon {epsilon:g}", draws)
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
    parser.add_argument("--epsilons", default=",".join(f"{each:g}" for each in EPSILONS))
    parser.add_argument("--mechanisms", default="counts,layered,sgd,minimiser")
    parser.add_argument("--seed", type=int, default=7, help="of the noise")
    chosen = parser.parse_args()
    result: dict[str, object] = {"share": chosen.share, "latency": chosen.latency}
    every: list[Draw] = []
    for name in chosen.networks.split(","):
        repeats = min(chosen.draws, 2) if name == "ChicagoSketch" else chosen.draws
        found = run(name, chosen, repeats)
        every += [each for draws in found.values() for each in draws]
        result[name] = {
            "all": summary([each for draws in found.values() for each in draws]),
            "cases": {case: summary(draws) for case, draws in found.items()},
        }
    total = summary(every)
    wrong = [key for key in total if key.startswith("wrong_")]
    result |= {key: total[key] for key in ("coverage", "coverage_bounded", *wrong, "undecided")}
    useful = [d for d in every if math.isfinite(d.high)]
    ratios = [summary([d])["cost_ratio"] for d in useful]
    known = [ratio for ratio in ratios if ratio is not None]
    result["cost_ratio"] = statistics.median(known) if known else None
    print(json.dumps(result, indent=2) if chosen.json else f"all: {total} cost ratio {result['cost_ratio']}")


def _show(name: str, case: str, draws: list[Draw]) -> None:
    shown = {key: value if value is None else float(f"{value:.3g}") for key, value in summary(draws).items()}
    print(f"{name:14} {case:28} {shown}", flush=True)


if __name__ == "__main__":
    main()
