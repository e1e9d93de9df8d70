"""Reading text and CSV files so that every problem ends in an error with file, line and advice; writing them whole."""

from __future__ import annotations

import csv
import io
import mmap
import os
import re
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from privroute.errors import FormatError, InputError, NetworkError, PrivrouteError
from privroute.network.checks import show
from privroute.network.labels import Label, as_label

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Table",
    "Where",
    "as_path",
    "column_names",
    "flush_to_disk",
    "map_bytes",
    "read_bytes",
    "read_table",
    "read_text",
    "write_whole",
]

LARGEST_FILE_BYTES = 512 * 2**20
_CHUNK_BYTES = 2**20
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}(?:\.0*)?")
_LONGEST_NUMBER = 400
_LONGEST_SHOWN = 40


class Where:
    """A place in a file: turns texts into numbers, or into an error that names the place.

    private : the error names the place only, never what stands there
    """

    __slots__ = ("line", "private", "source")

    def __init__(self, source: object, line: int | None = None, *, private: bool = False) -> None:
        self.source = source
        self.line = line
        self.private = private

    def error(self, problem: str) -> FormatError:
        """Return the error for this place."""
        return FormatError(self.source, problem, line=self.line)

    def number(self, text: str, what: str) -> float:
        """Read a finite decimal number."""
        text = text.strip()
        if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
            raise self.error(f"{what} is {self._shown(text)}; a plain decimal number is needed")
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise self.error(f"{what} is {self._shown(text)}, too large for a number")
        return value

    def amount(self, text: str, what: str) -> float:
        """Read a finite decimal number that is not negative."""
        value = self.number(text, what)
        if value < 0:
            raise self.error(f"{what} is {self._shown(text.strip())}; it must not be negative")
        return value

    def whole(self, text: str, what: str) -> int:
        """Read a whole number, also where it is written like 7.0."""
        text = text.strip()
        if not _WHOLE.fullmatch(text):
            raise self.error(f"{what} is {self._shown(text)}; a whole number is needed")
        return int(text.partition(".")[0])

    def label(self, text: str, what: str) -> Label:
        """Read a label: a whole number where the text spells one, otherwise the text itself."""
        try:
            return as_label(text.strip())
        except NetworkError as problem:
            reason = "is not a label" if self.private else f"{problem}"
        raise self.error(f"{what} {reason}")  # outside, so that the caught error and its contents are not kept

    def _shown(self, text: str) -> str:
        return "unusable (not shown)" if self.private else _cut(text)


class Table:
    """A CSV file with a header: rows as mappings from lower-case column names to texts."""

    def __init__(
        self, source: object, columns: list[str], rows: list[tuple[int, list[str]]], *, private: bool = False
    ) -> None:
        self.source = source
        self.columns = columns
        self.private = private
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[tuple[Where, dict[str, str]]]:
        for line, cells in self._rows:
            yield Where(self.source, line, private=self.private), dict(zip(self.columns, cells, strict=False))

    def require(self, *names: str) -> None:
        """Refuse a file that lacks one of these columns."""
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise FormatError(
                self.source,
                f"column {', '.join(missing)} is missing"
                + (
                    f"; it needs {', '.join(names)}"
                    if self.private
                    else f"; the header has {_cut(', '.join(self.columns))}"
                ),
                line=1,
            )


def as_path(path: object) -> Path:
    """Return the path; numbers (which would open a file descriptor) and other things are refused."""
    if isinstance(path, str | os.PathLike):
        with suppress(TypeError):  # a PathLike of bytes
            return Path(path)
    raise InputError(f"the path is {show(path)}; pass a text or a pathlib.Path")


def column_names(**names: object) -> list[str]:
    """The names of columns, given by argument, in lower case."""
    for argument, name in names.items():
        if not isinstance(name, str):
            raise InputError(f"{argument} is {show(name)}; pass the name of a column as text")
    return [str(name).lower() for name in names.values()]


def read_text(path: str | os.PathLike[str], data: bytes | None = None) -> str:
    r"""The text of a UTF-8 file (a byte-order mark is skipped), with line ends made \\n.

    data : its bytes, where they have been read already

    The file may be private: errors are raised outside `except`, since what is caught there holds the file's bytes.
    """
    data = read_bytes(as_path(path)) if data is None else data
    line = None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
    if line is not None:
        raise FormatError(path, "is not UTF-8 text; save it as UTF-8", line=line)
    if "\0" in text:
        raise FormatError(path, "holds NUL characters, so it is not a text file or is damaged; save it as UTF-8 text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(path: Path, *, largest: int | None = None) -> bytes:
    """The bytes of a regular file, never more than the largest size, whatever the file system says of its size."""
    limit = LARGEST_FILE_BYTES if largest is None else largest
    data = bytearray()
    reason = None
    try:
        # without O_NONBLOCK, opening a named pipe waits for a writer
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                reason = "not a regular file"
            while reason is None and len(data) <= limit and (chunk := stream.read(_CHUNK_BYTES)):
                data += chunk
    except (OSError, ValueError) as problem:  # ValueError: a path with a NUL character
        reason = getattr(problem, "strerror", None) or str(problem)
    if reason is not None:
        raise FormatError(path, f"cannot be read ({reason}); check the path and its permissions")
    if len(data) > limit:
        raise FormatError(path, f"has more than {limit:,} bytes; such files are not read whole, split it")
    return bytes(data)


def map_bytes(path: Path, *, largest: int, copied: bool = False) -> mmap.mmap | memoryview | bytes:
    """The bytes of a regular file of at most `largest` bytes, mapped into memory and read only.

    They stay the same if another file takes its place, and change if something writes into this file, unless they are
    copied: into memory of this process alone.
    """
    reason = None
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as stream:
            about = os.fstat(stream.fileno())
            if not stat.S_ISREG(about.st_mode):
                reason = "not a regular file"
            elif about.st_size > largest:
                reason = f"more than {largest:,} bytes"
            elif not about.st_size:
                return b""
            elif copied:
                memory = mmap.mmap(-1, about.st_size, flags=mmap.MAP_PRIVATE)
                stream.readinto(memory)  # what is cut off meanwhile stays 0
                return memoryview(memory).toreadonly()
            else:
                return mmap.mmap(stream.fileno(), about.st_size, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as problem:  # ValueError: a path with a NUL character
        reason = getattr(problem, "strerror", None) or str(problem)
    raise FormatError(path, f"cannot be read ({reason}); check the path and its permissions")


def read_table(path: str | os.PathLike[str], *, private: bool = False) -> Table:
    """Read a CSV file with a header; the delimiter (comma, semicolon, tab) is the most frequent one in the header.

    private : errors name lines, never what stands in them
    """
    text = read_text(path)
    header = next((line for line in text.split("\n") if line.strip()), "")
    delimiter = max(",;\t", key=header.count)
    rows: list[tuple[int, list[str]]] = []
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    reason = None
    try:
        rows.extend(
            (reader.line_num, [cell.strip() for cell in cells]) for cells in reader if any(map(str.strip, cells))
        )
    except csv.Error as problem:
        reason = f"{problem}"
    if reason is not None:
        raise FormatError(path, f"is not readable as CSV ({reason}); check its quotes", line=reader.line_num)
    if not rows:
        raise FormatError(path, "is empty; a header and rows are needed")
    columns = [name.lower() for name in rows[0][1]]
    twice = {name for name in columns if name and columns.count(name) > 1}
    if twice:
        shown = "a column" if private else _cut(", ".join(sorted(twice)))
        raise FormatError(path, f"the header names {shown} more than once", line=1)
    for line, cells in rows[1:]:
        if len(cells) > len(columns) and any(cells[len(columns) :]):
            raise FormatError(path, f"has {len(cells)} cells where the header has {len(columns)}", line=line)
    return Table(path, columns, rows[1:], private=private)


@contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[io.TextIOWrapper]:
    """Open a file beside `path` for writing and rename it onto `path` at the end, so none is ever half-written.

    A link is followed to its target; the file has the mode of the one that it replaces, or what the umask gives.
    """
    given = as_path(path)
    part: Path | None = None
    try:
        target = Path(os.path.realpath(given))
        old = target.lstat() if os.path.lexists(target) else None
        if old is not None and not stat.S_ISREG(old.st_mode):
            raise FormatError(path, "is not a regular file, so it is not replaced; choose another path")
        part = target.with_name(f".{secrets.token_hex(8)}.part")
        with part.open("x", encoding="utf-8", newline="") as stream:
            yield stream
            flush_to_disk(stream)
        if old is not None:
            part.chmod(stat.S_IMODE(old.st_mode))
        part.replace(target)
    except PrivrouteError:
        raise
    except (OSError, ValueError) as problem:  # ValueError: a path with a NUL character, a text that is not UTF-8
        reason = getattr(problem, "strerror", None) or type(problem).__name__
        raise FormatError(path, f"cannot be written ({reason}); check the folder and its permissions") from None
    finally:
        if part is not None:
            with suppress(OSError):  # after the renaming it is not there
                part.unlink()


def flush_to_disk(stream: io.TextIOWrapper) -> None:
    """Write out what is buffered, so that a full disk is noticed now."""
    stream.flush()
    os.fsync(stream.fileno())


def _cut(text: str) -> str:
    text = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
    return repr(text) if text else "empty"
