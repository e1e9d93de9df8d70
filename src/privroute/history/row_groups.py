"""How the row groups of a Parquet file are read, so that decoded texts need little memory. Values are the same anyhow.

A text that many rows share is stored once, in a dictionary; decoded as a plain column it is there once for each row. As
a dictionary it stays one. But Arrow adds the texts of plain pages to the dictionary, too, as long as a reader is open,
and a dictionary ends at 2^31 bytes. So each run of row groups has a reader of its own, of a limited size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from privroute.history.trip_texts import LONGEST_TEXT, SHORT_TEXT, longest_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["open_parquet", "row_group_batches"]

_BATCH_ROWS = 524_288
_RUN_BYTES = 2**27
_DICTIONARIES = frozenset({"PLAIN_DICTIONARY", "RLE_DICTIONARY"})
_INDEX_BYTES = 4  # a value takes no more than this where most are positions in a dictionary


@dataclass(frozen=True, slots=True)
class _TextColumn:
    """A column of texts: its name, its position among the leaves, and whether its stored type is a dictionary."""

    name: str
    at: int
    is_dictionary: bool


@dataclass(slots=True)
class _Run:
    """Consecutive row groups that are read in the same way.

    dictionaries : columns to read as dictionaries; bytes : of texts, as stored without compression
    repeats : whether dense texts may be longer than they are stored; longest : bytes of one that may be repeated
    """

    groups: list[int]
    dictionaries: frozenset[str]
    rows: int
    bytes: int
    repeats: bool
    longest: int

    @property
    def batch_rows(self) -> int:
        if self.bytes <= _RUN_BYTES and not self.repeats:
            return _BATCH_ROWS
        average = self.bytes // max(1, self.rows)
        return max(1, min(_BATCH_ROWS, _RUN_BYTES // max(average, self.longest, LONGEST_TEXT)))

    def continues_with(self, other: _Run) -> bool:
        return (
            self.dictionaries == other.dictionaries
            and self.repeats == other.repeats
            and self.bytes + other.bytes <= _RUN_BYTES
        )


def open_parquet(path: Path, **options: Any) -> Any:
    """The file, read page by page.

    Nanoseconds of the oldest time type are dropped on reading, since its range does not fit them. Texts have wide
    offsets unless the schema stored in the file says otherwise; those of a dictionary type become plain.
    """
    options = {"binary_type": pa.large_binary()} | options
    return pq.ParquetFile(path, coerce_int96_timestamp_unit="us", pre_buffer=False, **options)


def row_group_batches(path: Path, names: Sequence[str]) -> Iterator[Any]:
    """The named columns of all rows as Arrow's record batches."""
    with open_parquet(path, binary_type=None) as file:
        metadata, schema = file.metadata, file.schema_arrow
        leaves = [file.schema.column(at) for at in range(len(file.schema))]
    texts = [
        _TextColumn(leaf.path, at, is_dictionary=pa.types.is_dictionary(schema.field(leaf.path).type))
        for at, leaf in enumerate(leaves)
        if leaf.path in names and leaf.physical_type == "BYTE_ARRAY"
    ]
    for run in _runs(path, metadata, texts):
        with _reader(path, metadata, run.dictionaries) as reader:
            # one thread a file is faster than one a column, which wait for each other after every batch
            yield from reader.iter_batches(
                run.batch_rows, row_groups=run.groups, columns=list(names), use_threads=False
            )


def _reader(path: Path, metadata: Any, dictionaries: frozenset[str]) -> Any:
    # Arrow makes dictionaries of texts with narrow offsets only
    options: dict[str, Any] = {}
    if dictionaries:
        options = {"read_dictionary": sorted(dictionaries), "binary_type": None}
    return open_parquet(path, metadata=metadata, **options)


def _runs(path: Path, metadata: Any, texts: list[_TextColumn]) -> Iterator[_Run]:
    run: _Run | None = None
    for group in range(metadata.num_row_groups):
        following = _run(path, metadata, group, texts)
        if run is not None and run.continues_with(following):
            run.groups += following.groups
            run.rows += following.rows
            run.bytes += following.bytes
            run.longest = max(run.longest, following.longest)
            continue
        if run is not None:
            yield run
        run = following
    if run is not None:
        yield run


def _run(path: Path, metadata: Any, group: int, texts: list[_TextColumn]) -> _Run:
    """A row group by itself."""
    content = metadata.row_group(group)
    if not (texts and content.num_rows):
        return _Run([group], frozenset(), content.num_rows, 0, repeats=False, longest=0)
    with _reader(path, metadata, frozenset()) as reader:
        # an error where columns are damaged, of which asking below would end the process
        next(reader.iter_batches(1, row_groups=[group], columns=[text.name for text in texts]), None)
    chunks = {text.name: content.column(text.at) for text in texts}
    encodings = {encoding for chunk in chunks.values() for encoding in chunk.encodings}
    size = sum(chunk.total_uncompressed_size for chunk in chunks.values())
    shared = {name: chunk for name, chunk in chunks.items() if not _DICTIONARIES.isdisjoint(chunk.encodings)}
    dictionaries, repeats, longest = set(), False, 0
    if size > _RUN_BYTES or any(_is_delta(encoding) for encoding in encodings):
        # too large for a dictionary, or in an encoding of which Arrow makes none
        repeats = bool(shared) or "DELTA_BYTE_ARRAY" in encodings
        of_pages = [name for name, chunk in shared.items() if not any(map(_is_delta, chunk.encodings))]
        longest = max((_longest_shared(path, metadata, group, name) for name in of_pages), default=0)
    else:
        for name, chunk in shared.items():
            if _is_mostly_positions(chunk) or _longest_shared(path, metadata, group, name) > SHORT_TEXT:
                dictionaries.add(name)  # where no text is long, plain texts are read much faster
    if dictionaries:  # so that positions have 32 bits, whatever the stored type says
        dictionaries |= {text.name for text in texts if text.is_dictionary}
    return _Run([group], frozenset(dictionaries), content.num_rows, size, repeats, longest)


def _is_delta(encoding: str) -> bool:
    return encoding.startswith("DELTA")


def _is_mostly_positions(chunk: Any) -> bool:
    return bool(chunk.total_uncompressed_size <= _INDEX_BYTES * chunk.num_values)


def _longest_shared(path: Path, metadata: Any, group: int, name: str) -> int:
    """Bytes of the longest text in the dictionary of a column."""
    with _reader(path, metadata, frozenset([name])) as reader:
        for batch in reader.iter_batches(1, row_groups=[group], columns=[name]):
            return longest_text(batch.column(0).dictionary)
    return 0
