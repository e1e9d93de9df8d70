"""`minimiser` end to end on Sioux Falls and Anaheim, with OpenDP's noise: seconds of each phase and peak memory.

50 days are simulated around the published demand. Two variants: on the route sets and in the metric of a public demand
with errors (what a study with `public_demand` does), and on every link without one (1.3 million entries on Anaheim).
alpha is 1.6e-5 of the public demand's vehicle-minutes per minute, or 100 vehicle-minutes per hour on every link;
neither is tuned here. What needs no data stands beside the result.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from flow_mechanisms import PERIOD_MIN, UNTUNED_SHARE, model_of
from networks import arguments, finish, load, say

import privroute as pr
from privroute.evaluate.suboptimality import Baseline, free_flow_policy, gravity_policy
from privroute.mechanism import minimiser
from privroute.privacy.noise import OpenDPNoise

DAYS = 50
EVERY_LINK_ALPHA = 100 / 60
PROMISE = pr.Guarantee(epsilon=1.0, delta=1e-6)
NETWORKS = ("SiouxFalls", "Anaheim")
VARIANTS = ("route_sets", "every_link")


def options_of(scenario: pr.Scenario, variant: str) -> pr.Minimiser:
    """The options of a variant, from public data."""
    if variant == "every_link":
        return pr.Minimiser(alpha=EVERY_LINK_ALPHA)
    model = model_of(scenario.demand)
    return pr.Minimiser(public_demand=model, alpha=UNTUNED_SHARE * Baseline.of(scenario.network, model).minutes)


def measure(name: str, variant: str, pipe: Any) -> None:
    """One network and variant in a process of its own, so that its peak memory is its own."""
    scenario = load(name)
    network, demand = scenario.network, scenario.demand
    history = pr.simulate_days(demand, days=DAYS, period_min=PERIOD_MIN, seed=1)
    chosen = options_of(scenario, variant)
    seconds: dict[str, float] = {}
    began = time.perf_counter()

    def lap(phase: str) -> None:
        seconds[phase] = time.perf_counter() - began - sum(seconds.values())

    study = pr.Study(network, history.frame, PROMISE, chosen)
    promise = minimiser.promise(study)
    lap("public")
    flows = minimiser.query(study, history, progress=None)
    lap("solve")
    noisy = OpenDPNoise().add_integers(flows, promise.integer_scale)
    lap("noise")
    policy = minimiser.publish(study, promise, noisy, progress=None).policy
    lap("publish")
    with tempfile.TemporaryDirectory() as folder:  # and once more through the front door, to the written release
        began_again = time.perf_counter()
        release = pr.learn(network, history, PROMISE, chosen)
        release.save(Path(folder) / "release")
        end_to_end = time.perf_counter() - began_again
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    baseline = Baseline.of(network, history.mean)
    pipe.send(
        {
            "entries": flows.size,
            "seconds": seconds,
            "end_to_end_seconds": end_to_end,
            "peak_megabytes": peak,
            "private": release.certificate.private,
            "sensitivity": promise.sensitivity,
            "noise_scale": promise.scale,
            "percent": baseline.percent(policy),
            "no_data_free_flow_paths": baseline.percent(free_flow_policy(network, demand.pairs)),
            "no_data_gravity_model": baseline.percent(gravity_policy(network, demand)),
        }
    )


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=VARIANTS)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    result: dict[str, Any] = {"networks": {}}
    for name in NETWORKS[:1] if options.quick else NETWORKS:
        for variant in options.variants:
            ours, theirs = context.Pipe()
            process = context.Process(target=measure, args=(name, variant, theirs))
            process.start()
            theirs.close()  # so that its end is noticed here
            row = ours.recv()
            process.join()
            result["networks"].setdefault(name, {})[variant] = row
            say(
                options.json,
                f"{name}, {variant}: {row['end_to_end_seconds']:.1f} s end to end "
                f"(solve {row['seconds']['solve']:.1f} s), {row['peak_megabytes']:.0f} MB, {row['percent']:.3g} %",
            )
    finish(result)


if __name__ == "__main__":
    main()
