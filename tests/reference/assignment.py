"""A readable twin of the compiled solver: path by path, in plain Python, for small networks.

Each pair keeps the paths it uses. In turn the cheapest path is added, and flow is shifted to it from every dearer path
by Newton's step along the links in which the two differ. The compiled solver works on bushes instead of paths and is
far faster; the optimum is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from tests.reference.kernels import shortest_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from privroute.network.latency import Latency

__all__ = ["assign"]

_ROUNDS = 20


class _Costs(NamedTuple):
    """What a trip costs at the links' flows, and how fast that rises with the flow."""

    cost: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    slope: Callable[[NDArray[np.float64]], NDArray[np.float64]]


def assign(
    *,
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    latency: Latency,
    background: NDArray[np.float64],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
    demand: NDArray[np.float64],
    equilibrium: bool = False,
    gap: float = 1e-8,
    max_iterations: int = 500,
) -> tuple[NDArray[np.float64], float]:
    """(links,) routed flow and its relative gap, for curves whose slope is finite at zero flow."""
    costs = (
        _Costs(latency.time, latency.time_slope)
        if equilibrium
        else _Costs(latency.marginal_cost, latency.marginal_slope)
    )

    def cheapest(pair: int, cost: NDArray[np.float64]) -> tuple[float, tuple[int, ...]]:
        distance, incoming = shortest_tree(tail, head, no_through, cost, int(origin[pair]))
        path = _trace(tail, incoming, int(origin[pair]), int(destination[pair]))
        return float(distance[destination[pair]]), path

    flow = np.zeros(tail.size)
    paths: dict[int, dict[tuple[int, ...], float]] = {}
    for pair in np.flatnonzero(demand > 0).tolist():
        _, path = cheapest(pair, costs.cost(background))
        paths[pair] = {path: float(demand[pair])}
        flow[list(path)] += demand[pair]
    reached = 0.0
    for _ in range(max_iterations):
        cost = costs.cost(flow + background)
        least = 0.0
        for pair, used in paths.items():
            length, path = cheapest(pair, cost)
            least += demand[pair] * length
            used.setdefault(path, 0.0)
        reached = float(flow @ cost) / least - 1.0 if least > 0 else 0.0
        if reached <= gap:
            break
        for _ in range(_ROUNDS):
            for used in paths.values():
                _equilibrate(costs, background, flow, used)
    return flow, reached


def _trace(tail: NDArray[np.int32], incoming: NDArray[np.int64], origin: int, destination: int) -> tuple[int, ...]:
    path: list[int] = []
    at = destination
    while at != origin:
        path.append(int(incoming[at]))
        at = int(tail[path[-1]])
    return tuple(reversed(path))


def _equilibrate(
    costs: _Costs, background: NDArray[np.float64], flow: NDArray[np.float64], used: dict[tuple[int, ...], float]
) -> None:
    """Shift flow from each path of a pair to its cheapest one; paths left empty are forgotten."""
    cost = costs.cost(flow + background)
    best = min(used, key=lambda path: cost[list(path)].sum())
    for path in [path for path in used if path != best]:
        cost = costs.cost(flow + background)
        slope = costs.slope(flow + background)
        leave, enter = list(set(path) - set(best)), list(set(best) - set(path))
        difference = float(cost[leave].sum() - cost[enter].sum())
        steepness = float(slope[leave].sum() + slope[enter].sum())
        if difference > 0:
            moved = min(used[path], difference / steepness) if steepness > 0 else used[path]
            flow[leave] = np.maximum(flow[leave] - moved, 0.0)
            flow[enter] += moved
            used[path] -= moved
            used[best] += moved
        if used[path] <= 0:
            del used[path]
