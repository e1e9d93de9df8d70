"""Sums of pairs' counts that were measured with noise: zone totals, trips by length, loads of links.

    z = Bᵀ d + noise        d (pairs,) the true counts, B (pairs, rows) of zeros and ones, noise of known scales

Public: a layer holds noisy values only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Block", "Layer", "cells", "combined", "length_cells"]


_PAIRS_AT_ONCE = 2**16


class Block(NamedTuple):
    """Consecutive pairs, and which rows they are in: (pairs of the block, rows) sparse CSR of ones.

    of_rows : the transpose of `members`
    """

    pairs: slice
    members: sparse.csr_array
    of_rows: sparse.csc_array


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One or several measured sums of pairs.

    members : (pairs, rows) sparse CSR of ones: which pairs a row sums
    values : (rows,) noisy sums, trips; scale : (rows,) standard deviation of their noise
    """

    members: sparse.csr_array
    values: NDArray[np.float64]
    scale: NDArray[np.float64]

    @property
    def total(self) -> tuple[float, float]:
        """Sum of the rows and the variance of its noise: the number of trips, where each pair is in one row."""
        return float(self.values.sum()), float(np.sum(self.scale**2))

    @property
    def effective_rows(self) -> float:
        """Number of equal rows that would be as concentrated, (Σ z)² / Σ z²: between 1 and the number of rows.

        The known noise is taken out of the squares. Rows that do not stand out from their noise count as equal.
        """
        total, squares = float(self.values.sum()), float(np.sum(self.values**2 - self.scale**2))
        if total <= 0 or squares <= 0:
            return float(self.values.size)
        return min(max(total**2 / squares, 1.0), float(self.values.size))

    def again(self, values: NDArray[np.float64], scale: float) -> Layer:
        """The same rows measured a second time: means by inverse variance."""
        first, second = self.scale**-2.0, scale**-2.0
        return Layer(self.members, (first * self.values + second * values) / (first + second), (first + second) ** -0.5)

    def blocks(self) -> list[Block]:
        """The pairs in runs, each with its rows of B, which share their arrays with `members`."""
        start, columns, ones = self.members.indptr, self.members.indices, self.members.data
        pairs, rows = self.members.shape
        found = []
        for first in range(0, max(pairs, 1), _PAIRS_AT_ONCE):
            last = min(first + _PAIRS_AT_ONCE, pairs)
            own = slice(start[first], start[last])
            part = sparse.csr_array(
                (ones[own], columns[own], start[first : last + 1] - start[first]), (last - first, rows)
            )
            found.append(Block(slice(first, last), part, part.T))
        return found

    def sums(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bᵀ d: (rows,)."""
        return np.asarray(self.members.T @ counts)

    def spread(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """B u: (pairs,) sum of the weights of the rows that a pair is in."""
        return np.asarray(self.members @ weights)


def cells(cell: NDArray[np.intp] | NDArray[np.int32], rows: int) -> sparse.csr_array:
    """(pairs, rows) membership where each pair is in exactly one row."""
    return sparse.csr_array((np.ones(cell.size), cell.astype(np.int32), np.arange(cell.size + 1)), (cell.size, rows))


def length_cells(minutes: NDArray[np.float64], bins: int) -> NDArray[np.intp]:
    """(pairs,) number of the bin of a pair's free-flow minutes; bins hold about equally many pairs, at most `bins`."""
    if not minutes.size:
        return np.zeros(0, np.intp)
    edges = np.unique(np.quantile(minutes, np.linspace(0, 1, bins + 1)[1:-1]))
    return np.unique(np.searchsorted(edges, minutes), return_inverse=True)[1]


def combined(layers: Sequence[Layer]) -> Layer:
    """All rows of several layers."""
    return Layer(
        sparse.csr_array(sparse.hstack([layer.members for layer in layers], format="csr")),
        np.concatenate([layer.values for layer in layers]),
        np.concatenate([layer.scale for layer in layers]),
    )
