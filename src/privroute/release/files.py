"""The release folder: release.json, nodes.parquet, links.parquet, routes.parquet and perhaps demand.parquet.

Tables have GMNS column names, so that pandas, Polars and DuckDB open them as they are. A folder is written beside its
place and renamed, so that it is whole or not there; reading checks every file against its checksum.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privroute.errors import PrivrouteError, ReleaseError
from privroute.network.demand import Demand
from privroute.network.latency import Latency
from privroute.network.network import Network
from privroute.network.pairs import Pairs
from privroute.policy.routing_policy import RoutingPolicy
from privroute.release.certificate import Certificate

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FORMAT", "read_release", "write_release"]

FORMAT = 1
MANIFEST = "release.json"
_LARGEST_MANIFEST = 2**24


def write_release(
    folder: str | os.PathLike[str],
    policy: RoutingPolicy,
    certificate: Certificate,
    demand: Demand | None,
    noisy_counts: NDArray[np.int64] | None,
    *,
    overwrite: bool = False,
) -> None:
    """Write a release folder beside its place, then rename it there."""
    target = Path(folder)
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise ReleaseError(f"{target} is not a folder; choose another place")
    if target.is_dir() and any(target.iterdir()) and not overwrite:
        raise ReleaseError(f"{target} is not empty; choose another folder, or pass overwrite=True to replace it")
    if target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).exists():
        raise ReleaseError(f"{target} holds other files than a release, so it is not replaced; choose another folder")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part"))
    except OSError as problem:
        raise ReleaseError(f"{target} cannot be written ({problem.strerror}); check the folder") from None
    try:
        _write_tables(beside, policy, demand, noisy_counts)
        tables = sorted(path.name for path in beside.iterdir())
        manifest = {
            "format": FORMAT,
            "certificate": certificate.as_dict(),
            "network": {"crs": policy.network.crs, "zones": [int(zone) for zone in policy.network.zones]},
            "sha256": {name: _digest(beside / name) for name in tables},
        }
        text = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        (beside / MANIFEST).write_text(text, encoding="utf-8")
        for path in [*beside.iterdir(), beside]:
            _flush(path)
        beside.chmod(0o755)
        _put_in_place(beside, target)
    except OSError as problem:
        raise ReleaseError(f"{target} cannot be written ({problem.strerror}); check space and permissions") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def read_release(
    folder: str | os.PathLike[str],
) -> tuple[RoutingPolicy, Certificate, Demand | None, NDArray[np.int64] | None]:
    """Policy, certificate, demand and noisy counts of a release folder."""
    place = Path(folder)
    manifest = _manifest(place)
    for name, digest in manifest["sha256"].items():
        path = place / name
        if not path.is_file():
            raise ReleaseError(f"{place}: {name} is missing; copy the whole folder again")
        if _digest(path) != digest:
            raise ReleaseError(f"{place}: {name} is not the file that was released; copy the whole folder again")
    try:
        certificate = Certificate.from_dict(manifest["certificate"])
        network = _read_network(place, manifest["network"])
        policy, pairs = _read_policy(place, network)
        demand, counts = (
            _read_demand(place, pairs, certificate) if "demand.parquet" in manifest["sha256"] else (None, None)
        )
    except (PrivrouteError, pa.ArrowException, KeyError, TypeError, ValueError, OSError) as problem:
        raise ReleaseError(f"{place} is not a release that can be read: {problem}") from None
    return policy, certificate, demand, counts


def _write_tables(
    place: Path, policy: RoutingPolicy, demand: Demand | None, noisy_counts: NDArray[np.int64] | None
) -> None:
    network, pairs = policy.network, policy.pairs
    labels = pa.array([str(label) for label in network.node_labels])
    points = network.coordinates
    zone = np.zeros(network.nodes, dtype=bool)
    zone[network.zones] = True
    _table(
        place / "nodes.parquet",
        node_id=labels,
        x_coord=pa.nulls(network.nodes, pa.float64()) if points is None else points[:, 0],
        y_coord=pa.nulls(network.nodes, pa.float64()) if points is None else points[:, 1],
        is_zone=zone,
        no_through=network.no_through,
    )
    latency = network.latency
    _table(
        place / "links.parquet",
        link_id=pa.array([str(label) for label in network.link_labels]),
        from_node_id=labels.take(pa.array(network.tail)),
        to_node_id=labels.take(pa.array(network.head)),
        length_km=pa.nulls(network.links, pa.float64()) if network.length_km is None else network.length_km,
        free_flow_min=latency.free_flow_min,
        capacity_per_min=latency.capacity_per_min,
        vdf_alpha=latency.b,
        vdf_beta=latency.power,
        background_per_min=network.background_per_min,
    )
    per_pair = np.diff(policy.pair_start)
    pair_of_path = np.repeat(np.arange(len(pairs)), per_pair)
    _table(
        place / "routes.parquet",
        origin=labels.take(pa.array(pairs.origin[pair_of_path])),
        destination=labels.take(pa.array(pairs.destination[pair_of_path])),
        route=np.arange(policy.probability.size) - policy.pair_start[:-1][pair_of_path],
        probability=policy.probability,
        link_ids=pa.LargeListArray.from_arrays(pa.array(policy.path_start), pa.array(policy.links)),
    )
    if demand is not None:
        counts = pa.nulls(len(pairs), pa.int64()) if noisy_counts is None else noisy_counts
        _table(
            place / "demand.parquet",
            origin=labels.take(pa.array(pairs.origin)),
            destination=labels.take(pa.array(pairs.destination)),
            noisy_count=counts,
            rate_per_min=demand.rate_per_min,
        )


def _table(path: Path, **columns: Any) -> None:
    pq.write_table(pa.table(columns), path, compression="zstd")


def _manifest(place: Path) -> dict[str, Any]:
    path = place / MANIFEST
    try:
        if path.stat().st_size > _LARGEST_MANIFEST:
            raise ReleaseError(f"{path} is too large to be a release's")
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise ReleaseError(f"{place} is not a release: {MANIFEST} cannot be read ({problem.strerror})") from None
    except (ValueError, RecursionError):
        raise ReleaseError(f"{path} is damaged: it is not JSON") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ReleaseError(f"{path} is not of format {FORMAT}; read it with the version that wrote it")
    parts = {"certificate": dict, "network": dict, "sha256": dict}
    for name, kind in parts.items():
        if not isinstance(found.get(name), kind):
            raise ReleaseError(f"{path} is damaged: {name} is missing")
    needed = {"nodes.parquet", "links.parquet", "routes.parquet"}
    listed = set(found["sha256"])
    if not needed <= listed <= needed | {"demand.parquet"}:
        raise ReleaseError(f"{path} is damaged: it lists other files than a release has")
    return found


def _read_network(place: Path, extra: dict[str, Any]) -> Network:
    nodes = pq.read_table(place / "nodes.parquet")
    links = pq.read_table(place / "links.parquet")
    labels = nodes["node_id"].to_pylist()
    index = {label: position for position, label in enumerate(labels)}
    x, y = nodes["x_coord"], nodes["y_coord"]
    points = None if x.null_count else np.column_stack([x.to_numpy(), y.to_numpy()])
    length = links["length_km"]
    return Network(
        np.array([index[label] for label in links["from_node_id"].to_pylist()], dtype=np.int32),
        np.array([index[label] for label in links["to_node_id"].to_pylist()], dtype=np.int32),
        Latency(*(links[name].to_numpy() for name in ("free_flow_min", "capacity_per_min", "vdf_alpha", "vdf_beta"))),
        labels,
        zones=np.array(extra["zones"], dtype=np.int32),
        no_through=nodes["no_through"].to_numpy(),
        background_per_min=links["background_per_min"].to_numpy(),
        coordinates=points,
        crs=extra["crs"],
        length_km=None if length.null_count else length.to_numpy(),
        link_labels=links["link_id"].to_pylist(),
    )


def _read_policy(place: Path, network: Network) -> tuple[RoutingPolicy, Pairs]:
    routes = pq.read_table(place / "routes.parquet")
    origin, destination = (_nodes(network, routes[name]) for name in ("origin", "destination"))
    key = origin.astype(np.int64) << 32 | destination
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if key.size else np.empty(0, np.int64)
    pairs = Pairs(origin[first], destination[first])
    links = routes["link_ids"].combine_chunks()
    policy = RoutingPolicy(
        network,
        pairs,
        np.concatenate([first, [key.size]]).astype(np.int64),
        links.offsets.to_numpy(),
        links.flatten().to_numpy(),
        routes["probability"].to_numpy(),
    )
    return policy, pairs


def _read_demand(place: Path, pairs: Pairs, certificate: Certificate) -> tuple[Demand, NDArray[np.int64] | None]:
    table = pq.read_table(place / "demand.parquet")
    if len(table) != len(pairs):
        raise ReleaseError("demand.parquet has other pairs than routes.parquet")
    counts = table["noisy_count"]
    demand = Demand(pairs, table["rate_per_min"].to_numpy(), expansion=certificate.expansion)
    return demand, None if counts.null_count else counts.to_numpy()


def _nodes(network: Network, column: pa.ChunkedArray) -> NDArray[np.int32]:
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    known = np.array([network.node(label) for label in encoded.dictionary.to_pylist()], dtype=np.int32)
    return np.asarray(known[encoded.indices.to_numpy()])


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _put_in_place(beside: Path, target: Path) -> None:
    """Rename onto `target`; a release that is there is moved aside first and removed after."""
    if not target.exists() or not any(target.iterdir()):
        beside.replace(target)
        return
    aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".old"))
    target.replace(aside)
    beside.replace(target)
    shutil.rmtree(aside)
