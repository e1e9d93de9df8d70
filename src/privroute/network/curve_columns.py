"""Latency curves as columns of a table of links, as link.csv of GMNS and links.parquet of a release have them.

`vdf_type` names the curve of each link; every parameter has the column that the table of curves gives it. A table has
the columns of the curves that occur in it, and a cell is empty where the link's curve has no such parameter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.network.curves import CURVES, numbers_in
from privroute.network.latency import Latency

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from privroute.network.curve import Parameter
    from privroute.network.text_files import Where

__all__ = [
    "CURVE_COLUMN",
    "curve_names",
    "curve_of_row",
    "latency_of_columns",
    "parameter_columns",
    "parameter_of_row",
    "values_by_column",
]

CURVE_COLUMN = "vdf_type"
_DEFAULT_CURVE = "bpr"


def parameter_columns(names: Iterable[str]) -> list[str]:
    """Columns of the parameters of some curves, each once, in the order of the table."""
    wanted = set(names)
    listed = (each.column for name, curve in CURVES.items() if name in wanted for each in curve.parameters)
    return list(dict.fromkeys(listed))


def curve_names(latency: Latency) -> list[str]:
    """The name of each link's curve."""
    names = list(CURVES)
    return [names[number] for number in latency.curve.tolist()]


def values_by_column(latency: Latency) -> dict[str, NDArray[np.float64]]:
    """(links,) for each column of the curves that occur, NaN where a link's curve has no such parameter."""
    present = _present(latency.curve)
    columns = {name: np.full(len(latency), np.nan) for name in parameter_columns(present)}
    for name, own in present.items():
        for position, parameter in enumerate(CURVES[name].parameters):
            columns[parameter.column][own] = latency.parameters[own, position]
    return columns


def latency_of_columns(
    free_flow_min: NDArray[np.float64],
    capacity_per_min: NDArray[np.float64],
    curve: NDArray[np.uint8],
    columns: Mapping[str, NDArray[np.float64]],
) -> Latency:
    """Return the curves that `values_by_column` wrote.

    curve : (links,) numbers in the table
    columns : those of all curves that occur; values that a link's curve does not have are not looked at
    """
    present = _present(curve)
    rows = np.zeros((curve.size, max((len(CURVES[name].parameters) for name in present), default=0)))
    for name, own in present.items():
        for position, parameter in enumerate(CURVES[name].parameters):
            rows[own, position] = columns[parameter.column][own]
    return Latency(free_flow_min, capacity_per_min, curve, rows)


def curve_of_row(where: Where, row: dict[str, str]) -> str:
    """The name of the curve that a row of a text table has."""
    given = row.get(CURVE_COLUMN) or _DEFAULT_CURVE
    if given.lower() not in CURVES:
        raise where.error(f"{CURVE_COLUMN} is {given[:40]!r}; known curves are {', '.join(CURVES)}")
    return given.lower()


def parameter_of_row(where: Where, row: dict[str, str], parameter: Parameter) -> float:
    """One parameter of a row of a text table, or its default where the cell is empty."""
    text = row.get(parameter.column)
    if not text:
        return parameter.default
    value = (where.number if parameter.least < 0 else where.amount)(text, parameter.column)
    if not parameter.allows(value):
        raise where.error(f"{parameter.column} is {text[:40]!r}; pass a number {parameter.wanted}")
    return value


def _present(curve: NDArray[np.uint8]) -> dict[str, NDArray[np.bool_]]:
    """The curves that occur, in the order of the table: name -> (links,) where."""
    names = list(CURVES)
    return {names[number]: curve == number for number in numbers_in(curve)}
