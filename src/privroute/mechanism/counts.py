"""The `counts` mechanism: noise on the sum over the days, and everything after it as post-processing.

`query` alone sees a history. `publish` sees noisy integers and public data only, so whatever it does (fit, solve, stop
early) reveals nothing more. Proof: docs/proofs/counts.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.mechanism.from_counts import publish_counts
from privroute.mechanism.promise import Promise
from privroute.privacy.sensitivity import summed_counts_sensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.demand.neighbouring_periods import Estimate
    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.interface import Published
    from privroute.progress import Progress
    from privroute.study.study import Study

__all__ = ["promise", "publish", "query"]


def promise(study: Study) -> Promise:
    """Noise for the sensitivity of the summed counts. docs/proofs/counts.md, Lemma 1."""
    return Promise.of(study.promised, summed_counts_sensitivity(study.promised, study.frame.contribution))


def query(study: Study, history: DemandHistory, progress: Progress | None) -> NDArray[np.int64]:
    """PRIVATE. Σ_days counts: (pairs,)."""
    del study, progress
    return np.asarray(history.counts.sum(axis=0, dtype=np.int64))


def publish(
    study: Study,
    promise: Promise,
    noisy: NDArray[np.int64],
    progress: Progress | None,
    better: Estimate | None = None,
) -> Published:
    """Policy and demand of the noisy sum over all days.

    better : an estimate of the same sums that uses neighbouring periods too, if there is one
    """
    weights = np.ones(study.frame.days)
    return publish_counts(study, noisy, scale=promise.scale, weights=weights, progress=progress, better=better)
