"""Files of rows of a layout (row_cases.py): how they are split over files, row groups and pages is drawn each time.

It must not matter, so it is no part of a layout.
"""

from __future__ import annotations

import gzip
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from tests.history.row_cases import Layout, Row

__all__ = ["TALLY", "is_nanoseconds", "write"]

TALLY: Counter[str] = Counter()
"""What was written, by kind: a test of many cases says what it was about."""

_INTEGERS = ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]
_FRACTIONS = ["PLAIN", "BYTE_STREAM_SPLIT"]
_TEXTS = ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"]


def write(folder: Path, chance: random.Random, layout: Layout, rows: list[Row]) -> list[Path]:
    """Files of these rows, in this order, split anywhere."""
    cuts = sorted(chance.randrange(len(rows) + 1) for _ in range(chance.choice([0, 0, 1, 2])))
    paths: list[Path] = []
    for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        for at, each in enumerate([layout, *layout.others]):
            part = [row for row in rows[start:end] if row["layout"] == at]
            path = folder / f"part{len(paths)}.{each.ending}"
            path.unlink(missing_ok=True)
            (_write_parquet if each.kinds else _write_csv)(path, chance, each, part)
            paths.append(path)
    TALLY["readings"] += 1
    TALLY[f"files in a reading: {len(paths)}"] += 1
    return paths


def _write_csv(path: Path, chance: random.Random, layout: Layout, rows: list[Row]) -> None:
    names = [chance.choice([column, column.upper(), f'"{column}"']).encode() for column in layout.makers]
    mark = chance.choice([b"", b"", b"\xef\xbb\xbf"])
    header = mark + layout.delimiter.join(names) + chance.choice([b"\n", b"\r\n", b"\r"])
    lines = [row["line"] for row in rows]
    if lines and chance.random() < 0.3:
        lines[-1] = lines[-1].rstrip(b"\r\n")
    how = "plain"
    if layout.ending.endswith("gz") and chance.random() < 0.5:
        how = "a member for each row"
        path.write_bytes(b"".join(gzip.compress(part, 1) for part in [header, *lines, b""]))
    else:
        with pa.output_stream(str(path), compression="detect") as stream:
            stream.write(header + b"".join(lines))
    TALLY[f"text {layout.ending}, {how}, delimiter {layout.delimiter!r}"] += 1


def _write_parquet(path: Path, chance: random.Random, layout: Layout, rows: list[Row]) -> None:
    columns = {name: as_column([row[name] for row in rows], kind) for name, kind in layout.kinds.items()}
    names = list(columns)
    order = chance.sample(names, len(names))  # where a column stands must not matter
    arrays = [columns[name] for name in order]
    if layout.twice:
        order, arrays = [*order, layout.twice], [*arrays, columns[layout.twice]]
    encoded = chance.choice(["dictionary", "some columns", "plain", "encodings"])
    encoding: dict[str, str] | None = None
    dictionary: bool | list[str] = encoded == "dictionary"
    if encoded == "some columns":
        dictionary = chance.sample(names, chance.randint(1, len(names)))
    elif encoded == "encodings":
        encoding = {
            name: chance.choice(found) for name, kind in layout.kinds.items() if (found := _encodings(kind, layout))
        }
    compression = chance.choice(["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
    exact = layout.int96 or any(is_nanoseconds(kind) for kind in layout.kinds.values())
    pq.write_table(
        pa.table(arrays, names=order),
        path,
        compression=compression,
        use_dictionary=dictionary,
        column_encoding=encoding,
        dictionary_pagesize_limit=chance.choice([1, 64, 2**20]),
        row_group_size=chance.choice([1, 2, 3, 7, 1000]),
        data_page_size=chance.choice([1, 64, 2**20]),
        data_page_version=chance.choice(["1.0", "2.0"]),
        version="2.6" if exact else chance.choice(["1.0", "2.4", "2.6"]),
        write_statistics=chance.random() < 0.5,
        write_page_index=chance.random() < 0.3,
        write_page_checksum=chance.random() < 0.3,
        store_schema=layout.stored,
        use_deprecated_int96_timestamps=layout.int96,
    )
    TALLY[f"parquet compression {compression}"] += 1
    TALLY[f"parquet encoding {encoded}"] += 1
    for used in set((encoding or {}).values()):
        TALLY[f"parquet column encoding {used}"] += 1
    if layout.int96:
        TALLY["parquet times of 96 bits"] += 1
    if not layout.stored:
        TALLY["parquet without Arrow's schema"] += 1


def is_nanoseconds(kind: Any) -> bool:
    """Whether an Arrow type is a time that older versions of the format cannot hold."""
    return bool(pa.types.is_timestamp(kind) and kind.unit == "ns")


def _encodings(kind: Any, layout: Layout) -> list[str]:
    if layout.int96 and pa.types.is_timestamp(kind):
        return []
    if pa.types.is_timestamp(kind) or (pa.types.is_integer(kind) and kind.bit_width >= 32):
        return _INTEGERS
    if kind in (pa.float32(), pa.float64()):
        return _FRACTIONS
    return _TEXTS if kind in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()) else []


def as_column(values: list[Any], kind: Any) -> Any:
    """An array of any type, texts from bytes that need not be UTF-8."""
    if pa.types.is_dictionary(kind):
        return as_column(values, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_timestamp(kind):
        if kind.unit == "s":  # Parquet has no seconds: written as milliseconds
            values = [None if value is None else max(-(10**15), min(value, 10**15)) for value in values]
        return pa.array(values, pa.int64()).cast(kind)
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        raw = pa.array(values, pa.large_binary() if kind == pa.large_string() else pa.binary())
        text = pa.Array.from_buffers(pa.string() if kind == pa.string_view() else kind, len(raw), raw.buffers())
        return text.cast(kind)
    if kind == pa.uuid():
        return pa.ExtensionArray.from_storage(kind, pa.array(values, pa.binary(16)))
    if kind == pa.float16():
        return pa.array(values, pa.float32()).cast(kind)
    return pa.array(values, kind)
