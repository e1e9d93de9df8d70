"""A study as the text of a TOML file, with a comment above every key."""

from __future__ import annotations

import datetime as dt
import textwrap
from typing import TYPE_CHECKING, Any

from privroute.study.schema import KEYS, SECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privroute.study.keys import Key

__all__ = ["as_toml", "section_as_toml"]

_WIDTH = 100
_TITLE = "A study: what is public and chosen before any trip is read. Lines that begin with # are comments."
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_DELETE = 0x7F


def as_toml(values: Mapping[str, Any]) -> str:
    """Every key with its help; keys without a value are commented out. Options of other mechanisms are left out.

    values : {"guarantee.epsilon": 0.1}
    """
    chosen = values.get("mechanism.name", KEYS["mechanism.name"].default)
    lines = _comment(_TITLE)
    for section, words in SECTIONS.items():
        lines += ["", *_comment(words), f"[{section}]"]
        for key in KEYS.values():
            if key.section == section and (not key.owners or chosen in key.owners or key.id in values):
                lines += ["", *_comment(key.about), _line(key, values)]
    return "\n".join(lines) + "\n"


def section_as_toml(section: str, values: Mapping[str, Any]) -> str:
    """One section with these values by name, and nothing else."""
    return "\n".join([f"[{section}]", *(f"{name} = {_value(value)}" for name, value in values.items())]) + "\n"


def _line(key: Key, values: Mapping[str, Any]) -> str:
    if key.id in values:
        return f"{key.name} = {_value(values[key.id])}"
    shown = key.default if key.example is None else key.example
    return f"# {key.name} = {'' if shown is None else _value(shown)}".rstrip()


def _comment(words: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(words, _WIDTH, break_on_hyphens=False)]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, str):
        return f'"{"".join(map(_escaped, value))}"'
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_value(name)} = {_value(each)}' for name, each in value.items())} }}"
    return f"[{', '.join(map(_value, value))}]"


def _escaped(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    return f"\\u{ord(sign):04x}" if ord(sign) < ord(" ") or ord(sign) == _DELETE else sign
