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
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy import sparse

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

    from privroute.history.demand_history import DemandHistory
    from privroute.progress import Progress
    from privroute.study.mechanisms import Layered
    from privroute.study.study import Study

__all__ = ["converse", "promise"]

_GRID = 2.0**-12
"""One step of the noisy integers, in trips: a count that is multiplied by 2¹² has the noise of the promise's scale."""

_WORTHWHILE = 2.0  # trips of a mean zone, in noise of its total; below, pairs and links would be drowned
_HOPELESS = 0.3  # the same, where even zones are drowned
_WHOLE_SHARE, _HOPELESS_WHOLE_SHARE = 0.15, 0.6  # of what is asked instead: for the number of all trips


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
        """A question whose squared sensitivity is that of pairs' counts times its share, rounded up to integers."""
        options = cast("Layered", study.mechanism)
        kept = study.frame.contribution
        relative = 1.0 if kept is None else kept.squared_norm / kept.max_requests**2

        def whole(share: float) -> int:
            return math.ceil(math.sqrt(share) / _GRID)

        end = whole(relative * options.zones_share / 2)
        rounds = options.rounds
        return cls(
            (end, end, whole(relative * options.lengths_share)),
            whole(options.pairs_share),
            (whole(relative * options.links_share / max(rounds, 1)),) * rounds,
        )

    def squared_rows(self, study: Study) -> list[int]:
        """What a pair may weigh in sums that are asked for in place of pairs and links: squared, for each question."""
        kept = study.frame.contribution
        pairs = self.pairs**2 if kept is None else self.pairs**2 * kept.squared_norm // kept.max_requests**2
        return [pairs, *(each**2 for each in self.links)]

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
    asking = _Asking(study, promise)
    tables = yield from asking.tables()
    model = asking.model
    clarity = asking.clarity(tables)
    worthwhile = clarity >= _WORTHWHILE
    if worthwhile:
        tables = yield from asking.pairs(tables)
    else:
        tables = yield from asking.zones_again(tables, _WHOLE_SHARE if clarity >= _HOPELESS else _HOPELESS_WHOLE_SHARE)
    prior = gravity_prior(asking.model, study.pairs, tables)
    layers = list(tables.layers)
    known = estimate(prior, combined(layers), tables)
    for multiplier in asking.multipliers.links if worthwhile else ():
        layers.append((yield from asking.links(known, multiplier)))
        known = estimate(prior, combined(layers), tables, known)
    return _published(study, known, progress)


class _Asking:
    """Questions, and layers made of their noisy answers. Public: what it holds is public or noisy."""

    def __init__(self, study: Study, promise: Promise) -> None:
        self.study = study
        self.options = cast("Layered", study.mechanism)
        self.model = GravityModel.of(study.network, study.pairs)
        self.multipliers = _Multipliers.of(study)
        self._cap = self.multipliers.largest_count(len(study.pairs))
        self._scale = promise.integer_scale

    def tables(self) -> Generator[Question, NDArray[np.int64], Tables]:
        """What zones send and receive, and trips by length."""
        lengths = length_cells(self.model.minutes, self.options.length_bins)
        layers = []
        for cell, multiplier in zip(
            (self.model.origin, self.model.destination, lengths), self.multipliers.cells, strict=True
        ):
            members = cells(cell, int(cell.max(initial=-1)) + 1)
            layers.append((yield from self._layer(members, np.full(members.shape[1], multiplier))))
        return Tables(*layers)

    def clarity(self, tables: Tables) -> float:
        """Trips of a mean zone, in standard deviations of the noise of its total."""
        zones = max(tables.origins.values.size, tables.destinations.values.size)
        return tables.total[0] / zones / float(tables.origins.scale[0])

    def pairs(self, tables: Tables) -> Generator[Question, NDArray[np.int64], Tables]:
        """Trips of each pair."""
        multiplier, study = self.multipliers.pairs, self.study
        sensitivity = summed_counts_sensitivity(study.promised, study.frame.contribution, multiplier=multiplier)
        noisy = yield Question(sensitivity * _GRID, partial(_pairs, multiplier, self._cap))
        return replace(tables, pairs=noisy / multiplier, pairs_scale=self._scale / multiplier)

    def links(self, known: Estimate, multiplier: int) -> Generator[Question, NDArray[np.int64], Layer]:
        """Loads of the links that matter for the routes of an estimate."""
        aimed = counted_links(self.study.network, _demand(self.study, known.counts), self.options.links_per_trip)
        weights = np.floor(multiplier * np.sqrt(aimed.precision)).astype(np.int64)
        used = np.flatnonzero(weights)
        return (yield from self._layer(aimed.members[:, used], weights[used]))

    def zones_again(self, tables: Tables, whole_share: float) -> Generator[Question, NDArray[np.int64], Tables]:
        """What zones send and receive, and all trips, with the budgets that would be wasted on pairs and links."""
        ends = tables.origins, tables.destinations
        everything = cells(np.zeros(len(self.study.pairs), np.intp), 1)
        members = sparse.csr_array(sparse.hstack([*(end.members for end in ends), everything], format="csr"))
        for squared_row in self.multipliers.squared_rows(self.study):
            whole = max(1, math.isqrt(int(whole_share * squared_row)))
            zone = math.isqrt((squared_row - whole**2) // 2)
            if not zone:
                break  # a bound on users so large that integers cannot be shared out
            rows = [end.values.size for end in ends]
            found = yield from self._layer(members, np.repeat([zone, zone, whole], [*rows, 1]))
            first, second, last = np.split(found.values, np.cumsum(rows))
            measured = tables.whole or Layer(everything, last, np.array([np.inf]))
            tables = replace(
                tables,
                origins=ends[0].again(first, self._scale / zone),
                destinations=ends[1].again(second, self._scale / zone),
                whole=measured.again(last, self._scale / whole),
            )
            ends = tables.origins, tables.destinations
        return tables

    def _layer(self, members: sparse.csr_array, weights: NDArray[np.int64]) -> Generator[Question, NDArray[np.int64], Layer]:
        squared_row = int((members.astype(np.int64).power(2) @ weights**2).max(initial=1))
        sensitivity = sums_of_pairs_sensitivity(
            self.study.promised, self.study.frame.contribution, squared_row=squared_row
        )
        noisy = yield Question(sensitivity * _GRID, partial(_sums, members, weights, self._cap))
        return Layer(members, noisy / weights, self._scale / weights)


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
