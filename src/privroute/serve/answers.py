"""Every route of a release as JSON text, written once at the start, so that an answer is a slice of memory.

A route's text is a sequence of pieces: one with its numbers, one for each node and link. Arrow gathers such sequences
at memory speed, so the texts of all routes are made in a fraction of a second, and a batch of pairs is one more gather.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from privroute.serve.route_order import ordered_paths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from privroute.network.labels import Label
    from privroute.release.release import Release

__all__ = ["LinkTimes", "RouteTexts", "exact_label"]

_SECONDS_PER_MIN, _METRES_PER_KM = 60.0, 1000.0
_LARGEST_EXACT = 2**53 - 1
_PATHS_AT_ONCE = 16_384  # the pieces of this number of paths stay in the processor's cache while their texts are made
_OPEN, _NEXT, _CLOSE = b'{"routes":[', b",", b"]},"  # around the routes of a pair


@dataclass(frozen=True, slots=True)
class LinkTimes:
    """What a route's numbers are sums of.

    duration_s : (links,) at the released demand where there is one, otherwise on empty roads
    free_flow_s : (links,) on empty roads
    weight : (links,) what the policy makes small: seconds that one more vehicle costs everybody, or `duration_s`
    length_m : (links,) or None
    """

    duration_s: NDArray[np.float64]
    free_flow_s: NDArray[np.float64]
    weight: NDArray[np.float64]
    length_m: NDArray[np.float64] | None

    @classmethod
    def of(cls, release: Release, flow_per_min: NDArray[np.float64] | None) -> LinkTimes:
        """Times at a flow, or on empty roads."""
        network = release.network
        empty_s = network.free_flow_min * _SECONDS_PER_MIN
        busy_s = weight = empty_s
        if flow_per_min is not None:
            busy_s = network.latency.time(flow_per_min) * _SECONDS_PER_MIN
            weight = network.latency.marginal_cost(flow_per_min) * _SECONDS_PER_MIN
        return cls(busy_s, empty_s, weight, None if network.length_km is None else network.length_km * _METRES_PER_KM)


class RouteTexts:
    """The routes of every pair as JSON, the most probable first; routes of probability 0 are left out.

    In memory the pairs stand one after the other as `{"routes":[route,route]},`.
    """

    def __init__(self, release: Release, times: LinkTimes) -> None:
        policy = release.policy
        kept, _, first_route = ordered_paths(policy)
        first, last = (np.zeros(kept.size, bool) for _ in range(2))
        first[first_route[:-1]] = last[first_route[1:] - 1] = True
        pieces = _Pieces(release, times)
        chunks = [
            pieces.texts(
                kept[at : at + _PATHS_AT_ONCE], first[at : at + _PATHS_AT_ONCE], last[at : at + _PATHS_AT_ONCE]
            )
            for at in range(0, kept.size, _PATHS_AT_ONCE)
        ]
        texts = pa.concat_arrays([pa.array([], pa.large_binary()), *chunks])
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, np.int64, len(texts) + 1)
        self._data = memoryview(data if data is not None else b"")
        self._pair_ends = ends[first_route]
        self._pairs = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(policy.pairs), [None, pa.py_buffer(self._pair_ends), data]
        )
        self._path_begin = np.zeros(policy.probability.size, np.int64)
        self._path_end = np.zeros(policy.probability.size, np.int64)
        self._path_begin[kept] = ends[:-1] + np.where(first, len(_OPEN), 0)
        self._path_end[kept] = ends[1:] - np.where(last, len(_CLOSE), len(_NEXT))

    @property
    def nbytes(self) -> int:
        """Size of all texts."""
        return self._data.nbytes

    def of_pair(self, pair: int) -> bytes:
        """An object with the pair's `routes`."""
        begin, end = self._pair_ends[pair : pair + 2].tolist()
        return bytes(self._data[begin : end - 1])  # without the comma

    def of_path(self, path: int) -> bytes:
        """An object with one route, by the id that `RoutingPolicy.sample_paths` gives."""
        return self.of_paths(np.array([path]))

    def size_of_pairs(self, pairs: NDArray[np.int64]) -> int:
        """How long the answer for these pairs is."""
        return int((self._pair_ends[pairs + 1] - self._pair_ends[pairs]).sum())

    def of_pairs(self, pairs: NDArray[np.int64]) -> bytes | memoryview:
        """Objects for each pair, separated by commas."""
        taken = self._pairs.take(pa.array(pairs)).buffers()[2]
        return memoryview(taken)[:-1] if pairs.size else b""

    def of_paths(self, paths: NDArray[np.int64]) -> bytes:
        """Objects for each path, which have it alone in their `routes`, separated by commas."""
        data, begin, end = self._data, self._path_begin[paths].tolist(), self._path_end[paths].tolist()
        routes = (_CLOSE + _OPEN).join([data[at:to] for at, to in zip(begin, end, strict=True)])
        return b"".join((_OPEN, routes, _CLOSE[:-1])) if paths.size else b""


class _Pieces:
    """What the text of a route is made of."""

    def __init__(self, release: Release, times: LinkTimes) -> None:
        self._policy, self._times = release.policy, times
        network = release.network
        links = _json_texts(network.link_labels)
        nodes = _json_texts(network.node_labels)
        # by number: nodes where routes start, then for each link the node it leads to, the link as the first of its
        # list and as a later one, and what stands between and after the lists
        self._known = pa.array(
            nodes
            + [b"," + nodes[head] for head in network.head.tolist()]
            + links
            + [b"," + link for link in links]
            + [b'],"links":[', b"]}" + _NEXT, b"]}" + _CLOSE],
            pa.large_binary(),
        )
        self._head = network.nodes
        self._first = self._head + network.links
        self._later = self._first + network.links
        self._middle = self._later + network.links

    def texts(self, paths: NDArray[np.int64], first: NDArray[np.bool_], last: NDArray[np.bool_]) -> pa.LargeBinaryArray:
        """A JSON object for each path, and what stands around it as the first or the last of its pair."""
        links_start, links = self._policy.path_links(paths)
        count = np.diff(links_start)
        width = 2 * count + 4  # numbers, origin, a node for each link, middle, each link, end
        start = np.concatenate([[0], np.cumsum(width)])
        within = np.arange(links.size) - np.repeat(links_start[:-1], count)
        node_at = np.repeat(start[:-1] + 2, count) + within
        link_at = node_at + np.repeat(count + 1, count)
        which = np.empty(start[-1], np.int32)
        which[start[:-1]] = len(self._known) + np.arange(paths.size)
        which[start[:-1] + 1] = self._policy.network.tail[links[links_start[:-1]]]
        which[node_at] = self._head + links
        which[start[:-1] + 2 + count] = self._middle
        which[link_at] = np.where(within == 0, self._first, self._later) + links
        which[start[1:] - 1] = self._middle + 1 + last
        known = pa.concat_arrays([self._known, self._numbers(paths, links_start, links, first)])
        taken = known.take(pa.array(which))
        _, offsets, data = taken.buffers()
        ends = np.frombuffer(offsets, np.int64, which.size + 1)[start]
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), paths.size, [None, pa.py_buffer(ends), data])

    def _numbers(
        self,
        paths: NDArray[np.int64],
        links_start: NDArray[np.int64],
        links: NDArray[np.int32],
        first: NDArray[np.bool_],
    ) -> pa.LargeBinaryArray:
        """The numbers of each path, up to where its nodes begin."""

        def total(values: NDArray[np.float64] | None) -> pa.Array | pa.Scalar:
            if values is None:
                return _constant(b"null")
            return _json_numbers(np.add.reduceat(values[links], links_start[:-1]).round(1))

        columns: dict[str, pa.Array | pa.Scalar] = {
            "probability": _json_numbers(self._policy.probability[paths]),
            "duration": total(self._times.duration_s),
            "duration_free_flow": total(self._times.free_flow_s),
            "distance": total(self._times.length_m),
            "weight": total(self._times.weight),
        }
        parts: list[pa.Array | pa.Scalar] = [
            pa.array([_OPEN, b""], pa.large_binary()).take(pa.array(~first, pa.int8()))
        ]
        for position, (name, values) in enumerate(columns.items()):
            parts += [_constant(f'{"," if position else "{"}"{name}":'.encode()), values]
        return pc.binary_join_element_wise(*parts, _constant(b',"nodes":['), _constant(b""))


def exact_label(label: Label) -> Label:
    """The label as it survives JSON: readers that know only floating-point numbers would round large ones."""
    return str(label) if isinstance(label, int) and abs(label) > _LARGEST_EXACT else label


def _json_texts(labels: Iterable[Label]) -> list[bytes]:
    return [orjson.dumps(exact_label(label)) for label in labels]


def _json_numbers(values: NDArray[np.float64]) -> pa.Array:
    """Numbers as JSON writes them: what is not finite becomes null."""
    text = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)
    return pa.array(text[1:-1].split(b","), pa.large_binary())


def _constant(text: bytes) -> pa.Scalar:
    return pa.scalar(text, pa.large_binary())
