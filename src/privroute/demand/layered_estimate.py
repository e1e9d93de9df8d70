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

from privroute.demand.maximum_entropy import Fit, maximum_entropy
from privroute.demand.positive_mean import positive_mean
from privroute.demand.zone_totals import Ends, zone_totals
from privroute.threads import available_threads, shared_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.demand.gravity import GravityModel
    from privroute.demand.layers import Layer
    from privroute.network.pairs import Pairs

__all__ = ["Estimate", "Tables", "estimate", "gravity_prior", "likeliest_prior", "likeliest_weight"]

_USUAL_TRIP = 0.75  # mean minutes of a trip over the mean of all pairs, where nothing is known
_USUAL_TRIP_SPREAD = 0.2  # its standard deviation, same unit
_SHORTEST_TRIP, _LONGEST_TRIP = 0.1, 1.1  # its range, same unit
_LEAST = 1e-6  # of the mean: no pair is without demand in a prior
_LARGEST_RESIDUAL = 1.0  # standard deviations of what a row can still change
_EVIDENCE = 3.0  # by which another prior must be more likely, logarithm: what is chosen by luck must not be worse
_BALANCING_STEPS = 30
_WEIGHTS = np.geomspace(1e-6, 1.0, 60)
_COARSE = 4  # every fourth weight is tried first, then those around the best
_WORTH_THREADS = 2**15  # entries


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What was measured whatever the routes are.

    origins, destinations, lengths : layers in which each pair is in one row
    whole : all trips in one row; of infinite scale where that was not measured
    pairs : (pairs,) noisy counts of pairs, where they were measured; pairs_scale : standard deviation of their noise
    """

    origins: Layer
    destinations: Layer
    lengths: Layer
    whole: Layer
    pairs: NDArray[np.float64] | None = None
    pairs_scale: float = math.inf

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The sums that were measured."""
        always = (self.origins, self.destinations, self.lengths)
        return (*always, self.whole) if np.isfinite(self.whole.scale).all() else always

    def named(self, name: str) -> Layer:
        """A layer by its name."""
        return {"origins": self.origins, "destinations": self.destinations, "lengths": self.lengths}.get(
            name, self.whole
        )

    def with_layer(self, name: str, layer: Layer) -> Tables:
        """The same with another layer of this name."""
        return replace(self, **{name: layer})  # type: ignore[arg-type]  # a name of a layer

    def with_pairs(self, values: NDArray[np.float64], scale: float) -> Tables:
        """The same with counts of pairs, together with earlier ones."""
        if self.pairs is None:
            return replace(self, pairs=values, pairs_scale=scale)
        pooled, variance = _pooled((self.pairs, self.pairs_scale**2), (values, scale**2))
        return replace(self, pairs=pooled, pairs_scale=math.sqrt(variance))

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
    def shortcoming(self) -> str | None:
        """What of the measurements the estimate could not take up, or None; small residuals are none."""
        if not all(np.isfinite(fit.counts).all() for fit in self.fits):
            return "the fit to the noisy sums overflowed; the estimate before it is used"
        residual = self.fits[-1].residual if self.fits else 0.0  # of earlier fits only the end's starting point depends
        if residual > _LARGEST_RESIDUAL:
            return f"the fit to the noisy sums stopped {residual:.2g} standard deviations from its end"
        return None


def gravity_prior(model: GravityModel, pairs: Pairs, tables: Tables) -> NDArray[np.float64]:
    """(pairs,) > 0: the gravity model of the tables, as far as they stand out from their noise."""
    total = positive_mean(*tables.total)
    rows, columns = _zones(model, pairs, tables, total)
    mean = _mean_minutes(model, tables, total)
    found = model.with_mean(mean, rows, columns)
    whole = float(found.sum())
    found = found * (total / whole) if whole > 0 else np.full(found.size, total / found.size)
    return np.asarray(np.maximum(found, _LEAST * total / found.size))


def likeliest_prior(
    gravity: NDArray[np.float64], public: NDArray[np.float64], model: GravityModel, tables: Tables
) -> NDArray[np.float64]:
    """The gravity model, or a public demand if the noisy data say clearly that it is nearer: (pairs,) > 0.

    public : (pairs,) ≥ 0, any unit. It is tried with the measured total, and with the gravity model's zone totals too
    """
    if not public.sum() > 0:
        return gravity
    total = float(gravity.sum())
    scaled = np.maximum(public * (total / public.sum()), _LEAST * total / public.size)
    balanced = scaled.copy()
    rows, columns = model.margins(gravity)
    for _ in range(_BALANCING_STEPS):
        balanced *= (rows / model.margins(balanced)[0])[model.origin]
        balanced *= (columns / model.margins(balanced)[1])[model.destination]
    best, chosen = _likelihood(gravity, tables) + _EVIDENCE, gravity
    for other in (scaled, balanced):
        likelihood = _likelihood(other, tables)
        if np.isfinite(other).all() and likelihood > best:
            best, chosen = likelihood, other
    return chosen


def _likelihood(prior: NDArray[np.float64], tables: Tables) -> float:
    """How likely the tables are around a prior, each with the spread that suits it best."""
    found = 0.0
    for layer in tables.layers:
        expected = layer.sums(prior)
        found += likeliest_weight(layer.values, expected, layer.scale**2 + expected, expected)[0]
    if tables.pairs is not None:
        found += likeliest_weight(tables.pairs, prior, np.full(prior.size, tables.pairs_scale**2), prior)[0]
    return found


def estimate(prior: NDArray[np.float64], layer: Layer, tables: Tables, earlier: Estimate | None = None) -> Estimate:
    """Sums first, then pairs.

    prior : (pairs,) g > 0; layer : all sums
    earlier : the estimate from fewer of the rows, where the solver starts
    """
    start = [None, None] if earlier is None else [fit.multipliers for fit in earlier.fits]
    # a sum of d trips also has the chance of the days in it: variance d, about that of the prior
    chance = replace(layer, scale=np.sqrt(layer.scale**2 + layer.sums(prior)))
    weight = likeliest_weight(chance.values, chance.sums(prior), chance.scale**2, chance.sums(prior))[1]
    # half of the pull is linear: entropy alone lets a few rows with luck multiply their pairs
    first = maximum_entropy(
        prior, np.full(prior.size, weight / 2), prior, np.sqrt(2 * prior / weight), chance, start=start[0]
    )
    known = first.counts if np.isfinite(first.counts).all() else prior
    if tables.pairs is None:
        return Estimate(prior, known, (first,))
    scale = np.full(prior.size, tables.pairs_scale)
    pull = likeliest_weight(tables.pairs, known, scale**2, known)[1]
    # pairs and sums count the same trips: here the chance of the days is no error of the sums
    second = maximum_entropy(known, np.full(prior.size, pull), tables.pairs, scale, layer, start=start[1])
    counts = second.counts if np.isfinite(second.counts).all() else known
    return Estimate(prior, counts, (first, second))


def likeliest_weight(
    values: NDArray[np.float64],
    expected: NDArray[np.float64],
    noise: NDArray[np.float64],
    spread: NDArray[np.float64],
) -> tuple[float, float]:
    """Log likelihood and λ for which values ~ N(expected, noise + spread/λ) are most likely, as if independent."""
    squares = (values - expected) ** 2

    def likelihood(weight: float) -> float:
        variance = noise + spread / weight
        terms = squares / variance
        terms += np.log(variance, out=variance)
        return -0.5 * float(np.sum(terms)) + math.log(weight)

    found = np.full(_WEIGHTS.size, -np.inf)

    def look_at(positions: NDArray[np.intp]) -> int:
        """Fill in these, and say which of all is best."""
        found[positions] = list(each(likelihood, _WEIGHTS[positions].tolist()))
        found[np.isnan(found)] = -np.inf
        return int(np.argmax(found))

    with shared_by(available_threads() if squares.size >= _WORTH_THREADS else 1) as each:
        best = look_at(np.arange(0, _WEIGHTS.size, _COARSE))
        best = look_at(np.arange(max(best - _COARSE + 1, 0), min(best + _COARSE, _WEIGHTS.size)))
    return (float(found[best]), float(_WEIGHTS[best])) if found[best] > -np.inf else (-np.inf, 1.0)


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
        measured: list[tuple[Any, Any]] = [(layer.values, layer.scale**2)]
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
    return float(min(max(found, _SHORTEST_TRIP * mean), _LONGEST_TRIP * mean))


def _pooled(*measured: tuple[Any, Any]) -> tuple[Any, Any]:
    """Mean of independent measurements (value, variance) by inverse variance, and its variance."""
    precision = sum(1.0 / np.maximum(variance, 1e-300) for _, variance in measured)
    value = sum(value / np.maximum(variance, 1e-300) for value, variance in measured)
    return value / precision, 1.0 / precision
