"""Where nodes are drawn: on their coordinates, or on a layout computed from the links alone.

The layout is pivot multidimensional scaling (Brandes and Pich 2006): hop distances to a few far-apart nodes, double
centred, projected onto their two main directions. It has no randomness, so a release always looks the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["Projection", "drawing_points", "spread_by_hops"]

SIDE = 1000.0  # the longer side of the drawing
_MOST_PIVOTS = 50
_MOST_STEPS = 5_000_000  # link visits in all searches: about a second
_RING = 0.012  # nodes that fall onto one point are set on a ring, this large as a share of the drawing


def drawing_points(network: Network) -> NDArray[np.float64]:
    """(nodes, 2) x to the right and y upwards, both from 0, the longer side `SIDE`.

    A kilometre is as long east as north, also where coordinates are degrees.
    """
    if network.coordinates is None:
        points = spread_by_hops(network)
        points = points - points.min(axis=0)
        return np.asarray(points / max(float(points.max()), 1e-300) * SIDE)
    return Projection.of(network, network.coordinates)(network.coordinates)


@dataclass(frozen=True, slots=True)
class Projection:
    """From coordinates to the drawing: x' = scale[0] · (x - origin[0]), y' likewise."""

    origin: tuple[float, float]
    scale: tuple[float, float]

    @classmethod
    def of(cls, network: Network, coordinates: NDArray[np.float64]) -> Projection:
        """Such that the longer side of the nodes' box is `SIDE`."""
        wide = 1.0
        if network.has_longitude_latitude:
            wide = float(np.cos(np.radians(coordinates[:, 1].mean())))
        low, high = coordinates.min(axis=0), coordinates.max(axis=0)
        longest = max(float((high[0] - low[0]) * wide), float(high[1] - low[1]), 1e-300)
        return cls((float(low[0]), float(low[1])), (wide / longest * SIDE, SIDE / longest))

    def __call__(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """(points, 2) in the drawing."""
        return np.asarray((points - self.origin) * self.scale)


def spread_by_hops(network: Network) -> NDArray[np.float64]:
    """(nodes, 2) positions whose distances resemble the number of links between nodes, one-way streets ignored."""
    nodes = network.nodes
    neighbours: list[list[int]] = [[] for _ in range(nodes)]
    for tail, head in zip(network.tail.tolist(), network.head.tolist(), strict=True):
        neighbours[tail].append(head)
        neighbours[head].append(tail)
    pivots = max(3, min(_MOST_PIVOTS, nodes, _MOST_STEPS // (2 * network.links)))
    hops = np.empty((nodes, pivots))
    nearest = np.full(nodes, np.inf)
    pivot = int(np.argmax(np.bincount(network.tail, minlength=nodes)))
    for column in range(pivots):
        hops[:, column] = _hops(neighbours, pivot)
        nearest = np.minimum(nearest, hops[:, column])
        pivot = int(np.argmax(nearest))  # the next one is as far as possible from those before
    reached = np.isfinite(hops)
    hops[~reached] = 2 * hops[reached].max(initial=0) + 2  # parts that no link joins stand apart
    squared = hops**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()
    _, directions = np.linalg.eigh(centred.T @ centred)
    points = centred @ directions[:, :-3:-1]
    largest = points[np.abs(points).argmax(axis=0), [0, 1]]
    points = points * np.where(largest < 0, -1.0, 1.0)  # an eigenvector's sign is arbitrary
    return _apart(points)


def _hops(neighbours: list[list[int]], start: int) -> NDArray[np.float64]:
    hops = np.full(len(neighbours), np.inf)
    hops[start] = 0
    front, distance = [start], 0
    seen = {start}
    while front:
        distance += 1
        front = sorted({other for node in front for other in neighbours[node]} - seen)
        seen.update(front)
        hops[front] = distance
    return hops


def _apart(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Set nodes that fall onto one point on a ring around it."""
    radius = _RING * max(float(np.ptp(points, axis=0).max()), 1.0)
    _, place, count = np.unique((points / radius).round(), axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(place, kind="stable")
    within = np.arange(place.size) - np.repeat(np.cumsum(count) - count, count)
    angle = np.empty(place.size)
    angle[order] = 2 * np.pi * within / np.repeat(count, count)
    shared = (count[place] > 1)[:, None]
    return np.asarray(points + radius * shared * np.column_stack([np.cos(angle), np.sin(angle)]))
