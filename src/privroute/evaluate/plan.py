"""Which epsilon? What a guarantee is expected to cost, before any trip is touched.

Days are simulated from a public prior demand, policies are learned from them with reproducible noise, and each policy
is measured against the optimum of the prior itself. What comes out has in it the chance of the days as well as the
noise; the row without noise shows the first alone.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import InputError
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.evaluate.suboptimality import Baseline, Comparison, policies_without_data
from privroute.history.demand_history import DemandHistory
from privroute.history.simulate import simulate_days
from privroute.mechanism.learn import learn_with_noise
from privroute.mechanism.registry import implementation
from privroute.network.checks import check_period_of_day
from privroute.network.demand import Demand
from privroute.progress import check_progress, tell
from privroute.study.calendar import Calendar
from privroute.study.frame import Frame
from privroute.study.guarantee import Guarantee, delta_caveat
from privroute.study.mechanisms import Unprotected, as_mechanism, public_options
from privroute.study.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privroute.network.network import Network
    from privroute.progress import Progress
    from privroute.study.contribution import Contribution
    from privroute.study.mechanisms import Mechanism

__all__ = ["DEFAULT_EPSILONS", "Plan", "PlanRow", "plan"]

DEFAULT_EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

_LARGEST_SCALE = 1e6  # simulated noise has a table of twenty scales' length
_LARGEST_HISTORY = 2 * 10**8


@dataclass(frozen=True, slots=True)
class PlanRow:
    """What one epsilon is expected to cost.

    noise_scale : standard deviation of the noise: on the counts, or on unit flows for "minimiser" and "sgd"
    percent : how far above the optimum of the prior, one value per draw of days and noise
    """

    epsilon: float
    noise_scale: float
    percent: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle of the draws."""
        return statistics.median(self.percent)

    @property
    def low(self) -> float:
        """The luckiest draw."""
        return min(self.percent)

    @property
    def high(self) -> float:
        """The unluckiest draw."""
        return max(self.percent)


@dataclass(frozen=True, slots=True)
class Plan:
    """Expected suboptimality for a range of epsilon, beside what needs no data.

    rows : one per epsilon, rising
    without_noise : the same days learned from without protection, one value per draw: the chance of the days
    without_data : what needs no trip at all
    expected_trips : trips in the data over all days, by the prior
    optimum_minutes : vehicle-minutes per minute of the prior's optimum
    options : of the mechanism, as a certificate would have them
    """

    mechanism: str
    delta: float
    days: int
    period_min: float
    expansion: float
    seed: int
    expected_trips: float
    optimum_minutes: float
    rows: tuple[PlanRow, ...]
    without_noise: tuple[float, ...]
    without_data: tuple[Comparison, ...]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def caveat(self) -> str | None:
        """Why releases with this delta would not be called private; None where they would."""
        return delta_caveat(self.delta)

    @property
    def without_noise_median(self) -> float:
        """The middle of the draws without noise."""
        return statistics.median(self.without_noise)

    def smallest_epsilon(self, below_percent: float) -> float | None:
        """Return the smallest epsilon from which on every median is at most `below_percent`; None where none is."""
        found = None
        for row in reversed(self.rows):
            if row.median > below_percent:
                break
            found = row.epsilon
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "mechanism": self.mechanism,
            "options": self.options,
            "delta": self.delta,
            "why_not_private": self.caveat,
            "days": self.days,
            "period_min": self.period_min,
            "expansion": self.expansion,
            "draws": len(self.without_noise),
            "seed": self.seed,
            "expected_trips": self.expected_trips,
            "optimum_vehicle_minutes_per_minute": self.optimum_minutes,
            "rows": [
                {
                    "epsilon": row.epsilon,
                    "noise_scale": row.noise_scale,
                    "median_percent": row.median,
                    "low_percent": row.low,
                    "high_percent": row.high,
                    "percent": list(row.percent),
                }
                for row in self.rows
            ],
            "without_noise_percent": list(self.without_noise),
            "without_data_percent": {row.name: row.percent for row in self.without_data},
        }


def plan(
    network: Network,
    prior: Demand,
    *,
    days: int,
    period_min: float = 60.0,
    expansion: float = 1.0,
    delta: float = 1e-6,
    contribution: Contribution | None = None,
    epsilons: Sequence[float] = DEFAULT_EPSILONS,
    mechanism: str | Mechanism = "counts",
    draws: int = 5,
    seed: int = 1,
    prior_is_gravity: bool = False,
    progress: Progress | None = None,
) -> Plan:
    """Simulate what learning would give for each epsilon. Only public data.

    prior : public demand, the whole traffic
    days, period_min, expansion : the public frame of the data to come
    contribution : the bounds on users, for a guarantee about users or users' days. The noise is that of these bounds;
        trips that they would leave out are not simulated
    draws : simulated histories, each with its own noise; the same for every epsilon, so that rows can be compared
    prior_is_gravity : the prior is itself a gravity model, so comparing with one says nothing and is left out
    progress : called with the share of the policies that are learned
    """
    check_progress(progress)
    chosen = as_mechanism(mechanism)
    if isinstance(chosen, Unprotected):
        raise InputError('mechanism "none" needs no plan: it has no epsilon')
    unit = "request" if contribution is None else contribution.unit
    guarantees = [Guarantee(epsilon, delta, unit) for epsilon in sorted(set(epsilons))]
    if not guarantees:
        raise InputError("epsilons is empty; name at least one")
    _check(prior, days, draws, seed)
    traffic = Demand(prior.pairs, prior.rate_per_min, expansion=expansion)
    frame = Frame(prior.pairs, Calendar.of_days(days, check_period_of_day(period_min)), traffic.expansion, contribution)
    scales = [_scale(network, frame, guarantee, chosen) for guarantee in guarantees]
    baseline = Baseline.of(network, prior)
    columns: list[list[float]] = [[] for _ in guarantees]
    unprotected: list[float] = []
    total = draws * (len(guarantees) + 1)
    done = 0

    def learned(history: DemandHistory, guarantee: Guarantee | None, noise_seed: int) -> float:
        nonlocal done
        used = Unprotected() if guarantee is None else chosen
        release = learn_with_noise(network, history, guarantee, used, SeededNoise(noise_seed))
        done += 1
        tell(progress, "Learning from simulated days", done / total)
        return baseline.percent(release.policy)

    for days_seed, noise_seed in np.random.SeedSequence(seed).generate_state(2 * draws).reshape(draws, 2).tolist():
        simulated = simulate_days(traffic, days=days, period_min=period_min, seed=days_seed)
        bounded = replace(simulated.frame, contribution=contribution)
        history = DemandHistory.of(bounded, simulated.counts, simulated=True)
        unprotected.append(learned(history, None, noise_seed))
        for column, guarantee in zip(columns, guarantees, strict=True):
            column.append(learned(history, guarantee, noise_seed))
    return Plan(
        mechanism=chosen.name,
        delta=delta,
        days=days,
        period_min=period_min,
        expansion=traffic.expansion,
        seed=seed,
        expected_trips=float(traffic.observed_per_min.sum()) * period_min * days,
        optimum_minutes=baseline.minutes,
        rows=tuple(
            PlanRow(guarantee.epsilon, scale, tuple(column))
            for guarantee, scale, column in zip(guarantees, scales, columns, strict=True)
        ),
        without_noise=tuple(unprotected),
        without_data=tuple(
            Comparison(name, baseline.percent(policy))
            for name, policy in policies_without_data(network, prior).items()
            if not (prior_is_gravity and "gravity" in name)
        ),
        options=public_options(chosen),
    )


def _scale(network: Network, frame: Frame, guarantee: Guarantee, chosen: Mechanism) -> float:
    scale = implementation(chosen).promise(Study(network, frame, guarantee, chosen)).scale
    if scale > _LARGEST_SCALE:
        raise InputError(
            f"epsilon {guarantee.epsilon:g} needs noise of {scale:,.0f} trips on every count, more than is "
            "simulated; choose larger ones"
        )
    return scale


def _check(prior: Demand, days: int, draws: int, seed: int) -> None:
    for name, value, least in (("days", days, 1), ("draws", draws, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{name} is {value!r}; pass a whole number of at least {least}")
    if not prior.total_per_min > 0:
        raise InputError("the prior demand is zero everywhere, so there is nothing to plan for")
    if days * len(prior.pairs) > _LARGEST_HISTORY:
        raise InputError(
            f"{days:,} days of {len(prior.pairs):,} pairs are more counts than are simulated here; plan with fewer days"
        )
