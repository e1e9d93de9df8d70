"""Fields of mechanisms' options: what help and study files say about them, and the checks that they share."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any

from privroute.errors import GuaranteeError, named
from privroute.network.checks import show
from privroute.network.demand import Demand

__all__ = [
    "FAIRNESS_HELP",
    "PUBLIC_DEMAND_HELP",
    "check_demand",
    "check_fairness",
    "check_gap",
    "check_number",
    "check_whole",
    "option",
]

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
