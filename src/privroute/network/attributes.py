"""Reading the attributes of a node or an edge: a usable value, or an error that says which, where and what to do."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import NetworkError
from privroute.network.checks import as_number, show

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Attributes"]

_SEPARATOR = re.compile("[;|]")
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of one node or edge.

    kind : "node" or "edge", for messages
    key : the node's key, or the edge's (u, v, key)
    values : attribute name -> value, of any type
    """

    kind: str
    key: Any
    values: Mapping[str, Any]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def number(self, name: str, *, positive: bool = False, signed: bool = False) -> float | None:
        """The attribute as a finite number that is not negative (or > 0, or of any sign); None if it is not there."""
        if name not in self.values:
            return None
        value = as_number(self.values[name])
        if value is None:
            raise self.error(name, "give one finite number, or omit the attribute")
        return self.usable(name, value, positive=positive, signed=signed)

    def usable(self, name: str, value: float, *, positive: bool = False, signed: bool = False) -> float:
        """Return the value if it is finite and not negative (or > 0, or of any sign)."""
        if math.isfinite(value) and (signed or value > 0 or (value == 0 and not positive)):
            return value
        wanted = "finite" if signed else "finite and greater than 0" if positive else "finite and not negative"
        raise self.error(name, f"it must be {wanted}; correct it, or omit the attribute")

    def flag(self, name: str) -> bool | None:
        """The attribute as true or false; None if it is not there."""
        if name not in self.values:
            return None
        return self.as_flag(name, self.values[name])

    def as_flag(self, name: str, value: object) -> bool:
        """Return one value of the attribute as true or false; texts such as "yes" and "False" are read too."""
        if isinstance(value, bool | np.bool_):
            return bool(value)
        if isinstance(value, int | np.integer) and value in (0, 1):
            return bool(value)
        if isinstance(value, str) and value.strip().lower() in _FLAGS:
            return _FLAGS[value.strip().lower()]
        raise self.error(name, "give True or False, or omit the attribute")

    def items(self, name: str) -> list[Any]:
        """The values of an attribute that may be a list (merged edges) or a text such as "50;30"; [] if not there."""
        if name not in self.values:
            return []
        value = self.values[name]
        if isinstance(value, np.ndarray):
            value = value.tolist()
        parts = list(value) if isinstance(value, list | tuple) else [value]
        if not parts:
            raise self.error(name, "the list is empty; give a value, or omit the attribute")
        return [
            piece.strip() if isinstance(piece, str) else piece
            for part in parts
            for piece in (_SEPARATOR.split(part) if isinstance(part, str) else [part])
        ]

    def error(self, name: str, advice: str) -> NetworkError:
        """Error about one attribute: where, what it is, what to do."""
        value = show(self.values[name]) if name in self.values else "missing"
        return NetworkError(f"{self.kind} {show(self.key)}: {name} is {value}; {advice}")
