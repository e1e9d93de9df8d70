"""What zones send and receive, from noisy totals: empirical Bayes.

A zone with a share n of the pairs sends n·total (1 + r) trips and receives n·total (1 + r'). The relative deviations
(r, r') are normal with mean β x and a 2 x 2 covariance, x the standardised mean minutes from the zone to the others:
zones in the middle differ from those at the edge, and who sends much receives much. Covariance and β are those most
likely given the noisy totals, with weak priors that decide where noise drowns everything; a zone's total is then its
posterior mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Ends", "zone_totals"]

_UNKNOWN = 1e30  # variance of what was not measured
_USUAL_VARIANCE = 0.3  # of relative deviations, where the totals do not tell
_LOG_USUAL = math.log(_USUAL_VARIANCE)
_VARIANCE_SPREAD = 1.0  # standard deviation of its logarithm
_USUAL_CORRELATION = 0.8  # inverse hyperbolic tangent of the correlation of r and r', standard deviation 1
_SLOPE_PRECISION = 4.0  # β has standard deviation 1/2
_SMALLEST = 0.02  # of the even share: no zone is without traffic


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """The zones at one end of the pairs: those that send, or those that receive.

    zone : (zones,) position among all zones
    share : (zones,) part of the pairs; minutes : (zones,) mean free-flow minutes of them
    values, variance : (zones,) noisy totals and the variance of their noise
    """

    zone: NDArray[np.intp]
    share: NDArray[np.float64]
    minutes: NDArray[np.float64]
    values: NDArray[np.float64]
    variance: NDArray[np.float64]


def zone_totals(
    sends: Ends, receives: Ends, zones: int, total: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Totals > 0 of the zones that send and of those that receive; both sum to `total` > 0."""
    deviation, variance, minutes = np.zeros((2, zones)), np.full((2, zones), _UNKNOWN), np.zeros(zones)
    for row, end in ((1, receives), (0, sends)):  # minutes as a sender where a zone is both
        even = total * end.share
        deviation[row, end.zone] = end.values / even - 1.0
        variance[row, end.zone] = end.variance / even**2
        minutes[end.zone] = end.minutes
    offset = (minutes - minutes.mean()) / max(float(minutes.std()), 1e-12)
    posterior = _Likelihood(deviation, variance, offset).most_likely()
    found = []
    for row, end in ((0, sends), (1, receives)):
        size = end.share * np.maximum(1.0 + posterior[row, end.zone], _SMALLEST)
        found.append(size * (total / size.sum()))
    return found[0], found[1]


@dataclass(frozen=True, slots=True, eq=False)
class _Likelihood:
    """Of the deviations (2, zones) with noise of the given variance (2, zones), β integrated by its mode."""

    deviation: NDArray[np.float64]
    variance: NDArray[np.float64]
    offset: NDArray[np.float64]

    def most_likely(self) -> NDArray[np.float64]:
        """(2, zones) posterior means under the most likely covariance."""
        from scipy.optimize import minimize  # noqa: PLC0415 - slow to load

        start = np.array([_LOG_USUAL, _LOG_USUAL, _USUAL_CORRELATION])
        found = minimize(
            lambda at: self._solve(at)[0],
            start,
            method="Nelder-Mead",
            options={"maxiter": 300, "xatol": 0.02, "fatol": 0.01},
        )
        return self._solve(found.x)[1]

    def _solve(self, at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Negative log likelihood, up to a constant, and the posterior means."""
        out, back, tilt = (float(each) for each in at)
        usual = (((out - _LOG_USUAL) ** 2 + (back - _LOG_USUAL) ** 2) / _VARIANCE_SPREAD**2) + (
            tilt - _USUAL_CORRELATION
        ) ** 2
        out, back = (math.exp(min(max(each, -30.0), 30.0)) for each in (out, back))
        both = math.tanh(tilt) * math.sqrt(out * back)
        var_out, var_back = out + self.variance[0], back + self.variance[1]
        det = var_out * var_back - both**2
        inv_out, inv_back, inv_both = var_back / det, var_out / det, -both / det
        x = self.offset
        on_out, on_back = x * (inv_out + inv_both), x * (inv_back + inv_both)
        precision = float(x @ (on_out + on_back)) + _SLOPE_PRECISION
        slope = float(on_out @ self.deviation[0] + on_back @ self.deviation[1]) / precision
        mean = slope * x
        rest_out, rest_back = self.deviation[0] - mean, self.deviation[1] - mean
        score_out, score_back = inv_out * rest_out + inv_both * rest_back, inv_both * rest_out + inv_back * rest_back
        value = float(np.log(det).sum() + score_out @ rest_out + score_back @ rest_back)
        value += _SLOPE_PRECISION * slope**2 + usual
        means = np.array([mean + out * score_out + both * score_back, mean + both * score_out + back * score_back])
        return 0.5 * value, means
