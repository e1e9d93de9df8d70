"""The scale of the noise: what OpenDP's map says is enough, and not a bit less.

    rho(scale) = map of the discrete Gaussian at the sensitivity                (zero-concentrated privacy)
    epsilon(scale, delta) = OpenDP's conversion of rho                          (approximate privacy)

The guarantee of a release is always read from these maps for the scale that was used, never from a formula of ours.
"""

from __future__ import annotations

import math
from functools import lru_cache

import opendp.prelude as dp
from opendp.mod import OpenDPException

from privroute.errors import NoiseError
from privroute.privacy.noise import gaussian_on_integers

__all__ = ["gaussian_epsilon", "gaussian_rho", "gaussian_scale", "rho_to_epsilon"]

_PRECISION = 1e-9
_LARGEST_SCALE = 2.0**40


@lru_cache(maxsize=256)
def gaussian_rho(scale: float, sensitivity: float) -> float:
    """Return OpenDP's rho for the discrete Gaussian of this scale on data of this ℓ2 sensitivity."""
    return float(gaussian_on_integers(scale).map(_positive(sensitivity)))


@lru_cache(maxsize=256)
def gaussian_epsilon(scale: float, sensitivity: float, delta: float) -> float:
    """Return OpenDP's epsilon at `delta` for the discrete Gaussian of this scale; infinite where it has no bound."""
    measurement = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian_on_integers(scale)), delta)
    try:
        epsilon, _ = measurement.map(_positive(sensitivity))
    except OpenDPException:  # the bound overflows where the scale is far too small
        return math.inf
    return float(epsilon)


@lru_cache(maxsize=256)
def gaussian_scale(epsilon: float, delta: float, sensitivity: float) -> float:
    """Return the smallest scale (to one part in 1e9, from above) whose map is within (epsilon, delta).

    The map falls as the scale grows; the scale returned was itself checked against it.
    """
    high = max(_positive(sensitivity), 1e-6)
    while gaussian_epsilon(high, sensitivity, delta) > epsilon:
        high *= 2
        if high > _LARGEST_SCALE:
            raise NoiseError(
                f"epsilon {epsilon:g} with delta {delta:g} needs noise above 2^40; choose a larger epsilon or delta"
            )
    low = high / 2
    while low > 0 and gaussian_epsilon(low, sensitivity, delta) <= epsilon:
        high, low = low, low / 2
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if gaussian_epsilon(middle, sensitivity, delta) <= epsilon:
            high = middle
        else:
            low = middle
    return high


def rho_to_epsilon(rho: float, delta: float) -> float:
    """Return OpenDP's epsilon at `delta` for a zero-concentrated bound rho."""
    sensitivity = math.sqrt(2 * rho)
    while gaussian_rho(1.0, sensitivity) < rho:  # the root was rounded down
        sensitivity = math.nextafter(sensitivity, math.inf)
    return gaussian_epsilon(1.0, sensitivity, delta)


def _positive(sensitivity: float) -> float:
    if not (isinstance(sensitivity, int | float) and 0 < sensitivity < math.inf):
        raise NoiseError(f"the sensitivity is {sensitivity!r}; it must be positive and finite")
    return float(sensitivity)
