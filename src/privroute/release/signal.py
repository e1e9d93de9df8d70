"""What the noise leaves of released counts, from the noisy values and public data alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from privroute.release.release import Release

__all__ = ["Signal"]

_PLAIN = 1000.0  # from here on Python would write 4.77e+04
_ALL = 3.0  # deviations that a sum of noise alone rarely exceeds


def _figure(value: float) -> str:
    """Three digits, without a power of ten."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= _PLAIN else f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class Signal:
    """Trips of a pair against the noise on its count.

    trips_per_pair : root mean square over the pairs, estimated from the noisy counts; noise : deviation on each count
    drowned : "no"; "pairs": a typical pair has fewer trips than its noise, so only sums over many pairs are known; or
        "all": the total of all pairs cannot be told from noise either
    counted : what is counted, several
    """

    trips_per_pair: float
    noise: float
    drowned: Literal["no", "pairs", "all"]
    counted: str = "trips"

    @classmethod
    def of(cls, release: Release) -> Signal | None:
        """From the noisy counts of a release; None where it has none."""
        counts, certificate, scale = release.noisy_counts, release.certificate, release.noise_scale
        if counts is None or scale is None or not counts.size:
            return None
        if certificate.mechanism == "daily":
            days = release.slot.calendar.days
            scale *= math.sqrt(min(int(certificate.options.get("window") or days), days))
        values = counts.astype(np.float64)
        squared = float(np.mean(values * values)) - scale * scale
        own = math.sqrt(max(squared, 0.0))
        level: Literal["no", "pairs", "all"] = "no" if own >= scale else "pairs"
        if level == "pairs" and float(values.sum()) < _ALL * scale * math.sqrt(values.size):
            level = "all"
        return cls(own, scale, level, certificate.counted)

    @property
    def words(self) -> str:
        """In a sentence."""
        sizes = (
            f"a typical pair (root mean square) has about {_figure(self.trips_per_pair)} {self.counted} where the "
            f"noise is {_figure(self.noise)}"
        )
        if self.drowned == "all":
            return f"THE NOISE DROWNS THE COUNTS: not even the total of all pairs can be told from noise ({sizes})."
        if self.drowned == "pairs":
            return f"The noise drowns the counts of single pairs: {sizes}. Only sums over many pairs are known."
        return f"Signal and noise: {sizes}."

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"trips_per_pair": self.trips_per_pair, "noise": self.noise, "drowned": self.drowned}
