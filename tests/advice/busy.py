"""A grid so busy that routes of a pair differ in time, which the tests of advice need."""

from __future__ import annotations

from tests.flows.solutions import grid

import privroute as pr

__all__ = ["busy_grid"]


def busy_grid(side: int, zones: int) -> tuple[pr.Network, pr.Demand]:
    """A square street grid whose traffic exceeds the capacity of some links."""
    network, demand = grid(side, zones)
    return network, demand * (4.0 * side * side / zones)
