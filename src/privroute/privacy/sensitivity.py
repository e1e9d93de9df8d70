"""Sensitivities: how far what is perturbed can move when one unit of data is added or removed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privroute.errors import GuaranteeError

if TYPE_CHECKING:
    from privroute.history.contribution import Contribution
    from privroute.release.guarantee import Guarantee

__all__ = ["summed_counts_sensitivity"]


def summed_counts_sensitivity(guarantee: Guarantee, contribution: Contribution | None = None) -> float:
    """ℓ2 change of the counts, summed over days or day by day, when one unit is added or removed.

    request : 1. One request changes one entry of one day's counts by 1, so one entry of their sum by 1 and one entry
        of the stacked daily counts by 1. Proof: docs/proofs/counts.md and docs/proofs/daily.md, Lemma 1.
    user, user-day : √(k k_p). At most k requests of the unit are counted, at most k_p of them for one pair.
        Proof: docs/proofs/user.md, Lemma 2.

    Units do not mix: where contributions are bounded, one request more can displace another one.
    """
    if guarantee.unit == "request":
        if contribution is not None:
            raise GuaranteeError(
                f"the history keeps at most {contribution.max_requests:,} requests of each {contribution.unit}, so one "
                f'request more can displace another; ask for Guarantee(..., unit="{contribution.unit}"), or read the '
                'trips with unit="request"'
            )
        return 1.0
    if contribution is None or contribution.unit != guarantee.unit:
        kept = "does not bound how much of one user it counts"
        if contribution is not None:
            kept = f"bounds what it counts of each {contribution.unit}"
        raise GuaranteeError(
            f"the guarantee is for one {guarantee.unit}, and the history {kept}; read the trips with "
            f'unit="{guarantee.unit}" and max_requests='
        )
    return _root_from_above(contribution.squared_norm)


def _root_from_above(number: int) -> float:
    """√number, exact or rounded upwards, since a sensitivity may not be a digit too small."""
    whole = math.isqrt(number)
    return float(whole) if whole * whole == number else math.nextafter(math.sqrt(number), math.inf)
