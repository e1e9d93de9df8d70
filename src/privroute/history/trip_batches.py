"""Trip files as batches of plain columns. What a row holds there depends on that row and on the file's schema alone.

Each column becomes one of five plain forms, by its type and never by its values:

    integer    64-bit integers; what does not fit is missing
    number     64-bit floats
    text       UTF-8, as short as the column's rule says; other bytes are missing
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

from privroute import _core
from privroute.history.row_groups import open_parquet, row_group_batches
from privroute.history.trip_texts import LONGEST_TEXT, SHORT_TEXT, TextRule, is_text, longest_text, texts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

__all__ = ["FORM_TYPES", "Form", "Hours", "csv_batches", "form_of", "formed", "parquet_batches"]

Form = Literal["integer", "number", "text", "local_us", "utc_us"]

FORM_TYPES: dict[Form, Any] = {
    "integer": pa.int64(),
    "number": pa.float64(),
    "text": pa.large_string(),
    "local_us": pa.int64(),
    "utc_us": pa.int64(),
}
_CHUNK_BYTES = 2**22
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECOND_US = 10**6
_LARGEST_US = 2**62


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
        times = time_us.fill_null(0) if time_us.null_count else time_us  # which copies, even where nothing is missing
        return pa.array(_core.in_hours(times.to_numpy(), present, starts, self.length))


def form_of(kind: Any) -> Form | None:
    """The plain form of a column of this Arrow type; None where it has none."""
    kind = _value_type(kind)
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_timestamp(kind):
        return "local_us" if kind.tz is None else "utc_us"
    if is_text(kind) or pa.types.is_null(kind) or kind == pa.uuid():
        return "text"
    return None


def parquet_batches(
    path: Path,
    names: Sequence[str],
    rules: Sequence[TextRule],
    report: Callable[[int, float], object],
    hours: tuple[int, Hours] | None = None,
) -> Iterator[list[Any]]:
    """The named columns in their forms, a batch of rows at a time.

    rules : of each column, what becomes of texts
    report : called with the number of rows of a batch, and the share of all rows that has been read
    hours : position of a column of times; rows whose time is neither missing nor in these hours are left out before
        anything else is done with them
    """
    with open_parquet(path) as file:
        done, total = 0, max(1, file.metadata.num_rows)
    for batch in row_group_batches(path, list(dict.fromkeys(names))):
        done += batch.num_rows
        report(batch.num_rows, done / total)
        yield formed(batch, names, rules, hours)


def formed(
    batch: Any, names: Sequence[str], rules: Sequence[TextRule], hours: tuple[int, Hours] | None = None
) -> list[Any]:
    """The named columns of a batch in their forms, without rows whose time is present and not in the hours."""
    columns = [batch.column(name) for name in names]
    inside = None if hours is None else hours[1].rows(_plain(columns[hours[0]]))
    return [_rows(column, inside, rule) for column, rule in zip(columns, rules, strict=True)]


def csv_batches(
    path: Path,
    delimiter: str,
    cells: int,
    positions: Sequence[int],
    dropped: Callable[[int], object],
    rules: Sequence[TextRule] | None = None,
) -> Iterator[list[Any]]:
    """The columns at these positions as texts, a batch of lines at a time; the header is left out.

    A line is a row of its own, whatever stands in it: lines that are no rows are dropped, and counted with `dropped`.
    rules : of each column, what becomes of its texts; None leaves them as they are
    """
    wanted = np.array(positions, dtype=np.int64)
    rules = [TextRule(LONGEST_TEXT)] * len(positions) if rules is None else rules
    for text in _whole_lines(path, dropped):
        columns, malformed = _core.split_lines(text, delimiter, cells, wanted, LONGEST_TEXT)
        dropped(malformed)
        yield [rule.read_lines(*column) for rule, column in zip(rules, columns, strict=True)]


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
            if len(rest) > LONGEST_TEXT:
                rest, in_long_line = b"", True
                dropped(1)
    if rest:
        yield rest


def _first_end(text: bytes) -> int:
    """Where the first line has ended, its end included; -1 where it goes on."""
    ends = [end for end in (text.find(b"\n"), text.find(b"\r")) if end >= 0]
    return min(ends) + 1 if ends else -1


def _value_type(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _rows(column: Any, inside: Any, rule: TextRule) -> Any:
    """The rows at the positions `inside` (None: all) of a column, in its form."""
    if inside is None:
        return _plain(column, rule)
    # to take rows copies their texts, so long ones are missing before
    if _can_be_taken(column):
        return _plain(column.take(inside), rule)
    return _plain(column, rule).take(inside)


def _can_be_taken(column: Any) -> bool:
    """Whether Arrow can choose among the values, and none is long. Positions in a dictionary are short."""
    if not is_text(column.type):
        return True
    is_view = pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type)
    return not is_view and longest_text(column) <= SHORT_TEXT


def _plain(column: Any, rule: TextRule = TextRule()) -> Any:  # noqa: B008 - a frozen value
    """A column in the form of its type."""
    if pa.types.is_dictionary(column.type):
        values, at = column.dictionary, column.indices
        if len(values) > len(at) and _can_be_taken(values):  # most values are of other batches
            return _plain(values.take(at), rule)
        return _plain(values, rule).take(at)  # long texts are missing before they are repeated
    form = form_of(column.type)
    if form == "integer":
        return _integers(column)
    if form == "number":
        return column.cast(pa.float64())
    if form == "text":
        return texts_of(column, rule)
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
