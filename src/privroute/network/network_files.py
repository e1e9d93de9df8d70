"""Any file of a network, told by its ending: OpenStreetMap, OSMnx, GMNS, TNTP, SNDlib, Topology Zoo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from privroute.errors import InputError, arg, named
from privroute.network.data_network import LineOptions, read_topology_zoo
from privroute.network.gmns import read_gmns
from privroute.network.graph_files import read_geopackage, read_graphml
from privroute.network.osm_file import OSM_ENDINGS, read_osm
from privroute.network.read_notes import ReadNotes
from privroute.network.sndlib import read_sndlib
from privroute.network.street_network import StreetOptions
from privroute.network.text_files import as_path
from privroute.network.tntp import read_tntp

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from privroute.network.network import LatencyKind, Network
    from privroute.network.tntp import TimeUnit

__all__ = ["NETWORK_FILES", "NetworkKind", "is_sndlib", "kind_of_network", "read_network"]

NETWORK_FILES = (
    "an OpenStreetMap extract (.osm, .osm.pbf), an OSMnx graph (.graphml, .gpkg), a GMNS folder, a TNTP net file, "
    "SNDlib (native, .xml), Topology Zoo (.graphml)"
)
NetworkKind = Literal["GMNS", "TNTP", "OpenStreetMap", "GraphML", "GeoPackage", "SNDlib", "Topology Zoo"]
_OF_KINDS = {  # options that only some files have
    "nodes": ("TNTP",),
    "time_unit": ("TNTP",),
    "toll_factor": ("TNTP",),
    "distance_factor": ("TNTP",),
    "length_unit": ("TNTP", "GMNS"),
    "speed_unit": ("GMNS",),
    **dict.fromkeys(
        ("capacity_mbps", "packet_bytes", "queue_limit", "km_per_ms", "least_ms"), ("SNDlib", "Topology Zoo")
    ),
}


def kind_of_network(path: str | os.PathLike[str]) -> NetworkKind:
    """What a path is, by whether it is a folder, by its ending and how it begins."""
    place = as_path(path)
    name = place.name.lower()
    if place.is_dir():
        return "GMNS"
    begin = _beginning(place)
    if name.endswith(OSM_ENDINGS) and not (name.endswith(".xml") and b"<network" in begin):
        return "OpenStreetMap"
    if name.endswith(".graphml"):
        return "Topology Zoo" if b'edgedefault="undirected"' in begin else "GraphML"
    if is_sndlib(place):
        return "SNDlib"
    return "GeoPackage" if name.endswith(".gpkg") else "TNTP"


def is_sndlib(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one of SNDlib: it says so in its first line, or is XML."""
    place = as_path(path)
    return place.name.lower().endswith(".xml") or _beginning(place).startswith(b"?SNDlib")


def read_network(
    path: str | os.PathLike[str],
    *,
    latency: LatencyKind | None = None,
    factor: float | None = None,
    nodes: str | os.PathLike[str] | None = None,
    time_unit: TimeUnit | None = None,
    length_unit: str | None = None,
    speed_unit: str | None = None,
    toll_factor: float | None = None,
    distance_factor: float | None = None,
    capacity_mbps: float | None = None,
    packet_bytes: float | None = None,
    queue_limit: float | None = None,
    km_per_ms: float | None = None,
    least_ms: float | None = None,
    keep_islands: bool = False,
    service: bool = False,
    notes: ReadNotes | None = None,
) -> Network:
    """Read a network from an OpenStreetMap extract, an OSMnx graph, a GMNS folder, a TNTP net file or a data network.

    latency, factor : the curve of the links, as in read_gmns; default: as in a GMNS folder, mm1 for
        data networks, bpr for other files
    nodes, time_unit, toll_factor, distance_factor : of TNTP files
    length_unit : of TNTP and GMNS files; speed_unit : of GMNS files
    capacity_mbps, packet_bytes, queue_limit, km_per_ms, least_ms : of SNDlib and Topology Zoo files, as in LineOptions
        (queue_limit is its `limit`)
    keep_islands : of OpenStreetMap and OSMnx files: keep streets outside of the largest connected network
    service : of OpenStreetMap files: take service roads as well
    notes : receives the numbers of what was left out
    """
    kind, counted = kind_of_network(path), notes if notes is not None else ReadNotes()
    given: dict[str, object] = {"nodes": nodes, "time_unit": time_unit, "length_unit": length_unit}
    given |= {"speed_unit": speed_unit, "toll_factor": toll_factor, "distance_factor": distance_factor}
    queue = {"packet_bytes": packet_bytes, "queue_limit": queue_limit, "km_per_ms": km_per_ms, "least_ms": least_ms}
    given |= {"capacity_mbps": capacity_mbps, **queue}
    for name, value in given.items():
        if value is not None and kind not in _OF_KINDS[name]:
            wanted = " and ".join(_OF_KINDS[name])
            raise InputError(f"{named(name)} is only valid for {wanted} files, but {path} is {_WORDS[kind]}; omit it")
    if kind in ("SNDlib", "Topology Zoo"):
        said = {_OPTION.get(name, name): value for name, value in queue.items() if value is not None}
        return _data_network(path, kind, LineOptions(capacity_mbps, **said), latency, factor, queue_limit)
    chosen = latency or ("bpr" if kind != "GMNS" else None)
    if factor is not None and chosen != "affine":
        raise InputError(_FACTOR)
    times = 2.0 if factor is None else factor
    if kind == "GMNS":
        units = {"length_unit": length_unit, "speed_unit": speed_unit}
        return read_gmns(path, latency=latency, factor=times, notes=counted, **units)
    if kind == "TNTP":
        return read_tntp(
            path,
            latency=chosen or "bpr",
            factor=times,
            nodes=nodes,
            time_unit=time_unit or "min",
            length_unit=length_unit,  # type: ignore[arg-type]
            toll_factor=toll_factor or 0.0,
            distance_factor=distance_factor or 0.0,
            notes=counted,
        )
    options = StreetOptions(chosen or "bpr", times, keep_islands=keep_islands)
    if kind == "OpenStreetMap":
        return read_osm(path, options=options, service=service, notes=counted)
    reader = read_graphml if kind == "GraphML" else read_geopackage
    return reader(path, options=options, notes=counted)


def _data_network(
    path: str | os.PathLike[str],
    kind: str,
    lines: LineOptions,
    latency: LatencyKind | None,
    factor: float | None,
    queue_limit: float | None,
) -> Network:
    network = read_sndlib(path, lines) if kind == "SNDlib" else read_topology_zoo(path, lines)
    if factor is not None and latency != "affine":
        raise InputError(_FACTOR)
    if latency in (None, "mm1"):  # which they have, with their packets and limit
        return network
    if queue_limit is not None:
        raise InputError(f"{named('queue_limit')} is only valid with {arg('latency', 'mm1')}; omit it")
    return network.with_latency(latency, **({} if factor is None else {"factor": factor}))


def _beginning(place: Path) -> bytes:
    """The first bytes of a file; what cannot be read is refused by the reader."""
    try:
        with place.open("rb") as stream:
            return stream.read(_BEGINNING)
    except OSError:
        return b""


_BEGINNING = 65536
_OPTION = {"queue_limit": "limit"}  # key -> field of LineOptions
_FACTOR = f"{named('factor')} is only valid with {arg('latency', 'affine')}; omit it, or choose that"
_WORDS = {
    "GMNS": "a GMNS folder",
    "TNTP": "TNTP",
    "OpenStreetMap": "an OpenStreetMap extract",
    "GraphML": "a GraphML file",
    "GeoPackage": "a GeoPackage",
    "SNDlib": "SNDlib",
    "Topology Zoo": "a Topology Zoo file",
}
