"""Files of the Transportation Networks for Research collection (TNTP): network, trips, node coordinates.

The files give capacities and trips for one period (an hour, unless said otherwise) and times in minutes or hours;
this module turns them into minutes and vehicles per minute, once. Tolls and distances do not enter travel times; with
factors they are fixed costs beside them. Trips within a zone need no road and are left out.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from privroute import _core
from privroute.errors import DemandError, FormatError, InputError, NetworkError, in_python, named
from privroute.network.checks import check_period, check_type, one_of, show
from privroute.network.curves import CURVES
from privroute.network.demand import Demand
from privroute.network.latency import choose_latency
from privroute.network.network import LatencyKind, Network
from privroute.network.pairs import OnUnreachable, Pairs
from privroute.network.text_files import Where, as_path, read_bytes, read_text
from privroute.network.units import check_length_unit

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from privroute.network.read_notes import ReadNotes

    # metadata, node indices of origins and destinations, trips
    _Trips = tuple[dict[str, tuple[Where, str]], NDArray[Any], NDArray[Any], NDArray[np.float64]]

__all__ = ["LengthUnit", "TimeUnit", "read_tntp", "read_tntp_link_types", "read_tntp_trips"]

TimeUnit = Literal["s", "min", "h"]
LengthUnit = Literal["m", "km", "ft", "mi"]

MINUTES_PER: dict[str, float] = {"s": 1 / 60, "min": 1.0, "h": 60.0}
KM_PER: dict[str, float] = {"m": 1e-3, "km": 1.0, "ft": 0.3048e-3, "mi": 1.609344}

LARGEST_NODE_NUMBER = 2_000_000
_TOTAL_TOLERANCE = 1e-3
_USUAL_TOLL_POSITION = 8  # behind the speed
_USUAL_TYPE_POSITION = 9
_BPR = CURVES["bpr"].parameters  # the only curve of the format, whose columns have the names of its parameters
_COLUMNS = ("init_node", "term_node", "capacity", "length", "free_flow_time", *(each.name for each in _BPR))
_COLUMN_NAMES = {
    **{name: name for name in _COLUMNS},
    "toll": "toll",
    **dict.fromkeys(("link_type", "type"), "link_type"),
    **dict.fromkeys(("tail", "tail_node", "from", "from_node", "a_node"), "init_node"),
    **dict.fromkeys(("head", "head_node", "to", "to_node", "b_node"), "term_node"),
    **dict.fromkeys(("fftt", "fft", "freeflow_time", "free_flow_travel_time"), "free_flow_time"),
    "alpha": "b",
    "beta": "power",
}
_FIRST_ORIGIN = re.compile(rb"^[ \t]*origin[ \t]", re.IGNORECASE | re.MULTILINE)
_METADATA = re.compile(r"\s*<([^<>]*)>(.*)")


def read_tntp(
    path: str | os.PathLike[str],
    *,
    latency: LatencyKind = "bpr",
    factor: float = 2.0,
    nodes: str | os.PathLike[str] | None = None,
    time_unit: TimeUnit = "min",
    capacity_period_min: float = 60.0,
    length_unit: LengthUnit | None = None,
    crs: str | None = None,
    toll_factor: float = 0.0,
    distance_factor: float = 0.0,
    notes: ReadNotes | None = None,
) -> Network:
    """Read a TNTP network file.

    latency : "bpr" with the file's b and power, or "affine" with time `factor` times free flow at capacity
    nodes : file of node coordinates, if there is one; `crs` says what its x and y are
    time_unit : unit of the file's free-flow times (Eastern Massachusetts: "h")
    capacity_period_min : minutes for which the file counts capacity (an hour unless the file says otherwise)
    length_unit : unit of the file's lengths; without it they are ignored, because files differ
    toll_factor, distance_factor : a trip on a link costs toll_factor * toll + distance_factor * length beside its time,
        in the file's units of time, toll and length (Chicago Sketch: 0.02 and 0.04); default 0
    notes : receives the number of closed links: those of capacity 0, which are left out
    """
    factors = np.array([_factor("toll_factor", toll_factor), _factor("distance_factor", distance_factor)])
    minutes = MINUTES_PER[one_of(time_unit, MINUTES_PER, "time_unit", InputError)]
    period_min = check_period(capacity_period_min, "capacity_period_min")
    km = None if length_unit is None else KM_PER[one_of(length_unit, KM_PER, "length_unit", InputError)]
    metadata, lines = _split(path)
    order = _column_order(lines)
    wanted = (*_COLUMNS, "toll") if toll_factor else _COLUMNS
    rows = [_link(where, text, order, wanted) for where, text in _data_lines(lines)]
    if not rows:
        raise FormatError(path, "has no links after its metadata")
    declared = _count(metadata, "NUMBER OF LINKS")
    if declared is not None and declared != len(rows):
        raise FormatError(path, f"declares {declared:,} links and has {len(rows):,}; the file is damaged or cut short")
    ends = np.array([row[:2] for row in rows], dtype=np.int64)
    count = _node_count(path, metadata, int(ends.max()))
    first_through = _count(metadata, "FIRST THRU NODE") or 1
    zones = _count(metadata, "NUMBER OF ZONES") or (first_through - 1 if first_through > 1 else count)
    if zones > count or first_through > count + 1:
        raise FormatError(
            path, f"declares {zones:,} zones and first through node {first_through:,}, of {count:,} nodes"
        )
    numbers = np.array([row[2:] for row in rows], dtype=np.float64)
    opened = numbers[:, 0] > 0  # a negative capacity was refused
    if not opened.any():
        raise FormatError(path, "has no link with a capacity above 0")
    if notes is not None:
        notes.add("closed_links", int(np.count_nonzero(~opened)))
    ends, numbers = ends[opened], numbers[opened]
    capacity, length, free_flow, *bpr = numbers[:, : len(_COLUMNS) - 2].T
    tolls = numbers[:, -1] if toll_factor else np.zeros(length.size)
    given: dict[str, ArrayLike] = {}
    if latency == "affine":
        given = {"factor": factor}
    elif latency == "bpr":
        given = {parameter.name: column for parameter, column in zip(_BPR, bpr, strict=True)}
    try:
        network = Network(
            ends[:, 0] - 1,
            ends[:, 1] - 1,
            choose_latency(latency, free_flow * minutes, capacity / period_min, **given),
            range(1, count + 1),
            zones=np.arange(zones),
            no_through=np.arange(1, count + 1) < first_through,
            fixed_cost_min=factors @ [tolls, length] * minutes,
            coordinates=None if nodes is None else _coordinates(nodes, count),
            crs=crs,
            length_km=None if km is None else length * km,
            link_labels=None if opened.all() else np.flatnonzero(opened).tolist(),
        )
    except NetworkError as problem:
        raise FormatError(path, f"{problem}") from None
    if km is not None:
        check_length_unit(path, network, km, KM_PER)
    return network


def read_tntp_link_types(path: str | os.PathLike[str]) -> list[str]:
    """The column of link types of a TNTP net file, as it is written, for the links that `read_tntp` returns."""
    _, lines = _split(path)
    order = _column_order(lines)
    at, capacity, types = order.get("link_type"), order.get("capacity", 2), []
    for where, text in _data_lines(lines):
        cells = text.rstrip("; \t").split()
        if at is None or at >= len(cells):
            raise where.error("has no link_type; curves by link type need that column")
        if where.amount(cells[capacity], "capacity") > 0:
            types.append(cells[at])
    return types


def read_tntp_trips(
    path: str | os.PathLike[str],
    network: Network,
    *,
    period_min: float = 60.0,
    on_unreachable: OnUnreachable = "error",
    check_total: bool = True,
) -> Demand:
    """Read a TNTP trip table as a demand over every ordered pair of the network's zones.

    period_min : minutes for which the file counts trips
    on_unreachable : pairs that no path connects: "error" names them, "drop" drops them and their trips
    check_total : reject a table whose sum differs from its own TOTAL OD FLOW by more than a thousandth
    """
    check_type(network, Network, "network", DemandError)
    minutes = check_period(period_min)
    data = read_bytes(as_path(path))
    table = _plain_trips(path, data, network)
    if table is None:  # slowly, with an error for what cannot be read
        metadata, lines = _split(path, data)
        trips = _trips(lines, network)
        ends = np.array(list(trips), dtype=np.int64).reshape(-1, 2)
        table = metadata, ends[:, 0], ends[:, 1], np.array(list(trips.values()), dtype=np.float64)
    metadata, origin, destination, amount = table
    if check_total:
        with np.errstate(over="ignore"):  # an infinite sum is refused
            _check_total(path, metadata, float(amount.sum()))
    pairs = Pairs.of_zones(network, on_unreachable=on_unreachable)
    positions = pairs.positions(origin, destination)
    kept = positions >= 0  # trips within a zone and dropped pairs have no position
    rates = np.zeros(len(pairs))
    rates[positions[kept]] = amount[kept] / minutes
    return Demand(pairs, rates)


def _plain_trips(path: str | os.PathLike[str], data: bytes, network: Network) -> _Trips | None:
    """Metadata, node indices of origins and destinations, and trips, read by the core; None if the table is not plain.

    Plain is what the slow reader would read to the same values: whole numbers for zones that the network has, each
    pair once, numbers without signs, no comments behind the first origin.
    """
    begin = _FIRST_ORIGIN.search(data)
    if begin is None:
        return None
    found = _core.trip_table(data, begin.start())
    labels = network.zone_names
    numbers = np.array([label if isinstance(label, int) and label >= 0 else -1 for label in labels], dtype=np.int64)
    if found is None or not numbers.size:
        return None
    order = np.argsort(numbers, kind="stable")
    zones = []
    for ends in found[:2]:
        at = order[np.minimum(np.searchsorted(numbers[order], ends), numbers.size - 1)]
        if not np.array_equal(numbers[at], ends):
            return None
        zones.append(at)
    if found[0].size and np.bincount(zones[0] * numbers.size + zones[1]).max() > 1:
        return None
    metadata, lines = _split(path, data[: begin.start()])
    if any(_data_lines(lines)):
        return None
    return metadata, network.zones[zones[0]], network.zones[zones[1]], found[2]


def _trips(lines: list[tuple[Where, str]], network: Network) -> dict[tuple[int, int], float]:
    """Trips by node indices of origin and destination."""
    names = zip(network.zones.tolist(), network.zone_names, strict=True)
    node_of: dict[str, int] = {str(name): zone for zone, name in names}

    def zone(where: Where, text: str) -> int:
        label = str(where.whole(text, "the zone"))
        if label not in node_of:
            raise where.error(f"{label} is not a zone of the network; read the network that belongs to this table")
        return node_of[label]

    trips: dict[tuple[int, int], float] = {}
    origin: int | None = None
    for where, text in _data_lines(lines):
        entries = text
        if text[:6].lower() == "origin":
            number, _, entries = text[6:].strip().partition(" ")
            origin = zone(where, number)
        for entry in filter(str.strip, entries.split(";")):
            name, colon, amount = entry.partition(":")
            if not colon or origin is None:
                raise where.error('expected "Origin 1" and then entries like "2 : 100.0;"')
            pair = (origin, zone(where, name))
            if pair in trips:
                raise where.error(f"zone {name.strip()} occurs twice for one origin")
            trips[pair] = where.amount(amount, f"the number of trips to zone {name.strip()}")
    return trips


def _split(
    path: str | os.PathLike[str], data: bytes | None = None
) -> tuple[dict[str, tuple[Where, str]], list[tuple[Where, str]]]:
    """Metadata tags with their values, and all other lines, comments included."""
    metadata: dict[str, tuple[Where, str]] = {}
    lines: list[tuple[Where, str]] = []
    for number, line in enumerate(read_text(path, data).split("\n"), start=1):
        where = Where(path, number)
        tag = _METADATA.match(line)
        if tag:
            metadata[" ".join(tag[1].upper().split())] = (where, tag[2].partition("~")[0].strip())
        else:
            lines.append((where, line))
    return metadata, lines


def _data_lines(lines: list[tuple[Where, str]]) -> Iterator[tuple[Where, str]]:
    for where, line in lines:
        text = line.partition("~")[0].strip()
        if text.strip(";").strip():
            yield where, text


def _column_order(lines: list[tuple[Where, str]]) -> dict[str, int]:
    """Position of each column, by the comment line that names them; the usual order where none does."""
    for _, line in lines:
        text = line.strip()
        if not text.startswith("~"):
            continue
        header = text.strip("~; \t")
        names = header.split("\t") if "\t" in header else header.split()
        found: dict[str, int] = {}
        for position, name in enumerate(name for name in names if name.strip(" ;")):
            column = _COLUMN_NAMES.get(re.sub(r"\W+", "_", name.strip().lower()).strip("_"))
            if column is not None:
                found.setdefault(column, position)
        if {"init_node", "term_node"} <= found.keys():
            return found
    return {name: position for position, name in enumerate(_COLUMNS)} | {
        "toll": _USUAL_TOLL_POSITION,
        "link_type": _USUAL_TYPE_POSITION,
    }


def _factor(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise InputError(f"{named(name)} is {show(value)}; pass a finite number of at least 0")
    return float(value)


def _link(where: Where, text: str, order: dict[str, int], wanted: tuple[str, ...]) -> tuple[float, ...]:
    cells = text.rstrip("; \t").split()
    values: dict[str, float] = {"length": 0.0, **{parameter.name: parameter.default for parameter in _BPR}}
    for name in wanted:
        position = order.get(name)
        if position is not None and position < len(cells):
            values[name] = (where.whole if name.endswith("node") else where.amount)(cells[position], name)
        elif name not in values:
            raise where.error(f"has {len(cells)} columns and no {name}; a link needs {', '.join(wanted)}")
    start, end = int(values["init_node"]), int(values["term_node"])
    if min(start, end) < 1:
        raise where.error(f"node {min(start, end)}: nodes are numbered from 1")
    if start == end:
        raise where.error(f"the link starts and ends at node {start}; no path uses such a link, omit it")
    return (start, end, *(values[name] for name in wanted[2:]))


def _node_count(path: object, metadata: dict[str, tuple[Where, str]], largest: int) -> int:
    declared = _count(metadata, "NUMBER OF NODES")
    if declared is not None and largest > declared:
        raise FormatError(path, f"has node {largest:,} but declares {declared:,} nodes; mend <NUMBER OF NODES>")
    count = largest if declared is None else declared
    if count > LARGEST_NODE_NUMBER:
        raise FormatError(path, f"numbers nodes up to {count:,}; more than {LARGEST_NODE_NUMBER:,} are not read")
    return count


def _coordinates(path: str | os.PathLike[str], nodes: int) -> NDArray[np.float64]:
    _, lines = _split(path)
    points = np.full((nodes, 2), np.nan)
    first: dict[int, int | None] = {}
    for where, text in _data_lines(lines):
        cells = text.rstrip("; \t").replace(",", " ").split()
        if cells[0].lower() in ("node", "node_id", "id"):
            continue
        if len(cells) < 3:  # noqa: PLR2004 - number, x, y
            raise where.error("expected a node's number, x and y")
        number = where.whole(cells[0], "the node")
        if first.setdefault(number, where.line) != where.line:
            raise where.error(f"node {number} stands at line {first[number]} too; give each node once")
        if 1 <= number <= nodes:
            points[number - 1] = where.number(cells[1], "x"), where.number(cells[2], "y")
    missing = np.flatnonzero(np.isnan(points[:, 0]))
    if missing.size:
        raise FormatError(
            path, f"has no coordinates for {missing.size:,} of {nodes:,} nodes (first: node {missing[0] + 1})"
        )
    return points


def _count(metadata: dict[str, tuple[Where, str]], name: str) -> int | None:
    if name not in metadata or not metadata[name][1]:
        return None
    where, text = metadata[name]
    value = where.whole(text.split()[0], f"<{name}>")
    if value < 1:
        raise where.error(f"<{name}> is {value}; it must be at least 1")
    return value


def _check_total(path: object, metadata: dict[str, tuple[Where, str]], total: float) -> None:
    if "TOTAL OD FLOW" not in metadata or not metadata["TOTAL OD FLOW"][1]:
        return
    where, text = metadata["TOTAL OD FLOW"]
    declared = where.number(text.split()[0], "<TOTAL OD FLOW>")
    if not math.isclose(declared, total, rel_tol=_TOTAL_TOLERANCE):  # false where the trips sum to infinity
        raise FormatError(
            path,
            f"declares {declared:,.10g} trips and has {total:,.10g}; the file is damaged or cut short"
            + in_python(" (pass check_total=False to read it as it is)"),
        )
