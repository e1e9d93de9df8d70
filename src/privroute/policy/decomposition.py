"""Unit flows as distributions over paths (the paper's remark on routing demand with unit flows)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute import _core
from privroute.errors import PolicyError
from privroute.network.checks import real_array
from privroute.policy.routing_policy import RoutingPolicy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = ["decompose"]

_SMALLEST = 1e-15
_LARGEST_TOLERANCE = 0.1


def decompose(network: Network, pairs: Pairs, flows: ArrayLike, *, tolerance: float = 1e-6) -> RoutingPolicy:
    """Write each row of `flows`, a unit flow of its pair, as a distribution over at most `links` simple paths.

        x_w = Σ_i p_i 1[path_i] + cycles,   p ≥ 0,  Σ_i p_i = 1

    flows : (pairs, links) float64, row w in [0, 1] with one unit leaving the pair's origin and reaching its destination
    tolerance : how far a row may be from that, largest deviation at a link or node

    Cycles are removed, because no traveller would drive them. Rows that are not unit flows are rejected.
    """
    pairs.check_fits(network)
    if not (isinstance(tolerance, int | float) and 0 <= tolerance < _LARGEST_TOLERANCE):
        raise PolicyError(f"tolerance is {tolerance!r}; pass a number from 0 to {_LARGEST_TOLERANCE:g}")
    rows = np.ascontiguousarray(real_array(flows, "flows", PolicyError))
    if rows.shape != (len(pairs), network.links):
        raise PolicyError(f"flows have shape {rows.shape}; pass ({len(pairs):,}, {network.links:,}): pairs x links")
    _check_unit_flows(network, pairs, rows, tolerance)
    pair_start, path_start, links, probability, lost = _core.decompose(
        network.tail,
        network.head,
        network.no_through.view(np.uint8),
        pairs.origin,
        pairs.destination,
        rows,
        _SMALLEST,
    )
    if lost >= 0:
        raise PolicyError(f"flows: row {lost:,} has no path from its origin to its destination")
    return RoutingPolicy(network, pairs, pair_start, path_start, links, probability)


def _check_unit_flows(network: Network, pairs: Pairs, rows: NDArray[np.float64], tolerance: float) -> None:
    block = max(1, 2**22 // network.links)
    for first in range(0, len(pairs), block):
        part = rows[first : first + block]
        origin, destination = pairs.origin[first : first + block], pairs.destination[first : first + block]
        within = np.all((part >= -tolerance) & (part <= 1 + tolerance), axis=1)  # false for NaN too
        row = np.arange(len(part))[:, None]
        balance = np.zeros((len(part), network.nodes))
        np.add.at(balance, (row, network.head[None]), part)
        np.subtract.at(balance, (row, network.tail[None]), part)
        balance[row[:, 0], origin] += 1
        balance[row[:, 0], destination] -= 1
        conserved = np.abs(balance).max(axis=1) <= tolerance
        closed = network.no_through[network.tail] & (network.tail[None] != origin[:, None])
        allowed = np.where(closed, part, 0.0).max(axis=1) <= tolerance
        bad = np.flatnonzero(~(within & conserved & allowed))
        if bad.size:
            reasons = ((within, "has flows outside 0 to 1"), (conserved, "does not conserve one unit of flow"))
            reason = next((text for good, text in reasons if not good[bad[0]]), "uses links that its pair may not use")
            raise PolicyError(
                f"flows: row {first + bad[0]:,} {reason} (tolerance {tolerance:g}); project the rows first"
            )
