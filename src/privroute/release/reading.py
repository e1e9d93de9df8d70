"""Reading the release folder: every file once, bounded, against its checksum, and nothing in it is taken on trust.

What is read is a stranger's: sizes, names and types are checked before any table is, and whatever does not fit ends in
a ReleaseError that names it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privroute.errors import FormatError, PrivrouteError, ReleaseError
from privroute.network.checks import show
from privroute.network.curve_columns import CURVE_COLUMN, latency_of_columns, parameter_columns
from privroute.network.curves import CURVES, number_of
from privroute.network.demand import Demand
from privroute.network.network import Network
from privroute.network.pairs import Pairs
from privroute.network.text_files import map_bytes, read_bytes
from privroute.policy.routing_policy import RoutingPolicy
from privroute.release.arrow_arrays import as_numpy, valid, whole
from privroute.release.certificate import Certificate
from privroute.release.files import FORMAT
from privroute.release.folder import DEMAND, LINKS, MANIFEST, NODES, POLICY, ROUTES, STREETS, ZONES
from privroute.release.map_tables import STREET_COLUMNS, ZONE_COLUMNS, with_map
from privroute.release.policy_file import read_policy
from privroute.release.quality import Quality
from privroute.release.signing import check_signature

if TYPE_CHECKING:
    import mmap
    import os

    from numpy.typing import NDArray

    from privroute.network.latency import Latency

__all__ = ["read_release"]

_LARGEST_MANIFEST = 2**24
_LARGEST_TABLE = 2_000_000_000
_LARGEST_POLICY = 16_000_000_000
_MOST_VALUES = 500_000_000

_TEXT, _NUMBER, _WHOLE, _FLAG, _LINKS = pa.string(), pa.float64(), pa.int64(), pa.bool_(), pa.large_list(pa.int32())


@dataclass(frozen=True, slots=True)
class _Layout:
    """What a table has to be.

    columns : names and types, in order
    optional : columns that are empty in all rows where they are not known
    most_rows : more are not read
    """

    columns: dict[str, pa.DataType]
    optional: frozenset[str]
    most_rows: int


_LAYOUTS = {
    NODES: _Layout(
        {"node_id": _TEXT, "x_coord": _NUMBER, "y_coord": _NUMBER, "is_zone": _FLAG, "no_through": _FLAG},
        frozenset({"x_coord", "y_coord"}),
        2_000_000,
    ),
    LINKS: _Layout(
        {
            "link_id": _TEXT,
            "from_node_id": _TEXT,
            "to_node_id": _TEXT,
            "length_km": _NUMBER,
            "free_flow_min": _NUMBER,
            "capacity_per_min": _NUMBER,
            "background_per_min": _NUMBER,
            CURVE_COLUMN: _TEXT,
        },
        frozenset({"length_km"}),
        10_000_000,
    ),
    ROUTES: _Layout(
        {"origin": _TEXT, "destination": _TEXT, "route": _WHOLE, "probability": _NUMBER, "link_ids": _LINKS},
        frozenset(),
        200_000_000,
    ),
    DEMAND: _Layout(
        {"origin": _TEXT, "destination": _TEXT, "noisy_count": _WHOLE, "rate_per_min": _NUMBER},
        frozenset({"noisy_count"}),
        100_000_000,
    ),
    STREETS: _Layout(STREET_COLUMNS, frozenset(), 10_000_000),
    ZONES: _Layout(ZONE_COLUMNS, frozenset(), 2_000_000),
}


def read_release(
    folder: str | os.PathLike[str], *, trusted: str | os.PathLike[str] | None = None
) -> tuple[RoutingPolicy, Certificate, Demand | None, NDArray[np.int64] | None, Quality | None]:
    """Policy, certificate, demand, noisy counts and quality of a release folder; trusted : as in load_release."""
    place = Path(folder)
    manifest = _manifest(place, trusted)
    digests = manifest["sha256"]
    try:
        certificate = Certificate.from_dict(manifest["certificate"])
        quality = _quality(manifest.get("quality"), certificate)
        nodes, links = (_read_table(place, name, digests[name]) for name in (NODES, LINKS))
        streets, zones = (
            _read_table(place, name, digests[name]) if name in digests else None for name in (STREETS, ZONES)
        )
        network = with_map(_network(nodes, links, manifest["network"]), streets, zones)
        policy = _read_policy(place, digests, network)
        _check_sizes(certificate, policy)
        demand = counts = None
        if DEMAND in digests:
            demand, counts = _demand(_read_table(place, DEMAND, digests[DEMAND]), policy, certificate)
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
        raise ReleaseError(f"{place} is not a release that can be read: {problem}") from None
    return policy, certificate, demand, counts, quality


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
    if not isinstance(found, dict) or type(number) is not int or number != FORMAT:
        raise ReleaseError(f"{path} is not of a format that this privroute reads: {_why_not(number)}")
    parts = {"certificate": dict, "network": dict, "sha256": dict}
    for name, kind in parts.items():
        if not isinstance(found.get(name), kind):
            raise ReleaseError(f"{path} is damaged: {name} is missing")
    if set(found["network"]) != {"crs"}:
        raise ReleaseError(f"{path} is damaged: network has other entries than crs")
    needed = {NODES, LINKS}
    listed = set(found["sha256"])
    if not needed <= listed <= needed | {POLICY, ROUTES, DEMAND, STREETS, ZONES} or not listed & {POLICY, ROUTES}:
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
        return f"a newer privroute wrote it; this one reads format {FORMAT}"
    return "its format is missing"


def _read_policy(place: Path, digests: dict[str, Any], network: Network) -> RoutingPolicy:
    """The policy by origin, or as paths where there is no other; both are the same where there are both."""
    written = _policy(_read_table(place, ROUTES, digests[ROUTES]), network) if ROUTES in digests else None
    if POLICY not in digests:
        assert written is not None  # noqa: S101 - the manifest lists one of them
        return written
    data = map_bytes(place / POLICY, largest=_LARGEST_POLICY)
    _check_digest(POLICY, data, digests[POLICY])
    policy = read_policy(pa.py_buffer(data), network)
    if written is not None and policy.as_paths() != written:
        raise ReleaseError(f"{ROUTES} has other routes than {POLICY}")
    return policy


def _check_digest(name: str, data: bytes | mmap.mmap, digest: object) -> None:
    if hashlib.sha256(data).hexdigest() != digest:
        raise ReleaseError(f"{name} is not the file that was released; copy the whole folder again")


def _read_table(place: Path, name: str, digest: object) -> pa.Table:
    """The table of a file that is read once: the bytes whose checksum is right are those that are parsed."""
    data = read_bytes(place / name, largest=_LARGEST_TABLE)
    _check_digest(name, data, digest)
    layout = _LAYOUTS[name]
    _check_layout(name, pq.ParquetFile(pa.BufferReader(data)), layout)
    # labels stay dictionaries: a long one that stands in every row is one text in memory
    labels = [column for column, kind in layout.columns.items() if kind == _TEXT]
    table = pq.ParquetFile(pa.BufferReader(data), read_dictionary=labels).read(use_threads=False)
    for column in layout.columns:
        missing = table[column].null_count
        if missing and not (column in layout.optional and missing == len(table)):
            raise ReleaseError(f"{name}: {column} is empty in {missing:,} of {len(table):,} rows")
    return table


def _check_layout(name: str, file: pq.ParquetFile, layout: _Layout) -> None:
    """Refuse, by the file's own description, what is too large or has other columns."""
    found = file.schema_arrow
    # the parameters of the curves that occur stand behind the other columns of the links
    further = parameter_columns(CURVES) if name == LINKS else []
    wanted = layout.columns | {column: _NUMBER for column in further if column in found.names}
    if found.names != list(wanted) or any(found.field(column).type != kind for column, kind in wanted.items()):
        listed = ", ".join(f"{column} {kind}" for column, kind in wanted.items())
        raise ReleaseError(f"{name} has other columns than {listed}")
    about = file.metadata
    if about.num_rows > layout.most_rows:
        raise ReleaseError(f"{name} has {about.num_rows:,} rows; more than {layout.most_rows:,} are not read")
    groups = [about.row_group(position) for position in range(about.num_row_groups)]
    size = sum(group.total_byte_size for group in groups)
    if size > _LARGEST_TABLE:
        raise ReleaseError(f"{name} unpacks to {size:,} bytes; more than {_LARGEST_TABLE:,} are not read")
    for column in range(about.num_columns):
        values = sum(group.column(column).num_values for group in groups)
        if values > _MOST_VALUES:
            raise ReleaseError(f"{name} has {values:,} values in one column; more than {_MOST_VALUES:,} are not read")


def _network(nodes: pa.Table, links: pa.Table, extra: dict[str, Any]) -> Network:
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
        coordinates=points,
        crs=extra["crs"],
        length_km=None if length.null_count else as_numpy(length),
        link_labels=_texts(links["link_id"]),
    )


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
