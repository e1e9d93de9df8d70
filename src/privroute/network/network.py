"""The road network: public, checked when made, never changed afterwards."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import NetworkError
from privroute.network.checks import (
    RebuiltOnCopy,
    as_array,
    check_type,
    freeze,
    index_array,
    number_array,
    real_array,
)
from privroute.network.curves import LatencyKind
from privroute.network.display_units import Units
from privroute.network.frames import NetworkFrames
from privroute.network.labels import Label, as_labels
from privroute.network.latency import Latency, choose_latency
from privroute.network.streets import Streets
from privroute.network.zone_areas import ZoneAreas

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["LatencyKind", "Network"]

LONGITUDE_LATITUDE = "EPSG:4326"
_LARGEST_LONGITUDE_LATITUDE = (180.0, 90.0)
_EXAMPLES = 5


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Network(NetworkFrames, RebuiltOnCopy):
    """A directed network with latency functions, and the zones between which trips are made.

    tail, head : (links,) int32, 0-based node indices; parallel links are allowed, self-loops are not
    latency : travel time of every link as a function of its flow
    node_labels : what the nodes are called in files and by users: whole numbers or texts, each once
    zones : (zones,) int32, node indices where trips start and end, in ascending order; default: every node
    no_through : (nodes,) bool, True where trips may start or end but not pass (TNTP: nodes below FIRST THRU NODE):
        links that leave such a node are open only to trips that start there; default: nowhere
    background_per_min : (links,) public traffic that is not ours to route; default 0
    fixed_cost_min : (links,) what a trip on the link costs beside time, e.g. a toll, in minutes; default 0. Solvers add
        it to travel times when they compare routes; travel times themselves are without it
    coordinates : (nodes, 2) x and y, or None
    crs : what x and y are, "EPSG:4326" for longitude and latitude; None if not known
    length_km : (links,) or None
    link_labels : what the links are called in files; default: their indices
    zone_labels : what the zones are called, in the order of `zones` as given; None: as their nodes
    streets : how the links run and what they are called; None if not known
    areas : polygons of the zones, in the order of the zones; None if not known
    units : what traffic and times are called and in what units they are shown; default: vehicles and minutes
    """

    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    latency: Latency
    node_labels: tuple[Label, ...]
    zones: NDArray[np.int32]
    no_through: NDArray[np.bool_]
    background_per_min: NDArray[np.float64]
    fixed_cost_min: NDArray[np.float64]
    coordinates: NDArray[np.float64] | None
    crs: str | None
    length_km: NDArray[np.float64] | None
    link_labels: tuple[Label, ...]
    zone_labels: tuple[Label, ...] | None
    streets: Streets | None
    areas: ZoneAreas | None
    units: Units

    def __init__(
        self,
        tail: ArrayLike,
        head: ArrayLike,
        latency: Latency,
        node_labels: Iterable[Label],
        *,
        zones: ArrayLike | None = None,
        no_through: ArrayLike | None = None,
        background_per_min: ArrayLike = 0.0,
        fixed_cost_min: ArrayLike = 0.0,
        coordinates: ArrayLike | None = None,
        crs: str | None = None,
        length_km: ArrayLike | None = None,
        link_labels: Iterable[Label] | None = None,
        zone_labels: Iterable[Label] | None = None,
        streets: Streets | None = None,
        areas: ZoneAreas | None = None,
        units: Units | None = None,
    ) -> None:
        labels = as_labels(node_labels, "node_labels")
        nodes = len(labels)
        tails = index_array(tail, "tail", nodes, NetworkError)
        heads = index_array(head, "head", nodes, NetworkError)
        check_type(latency, Latency, "latency", NetworkError)
        links = tails.size
        for name, count in (("head", heads.size), ("latency", len(latency))):
            if count != links:
                raise NetworkError(f"{name} has {count:,} links where tail has {links:,}")
        if not links:
            raise NetworkError("a network needs at least one link")
        loops = np.flatnonzero(tails == heads)
        if loops.size:
            raise NetworkError(
                f"link {loops[0]} starts and ends at node {labels[tails[loops[0]]]} ({loops.size} such self-loops in "
                "all); no path uses them, omit them"
            )
        put = object.__setattr__
        put(self, "tail", tails)
        put(self, "head", heads)
        put(self, "latency", latency)
        put(self, "node_labels", labels)
        put(self, "zones", _zones(np.arange(nodes) if zones is None else zones, labels))
        put(self, "no_through", _flags(np.zeros(nodes, bool) if no_through is None else no_through, nodes))
        put(
            self,
            "background_per_min",
            number_array(background_per_min, "background_per_min", links, NetworkError),
        )
        put(self, "fixed_cost_min", number_array(fixed_cost_min, "fixed_cost_min", links, NetworkError))
        put(self, "coordinates", None if coordinates is None else _points(coordinates, nodes))
        put(self, "crs", None if crs is None else _crs(crs))
        put(
            self,
            "length_km",
            None if length_km is None else number_array(length_km, "length_km", links, NetworkError),
        )
        put(self, "link_labels", tuple(range(links)) if link_labels is None else as_labels(link_labels, "link_labels"))
        if len(self.link_labels) != links:
            raise NetworkError(f"link_labels has {len(self.link_labels):,} labels where there are {links:,} links")
        put(self, "zone_labels", None if zone_labels is None else _zone_labels(zone_labels, zones, self))
        put(self, "streets", None if streets is None else _checked_streets(streets, self))
        put(self, "areas", None if areas is None else _checked_areas(areas, zones, self))
        put(self, "units", Units() if units is None else units)
        check_type(self.units, Units, "units", NetworkError)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.node_labels)

    @property
    def links(self) -> int:
        """Number of links."""
        return self.tail.size

    @cached_property
    def zone_names(self) -> tuple[Label, ...]:
        """(zones,) what trips and users call the zones."""
        return self.zone_labels or tuple(self.node_labels[zone] for zone in self.zones.tolist())

    @cached_property
    def end_labels(self) -> tuple[Label, ...]:
        """(nodes,) what an end of a trip is called: zones by their own labels, other nodes by theirs."""
        labels = list(self.node_labels)
        for zone, name in zip(self.zones.tolist(), self.zone_names, strict=True):
            labels[zone] = name
        return tuple(labels)

    @property
    def free_flow_min(self) -> NDArray[np.float64]:
        """(links,) minutes on the empty link."""
        return self.latency.free_flow_min

    @property
    def capacity_per_min(self) -> NDArray[np.float64]:
        """(links,) vehicles per minute, or what else flows (`units`)."""
        return self.latency.capacity_per_min

    @property
    def has_fixed_costs(self) -> bool:
        """Whether any link costs something beside time."""
        return bool(np.any(self.fixed_cost_min))

    @property
    def has_longitude_latitude(self) -> bool:
        """Whether the coordinates are degrees: said by `crs`, or possible by their range where `crs` is not known."""
        if self.coordinates is None:
            return False
        if self.crs is not None:
            return self.crs.upper() == LONGITUDE_LATITUDE
        return bool(np.all(np.abs(self.coordinates) <= _LARGEST_LONGITUDE_LATITUDE))

    def node(self, label: Label) -> int:
        """Index of the zone with this label, else of the node; a text that spells a whole number finds that number."""
        index = self._index_by_text.get(str(label))
        if index is None:
            shown = ", ".join(repr(known) for known in self.node_labels[:_EXAMPLES])
            raise NetworkError(f"no node is labelled {label!r}; the {self.nodes:,} labels begin with {shown}")
        return index

    def node_indices(self, labels: Iterable[Label]) -> NDArray[np.int32]:
        """(labels,) index of the node with each label, found as `node` does; -1 where there is none."""
        return np.fromiter(map(self._index_by_text.get, map(str, labels), repeat(-1)), np.int32)

    def with_fixed_costs(self, fixed_cost_min: ArrayLike) -> Network:
        """Return the same network with other costs beside time: one for each link, or one for all, minutes."""
        return replace(self, fixed_cost_min=number_array(fixed_cost_min, "fixed_cost_min", self.links, NetworkError))

    def with_latency(self, kind: LatencyKind, **parameters: ArrayLike) -> Network:
        """Return the same network with other curves: "affine" (factor=), "bpr" (b=, power=) or another of the table."""
        return replace(self, latency=choose_latency(kind, self.free_flow_min, self.capacity_per_min, **parameters))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return all(_same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        closed = int(np.count_nonzero(self.no_through))
        rule = f", {closed:,} without through traffic" if closed else ""
        return f"Network({self.nodes:,} nodes, {self.links:,} links, {self.zones.size:,} zones{rule})"

    @cached_property
    def _index_by_text(self) -> dict[str, int]:
        found = {str(label): index for index, label in enumerate(self.node_labels)}
        if self.zone_labels is not None:
            found.update((str(name), zone) for zone, name in zip(self.zones.tolist(), self.zone_labels, strict=True))
        return found


def _zones(zones: ArrayLike, labels: tuple[Label, ...]) -> NDArray[np.int32]:
    checked = index_array(zones, "zones", len(labels), NetworkError)
    if not checked.size:
        raise NetworkError("zones is empty; name at least one node where trips start and end")
    unique, counts = np.unique(checked, return_counts=True)
    if unique.size != checked.size:
        twice = labels[unique[np.argmax(counts > 1)]]
        raise NetworkError(f"zones: node {twice} is named more than once; name each zone once")
    return freeze(unique)


def _zone_labels(given: Iterable[Label], zones: ArrayLike | None, network: Network) -> tuple[Label, ...] | None:
    """Labels in the order of the sorted zones; None where all zones are called as their nodes."""
    labels = as_labels(given, "zone_labels")
    if len(labels) != network.zones.size:
        raise NetworkError(f"zone_labels has {len(labels):,} labels where there are {network.zones.size:,} zones")
    order = np.argsort(np.arange(network.zones.size) if zones is None else np.asarray(zones), kind="stable")
    ordered = tuple(labels[position] for position in order.tolist())
    plain = tuple(network.node_labels[zone] for zone in network.zones.tolist())
    return None if ordered == plain else ordered


def _checked_streets(streets: Streets, network: Network) -> Streets:
    check_type(streets, Streets, "streets", NetworkError)
    if len(streets) != network.links:
        raise NetworkError(f"streets has {len(streets):,} links where there are {network.links:,}")
    if network.coordinates is None:
        raise NetworkError("streets needs coordinates of the nodes")
    return streets


def _checked_areas(areas: ZoneAreas, zones: ArrayLike | None, network: Network) -> ZoneAreas:
    check_type(areas, ZoneAreas, "areas", NetworkError)
    if len(areas) != network.zones.size:
        raise NetworkError(f"areas has {len(areas):,} areas where there are {network.zones.size:,} zones")
    if zones is not None and not np.array_equal(np.asarray(zones), network.zones):
        raise NetworkError("areas are in the order of the zones; pass zones in ascending order with areas")
    return areas


def _flags(values: ArrayLike, nodes: int) -> NDArray[np.bool_]:
    flags = as_array(values, "no_through", NetworkError)
    if flags.dtype != np.bool_ or flags.shape != (nodes,):
        raise NetworkError(
            f"no_through has type {flags.dtype} and shape {flags.shape}; pass one True or False for each of the "
            f"{nodes:,} nodes"
        )
    return freeze(flags)


def _crs(crs: object) -> str:
    if not isinstance(crs, str) or not crs.strip() or not crs.isprintable():
        raise NetworkError(f'crs is a {type(crs).__name__}; pass a printable text like "EPSG:4326", or None')
    return crs.strip()


def _points(values: ArrayLike, nodes: int) -> NDArray[np.float64]:
    points = real_array(values, "coordinates", NetworkError)
    if points.shape != (nodes, 2):
        raise NetworkError(f"coordinates have shape {points.shape}; pass ({nodes}, 2): x and y of each node")
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if bad.size:
        raise NetworkError(
            f"coordinates: {bad.size:,} nodes have no finite x and y (first at index {bad[0]:,}); give all or none"
        )
    return freeze(points)


def _same(mine: object, theirs: object) -> bool:
    if isinstance(mine, np.ndarray) and isinstance(theirs, np.ndarray):
        return np.array_equal(mine, theirs)
    return type(mine) is type(theirs) and bool(mine == theirs)
