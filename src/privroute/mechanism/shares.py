"""What a release promises in all: the mechanism's questions, and shares of rho for the total, the days and the quality.

With shares t and q of rho (and likewise one for the days) the mechanism's own sensitivity s stands for the rest, so
that under one scale

    s_t² = t/(1 − t − q) s²,   s_q² = q/(1 − t − q) s²,   rho = (s_t² + s² + s_q²) / (2 scale²)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from privroute.demand.positive_mean import positive_mean
from privroute.errors import GuaranteeError
from privroute.flows.varying_days import day_variation
from privroute.history.demand_history import MOST_REQUESTS
from privroute.mechanism import quality
from privroute.mechanism.interface import Question
from privroute.mechanism.promise import Promise
from privroute.study.measured_shares import DAYS_SHARE
from privroute.study.mechanisms import measures_days, public_options

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.progress import Progress
    from privroute.study.mechanisms import Counts, Layered
    from privroute.study.study import Study

__all__ = ["Shares", "days_question", "total_question", "with_days", "with_total"]

_ROUNDED_DOWN = 1 - 1e-12
_MIN_PER_H = 60.0


@dataclass(frozen=True, slots=True)
class Shares:
    """One promise and its parts, in the order in which they are asked.

    whole : what is certified and charged
    total, days, own, quality : sensitivities of the questions of each part; empty where there is none
    """

    whole: Promise
    total: tuple[float, ...]
    days: tuple[float, ...]
    own: tuple[float, ...]
    quality: tuple[float, ...]

    @classmethod
    def of(cls, study: Study, alone: Promise) -> Shares:
        """Divide rho as the study says.

        alone : what the mechanism would promise by itself
        """
        kept = study.frame.contribution
        total = study.total_share if kept is not None and kept.max_for_total is not None else 0.0
        measured = study.quality_share
        days = DAYS_SHARE if measures_days(study.mechanism.name, public_options(study.mechanism)) else 0.0
        if alone.broken_assumptions:  # it promises nothing, so nothing is measured under it
            total = days = measured = 0.0
        if total == days == measured == 0.0:
            return cls(alone, (), (), alone.questions, ())
        one = math.hypot(*alone.questions) / math.sqrt(1 - total - days - measured)
        of_total = (math.sqrt(total) * one,) if total else ()
        of_days = (math.sqrt(days) * one,) if days else ()
        of_quality = quality.questions(study, math.sqrt(measured) * one) if measured else ()
        asked = (*of_total, *of_days, *alone.questions, *of_quality)
        whole = Promise.of(study.promised, *asked, grid=alone.grid)
        return cls(whole, of_total, of_days, alone.questions, of_quality)

    def divided(self, share: float) -> Shares:
        """The same with a share of rho."""
        return replace(self, whole=self.whole.divided(share))

    @property
    def sensitivity(self) -> float:
        """Of what the mechanism itself perturbs."""
        return self.own[0] if len(self.own) == 1 else math.hypot(*self.own)

    @property
    def for_mechanism(self) -> Promise:
        """The promise as the mechanism sees it: its own questions under the scale of all."""
        return replace(self.whole, questions=self.own)


def total_question(study: Study, allowed: float) -> Question:
    """All requests, of each unit at most max_for_total: one number. docs/proofs/user.md, Lemma 3."""
    kept = study.frame.contribution
    if kept is None or kept.max_for_total is None:
        raise GuaranteeError("the study does not say how many requests of a user count for the total")
    return Question(allowed, _requests, allowed / kept.max_for_total * _ROUNDED_DOWN, kept.max_for_total)


def _requests(history: DemandHistory, _progress: Progress | None) -> NDArray[np.int64]:
    """PRIVATE."""
    return np.array([history.requests], dtype=np.int64)


def days_question(study: Study, allowed: float) -> Question:
    """Trips of each day, (days,). One request changes one of them by 1, a user's k requests all together by k at most.

    docs/proofs/days.md, Lemma 1
    """
    kept = study.frame.contribution
    most = 1 if kept is None else kept.max_requests
    return Question(allowed, _trips_by_day, allowed / most * _ROUNDED_DOWN, most)


def _trips_by_day(history: DemandHistory, _progress: Progress | None) -> NDArray[np.int64]:
    """Each count is cut off before the sum, at a bound by the public number of pairs: no sum overflows. PRIVATE."""
    most = MOST_REQUESTS // max(1, len(history.pairs))
    return np.asarray(np.minimum(history.counts, most).sum(axis=1, dtype=np.int64))


def with_days(study: Study, noisy: NDArray[np.int64], deviation: float) -> Study:
    """The study with the measured variation of the days in the place of a public one.

    deviation : of the noise in each entry
    """
    found = day_variation(noisy.astype(np.float64), deviation)
    options = cast("Counts | Layered", study.mechanism)
    return replace(study, mechanism=replace(options, day_variation=found))


def with_total(study: Study, noisy: NDArray[np.int64], scale: float) -> tuple[Study, float]:
    """The study with the measured total in the place of a public one, and the relative deviation of that total.

    A total is positive, and its noise is known: where that is not small beside it, its mean given the noisy one is
    taken, so that there is a measured total whatever was drawn.

    scale : of the noise
    """
    frame = study.frame
    if frame.contribution is None:
        raise GuaranteeError("the study does not bound users, so there is no total to measure")
    requests = positive_mean(float(noisy[0]), scale**2)
    per_h = requests * frame.expansion * _MIN_PER_H / (frame.days * frame.period_min)
    known = replace(frame.contribution, max_for_total=None)
    error = min(scale / max(requests, 1.0), 1.0)
    return replace(study, frame=replace(frame, contribution=known, total_per_h=per_h)), error
