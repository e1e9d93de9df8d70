"""Tables of DuckDB files, `fleet.duckdb#trips`: found in the file's catalog, and read as a Parquet file is.

A file is opened read-only, without extensions and other files, beside a database of ours in which all names but the
table's are looked up: no view, macro or type of the file has a part in what is read.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from privroute.errors import FormatError, HistoryError
from privroute.history.trip_batches import formed
from privroute.history.trip_database import ATTACHED, UnreadableError, literal, open_file
from privroute.history.trip_tables import not_a_table
from privroute.history.trip_texts import LONGEST_TEXT
from privroute.server_address import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from privroute.history.trip_batches import Hours
    from privroute.history.trip_database import Database
    from privroute.history.trip_texts import TextRule

__all__ = ["DuckDBTable"]

_ADDRESS = re.compile(r"(?P<file>.*\.(duckdb|ddb|db))(#(?P<name>.*))?", re.IGNORECASE | re.DOTALL)
_MOST_PARTS = 2
_BATCH_ROWS = 16_384  # of texts of at most 64 KiB: within the 2 GiB of a batch
_LENGTHS = {"VARCHAR": "strlen", "JSON": "strlen", "BLOB": "octet_length", "BIT": "octet_length"}


@dataclass(frozen=True, slots=True)
class DuckDBTable:
    """A table by its address. Names may be in any case, as in DuckDB."""

    path: Path
    schema: str
    name: str

    @classmethod
    def at(cls, address: str | os.PathLike[str]) -> Self | None:
        """The table of an address like fleet.duckdb#trips or fleet.duckdb#schema.trips; None for other paths."""
        found = _ADDRESS.fullmatch(str(address))
        if found is None or ("#" in str(address) and os.path.exists(address)):  # noqa: PTH110 - where names are too long
            return None
        parts = (found["name"] or "").split(".")
        if len(parts) > _MOST_PARTS or not all(parts):
            raise HistoryError(f"{address}: name a table behind a #, like {found['file']}#trips or #schema.trips")
        return cls(Path(found["file"]), *["main", *parts][-_MOST_PARTS:])

    def __str__(self) -> str:
        return f"{self.path}#{self.schema}.{self.name}"

    def stat(self) -> os.stat_result:
        """Of the file."""
        return self.path.stat()

    def schema_of(self, names: Iterable[str]) -> Any:
        """The names of all columns, and the Arrow types of those that are wanted, in any case."""
        wanted = {name.lower() for name in names}
        with self._opened(wanted) as (database, table, columns):
            shown = [sql if name.lower() in wanted else f"NULL AS {quoted(name)}" for name, sql in columns.items()]
            return database.schema(f"SELECT {', '.join(shown)} FROM {table} LIMIT 0")

    def batches(
        self,
        names: Sequence[str],
        rules: Sequence[TextRule],
        report: Callable[[int, float], object],
        hours: tuple[int, Hours] | None = None,
    ) -> Iterator[list[Any]]:
        """The named columns in their forms, a batch of rows at a time: arguments as of parquet_batches."""
        with self._opened({name.lower() for name in names}) as (database, table, columns):
            shown = ", ".join(columns[name] for name in dict.fromkeys(names))
            done, total = 0, max(1, database.rows(f"SELECT count(*) FROM {table}")[0][0])
            for batch in database.record_batches(f"SELECT {shown} FROM {table}", _BATCH_ROWS):
                done += batch.num_rows
                report(batch.num_rows, done / total)
                yield formed(batch, names, rules, hours)

    @contextmanager
    def _opened(self, wanted: set[str]) -> Iterator[tuple[Database, str, dict[str, str]]]:
        """The file, SQL of the table in it, and of its columns by their names; wanted : in small letters."""
        try:
            with open_file(self.path) as database:
                yield database, *self._look_up(database, wanted)
                return
        except UnreadableError:
            pass
        raise FormatError(
            self.path,
            "cannot be read as a DuckDB file: it is damaged, of a later version, or open for writing, here or in "
            "another process; close that connection, or pass a copy",
        )

    def _look_up(self, database: Database, wanted: set[str]) -> tuple[str, dict[str, str]]:
        """SQL of the table and of its columns, by the catalog of the file."""
        entries = " UNION ALL ".join(
            f"SELECT {kind}_name AS name, schema_name, '{kind}' AS kind FROM duckdb_{kind}s() "
            f"WHERE database_name = '{ATTACHED}'"
            for kind in ("table", "view")
        )
        found = database.rows(
            f"SELECT name, schema_name, kind FROM ({entries}) WHERE lower(name) = lower({literal(self.name)}) "
            f"AND lower(schema_name) = lower({literal(self.schema)})"
        )
        if not found:
            raise FormatError(self.path, f"there is no table {self.schema}.{self.name}")
        name, schema, kind = max(found, key=lambda row: row[:2] == (self.name, self.schema))
        if kind != "table":
            raise not_a_table(self, "a view")
        of_table = f"schema_name = {literal(schema)} AND table_name = {literal(name)}"
        columns = database.rows(
            "SELECT column_name, data_type, is_generated FROM duckdb_columns() "
            f"WHERE database_name = '{ATTACHED}' AND {of_table}"
        )
        for column, _, generated in columns:
            if generated and column.lower() in wanted:
                raise not_a_table(f"{self}: the column {column!r}", "a generated column")
        return ".".join(map(quoted, (ATTACHED, schema, name))), {name: _shown(name, kind) for name, kind, _ in columns}


def _shown(column: str, kind: str) -> str:
    """SQL of a column; texts that are too long for any role are missing before they are copied."""
    name = quoted(column)
    if kind == "UHUGEINT":  # DuckDB hands on what has more digits as a negative number
        return f"TRY_CAST({name} AS DECIMAL(38, 0)) AS {name}"
    size = _LENGTHS.get(kind)
    return name if size is None else f"CASE WHEN {size}({name}) <= {LONGEST_TEXT} THEN {name} END AS {name}"
