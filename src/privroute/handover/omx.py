"""A release as an Open Matrix file: matrices over the zones, as transport models exchange them.

demand_per_h : released vehicles per hour
policy_min : expected minutes on the policy's routes, at the times that the demand causes
free_flow_min : minutes of the fastest path on empty roads

Where the network has other units, names and numbers are in them: demand_Mbit_per_s, policy_ms.

The lookup `zone` has the zones' labels: whole numbers where all are, texts otherwise. Pairs that no path joins have no
minutes (NaN) and no demand.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import InputError, MissingExtraError
from privroute.handover.routes import demand_of
from privroute.network.pairs import free_flow_minutes
from privroute.progress import check_progress, tell

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.progress import Progress
    from privroute.release.release import Release

__all__ = ["FILES", "write_omx"]

FILES = ("release.omx",)
_ROWS_AT_ONCE = 256


def write_omx(
    release: Release, folder: Path, *, demand: Demand | None = None, progress: Progress | None = None
) -> list[Path]:
    """Write release.omx into a folder that is there, block of rows after block."""
    try:
        import h5py  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError("h5py", "omx", "writing Open Matrix files") from None
    check_progress(progress)
    traffic = demand_of(release, demand)
    network, policy = release.network, release.policy
    pairs = policy.pairs
    position = np.full(network.nodes, -1)
    position[network.zones] = np.arange(network.zones.size)
    row, column = position[pairs.origin], position[pairs.destination]
    if (row < 0).any() or (column < 0).any():
        raise InputError("the release has pairs whose ends are not zones of its network, so it has no matrix")
    minutes = network.latency.time(policy.link_flow(traffic))
    in_minutes = {
        "demand_per_h": (traffic.rate_per_min * 60.0, 0.0),
        "policy_min": (policy.expected(minutes), np.nan),
        "free_flow_min": (free_flow_minutes(network, pairs), np.nan),
    }
    matrices = {}
    for name, (values, empty) in in_minutes.items():
        shown, factor = network.units.column(name)
        matrices[shown] = (values * factor, empty)
    order = np.argsort(row, kind="stable")
    zones = network.zones.size
    starts = np.searchsorted(row[order], np.arange(0, zones + _ROWS_AT_ONCE, _ROWS_AT_ONCE))
    path = folder / FILES[0]
    part = path.with_name(f".{path.name}.part")
    try:
        with h5py.File(part, "w") as file:
            file.attrs["OMX_VERSION"] = np.bytes_("0.2")
            file.attrs["SHAPE"] = np.array([zones, zones], dtype=np.int32)
            file.create_group("lookup").create_dataset("zone", data=_labels(network))
            data = file.create_group("data")
            for number, (name, (values, empty)) in enumerate(matrices.items()):
                table: Any = data.create_dataset(
                    name, (zones, zones), "f8", chunks=True, compression="gzip", compression_opts=1, fillvalue=empty
                )
                for block, (begin, end) in enumerate(itertools.pairwise(starts)):
                    first = block * _ROWS_AT_ONCE
                    own = order[begin:end]
                    part_of = np.full((min(_ROWS_AT_ONCE, zones - first), zones), empty)
                    part_of[row[own] - first, column[own]] = values[own]
                    table[first : first + len(part_of)] = part_of
                    tell(progress, "Writing matrices", (number + (block + 1) / (starts.size - 1)) / len(matrices))
        part.replace(path)
    except OSError as problem:
        raise InputError(f"{path} cannot be written ({problem}); check space and permissions") from None
    finally:
        part.unlink(missing_ok=True)
    return [path]


def _labels(network: Network) -> NDArray[Any]:
    names = network.zone_names
    if all(isinstance(name, int) and -(2**31) <= name < 2**31 for name in names):
        return np.array(names, dtype=np.int32)
    return np.array([str(name).encode() for name in names])
