"""The same network with links closed, or with other capacities."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import NetworkError, named
from privroute.network.latency import Latency
from privroute.network.network import Network

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from privroute.network.labels import Label

__all__ = ["unknown_link", "with_capacities", "without_links"]

_MIN_PER_H = 60.0


def without_links(network: Network, closed: Iterable[Label]) -> Network:
    """The network without the links of these labels; nodes and zones stay."""
    left = np.setdiff1d(np.arange(network.links), _links(network, closed, "close"))
    if not left.size:
        raise NetworkError("all links would be closed; keep at least one")
    latency = network.latency
    curves = Latency(
        latency.free_flow_min[left], latency.capacity_per_min[left], latency.curve[left], latency.parameters[left]
    )
    return Network(
        network.tail[left],
        network.head[left],
        curves,
        network.node_labels,
        zones=network.zones,
        no_through=network.no_through,
        background_per_min=network.background_per_min[left],
        fixed_cost_min=network.fixed_cost_min[left],
        coordinates=network.coordinates,
        crs=network.crs,
        length_km=None if network.length_km is None else network.length_km[left],
        link_labels=[network.link_labels[link] for link in left.tolist()],
        zone_labels=network.zone_labels,
        streets=None if network.streets is None else network.streets.take(left),
        areas=network.areas,
        units=network.units,
    )


def with_capacities(network: Network, per_hour: Mapping[Any, float]) -> Network:
    """The network with other capacities for the links of these labels, per hour."""
    latency = network.latency
    capacity = latency.capacity_per_min.copy()
    capacity[_links(network, per_hour, "capacity")] = np.array(list(per_hour.values()), float) / _MIN_PER_H
    return replace(network, latency=replace(latency, capacity_per_min=capacity))


def unknown_link(network: Network, label: object) -> str:
    """What to say of a label that no link has."""
    shown = ", ".join(str(known) for known in network.link_labels[:5])
    return f"no link is labelled {str(label)[:40]!r}; the {network.links:,} labels begin with {shown}"


def _links(network: Network, labels: Iterable[Label], argument: str) -> NDArray[np.intp]:
    place = {str(label): link for link, label in enumerate(network.link_labels)}
    found = []
    for label in labels:
        if str(label) not in place:
            raise NetworkError(f"{named(argument)}: {unknown_link(network, label)}")
        found.append(place[str(label)])
    return np.array(found, dtype=np.intp)
