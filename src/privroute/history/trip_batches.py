"""Trip files as batches of plain columns. What a row holds there depends on that row and on the file's schema alone.

Each column becomes one of five plain forms, by its type and never by its values:

    integer    64-bit integers; what does not fit is missing
    number     64-bit floats
    text       UTF-8 of at most 64 KiB, as a line of CSV; other bytes are missing
    local_us   whole microseconds of clock time since 1970, rounded down
    utc_us     whole microseconds since 1970 in UTC, rounded down

A value that a form cannot hold is missing, a fault of its own row. No other row, batch or file has a part in it:
docs/proofs/row-locality.md. Types without a form (lists, dates, truth values, ...) are refused by the schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from privroute import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["FORM_TYPES", "LONGEST_LINE", "Form", "Hours", "csv_batches", "form_of", "open_parquet", "parquet_batches"]

Form = Literal["integer", "number", "text", "local_us", "utc_us"]

FORM_TYPES: dict[Form, Any] = {
    "integer": pa.int64(),
    "number": pa.float64(),
    "text": pa.large_string(),
    "local_us": pa.int64(),
    "utc_us": pa.int64(),
}
LONGEST_LINE = 65_536
_BATCH_ROWS = 131_072
_CHUNK_BYTES = 2**22
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECOND_US = 10**6
_LARGEST_US = 2**62
_UUID_BYTES = 16
_WIDTHS: dict[Any, Any] = {  # of the offsets of texts
    **dict.fromkeys((pa.string(), pa.binary()), np.int32),
    **dict.fromkeys((pa.large_string(), pa.large_binary()), np.int64),
}


@dataclass(frozen=True, slots=True)
class Hours:
    """Hours of the day outside of which no time of a column counts. Public.

    starts : times of day at which they begin, microseconds; several where clocks change
    length : microseconds, less than a day
    """

    starts: tuple[int, ...]
    length: int

    def rows(self, time_us: Any) -> Any:
        """Positions of the times in microseconds that lie in the hours or are missing."""
        present = time_us.is_valid().to_numpy(zero_copy_only=False)
        starts = np.array(self.starts, dtype=np.int64)
        return pa.array(_core.in_hours(time_us.fill_null(0).to_numpy(), present, starts, self.length))


def form_of(kind: Any) -> Form | None:
    """The plain form of a column of this Arrow type; None where it has none."""
    kind = _value_type(kind)
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_timestamp(kind):
        return "local_us" if kind.tz is None else "utc_us"
    if _is_text(kind) or pa.types.is_null(kind) or kind == pa.uuid():
        return "text"
    return None


def open_parquet(path: Path) -> Any:
    """The file, read page by page.

    Nanoseconds of the oldest time type are dropped on reading, since its range does not fit them.
    """
    return pq.ParquetFile(path, coerce_int96_timestamp_unit="us", pre_buffer=False)


def parquet_batches(
    path: Path, names: Sequence[str], report: Callable[[int, float], object], hours: tuple[int, Hours] | None = None
) -> Iterator[list[Any]]:
    """The named columns in their forms, a batch of rows at a time.

    report : called with the number of rows of a batch, and the share of all rows that has been read
    hours : position of a column of times; rows whose time is neither missing nor in these hours are left out before
        anything else is done with them
    """
    with open_parquet(path) as file:
        done, total = 0, max(1, file.metadata.num_rows)
        for batch in file.iter_batches(_BATCH_ROWS, columns=list(dict.fromkeys(names))):
            done += batch.num_rows
            report(batch.num_rows, done / total)
            columns = [_without_views(batch.column(name)) for name in names]
            if hours is not None:
                inside = hours[1].rows(_plain(columns[hours[0]]))
                columns = [column.take(inside) for column in columns]
            yield [_plain(column) for column in columns]


def csv_batches(
    path: Path, delimiter: str, cells: int, positions: Sequence[int], dropped: Callable[[int], object]
) -> Iterator[list[Any]]:
    """The columns at these positions as texts, a batch of lines at a time; the header is left out.

    A line is a row of its own, whatever stands in it: lines that are no rows are dropped, and counted with `dropped`.
    """
    wanted = np.array(positions, dtype=np.int64)
    for text in _whole_lines(path, dropped):
        columns, malformed = _core.split_lines(text, delimiter, cells, wanted, LONGEST_LINE)
        dropped(malformed)
        yield [_text_array(offset, data) for offset, data in columns]


def _whole_lines(path: Path, dropped: Callable[[int], object]) -> Iterator[bytes]:
    """Texts of whole lines, without the first line and without lines that are far too long."""
    rest, in_header, in_long_line = b"", True, False
    with pa.input_stream(str(path), compression="detect") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            text = rest + chunk
            if in_header or in_long_line:
                end = _first_end(text)
                if end < 0:  # the line goes on
                    rest = b""
                    continue
                text = text[end:]
                in_header = in_long_line = False
            end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
            rest = text[end:]
            if end:
                yield text[:end]
            if len(rest) > LONGEST_LINE:
                rest, in_long_line = b"", True
                dropped(1)
    if rest:
        yield rest


def _first_end(text: bytes) -> int:
    """Where the first line has ended, its end included; -1 where it goes on."""
    ends = [end for end in (text.find(b"\n"), text.find(b"\r")) if end >= 0]
    return min(ends) + 1 if ends else -1


def _text_array(offset: NDArray[np.int64], data: NDArray[np.uint8], present: NDArray[np.bool_] | None = None) -> Any:
    bits = None if present is None else pa.array(present).buffers()[1]
    buffers = [bits, pa.py_buffer(offset), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), offset.size - 1, buffers)


def _value_type(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _without_views(column: Any) -> Any:
    """Arrow cannot choose among texts that are views."""
    is_view = pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type)
    return column.cast(pa.large_binary()) if is_view else column


def _is_text(kind: Any) -> bool:
    forms = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return any(getattr(pa.types, f"is_{form}")(kind) for form in forms)


def _plain(column: Any) -> Any:
    """A column in the form of its type."""
    if pa.types.is_dictionary(column.type):
        return _plain(column.dictionary).take(column.indices)  # long texts are missing before they are repeated
    form = form_of(column.type)
    if form == "integer":
        return _integers(column)
    if form == "number":
        return column.cast(pa.float64())
    if form == "text":
        return _texts(column)
    return _microseconds(column.view(pa.int64()), column.type.unit)


def _integers(column: Any) -> Any:
    if pa.types.is_uint64(column.type):
        fits = pc.less_equal(column, pa.scalar(2**63 - 1, pa.uint64()))
        column = pc.if_else(fits, column, pa.scalar(None, column.type))
    return column.cast(pa.int64())


def _microseconds(number: Any, unit: str) -> Any:
    """Whole microseconds, rounded down, of a count of units; missing where they would not fit."""
    per_second = _PER_SECOND[unit]
    if per_second == _SECOND_US:
        return number
    present = number.is_valid().to_numpy(zero_copy_only=False)
    values = number.fill_null(0).to_numpy()
    if per_second > _SECOND_US:
        values = np.floor_divide(values, per_second // _SECOND_US)
    else:
        factor = _SECOND_US // per_second
        present = present & (np.abs(values // 2) <= _LARGEST_US // factor // 2)
        values = np.where(present, values, 0) * factor
    return pa.array(values, mask=~present)


def _texts(column: Any) -> Any:
    """Texts; missing where they are not UTF-8 or too long: one row must not need more memory than all others."""
    if pa.types.is_null(column.type):
        return column.cast(pa.large_string())
    if column.type == pa.uuid():
        return _uuid_texts(column.storage)
    if not len(column):
        return pa.array([], pa.large_string())
    column = _without_views(column)
    _, offsets, data = column.buffers()  # used where they are: a cast may copy a text that is dropped
    offset = np.frombuffer(offsets, dtype=_WIDTHS[column.type])[column.offset : column.offset + len(column) + 1]
    data = np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    return _text_array(*_core.kept_texts(offset.astype(np.int64, copy=False), data, present, LONGEST_LINE))


def _uuid_texts(values: Any) -> Any:
    """Universally unique ids as texts like 550e8400-e29b-41d4-a716-446655440000."""
    present = values.is_valid().to_numpy(zero_copy_only=False)
    raw = np.frombuffer(values.buffers()[1], dtype=np.uint8).reshape(-1, _UUID_BYTES)
    raw = raw[values.offset : values.offset + len(values)]
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    text = np.full((len(values), 36), ord("-"), dtype=np.uint8)
    at = [place for place in range(36) if place not in (8, 13, 18, 23)]
    text[:, at[0::2]], text[:, at[1::2]] = digits[raw >> 4], digits[raw & 15]
    offset = np.arange(len(values) + 1, dtype=np.int64) * 36
    return _text_array(offset, text.ravel(), present)
