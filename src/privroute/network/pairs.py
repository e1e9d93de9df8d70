"""Origin-destination pairs: the public set for which a routing policy gives paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from privroute import _core
from privroute.errors import DemandError, arg
from privroute.network.checks import RebuiltOnCopy, check_type, freeze, index_array, one_of
from privroute.network.network import Network
from privroute.threads import available_threads

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from privroute.network.labels import Label

__all__ = ["OnUnreachable", "Pairs", "fastest_minutes", "free_flow_minutes"]

OnUnreachable = Literal["error", "drop"]

_EXAMPLES = 5
_MOST_NODES = np.iinfo(np.int32).max
_MOST_PAIRS = 100_000_000
_LARGEST_TABLE = 4  # entries of a table of all origins and destinations for each pair


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Pairs(RebuiltOnCopy):
    """Ordered pairs of different nodes, each once, as 0-based node indices.

    origin, destination : (pairs,) int32
    """

    origin: NDArray[np.int32]
    destination: NDArray[np.int32]
    _searched: list[tuple[Network, NDArray[np.float64]]] = field(init=False, compare=False)

    def __init__(self, origin: ArrayLike, destination: ArrayLike) -> None:
        origins, destinations = _ends(origin, destination)
        loops = np.flatnonzero(origins == destinations)
        if loops.size:
            raise DemandError(
                f"{loops.size:,} pairs start and end at the same node (first at position {loops[0]:,}); omit them"
            )
        object.__setattr__(self, "origin", origins)
        object.__setattr__(self, "destination", destinations)
        object.__setattr__(self, "_searched", [])
        keys = _keys(origins, destinations)
        if not np.all(keys[1:] > keys[:-1]) and np.unique(keys).size != keys.size:  # most come in order
            order = np.argsort(keys, kind="stable")
            first = int(order[1:][keys[order][1:] == keys[order][:-1]].min())
            raise DemandError(f"the pair at position {first:,} occurs before; name each pair once")

    @classmethod
    def of_zones(cls, network: Network, *, on_unreachable: OnUnreachable = "error") -> Pairs:
        """Every ordered pair of the network's zones, in the zones' order.

        on_unreachable : what to do with pairs that no path connects: "error" names them, "drop" drops them
        """
        check_type(network, Network, "network", DemandError)
        zones = network.zones
        if zones.size * (zones.size - 1) > _MOST_PAIRS:
            raise DemandError(
                f"{zones.size:,} zones make {zones.size * (zones.size - 1):,} pairs, more than {_MOST_PAIRS:,}; choose "
                f"fewer zones: polygons with {arg('zones')} or a grid with {arg('grid_km')}"
            )
        first, second = np.divmod(np.arange(zones.size**2), max(zones.size, 1))
        different = first != second
        pairs = cls(zones[first[different]], zones[second[different]])
        return pairs.reachable(network, on_unreachable=on_unreachable)

    @classmethod
    def of_labels(cls, network: Network, origins: list[Label], destinations: list[Label]) -> Pairs:
        """Pairs of the nodes with these labels."""
        ends = [network.node_indices(labels) for labels in (origins, destinations)]
        for labels, nodes in zip((origins, destinations), ends, strict=True):
            if (nodes < 0).any():
                network.node(labels[int(np.argmin(nodes))])  # says what it is not
        return cls(*ends)

    def reachable(self, network: Network, *, on_unreachable: OnUnreachable = "error") -> Pairs:
        """These pairs if paths join all of them; otherwise an error that names some, or the rest ("drop")."""
        one_of(on_unreachable, ("error", "drop"), "on_unreachable", DemandError)
        if _joined_by_a_hub(network, self):
            return self
        apart = ~np.isfinite(free_flow_minutes(network, self))
        if not apart.any():
            return self
        if on_unreachable == "drop":
            rest = Pairs(self.origin[~apart], self.destination[~apart])
            rest._searched[:] = [(network, freeze(free_flow_minutes(network, self)[~apart]))]
            return rest
        lost = np.flatnonzero(apart)
        named = ", ".join(
            f"{network.end_labels[self.origin[i]]} to {network.end_labels[self.destination[i]]}"
            for i in lost[:_EXAMPLES]
        )
        more = f" and {lost.size - _EXAMPLES:,} more" if lost.size > _EXAMPLES else ""
        raise DemandError(
            f"no path leads from {named}{more} ({lost.size:,} of {len(self):,} pairs); "
            f"add the missing links, or drop these pairs with {arg('on_unreachable', 'drop')}"
        )

    def check_fits(self, network: Network) -> None:
        """Refuse pairs whose indices are not nodes of the network."""
        if len(self) and max(int(self.origin.max()), int(self.destination.max())) >= network.nodes:
            raise DemandError(
                f"the pairs name node indices that the network with {network.nodes:,} nodes does not have"
            )

    def positions(self, origin: ArrayLike, destination: ArrayLike) -> NDArray[np.intp]:
        """Position of each pair (origin, destination) among these, -1 for a pair that is not here."""
        origins, destinations = _ends(origin, destination)
        if not len(self):
            return np.full(origins.shape, -1, dtype=np.intp)
        table = self._table()
        if table is not None:
            row, column, place = table
            known = (origins < row.size) & (destinations < column.size)
            ends = np.where(known, origins, 0), np.where(known, destinations, 0)
            rows, columns = row[ends[0]], column[ends[1]]
            positions = place[np.maximum(rows, 0), np.maximum(columns, 0)]
            return np.where(known & (rows >= 0) & (columns >= 0), positions, -1).astype(np.intp)
        wanted = _keys(origins, destinations)
        keys = _keys(self.origin, self.destination)
        order = np.argsort(keys)
        found = order[np.minimum(np.searchsorted(keys[order], wanted), len(self) - 1)]
        return np.where(keys[found] == wanted, found, -1)

    def _table(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]] | None:
        """Rows of origins, columns of destinations and positions in them; None where pairs are a small part of it."""
        row, column = _ranks(self.origin), _ranks(self.destination)
        shape = int(row.max()) + 1, int(column.max()) + 1
        if shape[0] * shape[1] > _LARGEST_TABLE * max(len(self), 1024):
            return None
        place = np.full(shape, -1, np.int32)
        place[row[self.origin], column[self.destination]] = np.arange(len(self), dtype=np.int32)
        return row, column, place

    def __len__(self) -> int:
        return self.origin.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        return self is other or (
            np.array_equal(self.origin, other.origin) and np.array_equal(self.destination, other.destination)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Pairs({len(self):,})"


def _joined_by_a_hub(network: Network, pairs: Pairs) -> bool:
    """Whether all pairs have a path over one node: a proof in one sweep where the network is connected as most are."""
    pairs.check_fits(network)
    closed = network.no_through.view(np.uint8)
    return _core.joined_by_a_hub(network.tail, network.head, closed, pairs.origin, pairs.destination)


def free_flow_minutes(network: Network, pairs: Pairs) -> NDArray[np.float64]:
    """(pairs,) minutes of the fastest path on the empty network; infinite where no path leads.

    Searched once for a network and a set of pairs, both of which never change: the answer stays with the pairs.
    """
    for known, minutes in tuple(pairs._searched):  # noqa: SLF001 - a cache of this function's own
        if known is network:
            return minutes
    minutes = freeze(fastest_minutes(network, pairs, network.free_flow_min))
    pairs._searched[:] = [(network, minutes)]  # noqa: SLF001
    return minutes


def fastest_minutes(network: Network, pairs: Pairs, link_minutes: NDArray[np.float64]) -> NDArray[np.float64]:
    """(pairs,) minutes of the fastest path at given link times; infinite where no path leads."""
    pairs.check_fits(network)
    order = np.argsort(pairs.origin, kind="stable")  # the core searches once per run of equal origins
    minutes = np.empty(len(pairs))
    minutes[order] = _core.pair_costs(
        network.tail,
        network.head,
        network.no_through.view(np.uint8),
        np.ascontiguousarray(link_minutes, dtype=np.float64),
        pairs.origin[order],
        pairs.destination[order],
        available_threads(),
    )
    return minutes


def _ends(origin: ArrayLike, destination: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    origins = index_array(origin, "origin", _MOST_NODES, DemandError)
    destinations = index_array(destination, "destination", _MOST_NODES, DemandError)
    if origins.size != destinations.size:
        raise DemandError(f"origin has {origins.size:,} entries and destination {destinations.size:,}")
    return origins, destinations


def _ranks(nodes: NDArray[np.int32]) -> NDArray[np.int32]:
    """By node: its rank among those that occur, -1 for others."""
    occurs = np.zeros(int(nodes.max()) + 1, bool)
    occurs[nodes] = True
    return np.where(occurs, np.cumsum(occurs) - 1, -1).astype(np.int32)


def _keys(origin: NDArray[np.int32], destination: NDArray[np.int32]) -> NDArray[np.int64]:
    return origin.astype(np.int64) << 32 | destination
