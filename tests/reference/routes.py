"""Route sets once more, in plain Python: what the kernels of core/route_sets.cpp compute, to be read and compared.

A network is given by tail, head and no_through; the set of a pair is a list of links in topological order.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

__all__ = ["forced", "heaviest_path", "paths", "route_set", "spread"]


def _distances(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.bool_],
    cost: NDArray[np.float64],
    source: int,
) -> NDArray[np.float64]:
    """Bellman and Ford's, from the source; paths do not pass no_through nodes."""
    distance = np.full(no_through.size, np.inf)
    distance[source] = 0.0
    for _ in range(no_through.size):
        for a, b, c in zip(tail, head, cost, strict=True):
            if a == source or not no_through[a]:
                distance[b] = min(distance[b], distance[a] + c)
    return distance


def route_set(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.bool_],
    cost: NDArray[np.float64],
    ends: tuple[int, int],
    detour: float,
) -> list[int]:
    """Links that lead nearer to the destination, on detours of at most `detour`, and can be reached from the origin."""
    origin, destination = ends
    start = _distances(tail, head, no_through, cost, origin)
    to = _distances(head, tail, no_through, cost, destination)
    order = sorted(range(tail.size), key=lambda e: (-to[tail[e]], tail[e], e))
    reached, chosen = {origin}, []
    for e in order:
        a, b = int(tail[e]), int(head[e])
        opened = (a == origin or not no_through[a]) and (b == destination or not no_through[b])
        near = start[a] + cost[e] + to[b] <= detour * to[origin] * (1 + 1e-9)
        if opened and a in reached and to[b] < to[a] < np.inf and near:
            chosen.append(e)
            reached.add(b)
    return chosen


def paths(links: list[int], tail: NDArray[np.int32], head: NDArray[np.int32], ends: tuple[int, int]) -> list[list[int]]:
    """Every path of an acyclic set."""
    found: list[list[int]] = []

    def walk(node: int, before: list[int]) -> None:
        if node == ends[1]:
            found.append(before)
            return
        for e in links:
            if tail[e] == node:
                walk(int(head[e]), [*before, e])

    walk(ends[0], [])
    return found


def forced(links: list[int], tail: NDArray[np.int32], head: NDArray[np.int32], ends: tuple[int, int]) -> list[bool]:
    """Whether every path uses the link."""
    every = paths(links, tail, head, ends)
    return [all(e in path for path in every) for e in links]


def heaviest_path(
    links: list[int],
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    ends: tuple[int, int],
    value: NDArray[np.float64],
) -> float:
    """Largest sum of values, each at least 0, along a path."""
    return max(float(np.maximum(value[path], 0.0).sum()) for path in paths(links, tail, head, ends))


def spread(
    links: list[int],
    fixed: list[bool],
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    inverse: NDArray[np.float64],
    sweeps: int = 30,
) -> float:
    """Σ_e inverse_e (|m_e − p[head] + p[tail]| + half_e)² for potentials p from damped sweeps of Jacobi."""
    middle, half = 0.5 * (high + low), 0.5 * (high - low)
    p = dict.fromkeys(itertools.chain(tail[links].tolist(), head[links].tolist()), 0.0)
    free = [e for e, known in zip(links, fixed, strict=True) if not known]

    def total() -> float:
        return float(sum(inverse[e] * (abs(middle[e] - p[head[e]] + p[tail[e]]) + half[e]) ** 2 for e in free))

    best = total()
    for e in reversed(links):
        here, by = p[tail[e]], p[head[e]] - middle[e]
        p[tail[e]] = by if here == 0.0 else max(here, by)
    best = min(best, total())
    for _ in range(sweeps):
        pull, weight = dict.fromkeys(p, 0.0), dict.fromkeys(p, 0.0)
        for e in free:
            left = (middle[e] - p[head[e]] + p[tail[e]]) * inverse[e]
            pull[head[e]] += left
            pull[tail[e]] -= left
            weight[head[e]] += inverse[e]
            weight[tail[e]] += inverse[e]
        for node in p:
            p[node] += 0.7 * pull[node] / weight[node] if weight[node] else 0.0
        best = min(best, total())
    return float(best)
