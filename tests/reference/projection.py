"""The projection once more, in plain NumPy: what `_core.ProjectionPlan.project` computes, to be read and compared.

Dense matrices, all rows at once, no panels, no lanes. With dtype=np.longdouble flows and potentials have 19 digits,
which makes references for the kernel's certificate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["incidence", "project"]

_LARGEST_DELTA = 1e-2
_SMALLEST_DELTA = 1e-12


def incidence(tail: NDArray[np.int32], head: NDArray[np.int32], nodes: int) -> NDArray[np.float64]:
    """A: (nodes, links), +1 where the link ends, −1 where it starts."""
    matrix = np.zeros((nodes, tail.size))
    matrix[head, np.arange(tail.size)] = 1.0
    matrix[tail, np.arange(tail.size)] = -1.0
    return matrix


def project(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.bool_],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
    points: NDArray[np.float64],
    *,
    weight: NDArray[np.float64] | None = None,
    opened: NDArray[np.bool_] | None = None,
    imbalance: float = 1e-11,
    most_steps: int = 500,
    dtype: DTypeLike = np.float64,
) -> tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.floating]]:
    """Semismooth Newton on the dual: flows (rows, links), Σ|A x − b| (rows,), potentials (rows, nodes).

    weight : (links,) of the metric |x|² = Σ w_e x_e²; default: 1
    opened : (rows, links) links that a row may use, of those that the network opens; default: all of these
    imbalance : stop a row when Σ|A x − b| is at most this

    Potentials as large as the points carry few digits of a flow. So half way they are added to the points, which moves
    a row by a rounding of its size, and the search goes on from there with small ones.
    """
    rows, nodes = len(points), no_through.size
    matrix = incidence(tail, head, nodes)
    closed = no_through[tail] & (tail[None] != origin[:, None])
    closed = closed if opened is None else closed | ~opened
    inverse = np.ones(tail.size) if weight is None else 1.0 / weight
    demand = np.zeros((rows, nodes), dtype=dtype)
    demand[np.arange(rows), origin] = -1
    demand[np.arange(rows), destination] = 1
    target = points.astype(dtype)
    p = before = np.zeros((rows, nodes), dtype=dtype)

    def flows_at(potentials: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
        z = target + (potentials[:, head] - potentials[:, tail]) * inverse
        x = np.where(closed, 0, np.clip(z, 0, 1))
        return x, (x == z) & ~closed

    def excess(x: NDArray[np.floating]) -> NDArray[np.floating]:
        """A x − b."""
        return np.asarray(x @ matrix.T.astype(dtype) - demand)

    for step_number in range(most_steps):
        x, free = flows_at(p)
        g = excess(x)
        going = np.abs(g).sum(axis=1) > imbalance
        if not going.any():
            break
        if step_number == most_steps // 2:
            target, before, p = target + (p[:, head] - p[:, tail]) * inverse, p, np.zeros_like(p)
            continue
        # the free links need not connect the nodes, so clipped ones keep a small weight
        delta = np.clip(np.abs(g).max(axis=1), _SMALLEST_DELTA, _LARGEST_DELTA).astype(np.float64)
        stiff = np.where(free, 1.0, delta[:, None]) * inverse
        laplacian = np.einsum("ne,ke,me->knm", matrix, stiff, matrix) + np.diag(_last_of_each_part(tail, head, nodes))
        step = -np.linalg.solve(laplacian, g.astype(np.float64)[..., None])[..., 0]
        step[~going] = 0.0
        p = p + _length(flows_at, p, step.astype(dtype), tail, head, np.sum(g * step, axis=1), inverse)[:, None] * step
    x, _ = flows_at(p)
    return x, np.abs(excess(x)).sum(axis=1), before + p


def _last_of_each_part(tail: NDArray[np.int32], head: NDArray[np.int32], nodes: int) -> NDArray[np.float64]:
    """1 at one node of each connected part: the Laplacian is singular by a constant there, this node is held fixed."""
    part = np.arange(nodes)
    for _ in range(nodes):
        joined = np.maximum(part[tail], part[head])
        np.maximum.at(part, tail, joined)
        np.maximum.at(part, head, joined)
    return np.asarray(part == np.arange(nodes), dtype=np.float64)


def _length(  # type: ignore[no-untyped-def]
    flows_at,  # noqa: ANN001 - the closure of `project`
    p: NDArray[np.floating],
    step: NDArray[np.floating],
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    before: NDArray[np.floating],
    inverse: NDArray[np.float64],
) -> NDArray[np.floating]:
    """Step length per row at which the derivative of the dual along `step`, which only rises, has nearly vanished."""
    along = step[:, head] - step[:, tail]
    start, _ = flows_at(p)
    low, high = np.zeros(len(p), dtype=p.dtype), np.full(len(p), np.inf, dtype=p.dtype)
    s = np.ones(len(p), dtype=p.dtype)
    for _ in range(200):
        x, free = flows_at(p + s[:, None] * step)
        here = before + np.sum((x - start) * along, axis=1)  # the change keeps digits that the sum would cancel
        going = np.abs(here) > 0.01 * np.abs(before)
        if not going.any():
            break
        high = np.where(going & (here > 0), s, high)
        low = np.where(going & (here <= 0), s, low)
        rise = np.sum(np.where(free, along**2 * inverse, 0), axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = s - here / rise
        halfway = np.where(np.isfinite(high), (low + np.where(np.isfinite(high), high, 0)) / 2, 8 * s)
        s = np.where(going, np.where((newton > low) & (newton < high), newton, halfway), s)
    return s
