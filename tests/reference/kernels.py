"""Readable twins of the compiled kernels: same names, same results, plain Python and NumPy. The tests compare them."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["decompose", "expected_values", "first_fault", "gather_paths", "load_paths", "pair_costs", "sample_paths"]

_MASK = (1 << 64) - 1


def shortest_tree(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    cost: NDArray[np.float64],
    source: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(nodes,) cost of the cheapest path from `source` and its last link, -1 where there is none.

    Links that leave a no-through node are open to its own trips only.
    """
    distance = np.full(no_through.size, np.inf)
    incoming = np.full(no_through.size, -1)
    distance[source] = 0.0
    queue = [(0.0, source)]
    while queue:
        reached, node = heapq.heappop(queue)
        if reached > distance[node] or (no_through[node] and node != source):
            continue
        for link in np.flatnonzero(tail == node):
            candidate = reached + cost[link]
            if candidate < distance[head[link]]:
                distance[head[link]] = candidate
                incoming[head[link]] = link
                heapq.heappush(queue, (candidate, int(head[link])))
    return distance, incoming


def pair_costs(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    cost: NDArray[np.float64],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
) -> NDArray[np.float64]:
    """(pairs,) cost of the cheapest path of each pair, infinite where there is none."""
    trees = {int(o): shortest_tree(tail, head, no_through, cost, int(o))[0] for o in np.unique(origin)}
    return np.array([trees[int(o)][d] for o, d in zip(origin, destination, strict=True)])


def first_fault(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
    pair_start: NDArray[np.int64],
    path_start: NDArray[np.int64],
    links: NDArray[np.int32],
    _probability: NDArray[np.float64],
) -> tuple[int, int]:
    """(kind, path) of the first path that its pair may not drive, (0, -1) if there is none.

    1: the links do not lead from origin to destination; 2: a node is met twice; 3: a no-through node is passed.
    """
    for pair in range(len(origin)):
        for path in range(pair_start[pair], pair_start[pair + 1]):
            at, seen = origin[pair], {int(origin[pair])}
            for link in links[path_start[path] : path_start[path + 1]]:
                if tail[link] != at:
                    return 1, path
                if at != origin[pair] and no_through[at]:
                    return 3, path
                at = head[link]
                if int(at) in seen:
                    return 2, path
                seen.add(int(at))
            if at != destination[pair]:
                return 1, path
    return 0, -1


def sample_paths(
    pair_start: NDArray[np.int64],
    probability: NDArray[np.float64],
    pairs: NDArray[np.int64],
    key: int,
    stream: int,
) -> NDArray[np.int64]:
    """One path for each entry of `pairs`, the first whose cumulative probability exceeds a hash of key and position."""
    mixed = _mix(key ^ _mix(stream))
    chosen = []
    for draw, pair in enumerate(pairs):
        u = (_mix((mixed + (draw + 1) * 0x9E3779B97F4A7C15) & _MASK) >> 11) * 2.0**-53
        paths = [i for i in range(pair_start[pair], pair_start[pair + 1]) if probability[i] > 0]
        above = [path for path, total in zip(paths, np.cumsum(probability[paths]), strict=True) if u < total]
        chosen.append((above or paths[-1:])[0])
    return np.array(chosen, dtype=np.int64)


def gather_paths(
    path_start: NDArray[np.int64], links: NDArray[np.int32], paths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The links of the given paths one after the other, and where each begins."""
    pieces = [links[path_start[path] : path_start[path + 1]] for path in paths]
    start = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int64)
    return start, np.concatenate([*pieces, np.empty(0, np.int32)])


def load_paths(
    pair_start: NDArray[np.int64],
    path_start: NDArray[np.int64],
    links: NDArray[np.int32],
    probability: NDArray[np.float64],
    rate: NDArray[np.float64],
    link_count: int,
) -> NDArray[np.float64]:
    """Σ_w rate_w x_w by link."""
    per_path = np.repeat(rate, np.diff(pair_start)) * probability
    return np.bincount(links, np.repeat(per_path, np.diff(path_start)), link_count).astype(np.float64)


def expected_values(
    pair_start: NDArray[np.int64],
    path_start: NDArray[np.int64],
    links: NDArray[np.int32],
    probability: NDArray[np.float64],
    value: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Σ_e x_we value_e by pair."""
    path = np.repeat(np.arange(probability.size), np.diff(path_start))
    per_path = np.bincount(path, value[links], probability.size) * probability
    pair = np.repeat(np.arange(pair_start.size - 1), np.diff(pair_start))
    return np.bincount(pair, per_path, pair_start.size - 1).astype(np.float64)


def decompose(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
    flows: NDArray[np.float64],
    smallest: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int]:
    """Paths of unit flows: walk along the largest remaining flow, take out cycles, take paths with their least flow."""
    pair_start, path_start = [0], [0]
    links: list[int] = []
    probability: list[float] = []
    for pair, (start, end) in enumerate(zip(origin, destination, strict=True)):
        closed = (tail != start) & (no_through[tail] != 0)
        rest = np.where((flows[pair] > smallest) & ~closed, flows[pair], 0.0)
        weights: list[float] = []
        while walk := _walk(tail, head, rest, int(start), int(end), smallest):
            met = [int(start), *head[walk].tolist()]
            cycle = met.index(met[-1]) < len(walk)
            if met[-1] != end and not cycle:
                rest[walk[-1]] = 0.0  # flow that is not conserved ends here
                continue
            piece = walk[met.index(met[-1]) :] if cycle else walk
            least = rest[piece].min()
            rest[piece] = np.where(rest[piece] == least, 0.0, rest[piece] - least)
            if not cycle:
                weights.append(float(least))
                links.extend(walk)
                path_start.append(len(links))
        total = 0.0
        for weight in weights:
            total += weight
        probability.extend(weight / total for weight in weights)
        pair_start.append(len(probability))
        if not weights:
            return _arrays(pair_start, path_start, links, probability, pair)
    return _arrays(pair_start, path_start, links, probability, -1)


def _walk(
    tail: NDArray[np.int32], head: NDArray[np.int32], rest: NDArray[np.float64], start: int, end: int, smallest: float
) -> list[int]:
    """Links along the largest remaining flow until the end, a node met before, or a dead end."""
    walk: list[int] = []
    met = [start]
    while met[-1] != end and met[-1] not in met[:-1]:
        out = np.flatnonzero((tail == met[-1]) & (rest > smallest))
        if not out.size:
            break
        walk.append(int(out[np.argmax(rest[out])]))
        met.append(int(head[walk[-1]]))
    return walk


def _arrays(
    pair_start: list[int], path_start: list[int], links: list[int], probability: list[float], lost: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int]:
    return (
        np.array(pair_start, dtype=np.int64),
        np.array(path_start, dtype=np.int64),
        np.array(links, dtype=np.int32),
        np.array(probability, dtype=np.float64),
        lost,
    )


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)
