"""Plain values that cannot be changed: what was announced is what is released."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["plain", "read_only"]


def read_only(value: Any) -> Any:
    """A copy of dicts, lists and what they contain that nobody can write to; other values as they are."""
    if isinstance(value, Mapping):
        return MappingProxyType({name: read_only(part) for name, part in value.items()})
    return tuple(map(read_only, value)) if isinstance(value, list | tuple) else value


def plain(value: Any) -> Any:
    """`read_only` backwards, for JSON and pickle: new dicts and lists."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    return list(map(plain, value)) if isinstance(value, list | tuple) else value
