"""Where a study's network and public demand come from: files by their paths, or the built-in scenario by its name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import InputError, arg, named
from privroute.network.gmns import read_gmns
from privroute.network.od_matrix import read_od_csv, read_omx
from privroute.network.pairs import Pairs
from privroute.network.sioux_falls import sioux_falls
from privroute.network.tntp import read_tntp, read_tntp_trips

if TYPE_CHECKING:
    from privroute.network.demand import Demand
    from privroute.network.network import LatencyKind, Network
    from privroute.network.pairs import OnUnreachable
    from privroute.network.tntp import TimeUnit

__all__ = ["BUILT_IN", "Source", "read_public_demand"]

BUILT_IN = "sioux-falls"
_PERIOD_MIN = 60.0


@dataclass(frozen=True, slots=True)
class Source:
    """How a study's network is read again; optional for a network that was created in memory.

    network : path of a TNTP net file or a GMNS folder, or sioux-falls (built in)
    nodes, time_unit : of TNTP files only; latency, factor : as in read_tntp. None: the default of the reader
    on_unreachable : what to do with pairs of zones that no path joins
    public_demand : path of the demand that the mechanism sgd needs
    """

    network: str
    nodes: str | None = None
    latency: LatencyKind | None = None
    factor: float | None = None
    time_unit: TimeUnit | None = None
    on_unreachable: OnUnreachable = "error"
    public_demand: str | None = None

    @property
    def name(self) -> str:
        """For certificates: what the network is called, without the folders above it."""
        return Path(self.network).name or self.network

    def read(self) -> tuple[Network, Demand | None]:
        """The network, and its demand where it is the built-in one."""
        path = Path(self.network)
        kind = "built in" if self.network == BUILT_IN else "a GMNS folder" if path.is_dir() else "TNTP"
        if kind != "TNTP":
            for name in ("nodes", "time_unit"):
                if getattr(self, name) is not None:
                    raise InputError(f"{named(name)} is only valid for TNTP files, but {path} is {kind}; omit it")
        elif not path.exists():
            raise InputError(
                f"{path}: there is no such file; {named('network')} takes a TNTP net file, a GMNS folder, or {BUILT_IN}"
            )
        latency = self.latency or ("affine" if kind == "built in" else "bpr")
        if self.factor is not None and latency != "affine":
            raise InputError(
                f"{named('factor')} is only valid with {arg('latency', 'affine')}; omit it, or choose that"
            )
        factor = 2.0 if self.factor is None else self.factor
        if kind == "built in":
            scenario = sioux_falls(latency=latency, factor=factor)
            return scenario.network, scenario.demand
        if kind == "TNTP":
            unit = self.time_unit or "min"
            return read_tntp(path, latency=latency, factor=factor, nodes=self.nodes, time_unit=unit), None
        return read_gmns(path, latency=self.latency, factor=factor), None

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
    if ending in (".tntp", ".txt"):
        return read_tntp_trips(path, network, period_min=period_min, on_unreachable=on_unreachable)
    if ending in (".csv", ".tsv"):
        return read_od_csv(path, network, period_min=period_min, on_unreachable=on_unreachable)
    if ending == ".omx":
        return read_omx(path, network, matrix=matrix, period_min=period_min, on_unreachable=on_unreachable)
    raise InputError(
        f"{path}: the ending does not say what it is; .tntp (trips), .csv and .omx are read, or {BUILT_IN} (built in)"
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
