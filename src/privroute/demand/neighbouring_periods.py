"""Noisy counts of neighbouring periods borrow strength from each other. Post-processing.

A period's counts x and the mean m of its neighbours' counts, scaled to the same total, are two estimates of the same
distribution over pairs. The first has noise and the chance of single trips, the second has less of it and differs by τ,
how much the distribution changes from period to period. Over all pairs

    E (x − m)² = v_x + v_m + τ²,    estimate = x + λ (m − x),    λ = v_x / (v_x + v_m + τ²)

is the linear combination with the smallest mean squared error. τ² is estimated from the noisy counts themselves, so
periods that differ from their neighbours stay as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from privroute.study.calendar import Slot

__all__ = ["Estimate", "neighbours", "smoothed"]

_CLEAR = 3.0  # deviations by which a total must exceed its noise to be used as a scale


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Counts of a period: (pairs,) and the deviation of the noise in each."""

    counts: NDArray[np.float64]
    scale: float


def neighbours(slots: Sequence[Slot]) -> list[tuple[int, ...]]:
    """For each slot those of the same kind of day that end where it begins or begin where it ends."""
    found = []
    for at, slot in enumerate(slots):
        ends = slot.period.start_us + slot.period.length_us
        found.append(
            tuple(
                other
                for other, each in enumerate(slots)
                if other != at
                and each.day_type == slot.day_type
                and (
                    each.period.start_us == ends or each.period.start_us + each.period.length_us == slot.period.start_us
                )
            )
        )
    return found


def smoothed(noisy: Sequence[Estimate], around: Sequence[tuple[int, ...]]) -> list[Estimate]:
    """Each period's counts combined with those of its neighbours.

    around : positions of the neighbours of each
    """
    return [_one(noisy[at], [noisy[other] for other in others]) for at, others in enumerate(around)]


def _one(own: Estimate, others: Sequence[Estimate]) -> Estimate:
    clear = [each for each in others if _is_clear(each)]
    if not clear or not _is_clear(own):
        return own
    total = float(own.counts.sum())
    factors = [total / float(each.counts.sum()) for each in clear]
    mean = np.mean([factor * each.counts for factor, each in zip(factors, clear, strict=True)], axis=0)
    chance = max(total / own.counts.size, 0.0)  # variance of single trips in a count, on average
    own_variance = own.scale**2 + chance
    noise = sum((factor * each.scale) ** 2 for factor, each in zip(factors, clear, strict=True)) / len(clear) ** 2
    mean_variance = noise + sum(factor * chance for factor in factors) / len(clear) ** 2
    differs = max(float(np.mean((own.counts - mean) ** 2)) - own_variance - mean_variance, 0.0)
    weight = own_variance / (own_variance + mean_variance + differs)
    scale = math.sqrt(((1 - weight) * own.scale) ** 2 + weight**2 * noise)
    return Estimate(own.counts + weight * (mean - own.counts), scale)


def _is_clear(each: Estimate) -> bool:
    return float(each.counts.sum()) > _CLEAR * each.scale * math.sqrt(each.counts.size)
