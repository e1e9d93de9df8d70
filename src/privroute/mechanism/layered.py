"""The `layered` mechanism: a few tables, then the loads of links that matter for the routes known so far.

The questions, all with noise of one scale and charged once, before the first:

    origins, destinations     trips from and to each zone
    lengths                   trips in bins of free-flow minutes
    pairs                     trips of each pair
    links, round 1, 2, ...    trips whose pair's most probable path, in the optimum of the estimate so far, uses a link

A question multiplies its sums by whole numbers before the noise, so that shares of the budget, and the precision of
each link, are a matter of integers. What is asked depends on public data and earlier noisy answers only; the private
functions at the end of this module are all that sees a history. Proof: docs/proofs/layered.md.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from privroute.demand.gravity import GravityModel
from privroute.demand.layered_estimate import Estimate, Tables, estimate, gravity_prior
from privroute.demand.layers import Layer, cells, combined, length_cells
from privroute.flows.link_loads import counted_links
from privroute.flows.optimum import solve_optimum
from privroute.mechanism.interface import Published, Question
from privroute.mechanism.promise import Promise
from privroute.network.demand import Demand
from privroute.privacy.noise import LARGEST_VALUE
from privroute.privacy.sensitivity import summed_counts_sensitivity, sums_of_pairs_sensitivity

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray
    from scipy import sparse

    from privroute.history.demand_history import DemandHistory
    from privroute.progress import Progress
    from privroute.study.mechanisms import Layered
    from privroute.study.study import Study

__all__ = ["converse", "promise"]

_GRID = 2.0**-12
"""One step of the noisy integers, in trips: a count that is multiplied by 2¹² has the noise of the promise's scale."""


@dataclass(frozen=True, slots=True)
class _Multipliers:
    """Whole numbers by which counts are multiplied before the noise: shares of the budget.

    cells : of the tables origins, destinations and lengths; pairs : of the pairs' counts
    links : of each round; the multipliers of a path's links have at most this ℓ2 norm
    """

    cells: tuple[int, int, int]
    pairs: int
    links: tuple[int, ...]

    @classmethod
    def of(cls, study: Study) -> _Multipliers:
        """A question whose squared sensitivity is that of pairs' counts times its share, rounded to integers."""
        options = cast("Layered", study.mechanism)
        kept = study.frame.contribution
        relative = 1.0 if kept is None else kept.squared_norm / kept.max_requests**2

        def whole(share: float) -> int:
            return max(1, round(math.sqrt(share) / _GRID))

        end = whole(relative * options.zones_share / 2)
        rounds = options.rounds
        return cls(
            (end, end, whole(relative * options.lengths_share)),
            whole(options.pairs_share),
            (whole(relative * options.links_share / max(rounds, 1)),) * rounds,
        )

    def largest_count(self, pairs: int) -> int:
        """Public cap on the trips of one pair, so that no sum overflows: beyond any use on every real network."""
        return int(LARGEST_VALUE // (max(1, pairs) * max(*self.cells, self.pairs, *self.links)))


def promise(study: Study) -> Promise:
    """Noise for all questions together. docs/proofs/layered.md, Theorem 1."""
    guarantee, kept, multipliers = study.promised, study.frame.contribution, _Multipliers.of(study)
    sums = partial(sums_of_pairs_sensitivity, guarantee, kept)
    found = [sums(squared_row=each**2) for each in multipliers.cells]
    found.append(summed_counts_sensitivity(guarantee, kept, multiplier=multipliers.pairs))
    found += [sums(squared_row=each**2) for each in multipliers.links]
    return Promise.of(guarantee, *(each * _GRID for each in found), grid=_GRID)


def converse(
    study: Study, promise: Promise, progress: Progress | None
) -> Generator[Question, NDArray[np.int64], Published]:
    """Ask for tables, then round by round for link loads, and publish the optimum of what is known in the end."""
    options = cast("Layered", study.mechanism)
    model, frame = GravityModel.of(study.network, study.pairs), study.frame
    multipliers = _Multipliers.of(study)
    cap = multipliers.largest_count(len(study.pairs))
    scale = promise.integer_scale
    declared = iter(promise.questions)
    layers = []
    lengths = length_cells(model.minutes, options.length_bins)
    for cell, multiplier in zip((model.origin, model.destination, lengths), multipliers.cells, strict=True):
        members = cells(cell, int(cell.max(initial=-1)) + 1)
        weights = np.full(members.shape[1], multiplier)
        noisy = yield Question(next(declared), partial(_sums, members, weights, cap))
        layers.append(_layer(members, weights, noisy, scale))
    noisy = yield Question(next(declared), partial(_pairs, multipliers.pairs, cap))
    tables = Tables(*layers, noisy / multipliers.pairs, scale / multipliers.pairs)
    prior = gravity_prior(model, study.pairs, tables)
    known = estimate(prior, combined(layers), tables)
    for multiplier in multipliers.links:
        aimed = counted_links(study.network, _demand(study, known.counts), options.links_per_trip)
        weights = np.floor(multiplier * np.sqrt(aimed.precision)).astype(np.int64)
        used = weights > 0
        members, weights = aimed.members[:, used], weights[used]
        squared_row = int((members.astype(np.int64) @ weights**2).max(initial=0))
        sensitivity = sums_of_pairs_sensitivity(study.promised, frame.contribution, squared_row=max(squared_row, 1))
        noisy = yield Question(sensitivity * _GRID, partial(_sums, members, weights, cap))
        layers.append(_layer(members, weights, noisy, scale))
        known = estimate(prior, combined(layers), tables)
    return _published(study, known, progress)


def _layer(
    members: sparse.csr_array, weights: NDArray[np.int64], noisy: NDArray[np.int64], scale: float
) -> Layer:
    return Layer(members, noisy / weights, scale / weights)


def _demand(study: Study, counts: NDArray[np.float64]) -> Demand:
    frame = study.frame
    return Demand.from_observed(study.pairs, counts / (frame.days * frame.period_min), expansion=frame.expansion)


def _published(study: Study, known: Estimate, progress: Progress | None) -> Published:
    """Policy and demand of the estimate."""
    demand = _demand(study, known.counts)
    solution = solve_optimum(study.network, demand, gap=study.mechanism.gap, progress=progress)  # type: ignore[union-attr]  # it has one
    if solution.status != "converged":
        warnings.warn(f"the optimum of the released demand: {solution.message}", RuntimeWarning, stacklevel=2)
    return Published(solution.policy, demand)


def _pairs(multiplier: int, cap: int, history: DemandHistory, progress: Progress | None) -> NDArray[np.int64]:
    """PRIVATE. Σ_days counts, each at most `cap`, times the multiplier: (pairs,)."""
    del progress
    return np.minimum(history.counts.sum(axis=0, dtype=np.int64), cap) * multiplier


def _sums(
    members: sparse.csr_array,
    weights: NDArray[np.int64],
    cap: int,
    history: DemandHistory,
    progress: Progress | None,
) -> NDArray[np.int64]:
    """PRIVATE. Trips in each row, times the row's weight: (rows,), exact integers."""
    counts = _pairs(1, cap, history, progress)
    return np.asarray(members.astype(np.int64).T @ counts) * weights
