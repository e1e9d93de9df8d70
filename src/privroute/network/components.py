"""Parts of a network within which every node reaches every other one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["largest_component", "strong_components"]


def strong_components(tail: NDArray[np.int32], head: NDArray[np.int32], nodes: int) -> NDArray[np.int32]:  # noqa: C901 - one loop
    """(nodes,) number of the strongly connected component of each node (Tarjan's algorithm without recursion)."""
    order = np.argsort(tail, kind="stable")
    start = np.searchsorted(tail[order], np.arange(nodes + 1)).tolist()
    heads = head[order].tolist()
    found = [-1] * nodes
    number = [-1] * nodes
    low = [0] * nodes
    next_link = list(start[:-1])
    stack: list[int] = []
    waiting = [False] * nodes
    visited = components = 0
    for root in range(nodes):
        if number[root] >= 0:
            continue
        path = [root]
        number[root] = low[root] = visited
        visited += 1
        stack.append(root)
        waiting[root] = True
        while path:
            node = path[-1]
            if next_link[node] < start[node + 1]:
                other = heads[next_link[node]]
                next_link[node] += 1
                if number[other] < 0:
                    number[other] = low[other] = visited
                    visited += 1
                    stack.append(other)
                    waiting[other] = True
                    path.append(other)
                elif waiting[other]:
                    low[node] = min(low[node], number[other])
                continue
            path.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[node])
            if low[node] == number[node]:
                while True:
                    member = stack.pop()
                    waiting[member] = False
                    found[member] = components
                    if member == node:
                        break
                components += 1
    return np.array(found, dtype=np.int32)


def largest_component(tail: NDArray[np.int32], head: NDArray[np.int32], nodes: int) -> NDArray[np.bool_]:
    """(nodes,) whether the node is in the largest strongly connected component."""
    component = strong_components(tail, head, nodes)
    return np.asarray(component == np.bincount(component).argmax())
