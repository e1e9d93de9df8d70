"""Simulated days: Poisson counts around a demand, for experiments and for trying things out."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import HistoryError
from privroute.history.demand_history import LARGEST_COUNT, DemandHistory
from privroute.network.checks import check_period_of_day, check_type, real_array, real_number
from privroute.network.demand import Demand
from privroute.study.dates import Day, as_date

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

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
    start: Day = _FIRST_MONDAY,
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
    check_type(demand, Demand, "demand", HistoryError)
    if isinstance(days, bool) or not isinstance(days, int | np.integer) or days < 1:
        raise HistoryError(f"days is {days!r}; pass a whole number of at least 1")
    minutes = check_period_of_day(period_min, error=HistoryError)
    first = as_date(start, "start")
    generator = np.random.default_rng(_seed(seed))
    try:
        dates = [first + dt.timedelta(days=day) for day in range(int(days))]
    except OverflowError:
        raise HistoryError(f"{days:,} days from {first} go beyond the calendar; start earlier") from None
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
    factors = real_array(weekday, "weekday", HistoryError)
    if factors.shape != (_WEEK,) or not np.all(np.isfinite(factors) & (factors >= 0)):
        raise HistoryError("weekday needs seven factors of at least 0, Monday first")
    return factors


def _growth(drift_per_day: float, days: int) -> NDArray[np.float64]:
    advice = "pass a number above -1; 0.01 lets the demand grow by 1 % a day"
    drift = real_number(drift_per_day, "drift_per_day", HistoryError, lambda number: number > -1, advice)
    with np.errstate(over="ignore"):
        return np.power(1.0 + drift, np.arange(days))


def _common(generator: np.random.Generator, days: int, day_sd: float, correlation: float) -> NDArray[np.float64]:
    advice = f"pass a number from 0 to {_LARGEST_SD:g}; 0.1 is a usual spread"
    spread = real_number(day_sd, "day_sd", HistoryError, lambda number: 0 <= number <= _LARGEST_SD, advice)
    advice = "pass a number between -1 and 1"
    memory = real_number(correlation, "correlation", HistoryError, lambda number: -1 < number < 1, advice)
    steps = generator.standard_normal(days)
    states = np.empty(days)
    state = 0.0
    for day, step in enumerate(steps):
        state = step if day == 0 else memory * state + math.sqrt(1 - memory**2) * step
        states[day] = state
    with np.errstate(over="ignore"):
        return np.exp(spread * states - spread**2 / 2)
