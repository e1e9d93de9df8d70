"""Writing the release folder: release.json, nodes.parquet, links.parquet, the policy and perhaps demand.parquet.

A policy by origin is policy.arrow, and routes.parquet too where it has at most MOST_WRITTEN_ROUTES routes. A policy of
paths is routes.parquet.

Tables have GMNS column names, so that pandas, Polars and DuckDB open them as they are. A folder is written beside its
place and renamed, so that it is whole or not there.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privroute.errors import ReleaseError
from privroute.network.curve_columns import CURVE_COLUMN, values_by_column
from privroute.network.curves import CURVES
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
    flush,
    folder_beside,
    only_a_release,
    put_in_place,
)
from privroute.release.map_tables import has_zone_table, street_table, zone_table
from privroute.release.policy_file import write_policy

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.release.certificate import Certificate
    from privroute.release.quality import Quality

__all__ = ["FORMAT", "MOST_WRITTEN_ROUTES", "write_release"]

FORMAT = 2
MOST_WRITTEN_ROUTES = 100_000
"""A policy by origin with more routes has no routes.parquet; `privroute export --format routes` writes one."""


def write_release(
    folder: str | os.PathLike[str],
    policy: RoutingPolicy,
    certificate: Certificate,
    demand: Demand | None,
    noisy_counts: NDArray[np.int64] | None,
    *,
    overwrite: bool = False,
    quality: Quality | None = None,
) -> None:
    """Write a release folder beside its place, then rename it there."""
    target = Path(folder)
    try:
        _check_place(target, overwrite=overwrite)
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = folder_beside(target, "part")
    except OSError as problem:
        raise ReleaseError(f"{target} cannot be written ({problem.strerror}); check the folder") from None
    try:
        _write_tables(beside, policy, demand, noisy_counts)
        tables = sorted(path.name for path in beside.iterdir())
        manifest = {
            "format": FORMAT,
            "certificate": certificate.as_dict(),
            "quality": None if quality is None else quality.as_dict(),
            "network": {"crs": policy.network.crs},
            "sha256": {name: _digest(beside / name) for name in tables},
        }
        text = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        (beside / MANIFEST).write_text(text, encoding="utf-8")
        for path in [*beside.iterdir(), beside]:
            flush(path)
        put_in_place(beside, target)
    except OSError as problem:
        raise ReleaseError(f"{target} cannot be written ({problem.strerror}); check space and permissions") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _check_place(target: Path, *, overwrite: bool) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise ReleaseError(f"{target} is not a folder; choose another place")
    if not target.is_dir() or not any(target.iterdir()):
        return
    if not overwrite:
        raise ReleaseError(f"{target} is not empty; choose another folder, or pass overwrite=True to replace it")
    if not only_a_release(target):
        raise ReleaseError(f"{target} contains other files than a release and is not replaced; choose another folder")


def _write_tables(
    place: Path, policy: RoutingPolicy, demand: Demand | None, noisy_counts: NDArray[np.int64] | None
) -> None:
    network, pairs = policy.network, policy.pairs
    labels = pa.array([str(label) for label in network.node_labels])
    points = network.coordinates
    zone = np.zeros(network.nodes, dtype=bool)
    zone[network.zones] = True
    _table(
        place / NODES,
        node_id=labels,
        x_coord=pa.nulls(network.nodes, pa.float64()) if points is None else points[:, 0],
        y_coord=pa.nulls(network.nodes, pa.float64()) if points is None else points[:, 1],
        is_zone=zone,
        no_through=network.no_through,
    )
    latency = network.latency
    _table(
        place / LINKS,
        link_id=pa.array([str(label) for label in network.link_labels]),
        from_node_id=labels.take(pa.array(network.tail)),
        to_node_id=labels.take(pa.array(network.head)),
        length_km=pa.nulls(network.links, pa.float64()) if network.length_km is None else network.length_km,
        free_flow_min=latency.free_flow_min,
        capacity_per_min=latency.capacity_per_min,
        background_per_min=network.background_per_min,
        **{CURVE_COLUMN: pa.array(list(CURVES)).take(pa.array(latency.curve))},
        **({FIXED_COST: network.fixed_cost_min} if network.has_fixed_costs else {}),
        **{name: pa.array(values, from_pandas=True) for name, values in values_by_column(latency).items()},
    )
    if network.streets is not None:
        _table(place / STREETS, **street_table(network.streets))
    if has_zone_table(network):
        _table(place / ZONES, **zone_table(network))
    if policy.is_by_origin:
        write_policy(place / POLICY, policy)
    if not policy.is_by_origin or policy.summary().paths <= MOST_WRITTEN_ROUTES:
        written = policy.as_paths()
        pair_of_path = np.repeat(np.arange(len(pairs)), np.diff(written.pair_start))
        _table(
            place / ROUTES,
            origin=labels.take(pa.array(pairs.origin[pair_of_path])),
            destination=labels.take(pa.array(pairs.destination[pair_of_path])),
            route=np.arange(written.probability.size) - written.pair_start[:-1][pair_of_path],
            probability=written.probability,
            link_ids=pa.LargeListArray.from_arrays(pa.array(written.path_start), pa.array(written.links)),
        )
    if demand is not None:
        counts = pa.nulls(len(pairs), pa.int64()) if noisy_counts is None else pa.array(noisy_counts, pa.int64())
        _table(
            place / DEMAND,
            origin=labels.take(pa.array(pairs.origin)),
            destination=labels.take(pa.array(pairs.destination)),
            noisy_count=counts,
            rate_per_min=demand.rate_per_min,
        )


def _table(path: Path, **columns: Any) -> None:
    pq.write_table(pa.table(columns), path, compression="zstd")


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
