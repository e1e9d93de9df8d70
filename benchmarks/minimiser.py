"""`minimiser` end to end on Anaheim: 1.3 million entries with OpenDP's noise, seconds of each phase and peak memory.

50 days are simulated around the published demand. alpha is 100 vehicle-minutes per hour, not tuned. What needs no data
stands beside the result.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

from flow_mechanisms import PERIOD_MIN
from networks import arguments, finish, load, say

import privroute as pr
from privroute.evaluate.suboptimality import Baseline, free_flow_policy, gravity_policy
from privroute.mechanism import minimiser
from privroute.privacy.noise import OpenDPNoise

DAYS = 50
ALPHA, QUICK_ALPHA = 100 / 60, 3000 / 60
PROMISE = pr.Guarantee(epsilon=1.0, delta=1e-6)


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__).parse_args()
    scenario = load("Anaheim")
    network, demand = scenario.network, scenario.demand
    history = pr.simulate_days(demand, days=DAYS, period_min=PERIOD_MIN, seed=1)
    chosen = pr.Minimiser(alpha=QUICK_ALPHA if options.quick else ALPHA)
    seconds: dict[str, float] = {}
    began = time.perf_counter()

    def lap(name: str) -> None:
        seconds[name] = time.perf_counter() - began - sum(seconds.values())
        say(options.json, f"{name}: {seconds[name]:.1f} s")

    study = pr.Study(network, history.frame, PROMISE, chosen)
    promise = minimiser.promise(study)
    flows = minimiser.query(study, history, progress=None)
    lap("solve")
    noisy = OpenDPNoise().add_integers(flows, promise.integer_scale)
    lap("noise")
    policy = minimiser.publish(study, promise, noisy, progress=None).policy
    lap("publish")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with tempfile.TemporaryDirectory() as folder:  # and once more through the front door, to the written release
        began_again = time.perf_counter()
        release = pr.learn(network, history, PROMISE, chosen)
        release.save(Path(folder) / "release")
        end_to_end = time.perf_counter() - began_again
    baseline = Baseline.of(network, history.mean)
    before = (flows * promise.grid).reshape(len(history.pairs), network.links)
    finish(
        {
            "networks": {
                "Anaheim": {
                    "entries": flows.size,
                    "seconds": seconds,
                    "end_to_end_seconds": end_to_end,
                    "peak_megabytes": max(peak, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
                    "private": release.certificate.private,
                    "sensitivity": promise.sensitivity,
                    "noise_scale": promise.scale,
                    "percent_before_noise": baseline.percent(pr.decompose(network, history.pairs, before)),
                    "percent": baseline.percent(policy),
                    "no_data_free_flow_paths": baseline.percent(free_flow_policy(network, demand.pairs)),
                    "no_data_gravity_model": baseline.percent(gravity_policy(network, demand)),
                }
            }
        }
    )


if __name__ == "__main__":
    main()
