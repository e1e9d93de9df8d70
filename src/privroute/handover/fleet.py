"""Vehicles drawn from a public demand: pair, departure and route of each.

All policies of a comparison get the same vehicles with the same departures; only their routes differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import InputError
from privroute.network.checks import freeze
from privroute.progress import check_progress, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress

__all__ = ["Fleet", "Simulated"]

_MOST_UNITS = 20_000_000
_UNITS_AT_ONCE = 65_536
_BLOCKS = 1_000_003  # seeds of different fleets are apart


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """Units of `platoon` vehicles that drive together, by departure.

    pair : (units,) positions in the demand's pairs
    departure_s : (units,) seconds, rising
    seed : from which departures, numbers and routes were drawn
    """

    pair: NDArray[np.int64]
    departure_s: NDArray[np.float64]
    platoon: int
    period_min: float
    seed: int

    @classmethod
    def draw(cls, demand: Demand, *, period_min: float = 60.0, platoon: int = 10, seed: int = 0) -> Fleet:
        """Draw a Poisson number of vehicles of each pair, which depart uniformly over a period.

        n vehicles are ⌊n / platoon⌋ units, and one more with the probability that is left.
        """
        if isinstance(platoon, bool) or not isinstance(platoon, int) or platoon < 1:
            raise InputError(f"platoon is {platoon!r}; pass a whole number of at least 1")
        if not 0 < period_min < math.inf:
            raise InputError(f"period_min is {period_min!r}; pass a positive number")
        expected = demand.rate_per_min * period_min / platoon
        if expected.sum() > _MOST_UNITS:
            raise InputError(
                f"the demand has {expected.sum():,.0f} units of {platoon} vehicles; use larger platoons, a shorter "
                "period or a smaller share of the demand"
            )
        chance = np.random.default_rng(seed)
        vehicles = chance.poisson(demand.rate_per_min * period_min)
        units = np.floor(vehicles / platoon + chance.random(vehicles.size)).astype(np.int64)
        pair = np.repeat(np.arange(units.size), units)
        departure = chance.uniform(0.0, period_min * 60.0, pair.size)
        order = np.argsort(departure, kind="stable")
        return cls(freeze(pair[order]), freeze(departure[order]), platoon, float(period_min), seed)

    def __len__(self) -> int:
        return self.pair.size

    @property
    def vehicles(self) -> int:
        """Number of vehicles."""
        return self.pair.size * self.platoon

    def routes(self, policy: RoutingPolicy) -> list[list[int]]:
        """Links of a route for each unit, drawn from the policy."""
        return [links for _, links in self.each_route(policy)]

    def each_route(self, policy: RoutingPolicy, progress: Progress | None = None) -> Iterator[tuple[int, list[int]]]:
        """Each unit with the links of its route, drawn in blocks, so that not all are held at once."""
        check_progress(progress)
        for block, at in enumerate(range(0, len(self), _UNITS_AT_ONCE)):
            tell(progress, "Drawing routes", at / len(self))
            drawn = policy.sample_links(self.pair[at : at + _UNITS_AT_ONCE], seed=self.seed * _BLOCKS + block)
            ends, links = drawn.start.tolist(), drawn.links.tolist()
            for unit, (begin, end) in enumerate(pairwise(ends), at):
                yield unit, links[begin:end]
        tell(progress, "Drawing routes", 1.0)


@dataclass(frozen=True, slots=True)
class Simulated:
    """What one run of a simulator gave.

    mean_min : minutes of a completed trip, from its wish to depart to its arrival
    completed : share of the vehicles that arrived before the end
    vehicles : that wished to depart
    """

    mean_min: float
    completed: float
    vehicles: int
