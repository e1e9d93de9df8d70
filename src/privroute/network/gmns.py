"""The General Modeling Network Specification: a folder with node.csv, link.csv and, if there is one, config.csv.

A node with a `zone_id` is a zone, and trips name it by that id. A `zone_id` at several nodes is a zone of its own,
which connectors join to these nodes. zone.csv may hold the areas of zones (`boundary`).

Free-flow time comes from `free_flow_min`, else
`vdf_fftt` (minutes), else length / free_speed in the units of config.csv. Capacity is vehicles per hour and lane, as
the specification says. Links of capacity 0 are
closed roads and left out. Columns beyond the specification (`no_through`, `free_flow_min`, `capacity_per_min`,
`background_per_min`, `fixed_cost_min`, and those of the latency curves) are written so that a network reads back number
for number. Where other amounts than vehicles flow, config.csv says so in `request_unit`, `flow_unit` and `time_unit`:
`capacity` is then amounts per hour.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from privroute.errors import FormatError, InputError, NetworkError
from privroute.network.checks import one_of
from privroute.network.connectors import connect_zones
from privroute.network.curve_columns import curve_of_row, parameter_of_row
from privroute.network.curves import CURVES
from privroute.network.display_units import Units
from privroute.network.latency import AFFINE, Latency, latency_kinds
from privroute.network.network import LatencyKind, Network
from privroute.network.read_notes import ReadNotes
from privroute.network.streets import Streets
from privroute.network.text_files import Table, Where, as_path, read_table
from privroute.network.units import check_length_unit
from privroute.network.wkt import read_line, read_polygon
from privroute.network.zone_areas import ZoneAreas

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from privroute.network.labels import Label

__all__ = ["KM_PER_UNIT", "KPH_PER_UNIT", "read_gmns"]

KM_PER_UNIT = {"km": 1.0, "m": 1e-3, "mi": 1.609344, "mile": 1.609344, "miles": 1.609344, "ft": 0.3048e-3}
KPH_PER_UNIT = {"kph": 1.0, "km/h": 1.0, "kmh": 1.0, "mph": 1.609344, "m/s": 3.6}
_AGREE = 1e-9
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
    notes: ReadNotes | None = None,
) -> Network:
    """Read a GMNS folder.

    latency : a curve for all links, by name, with the file's parameters (where it has none, defaults: docs/model.md);
        "affine" with `factor`; or None: the curve that `vdf_type` names, "bpr" where the file does not say
    length_unit, speed_unit : "km", "mi", ... and "kph", "mph"; default: config.csv, else km and kph. A unit that
        contradicts the coordinates is refused.
    notes : receives the number of closed links
    """
    place = as_path(folder)
    config = _config(place)
    km = _unit(KM_PER_UNIT, length_unit, config.get("long_length") or "km", f"{place}: length_unit")
    kph = _unit(KPH_PER_UNIT, speed_unit, config.get("speed") or "kph", f"{place}: speed_unit")
    nodes = _Nodes(read_table(place / "node.csv"))
    counted = notes if notes is not None else ReadNotes()
    links = _Links(
        read_table(place / "link.csv"), nodes.index, km, kph, None if latency is None else _kind(latency), counted
    )
    single = all(len(held) == 1 for held in nodes.zones.values())
    try:
        points = _all_or_none(nodes.places, nodes.points, "x_coord and y_coord")
        network = Network(
            links.tail,
            links.head,
            links.latency(factor),
            nodes.labels,
            zones=[held[0] for held in nodes.zones.values()] if nodes.zones and single else None,
            zone_labels=list(nodes.zones) if nodes.zones and single else None,
            no_through=np.array(nodes.no_through, dtype=bool),
            background_per_min=links.background_per_min,
            fixed_cost_min=links.fixed_cost_min,
            coordinates=points,
            crs=config.get("crs") or None,
            length_km=_all_or_none(links.places, links.length_km, "length"),
            link_labels=links.labels,
            streets=links.streets(points),
            units=Units.of_columns(config),
        )
        if not single:
            network = connect_zones(network, list(nodes.zones), list(nodes.zones.values()))
        network = _with_areas(network, place)
    except NetworkError as problem:
        raise FormatError(place, f"{problem}") from None
    check_length_unit(place, network, km, KM_PER_UNIT)
    return network


def _with_areas(network: Network, place: Path) -> Network:
    """With the boundaries of zone.csv, if there is one that has them."""
    path = place / "zone.csv"
    table = read_table(path) if os.path.exists(path) else None  # noqa: PTH110 - Path.exists raises for long names
    if table is None or "boundary" not in table.columns or not len(table):
        return network
    table.require("zone_id", "boundary")
    rings: dict[Label, list[NDArray[np.float64]]] = {}
    reach_km = 0.0
    for where, row in table:
        label = where.label(row.get("zone_id", ""), "zone_id")
        if label in rings:
            raise where.error(f"zone_id {label} occurs before; each zone needs its own")
        try:
            rings[label] = read_polygon(row.get("boundary", ""))
        except NetworkError as problem:
            raise where.error(f"boundary {problem}") from None
        reach_km = max(reach_km, where.amount(row["reach_km"], "reach_km") if row.get("reach_km") else 0.0)
    lacking = [label for label in network.zone_names if label not in rings]
    if lacking:
        raise FormatError(path, f"has no boundary of zone {lacking[0]} ({len(lacking):,} in all); give all or none")
    return replace(network, areas=ZoneAreas.of([rings[label] for label in network.zone_names], reach_km=reach_km))


class _Nodes:
    """node.csv, column by column."""

    def __init__(self, table: Table) -> None:
        table.require("node_id")
        self.labels: list[Label] = []
        self.places: list[Where] = []
        self.points: list[tuple[float, float] | None] = []
        self.zones: dict[Label, list[int]] = {}
        self.no_through: list[bool] = []
        self.index: dict[Label, int] = {}
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
                self.zones.setdefault(where.label(zone, "zone_id"), []).append(position)
            self.no_through.append(_flag(where, row.get("no_through", ""), "no_through"))
        if not self.labels:
            raise FormatError(table.source, "has no nodes")


class _Links:
    """link.csv, column by column; a link with directed = 0 becomes two, of which the second is called ID-reverse.

    kind : of the curves of all links, or None for what the file says
    """

    def __init__(
        self, table: Table, index: dict[Label, int], km: float, kph: float, kind: str | None, notes: ReadNotes
    ) -> None:
        table.require("from_node_id", "to_node_id")
        self.labels: list[Label] = []
        self.tail: list[int] = []
        self.head: list[int] = []
        self.free_flow_min: list[float] = []
        self.capacity_per_min: list[float] = []
        self.background_per_min: list[float] = []
        self.fixed_cost_min: list[float] = []
        self._kind = kind
        self.curve: list[str] = []
        self.parameters: list[list[float]] = []
        self.places: list[Where] = []
        self.length_km: list[float | None] = []
        self.rows: list[tuple[Where, dict[str, str], bool]] = []
        self._with_streets = "geometry" in table.columns
        counted = 0
        for where, row in table:
            label = where.label(row["link_id"], "link_id") if row.get("link_id") else counted
            counted += 1
            ends = [_end(where, row.get(name, ""), name, index) for name in ("from_node_id", "to_node_id")]
            if ends[0] == ends[1]:
                raise where.error("the link starts and ends at one node; no path uses such a link, omit it")
            both = bool(row.get("directed", "")) and not _flag(where, row["directed"], "directed")
            counted += both
            if _capacity_per_min(where, row) == 0:
                notes.add("closed_links", 1 + both)
                continue
            self._add(where, row, label, ends, km, kph)
            self.rows.append((where, row, False))
            if both:
                self._add(where, row, f"{label}-reverse", ends[::-1], km, kph)
                self.rows.append((where, row, True))
        if not self.labels:
            raise FormatError(table.source, "has no links" if not counted else "has no link with a capacity above 0")

    def _add(self, where: Where, row: dict[str, str], label: Label, ends: list[int], km: float, kph: float) -> None:
        length = where.amount(row["length"], "length") * km if row.get("length") else None
        self.labels.append(label)
        self.tail.append(ends[0])
        self.head.append(ends[1])
        self.free_flow_min.append(_free_flow_min(where, row, length, kph))
        self.capacity_per_min.append(_capacity_per_min(where, row))
        self.background_per_min.append(where.amount(row.get("background_per_min") or "0", "background_per_min"))
        self.fixed_cost_min.append(where.amount(row.get("fixed_cost_min") or "0", "fixed_cost_min"))
        self.places.append(where)
        self.length_km.append(length)
        name = curve_of_row(where, row) if self._kind is None or self._kind == AFFINE else self._kind
        self.curve.append(name)
        self.parameters.append([parameter_of_row(where, row, parameter) for parameter in CURVES[name].parameters])

    def streets(self, points: list[tuple[float, float]] | None) -> Streets | None:
        """Lines, names, classes and lanes, if the file has a column of geometries."""
        if not self._with_streets or points is None:
            return None
        lines, ways = [], []
        for position, (where, row, reverse) in enumerate(self.rows):
            line = np.array([points[self.tail[position]], points[self.head[position]]], dtype=np.float64)
            if row.get("geometry"):
                try:
                    line = read_line(row["geometry"])[:: -1 if reverse else 1]
                except NetworkError as problem:
                    raise where.error(f"geometry {problem}") from None
            lines.append(line)
            ways.append(where.whole(row["osm_way_id"], "osm_way_id") if row.get("osm_way_id") else 0)
        rows = [row for _, row, _ in self.rows]
        return Streets(
            np.concatenate([[0], np.cumsum([len(line) for line in lines])]),
            np.concatenate(lines),
            name=[_printable(row.get("name", "")) for row in rows],
            road_class=[_printable(row.get("facility_type", "")) for row in rows],
            lanes=[float(row["lanes"]) if row.get("lanes") else 0.0 for row in rows],
            osm_way_id=ways,
        )

    def latency(self, factor: float) -> Latency:
        """The curves; `factor` is for affine ones."""
        if self._kind == AFFINE:
            return Latency.affine(self.free_flow_min, self.capacity_per_min, factor)
        return Latency.by_link(self.free_flow_min, self.capacity_per_min, self.curve, self.parameters)


def _kind(latency: object) -> str:
    return one_of(latency, latency_kinds(), "latency", NetworkError)


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


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)[:1000].strip()


def _all_or_none(places: list[Where], values: list[_Value | None], what: str) -> list[_Value] | None:
    """Return the values, or None if there is none; a column that is filled in some rows only is refused."""
    given = [value for value in values if value is not None]
    if 0 < len(given) < len(values):
        raise places[values.index(None)].error(
            f"has no {what}, while {len(given):,} of {len(values):,} rows have it; give it in all rows or in none"
        )
    return given or None
