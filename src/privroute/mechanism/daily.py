"""The `daily` mechanism: noise on every day's counts. Days are averaged afterwards. Proof: docs/proofs/daily.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from privroute.mechanism.counts import promise
from privroute.mechanism.from_counts import publish_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.interface import Published
    from privroute.mechanism.promise import Promise
    from privroute.progress import Progress
    from privroute.study.calendar import Calendar
    from privroute.study.mechanisms import Daily
    from privroute.study.study import Study

__all__ = ["day_weights", "promise", "publish", "query"]

_WEEK = 7


def query(study: Study, history: DemandHistory, progress: Progress | None) -> NDArray[np.int64]:
    """PRIVATE. The counts of all days, stacked: (days · pairs,); a request changes one entry."""
    del study, progress
    return history.counts.ravel()


def publish(study: Study, promise: Promise, noisy: NDArray[np.int64], progress: Progress | None) -> Published:
    """Policy and demand of the noisy days, summed without clipping, so that their noise averages out."""
    by_day = noisy.reshape(study.frame.days, len(study.pairs))
    weights = day_weights(study.calendar, cast("Daily", study.mechanism))
    alike = bool(np.isin(weights, (0.0, 1.0)).all())  # a sum of whole numbers
    total = by_day[weights > 0].sum(axis=0) if alike else weights @ by_day
    scale = promise.scale * float(np.linalg.norm(weights))
    return publish_counts(study, total, scale=scale, weights=weights, progress=progress)


def day_weights(calendar: Calendar, options: Daily) -> NDArray[np.float64]:
    """How much each day counts, (days,), from public dates alone; the largest weight is 1."""
    age = np.arange(calendar.days)[::-1]
    recent = age < (options.window or calendar.days)
    if calendar.dates is not None:
        ordinal = np.array([day.toordinal() for day in calendar.dates])
        age = ordinal[-1] - ordinal
        same = recent & ((age + 1) % _WEEK == 0)
        if options.next_weekday and same.any():
            recent = same
    age = np.maximum(age - age[recent].min(), 0)  # the youngest of those that count has weight 1
    faded = np.ones(calendar.days) if options.half_life_days is None else 0.5 ** (age / options.half_life_days)
    weights: NDArray[np.float64] = np.where(recent, faded, 0.0)
    weights /= weights.max()
    return weights
