"""Plain origin-destination tables in CSV, read column by column by PyArrow, which is fast.

Plain is what the row-by-row reader (`privroute.network.od_matrix`) would read to the same values. Whatever else a file
has, it is left to that reader: `None` here, and an error with the line there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import NetworkError
from privroute.network.labels import as_label
from privroute.network.text_files import as_path, read_bytes

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["plain_matrix"]

_SMALLEST = 2**16  # bytes; smaller files are read as fast by the other reader
# a whole cell in quotes without anything that needs them: what PyArrow writes in headers, and R around labels
_NEEDLESS_QUOTES = re.compile(rb'"(?<=[,;\t\n]")([^",;\t\r\n]*)"(?=[,;\t\r\n])')
_PLAIN = frozenset(b"0123456789.,;\tabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_- \r\n")


def plain_matrix(
    path: str | os.PathLike[str], place: dict[str, int], names: list[str], layout: str
) -> NDArray[np.float64] | None:
    """(zones, zones) trips, or None if the file is small or not plain.

    place : position of each zone by its label as text; names : columns of origin, destination and trips
    """
    data = read_bytes(as_path(path))
    start = data.find(b"\n") + 1
    first, data = _without_quotes(data[:start]), _without_quotes(data[start:])  # often only the header has quotes
    strange = any(text.translate(None, bytes(_PLAIN)) or _has_lone_returns(text) for text in (first, data))
    header = first.decode("ascii", "replace").strip("\r\n")
    delimiter = max(",;\t", key=header.count)
    columns = [cell.strip().lower() for cell in header.split(delimiter)]
    long = layout == "long" or (layout == "auto" and set(names[:2]) <= set(columns))
    lacking = long and not set(names) <= set(columns)
    if len(data) < _SMALLEST or strange or lacking or len(set(columns)) != len(columns):
        return None
    texts, numbers = (names[:2], names[2:]) if long else (columns[:1], columns[1:])
    table = _read(data, delimiter, columns, texts, numbers)
    if table is None or any(column.null_count for column in table.columns):
        return None
    return _long(table, place, names) if long else _square(table, place, columns)


def _without_quotes(data: bytes) -> bytes:
    """The same lines without those that cells do not need."""
    return _NEEDLESS_QUOTES.sub(rb"\1", b"\n" + data + b"\n")[1:-1] if b'"' in data else data


def _has_lone_returns(data: bytes) -> bool:
    return b"\r" in data and data.count(b"\r") != data.count(b"\r\n")


def _read(data: bytes, delimiter: str, columns: list[str], texts: list[str], numbers: list[str]) -> Any:
    """The table of these columns, or None if PyArrow is not there or cannot read it."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional package
        from pyarrow import csv  # noqa: PLC0415
    except ImportError:
        return None
    label = pa.dictionary(pa.int32(), pa.string())
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(texts, label) | dict.fromkeys(numbers, pa.float64()),
        include_columns=[*texts, *numbers],
        null_values=[""],
        strings_can_be_null=True,
    )
    try:
        return csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(column_names=columns, block_size=2**24),
            parse_options=csv.ParseOptions(delimiter=delimiter, quote_char=False),
            convert_options=convert,
        )
    except (pa.ArrowException, ValueError):
        return None


def _long(table: Any, place: dict[str, int], names: list[str]) -> NDArray[np.float64] | None:
    ends = [_positions(table[name], place) for name in names[:2]]
    trips = table[names[2]].to_numpy()
    if ends[0] is None or ends[1] is None or not _usable(trips):
        return None
    keys = ends[0] * len(place) + ends[1]
    if keys.size and np.bincount(keys).max() > 1:
        return None
    matrix = np.zeros(len(place) ** 2)
    matrix[keys] = trips
    return matrix.reshape(len(place), len(place))


def _square(table: Any, place: dict[str, int], columns: list[str]) -> NDArray[np.float64] | None:
    by_text = {label.lower(): position for label, position in place.items()}
    rows = _positions(table[columns[0]], place)
    heads = [by_text.get(name, -1) for name in columns[1:]]
    if rows is None or sorted(heads) != list(range(len(place))) or sorted(rows.tolist()) != list(range(len(place))):
        return None
    matrix = np.empty((len(place), len(place)))
    for position, name in zip(heads, columns[1:], strict=True):
        matrix[rows, position] = table[name].to_numpy()
    return matrix if _usable(matrix) else None


def _positions(column: Any, place: dict[str, int]) -> NDArray[np.int64] | None:
    """Positions of labels among the zones, or None if there is another one."""
    encoded = column.unify_dictionaries().combine_chunks()
    found = []
    for text in encoded.dictionary.to_pylist():
        try:
            found.append(place.get(str(as_label(text.strip())), -1))
        except NetworkError:
            return None
    if not found or min(found) < 0:
        return None
    return np.asarray(np.array(found, dtype=np.int64)[encoded.indices.to_numpy()])


def _usable(trips: NDArray[np.float64]) -> bool:
    return bool(np.all(np.isfinite(trips) & (trips >= 0)))
