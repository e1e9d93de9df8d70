"""What asking fewer and better aimed questions gains: `layered` against `counts`, draws of days shared.

Simulated days (Poisson around the public trip table), 50 and 5 of them, fleets that see all trips, a tenth or a
hundredth, and epsilon 1, 0.1, 0.01 at delta 1e-6: 18 cases, for single requests and for users (at most 10 trips, 3 of
one pair), with affine and BPR latency. Percent above the optimum of the generating demand; the value of a case is the
geometric mean over draws. Beside it: the exact counts of the same fleet, and rows without data.

    mean_ratio, worst_ratio    counts over layered: mean over the cases, worst draw of all cases
    worst_case_ratio           layered over counts, largest of the 18 cases
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from networks import arguments, finish, load, say

import privroute as pr
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.evaluate.suboptimality import Baseline, policies_without_data
from privroute.mechanism.learn import learn_with_noise

if TYPE_CHECKING:
    from privroute.study.mechanisms import Mechanism

NETWORKS: dict[str, dict[str, Any]] = {
    "SiouxFalls": {},
    "Anaheim": {},
    "EMA": {"time_unit": "h"},  # Eastern Massachusetts
    "ChicagoSketch": {},
}
DRAWS = {"ChicagoSketch": 3}
USUAL_DRAWS = 20
CASES = [(days, fleet, epsilon) for days in (50, 5) for fleet in (1, 10, 100) for epsilon in (1.0, 0.1, 0.01)]
DELTA = 1e-6
PERIOD_MIN = 60.0
FIRST_DAYS_SEED, FIRST_NOISE_SEED = 9100, 9600  # not those with which shares and constants were chosen
UNITS = {"request": None, "user": pr.Contribution("user", 10, 3)}
MECHANISMS: dict[str, Mechanism] = {"counts": pr.Counts(), "layered": pr.Layered()}
EXACT = "exact fleet counts"
FLOOR = 1e-9  # percent; below is the solver's gap

Case = tuple[int, int, float]
Losses = dict[str, dict[Case, list[float]]]


def losses(
    scenario: pr.Scenario,
    unit: str,
    draws: range,
    mechanisms: dict[str, Mechanism] = MECHANISMS,
    cases: list[Case] = CASES,
    first: tuple[int, int] = (FIRST_DAYS_SEED, FIRST_NOISE_SEED),
) -> Losses:
    """Percent above the optimum of the generating demand by row and case, one entry per draw."""
    network, baseline = scenario.network, Baseline.of(scenario.network, scenario.demand, gap=1e-12)
    found: Losses = {name: {case: [] for case in cases} for name in (*mechanisms, EXACT)}
    for draw in draws:
        for days, fleet in dict.fromkeys(case[:2] for case in cases):
            demand = pr.Demand(scenario.demand.pairs, scenario.demand.rate_per_min, expansion=fleet)
            simulated = pr.simulate_days(demand, days=days, period_min=PERIOD_MIN, seed=first[0] + draw)
            frame = replace(simulated.frame, contribution=UNITS[unit])
            history = pr.DemandHistory.of(frame, simulated.counts, simulated=True)
            exact = baseline.percent(pr.solve_optimum(network, history.mean).policy)
            for case in cases:
                if case[:2] != (days, fleet):
                    continue
                found[EXACT][case].append(max(exact, FLOOR))
                guarantee = pr.Guarantee(case[2], DELTA, frame.contribution.unit if frame.contribution else "request")
                for name, mechanism in mechanisms.items():
                    noise = SeededNoise(first[1] + draw)
                    policy = learn_with_noise(network, history, guarantee, mechanism, noise).policy
                    found[name][case].append(max(baseline.percent(policy), FLOOR))
    return found


def geometric_mean(values: list[float]) -> float:
    """Mean of the logarithms."""
    return float(np.exp(np.mean(np.log(values))))


def label(case: Case) -> str:
    """Days, percent of the trips that the fleet sees, and epsilon."""
    return f"{case[0]}d {100 // case[1]}% {case[2]:g}"


def summary(found: Losses, one: str = "layered", other: str = "counts") -> dict[str, Any]:
    """Means, worst draws and ratios."""
    by_case = {name: {case: geometric_mean(values) for case, values in row.items()} for name, row in found.items()}
    mean = {name: geometric_mean(list(row.values())) for name, row in by_case.items()}
    worst = {name: max(max(values) for values in row.values()) for name, row in found.items()}
    return {
        "mean_ratio": mean[other] / mean[one],
        "worst_ratio": worst[other] / worst[one],
        "worst_case_ratio": max(by_case[one][case] / by_case[other][case] for case in by_case[one]),
        "mean_percent": mean,
        "worst_percent": worst,
        "cases": {name: {label(case): value for case, value in row.items()} for name, row in by_case.items()},
    }


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("--latency", choices=("affine", "bpr"), nargs="+", default=("affine", "bpr"))
    parser.add_argument("--unit", choices=tuple(UNITS), nargs="+", default=tuple(UNITS))
    parser.add_argument("--draws", type=int, help="fewer or more draws of days and noise than usual")
    parser.add_argument("--networks", nargs="+", choices=tuple(NETWORKS), default=tuple(NETWORKS))
    options = parser.parse_args()
    result: dict[str, Any] = {}
    for name in options.networks:
        for latency in options.latency:
            scenario = load(name, latency, **NETWORKS[name])
            generating = Baseline.of(scenario.network, scenario.demand)
            without = {
                row: generating.percent(policy)
                for row, policy in policies_without_data(scenario.network, scenario.demand).items()
            }
            for unit in options.unit:
                draws = range(options.draws or (1 if options.quick else DRAWS.get(name, USUAL_DRAWS)))
                row = summary(losses(scenario, unit, draws))
                result.setdefault(name, {}).setdefault(latency, {})[unit] = row | {"without_data_percent": without}
                show(options.json, f"{name}, {latency}, {unit}, {len(draws)} draws", row, without)
    finish(result)


def show(quiet: bool, title: str, row: dict[str, Any], without: dict[str, float]) -> None:
    """Print one network."""
    say(
        quiet,
        f"\n{title}: mean ratio {row['mean_ratio']:.2f}, worst ratio {row['worst_ratio']:.2f}, "
        f"worst case ratio {row['worst_case_ratio']:.2f}",
    )
    say(quiet, " " * 20 + "".join(f"{label(case):>14}" for case in CASES) + f"{'mean':>11}{'worst':>9}")
    for name, values in row["cases"].items():
        numbers = "".join(f"{value:14.2g}" for value in values.values())
        say(quiet, f"{name:20}{numbers}{row['mean_percent'][name]:11.3g}{row['worst_percent'][name]:9.3g}")
    for name, percent in without.items():
        say(quiet, f"no data: {name:30}{percent:.2g}")


if __name__ == "__main__":
    main()
