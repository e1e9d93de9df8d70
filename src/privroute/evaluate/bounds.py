"""Which bounds on users? From a public distribution of trips per user, before any trip is read.

With at most k trips of a user, at most k_p of them for one pair, the noise on a count is proportional to √(k k_p), and
the trips beyond k are lost. What matters is the noise over the share of trips that is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privroute.errors import InputError
from privroute.privacy.calibration import gaussian_scale

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privroute.study.guarantee import Guarantee

__all__ = ["BoundRow", "compare_bounds"]

_STEPS = (1, 2, 3, 5)
_LARGEST = 10**4


@dataclass(frozen=True, slots=True)
class BoundRow:
    """What max_requests = k would keep.

    kept : share of all trips
    noise : deviation on a count with max_per_pair = k; noise_one_per_pair : with max_per_pair = 1
    """

    max_requests: int
    kept: float
    noise: float
    noise_one_per_pair: float

    @property
    def noise_over_kept(self) -> float:
        """Noise relative to what is kept: the smaller the better."""
        return self.noise / self.kept

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "max_requests": self.max_requests,
            "kept": self.kept,
            "noise": self.noise,
            "noise_one_per_pair": self.noise_one_per_pair,
        }


def compare_bounds(users: Mapping[int, float], guarantee: Guarantee) -> tuple[BoundRow, ...]:
    """One row for each k up to the most trips of a user.

    users : {trips of a user (and day): number of users}, public, for example of a survey; only ratios matter
    """
    if any(trips < 1 or not 0 <= number < math.inf for trips, number in users.items()):
        raise InputError("trips per user start at 1, and numbers of users are at least 0")
    total = math.fsum(trips * number for trips, number in users.items())
    if not 0 < total < math.inf:
        raise InputError("the distribution of trips per user has no trips; give at least one user")
    most = max(trips for trips, number in users.items() if number > 0)
    wanted = sorted({step * 10**power for power in range(5) for step in _STEPS if step * 10**power < most} | {most})
    scale = gaussian_scale(guarantee.epsilon, guarantee.delta, 1.0)
    return tuple(
        BoundRow(
            k,
            math.fsum(min(trips, k) * number for trips, number in users.items()) / total,
            k * scale,
            math.sqrt(k) * scale,
        )
        for k in wanted
        if k <= _LARGEST
    )
