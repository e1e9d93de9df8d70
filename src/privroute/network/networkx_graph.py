"""Networks from and to NetworkX graphs, as OSMnx makes them.

    graph = osmnx.graph_from_place("Delft", network_type="drive")
    network = privroute.from_networkx(graph, grid_km=1.0)

Attributes that are read (`to_networkx` writes those marked *, and OSMnx's x, y, length and travel_time):

    graph   crs*
    node    x*, y*; zone*, no_through*
    edge    free_flow_min*, travel_time* [s], length_km*, length* [m], speed_kph, maxspeed
            capacity_per_min*, capacity [vehicles per hour], highway, lanes, oneway
            vdf_type* and the parameters of that curve* (bpr: b, power)
            background_per_min*, fixed_cost_min*, link_label*, link_position*
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import InputError, MissingExtraError, NetworkError
from privroute.network.attributes import Attributes
from privroute.network.checks import check_type, real_number, show
from privroute.network.curve_columns import CURVE_COLUMN, curve_names
from privroute.network.curves import CURVES
from privroute.network.display_units import Units
from privroute.network.grid_zones import grid_zones
from privroute.network.labels import Label, as_label
from privroute.network.latency import AFFINE, Latency, latency_kinds
from privroute.network.network import Network
from privroute.network.osm_tags import capacity_per_min, free_flow_min, length_km
from privroute.network.road_classes import merge_road_classes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import networkx as nx
    from numpy.typing import NDArray

    from privroute.network.curve import Parameter
    from privroute.network.network import LatencyKind
    from privroute.network.road_classes import RoadClass

__all__ = ["from_networkx", "to_networkx"]

_UNITS = "privroute_units"  # an attribute of our own: other graphs have units of other things


def from_networkx(
    graph: Any,
    *,
    zones: Iterable[Label] | None = None,
    grid_km: float | None = None,
    latency: LatencyKind | None = None,
    factor: float = 2.0,
    road_classes: Mapping[str, RoadClass] | None = None,
    **parameters: float,
) -> Network:
    """Network of a directed NetworkX graph (MultiDiGraph or DiGraph), such as those from OSMnx.

    Node keys, whole numbers or texts, become the node labels. Links have the order of `graph.edges` (or of their
    `link_position`); an edge from a node to itself is left out, since no path uses it. Free-flow times and capacities
    come from the edges or, where these have none, from the table of road classes (docs/road-classes.md).

    zones : keys of the nodes where trips start and end
    grid_km : instead of `zones`, one zone per cell of a square grid, `grid_km` wide, at the node of the cell nearest
        to its centre; needs x and y, longitudes and latitudes (EPSG:4326) or metres.
        With neither: the nodes whose `zone` is true if any node has that attribute, otherwise every node.
    latency : "affine" (time at capacity = `factor` · free-flow time), the name of a curve, or None: the curve that the
        edge's `vdf_type` names, else bpr on edges that have `b` or `power`, affine on the others
    road_classes : rows that replace or extend `ROAD_CLASSES`; the row "other" serves unknown classes
    parameters : of curves, by name, where an edge has none (bpr: b=0.15, power=4)
    """
    _check_graph(graph)
    if zones is not None and grid_km is not None:
        raise NetworkError("zones and grid_km are both given; pass one of them")
    classes = merge_road_classes(road_classes)
    nodes = [Attributes("node", key, values) for key, values in graph.nodes(data=True)]
    labels = _node_labels(nodes)
    edges = _edges(graph)
    index = {node.key: position for position, node in enumerate(nodes)}
    network = Network(
        [index[edge.key[0]] for edge in edges],
        [index[edge.key[1]] for edge in edges],
        _latency(edges, classes, latency, factor, parameters),
        labels,
        zones=_marked_zones(nodes) if zones is None and grid_km is None else None,
        no_through=np.array([bool(node.flag("no_through")) for node in nodes]),
        background_per_min=[edge.number("background_per_min") or 0.0 for edge in edges],
        fixed_cost_min=[edge.number("fixed_cost_min") or 0.0 for edge in edges],
        coordinates=_coordinates(nodes),
        crs=_crs(graph),
        length_km=_all_or_none(edges, "length", [length_km(edge) for edge in edges]),
        link_labels=_link_labels(edges),
        units=_units(graph),
    )
    if zones is not None:
        return replace(network, zones=_named_zones(network, zones))
    if grid_km is not None:
        return replace(network, zones=grid_zones(network, _argument("grid_km", grid_km, positive=True)))
    return network


def _units(graph: Any) -> Units:
    try:
        return Units.from_dict(graph.graph[_UNITS]) if _UNITS in graph.graph else Units()
    except InputError as problem:
        raise NetworkError(f"its units cannot be used: {problem}") from None


def to_networkx(network: Network) -> nx.MultiDiGraph:
    """Return the network as a MultiDiGraph from which `from_networkx` makes an equal network.

    Nodes carry x, y (if known), zone and no_through; edges free_flow_min, capacity_per_min,
    vdf_type with the parameters of that curve (bpr: b, power), background_per_min, link_label, link_position and
    length_km (if known); the graph carries crs and, where they are not the usual ones, the units. For other tools there
    are also OSMnx's travel_time (s) and length (m). Values are plain Python numbers and texts, so that GraphML and JSON
    take them.
    """
    try:
        import networkx as nx  # noqa: PLC0415, an optional package
    except ImportError:
        raise MissingExtraError("networkx", "networkx", "writing a NetworkX graph") from None
    check_type(network, Network, "network", NetworkError)
    graph = nx.MultiDiGraph(**({} if network.crs is None else {"crs": network.crs}))
    if network.units != Units():
        graph.graph[_UNITS] = network.units.as_dict()
    graph.add_nodes_from(zip(network.node_labels, _node_attributes(network), strict=True))
    labels = network.node_labels
    for tail, head, values in zip(network.tail, network.head, _edge_attributes(network), strict=True):
        graph.add_edge(labels[tail], labels[head], **values)
    return graph


def _node_attributes(network: Network) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = [{"zone": False, "no_through": closed} for closed in network.no_through.tolist()]
    for zone in network.zones.tolist():
        nodes[zone]["zone"] = True
    if network.coordinates is not None:
        for node, (x, y) in zip(nodes, network.coordinates.tolist(), strict=True):
            node.update(x=x, y=y)
    return nodes


def _edge_attributes(network: Network) -> list[dict[str, Any]]:
    columns: dict[str, Sequence[Label] | list[float]] = {
        "link_label": network.link_labels,
        "link_position": range(network.links),
        "free_flow_min": network.free_flow_min.tolist(),
        "capacity_per_min": network.capacity_per_min.tolist(),
        "background_per_min": network.background_per_min.tolist(),
        "travel_time": [minutes * 60.0 for minutes in network.free_flow_min.tolist()],
    }
    if network.has_fixed_costs:
        columns["fixed_cost_min"] = network.fixed_cost_min.tolist()
    if network.length_km is not None:
        columns["length_km"] = network.length_km.tolist()
        columns["length"] = [kilometres * 1000.0 for kilometres in network.length_km.tolist()]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    latency = network.latency
    for row, name, values in zip(rows, curve_names(latency), latency.parameters.tolist(), strict=True):
        row[CURVE_COLUMN] = name
        row.update((parameter.name, value) for parameter, value in zip(CURVES[name].parameters, values, strict=False))
    return rows


def _check_graph(graph: Any) -> None:
    if not all(callable(getattr(graph, name, None)) for name in ("is_directed", "is_multigraph", "nodes", "edges")):
        raise NetworkError(f"graph is a {type(graph).__name__}; pass a networkx.MultiDiGraph or networkx.DiGraph")
    if not graph.is_directed():
        raise NetworkError(
            f"graph is an undirected {type(graph).__name__}; pass a directed one: graph.to_directed() makes each edge "
            "two links, one in either direction"
        )


def _node_labels(nodes: list[Attributes]) -> list[Label]:
    labels: list[Label] = []
    for node in nodes:
        try:
            labels.append(as_label(node.key))
        except NetworkError as problem:
            raise NetworkError(
                f"node {show(node.key)}: the key {problem}; rename the nodes with "
                "networkx.convert_node_labels_to_integers or networkx.relabel_nodes"
            ) from None
    return labels


def _edges(graph: Any) -> list[Attributes]:
    """Edges between different nodes, in the order of `link_position`, then those without one in the graph's order."""
    listed = graph.edges(keys=True, data=True) if graph.is_multigraph() else graph.edges(data=True)
    edges = [Attributes("edge", tuple(key), values) for *key, values in listed if key[0] != key[1]]
    if not edges:
        raise NetworkError(
            "graph has no edge between two different nodes; a network needs at least one (edges from a node to itself "
            "are left out)"
        )
    return sorted(edges, key=lambda edge: _or_default(edge.number("link_position", signed=True), math.inf))


def _latency(
    edges: list[Attributes],
    classes: Mapping[str, RoadClass],
    kind: LatencyKind | None,
    factor: float,
    parameters: Mapping[str, object],
) -> Latency:
    minutes = [free_flow_min(edge, classes) for edge in edges]
    capacity = [capacity_per_min(edge, classes) for edge in edges]
    factor = _argument("factor", factor, least=1.0)
    kinds = list(latency_kinds())
    if kind is not None and kind not in kinds:
        quoted = ", ".join(f'"{name}"' for name in kinds)
        raise NetworkError(f"latency is {show(kind)}; pass {quoted} or None (as on the edges)")
    defaults = _defaults(parameters)
    if kind == AFFINE:
        return Latency.affine(minutes, capacity, factor)
    line = Latency.affine([1.0], [1.0], factor)
    straight = curve_names(line)[0], line.parameters[0].tolist()
    chosen = [kind or _curve(edge) for edge in edges]
    curves = [
        straight if name == AFFINE else (name, _values(edge, name, defaults))
        for edge, name in zip(edges, chosen, strict=True)
    ]
    return Latency.by_link(minutes, capacity, [name for name, _ in curves], [values for _, values in curves])


def _defaults(given: Mapping[str, object]) -> dict[tuple[str, str], float]:
    """Defaults by curve and parameter: the arguments of these names, else those of the table."""
    known = {(name, parameter.name): parameter for name, curve in CURVES.items() for parameter in curve.parameters}
    names = list(dict.fromkeys(name for _, name in known))
    for name in given:
        if name not in names:
            raise NetworkError(f"{name} is no parameter of any curve; those are {', '.join(names)}")
    return {key: _default(parameter, given.get(parameter.name, parameter.default)) for key, parameter in known.items()}


def _default(parameter: Parameter, value: object) -> float:
    def allowed(number: float) -> bool:
        return bool(parameter.allows(number))

    return real_number(value, parameter.name, NetworkError, allowed, f"pass a finite number {parameter.wanted}")


def _curve(edge: Attributes) -> str:
    """The curve that the edge names; else bpr if it has a parameter of that, else affine."""
    if CURVE_COLUMN in edge:
        name = edge.values[CURVE_COLUMN]
        if isinstance(name, str) and name in CURVES:
            return name
        raise edge.error(CURVE_COLUMN, f"give one of {', '.join(CURVES)}, or omit the attribute")
    return "bpr" if any(parameter.name in edge for parameter in CURVES["bpr"].parameters) else AFFINE


def _values(edge: Attributes, name: str, defaults: Mapping[tuple[str, str], float]) -> list[float]:
    values = []
    for parameter in CURVES[name].parameters:
        value = _or_default(edge.number(parameter.name, signed=parameter.least < 0), defaults[name, parameter.name])
        if not parameter.allows(value):
            raise edge.error(parameter.name, f"it must be {parameter.wanted}; correct it, or omit the attribute")
        values.append(value)
    return values


def _or_default(value: float | None, default: float) -> float:
    return default if value is None else value


def _coordinates(nodes: list[Attributes]) -> NDArray[np.float64] | None:
    x = _all_or_none(nodes, "x", [node.number("x", signed=True) for node in nodes])
    y = _all_or_none(nodes, "y", [node.number("y", signed=True) for node in nodes])
    if (x is None) != (y is None):
        raise NetworkError(f"nodes have {'y' if x is None else 'x'} alone; give every node both x and y, or neither")
    return None if x is None or y is None else np.column_stack([x, y])


def _all_or_none(items: list[Attributes], name: str, values: list[float | None]) -> list[float] | None:
    """Return the values, or None if there is none; an attribute on some of the items only is refused."""
    numbers = [value for value in values if value is not None]
    if 0 < len(numbers) < len(values):
        raise _some_only(items[values.index(None)], name, len(numbers), len(values))
    return numbers or None


def _link_labels(edges: list[Attributes]) -> list[Label] | None:
    having = [edge for edge in edges if "link_label" in edge]
    labels: list[Label] = []
    for edge in having:
        try:
            labels.append(as_label(edge.values["link_label"]))
        except NetworkError:
            advice = "give a whole number or a text, or omit the attribute on all edges"
            raise edge.error("link_label", advice) from None
    if 0 < len(having) < len(edges):
        lacking = next(edge for edge in edges if "link_label" not in edge)
        raise _some_only(lacking, "link_label", len(having), len(edges))
    return labels or None


def _some_only(lacking: Attributes, name: str, having: int, total: int) -> NetworkError:
    return NetworkError(
        f"{lacking.kind} {show(lacking.key)}: {name} is missing, while {having:,} of {total:,} have it; "
        f"give it to all {lacking.kind}s or to none"
    )


def _marked_zones(nodes: list[Attributes]) -> list[int] | None:
    """Indices of the nodes whose `zone` is true; None if no node has `zone`."""
    if not any("zone" in node for node in nodes):
        return None
    marked = [index for index, node in enumerate(nodes) if node.flag("zone")]
    if not marked:
        raise NetworkError(
            "no node's zone is true; mark the nodes where trips start and end, pass zones= or grid_km=, or leave the "
            "attribute out of all nodes, which makes every node a zone"
        )
    return marked


def _named_zones(network: Network, zones: Iterable[Label]) -> NDArray[np.int32]:
    if isinstance(zones, str) or not isinstance(zones, Iterable):
        raise NetworkError(f"zones is a {type(zones).__name__}; pass a list of node keys")
    indices = []
    for position, key in enumerate(zones):
        try:
            indices.append(network.node(as_label(key)))
        except NetworkError as problem:
            raise NetworkError(f"zones: position {position:,}: {problem}; pass keys of nodes of the graph") from None
    return np.array(indices, dtype=np.int32)


def _crs(graph: Any) -> str | None:
    """The graph's coordinate reference system as a text; pyproj's objects and EPSG numbers are turned into one."""
    crs = getattr(graph, "graph", {}).get("crs")
    if crs is None or isinstance(crs, str):
        return crs
    if isinstance(crs, int) and not isinstance(crs, bool):
        return f"EPSG:{show(crs)}"
    try:
        text = crs.to_string()
    except Exception:  # noqa: BLE001, a foreign object, or one that has no such method
        text = None
    if not isinstance(text, str):
        raise NetworkError(f'graph: crs is {show(crs)}; set graph.graph["crs"] to a text such as "EPSG:4326"')
    return text


def _argument(name: str, value: object, *, least: float = 0.0, positive: bool = False) -> float:
    wanted = "greater than 0" if positive else f"of at least {least:g}"
    return real_number(
        value,
        name,
        NetworkError,
        lambda number: number >= least and (number > 0 or not positive),
        f"pass a finite number {wanted}",
    )
