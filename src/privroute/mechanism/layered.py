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
from scipy import sparse

from privroute.demand.gravity import GravityModel
from privroute.demand.layered_estimate import Estimate, Tables, estimate, gravity_prior, likeliest_prior
from privroute.demand.layers import Layer, cells, combined, length_cells
from privroute.flows.link_loads import counted_links
from privroute.flows.uncertain_origins import spread_for_uncertain_origins
from privroute.mechanism.from_counts import best_for, with_known_total
from privroute.mechanism.interface import NoisySums, Published, Question
from privroute.mechanism.promise import Promise
from privroute.network.demand import Demand
from privroute.privacy.noise import LARGEST_VALUE
from privroute.privacy.sensitivity import summed_counts_sensitivity, sums_of_pairs_sensitivity
from privroute.study.mechanisms import MANY_PAIRS

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress
    from privroute.study.contribution import Contribution
    from privroute.study.mechanisms import Layered
    from privroute.study.study import Study

__all__ = ["converse", "promise"]

_GRID = 2.0**-12
"""One step of the noisy integers, in trips: a count that is multiplied by 2¹² has the noise of the promise's scale."""

# trips per effective zone, in noise of a pair's count, from which on it is worth looking at zones, pairs, pairs first
_ZONES, _PAIRS, _ABUNDANT = 0.55, 3.6, 40.0
_UNKNOWN_ORIGINS = 1.5  # where zones are not known: deviation of the logarithm of what an origin sends
_LENGTHS_AGAIN = 0.2  # of a question that repeats the tables
_ROUTES_GAP = 10.0  # gap of the optimum in a round over that of the end: it is asked for main paths only
_WHOLE, _MOSTLY_WHOLE = 0.15, 0.6  # of a question that repeats zones and total, where zones are worth it and where not


@dataclass(frozen=True, slots=True)
class _Multipliers:
    """Whole numbers by which counts are multiplied before the noise: shares of the budget.

    cells : of the tables origins, destinations and lengths
    pairs : of two questions about pairs' counts
    links : of each round; the multipliers of a path's links have at most this ℓ2 norm
    largest_count : public cap on the trips of one pair, so that no sum overflows: beyond any use on real networks
    """

    cells: tuple[int, int, int]
    pairs: tuple[int, int]
    links: tuple[int, ...]
    contribution: Contribution | None
    largest_count: int

    @classmethod
    def of(cls, study: Study) -> _Multipliers:
        """A question's squared sensitivity is that of pairs' counts times its share, rounded up to integers."""
        options = cast("Layered", study.mechanism)
        kept = study.frame.contribution
        relative = 1.0 if kept is None else kept.squared_norm / kept.max_requests**2

        def whole(share: float) -> int:
            return math.ceil(math.sqrt(share) / _GRID)

        end, lengths = whole(relative * options.zones_share / 4), whole(relative * options.lengths_share / 2)
        least = math.ceil(1.0 / math.sqrt(relative))  # so that sums can be asked for in their place
        pairs = (
            max(whole((options.zones_share + options.lengths_share) / 2), least),
            max(whole(options.pairs_share), least),
        )
        links = (whole(relative * options.links_share / max(options.rounds, 1)),) * options.rounds
        largest = LARGEST_VALUE // (max(1, len(study.pairs)) * max(end, lengths, sum(pairs), *links))
        return cls((end, end, lengths), pairs, links, kept, largest)

    @property
    def pairs_at_once(self) -> int:
        """Of one question in the place of both about pairs."""
        return math.isqrt(self.pairs[0] ** 2 + self.pairs[1] ** 2)

    def in_sums(self, pairs: int) -> int:
        """Squared weight that a pair may have in sums that are asked for in place of a question about pairs."""
        kept = self.contribution
        return pairs**2 if kept is None else pairs**2 * kept.squared_norm // kept.max_requests**2


def promise(study: Study) -> Promise:
    """Noise for all questions together. docs/proofs/layered.md, Theorem 1."""
    public = cast("Layered", study.mechanism).public_demand
    if public is not None:
        public.on(study.pairs)  # refuses pairs with a demand that the study does not have
    guarantee, kept, multipliers = study.promised, study.frame.contribution, _Multipliers.of(study)
    sums = partial(sums_of_pairs_sensitivity, guarantee, kept)
    found = [sums(squared_row=each**2) for each in multipliers.cells]
    found += [summed_counts_sensitivity(guarantee, kept, multiplier=each) for each in multipliers.pairs]
    found += [sums(squared_row=each**2) for each in multipliers.links]
    return Promise.of(guarantee, *(each * _GRID for each in found), grid=_GRID)


def converse(
    study: Study, promise: Promise, progress: Progress | None
) -> Generator[Question, NDArray[np.int64], Published]:
    """Ask for tables, then round by round for link loads, and publish the optimum of what is known in the end."""
    if not len(study.pairs):
        return _published(study, Estimate(np.zeros(0), np.zeros(0), ()), None, progress)
    asking = _Asking(study, promise)
    multipliers = asking.multipliers
    tables = yield from asking.tables()
    clarity = asking.clarity(tables)
    first, second = multipliers.pairs
    if clarity < _PAIRS:  # pairs and links would be drowned
        whole = _WHOLE if clarity >= _ZONES else _MOSTLY_WHOLE
        shares = {"origins": (1.0 - whole) / 2, "destinations": (1.0 - whole) / 2, "whole": whole}
        for budget in (*(multipliers.in_sums(each) for each in multipliers.pairs), *(m**2 for m in multipliers.links)):
            tables = yield from asking.again(tables, budget, shares)
    elif clarity < _ABUNDANT:
        end = (1.0 - _LENGTHS_AGAIN) / 2
        shares = {"origins": end, "destinations": end, "lengths": _LENGTHS_AGAIN}
        tables = yield from asking.again(tables, multipliers.in_sums(first), shares)
        tables = yield from asking.pairs(tables, second)
    else:  # both questions in one draw
        tables = yield from asking.pairs(tables, multipliers.pairs_at_once, in_place_of=2)
    prior = asking.prior(tables)
    layers = list(tables.layers)
    known = estimate(prior, combined(layers), tables)
    for multiplier in multipliers.links if clarity >= _PAIRS else ():
        layers.append((yield from asking.links(known, multiplier)))
        known = estimate(prior, combined(layers), tables, known)
    del prior, layers
    return _published(study, known, tables, progress, start=asking.routes, spread=clarity < _ZONES)


class _Asking:
    """Questions, and layers made of their noisy answers. Public: what it holds is public or noisy."""

    def __init__(self, study: Study, promise: Promise) -> None:
        self.study = study
        self.options = cast("Layered", study.mechanism)
        self.model = GravityModel.of(study.network, study.pairs)
        self.multipliers = _Multipliers.of(study)
        self._cap = self.multipliers.largest_count
        self._scale = promise.integer_scale
        self.routes: RoutingPolicy | None = None  # the last optimum, near to the next one

    def tables(self) -> Generator[Question, NDArray[np.int64], Tables]:
        """What zones send and receive, and trips by length."""
        lengths = length_cells(self.model.minutes, self.options.length_bins)
        layers: list[Layer] = []
        for cell, multiplier in zip(
            (self.model.origin, self.model.destination, lengths), self.multipliers.cells, strict=True
        ):
            members = cells(cell, int(cell.max(initial=-1)) + 1)
            layers.append((yield from self._layer(members, np.full(members.shape[1], multiplier))))
        everything = cells(np.zeros(len(self.study.pairs), np.intp), 1)
        origins, destinations, by_length = layers
        return Tables(origins, destinations, by_length, Layer(everything, np.zeros(1), np.full(1, np.inf)))

    def clarity(self, tables: Tables) -> float:
        """Trips per effective zone, in standard deviations of the noise that the count of a pair would have.

        Zones without traffic do not count: a demand between a few of many zones is asked for pair by pair.
        """
        zones = max(tables.origins.effective_rows, tables.destinations.effective_rows)
        return tables.total[0] / zones / (self._scale / self.multipliers.pairs[1])

    def prior(self, tables: Tables) -> NDArray[np.float64]:
        """What is believed before sums are fitted: the gravity model of the tables, or the public demand."""
        gravity = gravity_prior(self.model, self.study.pairs, tables)
        public = self.options.public_demand
        if public is None:
            return gravity
        return likeliest_prior(gravity, public.on(self.study.pairs).rate_per_min, self.model, tables)

    def pairs(
        self, tables: Tables, multiplier: int, *, in_place_of: int = 1
    ) -> Generator[Question, NDArray[np.int64], Tables]:
        """Trips of each pair."""
        study = self.study
        sensitivity = summed_counts_sensitivity(study.promised, study.frame.contribution, multiplier=multiplier)
        query = partial(_pairs, multiplier, self._cap)
        noisy = yield Question(sensitivity * _GRID, query, in_place_of=in_place_of)
        return tables.with_pairs(noisy / multiplier, self._scale / multiplier)

    def again(
        self, tables: Tables, squared_row: int, shares: dict[str, float]
    ) -> Generator[Question, NDArray[np.int64], Tables]:
        """Tables once more, by name, in one question in which a pair weighs at most this much."""
        weight = {name: math.isqrt(int(share * squared_row)) for name, share in shares.items()}
        if not all(weight.values()):  # bounds on users so large that there is nothing to share out
            weight = {max(shares, key=lambda name: shares[name]): math.isqrt(squared_row)}
        repeated = {name: tables.named(name) for name in weight}
        members = combined(list(repeated.values())).members
        rows = [layer.values.size for layer in repeated.values()]
        found = yield from self._layer(members, np.repeat(list(weight.values()), rows))
        parts = np.split(found.values, np.cumsum(rows)[:-1])
        for (name, layer), values in zip(repeated.items(), parts, strict=True):
            tables = tables.with_layer(name, layer.again(values, self._scale / weight[name]))
        return tables

    def links(self, known: Estimate, multiplier: int) -> Generator[Question, NDArray[np.int64], Layer]:
        """Loads of the links that matter for the routes of an estimate."""
        aimed = counted_links(
            self.study.network,
            _demand(self.study, known.counts),
            self.options.links_per_trip,
            gap=_ROUTES_GAP * self.options.gap,
            start=self.routes,
        )
        self.routes = aimed.policy
        weights = np.floor(multiplier * np.sqrt(aimed.precision)).astype(np.int64)
        used = np.flatnonzero(weights)
        return (yield from self._layer(aimed.members[:, used], weights[used]))

    def _layer(
        self, members: sparse.csr_array, weights: NDArray[np.int64]
    ) -> Generator[Question, NDArray[np.int64], Layer]:
        squared_row = int((_whole(members, power=2) @ weights**2).max(initial=1))
        sensitivity = sums_of_pairs_sensitivity(
            self.study.promised, self.study.frame.contribution, squared_row=squared_row
        )
        noisy = yield Question(sensitivity * _GRID, partial(_sums, members, weights, self._cap))
        return Layer(members, noisy / weights, self._scale / weights)


def _demand(study: Study, counts: NDArray[np.float64]) -> Demand:
    frame = study.frame
    return Demand.from_observed(study.pairs, counts / (frame.days * frame.period_min), expansion=frame.expansion)


def _published(
    study: Study,
    known: Estimate,
    tables: Tables | None,
    progress: Progress | None,
    *,
    start: RoutingPolicy | None = None,
    spread: bool = False,
) -> Published:
    """Policy and demand of the estimate, with the public or measured total where there is one.

    start : the optimum of an earlier estimate
    spread : the estimate says little of single zones; the policy suits demands around it, not it alone
    """
    if known.shortcoming is not None:
        warnings.warn(f"the released demand: {known.shortcoming}", RuntimeWarning, stacklevel=2)
    demand, factor = with_known_total(study, _demand(study, known.counts))
    options = cast("Layered", study.mechanism)
    solution = best_for(study.network, demand, options, progress=progress, start=start)
    if solution.status != "converged":
        warnings.warn(f"the optimum of the released demand: {solution.message}", RuntimeWarning, stacklevel=2)
    policy = solution.policy
    plain = options.objective == "mean day" and options.fairness == 0 and not study.network.has_fixed_costs
    if spread and plain and len(study.pairs) >= MANY_PAIRS:  # on small networks it was measured to be worse
        policy = spread_for_uncertain_origins(study.network, demand, solution, _UNKNOWN_ORIGINS) or policy
    sums = None
    if tables is not None and tables.pairs is not None:
        sums = NoisySums(tables.pairs, tables.pairs_scale, np.ones(study.frame.days))
    variation = options.day_variation if options.objective == "all days" else None
    error = None if tables is None else math.sqrt(tables.total[1])
    return Published(policy, demand, sums=sums, factor=factor, requests_error=error, day_variation=variation)


def _pairs(multiplier: int, cap: int, history: DemandHistory, progress: Progress | None) -> NDArray[np.int64]:
    """PRIVATE. Σ_days counts, each at most `cap`, times the multiplier: (pairs,)."""
    del progress
    return np.asarray(np.minimum(history.counts.sum(axis=0, dtype=np.int64), cap) * multiplier)


def _sums(
    members: sparse.csr_array,
    weights: NDArray[np.int64],
    cap: int,
    history: DemandHistory,
    progress: Progress | None,
) -> NDArray[np.int64]:
    """PRIVATE. Trips in each row, times the row's weight: (rows,), exact integers."""
    counts = _pairs(1, cap, history, progress)
    return np.asarray(_whole(members).T @ counts) * weights


def _whole(members: sparse.csr_array, power: int = 1) -> sparse.csr_array:
    """Powers of the entries, as integers; their places are shared, not copied."""
    return sparse.csr_array((members.data.astype(np.int64) ** power, members.indices, members.indptr), members.shape)
