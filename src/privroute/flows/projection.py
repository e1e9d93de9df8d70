"""Projection onto unit flows: exact to a certified tolerance, for all pairs at once, in the compiled core.

    X_w = { x in [0,1]^links : A x = b_w,  x_e = 0 on links that pair w may not use }

A is inflow minus outflow at the nodes, b_w is −1 at the origin and +1 at the destination. Links that leave a no_through
node other than the origin may not be used. docs/proofs/projection.md proves the error bound.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privroute import _core
from privroute.errors import PolicyError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = [
    "LARGEST_POINT",
    "MOST_NODES",
    "Projection",
    "check_size",
    "project",
    "project_in_place",
    "smallest_tolerance",
]

LARGEST_POINT = 1e15
"""Points beyond this are refused: the last resort counts in 2^-52, in whole numbers of 128 bits."""

MOST_NODES = 100_000
"""Larger networks are refused, for the same reason: their potentials would not fit."""

_PLANS_KEPT = 8
INSTRUCTION_SET = "PRIVROUTE_INSTRUCTION_SET"


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Projected points with certified error bounds.

    flows : (pairs, links) x_w in [0,1]
    error_bound : (pairs,) certified: |x_w − Π(v_w)|₂ is at most this, rounding included
    potentials : (pairs, nodes) p with x = clip(v + p[head] − p[tail], 0, 1) on the links that the pair can use, to
        rounding (to the tolerance in rows that only the last resort solved); pass them back as `potentials=` to
        project nearby points faster
    """

    flows: NDArray[np.float64]
    error_bound: NDArray[np.float64]
    potentials: NDArray[np.float64]


def project(
    network: Network,
    pairs: Pairs,
    points: ArrayLike,
    *,
    potentials: ArrayLike | None = None,
    tolerance: float = 1e-9,
    threads: int | None = None,
) -> Projection:
    """Project each row of `points` onto the unit flows of its pair.

        x_w = argmin ½‖x − v_w‖²   s.t.   A x = b_w,  0 ≤ x ≤ 1,  x = 0 on links closed to w

    points : (pairs, links) float64, row w belongs to pair w; finite, at most 1e15 in size
    potentials : (pairs, nodes) where to start, as an earlier projection returned them; any finite values are correct
    tolerance : largest ‖x_w − Π(v_w)‖₂ of a row
    threads : at most this many (default: as many as the process may use); small batches use fewer

    Pairs without a path have no unit flows and are refused by name.
    """
    values = _matrix(points, "points", (len(pairs), network.links))
    if potentials is None:
        start = np.empty((len(pairs), network.nodes))
    else:
        start = np.array(_matrix(potentials, "potentials", (len(pairs), network.nodes)))
    flows = np.empty(values.shape)
    bound = _project(
        network, pairs, values, flows, start, warm=potentials is not None, tolerance=tolerance, threads=threads
    )
    return Projection(flows, bound, start)


def project_in_place(
    network: Network,
    pairs: Pairs,
    points: NDArray[np.float64],
    potentials: NDArray[np.float64],
    *,
    tolerance: float = 1e-9,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """As `project`, but `points` become the flows and `potentials`, the start, the new potentials; returns the bounds.

    For loops over large arrays: nothing of the size of the points is allocated. If an error is raised, rows before it
    may have been projected already.
    """
    for name, array, columns in (("points", points, network.links), ("potentials", potentials, network.nodes)):
        fits = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == (len(pairs), columns)
        if not (fits and array.flags.c_contiguous and array.flags.writeable):
            raise PolicyError(
                f"{name} must be a writeable, contiguous float64 array of shape ({len(pairs):,}, {columns:,}) to be "
                "changed in place"
            )
    if np.may_share_memory(points, potentials):
        raise PolicyError("points and potentials share memory; pass two arrays")
    return _project(network, pairs, points, points, potentials, warm=True, tolerance=tolerance, threads=threads)


def check_size(network: Network) -> None:
    """Reject networks that are too large to project on, so that the error occurs before the private phase."""
    if network.nodes > MOST_NODES:
        raise PolicyError(f"the network has {network.nodes:,} nodes; projections are for {MOST_NODES:,} at most")


def smallest_tolerance(network: Network) -> float:
    """The tightest tolerance that can be certified: the flows themselves are rounded to float64."""
    check_size(network)
    return max(1e-13, 4 * float(np.finfo(np.float64).eps) * math.sqrt(network.links))


def _project(
    network: Network,
    pairs: Pairs,
    points: NDArray[np.float64],
    flows: NDArray[np.float64],
    potentials: NDArray[np.float64],
    *,
    warm: bool,
    tolerance: float,
    threads: int | None,
) -> NDArray[np.float64]:
    pairs.check_fits(network)
    least = smallest_tolerance(network)
    if not (isinstance(tolerance, int | float | np.floating) and least <= tolerance < np.inf):
        raise PolicyError(f"tolerance is {tolerance!r}; pass a number of at least {least:.1g}")
    plan = plan_of(network)
    if not plan.joined(pairs.origin, pairs.destination):
        pairs.reachable(network)  # raises, naming the pairs
    bound = np.empty(len(pairs))
    bad, _, _ = plan.project(
        pairs.origin,
        pairs.destination,
        points,
        flows,
        potentials,
        bound,
        warm,
        float(tolerance),
        LARGEST_POINT,
        threads_of(threads),
        os.environ.get(INSTRUCTION_SET, ""),
        None,
    )
    if bad >= 0:
        raise PolicyError(
            f"points: row {bad:,} has values that are not finite or beyond {LARGEST_POINT:g}; no projection is possible"
        )
    return bound


def plan_of(network: Network) -> _core.ProjectionPlan:
    """Symbolic analysis of the network's graph; refuses networks that are too large."""
    smallest_tolerance(network)
    return _plan(network.tail.tobytes(), network.head.tobytes(), network.no_through.tobytes())


@lru_cache(maxsize=_PLANS_KEPT)
def _plan(tail: bytes, head: bytes, no_through: bytes) -> _core.ProjectionPlan:
    """Symbolic analysis of a graph, kept for the next projection on it."""
    return _core.ProjectionPlan(
        np.frombuffer(tail, np.int32), np.frombuffer(head, np.int32), np.frombuffer(no_through, np.uint8)
    )


def threads_of(threads: int | None) -> int:
    """How many threads to use: those asked for, or as many as the process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        raise PolicyError(f"threads is {threads!r}; pass a whole number of at least 1, or None")
    return int(threads)


def _matrix(values: ArrayLike, name: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    try:
        array = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise PolicyError(f"{name} cannot be read as numbers; pass an array of shape {shape}") from None
    if array.shape != shape:
        raise PolicyError(f"{name} have shape {array.shape}; pass ({shape[0]:,}, {shape[1]:,})")
    return array
