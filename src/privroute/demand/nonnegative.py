"""A demand that is nowhere negative from counts with noise, without losing or inventing traffic.

Clipping at zero invents traffic: on a large network most pairs have few trips, and half of their noise is positive.
Instead pairs are put into bins of like expected demand (a gravity model fitted to the noisy counts). Within a bin the
smallest positive counts pay for the negative ones, so the bin keeps its noisy total, in which the noise has averaged
out, and counts well above the noise stay as they are. A bin with a negative total is paid for by the smallest bins.
Then a share of the gravity model is mixed in, the larger the more of what the counts say is noise: pairs without a
count get some demand too, and where the noise drowns everything else the gravity model remains.

Everything here is post-processing of released integers, the scale of their noise and public data. Compared with other
ways in docs/nonnegative.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.demand.gravity import GravityModel

__all__ = ["gravity_bins", "nonnegative_counts", "settle", "share_of_counts"]


def nonnegative_counts(
    model: GravityModel,
    noisy: NDArray[np.int64] | NDArray[np.float64],
    scale: float,
    *,
    bins: int,
    smallest_bin: int,
) -> NDArray[np.float64]:
    """(pairs,) counts ≥ 0 with the total of the noisy ones, or zero if that is negative.

    scale : of the noise, standard deviation
    """
    values = noisy.astype(np.float64)
    expected = model.fit(values, scale)
    members = gravity_bins(expected, bins=bins, smallest_bin=smallest_bin)
    totals = settle(np.array([values[one].sum() for one in members]))
    settled = np.zeros_like(values)
    for one, total in zip(members, totals, strict=True):
        settled[one] = settle(values[one], total)
    share = share_of_counts(values, expected, settled, scale)
    return share * settled + (1.0 - share) * expected


def gravity_bins(expected: NDArray[np.float64], *, bins: int, smallest_bin: int) -> list[NDArray[np.intp]]:
    """Positions of the pairs in bins of equal size and rising expected demand, each of at least `smallest_bin`."""
    count = max(1, min(bins, expected.size // smallest_bin))
    return np.array_split(np.argsort(expected, kind="stable"), count)


def settle(values: NDArray[np.float64], total: float | None = None) -> NDArray[np.float64]:
    """Let the smallest positive values pay for the negative ones: the largest stay as they are, up to a given total.

    total : of the result; default: that of the values, or 0 if that is negative. At most the sum of the positive ones.

    Values below some level become zero and values above it stay; those at the level share what is left.
    """
    positive = np.maximum(values, 0.0)
    falling = np.sort(positive)[::-1]
    reached = np.cumsum(falling)
    left = float(values.sum()) if total is None else float(total)
    if not left > 0:
        return np.zeros_like(positive)
    if left >= reached[-1]:
        return positive
    level = falling[np.argmax(reached >= left)]
    kept = np.where(positive > level, positive, 0.0)
    at_level = positive == level
    kept[at_level] = np.clip((left - kept.sum()) / np.count_nonzero(at_level), 0.0, level)
    return kept


def share_of_counts(
    values: NDArray[np.float64], expected: NDArray[np.float64], settled: NDArray[np.float64], scale: float
) -> float:
    """How far to trust the settled counts rather than the model, between 0 and 1: d / (d + n).

    d is the squared distance of the model from the truth, estimated from its distance to the noisy counts less what
    the noise adds to it; n is the squared noise that the settled counts still carry. Without noise the share is 1.
    """
    variance = scale**2
    distance = max(float(np.sum((values - expected) ** 2)) - values.size * variance, 0.0)
    noise = np.count_nonzero(settled) * variance
    return distance / (distance + noise) if noise > 0 else 1.0
