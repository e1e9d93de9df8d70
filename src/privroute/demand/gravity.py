"""A gravity model of demand: who travels between two zones, told by how much each sends and receives and how far it is.

    g_od = a_o b_d exp(−θ t_od / t̄)      t free-flow minutes, t̄ their mean; a, b such that rows and columns have given
                                         totals, θ such that the mean minutes of a trip are given ones

It is fitted to totals that are public or already carry noise, so nothing here sees trips.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute import _core
from privroute.demand.nonnegative import settle
from privroute.errors import DemandError
from privroute.network.checks import number_array
from privroute.network.demand import Demand
from privroute.network.pairs import free_flow_minutes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = ["GravityModel", "gravity_demand"]

_FLATTEST, _STEEPEST = -1.0, 32.0  # θ is sought between these
_BALANCING_STEPS = 100
_SEARCH_STEPS = 30
_BALANCED = 1e-6  # part of the traffic that may be in the wrong row in the end
_FOUND = 1e-3  # the same during the search for θ, and the relative error of the mean minutes that ends it
_USUAL_TRIP = 0.75  # mean minutes of a trip over the mean of all pairs, where nothing is known
_FARTHEST = 50.0  # decay is at least exp(-50), so that no zone is cut off
_LARGEST_FACTOR = 1e100


@dataclass(frozen=True, slots=True)
class GravityModel:
    """Pairs of a network with their times, ready to be balanced.

    origin, destination : (pairs,) positions of the ends among the nodes that occur
    minutes : (pairs,) free-flow minutes
    """

    origin: NDArray[np.int32] | NDArray[np.intp]
    destination: NDArray[np.int32] | NDArray[np.intp]
    minutes: NDArray[np.float64]

    @classmethod
    def of(cls, network: Network, pairs: Pairs) -> GravityModel:
        """The model's frame for these pairs."""
        return cls(_ranks(pairs.origin), _ranks(pairs.destination), free_flow_minutes(network, pairs))

    def margins(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Row and column totals of a value per pair."""
        return _sums(self.origin, values), _sums(self.destination, values)

    def balanced(self, theta: float, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """(pairs,) g with this θ and the given totals ≥ 0, as nearly as the pairs allow; the rows tell the total."""
        total = float(rows.sum())
        if not (total > 0 and columns.sum() > 0):
            return np.zeros(self.minutes.size)
        rows, columns = rows / total, columns / columns.sum()
        decay = self._decay(theta)
        return self._filled(decay, *self._factors(decay, rows, columns, np.ones(columns.size), _BALANCED), total)

    def with_mean(
        self, mean_minutes: float, rows: NDArray[np.float64], columns: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(pairs,) g with the given totals ≥ 0 and, as nearly as a θ in range allows, mean minutes of a trip."""
        total = float(rows.sum())
        if not (total > 0 and columns.sum() > 0 and self.minutes.max() > 0):
            return self.balanced(0.0, rows, columns)
        rows, columns = rows / total, columns / columns.sum()
        longest = float(self.minutes.max())
        mean_time = mean_minutes / longest
        factor = np.ones(columns.size)

        def excess(theta: float) -> float:
            """Mean minutes of the model less those wanted, relative; it falls with θ. Starts from the last factors."""
            nonlocal factor
            decay = self._decay(theta)
            factor_out, factor = self._factors(decay, rows, columns, factor, _FOUND)
            found, minutes = _core.gravity_totals(
                self.origin, self.destination, decay, factor_out, factor, self.minutes
            )
            return minutes / longest / found / mean_time - 1.0 if found > 0 else 0.0

        theta = _root(excess) if mean_time > 0 else _STEEPEST
        decay = self._decay(theta)
        return self._filled(decay, *self._factors(decay, rows, columns, factor, _BALANCED), total)

    def fit(self, values: NDArray[np.float64], scale: float = 0.0) -> NDArray[np.float64]:
        """(pairs,) model of counts with noise of this scale, zero if their total is not positive.

        It has their total and, as nearly as the pairs allow, their mean minutes and their row and column totals, these
        as far as they stand out from the noise.
        """
        total = float(values.sum())
        if not total > 0:
            return np.zeros(self.minutes.size)
        rows, columns = (
            _steadied(sums, np.bincount(ends), total, scale)
            for sums, ends in zip(self.margins(values), (self.origin, self.destination), strict=True)
        )
        longest = max(float(self.minutes.max()), np.finfo(np.float64).tiny)
        mean_minutes = float(values @ (self.minutes / longest)) / total * longest
        model = self.with_mean(mean_minutes, rows, columns)
        found = float(model.sum())
        if not found > 0:
            return np.full(model.size, total / model.size)
        model *= total / found
        return model

    def _decay(self, theta: float) -> NDArray[np.float64]:
        """exp(−θ t / t̄) up to a factor that balancing takes out again."""
        longest = self.minutes.max()
        if not longest > 0:
            return np.ones(self.minutes.size)
        exponent = self.minutes / longest
        exponent *= -theta / exponent.mean()
        exponent -= exponent.max()
        np.maximum(exponent, -_FARTHEST, out=exponent)
        return np.asarray(np.exp(exponent, out=exponent))

    def _factors(
        self,
        decay: NDArray[np.float64],
        rows: NDArray[np.float64],
        columns: NDArray[np.float64],
        factor_in: NDArray[np.float64],
        tolerance: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Factors of the rows and of the columns, scaled in turn until the rows fit too.

        rows, columns : their shares in the traffic, each summing to 1
        """
        return _core.gravity_factors(
            self.origin, self.destination, decay, rows, columns, factor_in, _BALANCING_STEPS, tolerance, _LARGEST_FACTOR
        )

    def _filled(
        self,
        decay: NDArray[np.float64],
        factor_out: NDArray[np.float64],
        factor_in: NDArray[np.float64],
        total: float,
    ) -> NDArray[np.float64]:
        """The model, in the place of the decay."""
        decay *= factor_out[self.origin]
        decay *= factor_in[self.destination]
        decay *= total
        return decay


def gravity_demand(
    network: Network,
    pairs: Pairs,
    sends: ArrayLike,
    receives: ArrayLike | None = None,
    *,
    total_per_min: float,
    mean_minutes: float | None = None,
) -> Demand:
    """A demand from public zone sizes, without any trip.

    sends, receives : (zones,) sizes in the order of network.zones, e.g. inhabitants and jobs; only ratios matter
    total_per_min : vehicles per minute over all pairs
    mean_minutes : mean free-flow minutes of a trip; default: three quarters of the mean over pairs
    """
    model = GravityModel.of(network, pairs)
    rows = _sizes("sends", sends, network, pairs.origin)
    columns = _sizes("receives", sends if receives is None else receives, network, pairs.destination)
    target = _USUAL_TRIP * float(model.minutes.mean()) if mean_minutes is None else float(mean_minutes)
    if not 0 <= target < math.inf:
        raise DemandError(f"mean_minutes is {mean_minutes!r}; pass the mean free-flow minutes of a trip")
    shape = model.with_mean(target, rows, columns)
    if not shape.sum() > 0:
        raise DemandError(
            "no pair connects a zone that sends trips with a zone that receives trips; give more zones a size"
        )
    return Demand(pairs, shape * (total_per_min / shape.sum()))


def _root(excess: Callable[[float], float]) -> float:
    """The θ in range where a falling function is nearly zero, or the end of the range nearest to it.

    Steps that double find two θ on both sides; false position (Illinois) narrows them down.
    """
    low, step = 1.0, 1.0
    above = excess(low)
    direction = 1.0 if above > 0 else -1.0
    while True:
        high = min(max(low + direction * step, _FLATTEST), _STEEPEST)
        below = excess(high)
        if below * direction <= 0:
            break
        if high in (_FLATTEST, _STEEPEST):
            return high
        low, above, step = high, below, 2 * step
    ends, values = [low, high], [above, below]
    theta, last = high, -1
    for _ in range(_SEARCH_STEPS):
        if min(abs(values[0]), abs(values[1])) == 0:
            break
        theta = (ends[0] * values[1] - ends[1] * values[0]) / (values[1] - values[0])
        here = excess(theta)
        if abs(here) <= _FOUND:
            break
        side = 0 if here * values[0] > 0 else 1
        ends[side], values[side] = theta, here
        if side == last:
            values[1 - side] /= 2
        last = side
    return theta


def _steadied(sums: NDArray[np.float64], pairs: NDArray[np.intp], total: float, scale: float) -> NDArray[np.float64]:
    """Totals ≥ 0 of zones that sum to `total`: drawn towards an even spread, the more the less they exceed the noise.

    Empirical Bayes: a zone with n pairs has noise n·scale², and the spread between zones is what exceeds that.
    """
    even = total * pairs / pairs.sum()
    noise = pairs * scale**2
    spread = max(float(np.mean((sums - even) ** 2 - noise)), 0.0)
    weight = spread / np.maximum(spread + noise, 1e-300)
    steady = settle(even + weight * (sums - even))
    return np.asarray(steady * (total / steady.sum()))


def _sums(
    ends: NDArray[np.int32] | NDArray[np.intp], values: NDArray[np.float64], zones: int = 0
) -> NDArray[np.float64]:
    """Sum of the values at each end."""
    return np.bincount(ends, values, zones).astype(np.float64, copy=False)


def _ranks(nodes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Position of each node among those that occur, in their order."""
    occurs = np.zeros(int(nodes.max(initial=-1)) + 1, bool)
    occurs[nodes] = True
    return np.asarray((np.cumsum(occurs, dtype=np.int32) - 1)[nodes], dtype=np.int32)


def _sizes(name: str, given: ArrayLike, network: Network, ends: NDArray[np.int32]) -> NDArray[np.float64]:
    size = number_array(given, name, network.zones.size, DemandError)
    if not size.sum() > 0:
        raise DemandError(f"{name} is zero everywhere; give at least one zone a size")
    by_node = np.zeros(network.nodes)
    by_node[network.zones] = size
    return np.asarray(by_node[np.flatnonzero(np.bincount(ends))])
