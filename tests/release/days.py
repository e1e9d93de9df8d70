"""A small release of several periods and kinds of days."""

from __future__ import annotations

import numpy as np

import privroute as pr
from privroute.history.period_histories import PeriodHistories
from privroute.study.calendar import Calendar

DATES = ("2026-03-02", "2026-03-15")
KINDS = {"workday": "mon-fri", "weekend": "sat,sun"}


def day_histories(frame: pr.Frame, *, seed: int = 1) -> PeriodHistories:
    """Simulated days with more traffic in each later slot."""
    city = pr.sioux_falls()
    parts = []
    for at, part in enumerate(frame.parts):
        made = pr.simulate_days(city.demand * (0.2 + 0.2 * at), days=part.days, period_min=60, seed=seed + at)
        parts.append(pr.DemandHistory.of(part, np.asarray(made.counts), simulated=True))
    return PeriodHistories.of(frame, parts)


def day_release(time_zone: str | None = None, *, quality_share: float = 0.05) -> pr.Release:
    """Two hours on workdays and weekends."""
    city = pr.sioux_falls()
    calendar = Calendar.of(["07:00-09:00/60min"], DATES, tz=time_zone, day_types=KINDS)
    frame = pr.Frame(city.demand.pairs, calendar)
    study = pr.Study(city.network, frame, pr.Guarantee(1.0, 1e-6), pr.Counts(gap=1e-4), quality_share=quality_share)
    return pr.learn(study, day_histories(frame))
