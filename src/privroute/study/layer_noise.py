"""Noise that `layered` adds to each kind of sum: its budget is divided, so each has more than the whole would need.

    deviation of a layer = scale / √(share of the layer)

A pair is in one row of each table and in several links of a round. For users a sum has sensitivity k where pairs have
√(k k_p), so the shares of sums count k_p / k times. Proof: docs/proofs/layered.md, Theorem 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LayerNoise"]


@dataclass(frozen=True, slots=True)
class LayerNoise:
    """Standard deviations in trips, by what is counted.

    zone : on what a zone sends, and on what it receives, when it is asked first; less where it is asked again
    pair : on the count of a pair, where pairs are asked; less where trips abound
    link : on the load of a link in one round, at least; None without rounds
    """

    zone: float
    pair: float
    link: float | None

    @classmethod
    def of(
        cls, options: Mapping[str, Any], scale: float, max_requests: int | None = None, max_per_pair: int | None = None
    ) -> LayerNoise:
        """From the options of the mechanism and the scale of all of its noise.

        max_requests, max_per_pair : k and k_p, the bounds on users; None where requests are protected
        """
        relative = 1.0 if max_requests is None else (max_per_pair or max_requests) / max_requests
        rounds = int(options["rounds"])
        return cls(
            zone=scale / math.sqrt(relative * options["zones_share"] / 4),
            pair=scale / math.sqrt(options["pairs_share"]),
            link=scale / math.sqrt(relative * options["links_share"] / rounds) if rounds else None,
        )

    @property
    def words(self) -> str:
        """As part of a sentence."""
        link = "" if self.link is None else f", at least {self.link:,.3g} on the load of a link"
        return (
            f"at most {self.zone:,.3g} trips on what a zone sends or receives, at most {self.pair:,.3g} on the count "
            f"of a pair (where pairs are counted){link}"
        )
