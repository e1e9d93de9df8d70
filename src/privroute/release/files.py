"""Writing the release folder: release.json, nodes.parquet, links.parquet, the policy and perhaps demand.parquet.

A policy by origin is policy.arrow, and routes.parquet too where it has at most MOST_WRITTEN_ROUTES routes. A policy of
paths is routes.parquet. Of a release of several periods or kinds of days each has these files under names of its own,
such as demand_workday_0700-0800.parquet.

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
    name_in_slot,
    only_a_release,
    put_in_place,
)
from privroute.release.map_tables import has_zone_table, street_table, zone_table
from privroute.release.policy_file import write_policy

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.release.release import Release

__all__ = ["FORMAT", "MOST_WRITTEN_ROUTES", "write_release"]

FORMAT = 4
"""Of a release with several periods or kinds of days, which has a policy and perhaps a demand for each."""
_MIN_PER_H = 60.0
MOST_WRITTEN_ROUTES = 100_000
"""A policy by origin with more routes has no routes.parquet; `privroute export --format routes` writes one."""


def write_release(folder: str | os.PathLike[str], release: Release, *, overwrite: bool = False) -> None:
    """Write a release folder beside its place, then rename it there."""
    target = Path(folder)
    try:
        _check_place(target, overwrite=overwrite)
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = folder_beside(target, "part")
    except OSError as problem:
        raise ReleaseError(f"{target} cannot be written ({problem.strerror}); check the folder") from None
    try:
        described = _write_all(beside, release)
        tables = sorted(path.name for path in beside.iterdir())
        manifest = {
            "format": FORMAT,
            "certificate": release.certificate.as_dict(),
            **described,
            "network": {"crs": release.network.crs},
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


def _write_all(place: Path, release: Release) -> dict[str, Any]:
    """Write the tables; returns what the manifest says of them: the quality, or the periods with theirs."""
    _write_network(place, release.network)
    if not release.parts:
        _write_part(place, release.policy, release.demand, release.noisy_counts)
        described: dict[str, Any] = {"quality": None if release.quality is None else release.quality.as_dict()}
        return described
    few = sum(part.policy.summary().paths for part in release.parts) <= MOST_WRITTEN_ROUTES
    periods = []
    for slot, part in zip(release.slots, release.parts, strict=True):
        _write_part(place, part.policy, part.demand, part.noisy_counts, slot.key, with_routes=few)
        periods.append(
            {
                **slot.as_dict,
                "vehicles_per_hour": None if part.demand is None else part.demand.total_per_min * _MIN_PER_H,
                "quality": None if part.quality is None else part.quality.as_dict(),
            }
        )
    return {"periods": periods}


def _check_place(target: Path, *, overwrite: bool) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise ReleaseError(f"{target} is not a folder; choose another place")
    if not target.is_dir() or not any(target.iterdir()):
        return
    if not overwrite:
        raise ReleaseError(f"{target} is not empty; choose another folder, or pass overwrite=True to replace it")
    if not only_a_release(target):
        raise ReleaseError(f"{target} contains other files than a release and is not replaced; choose another folder")


def _write_network(place: Path, network: Network) -> None:
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


def _write_part(
    place: Path,
    policy: RoutingPolicy,
    demand: Demand | None,
    noisy_counts: NDArray[np.int64] | None,
    key: str | None = None,
    *,
    with_routes: bool = True,
) -> None:
    """Write a policy, and a demand where there is one.

    key : of the period and kind of day, where there are several
    with_routes : False where those of all periods together are too many
    """
    pairs = policy.pairs
    labels = pa.array([str(label) for label in policy.network.node_labels])
    policy_file, routes_file, demand_file = (
        place / (name if key is None else name_in_slot(name, key)) for name in (POLICY, ROUTES, DEMAND)
    )
    if policy.is_by_origin:
        write_policy(policy_file, policy)
    if not policy.is_by_origin or (with_routes and policy.summary().paths <= MOST_WRITTEN_ROUTES):
        written = policy.as_paths()
        pair_of_path = np.repeat(np.arange(len(pairs)), np.diff(written.pair_start))
        _table(
            routes_file,
            origin=labels.take(pa.array(pairs.origin[pair_of_path])),
            destination=labels.take(pa.array(pairs.destination[pair_of_path])),
            route=np.arange(written.probability.size) - written.pair_start[:-1][pair_of_path],
            probability=written.probability,
            link_ids=pa.LargeListArray.from_arrays(pa.array(written.path_start), pa.array(written.links)),
        )
    if demand is not None:
        counts = pa.nulls(len(pairs), pa.int64()) if noisy_counts is None else pa.array(noisy_counts, pa.int64())
        _table(
            demand_file,
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
