"""How much a release may reveal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from privroute.errors import GuaranteeError, arg, named

if TYPE_CHECKING:
    from privroute.study.contribution import Contribution

__all__ = ["LARGEST_PRIVATE_DELTA", "UNITS", "Guarantee", "Unit", "check_unit", "delta_caveat", "short"]

Unit = Literal["request", "user", "user-day"]

UNITS = ("request", "user", "user-day")

# Publishing everybody's records in full with probability delta is (0, delta)-private. Above this nothing is called
# private, however good its noise: among thousands of people some would be exposed. 1e-6 is usual.
LARGEST_PRIVATE_DELTA = 1e-3
_MISSING: Any = None


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(epsilon, delta)-differential privacy for one unit of data.

        P[M(D) ∈ E] ≤ e^epsilon P[M(D') ∈ E] + delta     for all neighbours D, D' and every event E

    epsilon : > 0; no event is more than e^epsilon times as likely with one unit as without it, but for delta
    delta : in (0, 1), a slack on probabilities; small, such as 1e-6. Above 1e-3 (LARGEST_PRIVATE_DELTA) the statement
        still holds, but it protects no single person, and the release is not called private
    unit : what neighbours differ by: "request": one request, on one day, for one pair; "user": all requests of one
        user; "user-day": all requests of one user on one day. The last two need a history that bounds how much of a
        user it counts, such as read_trips(..., unit="user", max_requests=10) makes
    """

    epsilon: float = _MISSING
    delta: float = _MISSING
    unit: Unit = "request"

    def __post_init__(self) -> None:
        for name, example in (("epsilon", "0.1"), ("delta", "1e-6")):
            value = getattr(self, name)
            if value is _MISSING:
                raise GuaranteeError(f"{named(name)} is missing; pass a number, for instance {example}")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise GuaranteeError(f"{named(name)} is a {type(value).__name__}; pass a number")
            object.__setattr__(self, name, float(value))
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise GuaranteeError(
                f"{named('epsilon')} is {self.epsilon}; pass a number greater than 0, for instance 0.1"
            )
        if not 0 < self.delta < 1:
            raise GuaranteeError(f"{named('delta')} is {self.delta}; pass a number between 0 and 1, for instance 1e-6")
        if self.unit not in UNITS:
            raise GuaranteeError(f"{named('unit')} is {self.unit!r}; known: {', '.join(UNITS)}")


def short(value: float) -> str:
    """The number as people write it: 0.1, 1e-6, where Python writes 1e-06."""
    return f"{value:g}".replace("e-0", "e-")


def delta_caveat(delta: float) -> str | None:
    """Why a guarantee with this delta is not called private, as the rest of a sentence; None where it may be."""
    if delta <= LARGEST_PRIVATE_DELTA:
        return None
    return (
        f"delta {short(delta)} is above {LARGEST_PRIVATE_DELTA:g}, too large to protect single persons: the guarantee "
        f"holds as stated, but it allows somebody's trips to be revealed with probability {short(delta)}"
    )


def check_unit(guarantee: Guarantee, contribution: Contribution | None) -> None:
    """Refuse a guarantee for another unit than the history is bounded for, whatever the mechanism.

    Where contributions are bounded, one request more can displace another one: a request then moves two entries. Where
    they are not, a user has no sensitivity. docs/proofs/user.md.
    """
    kept = "request" if contribution is None else contribution.unit
    if guarantee.unit == kept:
        return
    if contribution is not None and guarantee.unit == "request":
        raise GuaranteeError(
            f"the history keeps at most {contribution.max_requests:,} requests of each {kept}, so one request more can "
            f"displace another; ask for Guarantee(..., {arg('unit', kept)}), or read the trips with "
            f"{arg('unit', 'request')}"
        )
    bounds = "does not bound how much of one user it counts" if contribution is None else f"bounds each {kept}"
    raise GuaranteeError(
        f"the guarantee is for one {guarantee.unit}, and the history {bounds}; read the trips with "
        f"{arg('unit', guarantee.unit)} and {arg('max_requests')}"
    )
