"""Where a study's network and public demand come from: files by their paths, or the built-in scenario by its name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import InputError, arg, named
from privroute.network.link_curves import read_type_curves, with_type_curves
from privroute.network.network_files import NETWORK_FILES, is_sndlib, kind_of_network, read_network
from privroute.network.od_matrix import read_od_csv, read_omx
from privroute.network.pairs import Pairs
from privroute.network.read_notes import ReadNotes
from privroute.network.sioux_falls import sioux_falls
from privroute.network.sndlib import read_sndlib_demands
from privroute.network.tntp import read_tntp_link_types, read_tntp_trips
from privroute.network.zone_files import with_grid, with_zones

if TYPE_CHECKING:
    from privroute.network.demand import Demand
    from privroute.network.network import LatencyKind, Network
    from privroute.network.pairs import OnUnreachable
    from privroute.network.tntp import TimeUnit

__all__ = ["BUILT_IN", "Source", "read_public_demand"]

BUILT_IN = "sioux-falls"
_PERIOD_MIN = 60.0
_OF_LINES = ("capacity_mbps", "packet_bytes", "queue_limit", "km_per_ms", "least_ms")


@dataclass(frozen=True, slots=True)
class Source:
    """How a study's network is read again; optional for a network that was created in memory.

    network : path of a file that read_network reads, or sioux-falls
    nodes, time_unit, toll_factor, distance_factor : of TNTP files only; length_unit, speed_unit, latency, factor : as
        in read_network. None: the default of the reader
    on_unreachable : what to do with pairs of zones that no path joins
    public_demand : path of the demand that the mechanism sgd needs
    zones, zone_id : path of polygons or a list of zones, and the column of their ids
    grid_km : instead of `zones`: the cells of a square grid
    connectors : number of nodes over which a zone's traffic enters the network
    latency_types : path of a table of curves by link type
    capacity_mbps, packet_bytes, queue_limit, km_per_ms, least_ms : of data networks only, as in read_network
    """

    network: str
    nodes: str | None = None
    latency: LatencyKind | None = None
    factor: float | None = None
    time_unit: TimeUnit | None = None
    on_unreachable: OnUnreachable = "error"
    public_demand: str | None = None
    length_unit: str | None = None
    speed_unit: str | None = None
    zones: str | None = None
    zone_id: str | None = None
    grid_km: float | None = None
    connectors: int | None = None
    toll_factor: float | None = None
    distance_factor: float | None = None
    latency_types: str | None = None
    capacity_mbps: float | None = None
    packet_bytes: float | None = None
    queue_limit: float | None = None
    km_per_ms: float | None = None
    least_ms: float | None = None

    @property
    def name(self) -> str:
        """For certificates: what the network is called, without the folders above it."""
        return Path(self.network).name or self.network

    def read(
        self, notes: ReadNotes | None = None, *, keep_islands: bool = False, service: bool = False
    ) -> tuple[Network, Demand | None]:
        """The network, and its demand where it is the built-in one; arguments as in read_network."""
        counted = notes if notes is not None else ReadNotes()
        if self.zones is not None and self.grid_km is not None:
            raise InputError(f"{named('zones')} and {named('grid_km')} exclude each other; pass one")
        for name, needed in (("zone_id", ("zones",)), ("connectors", ("zones", "grid_km"))):
            if getattr(self, name) is not None and all(getattr(self, other) is None for other in needed):
                raise InputError(f"{named(name)} needs {' or '.join(named(other) for other in needed)}; omit it")
        network, demand = self._roads(counted, keep_islands=keep_islands, service=service)
        if self.latency_types is not None:
            network = with_type_curves(network, self._link_types(network), read_type_curves(self.latency_types))
        if self.zones is not None:
            zoned = with_zones(network, self.zones, zone_id=self.zone_id, connectors=self.connectors, notes=counted)
            return zoned, None
        if self.grid_km is not None:
            return with_grid(network, self.grid_km, connectors=self.connectors, notes=counted), None
        return network, demand

    def _roads(self, notes: ReadNotes, *, keep_islands: bool, service: bool) -> tuple[Network, Demand | None]:
        if self.network != BUILT_IN:
            if not os.path.exists(self.network):  # noqa: PTH110 - Path.exists raises where a name is too long
                raise InputError(
                    f"{self.network}: there is no such file; {named('network')} takes {NETWORK_FILES}, or {BUILT_IN}"
                )
            network = read_network(
                self.network,
                latency=self.latency,
                factor=self.factor,
                nodes=self.nodes,
                time_unit=self.time_unit,
                length_unit=self.length_unit,
                speed_unit=self.speed_unit,
                toll_factor=self.toll_factor,
                distance_factor=self.distance_factor,
                **{name: getattr(self, name) for name in _OF_LINES},
                keep_islands=keep_islands,
                service=service,
                notes=notes,
            )
            return network, None
        of_files = ("nodes", "time_unit", "toll_factor", "distance_factor", "length_unit", "speed_unit", *_OF_LINES)
        for name in of_files:
            if getattr(self, name) is not None:
                kinds = "files" if name in ("length_unit", "speed_unit", *_OF_LINES) else "TNTP files"
                raise InputError(f"{named(name)} is only valid for {kinds}, but {BUILT_IN} is built in; omit it")
        latency = self.latency or "affine"
        if self.factor is not None and latency != "affine":
            raise InputError(
                f"{named('factor')} is only valid with {arg('latency', 'affine')}; omit it, or choose that"
            )
        scenario = sioux_falls(latency=latency, factor=2.0 if self.factor is None else self.factor)
        return scenario.network, scenario.demand

    def _link_types(self, network: Network) -> list[str]:
        """The type of each link: that of a TNTP file, else the class of its street."""
        if self.network != BUILT_IN and kind_of_network(self.network) == "TNTP":
            return read_tntp_link_types(self.network)
        return [""] * network.links if network.streets is None else list(network.streets.road_class)

    def pairs(self, network: Network) -> Pairs:
        """Every pair of zones that paths join."""
        return Pairs.of_zones(network, on_unreachable=self.on_unreachable)

    def demand(self, network: Network) -> Demand | None:
        """The public demand of the mechanism, per hour."""
        if self.public_demand is None:
            return None
        return read_public_demand(self.public_demand, network, on_unreachable=self.on_unreachable)


def read_public_demand(
    path: str | Path,
    network: Network,
    *,
    period_min: float = _PERIOD_MIN,
    on_unreachable: OnUnreachable = "error",
    matrix: str | None = None,
) -> Demand:
    """A public demand from a file, whose ending says what it is, or the built-in one."""
    ending = Path(path).suffix.lower()
    if matrix is not None and ending != ".omx":
        raise InputError(f"{named('matrix')} is only valid for Open Matrix files, but {path} is not one; omit it")
    if str(path) == BUILT_IN:
        return _built_in_demand(network, period_min)
    if is_sndlib(path):
        if period_min != _PERIOD_MIN:
            raise InputError(f"{path}: demands of SNDlib are in Mbit/s; omit the length of their period")
        return read_sndlib_demands(path, network)
    if ending in (".tntp", ".txt"):
        return read_tntp_trips(path, network, period_min=period_min, on_unreachable=on_unreachable)
    if ending in (".csv", ".tsv"):
        return read_od_csv(path, network, period_min=period_min, on_unreachable=on_unreachable)
    if ending == ".omx":
        return read_omx(path, network, matrix=matrix, period_min=period_min, on_unreachable=on_unreachable)
    raise InputError(
        f"{path}: the ending does not say what it is; .tntp (trips), .csv, .omx and SNDlib (native, .xml) are read, or "
        f"{BUILT_IN} (built in)"
    )


def _built_in_demand(network: Network, period_min: float) -> Demand:
    scenario = sioux_falls()
    own = scenario.network
    if network.node_labels != own.node_labels or not np.array_equal(network.zones, own.zones):
        raise InputError(
            f"the demand {BUILT_IN} is only valid with the network {BUILT_IN}; pass a file for this network"
        )
    if period_min != _PERIOD_MIN:
        raise InputError(f"the demand {BUILT_IN} is per hour; omit the length of its period")
    return scenario.demand
