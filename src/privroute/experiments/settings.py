"""The paper's experimental settings, and the two ways in which its numbers can be read.

Section 5 of the paper takes Sioux Falls from a file that gives trips and capacities for one hour, and its model has
rates per minute. Two readings, both measured here:

    per-minute : the file's numbers are used as rates per minute; a day of 60 minutes has 21.6 million trips
    hourly     : the file's numbers are what they are, 360,600 trips in an hour, 6,010 per minute

In the first the paper's α, β and C are used as printed. In the second α and β, which have the unit of F, are divided by
60, so that gradient steps and ratios of costs are the same; only the chance of the days differs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from privroute.evaluate.suboptimality import Baseline
from privroute.flows.projection import project
from privroute.flows.unit_flows import objective
from privroute.history.simulate import simulate_days
from privroute.network.demand import Demand
from privroute.network.sioux_falls import Scenario, sioux_falls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = [
    "ALPHA",
    "BETA",
    "CERTIFIED",
    "COUNTS",
    "DAILY",
    "DAYS",
    "LETTER",
    "METRIC",
    "MINIMISER",
    "PERIOD_MIN",
    "REPORTED",
    "Days",
    "Reading",
    "paper_scenario",
    "percent_above",
    "public_prior",
    "random_paths",
    "simulated",
]

ALPHA = 1e4
"""The paper's regulariser, in the unit of F."""
BETA = 2.08e7
"""The paper's smoothness, "the largest eigenvalue of B'QB"; its C is set equal to it."""
PERIOD_MIN = 60.0
DAYS = (10, 25, 50)

REPORTED = "reported in the paper"
LETTER = "Algorithm 1, the paper's constants"
CERTIFIED = "Algorithm 1, certified constants"
METRIC = "Algorithm 1, certified, in the metric of curvature"
MINIMISER = "minimiser"
DAILY = "daily"
COUNTS = "privroute's default (counts)"

Reading = Literal["per-minute", "hourly"]

_MINUTES = 60.0
_STEEP = 1e6  # projecting −_STEEP · u gives, to 1e-6, the cheapest path for link costs u
_PRIOR_SD = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Days:
    """Simulated days on a network.

    baseline : the optimum of the mean of the days, the paper's Baseline
    """

    network: Network
    history: DemandHistory
    baseline: Baseline

    @property
    def pairs(self) -> Pairs:
        """The pairs."""
        return self.history.pairs

    @property
    def rates(self) -> NDArray[np.float64]:
        """(days, pairs) vehicles per minute."""
        return np.asarray(self.history.counts / self.history.period_min)


def paper_scenario(
    reading: Reading = "per-minute", *, factor: float = 2.0, demand: float = 1.0
) -> tuple[Scenario, float]:
    """Sioux Falls in one reading, and by what the paper's α and β are multiplied in it.

    factor : travel time at capacity over that of the empty road
    demand : multiplies all rates
    """
    scenario = sioux_falls(factor=factor)
    if reading == "hourly":
        return Scenario(scenario.network, scenario.demand * demand), 1.0 / _MINUTES
    latency = scenario.network.latency
    more = replace(latency, capacity_per_min=latency.capacity_per_min * _MINUTES)
    return Scenario(replace(scenario.network, latency=more), scenario.demand * (demand * _MINUTES)), 1.0


def simulated(scenario: Scenario, days: int, seed: int) -> Days:
    """Poisson days around the scenario's demand, and the optimum of their mean."""
    history = simulate_days(scenario.demand, days=days, period_min=PERIOD_MIN, seed=seed)
    return Days(scenario.network, history, Baseline.of(scenario.network, history.mean))


def percent_above(baseline: Baseline, flows: NDArray[np.float64]) -> float:
    """How much longer travel takes under unit flows than in the optimum of the baseline, percent; no regulariser."""
    return 100.0 * (float(objective(baseline.network, baseline.demand, flows)) / baseline.minutes - 1.0)


def random_paths(network: Network, pairs: Pairs, seed: int) -> NDArray[np.float64]:
    """(pairs, links) for each pair the cheapest path under its own random link costs, uniform in [0, 1].

    The paper starts from "a random routing policy" and does not say which.
    """
    costs = np.random.default_rng(seed).random((len(pairs), network.links))
    return project(network, pairs, -_STEEP * costs).flows


def public_prior(demand: Demand, seed: int) -> Demand:
    """A public demand that is roughly right: every rate times an independent lognormal factor of sd 0.5, mean 1."""
    factors = np.random.default_rng(seed).lognormal(-0.5 * _PRIOR_SD**2, _PRIOR_SD, len(demand.pairs))
    return Demand(demand.pairs, demand.rate_per_min * factors)
