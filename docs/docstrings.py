"""How the reference shows docstrings: lines such as `days, period_min : N and T` become a list."""

from __future__ import annotations

import re
from typing import Any

import griffe

NAMED = re.compile(r"(?P<names>\w+(?:, \w+)*) : (?P<text>.*)")


def as_markdown(docstring: str) -> str:
    """The docstring with its named entries as list items; formulas, which are indented, stay as they are."""
    lines: list[str] = []
    for line in docstring.splitlines():
        named = NAMED.fullmatch(line)
        if named:
            if lines and lines[-1] and not lines[-1].startswith(("- ", "    ")):
                lines.append("")  # a list begins after an empty line
            names = ", ".join(f"`{name}`" for name in named["names"].split(", "))
            lines.append(f"- {names}: {named['text']}")
        else:
            lines.append(line)
    return "\n".join(lines)


class NamedEntries(griffe.Extension):
    """Rewrites every docstring as Markdown when it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
