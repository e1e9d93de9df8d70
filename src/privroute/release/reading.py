"""Reading the release folder: every file once, bounded, against its checksum, and nothing in it is taken on trust.

What is read is a stranger's: sizes, names and types are checked before any table is, and whatever does not fit ends in
a ReleaseError that names it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa

from privroute.errors import FormatError, PrivrouteError, ReleaseError
from privroute.network.checks import show
from privroute.network.curve_columns import CURVE_COLUMN, latency_of_columns, parameter_columns
from privroute.network.curves import CURVES, number_of
from privroute.network.demand import Demand
from privroute.network.network import Network
from privroute.network.pairs import Pairs
from privroute.network.text_files import read_bytes
from privroute.policy.routing_policy import RoutingPolicy
from privroute.release.arrow_arrays import as_numpy, valid, whole
from privroute.release.certificate import Certificate
from privroute.release.files import FORMAT
from privroute.release.folder import (
    DEMAND,
    FIXED_COST,
    LINKS,
    MANIFEST,
    NODES,
    POLICY,
    ROUTES,
    STREETS,
    ZONES,
    is_of_slot,
    name_in_slot,
)
from privroute.release.map_tables import with_map
from privroute.release.part import Part
from privroute.release.policy_file import read_policy
from privroute.release.quality import Quality
from privroute.release.signing import check_signature
from privroute.release.table_files import ReleaseFiles

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from privroute.network.latency import Latency

__all__ = ["PartReader", "read_certificate", "read_release"]

_READ = (2, 3, FORMAT)
_OF_PERIODS = 3
_LARGEST_MANIFEST = 2**24


def read_release(
    folder: str | os.PathLike[str], *, trusted: str | os.PathLike[str] | None = None, whole: bool = False
) -> tuple[Certificate, PartReader]:
    """Certificate of a release folder, and its policies and demands, the first of which is read.

    trusted, whole : as in load_release
    """
    place = Path(folder)
    manifest = _manifest(place, trusted)
    with _refused(place):
        certificate = Certificate.from_dict(manifest["certificate"])
        parts = PartReader(place, manifest, certificate, held=trusted is not None)
        parts[parts.busiest]
        if whole:
            parts.files.check()
    return certificate, parts


def read_certificate(folder: str | os.PathLike[str], *, trusted: str | os.PathLike[str] | None = None) -> Certificate:
    """The certificate alone; the tables of the folder are not looked at.

    trusted : as in load_release
    """
    place = Path(folder)
    manifest = _manifest(place, trusted)
    with _refused(place):
        return Certificate.from_dict(manifest["certificate"])


class PartReader(Sequence[Part]):
    """The policies and demands of a release folder, each read and checked when it is first asked for.

    held : copy all files into memory now
    digests : of all files, by name
    slots : which periods of which kinds of days they are for; empty for a release of one period
    busiest : position of the one with the most traffic, the first where no demand is released
    """

    def __init__(self, place: Path, manifest: dict[str, Any], certificate: Certificate, *, held: bool = False) -> None:
        self._place, self._certificate = place, certificate
        self.digests: dict[str, str] = manifest["sha256"]
        self.files = ReleaseFiles(place, self.digests, held=held)
        day = "periods" in manifest
        if day != certificate.calendar.has_slots:
            raise ReleaseError("the certificate has other periods than the files")
        self.slots = certificate.calendar.slots if day else ()
        listed = manifest["periods"] if day else [{"quality": manifest.get("quality")}]
        self.qualities = [_quality(each.get("quality"), certificate) for each in listed]
        self.vehicles_per_hour: list[float | None] = [_rate(each.get("vehicles_per_hour")) for each in listed]
        if day and [_slot_named(each) for each in listed] != [_slot_named(slot.as_dict) for slot in self.slots]:
            raise ReleaseError("the certificate has other periods than the manifest")
        known = [-1.0 if rate is None else rate for rate in self.vehicles_per_hour]
        self.busiest = known.index(max(known))
        self._read: dict[int, Part] = {}
        nodes, links = self.files.table(NODES), self.files.table(LINKS)
        streets, zones = (self.files.table(name) if name in self.files else None for name in (STREETS, ZONES))
        self._network = with_map(_network(nodes, links, manifest["network"], certificate), streets, zones)

    def __len__(self) -> int:
        return len(self.qualities)

    @overload
    def __getitem__(self, position: int) -> Part: ...
    @overload
    def __getitem__(self, position: slice) -> list[Part]: ...
    def __getitem__(self, position: int | slice) -> Part | list[Part]:
        if isinstance(position, slice):
            return [self[each] for each in range(*position.indices(len(self)))]
        at = range(len(self))[position]
        if at not in self._read:
            with _refused(self._place):
                self._read[at] = self._part(at)
        return self._read[at]

    def _part(self, at: int) -> Part:
        names = (POLICY, ROUTES, DEMAND)
        own = names if not self.slots else [name_in_slot(name, self.slots[at].key) for name in names]
        policy = _read_policy(self.files, self._network, own[0], own[1])
        if self._read:  # the same pairs for all, so that what is known of them is computed once
            first = next(iter(self._read.values())).policy
            if policy.pairs != first.pairs:
                raise ReleaseError("the periods have different pairs")
        _check_sizes(self._certificate, policy)
        demand = counts = None
        if own[2] in self.files:
            demand, counts = _demand(self.files.table(own[2], DEMAND), policy, self._certificate)
        return Part(policy, demand, counts, self.qualities[at])


@contextmanager
def _refused(place: Path) -> Iterator[None]:
    """Whatever does not fit ends in a ReleaseError."""
    try:
        yield
    except (
        PrivrouteError,
        pa.ArrowException,
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        OSError,
        TypeError,
        ValueError,
    ) as problem:
        if isinstance(problem, ReleaseError) and str(problem).startswith(f"{place} is not a release"):
            raise
        raise ReleaseError(f"{place} is not a release that can be read: {problem}") from None


def _rate(value: object) -> float | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf):
        return None if value is None else float(value)
    raise ReleaseError("vehicles_per_hour is not a number of at least 0")


def _slot_named(values: dict[str, Any]) -> tuple[Any, Any]:
    return values["day_type"], values["period"]


def _manifest(place: Path, trusted: str | os.PathLike[str] | None) -> dict[str, Any]:
    path = place / MANIFEST
    try:
        data = read_bytes(path, largest=_LARGEST_MANIFEST)
    except FormatError as problem:
        raise ReleaseError(f"{place} is not a release: {problem}") from None
    if trusted is not None:
        check_signature(place, data, trusted)
    try:
        found = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise ReleaseError(f"{path} is damaged: it is not JSON") from None
    number = found.get("format") if isinstance(found, dict) else None
    if not isinstance(found, dict) or type(number) is not int or number not in _READ:
        raise ReleaseError(f"{path} is not of a format that this privroute reads: {_why_not(number)}")
    parts: dict[str, type] = {"certificate": dict, "network": dict, "sha256": dict}
    day = "periods" in found if number == FORMAT else number == _OF_PERIODS
    parts |= {"periods": list} if day else {}
    for name, kind in parts.items():
        if not isinstance(found.get(name), kind):
            raise ReleaseError(f"{path} is damaged: {name} is missing")
    if set(found["network"]) != {"crs"}:
        raise ReleaseError(f"{path} is damaged: network has other entries than crs")
    needed, listed = {NODES, LINKS}, set(found["sha256"])
    own = {POLICY, ROUTES, DEMAND} if not day else {name for name in listed if is_of_slot(name)}
    whole = needed <= listed <= needed | own | {STREETS, ZONES} and listed & own - {DEMAND}
    if not whole or ("periods" in found) != day:
        raise ReleaseError(f"{path} is damaged: it lists other files than a release has")
    return found


def _quality(values: object, certificate: Certificate) -> Quality | None:
    """What was measured, which the certificate must have announced; releases may be without."""
    if values is None:
        return None
    quality = Quality.from_dict(values)
    if quality.share != certificate.quality_share:
        raise ReleaseError("the measured quality has another share of rho than the certificate says")
    source = None if certificate.total is None else certificate.total["source"]
    if quality.trips not in {None: ("all",), "kept": ("kept",)}.get(source, ("scaled", "kept")):
        raise ReleaseError("the measured quality is of other trips than the certificate says")
    return quality


def _check_sizes(certificate: Certificate, policy: RoutingPolicy) -> None:
    study = certificate.study
    said = (study["network"]["nodes"], study["network"]["links"], study["pairs"])
    if said != (policy.network.nodes, policy.network.links, len(policy.pairs)):
        raise ReleaseError("the certificate is for another network or other pairs than the files hold")


def _why_not(number: object) -> str:
    if number == 1 and type(number) is int:
        return "format 1 was never published; make the release again"
    if type(number) is int and number > FORMAT:
        return f"a newer privroute wrote it; this one reads formats {_READ[0]} to {FORMAT}"
    return "its format is missing"


def _read_policy(files: ReleaseFiles, network: Network, file: str, routes_file: str) -> RoutingPolicy:
    """The policy by origin, or as paths where there is no other; both are the same where there are both."""
    written = _policy(files.table(routes_file, ROUTES), network) if routes_file in files else None
    if file not in files:
        if written is None:
            raise ReleaseError(f"there is neither {file} nor {routes_file}")
        return written
    policy = read_policy(pa.py_buffer(files.data(file)), network)
    if written is not None and policy.as_paths() != written:
        raise ReleaseError(f"{routes_file} has other routes than {file}")
    return policy


def _network(nodes: pa.Table, links: pa.Table, extra: dict[str, Any], certificate: Certificate) -> Network:
    if nodes["x_coord"].null_count != nodes["y_coord"].null_count:
        raise ReleaseError(f"{NODES} has x_coord without y_coord, or the other way round")
    bare = bool(nodes["x_coord"].null_count)
    points = None if bare else np.column_stack([as_numpy(nodes["x_coord"]), as_numpy(nodes["y_coord"])])
    labels = _texts(nodes["node_id"])
    index = {label: node for node, label in enumerate(labels)}
    length = links["length_km"]
    return Network(
        _positions(links["from_node_id"], index),
        _positions(links["to_node_id"], index),
        _latency(links),
        labels,
        zones=np.flatnonzero(as_numpy(nodes["is_zone"])),
        no_through=as_numpy(nodes["no_through"]),
        background_per_min=as_numpy(links["background_per_min"]),
        fixed_cost_min=_fixed_cost(links),
        coordinates=points,
        crs=extra["crs"],
        length_km=None if length.null_count else as_numpy(length),
        link_labels=_texts(links["link_id"]),
        units=certificate.units,
    )


def _fixed_cost(links: pa.Table) -> NDArray[np.float64] | float:
    """What links cost beside time; a column is there only where it is not zero."""
    if FIXED_COST not in links.column_names:
        return 0.0
    if links[FIXED_COST].null_count:
        raise ReleaseError(f"{LINKS}: {FIXED_COST} is empty in some rows")
    return as_numpy(links[FIXED_COST])


def _latency(links: pa.Table) -> Latency:
    """The curves; a parameter stands in every row whose curve has it and in no other."""
    encoded = whole(links[CURVE_COLUMN].unify_dictionaries())
    named = encoded.dictionary.to_pylist()
    unknown = [name for name in named if name not in CURVES]
    if unknown:
        raise ReleaseError(f"{LINKS}: {CURVE_COLUMN} is {show(unknown[0])}; known curves are {', '.join(CURVES)}")
    curve = np.array([number_of(name) for name in named], dtype=np.uint8)[as_numpy(encoded.indices)]
    present = [name for number, name in enumerate(CURVES) if np.any(curve == number)]
    found = [column for column in parameter_columns(CURVES) if column in links.column_names]
    if found != parameter_columns(present):
        raise ReleaseError(f"{LINKS} has other parameters than its curves need: {', '.join(found) or 'none'}")
    columns: dict[str, NDArray[np.float64]] = {}
    for column in found:
        having = [number_of(name) for name in present if column in parameter_columns([name])]
        if not np.array_equal(valid(links[column]), np.isin(curve, having)):
            raise ReleaseError(f"{LINKS}: {column} is not in exactly the rows whose curve has it")
        columns[column] = as_numpy(links[column])
    return latency_of_columns(as_numpy(links["free_flow_min"]), as_numpy(links["capacity_per_min"]), curve, columns)


def _policy(routes: pa.Table, network: Network) -> RoutingPolicy:
    origin, destination = _ends(routes, network)
    key = origin.astype(np.int64) << 32 | destination
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if key.size else np.empty(0, np.int64)
    start = np.concatenate([first, [key.size]]).astype(np.int64)
    if not np.array_equal(as_numpy(routes["route"]), np.arange(key.size) - np.repeat(first, np.diff(start))):
        raise ReleaseError(f"{ROUTES}: route does not count the routes of each pair from 0")
    links = whole(routes["link_ids"])
    if links.values.null_count:
        raise ReleaseError(f"{ROUTES}: link_ids has empty entries")
    return RoutingPolicy(
        network,
        Pairs(origin[first], destination[first]),
        start,
        as_numpy(links.offsets),
        as_numpy(links.values),
        as_numpy(routes["probability"]),
    )


def _demand(
    table: pa.Table, policy: RoutingPolicy, certificate: Certificate
) -> tuple[Demand, NDArray[np.int64] | None]:
    origin, destination = _ends(table, policy.network)
    pairs = policy.pairs
    if not np.array_equal(origin, pairs.origin) or not np.array_equal(destination, pairs.destination):
        raise ReleaseError(f"{DEMAND} has other pairs than the policy, or has them in another order")
    counts = table["noisy_count"]
    demand = Demand(pairs, as_numpy(table["rate_per_min"]), expansion=certificate.expansion)
    return demand, None if counts.null_count else as_numpy(counts)


def _ends(table: pa.Table, network: Network) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    index = {str(label): node for node, label in enumerate(network.node_labels)}
    return _positions(table["origin"], index), _positions(table["destination"], index)


def _positions(column: pa.ChunkedArray, labels: dict[str, int]) -> NDArray[np.int32]:
    """Position among `labels` of each row's label."""
    encoded = whole(column.unify_dictionaries())
    texts = encoded.dictionary.to_pylist()
    unknown = next((text for text in texts if text not in labels), None)
    if unknown is not None:
        raise ReleaseError(f"no node is labelled {unknown[:40]!r}")
    return np.asarray(np.array([labels[text] for text in texts], dtype=np.int32)[as_numpy(encoded.indices)])


def _texts(column: pa.ChunkedArray) -> list[str]:
    encoded = whole(column.unify_dictionaries())
    texts = encoded.dictionary.to_pylist()
    return [texts[position] for position in encoded.indices.to_pylist()]
