"""A demand that is nowhere negative from counts with noise, without losing or inventing traffic.

Clipping at zero invents traffic: on a large network most pairs have few trips, and half of their noise is positive.
Instead pairs are put into bins of like expected demand (a gravity model fitted to the noisy totals), and within a bin
the counts are shifted down together and clipped so that the bin keeps its noisy total, in which the noise has averaged
out. Everything here is post-processing of released integers and public data. Compared with others in
docs/nonnegative.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.mechanism.gravity import GravityModel

__all__ = ["clip_to_total", "gravity_bins", "nonnegative_counts"]


def nonnegative_counts(
    model: GravityModel, noisy: NDArray[np.int64], *, bins: int, smallest_bin: int
) -> NDArray[np.float64]:
    """(pairs,) counts ≥ 0 whose total over each gravity bin is the bin's noisy total, or 0 where that is negative."""
    values = noisy.astype(np.float64)
    one_bin = bins == 1 or values.size < 2 * smallest_bin
    expected = values if one_bin else model.fit(values)
    result = np.zeros_like(values)
    for members in gravity_bins(expected, bins=bins, smallest_bin=smallest_bin):
        result[members] = clip_to_total(values[members])
    return result


def gravity_bins(expected: NDArray[np.float64], *, bins: int, smallest_bin: int) -> list[NDArray[np.intp]]:
    """Positions of the pairs in bins of equal size and rising expected demand, each of at least `smallest_bin`."""
    count = max(1, min(bins, expected.size // smallest_bin))
    return np.array_split(np.argsort(expected, kind="stable"), count)


def clip_to_total(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """max(values − u, 0) with u such that the total stays: the nearest point of the simplex with that total.

    Zeros where the total is not positive.
    """
    total = values.sum()
    if not total > 0:
        return np.zeros_like(values)
    falling = np.sort(values)[::-1]
    shift = (np.cumsum(falling) - total) / np.arange(1, values.size + 1)
    last = int(np.flatnonzero(falling > shift)[-1])
    return np.asarray(np.maximum(values - shift[last], 0.0))
