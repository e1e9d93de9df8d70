"""Routes of a release as JSON text. Nothing is written before it is asked for: the core finds and writes an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import orjson

from privroute import _core
from privroute.network.on_earth import line_km
from privroute.network.streets import Streets
from privroute.policy.bushes import Bushes
from privroute.threads import available_threads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from privroute.network.labels import Label
    from privroute.network.network import Network
    from privroute.policy.routes import RoutesOfPairs
    from privroute.release.release import Release

__all__ = ["MOST_SHOWN_ROUTES", "LinkTimes", "RouteTexts", "exact_label"]

MOST_SHOWN_ROUTES = 20
"""Routes of a pair that the service, the page and the exports show where nobody asks for more."""

_SECONDS_PER_MIN, _METRES_PER_KM = 60.0, 1000.0
_LARGEST_EXACT = 2**53 - 1
_ROUTES_AT_ONCE = 200_000  # these stand in memory while their texts are made
_FEW_PAIRS = 64  # so few are not worth a thread
_BYTES_OF_NUMBERS = 200
_COMMA = memoryview(b",")


@dataclass(frozen=True, slots=True)
class LinkTimes:
    """What a route's numbers are sums of.

    duration_s : (links,) at the released demand where there is one, otherwise on empty roads
    free_flow_s : (links,) on empty roads
    weight : (links,) what the policy makes small: seconds that one more vehicle costs everybody, or `duration_s`; with
        fairness between the two, and with fixed costs as seconds
    length_m : (links,) of the network, else along the lines on the map; None without longitudes and latitudes
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
            marginal_s = network.latency.marginal_cost(flow_per_min) * _SECONDS_PER_MIN
            fairness = float(release.certificate.options.get("fairness", 0.0))
            weight = marginal_s if fairness == 0 else fairness * busy_s + (1.0 - fairness) * marginal_s
        if network.has_fixed_costs:
            weight = weight + network.fixed_cost_min * _SECONDS_PER_MIN
        return cls(busy_s, empty_s, weight, _metres(network))


class RouteTexts:
    """Routes as JSON text, made by the core when they are asked for."""

    def __init__(self, release: Release, times: LinkTimes) -> None:
        network, self._policy = release.network, release.policy
        nodes, links = _json_texts(network.node_labels), _json_texts(network.link_labels)
        length_m = np.empty(0) if times.length_m is None else times.length_m
        # what an answer is long for: a link's label and that of the node it leads to, with commas
        self._length = np.array([len(text) + 1 for text in links]) + np.array(
            [len(nodes[head]) + 1 for head in network.head.tolist()]
        )
        self._writer = _core.RouteWriter(
            tail=network.tail,
            head=network.head,
            node_start=_starts(nodes),
            node_text=b"".join(nodes),
            link_start=_starts(links),
            link_text=b"".join(links),
            duration=times.duration_s,
            free_flow=times.free_flow_s,
            length=length_m,
            weight=times.weight,
            fine=not network.units.on_roads,
        )

    def of_pair(self, pair: int, limit: int, opening: bytes) -> bytes:
        """The object of one pair, `opening` in the place of its brace."""
        stored = self._policy.stored
        if isinstance(stored, Bushes):
            return self._writer.write_pair(stored.core, pair, limit, opening)
        found = stored.best(np.array([pair]), limit)
        (text,) = self._write(*found[:4], with_remaining=True)
        return opening + text[1:]

    def of_pairs(self, pairs: NDArray[np.int64], limit: int, *, most_bytes: int) -> list[memoryview] | None:
        """Objects for each pair with at most `limit` of its routes, separated by commas; None if they are too long."""
        pieces: list[memoryview] = []
        left = most_bytes
        block = max(_ROUTES_AT_ONCE // limit, 1)
        for at in range(0, pairs.size, block):
            # a request may name one pair many times; its routes are found once, and their size is known before a copy
            distinct, entry = np.unique(pairs[at : at + block], return_inverse=True)
            found = self._policy.stored.best(distinct, limit)
            left -= int(self._sizes(found)[entry].sum())
            if left < 0:
                return None
            in_order = distinct.size == entry.size and bool(np.all(entry[1:] > entry[:-1]))
            pieces += self._write(*(found if in_order else found.take(entry))[:4], with_remaining=True)
            if at + block < pairs.size:
                pieces.append(_COMMA)
        return pieces

    def drawn(self, pairs: NDArray[np.int64], seed: int | None, *, most_bytes: int) -> list[memoryview] | None:
        """Objects for each pair, which have one drawn route alone in their `routes`."""
        start, links, probability = self._policy.sample_links(pairs, seed=seed)
        if int(self._length[links].sum()) + _BYTES_OF_NUMBERS * probability.size > most_bytes:
            return None
        return self._write(np.arange(pairs.size + 1), start, links, probability, with_remaining=False)

    def _sizes(self, found: RoutesOfPairs) -> NDArray[np.int64]:
        """(pairs,) about how many bytes the text of each pair has."""
        written = np.concatenate([[0], np.cumsum(self._length[found.links])])
        return np.asarray(np.diff(written[found.start[found.first]]) + _BYTES_OF_NUMBERS * np.diff(found.first))

    def _write(
        self,
        first: NDArray[np.int64],
        start: NDArray[np.int64],
        links: NDArray[np.int32],
        probability: NDArray[np.float64],
        *,
        with_remaining: bool,
    ) -> list[memoryview]:
        threads = available_threads() if first.size > _FEW_PAIRS else 1
        pieces = self._writer.write(first, start, links, probability, with_remaining=with_remaining, threads=threads)
        return [piece.data for piece in pieces]


def exact_label(label: Label) -> Label:
    """The label as it survives JSON: readers that know only floating-point numbers would round large ones."""
    return str(label) if isinstance(label, int) and abs(label) > _LARGEST_EXACT else label


def _metres(network: Network) -> NDArray[np.float64] | None:
    if network.length_km is not None:
        return network.length_km * _METRES_PER_KM
    if network.coordinates is None or not network.has_longitude_latitude:
        return None
    streets = network.streets or Streets.straight(network.coordinates, network.tail, network.head)
    return line_km(streets.points, streets.start) * _METRES_PER_KM


def _json_texts(labels: Iterable[Label]) -> list[bytes]:
    # most labels are whole numbers, and a city has a hundred thousand of them
    return [
        b"%d" % label
        if isinstance(label, int) and -_LARGEST_EXACT <= label <= _LARGEST_EXACT
        else orjson.dumps(exact_label(label))
        for label in labels
    ]


def _starts(texts: list[bytes]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
