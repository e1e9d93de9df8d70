"""The only source of noise that protects anyone: OpenDP's discrete Gaussian, from the system's entropy, without a seed.

Counts are integers already. Flows are rounded to a fixed grid of step 2^-40 and get integer noise on it, so that no
float64 ever carries protecting noise: its last digits would tell where it came from.

OpenDP does not check data against the domain it was told, so shapes and types are checked here before anything is
drawn. Experiments pass another object of the same form, and their certificates say "seeded".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance
from opendp.mod import enable_features

from privroute.errors import NoiseError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from opendp.mod import Measurement

__all__ = ["GRID", "LARGEST_VALUE", "Noise", "OpenDPNoise", "on_grid"]

enable_features("contrib")

# Sums beyond this would leave no room for noise before 64-bit integers saturate.
LARGEST_VALUE = 2**62


GRID = 2.0**-40
"""Step of the grid on which flows get their noise: public, fixed, and a power of 2, so that dividing by it is exact."""

_LARGEST_FLOAT = 2.0**20


class Noise(Protocol):
    """What a mechanism needs of a source of noise."""

    def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return values + Z with Z_i independent discrete Gaussian: P[Z_i = z] ∝ exp(−z² / (2 scale²))."""
        ...


class OpenDPNoise:
    """Noise from OpenDP. It has no seed and no state: nobody can repeat or predict a draw."""

    __slots__ = ()

    def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return values + discrete Gaussian noise; the measurement is the one whose map `calibration` reads."""
        checked = check_integers(values)
        measurement = gaussian_on_integers(scale)
        noisy = _invoke(measurement, checked)
        if noisy is None or noisy.shape != checked.shape:
            raise NoiseError("OpenDP could not draw the noise; nothing was released")
        return noisy


def on_grid(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The nearest multiples of GRID, as integers; whatever is not a vector of moderate float64 is refused, not shown.

    Rounding adds √entries GRID to the sensitivity. docs/proofs/sgd.md, Lemma 4.
    """
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != 1:
        kind = getattr(values, "dtype", type(values).__name__)
        raise NoiseError(f"noise on flows needs a vector of float64, not {kind}; nothing was released")
    if not np.all(np.abs(values) <= _LARGEST_FLOAT):  # false for NaN too
        raise NoiseError("the flows are not finite or too large for the grid of the noise; nothing was released")
    return np.rint(values / GRID).astype(np.int64)


def _invoke(measurement: Measurement, values: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The measurement's answer, or None: OpenDP's own errors may quote a value, so they go no further."""
    try:
        return np.array(measurement(values.tolist()), dtype=np.int64)
    except Exception:  # noqa: BLE001 - whatever it is, its text may hold private data
        return None


def gaussian_on_integers(scale: float) -> Measurement:
    """OpenDP's discrete Gaussian on integer vectors with ℓ2 distance; its map is the guarantee."""
    if not (isinstance(scale, int | float) and 0 < scale < float("inf")):
        raise NoiseError(f"the noise scale is {scale!r}; it must be positive and finite")
    space = vector_domain(atom_domain(T="i64")), l2_distance(T=float)  # "int" would be 32 bits
    return make_gaussian(*space, scale=float(scale))


def check_integers(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Refuse whatever is not a vector of int64 with room for noise; says nothing of the values themselves."""
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != 1:
        kind = getattr(values, "dtype", type(values).__name__)
        raise NoiseError(f"noise on counts needs a vector of int64, not {kind}; nothing was released")
    if values.size and (values.min() < -LARGEST_VALUE or values.max() > LARGEST_VALUE):
        raise NoiseError("the counts are too large for 64-bit integers with noise; nothing was released")
    return values
