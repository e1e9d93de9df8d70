"""How much longer travel takes under a private policy than under the best one, percent.

Days are simulated around a network's published demand (fixed seed), the noise is seeded: the median over ten draws is
printed, against the optimum of the same days' mean and against that of the generating demand. Beside it stands what
needs no data at all: free-flow paths, the optimum of uniform demand, and that of a gravity model that knows the zones'
sizes, the total and the mean trip, as public statistics would tell. `minimiser` and `sgd` too, see
flow_mechanisms.py: with the optimum of the public demand that they start from beside them, and the price of privacy in
the paper's sense, after against before the noise.
"""

from __future__ import annotations

from typing import Any

import flow_mechanisms
import numpy as np
from networks import NAMES, arguments, finish, load, say

import privroute as pr
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.evaluate.suboptimality import Baseline, free_flow_policy, gravity_policy, uniform_policy
from privroute.mechanism.learn import learn_with_noise

DAYS = 50
FEW_DAYS = 5  # of Chicago Sketch, for mechanisms on flows
DRAWS = 10
LEVELS = ((1.0, 1e-6), (0.1, 1e-6), (0.01, 1e-6))


def measure(name: str, draws: int, quiet: bool) -> dict[str, Any]:
    """One network: every mechanism at every level, and the rows without data."""
    scenario = load(name)
    network, demand = scenario.network, scenario.demand
    history = pr.simulate_days(demand, days=DAYS, period_min=60, seed=1)
    same_days, generating = Baseline.of(network, history.mean), Baseline.of(network, demand)
    row: dict[str, Any] = {"optimum_gap": same_days.relative_gap}
    mechanisms = ("counts", "daily") if name == "SiouxFalls" else ("counts",)
    for mechanism in mechanisms:
        for epsilon, delta in LEVELS:
            policies = [
                learn_with_noise(network, history, pr.Guarantee(epsilon, delta), mechanism, SeededNoise(seed)).policy
                for seed in range(draws)
            ]
            key = f"{mechanism}_{epsilon:g}_{delta:.0e}".replace("e-0", "e-")
            row[key] = float(np.median([same_days.percent(policy) for policy in policies]))
            row[f"{key}_generating"] = float(np.median([generating.percent(policy) for policy in policies]))
            say(
                quiet,
                f"{name} {key}: {row[key]:.2e} % (against the generating demand {row[f'{key}_generating']:.2e} %)",
            )
    rows = {
        "free_flow_paths": free_flow_policy(network, demand.pairs),
        "uniform_demand": uniform_policy(network, demand.pairs, demand.total_per_min),
        "gravity_model": gravity_policy(network, demand),
    }
    for key, policy in rows.items():
        row[f"no_data_{key}"] = same_days.percent(policy)
        say(quiet, f"{name} without data, {key}: {row[f'no_data_{key}']:.2e} %")
    if name == "SiouxFalls":
        row |= flow_mechanisms.measure(scenario, history, draws, lambda text: say(quiet, f"{name} {text}"))
    else:
        large = name == "ChicagoSketch"
        few = pr.simulate_days(demand, days=FEW_DAYS, period_min=60, seed=1) if large else history
        row |= flow_mechanisms.measure_untuned(
            scenario,
            few,
            1 if large else min(draws, 3),
            lambda text: say(quiet, f"{name} {text}"),
            steps_per_day=2 if large else 10,
        )
    return row


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__).parse_args()
    draws = 3 if options.quick else DRAWS
    result: dict[str, Any] = {"days": DAYS, "draws": draws, "noise": "seeded", "networks": {}}
    for name in (*NAMES, "EMA"):
        result["networks"][name] = measure(name, draws, options.json)
    finish(result)


if __name__ == "__main__":
    main()
