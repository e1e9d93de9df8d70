"""DuckDB for private rows: within a memory limit, in a folder of its own, and without its error messages.

What DuckDB says when it fails may quote a record, so nothing of it goes further: `Database` raises errors that say
what kind of failure it was, outside `except`, so that the caught one does not stay on them.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privroute.errors import HistoryError, MissingExtraError, PrivrouteError, arg, named
from privroute.history.spill_folder import spill_folder
from privroute.network.checks import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ATTACHED", "Database", "UnreadableError", "literal", "open_database", "open_file"]

ATTACHED = "attached"

_BATCH_ROWS = 65_536
_FILE_MEMORY = "1GB"  # DuckDB keeps parts of the file up to this
LEAST_MEMORY_MB, MOST_MEMORY_MB = 64, 2**30


class UnreadableError(PrivrouteError):
    """A statement failed on what stands in the files; says nothing of it."""


def literal(text: str) -> str:
    """A text, quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"


class Database:
    """A connection to a database that ends with the reading."""

    def __init__(self, duckdb: Any, connection: Any) -> None:
        self._duckdb = duckdb
        self.connection = connection

    def put(self, name: str, table: Any) -> None:
        """Make an Arrow table or stream known under a name of ours."""
        self.connection.register(name, table)

    def define(self, name: str, function: Any) -> None:
        """Make a function of two columns of numbers known to SQL; it gives whole numbers and never fails."""
        types = [self._duckdb.sqltypes.DOUBLE, self._duckdb.sqltypes.DOUBLE]
        whole = self._duckdb.sqltypes.INTEGER
        self.connection.create_function(name, function, types, whole, type="arrow", null_handling="special")

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """All rows of the statement's result."""
        return list(self._run(lambda: self.connection.execute(statement).fetchall()))

    def arrays(self, statement: str) -> dict[str, Any]:
        """The result's columns as arrays."""
        return dict(self._run(lambda: self.connection.execute(statement).fetchnumpy()))

    def schema(self, statement: str) -> Any:
        """Names and Arrow types of the result's columns."""
        return self._run(lambda: self.connection.sql(statement).to_arrow_reader().schema)

    def batches(self, statement: str) -> Iterator[dict[str, Any]]:
        """The result's columns as arrays, some rows at a time, while the statement runs.

        Whole numbers become fractions in a batch where one of them is missing: for small ones only.
        """
        for batch in self.record_batches(statement):
            yield {name: batch.column(name).to_numpy(zero_copy_only=False) for name in batch.schema.names}

    def record_batches(self, statement: str, batch_rows: int = _BATCH_ROWS) -> Iterator[Any]:
        """The result as Arrow's record batches, while the statement runs."""
        kind = ""
        try:
            yield from self.connection.sql(statement).to_arrow_reader(batch_rows)
        except (self._duckdb.Error, OSError, RuntimeError) as problem:
            kind = self._kind(problem)
        if kind:
            raise _failure(kind)

    def _run(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()  # some statements run only while fetched from
        except (self._duckdb.Error, OSError, RuntimeError) as problem:
            kind = self._kind(problem)
        raise _failure(kind)

    def _kind(self, problem: Exception) -> str:
        if isinstance(problem, self._duckdb.OutOfMemoryException):
            return "memory"
        if isinstance(problem, OSError):  # Arrow's way to report an error of DuckDB's in the middle of a result
            return "memory" if str(problem).startswith("Out of Memory") else "unreadable"
        return "unreadable" if isinstance(problem, self._duckdb.Error) else "interrupted"


def _out_of_memory() -> HistoryError:
    """To be raised where memory or temporary space is not enough."""
    return HistoryError(
        "the trips need more memory or temporary space than there is; raise "
        f"{arg('memory_mb')}, or name a larger disk with {arg('temp_folder')}"
    )


def _failure(kind: str) -> BaseException:
    if kind == "memory":
        return _out_of_memory()
    return KeyboardInterrupt() if kind == "interrupted" else UnreadableError("the files cannot be read")


@contextmanager
def open_database(memory_mb: object, temp_folder: object) -> Iterator[Database]:
    """Open a database in memory, with a private folder for what does not fit, removed at the end."""
    limit = _memory(memory_mb)
    place = None if temp_folder is None else _folder(temp_folder)
    _driver()
    with spill_folder(place) as folder:
        settings = {
            "memory_limit": f"{limit}MB",
            "temp_directory": str(folder / "spill"),
            "preserve_insertion_order": "false",
            # a stream's size is unknown; taken for tiny, it would become the side of a join that has to fit memory
            "disabled_optimizers": "join_order,build_side_probe_side",
        }
        with _connected(settings) as database:
            yield database


@contextmanager
def open_file(path: Path) -> Iterator[Database]:
    """Open a DuckDB file read-only, as ATTACHED beside a database in memory in which names are looked up."""
    attach = f"ATTACH {literal(str(path.resolve()))} AS {ATTACHED} (READ_ONLY, TYPE duckdb)"
    with _connected({"memory_limit": _FILE_MEMORY, "temp_directory": ""}, attach) as database:
        yield database


@contextmanager
def _connected(settings: dict[str, str], *first: str) -> Iterator[Database]:
    """A database in memory; after the first statements no file can be reached from it but those that are open."""
    duckdb = _driver()
    no_extensions = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    connection = duckdb.connect(":memory:", config=settings | no_extensions)
    database = Database(duckdb, connection)
    try:
        # where Python is interactive, DuckDB would draw how far it is with private files on the standard output; in
        # Jupyter without ipywidgets it draws nothing, and refuses to be told so
        if database.rows("SELECT current_setting('enable_progress_bar')") != [(False,)]:
            first = ("SET enable_progress_bar = false", *first)
        for statement in (*first, "SET enable_external_access = false", "SET lock_configuration = true"):
            database.rows(statement)
        yield database
    finally:
        connection.close()


def _driver() -> Any:
    try:
        import duckdb  # noqa: PLC0415 - heavy and optional
    except ImportError:
        raise MissingExtraError("duckdb", "trips", "reading trip files") from None
    return duckdb


def _memory(memory_mb: object) -> int:
    if (
        isinstance(memory_mb, int)
        and not isinstance(memory_mb, bool)
        and LEAST_MEMORY_MB <= memory_mb <= MOST_MEMORY_MB
    ):
        return memory_mb
    raise HistoryError(
        f"{named('memory_mb')} is {show(memory_mb)}; pass a whole number from {LEAST_MEMORY_MB} to {MOST_MEMORY_MB}"
    )


def _folder(place: object) -> Path:
    folder = Path(place) if isinstance(place, str | os.PathLike) else None
    if folder is None or not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise HistoryError(f"{named('temp_folder')} is {show(place)}; pass a folder that can be written to")
    return folder
