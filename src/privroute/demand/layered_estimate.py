"""A demand from layers of noisy sums: what is believed before, how strongly, and what the measurements make of it.

1. A gravity model g is fitted to the tables: total, zone totals (empirical Bayes), mean minutes of a trip.
2. Sums are fitted: the demand nearest to g that agrees with zone totals, lengths and link loads within their noise. How
   far the truth is from g, in variance per expected trip 1/λ, is what makes the sums most likely.
3. Counts of pairs are added in the same way, nearest to the result of 2.

Everything here is post-processing of noisy numbers. The solver is `demand.maximum_entropy`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from privroute.demand.maximum_entropy import Fit, maximum_entropy
from privroute.demand.zone_totals import Ends, zone_totals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.demand.gravity import GravityModel
    from privroute.demand.layers import Layer
    from privroute.network.pairs import Pairs

__all__ = ["Estimate", "Tables", "estimate", "gravity_prior", "likeliest_weight", "positive_mean"]

_USUAL_TRIP = 0.75  # mean minutes of a trip over the mean of all pairs, where nothing is known
_USUAL_TRIP_SPREAD = 0.2  # its standard deviation, same unit
_SHORTEST_TRIP, _LONGEST_TRIP = 0.1, 1.1  # its range, same unit
_LEAST = 1e-6  # of the mean: no pair is without demand in a prior
_WEIGHTS = np.geomspace(1e-6, 1.0, 60)


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What was measured whatever the routes are.

    origins, destinations, lengths : layers in which each pair is in one row
    whole : all trips in one row, where that was measured
    pairs : (pairs,) noisy counts of pairs, where they were measured; pairs_scale : standard deviation of their noise
    """

    origins: Layer
    destinations: Layer
    lengths: Layer
    whole: Layer | None = None
    pairs: NDArray[np.float64] | None = None
    pairs_scale: float = math.inf

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The sums among them."""
        always = (self.origins, self.destinations, self.lengths)
        return always if self.whole is None else (*always, self.whole)

    @property
    def total(self) -> tuple[float, float]:
        """Number of trips by all tables, and the variance of its noise."""
        measured = [layer.total for layer in self.layers]
        if self.pairs is not None:
            measured.append((float(self.pairs.sum()), self.pairs.size * self.pairs_scale**2))
        return _pooled(*measured)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """What the measurements make of a prior.

    prior : (pairs,) > 0, what was believed; counts : (pairs,) > 0, what is estimated
    fits : evidence of the solver, one for each problem
    """

    prior: NDArray[np.float64]
    counts: NDArray[np.float64]
    fits: tuple[Fit, ...]

    @property
    def converged(self) -> bool:
        """Whether the solver reached its tolerance each time."""
        return all(fit.converged for fit in self.fits)


def gravity_prior(model: GravityModel, pairs: Pairs, tables: Tables) -> NDArray[np.float64]:
    """(pairs,) > 0: the gravity model of the tables, as far as they stand out from their noise."""
    total = positive_mean(*tables.total)
    rows, columns = _zones(model, pairs, tables, total)
    mean = _mean_minutes(model, tables, total)
    found = model.with_mean(mean, rows, columns)
    whole = float(found.sum())
    found = found * (total / whole) if whole > 0 else np.full(found.size, total / found.size)
    return np.asarray(np.maximum(found, _LEAST * total / found.size))


def estimate(
    prior: NDArray[np.float64], layer: Layer, tables: Tables, earlier: Estimate | None = None
) -> Estimate:
    """Sums first, then pairs.

    prior : (pairs,) g > 0; layer : all sums
    earlier : the estimate from fewer of the rows, where the solver starts
    """
    start = [None, None] if earlier is None else [fit.multipliers for fit in earlier.fits]
    # a sum of d trips also has the chance of the days in it: variance d, about that of the prior
    chance = replace(layer, scale=np.sqrt(layer.scale**2 + layer.sums(prior)))
    weight = likeliest_weight(chance.values, chance.sums(prior), chance.scale**2, chance.sums(prior))[1]
    # half of the pull is linear: entropy alone lets a few rows with luck multiply their pairs
    first = maximum_entropy(prior, weight / 2, prior, np.sqrt(2 * prior / weight), chance, start=start[0])
    known = first.counts if np.isfinite(first.counts).all() else prior
    if tables.pairs is None:
        return Estimate(prior, known, (first,))
    scale = np.full(prior.size, tables.pairs_scale)
    pull = likeliest_weight(tables.pairs, known, scale**2, known)[1]
    # pairs and sums count the same trips: here the chance of the days is no error of the sums
    second = maximum_entropy(known, pull, tables.pairs, scale, layer, start=start[1])
    counts = second.counts if np.isfinite(second.counts).all() else known
    return Estimate(prior, counts, (first, second))


def positive_mean(value: float, variance: float) -> float:
    """Mean of a number that is known to be positive and was measured with normal noise: above the measured one."""
    scale = math.sqrt(variance)
    at = max(value / scale, -30.0)
    density = math.exp(-0.5 * at**2) / math.sqrt(2 * math.pi)
    return max(scale * (at + density / float(ndtr(at))), 1.0)


def likeliest_weight(
    values: NDArray[np.float64],
    expected: NDArray[np.float64],
    noise: NDArray[np.float64],
    spread: NDArray[np.float64],
) -> tuple[float, float]:
    """Log likelihood and λ for which values ~ N(expected, noise + spread/λ) are most likely, as if independent."""
    squares = (values - expected) ** 2
    best, found = -np.inf, 1.0
    for weight in _WEIGHTS:
        variance = noise + spread / weight
        likelihood = -0.5 * float(np.sum(np.log(variance) + squares / variance)) + np.log(weight)
        if likelihood > best:
            best, found = likelihood, float(weight)
    return best, found


def _zones(
    model: GravityModel, pairs: Pairs, tables: Tables, total: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Totals of rows and columns, from their tables and from the pairs' counts."""
    sending, receiving = np.unique(pairs.origin), np.unique(pairs.destination)
    either = np.union1d(sending, receiving)
    ends = []
    for zones, cell, layer in (
        (sending, model.origin, tables.origins),
        (receiving, model.destination, tables.destinations),
    ):
        number = np.bincount(cell)
        measured = [(layer.values, layer.scale**2)]
        if tables.pairs is not None:
            measured.append((np.bincount(cell, tables.pairs), number * tables.pairs_scale**2))
        values, variance = _pooled(*measured)
        values = values + (total - values.sum()) * variance / variance.sum()
        chance = total / number.size  # of the days
        ends.append(
            Ends(
                np.searchsorted(either, zones),
                number / number.sum(),
                np.bincount(cell, model.minutes) / number,
                values,
                variance + chance,
            )
        )
    return zone_totals(ends[0], ends[1], either.size, total)


def _mean_minutes(model: GravityModel, tables: Tables, total: float) -> float:
    """Mean minutes of a trip: a usual one, moved by what pairs and lengths say as far as that is not noise."""
    mean = float(model.minutes.mean())
    beyond = model.minutes - _USUAL_TRIP * mean
    rows = tables.lengths.sums(np.ones(beyond.size))
    of_bin = tables.lengths.sums(beyond) / np.maximum(rows, 1.0)
    measured = [(float(tables.lengths.values @ of_bin), float(np.sum((tables.lengths.scale * of_bin) ** 2)))]
    if tables.pairs is not None:
        measured.append((float(tables.pairs @ beyond), tables.pairs_scale**2 * float(beyond @ beyond)))
    value, variance = _pooled(*measured)
    usual = (_USUAL_TRIP_SPREAD * mean) ** 2
    found = _USUAL_TRIP * mean + value / total * usual / max(usual + variance / total**2, 1e-300)
    return min(max(found, _SHORTEST_TRIP * mean), _LONGEST_TRIP * mean)


def _pooled(*measured: tuple[Any, Any]) -> tuple[Any, Any]:
    """Mean of independent measurements (value, variance) by inverse variance, and its variance."""
    precision = sum(1.0 / np.maximum(variance, 1e-300) for _, variance in measured)
    value = sum(value / np.maximum(variance, 1e-300) for value, variance in measured)
    return value / precision, 1.0 / precision
