"""Public demands from origin-destination matrices: CSV (long or square) and Open Matrix (OMX) files.

A matrix counts vehicles over a period; it becomes rates per minute over every ordered pair of zones. Entries within a
zone need no road and are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from privroute.errors import DemandError, FormatError, InputError, MissingExtraError, arg
from privroute.network.checks import check_period, check_type, one_of, real_array
from privroute.network.demand import Demand
from privroute.network.network import Network
from privroute.network.od_columns import plain_matrix
from privroute.network.pairs import OnUnreachable, Pairs
from privroute.network.text_files import Table, as_path, column_names, read_table

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

    from privroute.network.labels import Label

__all__ = ["demand_from_matrix", "read_od_csv", "read_omx"]


def demand_from_matrix(
    network: Network,
    matrix: ArrayLike,
    *,
    zones: list[Label] | None = None,
    period_min: float = 60.0,
    on_unreachable: OnUnreachable = "error",
) -> Demand:
    """Demand from a square matrix of vehicles per period.

    matrix : (zones, zones), row = origin; rows and columns are the network's zones in order, or `zones` by label
    """
    check_type(network, Network, "network", DemandError)
    minutes = check_period(period_min)
    counts = real_array(matrix, "the matrix", DemandError)
    nodes = network.zones if zones is None else zone_nodes(network, zones)
    if counts.shape != (nodes.size, nodes.size):
        raise DemandError(f"the matrix has shape {counts.shape} where {nodes.size:,} x {nodes.size:,} zones are needed")
    bad = np.argwhere(~(np.isfinite(counts) & (counts >= 0)))
    if bad.size:
        row, column = bad[0]
        raise DemandError(
            f"the matrix has {len(bad):,} entries that are negative or not finite (first at row {row:,}, column "
            f"{column:,}); counts are finite and at least 0"
        )
    pairs = Pairs.of_zones(network, on_unreachable=on_unreachable)
    rows, columns = np.nonzero(counts)
    positions = pairs.positions(nodes[rows], nodes[columns])
    rates = np.zeros(len(pairs))
    kept = positions >= 0  # trips within a zone and dropped pairs have no position
    with np.errstate(over="ignore"):  # infinite rates are refused
        rates[positions[kept]] = counts[rows[kept], columns[kept]] / minutes
    return Demand(pairs, rates)


def read_od_csv(
    path: str | os.PathLike[str],
    network: Network,
    *,
    layout: Literal["auto", "long", "square"] = "auto",
    origin: str = "origin",
    destination: str = "destination",
    trips: str = "trips",
    period_min: float = 60.0,
    on_unreachable: OnUnreachable = "error",
) -> Demand:
    """Read a demand from CSV.

    layout : "long" has one row per pair with the columns named by `origin`, `destination` and `trips`; "square" has
        destinations in the header and one row per origin; "auto" takes "long" where the header has those columns
    period_min : minutes for which the file counts trips
    """
    check_type(network, Network, "network", DemandError)
    names = column_names(origin=origin, destination=destination, trips=trips)
    one_of(layout, ("auto", "long", "square"), "layout", InputError)
    zones = list(network.zone_names)
    place = {str(label): position for position, label in enumerate(zones)}
    matrix = plain_matrix(path, place, names, layout)
    if matrix is None:  # slowly, with an error for what cannot be read
        table = read_table(path)
        if layout == "auto":
            layout = "long" if set(names[:2]) <= set(table.columns) else "square"
        matrix = _long(table, place, names) if layout == "long" else _square(table, place)
    return demand_from_matrix(network, matrix, period_min=period_min, on_unreachable=on_unreachable)


def read_omx(
    path: str | os.PathLike[str],
    network: Network,
    *,
    matrix: str | None = None,
    lookup: str | None = None,
    period_min: float = 60.0,
    on_unreachable: OnUnreachable = "error",
) -> Demand:
    """Read a demand from an Open Matrix file (needs h5py).

    matrix, lookup : names inside the file; optional if the file has just one. Without a lookup the rows
        are the network's zones in order.
    """
    try:
        import h5py  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError("h5py", "omx", "reading Open Matrix files") from None
    check_type(network, Network, "network", DemandError)
    place = as_path(path)
    try:
        with h5py.File(place, "r") as file:
            dataset = _choose(path, file, "data", matrix, "matrix")
            if dataset is None:
                raise FormatError(path, "has no matrix under /data; it is not an Open Matrix file")
            labels = _choose(path, file, "lookup", lookup, "lookup")
            _check_shapes(path, dataset, labels, network.zones.size)
            counts = np.asarray(dataset[()])
            zones = None if labels is None else [_omx_label(path, item) for item in labels[()].tolist()]
    except InputError:
        raise
    except Exception as problem:  # noqa: BLE001 - h5py raises many kinds on damaged files
        raise FormatError(path, f"cannot be read as an Open Matrix file ({type(problem).__name__})") from None
    try:
        return demand_from_matrix(network, counts, zones=zones, period_min=period_min, on_unreachable=on_unreachable)
    except DemandError as problem:
        raise FormatError(path, f"{problem}") from None


def zone_nodes(network: Network, labels: list[Label]) -> NDArray[np.int32]:
    """Node indices of zones given by label, each once."""
    nodes = network.node_indices(labels)
    foreign = np.flatnonzero(~np.isin(nodes, network.zones))
    if foreign.size:
        first = int(foreign[0])
        raise DemandError(f"{labels[first]!r} (position {first:,}) is not a zone of the network")
    if np.unique(nodes).size != nodes.size:
        raise DemandError("a zone is named more than once; name each zone once")
    return nodes


def _long(table: Table, place: dict[str, int], names: list[str]) -> NDArray[np.float64]:
    table.require(*names)
    matrix = np.zeros((len(place), len(place)))
    seen: set[tuple[int, int]] = set()
    for where, row in table:
        ends = []
        for name in names[:2]:
            label = str(where.label(row.get(name, ""), name))
            if label not in place:
                raise where.error(f"{name} {label[:40]} is not a zone of the network")
            ends.append(place[label])
        pair = (ends[0], ends[1])
        if pair in seen:
            raise where.error("this pair occurs before; give each pair once")
        seen.add(pair)
        matrix[pair] = where.amount(row.get(names[2], ""), names[2])
    return matrix


def _square(table: Table, place: dict[str, int]) -> NDArray[np.float64]:
    header = table.columns[1:]
    by_text = {str(label).lower(): position for label, position in place.items()}
    for name in header:
        if name not in by_text:
            raise FormatError(
                table.source,
                f"the header has {name[:40]!r}, which is not a zone of the network; a square matrix has destinations "
                "there, a long table the columns origin, destination and trips",
                line=1,
            )
    matrix = np.zeros((len(place), len(place)))
    seen: set[int] = set()
    for where, row in table:
        cells = list(row.values())
        label = str(where.label(cells[0], "the origin"))
        if label not in place:
            raise where.error(f"origin {label[:40]} is not a zone of the network")
        if place[label] in seen:
            raise where.error(f"origin {label} occurs before; give each origin once")
        seen.add(place[label])
        if len(cells) != len(table.columns):
            raise where.error(f"has {len(cells)} cells where the header has {len(table.columns)}")
        for name, cell in zip(header, cells[1:], strict=True):
            matrix[place[label], by_text[name]] = where.amount(cell, f"the trips to {name}")
    missing = len(place) - len(seen)
    if missing or len(header) != len(place):
        raise FormatError(
            table.source,
            f"has {len(seen):,} rows and {len(header):,} columns where the network has {len(place):,} zones",
        )
    return matrix


def _choose(path: object, file: Any, group: str, name: str | None, what: str) -> Any:
    names = list(file[group]) if group in file else []
    if name is None and len(names) > 1:
        raise FormatError(path, f"has several of them; pass {arg(what)} one of {', '.join(names[:10])}")
    if name is not None and name not in names:
        raise FormatError(path, f"has no {what} {name!r}; it has {', '.join(names[:10]) or 'none'}")
    return file[group][names[0] if name is None else name] if names else None


def _check_shapes(path: object, dataset: Any, labels: Any, zones: int) -> None:
    """Before anything is read: a small file may declare a matrix of any size."""
    size = zones if labels is None else labels.shape[0]
    if labels is not None and (labels.shape != (size,) or size > zones):
        raise FormatError(path, f"its lookup has shape {labels.shape} where the network has {zones:,} zones")
    if dataset.shape != (size, size) or dataset.dtype.kind not in "iuf":
        raise FormatError(
            path,
            f"its matrix has shape {dataset.shape} and type {dataset.dtype} where numbers for {size:,} x {size:,} "
            "zones are needed",
        )


def _omx_label(path: object, item: object) -> Label:
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    if isinstance(item, float) and item.is_integer():
        return int(item)
    if isinstance(item, int | str):
        return item
    raise FormatError(path, f"its lookup has a label of type {type(item).__name__}; whole numbers or texts are needed")
