"""The General Modeling Network Specification: a folder with node.csv, link.csv and, if there is one, config.csv.

A node with a `zone_id` is a zone; trips name it by its `node_id`. Free-flow time comes from `free_flow_min`, else
`vdf_fftt` (minutes), else length / free_speed in the units of config.csv. Capacity is vehicles per hour and lane, as
the specification says. Columns beyond the specification (`no_through`, `free_flow_min`, `capacity_per_min`,
`background_per_min`, and those of the latency curves) are written so that a network reads back number for number.
"""

from __future__ import annotations

import csv
import math
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from privroute.errors import FormatError, InputError, NetworkError
from privroute.network.checks import check_type, one_of
from privroute.network.curve_columns import CURVE_COLUMN, curve_names, values_by_column
from privroute.network.curves import CURVES
from privroute.network.latency import AFFINE, Latency, latency_kinds
from privroute.network.network import LatencyKind, Network
from privroute.network.text_files import Table, Where, as_path, flush_to_disk, read_table, write_whole

if TYPE_CHECKING:
    import io
    from pathlib import Path

    from privroute.network.curve import Parameter
    from privroute.network.labels import Label

__all__ = ["read_gmns", "write_gmns"]

KM_PER_UNIT = {"km": 1.0, "m": 1e-3, "mi": 1.609344, "mile": 1.609344, "miles": 1.609344, "ft": 0.3048e-3}
KPH_PER_UNIT = {"kph": 1.0, "km/h": 1.0, "kmh": 1.0, "mph": 1.609344, "m/s": 3.6}
_DEFAULT_CURVE = "bpr"
_AGREE = 1e-9
_SHORTEST_MIN = 1e-6  # below this no speed is written: the link is a connector
_YES = {"1", "1.0", "true", "yes", "t", "y"}
_NO = {"", "0", "0.0", "false", "no", "f", "n"}
_Value = TypeVar("_Value")


def read_gmns(
    folder: str | os.PathLike[str],
    *,
    latency: LatencyKind | None = None,
    factor: float = 2.0,
    length_unit: str | None = None,
    speed_unit: str | None = None,
) -> Network:
    """Read a GMNS folder.

    latency : a curve for all links, by name, with the file's parameters (where it has none, defaults: docs/model.md);
        "affine" with `factor`; or None: the curve that `vdf_type` names, "bpr" where the file does not say
    length_unit, speed_unit : "km", "mi", ... and "kph", "mph"; default: config.csv, else km and kph
    """
    place = as_path(folder)
    config = _config(place)
    km = _unit(KM_PER_UNIT, length_unit, config.get("long_length") or "km", f"{place}: length_unit")
    kph = _unit(KPH_PER_UNIT, speed_unit, config.get("speed") or "kph", f"{place}: speed_unit")
    nodes = _Nodes(read_table(place / "node.csv"))
    links = _Links(read_table(place / "link.csv"), nodes.index, km, kph, None if latency is None else _kind(latency))
    try:
        return Network(
            links.tail,
            links.head,
            links.latency(factor),
            nodes.labels,
            zones=nodes.zones or None,
            no_through=np.array(nodes.no_through, dtype=bool),
            background_per_min=links.background_per_min,
            coordinates=_all_or_none(nodes.places, nodes.points, "x_coord and y_coord"),
            crs=config.get("crs") or None,
            length_km=_all_or_none(links.places, links.length_km, "length"),
            link_labels=links.labels,
        )
    except NetworkError as problem:
        raise FormatError(place, f"{problem}") from None


def write_gmns(network: Network, folder: str | os.PathLike[str]) -> None:
    """Write node.csv, link.csv and config.csv into a folder, which is created if necessary."""
    check_type(network, Network, "network", NetworkError)
    place = as_path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as problem:  # ValueError: a path with a NUL character
        reason = getattr(problem, "strerror", None) or str(problem)
        raise FormatError(place, f"cannot be made ({reason}); choose another folder") from None
    with ExitStack() as stack:
        node, link, config = (
            stack.enter_context(write_whole(place / name)) for name in ("node.csv", "link.csv", "config.csv")
        )
        _write_nodes(network, node)
        _write_links(network, link)
        csv.writer(config).writerows(
            [["dataset_name", "long_length", "speed", "crs"], ["privroute", "km", "kph", network.crs or ""]]
        )
        for stream in (node, link, config):  # what fails, fails before the first file is renamed
            flush_to_disk(stream)


def _write_nodes(network: Network, stream: io.TextIOWrapper) -> None:
    table = csv.writer(stream)
    table.writerow(["node_id", "x_coord", "y_coord", "zone_id", "no_through"])
    zones = set(network.zones.tolist())
    points = [(None, None)] * network.nodes if network.coordinates is None else network.coordinates.tolist()
    for index, (label, (x, y)) in enumerate(zip(network.node_labels, points, strict=True)):
        zone = label if index in zones else ""
        table.writerow([label, _exact(x), _exact(y), zone, int(network.no_through[index])])


def _write_links(network: Network, stream: io.TextIOWrapper) -> None:
    table = csv.writer(stream)
    curve, parameters = network.latency, values_by_column(network.latency)
    table.writerow(
        ["link_id", "from_node_id", "to_node_id", "directed", "length", "free_speed", "capacity", "lanes"]
        + ["free_flow_min", "capacity_per_min", "background_per_min", *parameters, CURVE_COLUMN]
    )
    labels = network.node_labels
    lengths = [None] * network.links if network.length_km is None else network.length_km.tolist()
    columns = (curve.free_flow_min, curve.capacity_per_min, network.background_per_min, *parameters.values())
    for link, (label, length, numbers, name) in enumerate(
        zip(network.link_labels, lengths, np.column_stack(columns).tolist(), curve_names(curve), strict=True)
    ):
        free_flow, capacity = numbers[:2]
        speed_kph = None if length is None or free_flow < _SHORTEST_MIN else length / free_flow * 60
        table.writerow(
            [label, labels[network.tail[link]], labels[network.head[link]], 1]
            + [_exact(length), _exact(speed_kph), _exact(capacity * 60), 1, *map(_exact, numbers), name]
        )


class _Nodes:
    """node.csv, column by column."""

    def __init__(self, table: Table) -> None:
        table.require("node_id")
        self.labels: list[Label] = []
        self.places: list[Where] = []
        self.points: list[tuple[float, float] | None] = []
        self.zones: list[int] = []
        self.no_through: list[bool] = []
        self.index: dict[Label, int] = {}
        seen_zones: dict[str, Where] = {}
        for where, row in table:
            label = where.label(row.get("node_id", ""), "node_id")
            if label in self.index:
                raise where.error(f"node_id {label} occurs before; each node needs its own")
            position = len(self.labels)
            self.index[label] = position
            self.labels.append(label)
            x, y = row.get("x_coord", ""), row.get("y_coord", "")
            self.places.append(where)
            self.points.append((where.number(x, "x_coord"), where.number(y, "y_coord")) if x or y else None)
            zone = row.get("zone_id", "")
            if zone:
                if zone in seen_zones:
                    raise where.error(
                        f"zone_id {zone} stands at line {seen_zones[zone].line} too; keep it at one node, its centroid"
                    )
                seen_zones[zone] = where
                self.zones.append(position)
            self.no_through.append(_flag(where, row.get("no_through", ""), "no_through"))
        if not self.labels:
            raise FormatError(table.source, "has no nodes")


class _Links:
    """link.csv, column by column; a link with directed = 0 becomes two, of which the second is called ID-reverse.

    kind : of the curves of all links, or None for what the file says
    """

    def __init__(self, table: Table, index: dict[Label, int], km: float, kph: float, kind: str | None) -> None:
        table.require("from_node_id", "to_node_id")
        self.labels: list[Label] = []
        self.tail: list[int] = []
        self.head: list[int] = []
        self.free_flow_min: list[float] = []
        self.capacity_per_min: list[float] = []
        self.background_per_min: list[float] = []
        self._kind = kind
        self.curve: list[str] = []
        self.parameters: list[list[float]] = []
        self.places: list[Where] = []
        self.length_km: list[float | None] = []
        for where, row in table:
            label = where.label(row["link_id"], "link_id") if row.get("link_id") else len(self.labels)
            ends = [_end(where, row.get(name, ""), name, index) for name in ("from_node_id", "to_node_id")]
            if ends[0] == ends[1]:
                raise where.error("the link starts and ends at one node; no path uses such a link, omit it")
            self._add(where, row, label, ends, km, kph)
            if row.get("directed", "") and not _flag(where, row["directed"], "directed"):
                self._add(where, row, f"{label}-reverse", ends[::-1], km, kph)
        if not self.labels:
            raise FormatError(table.source, "has no links")

    def _add(self, where: Where, row: dict[str, str], label: Label, ends: list[int], km: float, kph: float) -> None:
        length = where.amount(row["length"], "length") * km if row.get("length") else None
        self.labels.append(label)
        self.tail.append(ends[0])
        self.head.append(ends[1])
        self.free_flow_min.append(_free_flow_min(where, row, length, kph))
        self.capacity_per_min.append(_capacity_per_min(where, row))
        self.background_per_min.append(where.amount(row.get("background_per_min") or "0", "background_per_min"))
        self.places.append(where)
        self.length_km.append(length)
        name = _curve(where, row) if self._kind is None or self._kind == AFFINE else self._kind
        self.curve.append(name)
        self.parameters.append([_parameter(where, row, parameter) for parameter in CURVES[name].parameters])

    def latency(self, factor: float) -> Latency:
        """The curves; `factor` is for affine ones."""
        if self._kind == AFFINE:
            return Latency.affine(self.free_flow_min, self.capacity_per_min, factor)
        return Latency.by_link(self.free_flow_min, self.capacity_per_min, self.curve, self.parameters)


def _kind(latency: object) -> str:
    return one_of(latency, latency_kinds(), "latency", NetworkError)


def _curve(where: Where, row: dict[str, str]) -> str:
    given = row.get(CURVE_COLUMN) or _DEFAULT_CURVE
    if given.lower() not in CURVES:
        raise where.error(f"{CURVE_COLUMN} is {given[:40]!r}; known curves are {', '.join(CURVES)}")
    return given.lower()


def _parameter(where: Where, row: dict[str, str], parameter: Parameter) -> float:
    text = row.get(parameter.column)
    if not text:
        return parameter.default
    value = (where.number if parameter.least < 0 else where.amount)(text, parameter.column)
    if not parameter.allows(value):
        raise where.error(f"{parameter.column} is {text[:40]!r}; pass a number {parameter.wanted}")
    return value


def _free_flow_min(where: Where, row: dict[str, str], length_km: float | None, kph: float) -> float:
    for name in ("free_flow_min", "vdf_fftt"):
        if row.get(name):
            return where.amount(row[name], name)
    if length_km is None or not row.get("free_speed"):
        raise where.error("has neither free_flow_min, nor vdf_fftt, nor length and free_speed; give one of them")
    speed_kph = where.amount(row["free_speed"], "free_speed") * kph
    if speed_kph == 0:
        raise where.error("free_speed is 0; give a positive speed, or leave a closed link out")
    return length_km / speed_kph * 60


def _capacity_per_min(where: Where, row: dict[str, str]) -> float:
    """Capacity of the whole link; two columns that say different things are refused."""
    exact = where.amount(row["capacity_per_min"], "capacity_per_min") if row.get("capacity_per_min") else None
    hourly = None
    if row.get("capacity"):
        lanes = where.amount(row["lanes"], "lanes") if row.get("lanes") else 1.0
        hourly = where.amount(row["capacity"], "capacity") * lanes / 60
    value = exact if exact is not None else hourly
    if value is None:
        raise where.error("has no capacity; give vehicles per hour and lane in the column capacity")
    if exact is not None and hourly is not None and abs(exact - hourly) > _AGREE * max(exact, hourly):
        raise where.error(
            f"capacity x lanes is {hourly:.6g} vehicles per minute and capacity_per_min is {exact:.6g}; "
            "correct one of them or leave one column out"
        )
    if value == 0:
        raise where.error("the capacity is 0; leave a closed link out")
    return value


def _config(place: Path) -> dict[str, str]:
    path = place / "config.csv"
    if not os.path.exists(path):  # noqa: PTH110 - Path.exists raises where a name is too long
        return {}
    return next((row for _, row in read_table(path)), {})


def _end(where: Where, text: str, name: str, index: dict[Label, int]) -> int:
    label = where.label(text, name)
    if label not in index:
        raise where.error(f"{name} {label} is not a node of node.csv")
    return index[label]


def _flag(where: Where, text: str, name: str) -> bool:
    value = text.lower()
    if value in _YES:
        return True
    if value in _NO:
        return False
    raise where.error(f"{name} is {text[:40]!r}; 1 or 0 is needed")


def _unit(table: dict[str, float], given: object, default: str, name: str) -> float:
    unit = default if given is None else given
    return table[one_of(unit.lower() if isinstance(unit, str) else unit, table, name, InputError)]


def _all_or_none(places: list[Where], values: list[_Value | None], what: str) -> list[_Value] | None:
    """Return the values, or None if there is none; a column that is filled in some rows only is refused."""
    given = [value for value in values if value is not None]
    if 0 < len(given) < len(values):
        raise places[values.index(None)].error(
            f"has no {what}, while {len(given):,} of {len(values):,} rows have it; give it in all rows or in none"
        )
    return given or None


def _exact(value: float | None) -> str:
    """The shortest text that reads back as the same double; empty where there is no finite value."""
    return repr(value) if value is not None and math.isfinite(value) else ""
