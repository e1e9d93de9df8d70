"""Trip files and tables of DuckDB files: which there are, what their columns are, and how they become plain columns.

CSV is not read by guessing. The header alone decides the delimiter and where the columns are, and every line is a row
of its own, split by itself, so that no line, however broken its quotes, can change how another one is read: one line
more is one request more at most (a carriage return ends a line, too). Of Parquet files the schema decides. Files whose
columns have the same forms are read as one table.
"""

from __future__ import annotations

import csv
import glob
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from privroute.errors import FormatError, HistoryError, arg
from privroute.history.duckdb_tables import DuckDBTable
from privroute.history.row_groups import open_parquet
from privroute.history.trip_batches import FORM_TYPES, csv_batches, form_of, parquet_batches
from privroute.history.trip_database import UnreadableError
from privroute.history.trip_tables import check_rows_are_trips, is_on_server, no_source
from privroute.history.trip_texts import LONGEST_TEXT, TextRule
from privroute.network.checks import show
from privroute.threads import available_threads, made_ahead

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from privroute.history.trip_batches import Form, Hours

__all__ = ["COLUMN_ADVICE", "Source", "TripFile", "csv_file", "find_files", "sources"]

_PARQUET = (".parquet", ".parq", ".pq")
_CSV = (".csv", ".tsv", ".txt")
_COMPRESSED = (".gz", ".zst")
_MOST_THREADS = 4  # each holds a batch or two


@dataclass(frozen=True, slots=True)
class TripFile:
    """A file or table and where its columns are, as its header or schema says.

    columns : {role: name of the column, or position of it in a line}
    forms : {role: plain form of the column}
    delimiter, cells : of a CSV file; None and 0 for others
    """

    path: Path | DuckDBTable
    columns: Mapping[str, Any]
    forms: Mapping[str, Form]
    delimiter: str | None = None
    cells: int = 0


class Source:
    """PRIVATE. Files whose columns have the same forms: one table, streamed once."""

    def __init__(self, files: list[TripFile], longest_zone: int = 0) -> None:
        self.files = files
        self.forms = files[0].forms
        self._rules = [TextRule.of_role(role, longest_zone) for role in self.forms]
        self.unreadable: Path | DuckDBTable | None = None
        self.interrupted = False
        self.out_of_memory = False
        self._sizes = [file.path.stat().st_size for file in files]
        self._readings = [_Reading() for _ in files]

    @property
    def read(self) -> int:
        """Rows of the table so far, also those that were left out."""
        return sum(reading.rows for reading in self._readings)

    @property
    def malformed(self) -> int:
        """Lines so far that are no rows."""
        return sum(reading.malformed for reading in self._readings)

    @property
    def bytes_done(self) -> float:
        """About how much of the files has been read."""
        return sum(size * reading.share for size, reading in zip(self._sizes, self._readings, strict=True))

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(self._sizes)

    def stream(self, hours: Hours | None) -> Any:
        """The rows as Arrow's stream of batches, one column for each role; it can be read once.

        Several files are read at a time, each by a thread, so batches come in any order.
        hours : outside of which no departure counts; rows there may be left out, but are counted as read
        """
        schema = pa.schema([(role, FORM_TYPES[form]) for role, form in self.forms.items()])
        files = zip(self.files, self._readings, strict=True)
        parts = [self._batches(file, reading, schema, hours) for file, reading in files]
        return pa.RecordBatchReader.from_batches(schema, self._ahead(parts))

    def _ahead(self, parts: list[Iterator[Any]]) -> Iterator[Any]:
        try:
            yield from made_ahead(parts, min(available_threads(), _MOST_THREADS))
        except KeyboardInterrupt:  # comes to the thread that waits for batches; DuckDB reports it as any other error
            self.interrupted = True
            raise

    def _batches(self, file: TripFile, reading: _Reading, schema: Any, hours: Hours | None) -> Iterator[Any]:
        failed = True
        try:
            for columns in self._columns(file, reading, hours):
                batch = pa.RecordBatch.from_arrays(columns, schema=schema)
                if file.delimiter is not None:
                    reading.rows += batch.num_rows
                yield batch
            failed = False
        except (OSError, ValueError, KeyError, MemoryError, UnreadableError, pa.ArrowException) as problem:
            self.out_of_memory = self.out_of_memory or _is_lack_of_memory(problem)  # of any file
        if failed:
            self.unreadable = file.path
            raise ValueError  # DuckDB ends the statement; the reader says which file it was
        reading.share = 1.0

    def check_whole(self) -> None:
        """Raise why the stream ended early, where that was no damage: an interruption, or a lack of memory."""
        if self.interrupted:
            raise KeyboardInterrupt
        if self.out_of_memory:
            raise HistoryError(
                "the trips need more memory than there is; write Parquet files with smaller row groups, and without "
                "texts of many megabytes"
            )

    def _columns(self, file: TripFile, reading: _Reading, hours: Hours | None) -> Iterator[list[Any]]:
        columns = list(file.columns.values())
        if isinstance(file.path, Path) and file.delimiter is not None:
            return csv_batches(file.path, file.delimiter, file.cells, columns, reading.note_malformed, self._rules)
        within = None if hours is None else (list(file.columns).index("departure"), hours)
        if isinstance(file.path, DuckDBTable):
            return file.path.batches(columns, self._rules, reading.note_rows, within)
        return parquet_batches(file.path, columns, self._rules, reading.note_rows, within)


class _Reading:
    """PRIVATE. How far the reading of a file is. Only the thread that reads it writes here."""

    def __init__(self) -> None:
        self.rows = 0
        self.malformed = 0
        self.share = 0.0

    def note_rows(self, rows: int, share: float) -> None:
        self.rows += rows
        self.share = share

    def note_malformed(self, lines: int) -> None:
        self.malformed += lines


def _is_lack_of_memory(problem: Exception) -> bool:
    """Arrow says it of a column, too, and Parquet's reader as an OSError; of a table it is an error of ours."""
    known = isinstance(problem, MemoryError | pa.ArrowCapacityError | HistoryError)
    return known or "Capacity error" in str(problem)[:80]


_ENDS = "zones are whole numbers or texts"
_DEGREES = "coordinates are numbers"
COLUMN_ADVICE = {
    "departure": f"departure times are timestamps or texts; for numbers pass {arg('epoch_unit')}",
    "user_id": "user ids are whole numbers or texts",
    "weight": "weights are numbers",
    **dict.fromkeys(("origin", "destination"), _ENDS),
    **{f"{role}_{axis}": _DEGREES for role in ("origin", "destination") for axis in ("lon", "lat")},
}


def find_files(files: object, *, rows_are_trips: bool = False) -> list[Path | DuckDBTable]:
    """Every file that is named or that a pattern finds, and every table of a DuckDB file, each once.

    The same file under two names would count each of its requests twice, beyond any sensitivity.
    rows_are_trips : what the caller asserts, which tables need
    """
    given = [files] if isinstance(files, str | os.PathLike) else files
    if not isinstance(given, list | tuple | set | frozenset):
        raise no_source(files)
    if not given:
        raise HistoryError("there are no files; pass a path, a pattern like 'trips/*.parquet', or a list of them")
    if any(map(is_on_server, given)):
        raise HistoryError("a table on a server is read alone; pass its address, and nothing else")
    found: dict[object, Path | DuckDBTable] = {}
    for item in given:
        if not isinstance(item, str | os.PathLike) or not isinstance(os.fspath(item), str) or "\0" in os.fspath(item):
            raise no_source(item)
        table = DuckDBTable.at(item)
        if table is not None:
            check_rows_are_trips(table, rows_are_trips)
        for path in _matches(item if table is None else table.path):
            place = path if table is None else replace(table, path=path)
            found.setdefault((_identity(path), table and f"{table.schema}.{table.name}".lower()), place)
    return list(found.values())


def _matches(item: str | os.PathLike[str]) -> list[Path]:
    path = Path(item)
    # unlike Path.exists, which raises where a name is too long
    if os.path.exists(path) or not glob.has_magic(str(item)):  # noqa: PTH110
        return [path]
    matches = sorted(glob.glob(str(item), recursive=True))  # noqa: PTH207 - Path.glob takes no absolute patterns
    if not matches:
        raise FormatError(item, "no file matches this pattern; check the folder")
    return [Path(match) for match in matches]


def _identity(path: Path) -> tuple[int, int]:
    reason = None
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            reason = "not a regular file"
        elif not os.access(path, os.R_OK):
            reason = "Permission denied"
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "not a path"
    if reason is not None and os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where a name is too long
        raise FormatError(path, f"cannot be read: it is a folder; pass a pattern like '{path}/*.parquet', in quotes")
    if reason is not None:
        raise FormatError(path, f"cannot be read ({reason}); check the path and its permissions")
    return status.st_dev, status.st_ino


def sources(files: Sequence[Path | DuckDBTable], roles: Mapping[str, str], longest_zone: int = 0) -> list[Source]:
    """Group the files by the forms of their columns; refuse those that lack a column, or have one without a form.

    roles : {role: name of its column}, names in any case
    longest_zone : bytes of the longest label of a zone
    """
    grouped: dict[tuple[Form, ...], list[TripFile]] = {}
    for path in files:
        if isinstance(path, DuckDBTable):
            file = _of_schema(path, path.schema_of(roles.values()), roles)
        elif _ending(path) in _PARQUET:
            file = _parquet_file(path, roles)
        elif _ending(path) in _CSV:
            file = csv_file(path, roles)
        else:
            raise FormatError(path, f"the ending does not say what it is; {', '.join((*_CSV, *_PARQUET))} are read")
        grouped.setdefault(tuple(file.forms.values()), []).append(file)
    return [Source(group, longest_zone) for group in grouped.values()]


def _ending(path: Path) -> str:
    endings = [ending.lower() for ending in path.suffixes]
    return "".join(endings[-2:-1] if endings and endings[-1] in _COMPRESSED else endings[-1:])


def _lacks(path: Path | DuckDBTable, role: str, name: str, columns: int, advice: str | None = None) -> FormatError:
    # the names in the file are not shown: a file without a header has a record there
    many = f"its {columns:,} columns" if columns != 1 else "its only column"
    advice = advice or f"name the column with {arg(role.split('_', maxsplit=1)[0])}"
    return FormatError(path, f"none of {many} is called {show(name)}; {advice}")


def _parquet_file(path: Path, roles: Mapping[str, str]) -> TripFile:
    schema, leaves = None, []
    try:
        with open_parquet(path) as file:
            schema, leaves = file.schema_arrow, [file.schema.column(at) for at in range(len(file.schema))]
    except (OSError, ValueError, KeyError, MemoryError, pa.ArrowException):
        pass
    if schema is None:
        raise FormatError(path, "is not readable as Parquet; it is damaged or something else")
    # decimals of any length, which Arrow cannot read
    long = {leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"}
    return _of_schema(path, schema, roles, long)


def _of_schema(
    path: Path | DuckDBTable, schema: Any, roles: Mapping[str, str], long: AbstractSet[str] = frozenset()
) -> TripFile:
    """The columns of the roles, by Arrow's schema. long : names of columns of texts and of decimals of any length."""
    known = [name.lower() for name in schema.names]
    columns, forms = {}, {}
    for role, name in roles.items():
        if known.count(name.lower()) > 1:
            raise FormatError(path, f"has the column {show(name)} more than once")
        if name.lower() not in known:
            raise _lacks(path, role, name, len(known))
        field = schema.field(known.index(name.lower()))
        form = None if pa.types.is_decimal(field.type) and field.name in long else form_of(field.type)
        if form is None:
            raise FormatError(
                path, f"the column for {role} has the type {_type_name(field.type)}; {COLUMN_ADVICE[role]}"
            )
        columns[role], forms[role] = field.name, form
    return TripFile(path, columns, forms)


def _type_name(kind: Any) -> str:
    """Of an Arrow type, without what may stand in it (names of fields, metadata)."""
    return str(kind).split("<", maxsplit=1)[0].split("[", maxsplit=1)[0]


def csv_file(path: Path, roles: Mapping[str, str], advice: str | None = None) -> TripFile:
    """Delimiter, number of columns, and the position of each role's column, from the header alone.

    advice : what to do about a missing column; by default to name it with the role's argument
    """
    header = _header(path)
    delimiter = max(",;\t|", key=header.count)
    names = None
    with suppress(csv.Error):
        names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter, strict=True), [])]
    if names is None:
        raise FormatError(path, "the header is not readable as CSV; check its quotes", line=1)
    for role, name in roles.items():
        if names.count(name.lower()) != 1:
            if name.lower() in names:
                raise FormatError(path, f"the header has {show(name)} more than once", line=1)
            raise _lacks(path, role, name, len(names), advice)
    positions = {role: names.index(name.lower()) for role, name in roles.items()}
    return TripFile(path, positions, dict.fromkeys(roles, "text"), delimiter, len(names))


def _header(path: Path) -> str:
    """The first line, without a byte-order mark."""
    data, text = None, None
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            data = stream.read(LONGEST_TEXT)
    except (OSError, pa.ArrowException):
        pass
    if data is None:
        raise FormatError(path, "cannot be read; it is damaged or not compressed as its ending says")
    line = data.replace(b"\r", b"\n").split(b"\n", 1)[0]
    with suppress(UnicodeDecodeError):
        text = str(line, "utf-8-sig")
    if text is None or "\0" in text or len(line) == LONGEST_TEXT:
        raise FormatError(path, "the header is not UTF-8 text, or too long; save the file as UTF-8", line=1)
    if not text.strip():
        raise FormatError(path, "is empty, or its first line is; a header is needed", line=1)
    return text
