"""What is public of a history: everything but its counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt

    from privroute.history.contribution import Contribution
    from privroute.network.pairs import Pairs

__all__ = ["Frame"]


@dataclass(frozen=True, slots=True)
class Frame:
    """Chosen before anybody looked at the trips; certificates, ledgers and post-processing see this and no history.

    pairs : the set of pairs
    days : N, from a public range of dates, never from the days found
    period_min : T, minutes of the operation period
    expansion : vehicles on the road for each request in the data
    dates : the days, ascending, or None where they have no dates
    simulated : whether the days were made by `simulate_days`
    begins : time of day at which the period begins, which may pass midnight; None where it is not known
    time_zone : whose wall clock dates and period mean; None: that of the files
    contribution : how much of one user was counted at most, or None where users were not told apart
    """

    pairs: Pairs
    days: int
    period_min: float
    expansion: float
    dates: tuple[dt.date, ...] | None
    simulated: bool
    begins: dt.time | None = None
    time_zone: str | None = None
    contribution: Contribution | None = None
