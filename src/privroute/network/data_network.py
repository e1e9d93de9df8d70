"""Data networks: routers, lines with capacities in Mbit/s, delays in ms, and an M/M/1 queue at every line.

    delay(y) = length / 200 km per ms + packet / (capacity − y)        propagation in fibre, then queue and transmission

Readers of SNDlib and the Internet Topology Zoo end here. Inside the package time is in minutes and traffic per minute,
as everywhere: `MINUTES_PER_MS` and `PER_MIN_OF_MBPS` convert, once, in the reader.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import FormatError, InputError, NetworkError, arg, named
from privroute.network.display_units import MBIT
from privroute.network.graph_files import parsed_graphml
from privroute.network.latency import Latency
from privroute.network.network import Network
from privroute.network.on_earth import DEGREES, point_km
from privroute.network.text_files import as_path

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["MINUTES_PER_MS", "PER_MIN_OF_MBPS", "Line", "LineOptions", "data_network", "read_topology_zoo"]

MINUTES_PER_MS = 1.0 / 60_000.0
PER_MIN_OF_MBPS = 60.0
_BITS_PER_MBIT = 1e6


@dataclass(frozen=True, slots=True)
class LineOptions:
    """What files of data networks do not say.

    capacity_mbps : of lines whose capacity the file does not have; None: such a line is an error
    packet_bytes : mean size of a packet
    limit : utilisation from which the queue's delay continues as a parabola
    km_per_ms : speed of light in fibre
    least_ms : delay of a line whose length is not known or is zero
    """

    capacity_mbps: float | None = None
    packet_bytes: float = 1000.0
    limit: float = 0.95
    km_per_ms: float = 200.0
    least_ms: float = 0.1

    def __post_init__(self) -> None:
        for name, value in (
            ("capacity_mbps", 1.0 if self.capacity_mbps is None else self.capacity_mbps),
            ("packet_bytes", self.packet_bytes),
            ("km_per_ms", self.km_per_ms),
            ("least_ms", self.least_ms),
        ):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                raise InputError(f"{named(name)} is {value!r}; pass a finite number greater than 0")
        if not 0 <= self.limit < 1:
            raise InputError(f"{named('limit')} is {self.limit!r}; pass a utilisation from 0, below 1")


@dataclass(frozen=True, slots=True)
class Line:
    """One line between two nodes; capacity None where the file has none."""

    label: str
    ends: tuple[str, str]
    capacity_mbps: float | None
    directed: bool = False


def data_network(
    source: object,
    nodes: Mapping[str, tuple[float, float] | None],
    lines: Sequence[Line],
    options: LineOptions | None = None,
) -> Network:
    """Return a network with an M/M/1 queue on each line; a line without direction is a link each way.

    nodes : label -> longitude and latitude, None where they are not known. Where one of them is no place on Earth, none
        is: drawings in pixels say nothing of lengths
    """
    chosen = options or LineOptions()
    index = {label: position for position, label in enumerate(nodes)}
    tail, head, capacity, labels = [], [], [], []
    for line in lines:
        if line.ends[0] == line.ends[1]:
            continue
        for end in line.ends:
            if end not in index:
                raise FormatError(
                    as_path(str(source)), f"line {line.label[:40]!r} names node {end[:40]!r}, which is not there"
                )
        mbps = line.capacity_mbps or chosen.capacity_mbps
        if mbps is None:
            raise FormatError(
                as_path(str(source)),
                f"line {line.label[:40]!r} has no capacity; pass one for such lines: {arg('capacity_mbps')}",
            )
        for reverse in (False,) if line.directed else (False, True):
            a, b = line.ends[::-1] if reverse else line.ends
            tail.append(index[a])
            head.append(index[b])
            capacity.append(mbps)
            labels.append(f"{line.label}-reverse" if reverse else line.label)
    if not tail:
        raise FormatError(as_path(str(source)), "has no lines between different nodes")
    places = np.array([(math.nan, math.nan) if place is None else place for place in nodes.values()], dtype=np.float64)
    if np.any(np.abs(places) > (180.0, 90.0)):
        places[:] = math.nan
    length_km = point_km(places[tail], places[head])
    known = np.isfinite(length_km)
    mbps_each = np.array(capacity, dtype=np.float64)
    with np.errstate(over="ignore"):  # refused below
        per_min = mbps_each * PER_MIN_OF_MBPS
    packet_mbit = chosen.packet_bytes * 8.0 / _BITS_PER_MBIT
    propagation_ms = np.where(known, np.maximum(length_km / chosen.km_per_ms, chosen.least_ms), chosen.least_ms)
    service_ms = packet_mbit / mbps_each * 1000.0
    try:
        latency = Latency.of(
            "mm1",
            (propagation_ms + service_ms) * MINUTES_PER_MS,
            per_min,
            packet=packet_mbit,
            limit=chosen.limit,
        )
        whole = bool(np.isfinite(places).all())
        return Network(
            tail,
            head,
            latency,
            list(nodes),
            coordinates=places if whole else None,
            crs=DEGREES if whole else None,
            length_km=length_km if known.all() else None,
            link_labels=labels,
            units=MBIT,
        )
    except NetworkError as problem:
        raise FormatError(as_path(str(source)), f"{problem}") from None


def read_topology_zoo(path: str | os.PathLike[str], options: LineOptions | None = None) -> Network:
    """Read a GraphML file of the Internet Topology Zoo: nodes with Latitude and Longitude, edges with LinkSpeedRaw."""
    place = as_path(path)
    _, nodes, edges = parsed_graphml(place, undirected=True)
    names = _distinct({key: str(values.get("label", key)) for key, values in nodes.items()})
    points = {names[key]: _point(values) for key, values in nodes.items()}
    lines = []
    for number, (source, target, values) in enumerate(edges):
        bits = _number(values.get("LinkSpeedRaw"))
        ends = (names.get(source, source), names.get(target, target))
        lines.append(Line(f"{number}", ends, None if bits is None or bits <= 0 else bits / _BITS_PER_MBIT))
    return data_network(place, points, lines, options)


def _distinct(names: Mapping[str, str]) -> dict[str, str]:
    """Labels of nodes; those that several nodes have get the node's id, or all are ids."""
    times = Counter(names.values())
    chosen = {key: name if times[name] == 1 else f"{name} {key}" for key, name in names.items()}
    return chosen if len(set(chosen.values())) == len(chosen) else {key: key for key in names}


def _point(values: Mapping[str, Any]) -> tuple[float, float] | None:
    x, y = _number(values.get("Longitude")), _number(values.get("Latitude"))
    return None if x is None or y is None else (x, y)


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
