"""The scale of the noise: what OpenDP's map says is enough, and not a bit less.

    rho(scale) = map of the discrete Gaussian at the sensitivity                (zero-concentrated privacy)
    epsilon(scale, delta) = OpenDP's conversion of rho                          (approximate privacy)

The guarantee of a release is always read from these maps for the scale that was used, never from a formula of ours.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from opendp.combinators import make_fix_delta, make_zCDP_to_approxDP
from opendp.mod import OpenDPException

from privroute.errors import NoiseError
from privroute.privacy.noise import gaussian_on_integers
from privroute.release.certificate import epsilon_of_rho

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["gaussian_epsilon", "gaussian_rho", "gaussian_scale", "rho_bounds", "rho_to_epsilon"]

_PRECISION = 1e-9
_LARGEST_SCALE = 2.0**40
_SMALLEST_RHO = 1e-60  # its noise is above any that is drawn
_LARGEST_RHO = 2.0**16  # soon above it OpenDP's conversion overflows, and searches begin where it does not
_PATIENCE = 3


@lru_cache(maxsize=256)
def gaussian_rho(scale: float, sensitivity: float) -> float:
    """Return OpenDP's rho for the discrete Gaussian of this scale on data of this ℓ2 sensitivity."""
    return float(gaussian_on_integers(scale).map(_positive(sensitivity)))


@lru_cache(maxsize=256)
def gaussian_epsilon(scale: float, sensitivity: float, delta: float) -> float:
    """Return OpenDP's epsilon at `delta` for the discrete Gaussian of this scale; infinite where it has no bound."""
    measurement = make_fix_delta(make_zCDP_to_approxDP(gaussian_on_integers(scale)), delta)
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

    def mapped(scale: float) -> float:
        if scale > _LARGEST_SCALE:
            raise _above_all_noise(epsilon, delta)
        return gaussian_epsilon(scale, sensitivity, delta)

    likely = _positive(sensitivity) / math.sqrt(2 * _likely_rho(epsilon, delta))
    scale, _ = _bracket(mapped, epsilon, likely, 1 + _PRECISION / 2)
    return scale


def rho_to_epsilon(rho: float, delta: float) -> float:
    """Return OpenDP's epsilon at `delta` for a zero-concentrated bound rho."""
    sensitivity = math.sqrt(2 * rho)
    while gaussian_rho(1.0, sensitivity) < rho:  # the root was rounded down
        sensitivity = math.nextafter(sensitivity, math.inf)
    return gaussian_epsilon(1.0, sensitivity, delta)


def rho_bounds(epsilon: float, delta: float) -> tuple[float, float]:
    """Return two rho, one part in 1e9 apart: OpenDP grants (epsilon, delta) to the first, and not to the second."""
    return _bracket(lambda rho: rho_to_epsilon(rho, delta), epsilon, _likely_rho(epsilon, delta), 1 - _PRECISION / 2)


@lru_cache(maxsize=256)
def _likely_rho(epsilon: float, delta: float) -> float:
    """About the largest rho within (epsilon, delta): where the searches begin, which OpenDP's map decides.

    Found by the closed form, from the rho with rho + 2 √(rho log(1/delta)) = epsilon, which is at most that.
    """

    def closed_form(rho: float) -> float:
        if rho < _SMALLEST_RHO:
            raise _above_all_noise(epsilon, delta)
        return epsilon_of_rho(rho, delta)

    tail = -math.log(delta)
    simple = (epsilon / (math.sqrt(tail + epsilon) + math.sqrt(tail))) ** 2
    rho, _ = _bracket(closed_form, epsilon, max(simple, _SMALLEST_RHO), 1 / 1.1)
    return min(rho, _LARGEST_RHO)


def _bracket(value: Callable[[float], float], limit: float, start: float, step: float) -> tuple[float, float]:
    """Two numbers, one part in 1e9 apart or less: value ≤ limit at the first, value > limit at the second.

    Both were evaluated. False position in the form of Illinois: of an end that stays, half the distance counts, and
    where it stays three times, the middle is taken.

    value : of a number > 0, monotone, on both sides of the limit, infinite where it overflows
    step : makes value smaller: below 1 where value rises, above where it falls. The ends are sought from `start` in
        steps that grow from this one
    """
    within = beyond = start
    low = high = value(start)
    while not low <= limit:
        beyond, high = within, low
        within *= step
        low, step = value(within), min(max(step * step, 0.5), 2.0)
    while high <= limit:
        within, low = beyond, high
        beyond /= step
        high, step = value(beyond), min(max(step * step, 0.5), 2.0)
    room, over, moved = limit - low, high - limit, 0
    while abs(beyond - within) > max(_PRECISION * within, sys.float_info.min):
        share = over / (room + over) if 0 < over < math.inf and abs(moved) < _PATIENCE else 0.5
        least = _PRECISION / 2 * within / abs(beyond - within)
        middle = beyond + min(max(share, least), 1 - least) * (within - beyond)
        found = value(middle)
        if found <= limit:
            moved = max(moved, 0) + 1
            within, room, over = middle, limit - found, over / min(moved, 2)
        else:
            moved = min(moved, 0) - 1
            beyond, over, room = middle, found - limit, room / min(-moved, 2)
    return within, beyond


def _above_all_noise(epsilon: float, delta: float) -> NoiseError:
    return NoiseError(
        f"epsilon {epsilon:g} with delta {delta:g} needs noise above 2^40; choose a larger epsilon or delta"
    )


def _positive(sensitivity: float) -> float:
    if not (isinstance(sensitivity, int | float) and 0 < sensitivity < math.inf):
        raise NoiseError(f"the sensitivity is {sensitivity!r}; it must be positive and finite")
    return float(sensitivity)
