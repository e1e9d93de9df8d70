"""What combining the noisy counts of neighbouring hours gains in travel time: `counts` with and without it.

Sioux Falls with 24 hours, traffic between 4 and 100 % of the public trip table by a profile with two peaks, in three
cities: all hours alike; traffic that flows to some zones in the morning and back in the evening; and hours that have
nothing in common (every pair of every hour has a lognormal factor of its own, sigma 0.7). Poisson days, fleets that see
all trips, a tenth or a hundredth, epsilon 1, 0.1 and 0.01 at delta 1e-6. Both see the same days and the same noise.

Each hour's policy is judged on the demand that generated the hour: percent above its optimum, mean over hours and
draws.

    ratio    without smoothing over with smoothing: above 1 where smoothing wins
    worst    the same for the worst hour of a draw, mean over draws
    lost     share of all hours and draws in which smoothing made the policy worse by more than a tenth
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from networks import arguments, finish, say
from whole_day import HOURLY

import privroute as pr
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.evaluate.suboptimality import Baseline
from privroute.history.period_histories import PeriodHistories
from privroute.mechanism.learn import learn_with_noise
from privroute.study.calendar import Calendar

DATES = ("2026-03-02", "2026-03-21")
FLEETS, EPSILONS, DELTA = (1, 10, 100), (1.0, 0.1, 0.01), 1e-6
DRAWS = 5
CITIES = ("alike", "turning", "unlike")
FIRST_DAYS_SEED, FIRST_NOISE_SEED = 3100, 3600


def demands(city: str, scenario: pr.Scenario) -> list[pr.Demand]:
    """The demand of each hour."""
    chance = np.random.default_rng(7)
    pairs, rate, nodes = scenario.demand.pairs, scenario.demand.rate_per_min, scenario.network.nodes
    pull = chance.normal(0.0, 0.7, nodes)
    found = []
    for hour, size in enumerate(HOURLY / HOURLY.max()):
        factor = np.ones(rate.size)
        if city == "turning":
            factor = np.exp(math.cos(math.pi * (hour - 8) / 12) * (pull[pairs.destination] - pull[pairs.origin]))
        elif city == "unlike":
            factor = np.exp(chance.normal(0.0, 0.7, rate.size))
        shape = rate * factor
        found.append(pr.Demand(pairs, shape * (size * rate.sum() / shape.sum())))
    return found


def simulated(frame: pr.Frame, hours: list[pr.Demand], fleet: int, seed: int) -> PeriodHistories:
    """Poisson days of each hour as a fleet sees them."""
    parts = []
    for at, (part, demand) in enumerate(zip(frame.parts, hours, strict=True)):
        seen = pr.Demand(demand.pairs, demand.rate_per_min, expansion=fleet)
        days = pr.simulate_days(seen, days=part.days, period_min=60.0, seed=seed + 100 * at)
        parts.append(pr.DemandHistory.of(part, days.counts, simulated=True))
    return PeriodHistories.of(frame, parts)


def losses(city: str, draws: int) -> dict[tuple[int, float], np.ndarray]:
    """Percent above the optimum by fleet and epsilon: (draws, without and with smoothing, hours)."""
    scenario = pr.sioux_falls()
    hours = demands(city, scenario)
    best = [Baseline.of(scenario.network, demand) for demand in hours]
    found = {(fleet, epsilon): np.zeros((draws, 2, len(hours))) for fleet in FLEETS for epsilon in EPSILONS}
    for (fleet, epsilon), percent in found.items():
        frame = pr.Frame(scenario.demand.pairs, Calendar.of(["hourly"], DATES), expansion=float(fleet))
        for draw in range(draws):
            history = simulated(frame, hours, fleet, FIRST_DAYS_SEED + draw)
            for at, smooth in enumerate((False, True)):
                study = pr.Study(
                    scenario.network,
                    frame,
                    pr.Guarantee(epsilon, DELTA),
                    pr.Counts(smooth_periods=smooth),
                    quality_share=0.0,
                )
                release = learn_with_noise(study, history, None, None, SeededNoise(FIRST_NOISE_SEED + draw))
                percent[draw, at] = [hour.percent(each.policy) for hour, each in zip(best, release.each(), strict=True)]
    return found


def summary(found: np.ndarray) -> dict[str, float]:
    """Means and what smoothing gains."""
    without, smooth = found[:, 0], found[:, 1]
    return {
        "without_percent": float(without.mean()),
        "smoothed_percent": float(smooth.mean()),
        "ratio": float(without.mean() / smooth.mean()),
        "worst": float(without.max(axis=1).mean() / smooth.max(axis=1).mean()),
        "lost": float(np.mean(smooth > 1.1 * without)),
    }


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__).parse_args()
    result: dict[str, Any] = {}
    for city in CITIES:
        result[city] = {}
        for (fleet, epsilon), values in losses(city, 1 if options.quick else DRAWS).items():
            row = result[city][f"{100 / fleet:g} %, epsilon {epsilon:g}"] = summary(values)
            say(
                options.json,
                f"{city:8} {100 / fleet:3g} % {epsilon:5g}  " + "  ".join(f"{n} {v:.3g}" for n, v in row.items()),
            )
    finish(result)


if __name__ == "__main__":
    main()
