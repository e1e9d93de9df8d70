"""Sensitivities: how far what is perturbed can move when one unit of data is added or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privroute.errors import GuaranteeError

if TYPE_CHECKING:
    from privroute.release.guarantee import Guarantee

__all__ = ["summed_counts_sensitivity"]


def summed_counts_sensitivity(guarantee: Guarantee) -> float:
    """ℓ2 change of the counts, summed over days or day by day, when one request is added or removed: 1.

    One request changes one entry of one day's counts by 1, so one entry of their sum by 1 and one entry of the
    stacked daily counts by 1. Proof: docs/proofs/counts.md, Lemma 1; docs/proofs/daily.md, Lemma 1.
    """
    if guarantee.unit != "request":
        raise GuaranteeError(f"no sensitivity is proved for the unit {guarantee.unit!r}")
    return 1.0
