"""Arrow columns as NumPy arrays, without a copy and without Arrow's own conversion, which imports pandas if present.

Importing pandas or Arrow's compute functions takes longer than reading the release of a city.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["as_numpy", "valid", "whole"]

_TYPES = {
    pa.int8(): np.int8,
    pa.int16(): np.int16,
    pa.int32(): np.int32,
    pa.int64(): np.int64,
    pa.float64(): np.float64,
}


def as_numpy(column: pa.ChunkedArray | pa.Array) -> NDArray[Any]:
    """The values, read only; those of empty rows are not defined, and floats there are NaN."""
    array = whole(column)
    if array.type == pa.bool_():
        return _bits(array.buffers()[1], array)
    kind = _TYPES[array.type]
    data = array.buffers()[1]
    values = np.frombuffer(b"" if data is None else data, kind)[array.offset : array.offset + len(array)]
    if array.null_count and kind is np.float64:
        values = np.where(valid(array), values, np.nan)
    return values


def valid(column: pa.ChunkedArray | pa.Array) -> NDArray[np.bool_]:
    """Whether each row has a value."""
    array = whole(column)
    bits = array.buffers()[0]
    return np.ones(len(array), bool) if bits is None else _bits(bits, array)


def _bits(bits: pa.Buffer | None, array: pa.Array) -> NDArray[np.bool_]:
    unpacked = np.unpackbits(np.frombuffer(b"" if bits is None else bits, np.uint8), bitorder="little")
    return np.asarray(unpacked[array.offset : array.offset + len(array)], dtype=bool)


def whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    combined = column.combine_chunks()
    return combined.combine_chunks() if isinstance(combined, pa.ChunkedArray) else combined
