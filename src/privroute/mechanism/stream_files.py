"""The folder of a stream: its public frame, its pairs, and one file of noisy counts for each day. Nothing private.

    stream.json          what all days share: guarantee, period, expansion, unit, and the account that is charged
    pairs.parquet        origin, destination
    2026-03-02.parquet   noisy_count of each pair; with the ledger entry that paid for it
    lock                 held while a day is added

A day's file is written beside its place, flushed and renamed: after kill -9 it is whole or not there.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import json
import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from privroute.errors import ReleaseError, StreamError
from privroute.release.certificate import check_budget
from privroute.release.folder import flush
from privroute.release.read_only import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["StreamFiles"]

_FORMAT = 1
_FRAME, _PAIRS, _LOCK = "stream.json", "pairs.parquet", "lock"
_LARGEST_FRAME = 2**20


class StreamFiles:
    """Reads and writes a stream's folder; every problem is a StreamError that names the file."""

    __slots__ = ("folder",)

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one process at a time adds a day; a killed one leaves no lock behind."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as problem:
            raise StreamError(f"{self.folder} cannot be written ({problem.strerror}); check the folder") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise StreamError(f"{self.folder}: another process is adding a day; wait for it") from None
        finally:
            os.close(handle)

    def frame(self) -> dict[str, Any] | None:
        """What all days share, or None for a new stream."""
        path = self.folder / _FRAME
        try:
            if not path.exists():
                self._check_new()
                return None
            found = json.loads(path.read_bytes()[:_LARGEST_FRAME])
        except (OSError, ValueError, RecursionError):
            raise StreamError(f"{path} cannot be read; restore the folder") from None
        if not isinstance(found, dict) or found.pop("format", None) != _FORMAT:
            raise StreamError(f"{path} is not a stream of format {_FORMAT}")
        return found

    def _check_new(self) -> None:
        """Refuse to begin a stream among other files, or where its frame was lost."""
        if self.folder.exists() and not self.folder.is_dir():
            raise StreamError(f"{self.folder} is not a folder; choose another place for the stream")
        if not all(_ours(name) for name in self._names()):
            raise StreamError(f"{self.folder} contains other files than a new stream; choose an empty folder")

    def begin(self, frame: dict[str, Any], origins: list[str], destinations: list[str]) -> None:
        """Write what all days share; the frame last, so that a stream with a frame has its pairs."""
        self._put(_PAIRS, pa.table({"origin": origins, "destination": destinations}))
        self._put_frame(frame)

    def bind(self, frame: dict[str, Any], account: dict[str, Any]) -> None:
        """Note, beside what all days share, the account to which every further day is charged."""
        self._put_frame(frame | {"account": account})

    def _put_frame(self, frame: dict[str, Any]) -> None:
        self._put(_FRAME, json.dumps({"format": _FORMAT, **frame}, indent=2, ensure_ascii=False).encode() + b"\n")

    def pairs(self) -> tuple[list[str], list[str]]:
        """Labels of the pairs' origins and destinations."""
        table = self._table(_PAIRS, ["origin", "destination"])
        return table["origin"].to_pylist(), table["destination"].to_pylist()

    def dates(self) -> list[dt.date]:
        """The days of the stream, ascending."""
        return sorted(date for name in self._names() if (date := _date(name)) is not None)

    def _names(self) -> list[str]:
        try:
            return [path.name for path in self.folder.iterdir()] if self.folder.is_dir() else []
        except OSError as problem:
            raise StreamError(f"{self.folder} cannot be read ({problem.strerror})") from None

    def write_day(self, date: dt.date, noisy: NDArray[np.int64], budget: object) -> Path:
        """Store a day's noisy counts, on the disk when this returns."""
        table = pa.table({"noisy_count": pa.array(noisy, pa.int64())})
        name = f"{date}.parquet"
        self._put(name, table.replace_schema_metadata({"budget": json.dumps(plain(budget))}))
        return self.folder / name

    def read_day(self, date: dt.date, pairs: int) -> tuple[NDArray[np.int64], Any]:
        """A day's noisy counts, and the ledger entry that paid for it."""
        name = f"{date}.parquet"
        table = self._table(name, ["noisy_count"])
        column = table["noisy_count"]
        if len(table) != pairs or column.type != pa.int64() or column.null_count:
            raise StreamError(f"{self.folder / name} does not have one noisy count for each pair; restore it")
        try:
            budget = json.loads((table.schema.metadata or {})[b"budget"])
            check_budget(budget)
        except (KeyError, ValueError, TypeError, RecursionError, ReleaseError):
            raise StreamError(f"{self.folder / name} does not say what paid for it; restore it") from None
        return column.to_numpy(), budget

    def _table(self, name: str, columns: list[str]) -> pa.Table:
        try:
            table = pq.ParquetFile(pa.BufferReader((self.folder / name).read_bytes())).read()
        except (OSError, pa.ArrowException, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or "it is damaged"
            raise StreamError(f"{self.folder / name} cannot be read ({reason}); restore it") from None
        if table.column_names != columns:
            raise StreamError(f"{self.folder / name} has other columns than {', '.join(columns)}; restore it")
        return table

    def _put(self, name: str, content: pa.Table | bytes) -> None:
        """Write a file beside its place, flush it, rename it, flush the folder."""
        beside = self.folder / f".{secrets.token_hex(8)}.part"
        try:
            with beside.open("wb") as file:
                if isinstance(content, bytes):
                    file.write(content)
                else:
                    pq.write_table(content, file, compression="zstd")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.folder / name)
            flush(self.folder)
        except OSError as problem:
            reason = problem.strerror
            raise StreamError(
                f"{self.folder / name} cannot be written ({reason}); check the folder and space"
            ) from None
        finally:
            with suppress(OSError):
                beside.unlink(missing_ok=True)


def _date(name: str) -> dt.date | None:
    text = name.removesuffix(".parquet")
    try:
        date = dt.date.fromisoformat(text)
    except ValueError:
        return None
    return date if name == f"{date}.parquet" else None


def _ours(name: str) -> bool:
    """Whether a stream that was only begun may hold this."""
    return name in (_PAIRS, _LOCK) or (name.startswith(".") and name.endswith(".part"))
