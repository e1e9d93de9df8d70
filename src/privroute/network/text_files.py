"""Reading text and CSV files so that every problem ends in an error with file, line and advice; writing them whole."""

from __future__ import annotations

import csv
import io
import os
import re
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from privroute.errors import FormatError, NetworkError
from privroute.network.labels import Label, as_label

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Table", "Where", "read_table", "read_text", "write_whole"]

LARGEST_FILE_BYTES = 2**31
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
            raise self.error(f"{what} is not a label" if self.private else f"{what} {problem}") from None

    def _shown(self, text: str) -> str:
        return "not shown here" if self.private else _cut(text)


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
                + ("; name the columns" if self.private else f"; the header has {_cut(', '.join(self.columns))}"),
                line=1,
            )


def read_text(path: str | os.PathLike[str]) -> str:
    r"""The text of a UTF-8 file (a byte-order mark is skipped), with line ends made \\n."""
    try:
        size = Path(path).stat().st_size
        data = Path(path).read_bytes() if size <= LARGEST_FILE_BYTES else b""
    except (OSError, ValueError) as problem:  # ValueError: a path with a NUL character
        reason = getattr(problem, "strerror", None) or str(problem)
        raise FormatError(path, f"cannot be read ({reason}); check the path and its permissions") from None
    if size > LARGEST_FILE_BYTES:
        raise FormatError(path, f"has {size:,} bytes; files of more than {LARGEST_FILE_BYTES:,} are not read whole")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise FormatError(path, "is not UTF-8 text; save it as UTF-8", line=line) from None
    if "\0" in text:
        raise FormatError(path, "holds NUL characters, so it is not a text file or is damaged; save it as UTF-8 text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_table(path: str | os.PathLike[str], *, private: bool = False) -> Table:
    """Read a CSV file with a header; the delimiter (comma, semicolon, tab) is the most frequent one in the header.

    private : errors name lines, never what stands in them
    """
    text = read_text(path)
    header = next((line for line in text.split("\n") if line.strip()), "")
    delimiter = max(",;\t", key=header.count)
    rows: list[tuple[int, list[str]]] = []
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        rows.extend(
            (reader.line_num, [cell.strip() for cell in cells]) for cells in reader if any(map(str.strip, cells))
        )
    except csv.Error as problem:
        raise FormatError(path, f"is not readable as CSV ({problem}); check its quotes", line=reader.line_num) from None
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
    """Open a file beside `path` for writing and rename it onto `path` at the end, so none is ever half-written."""
    target = Path(path)
    try:
        handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as problem:
        raise FormatError(path, f"cannot be written ({problem.strerror}); check the folder") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(beside).chmod(0o644)
        Path(beside).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(beside).unlink()
        raise


def _cut(text: str) -> str:
    text = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
    return repr(text) if text else "empty"
