"""Which share of rho each period of each kind of day may spend. Public. docs/proofs/periods.md."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privroute.errors import GuaranteeError, named
from privroute.network.checks import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privroute.study.calendar import Calendar, Slot
    from privroute.study.contribution import Contribution

__all__ = ["period_shares"]

_LARGEST_WEIGHT = 1e6


def period_shares(
    calendar: Calendar, contribution: Contribution | None, weights: Mapping[str, float]
) -> tuple[float, ...]:
    """Shares of rho, one for each slot of the calendar.

    1 for each slot where one request is in one slot, or where the bounds on users hold for all slots together
    (docs/proofs/periods.md, Theorem 1). Where they hold in each slot, the shares of the slots that a unit can be in sum
    to 1 (Theorem 2): of all slots for a user, of those of one kind of day for a user's day.

    weights : of a kind of day, a period, or both ("workday 07:00-08:00"); a slot has the product of those that name it
    """
    slots = calendar.slots
    if contribution is None or not contribution.each_period:
        if weights:
            raise GuaranteeError(
                f"{named('period_weights')} divides a budget that periods share; it is only valid with "
                f"{named('each_period')}"
            )
        return (1.0,) * len(slots)
    for name, weight in weights.items():
        if not any(name in _names(slot) for slot in slots):
            raise GuaranteeError(f"{named('period_weights')}: {show(name)} is neither a period nor a kind of day here")
        if not 1 / _LARGEST_WEIGHT <= weight <= _LARGEST_WEIGHT:
            raise GuaranteeError(f"{named('period_weights')}: {show(weight)} is not a weight; pass a positive number")
    own = [math.prod(weights.get(name, 1.0) for name in _names(slot)) for slot in slots]
    by_kind = contribution.unit == "user-day"  # a day is of one kind
    whole: dict[str | None, float] = {}
    for slot, weight in zip(slots, own, strict=True):
        group = slot.day_type if by_kind else None
        whole[group] = whole.get(group, 0.0) + weight
    return tuple(weight / whole[slot.day_type if by_kind else None] for slot, weight in zip(slots, own, strict=True))


def _names(slot: Slot) -> set[str]:
    return {str(slot), str(slot.period)} | (set() if slot.day_type is None else {slot.day_type})
