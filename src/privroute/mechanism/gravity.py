"""A gravity model of demand: who travels between two zones, told by how much each sends and receives and how far it is.

    g_od = a_o b_d exp(−θ t_od)      t free-flow minutes; a, b such that rows and columns have given totals

It is fitted to totals that are public or already carry noise, so nothing here sees trips.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import DemandError
from privroute.network.checks import number_array
from privroute.network.demand import Demand
from privroute.network.pairs import free_flow_minutes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = ["GravityModel", "gravity_demand"]

_BALANCING_STEPS = 100
_SEARCH_STEPS = 40
_STEEPEST = 20.0  # θ is sought in [-1, 20] over the mean time


@dataclass(frozen=True, slots=True)
class GravityModel:
    """Pairs of a network with their times, ready to be balanced.

    origin, destination : (pairs,) positions of the ends among the nodes that occur
    minutes : (pairs,) free-flow minutes
    """

    origin: NDArray[np.intp]
    destination: NDArray[np.intp]
    minutes: NDArray[np.float64]

    @classmethod
    def of(cls, network: Network, pairs: Pairs) -> GravityModel:
        """The model's frame for these pairs."""
        _, origin = np.unique(pairs.origin, return_inverse=True)
        _, destination = np.unique(pairs.destination, return_inverse=True)
        return cls(origin, destination, free_flow_minutes(network, pairs))

    def margins(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Row and column totals of a value per pair."""
        rows, columns = np.bincount(self.origin, values), np.bincount(self.destination, values)
        return rows.astype(np.float64), columns.astype(np.float64)

    def balanced(
        self, theta: float, rows: NDArray[np.float64], columns: NDArray[np.float64], steps: int = _BALANCING_STEPS
    ) -> NDArray[np.float64]:
        """(pairs,) g with the given totals, by alternate scaling; totals below zero count as zero."""
        rows, columns = np.maximum(rows, 0.0), np.maximum(columns, 0.0)
        total = rows.sum()
        if not (total > 0 and columns.sum() > 0):
            return np.zeros(self.minutes.size)
        columns = columns * (total / columns.sum())
        decay = np.exp(-theta * (self.minutes - self.minutes.mean()))
        factor_in = np.ones(columns.size)
        factor_out = np.ones(rows.size)
        for _ in range(steps):
            sent = np.bincount(self.origin, decay * factor_in[self.destination], rows.size)
            factor_out = np.divide(rows, sent, out=np.zeros_like(rows), where=sent > 0)
            received = np.bincount(self.destination, decay * factor_out[self.origin], columns.size)
            factor_in = np.divide(columns, received, out=np.zeros_like(columns), where=received > 0)
        return np.asarray(factor_out[self.origin] * decay * factor_in[self.destination])

    def fit(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(pairs,) model with the totals of `values` and, as nearly as a θ in range allows, their mean minutes."""
        rows, columns = self.margins(values)
        total = values.sum()
        mean_minutes = self.minutes.mean()
        if not (total > 0 and mean_minutes > 0):
            return self.balanced(0.0, rows, columns)
        target = float(values @ self.minutes / total)

        def excess(theta: float) -> float:
            model = self.balanced(theta, rows, columns, steps=_BALANCING_STEPS // 3)
            return float(model @ self.minutes / max(model.sum(), 1e-300)) - target

        low, high = -1.0 / mean_minutes, _STEEPEST / mean_minutes
        if excess(low) <= 0:
            theta = low
        elif excess(high) >= 0:
            theta = high
        else:
            for _ in range(_SEARCH_STEPS):
                theta = (low + high) / 2
                if excess(theta) > 0:
                    low = theta
                else:
                    high = theta
            theta = (low + high) / 2
        return self.balanced(theta, rows, columns)


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
    target = 0.75 * float(model.minutes.mean()) if mean_minutes is None else float(mean_minutes)
    low, high = -1.0 / max(model.minutes.mean(), 1e-300), _STEEPEST / max(model.minutes.mean(), 1e-300)
    for _ in range(_SEARCH_STEPS):
        theta = (low + high) / 2
        shape = model.balanced(theta, rows, columns, steps=_BALANCING_STEPS // 3)
        if float(shape @ model.minutes) > target * float(shape.sum()):
            low = theta
        else:
            high = theta
    shape = model.balanced((low + high) / 2, rows, columns)
    if not shape.sum() > 0:
        raise DemandError("no pair joins a zone that sends trips to one that receives some; give more zones a size")
    return Demand(pairs, shape * (total_per_min / shape.sum()))


def _sizes(name: str, given: ArrayLike, network: Network, ends: NDArray[np.int32]) -> NDArray[np.float64]:
    size = number_array(given, name, network.zones.size, DemandError)
    if not size.sum() > 0:
        raise DemandError(f"{name} is zero everywhere; give at least one zone a size")
    by_node = np.zeros(network.nodes)
    by_node[network.zones] = size
    return np.asarray(by_node[np.unique(ends)])
