"""What nodes and links are called: whole numbers or texts, in one form whatever file they come from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import NetworkError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Label", "as_label", "as_labels"]

Label = int | str

_PLAIN_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_LARGEST = 10**18


def as_label(value: object) -> Label:
    """The label's one form: "7" and 7 are the number 7, "007" and "7.0" are texts.

    A text may not be empty nor hold control characters nor white space at its ends: such labels do not survive a
    CSV file.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | str):
        raise NetworkError(f"is a {type(plain).__name__}; labels are whole numbers or texts")
    if isinstance(plain, int):
        if abs(plain) >= _LARGEST:
            raise NetworkError("is a number of more than 18 digits; make it a text that is not a number")
        return plain
    if not plain or plain != plain.strip() or not plain.isprintable():
        raise NetworkError(f"is {plain[:40]!r}; a text label has no control characters and no white space at its ends")
    return int(plain) if _PLAIN_WHOLE.fullmatch(plain) else plain


def as_labels(values: Iterable[object], name: str) -> tuple[Label, ...]:
    """Labels in their one form, each once."""
    try:
        given = values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else list(values)
    except TypeError:
        raise NetworkError(f"{name} is a {type(values).__name__}; pass a sequence of whole numbers or texts") from None
    labels = _alike(given)
    if labels is not None and len(set(labels)) == len(labels):
        return tuple(labels)
    first: dict[Label, int] = {}  # one after the other, to say which one is not a label
    for position, value in enumerate(given):
        try:
            label = as_label(value)
        except NetworkError as problem:
            raise NetworkError(f"{name}: position {position:,} {problem}") from None
        if first.setdefault(label, position) != position:
            raise NetworkError(f"{name}: positions {first[label]:,} and {position:,} are both {label!r}; use each once")
    return tuple(first)


def _alike(given: list[Any]) -> list[Label] | None:
    """The labels in their one form where all are whole numbers or all are texts, and none is refused; else None."""
    kinds = set(map(type, given))
    if kinds <= {int}:
        return given if max(map(abs, given), default=0) < _LARGEST else None
    if kinds != {str} or not all(given) or not "".join(given).isprintable() or list(map(str.strip, given)) != given:
        return None
    return [int(text) if _PLAIN_WHOLE.fullmatch(text) else text for text in given]
