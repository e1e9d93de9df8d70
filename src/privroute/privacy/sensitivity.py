"""Sensitivities: how far what is perturbed can move when one unit of data is added or removed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privroute.errors import GuaranteeError

if TYPE_CHECKING:
    from privroute.history.contribution import Contribution
    from privroute.release.guarantee import Guarantee

__all__ = ["check_unit", "summed_counts_sensitivity"]


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
            f'displace another; ask for Guarantee(..., unit="{kept}"), or read the trips with unit="request"'
        )
    bounds = "does not bound how much of one user it counts" if contribution is None else f"bounds each {kept}"
    raise GuaranteeError(
        f"the guarantee is for one {guarantee.unit}, and the history {bounds}; read the trips with "
        f'unit="{guarantee.unit}" and max_requests='
    )


def summed_counts_sensitivity(guarantee: Guarantee, contribution: Contribution | None = None) -> float:
    """ℓ2 change of the counts, summed over days or day by day, when one unit is added or removed.

    request : 1. One request changes one entry of one day's counts by 1, so one entry of their sum by 1 and one entry
        of the stacked daily counts by 1. Proof: docs/proofs/counts.md and docs/proofs/daily.md, Lemma 1.
    user, user-day : √(k k_p). At most k requests of the unit are counted, at most k_p of them for one pair.
        Proof: docs/proofs/user.md, Lemma 2.
    """
    check_unit(guarantee, contribution)
    return 1.0 if contribution is None else _root_from_above(contribution.squared_norm)


def _root_from_above(number: int) -> float:
    """√number, exact or rounded upwards, since a sensitivity may not be a digit too small."""
    whole = math.isqrt(number)
    return float(whole) if whole * whole == number else math.nextafter(math.sqrt(number), math.inf)
