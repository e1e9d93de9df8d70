"""Some pairs of Algorithm 1 with their flows on route sets: their part of the load, their step, their projection.

Between two steps the pairs meet only in the load of the links. So they can be split into shards that work apart: each
sends its part of the load, a vector of whole numbers whose sum does not depend on an order, and receives the prices of
the links. Results are the same, bit for bit, however the pairs are split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.flows.route_metric import add_load, project_on_routes, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from privroute.flows.route_metric import RouteMetric
    from privroute.flows.route_sets import RouteSets

__all__ = ["Move", "Shard", "ShardData"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Move:
    """PRIVATE. One step for all shards: its day, the prices of the links, the share that is kept, and the next day.

    next_day : whose load is asked for after the step; None after the last one
    """

    day: int
    price: NDArray[np.float64]
    keep: float
    next_day: int | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShardData:
    """What a shard is given. Everything but the rates is public. It is never shown, not even in a log of a failure.

    rates : PRIVATE. (days, pairs) vehicles per minute, within the caps
    start : (entries,) unit flows to start from
    per_unit : units of a load of 1, see `privacy.flow_sensitivity.loads_per_unit`
    """

    sets: RouteSets
    metric: RouteMetric
    rates: NDArray[np.float64]
    start: NDArray[np.float64]
    per_unit: float
    tolerance: float
    threads: int | None = None


class Shard:
    """PRIVATE. The flows of some pairs, and the steps that they make."""

    def __init__(self, data: ShardData) -> None:
        self.data = data
        self.flows = data.start.copy()
        self._hints = np.zeros(data.sets.entries, dtype=np.float32)

    def replay(self, moves: Sequence[Move], day: int) -> NDArray[np.int64]:
        """Make the steps so far and return the load of a day: how a shard that was lost comes back, bit for bit."""
        for move in moves:
            self.step(move.day, move.price, move.keep)
        return self.load(day)

    def advance(self, move: Move) -> NDArray[np.int64]:
        """Make a step; return the load of the next day, zeros after the last step."""
        self.step(move.day, move.price, move.keep)
        if move.next_day is None:
            return np.zeros(self.data.sets.network.links, dtype=np.int64)
        return self.load(move.next_day)

    def load(self, day: int) -> NDArray[np.int64]:
        """(links,) Σ_w Λ_w x_w of these pairs on a day, in whole units."""
        total = np.zeros(self.data.sets.network.links, dtype=np.int64)
        add_load(self.data.sets, self.flows, self.data.rates[day], self.data.per_unit, total)
        return total

    def step(self, day: int, price: NDArray[np.float64], keep: float) -> None:
        """Replace x by Π_W(keep x − Λ/u price): (links,) price = η t/w, keep = 1 − ηα."""
        data = self.data
        step(data.sets, self.flows, data.rates[day] / data.metric.pair, price, keep)
        project_on_routes(
            data.sets, data.metric, self.flows, self._hints, tolerance=data.tolerance, threads=data.threads
        )
