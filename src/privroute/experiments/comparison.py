"""The networks and mechanisms of the comparison that the paper does not make, with all that needs no data beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from privroute.errors import InputError
from privroute.evaluate.suboptimality import Baseline, policies_without_data
from privroute.experiments.repeated_draws import RepeatedDraws
from privroute.experiments.settings import (
    ALPHA,
    BETA,
    CERTIFIED,
    COUNTS,
    DAILY,
    LETTER,
    METRIC,
    MINIMISER,
    PERIOD_MIN,
    paper_scenario,
    public_prior,
)
from privroute.flows.optimum import solve_optimum
from privroute.history.demand_history import DemandHistory
from privroute.history.simulate import simulate_days
from privroute.network.sioux_falls import Scenario
from privroute.network.tntp import read_tntp, read_tntp_trips
from privroute.study.mechanisms import Counts, Daily, Minimiser, Sgd

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privroute.experiments.result import Options
    from privroute.study.guarantee import Guarantee
    from privroute.study.mechanisms import Mechanism

__all__ = ["ANAHEIM_LEFT_OUT", "NO_NOISE", "Case", "cases", "first_days", "measure", "without_noise"]

NO_NOISE = "no noise (not private)"
ANAHEIM_LEFT_OUT = (
    "Anaheim is left out: its files are not part of the project. Name the folder of the public TNTP networks with "
    "--tntp or PRIVROUTE_TNTP."
)
# chosen by privroute.evaluate.tuning on the public demand, Sioux Falls, epsilon 0.1, delta 1e-6
_TILT = 10.0
_MINIMISER_ALPHA = 150.0
_METRIC_ALPHA = 150.0
_METRIC_OPTIONS: dict[str, Any] = {"steps_per_day": 10, "power": 0.0, "cap_factor": 2.0, "tilt": _TILT}
_ANAHEIM_SHARE = 0.25  # of α, about as its total travel time is of Sioux Falls'


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One network with its mechanisms.

    generating : the optimum of the demand from which the days are drawn: all are measured against it
    histories : the longest history for each mechanism; the paper's constants have their own, in its reading of the file
    without_data : name and percent of what needs no trip
    """

    name: str
    generating: Baseline
    mechanisms: dict[str, Mechanism]
    histories: dict[str, tuple[Baseline, DemandHistory]]
    without_data: dict[str, float]


def cases(options: Options, days: int) -> list[Case]:
    """Sioux Falls, and Anaheim where its files are."""
    hourly, unit = paper_scenario("hourly")
    as_printed = Sgd(alpha=ALPHA, constants="paper", beta=BETA, derivative_bound=BETA)
    found = [_case("Sioux Falls", hourly, options, days, as_printed, weight=unit)]
    if options.tntp is not None:
        scenario = _anaheim(options)
        prior = public_prior(scenario.demand, options.seed)
        by_its_recipe = Sgd(public_demand=prior, alpha=ALPHA * unit * _ANAHEIM_SHARE, constants="paper")
        found.append(_case("Anaheim", scenario, options, days, by_its_recipe, weight=unit * _ANAHEIM_SHARE))
    return found


def _anaheim(options: Options) -> Scenario:
    if options.tntp is None or not (options.tntp / "Anaheim_net.tntp").is_file():
        raise InputError(f"{options.tntp} has no Anaheim_net.tntp; omit --tntp to do without Anaheim")
    network = read_tntp(options.tntp / "Anaheim_net.tntp", latency="affine")
    return Scenario(network, read_tntp_trips(options.tntp / "Anaheim_trips.tntp", network))


def _case(name: str, scenario: Scenario, options: Options, days: int, letter: Sgd, *, weight: float) -> Case:
    network, demand = scenario.network, scenario.demand
    generating = Baseline.of(network, demand)
    prior = public_prior(demand, options.seed)
    history = simulate_days(demand, days=days, period_min=PERIOD_MIN, seed=options.seed)
    as_read = (generating, history)
    if name == "Sioux Falls":  # the paper's constants are in its own reading of the file
        paper, _ = paper_scenario("per-minute")
        as_read = (
            Baseline.of(paper.network, paper.demand),
            simulate_days(paper.demand, days=days, period_min=PERIOD_MIN, seed=options.seed),
        )
    mechanisms: dict[str, Mechanism] = {
        LETTER: letter,
        CERTIFIED: Sgd.papers_case(public_demand=prior, alpha=ALPHA * weight),
        METRIC: Sgd(public_demand=prior, alpha=_METRIC_ALPHA * weight, **_METRIC_OPTIONS),
        MINIMISER: Minimiser(
            public_demand=prior,
            alpha=_MINIMISER_ALPHA * weight,
            power=0.0,
            tilt=_TILT,
            tolerance=1e-3 if options.quick or name == "Anaheim" else 1e-4,
        ),
        DAILY: Daily(),
        COUNTS: Counts(),
    }
    lines = {row: generating.percent(policy) for row, policy in policies_without_data(network, demand).items()}
    lines["optimum of the public prior"] = generating.percent(solve_optimum(network, prior).policy)
    return Case(
        name,
        generating,
        mechanisms,
        {mechanism: as_read if mechanism == LETTER else (generating, history) for mechanism in mechanisms},
        lines,
    )


def measure(
    case: Case, mechanism: str, days: int, guarantees: Iterable[Guarantee], seeds: Iterable[int]
) -> list[list[float]]:
    """Percent above the optimum of the generating demand: one list over seeds for each guarantee."""
    baseline, longest = case.histories[mechanism]
    levels = list(guarantees)
    prepared = RepeatedDraws(baseline.network, first_days(longest, days), case.mechanisms[mechanism], levels[0])
    draws = list(seeds)
    return [[baseline.percent(prepared.policy(level, seed)) for seed in draws] for level in levels]


def without_noise(case: Case, days: int) -> float:
    """Percent of the optimum of the first days' mean demand: the chance of the days alone. NOT PRIVATE."""
    _, longest = case.histories[COUNTS]
    network = case.generating.network
    return case.generating.percent(solve_optimum(network, first_days(longest, days).mean, gap=1e-9).policy)


def first_days(history: DemandHistory, days: int) -> DemandHistory:
    """The first days of a simulated history."""
    calendar = history.frame.calendar
    dates = None if calendar.dates is None else calendar.dates[:days]
    frame = replace(history.frame, calendar=calendar.of_dates(dates, days=days))
    return DemandHistory.of(frame, history.counts[:days], simulated=history.simulated)
