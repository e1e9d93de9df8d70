"""Texts of trip files: each is kept, shortened or missing by itself, so that no text needs much memory in a batch.

A column repeats one text in many rows, and a file stores such a text once. What goes on to the database is therefore
short: texts that no zone, time or coordinate can have are missing, and long ids of users become digests.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privroute import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LONGEST_TEXT", "SHORT_TEXT", "TextRule", "is_text", "longest_text", "text_array", "texts_of"]

LONGEST_TEXT = 65_536
SHORT_TEXT = 256
_UUID_BYTES = 16
_WIDTHS: dict[Any, Any] = {  # of the offsets of texts
    **dict.fromkeys((pa.string(), pa.binary()), np.int32),
    **dict.fromkeys((pa.large_string(), pa.large_binary()), np.int64),
}


@dataclass(frozen=True, slots=True)
class TextRule:
    """What becomes of the texts of a column. Public: nothing of it depends on rows.

    longest : bytes; longer texts are missing, or of users' ids replaced by a digest of this many bytes or fewer
    user_ids : whether they are ids, which become canonical: docs/trips.md, User level
    """

    longest: int = SHORT_TEXT
    user_ids: bool = False

    @classmethod
    def of_role(cls, role: str, longest_zone: int) -> TextRule:
        """The rule for a role; longest_zone : bytes of the longest label, which blanks may surround."""
        if role == "user_id":
            return cls(user_ids=True)
        return cls(max(SHORT_TEXT, longest_zone)) if role in ("origin", "destination") else cls()

    def read(self, offset: NDArray[np.int64], data: NDArray[np.uint8], present: NDArray[np.bool_]) -> Any:
        """Texts i = data[offset[i] : offset[i + 1]] by this rule; those that are not UTF-8 are missing."""
        if not self.user_ids:
            return text_array(*_core.kept_texts(offset, data, present, self.longest))
        ends, ids, kept, long_ids = _core.user_ids(offset, data, present, LONGEST_TEXT, self.longest)
        short = text_array(ends, ids, kept)
        if not long_ids.size:
            return short
        at, begin, end = long_ids.reshape(-1, 3).T
        is_long = np.zeros(len(short), dtype=np.bool_)
        is_long[at] = True
        digests = [_digest(data[first:last]) for first, last in zip(begin, end, strict=True)]
        return pc.replace_with_mask(short, pa.array(is_long), pa.array(digests, pa.large_string()))

    def read_lines(self, offset: NDArray[np.int64], data: NDArray[np.uint8]) -> Any:
        """The same of texts that are UTF-8 and all present, as those of split lines."""
        if not self.user_ids and np.diff(offset).max(initial=0) <= self.longest:
            return text_array(offset, data)
        return self.read(offset, data, np.ones(offset.size - 1, dtype=np.bool_))


def _digest(text: NDArray[np.uint8]) -> str:
    """Of a long id. The same in all files and readings, so that it can stand for the id in a comparison."""
    return f"sha256:{hashlib.sha256(text.tobytes()).hexdigest()}"


def text_array(offset: NDArray[np.int64], data: NDArray[np.uint8], present: NDArray[np.bool_] | None = None) -> Any:
    """Arrow's array of the texts data[offset[i] : offset[i + 1]]."""
    bits = None if present is None else pa.array(present).buffers()[1]
    buffers = [bits, pa.py_buffer(offset), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), offset.size - 1, buffers)


def is_text(kind: Any) -> bool:
    """Whether an Arrow type holds texts or bytes of any length."""
    forms = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return any(getattr(pa.types, f"is_{form}")(kind) for form in forms)


def texts_of(column: Any, rule: TextRule) -> Any:
    """Texts by a rule; missing where they are not UTF-8. One row must not need more memory than all others."""
    if pa.types.is_null(column.type):
        return column.cast(pa.large_string())
    if column.type == pa.uuid():
        return _uuid_texts(column.storage)
    if not len(column):
        return pa.array([], pa.large_string())
    column = _without_views(column)
    data = column.buffers()[2]  # used where it is: a cast may copy a text that is dropped
    data = np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    return rule.read(_offsets(column).astype(np.int64, copy=False), data, present)


def longest_text(column: Any) -> int:
    """Bytes of the longest text of a column, of texts that are not views."""
    return int(np.diff(_offsets(column)).max(initial=0)) if len(column) else 0


def _offsets(column: Any) -> Any:
    offset = np.frombuffer(column.buffers()[1], dtype=_WIDTHS[column.type])
    return offset[column.offset : column.offset + len(column) + 1]


def _without_views(column: Any) -> Any:
    """Arrow gives no offsets of texts that are views."""
    is_view = pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type)
    return column.cast(pa.large_binary()) if is_view else column


def _uuid_texts(values: Any) -> Any:
    """Universally unique ids as texts like 550e8400-e29b-41d4-a716-446655440000."""
    present = values.is_valid().to_numpy(zero_copy_only=False)
    raw = np.frombuffer(values.buffers()[1], dtype=np.uint8).reshape(-1, _UUID_BYTES)
    raw = raw[values.offset : values.offset + len(values)]
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    text = np.full((len(values), 36), ord("-"), dtype=np.uint8)
    at = [place for place in range(36) if place not in (8, 13, 18, 23)]
    text[:, at[0::2]], text[:, at[1::2]] = digits[raw >> 4], digits[raw & 15]
    offset = np.arange(len(values) + 1, dtype=np.int64) * 36
    return text_array(offset, text.ravel(), present)
