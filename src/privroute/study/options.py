"""Fields of mechanisms' options: what help and study files say about them, and the checks that they share."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from privroute.errors import GuaranteeError, NetworkError, named
from privroute.network.checks import show
from privroute.network.curves import CURVES, number_of
from privroute.network.demand import Demand

if TYPE_CHECKING:
    from privroute.network.latency import Latency

__all__ = [
    "DAY_VARIATION_HELP",
    "FAIRNESS_HELP",
    "OBJECTIVE_HELP",
    "PUBLIC_DEMAND_HELP",
    "Objective",
    "check_all_days",
    "check_demand",
    "check_fairness",
    "check_gap",
    "check_number",
    "check_objective",
    "check_whole",
    "option",
]

Objective = Literal["mean day", "all days"]
OBJECTIVE_HELP = (
    "Minimize the travel time of the mean day, or the mean over all days, whose totals differ. Default: mean day."
)
DAY_VARIATION_HELP = (
    "With all days: public coefficient of variation of the days' totals, like 0.18. Default: measured, with 2 % of rho."
)

_MOST_VARIATION = 2.0
_TINY, _HUGE = 1e-100, 1e100  # squares of options, and what is made of them, stay within float64

FAIRNESS_HELP = "From 0, least total travel time, to 1, equal times on the routes of a pair (equilibrium)."
PUBLIC_DEMAND_HELP = (
    "File of a public demand per hour (.tntp, .csv, .omx), or sioux-falls: bounds traffic and routes (minimiser, sgd), "
    "or may serve as a first guess (layered)."
)


def option(default: Any, words: str) -> Any:
    """A field with what the help of the command line and the comments of a study file say about it."""
    return field(default=default, metadata={"help": words})


def check_whole(name: str, value: object, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise GuaranteeError(f"{named(name)} is {value!r}; pass a whole number of at least {least}")


def check_objective(objective: object, variation: object, fairness: float) -> None:
    """Refuse an objective that is not known, and a variation or fairness that belongs to another objective."""
    if objective not in get_args(Objective):
        raise GuaranteeError(f"{named('objective')} is {show(objective)}; pass one of {', '.join(get_args(Objective))}")
    if objective == "all days" and fairness:
        raise GuaranteeError(f"{named('fairness')} is only valid with the objective mean day; omit one of them")
    if variation is None:
        return
    if isinstance(variation, bool) or not isinstance(variation, int | float) or not 0 <= variation <= _MOST_VARIATION:
        raise GuaranteeError(
            f"{named('day_variation')} is {show(variation)}; pass a number from 0 to {_MOST_VARIATION:g}, like 0.18"
        )
    if objective != "all days":
        raise GuaranteeError(f"{named('day_variation')} is only valid with the objective all days; omit it")


def check_all_days(latency: Latency) -> None:
    """Refuse curves for which the mean over days is not known: before anything is charged, and where it is solved."""
    others = np.unique(latency.curve[latency.curve != number_of("bpr")]).tolist()
    if others:
        raise NetworkError(
            "the optimum over all days is known for BPR curves, and the network has "
            f'{", ".join(sorted(list(CURVES)[number] for number in others))}; use the objective "mean day"'
        )


def check_gap(value: object) -> None:
    """Refuse what is no relative gap."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise GuaranteeError(f"{named('gap')} is {value!r}; pass a number between 0 and 1")


def check_fairness(value: object) -> None:
    """Refuse what is not between the optimum and the equilibrium."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise GuaranteeError(f"{named('fairness')} is {show(value)}; pass a number from 0 to 1")


def check_number(
    name: str, value: object, *, above: float = 0.0, least: float | None = None, below: float = math.inf, why: str = ""
) -> None:
    """Refuse what is not a number within these limits; `why` ends the message."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and value < below
    if not good or not (value > above if least is None else value >= least):  # type: ignore[operator]
        wanted = f"greater than {above:g}" if least is None else f"of at least {least:g}"
        limit = "" if below == math.inf else f" and below {below:g}"
        raise GuaranteeError(f"{named(name)} is {show(value)}; pass a number {wanted}{limit}{why}")
    if value != 0 and not _TINY <= value <= _HUGE:  # type: ignore[operator]
        raise GuaranteeError(f"{named(name)} is {show(value)}; pass a number between {_TINY:g} and {_HUGE:g}")


def check_demand(value: object) -> None:
    """Refuse what is neither a demand nor left out."""
    if value is not None and not isinstance(value, Demand):
        raise GuaranteeError(f"{named('public_demand')} is a {type(value).__name__}; pass privroute.Demand")
