"""The file of a policy by origin: the arrays that are computed with, as they stand in memory, so that they are mapped.

An Arrow IPC file with one record batch and a row for each bush:

    origin : int32, position of the root in nodes.parquet
    links : list of int32, positions in links.parquet: the links that enter the nodes of the bush, tails before heads,
        links with one head together
    shares : list of float64, shares of the links that enter a node together with others, in the order of `links`
    destinations : list of int32, positions of the destinations of the bush's pairs
    pairs : list of int32, positions of these pairs among all pairs of the release

Most releases have every ordered pair of zones, in the zones' order. Then all lists of pairs are empty, and one bush of
each zone, whose list of destinations is empty, has those pairs of the zone that no other bush lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from privroute.errors import ReleaseError
from privroute.network.pairs import Pairs
from privroute.policy.routing_policy import RoutingPolicy
from privroute.release.arrow_arrays import as_numpy
from privroute.release.folder import POLICY

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["read_policy", "write_policy"]


def _list(kind: pa.DataType) -> pa.DataType:
    return pa.large_list(pa.field("item", kind, nullable=False))


_SCHEMA = pa.schema(
    [
        pa.field("origin", pa.int32(), nullable=False),
        pa.field("links", _list(pa.int32()), nullable=False),
        pa.field("shares", _list(pa.float64()), nullable=False),
        pa.field("destinations", _list(pa.int32()), nullable=False),
        pa.field("pairs", _list(pa.int32()), nullable=False),
    ]
)


def write_policy(path: Path, policy: RoutingPolicy) -> None:
    """Write the bushes of a policy, uncompressed."""
    bushes, destination = policy.bushes, policy.pairs.destination
    order = np.argsort(bushes.bush_of_pair, kind="stable").astype(np.int32)
    if _has_every_pair(policy):
        # the first bush of each zone is known by what is left
        _, first = np.unique(bushes.root, return_index=True)
        order = order[~np.isin(bushes.bush_of_pair[order], first)]
        pairs, start = order[:0], np.zeros(bushes.root.size + 1, np.int64)
    else:
        pairs, start = order, _starts(bushes.bush_of_pair[order], bushes.root.size)
    columns = [
        pa.array(bushes.root),
        _lists("links", bushes.link_start, bushes.links),
        _lists("shares", bushes.share_start, bushes.share),
        _lists("destinations", _starts(bushes.bush_of_pair[order], bushes.root.size), destination[order]),
        _lists("pairs", start, pairs),
    ]
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, _SCHEMA) as writer:
        writer.write_batch(pa.record_batch(columns, schema=_SCHEMA))


def _starts(bush: NDArray[np.int32], bushes: int) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.bincount(bush, minlength=bushes))]).astype(np.int64)


def _has_every_pair(policy: RoutingPolicy) -> bool:
    """Whether the pairs are every ordered pair of zones, in the zones' order."""
    zones, pairs = policy.network.zones, policy.pairs
    if len(pairs) != zones.size * (zones.size - 1) or not len(pairs):
        return False
    if np.bincount(policy.bushes.bush_of_pair, minlength=policy.bushes.root.size).min() == 0:
        return False  # a bush without pairs would be taken for one that has all the others
    origin, destination = _every_pair(zones)
    return np.array_equal(pairs.origin, zones[origin]) and np.array_equal(pairs.destination, zones[destination])


def _every_pair(zones: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Positions among the zones of the ends of every ordered pair."""
    first = np.repeat(np.arange(zones.size, dtype=np.int32), zones.size - 1)
    second = np.tile(np.arange(zones.size - 1, dtype=np.int32), zones.size)
    return first, second + (second >= first)


def _lists(name: str, start: NDArray[np.int64], values: NDArray[np.generic]) -> pa.LargeListArray:
    return pa.LargeListArray.from_arrays(pa.array(start, pa.int64()), pa.array(values), type=_SCHEMA.field(name).type)


def read_policy(data: pa.Buffer, network: Network) -> RoutingPolicy:
    """The policy of a file's bytes. Its large arrays are the file's own, so that a mapped file stays on the disk.

    What the bytes say of themselves is not trusted: layout and offsets are validated, and the policy's own check, in
    the core, goes through every link and share.
    """
    reader = pa.ipc.open_file(pa.BufferReader(data))
    if not reader.schema.equals(_SCHEMA) or reader.num_record_batches != 1:
        raise ReleaseError(f"{POLICY} is not one batch with the columns {', '.join(_SCHEMA.names)}")
    batch = reader.get_batch(0)
    batch.validate(full=True)
    for column in batch.columns:
        inner = getattr(column, "values", column)
        if column.null_count or inner.null_count:
            raise ReleaseError(f"{POLICY} has empty entries")
        if not _lies_in(inner, data):
            raise ReleaseError(f"{POLICY} is compressed; it cannot be mapped")
    root = as_numpy(batch.column("origin"))
    pairs_start, pairs = _parts(batch.column("pairs"))
    destinations_start, destinations = _parts(batch.column("destinations"))
    if root.size and not pairs.size:
        bush_of_pair, destination = _of_every_pair(network, root, destinations_start, destinations)
    elif not np.array_equal(pairs_start, destinations_start):
        raise ReleaseError(f"{POLICY} has other numbers of pairs than of destinations")
    else:
        bush_of_pair, destination = _of_listed_pairs(pairs_start, pairs, destinations)
    link_start, links = _parts(batch.column("links"))
    share_start, share = _parts(batch.column("shares"))
    return RoutingPolicy.by_origin(
        network,
        Pairs(root[bush_of_pair], destination),
        adopt=True,
        root=root,
        link_start=link_start,
        links=links,
        share_start=share_start,
        share=share,
        bush_of_pair=bush_of_pair,
    )


def _of_every_pair(
    network: Network, root: NDArray[np.int32], start: NDArray[np.int64], destinations: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Bush and destination of every ordered pair of zones."""
    zones = network.zones
    rank = np.full(network.nodes, -1, np.int64)
    rank[zones] = np.arange(zones.size)
    for values in (root, destinations):
        if values.size and not (values.min() >= 0 and values.max() < network.nodes and rank[values].min() >= 0):
            raise ReleaseError(f"{POLICY} has bushes or destinations at nodes that are no zones")
    count = np.diff(start)
    others = np.flatnonzero(count == 0)
    if zones.size < 2 or not np.array_equal(np.sort(root[others]), np.sort(zones)):  # noqa: PLR2004 - a pair
        raise ReleaseError(f"{POLICY} lists no pairs, and has not one bush without destinations for each zone")
    bush = np.empty(zones.size, np.int32)
    bush[rank[root[others]]] = others
    first, second = _every_pair(zones)
    bush_of_pair = bush[first]
    origin, to = rank[np.repeat(root, count)], rank[destinations]
    listed = origin * (zones.size - 1) + to - (to > origin)
    if np.any(origin == to) or np.bincount(listed).max(initial=0) > 1:
        raise ReleaseError(f"{POLICY}: a destination is its own origin, or stands in two bushes")
    bush_of_pair[listed] = np.repeat(np.arange(root.size, dtype=np.int32), count)
    return bush_of_pair, zones[second]


def _of_listed_pairs(
    start: NDArray[np.int64], pairs: NDArray[np.int32], destinations: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Bush and destination of each pair, in the order of the pairs."""
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < pairs.size):
        raise ReleaseError(f"{POLICY}: pairs has positions outside 0 to {pairs.size - 1:,}")
    bush_of_pair = np.full(pairs.size, -1, np.int32)
    bush_of_pair[pairs] = np.repeat(np.arange(start.size - 1, dtype=np.int32), np.diff(start))
    if bush_of_pair.size and bush_of_pair.min() < 0:
        raise ReleaseError(f"{POLICY}: a pair is missing, or stands in two bushes")
    destination = np.empty(pairs.size, np.int32)
    destination[pairs] = destinations
    return bush_of_pair, destination


def _parts(column: pa.LargeListArray) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Where each list starts, and all values; lists that do not fill the values are refused by the policy."""
    start = as_numpy(column.offsets)
    values = as_numpy(column.values)
    if start[0] != 0 or start[-1] != values.size:
        raise ReleaseError(f"{POLICY} has values that belong to no bush")
    return start, values


def _lies_in(array: pa.Array, data: pa.Buffer) -> bool:
    """Whether the values are part of the file, so that nothing was unpacked."""
    return all(
        buffer is None or not buffer.size or data.address <= buffer.address <= data.address + data.size - buffer.size
        for buffer in array.buffers()
    )
