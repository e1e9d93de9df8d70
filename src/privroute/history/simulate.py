"""Simulated days: Poisson counts around a demand, for experiments and for trying things out."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import HistoryError
from privroute.history.demand_history import LARGEST_COUNT, DemandHistory, check_period

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from privroute.network.demand import Demand

__all__ = ["simulate_days"]

_WEEK = 7
_LARGEST_SD = 5.0
_FIRST_MONDAY = dt.date(2026, 1, 5)


def simulate_days(
    demand: Demand,
    *,
    days: int,
    period_min: float = 60.0,
    seed: int | None = None,
    start: dt.date = _FIRST_MONDAY,
    weekday: Sequence[float] | None = None,
    drift_per_day: float = 0.0,
    day_sd: float = 0.0,
    correlation: float = 0.0,
) -> DemandHistory:
    """Draw daily counts: day k and pair w have Poisson(Λ_w T g_k) requests, independent given the day factors g.

        g_k = weekday[k] · (1 + drift_per_day)^k · exp(s z_k − s²/2),   z_k = ρ z_{k−1} + √(1−ρ²) ε_k,  ε_k ~ N(0, 1)

    demand : Λ; a fleet that sees one in `demand.expansion` vehicles has Λ / expansion
    days, period_min : N and T
    seed : the same seed gives the same days
    start : date of the first day
    weekday : seven factors, Monday first
    day_sd, correlation : s and ρ, the spread of a factor common to all pairs and its memory from day to day
    """
    if isinstance(days, bool) or not isinstance(days, int | np.integer) or days < 1:
        raise HistoryError(f"days is {days!r}; pass a whole number of at least 1")
    minutes = check_period(period_min)
    generator = np.random.default_rng(_seed(seed))
    try:
        dates = [start + dt.timedelta(days=day) for day in range(int(days))]
    except OverflowError:
        raise HistoryError(f"{days:,} days from {start} go beyond the calendar; start earlier") from None
    factors = _week(weekday)[[date.weekday() for date in dates]] * _growth(drift_per_day, len(dates))
    factors = factors * _common(generator, len(dates), day_sd, correlation)
    expected = demand.observed_per_min * minutes
    if not np.all(np.isfinite(factors)) or expected.max(initial=0.0) * factors.max() > LARGEST_COUNT / 2:
        raise HistoryError("the expected counts are too large to draw; lower the demand, the drift or the spread")
    counts = np.empty((len(dates), len(demand.pairs)), dtype=np.int64)
    for day, factor in enumerate(factors):
        counts[day] = generator.poisson(expected * factor)
    return DemandHistory(
        demand.pairs, counts, period_min=minutes, dates=dates, expansion=demand.expansion, simulated=True
    )


def _seed(seed: int | None) -> int | None:
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
        raise HistoryError(f"seed is {seed!r}; pass a whole number of at least 0, or None")
    return seed


def _week(weekday: Sequence[float] | None) -> NDArray[np.float64]:
    if weekday is None:
        return np.ones(_WEEK)
    try:
        factors = np.asarray(weekday, dtype=np.float64)
    except (TypeError, ValueError):
        factors = np.empty(0)
    if factors.shape != (_WEEK,) or not np.all(np.isfinite(factors) & (factors >= 0)):
        raise HistoryError("weekday needs seven factors of at least 0, Monday first")
    return factors


def _growth(drift_per_day: float, days: int) -> NDArray[np.float64]:
    if not (isinstance(drift_per_day, int | float) and math.isfinite(drift_per_day) and drift_per_day > -1):
        raise HistoryError(f"drift_per_day is {drift_per_day!r}; 0.01 lets the demand grow by 1 % a day")
    with np.errstate(over="ignore"):
        return np.power(1.0 + drift_per_day, np.arange(days))


def _common(generator: np.random.Generator, days: int, day_sd: float, correlation: float) -> NDArray[np.float64]:
    if not (isinstance(day_sd, int | float) and 0 <= day_sd <= _LARGEST_SD):
        raise HistoryError(f"day_sd is {day_sd!r}; pass a number from 0 to {_LARGEST_SD:g}; 0.1 is a usual spread")
    if not (isinstance(correlation, int | float) and -1 < correlation < 1):
        raise HistoryError(f"correlation is {correlation!r}; pass a number between -1 and 1")
    steps = generator.standard_normal(days)
    states = np.empty(days)
    state = 0.0
    for day, step in enumerate(steps):
        state = step if day == 0 else correlation * state + math.sqrt(1 - correlation**2) * step
        states[day] = state
    with np.errstate(over="ignore"):
        return np.exp(day_sd * states - day_sd**2 / 2)
