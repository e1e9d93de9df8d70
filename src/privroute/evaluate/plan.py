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
from privroute.evaluate.suboptimality import Baseline, Comparison, policies_to_beat
from privroute.history.demand_history import DemandHistory
from privroute.history.simulate import simulate_days
from privroute.mechanism.learn import learn_with_noise
from privroute.mechanism.registry import implementation
from privroute.mechanism.shares import Shares
from privroute.network.checks import check_period_of_day
from privroute.network.demand import Demand
from privroute.progress import check_progress, tell
from privroute.study.calendar import Calendar
from privroute.study.frame import Frame
from privroute.study.guarantee import Guarantee, delta_caveat
from privroute.study.layer_noise import LayerNoise
from privroute.study.measured_shares import QUALITY_SHARE
from privroute.study.mechanisms import Counts, Layered, Unprotected, as_mechanism, default_mechanism, public_options
from privroute.study.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from privroute.network.network import Network
    from privroute.progress import Progress
    from privroute.release.quality import Verdict
    from privroute.study.contribution import Contribution
    from privroute.study.mechanisms import Mechanism

__all__ = ["DEFAULT_EPSILONS", "Plan", "PlanRow", "plan"]

DEFAULT_EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

_LARGEST_SCALE = 1e6  # simulated noise has a table of twenty scales' length
_LARGEST_HISTORY = 2 * 10**8


@dataclass(frozen=True, slots=True)
class PlanRow:
    """What one epsilon is expected to cost.

    noise_scale : standard deviation of the noise: on the count of a pair (for "layered" where it counts pairs), or for
        "minimiser" and "sgd" on the share of a mean pair on a link of median curvature
    percent : how far above the optimum of the prior, one value per draw of days and noise
    verdict : what the release of the first draw would say of itself; None where nothing is measured
    """

    epsilon: float
    noise_scale: float
    percent: tuple[float, ...]
    verdict: Verdict | None = None

    @property
    def shown(self) -> bool:
        """Whether the release would measure that it is better than no data, or near the best."""
        return self.verdict in ("better", "near best")

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

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "epsilon": self.epsilon,
            "noise_scale": self.noise_scale,
            "median_percent": self.median,
            "low_percent": self.low,
            "high_percent": self.high,
            "percent": list(self.percent),
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """Expected suboptimality for a range of epsilon, beside what needs no data.

    rows : one per epsilon, rising
    other_mechanism, other_rows : the same days with the mechanism that is not the default, where none was named
    without_noise : the same days learned from without protection, one value per draw: the chance of the days
    without_data : what drivers do without advice, and what needs no trip at all
    trips_per_pair : root mean square over the pairs of their trips in the data, by the prior
    expected_trips : trips in the data over all days, by the prior
    optimum_minutes : vehicle-minutes per minute of the prior's optimum
    options : of the mechanism, as a certificate would have them
    of_kept_trips : bounded users without a total: a release measures the kept trips only, and is never shown useful
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
    other_mechanism: str | None = None
    other_rows: tuple[PlanRow, ...] = ()
    trips_per_pair: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)
    of_kept_trips: bool = False

    @property
    def to_gain(self) -> float:
        """Percent that a perfect policy could gain over the best that needs no data."""
        return min((row.percent for row in self.without_data), default=0.0)

    @property
    def enough(self) -> Comparison | None:
        """What leaves nothing to gain, as a release would say of itself."""
        return next((row for row in self.without_data if row.leaves_nothing_to_gain), None)

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
        return self._smallest(lambda row: row.median <= below_percent)

    @property
    def smallest_shown(self) -> float | None:
        """The smallest epsilon from which on releases would measure that they are useful."""
        return self._smallest(lambda row: row.shown)

    @property
    def why_not_shown(self) -> str:
        """Why a release would not measure that it is useful, where it is expected to be."""
        if self.of_kept_trips:
            return "only kept trips would be measured; state the total of all, or measure it (max_for_total)"
        return "the noise of the measurement exceeds what there is to gain"

    def _smallest(self, holds: Callable[[PlanRow], bool]) -> float | None:
        found = None
        for row in reversed(self.rows):
            if not holds(row):
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
            "trips_per_pair": self.trips_per_pair,
            "to_gain_percent": self.to_gain,
            "optimum_vehicle_minutes_per_minute": self.optimum_minutes,
            "rows": [row.as_dict() for row in self.rows],
            "other_mechanism": self.other_mechanism,
            "other_rows": [row.as_dict() for row in self.other_rows],
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
    total_per_h: float | None = None,
    epsilons: Sequence[float] = DEFAULT_EPSILONS,
    mechanism: str | Mechanism | None = None,
    draws: int = 5,
    seed: int = 1,
    prior_is_gravity: bool = False,
    quality_share: float = QUALITY_SHARE,
    progress: Progress | None = None,
) -> Plan:
    """Simulate what learning would give for each epsilon. Only public data.

    prior : public demand, the whole traffic
    days, period_min, expansion : the public frame of the data to come
    mechanism : None plans with the default of these pairs and bounds, and also with the other of counts and layered
    contribution : the bounds on users, for a guarantee about users or users' days. The noise is that of these bounds;
        trips that they would leave out are not simulated
    total_per_h : of all vehicles, where it will be stated for bounded users
    draws : simulated histories, each with its own noise; the same for every epsilon, so that rows can be compared
    prior_is_gravity : the prior is itself a gravity model, so comparing with one says nothing and is left out
    quality_share : of rho, set apart for measuring how useful the release is; it makes the noise larger
    progress : called with the share of the policies that are learned
    """
    check_progress(progress)
    usual = default_mechanism(len(prior.pairs), contribution)
    chosen = usual if mechanism is None else as_mechanism(mechanism)
    other = None if mechanism is not None else Layered() if isinstance(usual, Counts) else Counts()
    if isinstance(chosen, Unprotected):
        raise InputError('mechanism "none" needs no plan: it has no epsilon')
    unit = "request" if contribution is None else contribution.unit
    guarantees = [Guarantee(epsilon, delta, unit) for epsilon in sorted(set(epsilons))]
    if not guarantees:
        raise InputError("epsilons is empty; name at least one")
    _check(prior, days, draws, seed)
    traffic = Demand(prior.pairs, prior.rate_per_min, expansion=expansion)
    calendar = Calendar.of_days(days, check_period_of_day(period_min))
    frame = Frame(prior.pairs, calendar, traffic.expansion, contribution, total_per_h)
    compared: list[Mechanism] = [chosen] if other is None else [chosen, other]
    scales = [
        [_scale(Study(network, frame, guarantee, one, quality_share=quality_share)) for guarantee in guarantees]
        for one in compared
    ]
    baseline = Baseline.of(network, prior)
    columns: list[list[list[float]]] = [[[] for _ in guarantees] for _ in compared]
    unprotected: list[float] = []
    total = draws * (len(guarantees) * len(compared) + 1)
    done = 0

    verdicts: list[Verdict | None] = []

    def learned(
        history: DemandHistory, guarantee: Guarantee | None, used: Mechanism, noise_seed: int, *, measured: bool = False
    ) -> float:
        nonlocal done
        noise = SeededNoise(noise_seed)
        release = learn_with_noise(
            network, history, guarantee, used, noise, quality_share=quality_share, measured=measured
        )
        if measured:
            verdicts.append(None if release.quality is None else release.quality.verdict)
        done += 1
        tell(progress, "Learning from simulated days", done / total)
        return baseline.percent(release.policy)

    for days_seed, noise_seed in np.random.SeedSequence(seed).generate_state(2 * draws).reshape(draws, 2).tolist():
        simulated = simulate_days(traffic, days=days, period_min=period_min, seed=days_seed)
        bounded = replace(simulated.frame, contribution=contribution, total_per_h=total_per_h)
        requests = int(simulated.counts.sum()) if contribution is not None and contribution.max_for_total else None
        history = DemandHistory.of(bounded, simulated.counts, simulated=True, requests=requests)
        unprotected.append(learned(history, None, Unprotected(), noise_seed))
        for one, of_one in zip(compared, columns, strict=True):
            for column, guarantee in zip(of_one, guarantees, strict=True):
                first = one is chosen and not column
                column.append(learned(history, guarantee, one, noise_seed, measured=first))
    unsaid: list[Verdict | None] = [None] * len(guarantees)
    rows = [
        tuple(
            PlanRow(guarantee.epsilon, _on_pairs(one, scale), tuple(column), verdict)
            for guarantee, scale, column, verdict in zip(guarantees, of_scales, of_one, said, strict=True)
        )
        for one, of_scales, of_one, said in zip(compared, scales, columns, (verdicts, unsaid), strict=False)
    ]
    return Plan(
        mechanism=chosen.name,
        delta=delta,
        days=days,
        period_min=period_min,
        expansion=traffic.expansion,
        seed=seed,
        expected_trips=float(traffic.observed_per_min.sum()) * period_min * days,
        optimum_minutes=baseline.minutes,
        rows=rows[0],
        without_noise=tuple(unprotected),
        without_data=tuple(
            Comparison(name, baseline.percent(policy))
            for name, policy in policies_to_beat(network, prior).items()
            if not (prior_is_gravity and "gravity" in name)
        ),
        other_mechanism=None if other is None else other.name,
        other_rows=() if other is None else rows[1],
        trips_per_pair=float(np.sqrt(np.mean((traffic.observed_per_min * period_min * days) ** 2))),
        options=public_options(chosen),
        of_kept_trips=contribution is not None
        and contribution.of_users
        and not contribution.max_for_total
        and total_per_h is None,
    )


def _scale(study: Study) -> float:
    scale = Shares.of(study, implementation(study.mechanism).promise(study)).whole.scale
    if scale > _LARGEST_SCALE:
        raise InputError(
            f"epsilon {study.promised.epsilon:g} needs noise of {scale:,.0f} trips on every count, more than is "
            "simulated; choose larger ones"
        )
    return scale


def _on_pairs(mechanism: Mechanism, scale: float) -> float:
    """The noise of what rows show: `Layered` spends a share of the budget on pairs."""
    return LayerNoise.of(public_options(mechanism), scale).pair if isinstance(mechanism, Layered) else scale


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
