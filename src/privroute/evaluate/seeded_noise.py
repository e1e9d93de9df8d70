"""Reproducible noise for experiments. It protects nobody: anybody who knows the seed can remove it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SeededNoise"]

_LARGEST_TABLE = 1e6  # scales above this are drawn as rounded normal numbers, which differ from it by 1e-12
_TAIL = 10.0  # scales beyond which a discrete Gaussian has less than 1e-22 of its mass


class SeededNoise:
    """Discrete Gaussian noise from NumPy's generator; certificates made with it say "seeded" and not private."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._table: tuple[float, NDArray[np.float64]] | None = None

    def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return values + Z with P[Z = z] ∝ exp(−z² / (2 scale²)), by its table of probabilities."""
        if scale > _LARGEST_TABLE:
            return np.asarray(values + np.rint(self._generator.normal(0.0, scale, values.size)).astype(np.int64))
        upper = self._probabilities(scale)
        drawn = np.searchsorted(upper, self._generator.random(values.size) * upper[-1], side="right")
        return np.asarray(values + np.minimum(drawn, upper.size - 1) - upper.size // 2)

    def _probabilities(self, scale: float) -> NDArray[np.float64]:
        """P[Z ≤ z] for all z within reach. The table of the last scale is kept: questions of one release share it."""
        if self._table is None or self._table[0] != scale:
            reach = int(np.ceil(_TAIL * scale)) + 1
            weight = np.exp(-0.5 * (np.arange(-reach, reach + 1) / scale) ** 2)
            self._table = scale, np.cumsum(weight / weight.sum())
        return self._table[1]
