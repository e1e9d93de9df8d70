"""Trip files: which there are, what their columns are, and how DuckDB reads them.

CSV is not read by guessing. The header alone decides the delimiter and where the columns are, and every line is a row
of its own, split by itself, so that no line, however broken its quotes, can change how another one is read: one line
more is one request more at most (a carriage return ends a line, too). Parquet files whose columns have the same types
are read together.
"""

from __future__ import annotations

import csv
import glob
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from privroute.errors import FormatError, HistoryError
from privroute.history.trip_database import Database, UnreadableError, identifier, literal
from privroute.network.checks import show

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Source", "careful_copy", "find_files", "sources"]

_PARQUET = (".parquet", ".parq", ".pq")
_CSV = (".csv", ".tsv", ".txt")
_COMPRESSED = (".gz", ".zst")
_LONGEST_LINE = 65_536
_BATCH_ROWS = 65_536
_LARGEST_TIME = {"s": 2**62 // 10**6, "ms": 2**62 // 10**3, "us": 2**62, "ns": 2**63 - 1}  # microseconds fit


@dataclass(frozen=True, slots=True)
class Source:
    """Files that are read by one SELECT.

    rows : SQL of a table whose columns are the roles (departure, origin, ...)
    kinds : DuckDB's type of each role
    lines : for CSV, SQL of a table of all lines: `whole`, whether the line is a row, and its departure; else None
    files : what was given, for messages
    """

    rows: str
    kinds: Mapping[str, str]
    lines: str | None
    files: tuple[Path, ...]


def find_files(files: object) -> list[Path]:
    """Every file that is named or that a pattern finds, each once, however often it is named.

    The same file under two names would count each of its requests twice, beyond any sensitivity.
    """
    given = [files] if isinstance(files, str | os.PathLike) else files
    if not isinstance(given, list | tuple | set | frozenset) or not given:
        raise HistoryError(f"files is {show(files)}; pass a path, a pattern like 'trips/*.parquet', or a list of them")
    found: dict[tuple[int, int], Path] = {}
    for item in given:
        for path in _matches(item):
            found.setdefault(_identity(path), path)
    return list(found.values())


def _matches(item: object) -> list[Path]:
    if not isinstance(item, str | os.PathLike) or not isinstance(os.fspath(item), str) or "\0" in os.fspath(item):
        raise HistoryError(f"files: {show(item)} is not a path; pass texts or pathlib.Path")
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
    if reason is not None:
        raise FormatError(path, f"cannot be read ({reason}); check the path and its permissions")
    return status.st_dev, status.st_ino


def sources(database: Database, files: list[Path], roles: Mapping[str, str]) -> list[Source]:
    """Group the files by how they are read; refuse those that lack a column.

    roles : {role: name of its column}, names in any case
    """
    parquet: dict[tuple[tuple[str, str], ...], list[Path]] = {}
    text: dict[tuple[str, int, tuple[int, ...]], list[Path]] = {}
    for path in files:
        ending = _ending(path)
        if ending in _PARQUET:
            parquet.setdefault(_parquet_columns(database, path, roles), []).append(path)
        elif ending in _CSV:
            text.setdefault(_csv_columns(path, roles), []).append(path)
        else:
            raise FormatError(path, f"the ending does not say what it is; {', '.join((*_CSV, *_PARQUET))} are read")
    return [_parquet_source(database, key, paths, list(roles)) for key, paths in parquet.items()] + [
        _csv_source(database, key, paths, list(roles)) for key, paths in text.items()
    ]


def _ending(path: Path) -> str:
    endings = [ending.lower() for ending in path.suffixes]
    return "".join(endings[-2:-1] if endings and endings[-1] in _COMPRESSED else endings[-1:])


def _lacks(path: Path, role: str, name: str, columns: int) -> FormatError:
    # the names in the file are not shown: a file without a header has a record there
    many = f"its {columns:,} columns" if columns != 1 else "its only column"
    argument = role.split("_", maxsplit=1)[0]
    return FormatError(path, f"none of {many} is called {show(name)}; name the column with {argument}=")


def _parquet_columns(database: Database, path: Path, roles: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Name and type of the column of each role."""
    described = None
    try:
        table = f"read_parquet([{literal(database.link(path))}], hive_partitioning = false)"
        described = database.rows(f"DESCRIBE SELECT * FROM {table}")
    except UnreadableError:
        pass
    if described is None:
        raise FormatError(path, "is not readable as Parquet; it is damaged or something else")
    known = {name.lower(): (name, kind) for name, kind, *_ in described}
    names = []
    with suppress(OSError, ValueError, pa.ArrowException):  # DuckDB gives the second of two equal names another one
        names = [name.lower() for name in pq.read_schema(path).names]
    for role, name in roles.items():
        if names.count(name.lower()) > 1:
            raise FormatError(path, f"has the column {show(name)} more than once")
        if name.lower() not in known:
            raise _lacks(path, role, name, len(described))
    return tuple(known[name.lower()] for name in roles.values())


def _parquet_source(
    database: Database, columns: tuple[tuple[str, str], ...], paths: list[Path], roles: list[str]
) -> Source:
    links = ", ".join(literal(database.link(path)) for path in paths)
    chosen = ", ".join(f"{identifier(name)} AS {role}" for role, (name, _) in zip(roles, columns, strict=True))
    rows = f"(SELECT {chosen} FROM read_parquet([{links}], hive_partitioning = false))"
    return Source(rows, {role: kind for role, (_, kind) in zip(roles, columns, strict=True)}, None, tuple(paths))


def _csv_columns(path: Path, roles: Mapping[str, str]) -> tuple[str, int, tuple[int, ...]]:
    """Delimiter, number of columns, and the position of each role's column, from the header alone."""
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
            raise _lacks(path, role, name, len(names))
    return delimiter, len(names), tuple(names.index(name.lower()) for name in roles.values())


def _header(path: Path) -> str:
    """The first line, without a byte-order mark."""
    data, text = None, None
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            data = stream.read(_LONGEST_LINE)
    except (OSError, pa.ArrowException):
        pass
    if data is None:
        raise FormatError(path, "cannot be read; it is damaged or not compressed as its ending says")
    line = data.replace(b"\r", b"\n").split(b"\n", 1)[0]
    with suppress(UnicodeDecodeError):
        text = str(line, "utf-8-sig")
    if text is None or "\0" in text or len(line) == _LONGEST_LINE:
        raise FormatError(path, "the header is not UTF-8 text, or too long; save the file as UTF-8", line=1)
    if not text.strip():
        raise FormatError(path, "is empty, or its first line is; a header is needed", line=1)
    return text


def _csv_source(
    database: Database, key: tuple[str, int, tuple[int, ...]], paths: list[Path], roles: list[str]
) -> Source:
    """Lines as they are, split by SQL: cells between delimiters, or between quotes where the line has any."""
    delimiter, columns, positions = key
    links = ", ".join(literal(database.link(path)) for path in paths)
    # no sniffing; a delimiter that no line is meant to hold, and no quotes: a line is one cell
    read = (
        f"read_csv([{links}], auto_detect = false, header = false, skip = 1, columns = {{'line': 'VARCHAR'}}, "
        r"delim = E'\x1f\x1e', quote = '', escape = '', new_line = '\n', strict_mode = false, ignore_errors = true, "
        f"max_line_size = {_LONGEST_LINE}"
    )
    sign = literal(delimiter)
    one = f"[{delimiter}]"
    quoted = literal(f'{one}("(?:[^"]|"")*"|(?:[^{delimiter}"][^{delimiter}]*)?)')
    split = (
        f"CASE WHEN contains(line, '\"') THEN regexp_extract_all({sign} || line, {quoted}, 1) "
        f"ELSE string_split(line, {sign}) END"
    )
    whole = f"len(cells) = {columns} AND (NOT contains(line, '\"') OR array_to_string(cells, {sign}) = line)"
    cells = f"SELECT line, {split} AS cells FROM {read}"
    # each row is read twice, and what cannot be read at all is to be counted once
    counted = f"{cells}, store_rejects = true, rejects_limit = 0) WHERE line IS NOT NULL"
    cells = f"{cells}) WHERE line IS NOT NULL"
    cell = {role: _unquoted(f"cells[{at + 1}]") for role, at in zip(roles, positions, strict=True)}
    chosen = ", ".join(f"{text} AS {role}" for role, text in cell.items())
    return Source(
        f"(SELECT {chosen} FROM ({cells}) WHERE {whole})",
        dict.fromkeys(roles, "VARCHAR"),
        f"(SELECT {whole} AS whole, {cell['departure']} AS departure FROM ({counted}))",
        tuple(paths),
    )


def _unquoted(cell: str) -> str:
    inner = f"replace(substr({cell}, 2, len({cell}) - 2), '\"\"', '\"')"
    return f"CASE WHEN starts_with({cell}, '\"') THEN {inner} ELSE {cell} END"


def careful_copy(database: Database, path: Path, roles: Mapping[str, str]) -> Path:
    """A copy of a Parquet file's columns, called as their roles, without the values that stop DuckDB.

    These are times beyond 64 bits of microseconds and texts that are not UTF-8. They become null: faults of single
    rows, which must not decide whether the others are read, nor make one user of two whose ids are broken in different
    ways. The copy is in the database's own folder.
    """
    target = database.folder / f"copy{len(list(database.folder.iterdir()))}.parquet"
    done = False
    try:
        with pq.ParquetFile(path) as file:
            names = {name.lower(): name for name in reversed(file.schema_arrow.names)}
            wanted = [names[name.lower()] for name in roles.values()]
            empty = file.schema_arrow.empty_table().select(wanted)
            schema = _careful_table(empty, roles).schema
            with pq.ParquetWriter(target, schema) as writer:
                for batch in file.iter_batches(_BATCH_ROWS, columns=list(dict.fromkeys(wanted))):
                    writer.write_table(_careful_table(batch.select(wanted), roles))
            done = True
    except (OSError, KeyError, ValueError, pa.ArrowException):  # the last two may quote values
        pass
    if not done:
        raise FormatError(path, "cannot be read to its end; it is damaged")
    return target


def _careful_table(rows: Any, roles: Mapping[str, str]) -> Any:
    return pa.table([_careful(column) for column in rows.columns], names=list(roles))


def _careful(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type):
        limit = _LARGEST_TIME[column.type.unit]
        number = column.cast(pa.int64())
        near = pc.and_(pc.greater_equal(number, -limit), pc.less_equal(number, limit))
        return pc.if_else(near, column, pa.scalar(None, column.type)).cast(
            pa.timestamp("us", column.type.tz), safe=False
        )
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return pa.array([_decoded(text) for text in column.cast(pa.large_binary()).to_pylist()], pa.large_string())
    return column


def _decoded(text: bytes | None) -> str | None:
    try:
        return None if text is None else text.decode()
    except UnicodeDecodeError:
        return None
