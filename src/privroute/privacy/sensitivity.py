"""Sensitivities: how far what is perturbed can move when one unit of data is added or removed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privroute.study.guarantee import check_unit

if TYPE_CHECKING:
    from privroute.study.contribution import Contribution
    from privroute.study.guarantee import Guarantee

__all__ = ["summed_counts_sensitivity", "sums_of_pairs_sensitivity"]


def summed_counts_sensitivity(
    guarantee: Guarantee, contribution: Contribution | None = None, *, multiplier: int = 1
) -> float:
    """ℓ2 change of the counts, summed over days or day by day, when one unit is added or removed.

    multiplier : of the counts; the change is that many times as large

    request : 1. One request changes one entry of one day's counts by 1, so one entry of their sum by 1 and one entry
        of the stacked daily counts by 1. Proof: docs/proofs/counts.md and docs/proofs/daily.md, Lemma 1.
    user, user-day : √(k k_p). At most k requests of the unit are counted, at most k_p of them for one pair.
        Proof: docs/proofs/user.md, Lemma 2.
    """
    check_unit(guarantee, contribution)
    return _root_from_above(multiplier**2 * (1 if contribution is None else contribution.squared_norm))


def sums_of_pairs_sensitivity(
    guarantee: Guarantee, contribution: Contribution | None = None, *, squared_row: int = 1
) -> float:
    """ℓ2 change of sums of pairs' counts with whole weights when one unit is added or removed.

    squared_row : largest Σ over the sums of the squared weights with which a pair enters them; 1 for a table of cells

    request : √squared_row. user, user-day : k √squared_row, since all k requests of the unit may be of pairs that are
        in the same sums. Proof: docs/proofs/layered.md, Lemma 2.
    """
    check_unit(guarantee, contribution)
    return _root_from_above(squared_row * (1 if contribution is None else contribution.max_requests**2))


def _root_from_above(number: int) -> float:
    """√number, exact or rounded upwards, since a sensitivity may not be a digit too small."""
    whole = math.isqrt(number)
    return float(whole) if whole * whole == number else math.nextafter(math.sqrt(number), math.inf)
