"""Street graphs as OSMnx saves them: GraphML (`save_graphml`) and GeoPackage (`save_graph_geopackage`)."""

from __future__ import annotations

import ast
import io
import math
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import FormatError, NetworkError
from privroute.network.checks import as_number
from privroute.network.labels import as_label
from privroute.network.on_earth import DEGREES, to_degrees
from privroute.network.read_notes import ReadNotes
from privroute.network.street_network import Segment, StreetOptions, street_network
from privroute.network.text_files import as_path, read_bytes
from privroute.network.vector_files import layers, read_layer
from privroute.network.wkt import read_line

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from privroute.network.labels import Label
    from privroute.network.network import Network

__all__ = ["parsed_graphml", "read_geopackage", "read_graphml"]

_NAMESPACE = "{http://graphml.graphdrawing.org/xmlns}"
_LONGEST_LIST = 10_000
_METRES_PER_KM = 1000.0


def read_graphml(
    path: str | os.PathLike[str], *, options: StreetOptions | None = None, notes: ReadNotes | None = None
) -> Network:
    """Read a GraphML file as OSMnx saves it: nodes with x and y, directed edges with length and OpenStreetMap tags."""
    place = as_path(path)
    graph, nodes, edges = parsed_graphml(place)
    crs = graph.get("crs")
    points = {key: _point(place, key, values) for key, values in nodes.items()}
    rows = [(source, target, values, values.get("geometry")) for source, target, values in edges]
    return _network(place, points, rows, None if crs is None else str(crs), options, notes)


def read_geopackage(
    path: str | os.PathLike[str], *, options: StreetOptions | None = None, notes: ReadNotes | None = None
) -> Network:
    """Read a GeoPackage as OSMnx saves it, with the layers nodes and edges."""
    place = as_path(path)
    missing = {"nodes", "edges"} - set(layers(place))
    if missing:
        raise FormatError(
            place, f"has no layer {' and no layer '.join(sorted(missing))}; save the graph with save_graph_geopackage"
        )
    nodes, edges = read_layer(place, "nodes"), read_layer(place, "edges")
    for layer, needed in ((nodes, ("osmid",)), (edges, ("u", "v"))):
        lacking = [name for name in needed if name not in layer.columns]
        if lacking:
            raise FormatError(place, f"column {lacking[0]} is missing in the layer {layer.name}")
    points = {}
    for position, key in enumerate(nodes.columns["osmid"].tolist()):
        line = nodes.lines[position]
        if line is None or not len(line):
            raise FormatError(place, f"node {str(key)[:40]} has no point")
        points[_key(key)] = (float(line[0, 0]), float(line[0, 1]))
    names = [name for name in edges.columns if name not in ("u", "v", "key")]
    rows = []
    for position, (u, v) in enumerate(zip(edges.columns["u"].tolist(), edges.columns["v"].tolist(), strict=True)):
        values = {name: _value(edges.columns[name][position]) for name in names}
        present = {name: value for name, value in values.items() if not _is_missing(value)}
        rows.append((_key(u), _key(v), present, edges.lines[position]))
    return _network(place, points, rows, edges.crs or nodes.crs, options, notes)


def _network(
    place: Path,
    points: Mapping[str, tuple[float, float]],
    edges: Iterable[tuple[str, str, dict[str, Any], Any]],
    crs: str | None,
    options: StreetOptions | None,
    notes: ReadNotes | None,
) -> Network:
    segments = []
    try:
        for source, target, values, shape in edges:
            for end in (source, target):
                if end not in points:
                    raise NetworkError(f"an edge names node {end[:40]!r}, which is not there")
            line = read_line(shape) if isinstance(shape, str) else shape
            if line is None or len(line) < 2:  # noqa: PLR2004 - a line
                line = np.array([points[source], points[target]])
            tail, head = (_label(end) for end in (source, target))
            length = as_number(values["length"]) if "length" in values else None
            if length is not None and not 0 <= length < math.inf:
                raise NetworkError(f"the edge from {tail} to {head} has a length that is not a number of metres")
            metres = None if length is None else length / _METRES_PER_KM
            segments.append(Segment(tail, head, values, line, _way_id(values.get("osmid")), metres))
        if segments:
            segments = _in_degrees(segments, crs)
        return street_network(segments, options or StreetOptions(), notes or ReadNotes())
    except NetworkError as problem:
        raise FormatError(place, f"{problem}") from None


def _in_degrees(segments: list[Segment], crs: str | None) -> list[Segment]:
    count = [len(segment.points) for segment in segments]
    points = to_degrees(np.concatenate([segment.points for segment in segments]), crs or DEGREES)
    if not np.all(np.abs(points) <= (180.0, 90.0)):
        raise NetworkError("x and y are not longitudes and latitudes; save the graph with its crs, or in EPSG:4326")
    parts: list[NDArray[np.float64]] = np.split(points, np.cumsum(count)[:-1])
    return [segment._replace(points=part) for segment, part in zip(segments, parts, strict=True)]


def parsed_graphml(  # noqa: C901 - one loop over events
    place: Path, *, undirected: bool = False
) -> tuple[dict[str, Any], dict[str, dict[str, Any]], list[tuple[str, str, dict[str, Any]]]]:
    """Attributes of the graph, of its nodes by id, and its edges.

    undirected : allow a graph whose edges have no direction
    """
    data = read_bytes(place)
    names: dict[str, str] = {}
    graph: dict[str, Any] = {}
    nodes: dict[str, dict[str, Any]] = {}
    edges: list[tuple[str, str, dict[str, Any]]] = []
    seen = False
    reason = ""
    try:
        for event, item in ET.iterparse(io.BytesIO(data), ("start", "end")):  # noqa: S314 - see the import
            tag = item.tag.removeprefix(_NAMESPACE)
            if event == "start":
                if tag == "graph":
                    seen = True
                    if item.get("edgedefault") == "undirected" and not undirected:
                        reason = "its graph is undirected; save a directed one"
                continue
            if tag == "key":
                names[item.get("id", "")] = item.get("attr.name", "")
            elif tag == "node":
                nodes[item.get("id", "")] = _values(item, names)
                item.clear()
            elif tag == "edge":
                edges.append((item.get("source", ""), item.get("target", ""), _values(item, names)))
                item.clear()
            elif tag == "graph":
                graph = _values(item, names)
    except (ET.ParseError, ValueError, LookupError) as problem:
        reason = f"it is not XML: {problem}"
    if not seen or reason:
        raise FormatError(
            place, f"cannot be read as GraphML ({reason or 'it has no graph'}); save it with save_graphml"
        )
    return graph, nodes, edges


def _values(item: Any, names: Mapping[str, str]) -> dict[str, Any]:
    found = {names.get(data.get("key", ""), ""): _value(data.text) for data in item.findall(f"{_NAMESPACE}data")}
    return {name: value for name, value in found.items() if name and not _is_missing(value)}


def _value(given: Any) -> Any:
    """A cell: lists are written as texts like "['a', 'b']"."""
    value = given.item() if isinstance(given, np.generic) else given
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith("[") and len(text) <= _LONGEST_LIST:
        try:
            listed = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return text
        return listed if isinstance(listed, list) and listed else text
    return text


def _is_missing(value: Any) -> bool:
    return value is None or value in ("", "None", "nan") or (isinstance(value, float) and math.isnan(value))


def _point(place: Path, key: str, values: Mapping[str, Any]) -> tuple[float, float]:
    x, y = (as_number(values.get(name)) for name in ("x", "y"))
    if x is None or y is None or not (math.isfinite(x) and math.isfinite(y)):
        raise FormatError(place, f"node {key[:40]!r} has no numbers x and y")
    return x, y


def _key(value: Any) -> str:
    number = as_number(value)
    whole = number is not None and not isinstance(value, str) and number == math.floor(number)
    return str(int(value)) if whole and math.isfinite(number or 0.0) else str(value)


def _label(key: str) -> Label:
    try:
        return as_label(key)
    except NetworkError as problem:
        raise NetworkError(f"the id of a node {problem}") from None


def _way_id(value: Any) -> int:
    first = value[0] if isinstance(value, list) and value else value
    number = as_number(first)
    return int(number) if number is not None and 0 < number < 2**53 else 0
