"""Latency curves by link type: a public table that says which curve the links of each type have.

    link_type,vdf_type,vdf_conical,vdf_packet,...
    motorway,conical,8,
    *,bpr,,

A row has a link type, a curve and the columns of its parameters, as in link.csv of GMNS; an empty cell is the curve's
default. `*` is every other type; without that row, other links keep their curve.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from privroute.errors import FormatError, NetworkError
from privroute.network.curve_columns import CURVE_COLUMN, curve_of_row, parameter_columns, parameter_of_row
from privroute.network.curves import CURVES
from privroute.network.latency import Latency
from privroute.network.text_files import read_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from privroute.network.network import Network

__all__ = ["EVERY_OTHER", "TYPE_COLUMN", "TypeCurve", "read_type_curves", "with_type_curves"]

TYPE_COLUMN = "link_type"
EVERY_OTHER = "*"


class TypeCurve(NamedTuple):
    """A curve and its parameters in the order of the table."""

    name: str
    parameters: tuple[float, ...]


def read_type_curves(path: str | os.PathLike[str]) -> dict[str, TypeCurve]:
    """Read a table of curves by link type; types are compared without regard to case."""
    table = read_table(path)
    table.require(TYPE_COLUMN, CURVE_COLUMN)
    known = {TYPE_COLUMN, CURVE_COLUMN, *parameter_columns(CURVES)}
    unknown = sorted(set(table.columns) - known - {""})
    if unknown:
        raise FormatError(path, f"column {unknown[0][:40]!r} is no parameter of a curve", line=1)
    found: dict[str, TypeCurve] = {}
    for where, row in table:
        kind = row[TYPE_COLUMN].lower()
        if not kind:
            raise where.error(f"{TYPE_COLUMN} is empty; write {EVERY_OTHER} for every other type")
        if kind in found:
            raise where.error(f"{TYPE_COLUMN} {kind[:40]!r} occurs twice")
        name = curve_of_row(where, row)
        found[kind] = TypeCurve(name, tuple(parameter_of_row(where, row, each) for each in CURVES[name].parameters))
        try:
            Latency.by_link([1.0], [1.0], [name], [found[kind].parameters])
        except NetworkError as problem:
            raise where.error(str(problem).removeprefix("link 0: ")) from None
    return found


def with_type_curves(network: Network, types: Sequence[str], curves: Mapping[str, TypeCurve]) -> Network:
    """Return the network whose links have the curves of their types.

    types : (links,) the type of each link, "" where it is not known
    """
    if len(types) != network.links:
        raise NetworkError(f"there are {len(types):,} link types for {network.links:,} links")
    unused = sorted(set(curves) - {kind.lower() for kind in types} - {EVERY_OTHER})
    if unused:
        present = ", ".join(sorted({kind.lower() or "(none)" for kind in types})[:10])
        raise NetworkError(f"no link has the type {unused[0][:40]!r}; those of this network are {present}")
    latency = network.latency
    names, rows = [], []
    kept = list(CURVES)
    for link, kind in enumerate(types):
        chosen = curves.get(kind.lower(), curves.get(EVERY_OTHER))
        if chosen is None:
            name = kept[int(latency.curve[link])]
            chosen = TypeCurve(name, tuple(latency.parameters[link, : len(CURVES[name].parameters)].tolist()))
        names.append(chosen.name)
        rows.append(chosen.parameters)
    return replace(network, latency=Latency.by_link(latency.free_flow_min, latency.capacity_per_min, names, rows))
