"""An independent judge: minutes per trip in a traffic simulator under the private policy and beside it.

On Sioux Falls, at 0.3, 0.4, 0.6 and all of the demand, a policy is learned from 20 simulated days at (0.1, 1e-6).
Vehicles of the true demand then drive in UXsim (kinematic waves; it knows no volume-delay function) on routes drawn
from the private policy, the optimum and the equilibrium of the days, on fastest paths of empty roads, and by UXsim's
own reactive navigation. `--engine sumo` does the same in SUMO's mesoscopic model.

    python benchmarks/simulated.py [--engine uxsim|sumo] [--seeds 5] [--shares 0.3 0.4 0.6 1] [--json]
"""

from __future__ import annotations

import argparse
import json

import privroute as pr
from privroute.demand.without_data import free_flow_policy
from privroute.simulation.comparison import Simulation, compare

SHARES = (0.3, 0.4, 0.6, 1.0)
DAYS = 20


def simulated(share: float, engine: str, seeds: int) -> Simulation:
    """One share of the demand in one simulator."""
    scenario = pr.sioux_falls()
    network, demand = scenario.network, scenario.demand * share
    history = pr.simulate_days(demand, days=DAYS, period_min=60, seed=1)
    release = pr.learn(network, history, pr.Guarantee(epsilon=0.1, delta=1e-6))
    policies = {
        "private": release.policy,
        "optimum": pr.solve_optimum(network, history.mean, gap=1e-8).policy,
        "equilibrium": pr.solve_equilibrium(network, history.mean, gap=1e-8).policy,
        "reactive": None,
        "free_flow": free_flow_policy(network, demand.pairs),
    }
    return compare(network, demand, policies, engine=engine, seeds=range(seeds))  # type: ignore[arg-type]


def main() -> None:
    """Print the minutes of each policy, as JSON with --json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--engine", choices=("uxsim", "sumo"), default="uxsim")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    minutes: dict[str, dict[str, float]] = {}
    details: dict[str, object] = {}
    for share in options.shares:
        found = simulated(share, options.engine, options.seeds)
        minutes[f"{share:g}"] = {name: round(row.minutes, 4) for name, row in found.rows.items()}
        details[f"{share:g}"] = {
            "vehicles": found.vehicles,
            "deviation": {name: round(row.deviation, 4) for name, row in found.rows.items()},
            "completed": {name: round(min(row.completed), 4) for name, row in found.rows.items()},
        }
        if not options.json:
            print(f"{options.engine}, {share:g} of the demand, {found.vehicles:,} vehicles")
            for name, row in found.rows.items():
                print(f"  {name:12} {row.minutes:7.2f} ± {row.deviation:.2f} min, {min(row.completed):.1%} arrived")
    if options.json:
        result = {"engine": options.engine, "seeds": options.seeds, "details": {"SiouxFalls": details}}
        print(json.dumps({"networks": {"SiouxFalls": minutes}, **result}))


if __name__ == "__main__":
    main()
