"""What a guarantee is expected to cost in each period of each kind of day, and which of them are too thin for it.

Each slot is planned by itself, as in `evaluate.plan`, with its own days, its own length and its own part of the prior.
Slots that agree in all of these are planned once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from privroute.errors import InputError
from privroute.evaluate.plan import Plan, plan
from privroute.privacy.budget import affordable_epsilon, total_rho
from privroute.progress import check_progress, tell
from privroute.release.quality import NEGLIGIBLE_PERCENT
from privroute.study.frame import Frame
from privroute.study.mechanisms import default_mechanism
from privroute.study.period_shares import period_shares

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.progress import Progress
    from privroute.study.calendar import Calendar, Slot
    from privroute.study.contribution import Contribution
    from privroute.study.mechanisms import Mechanism

__all__ = ["PeriodPlan", "plan_periods"]


@dataclass(frozen=True, slots=True)
class PeriodPlan:
    """One slot of a plan.

    epsilon : what its noise stands for: that of the study, or of its share of the budget
    plan : with this one epsilon
    """

    slot: Slot
    epsilon: float
    plan: Plan

    @property
    def median(self) -> float:
        """Expected travel time above the optimum, percent."""
        return self.plan.rows[0].median

    @property
    def verdict(self) -> Literal["useful", "better, not shown", "too thin", "nothing to gain"]:
        """Whether the policy is expected to beat the best that needs no data, and the release to measure that it does.

        Where nothing is to be measured, only the first. What is near the optimum is never too thin.
        """
        (row,) = self.plan.rows
        if self.plan.enough is not None:
            return "nothing to gain"
        if row.median > NEGLIGIBLE_PERCENT and row.median >= self.plan.to_gain:
            return "too thin"
        return "useful" if row.verdict is None or row.shown else "better, not shown"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **self.slot.as_dict,
            "days": self.slot.calendar.days,
            "epsilon": self.epsilon,
            "expected_trips": self.plan.expected_trips,
            "noise_scale": self.plan.rows[0].noise_scale,
            "median_percent": self.median,
            "without_data_percent": self.plan.to_gain,
            "verdict": self.verdict,
        }


def plan_periods(
    network: Network,
    prior: Demand,
    calendar: Calendar,
    *,
    epsilon: float,
    factors: Sequence[float] | None = None,
    period_weights: Mapping[str, float] | None = None,
    delta: float = 1e-6,
    contribution: Contribution | None = None,
    mechanism: str | Mechanism | None = None,
    total_per_h: float | None = None,
    draws: int = 3,
    progress: Progress | None = None,
    **more: Any,
) -> tuple[PeriodPlan, ...]:
    """Plan every slot of a calendar. Only public data.

    factors : traffic of each slot over that of the prior; default: the same in all
    total_per_h : as in `plan`; one number cannot be that of several periods, and is refused as a study refuses it
    more : as in `plan`: expansion, seed, prior_is_gravity, quality_share
    """
    check_progress(progress)
    Frame(prior.pairs, calendar, more.get("expansion", 1.0), contribution, total_per_h)
    slots = calendar.slots
    rates = [1.0] * len(slots) if factors is None else list(factors)
    if len(rates) != len(slots) or not all(0 < rate < float("inf") for rate in rates):
        raise InputError(f"factors has {len(rates):,} values; pass a positive one for each of {len(slots):,} periods")
    shares = period_shares(calendar, contribution, period_weights or {})
    known: dict[tuple[float, ...], tuple[float, Plan]] = {}
    found = []
    for at, (slot, rate, share) in enumerate(zip(slots, rates, shares, strict=True)):
        key = (slot.calendar.days, slot.period.minutes, rate, share)
        if key not in known:
            own = epsilon if share == 1.0 else affordable_epsilon(share * total_rho(epsilon, delta), delta)
            chosen = mechanism if mechanism is not None else default_mechanism(len(prior.pairs), contribution)
            known[key] = (
                own,
                plan(
                    network,
                    prior * rate,
                    days=slot.calendar.days,
                    period_min=slot.period.minutes,
                    delta=delta,
                    contribution=contribution,
                    total_per_h=total_per_h,
                    epsilons=(own,),
                    mechanism=chosen,
                    draws=draws,
                    **more,
                ),
            )
        found.append(PeriodPlan(slot, *known[key]))
        tell(progress, "Planning periods", (at + 1) / len(slots))
    return tuple(found)
