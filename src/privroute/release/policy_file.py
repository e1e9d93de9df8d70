"""The file of a policy by origin: the arrays that are computed with, as they stand in memory, so that they are mapped.

An Arrow IPC file with one record batch and a row for each bush:

    origin : int32, position of the root in nodes.parquet
    links : list of int32, positions in links.parquet: the links that enter the nodes of the bush, tails before heads,
        links with one head together
    shares : list of float64, shares of the links that enter a node together with others, in the order of `links`
    destinations : list of int32, positions of the destinations of the bush's pairs
    pairs : list of int32, positions of these pairs among all pairs of the release
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from privroute.errors import ReleaseError
from privroute.network.pairs import Pairs
from privroute.policy.routing_policy import RoutingPolicy
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
    bushes = policy.bushes
    order = np.argsort(bushes.bush_of_pair, kind="stable").astype(np.int32)
    start = np.concatenate([[0], np.cumsum(np.bincount(bushes.bush_of_pair, minlength=bushes.root.size))])
    columns = [
        pa.array(bushes.root),
        _lists("links", bushes.link_start, bushes.links),
        _lists("shares", bushes.share_start, bushes.share),
        _lists("destinations", start, policy.pairs.destination[order]),
        _lists("pairs", start, order),
    ]
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, _SCHEMA) as writer:
        writer.write_batch(pa.record_batch(columns, schema=_SCHEMA))


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
    root = batch.column("origin").to_numpy()
    pairs_start, pairs = _parts(batch.column("pairs"))
    destinations_start, destinations = _parts(batch.column("destinations"))
    if not np.array_equal(pairs_start, destinations_start):
        raise ReleaseError(f"{POLICY} has other numbers of pairs than of destinations")
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < pairs.size):
        raise ReleaseError(f"{POLICY}: pairs has positions outside 0 to {pairs.size - 1:,}")
    bush_of_pair = np.full(pairs.size, -1, np.int32)
    bush_of_pair[pairs] = np.repeat(np.arange(root.size, dtype=np.int32), np.diff(pairs_start))
    if bush_of_pair.size and bush_of_pair.min() < 0:
        raise ReleaseError(f"{POLICY}: a pair is missing, or stands in two bushes")
    destination = np.empty(pairs.size, np.int32)
    destination[pairs] = destinations
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


def _parts(column: pa.LargeListArray) -> tuple[NDArray[np.int64], NDArray[np.generic]]:
    """Where each list starts, and all values; lists that do not fill the values are refused by the policy."""
    start = column.offsets.to_numpy()
    values = column.values.to_numpy()
    if start[0] != 0 or start[-1] != values.size:
        raise ReleaseError(f"{POLICY} has values that belong to no bush")
    return start, values


def _lies_in(array: pa.Array, data: pa.Buffer) -> bool:
    """Whether the values are part of the file, so that nothing was unpacked."""
    return all(
        buffer is None or not buffer.size or data.address <= buffer.address <= data.address + data.size - buffer.size
        for buffer in array.buffers()
    )
