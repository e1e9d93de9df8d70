"""Readable twin of core/user_ids.hpp: ids of users as canonical texts."""

from __future__ import annotations

import re
import uuid
from decimal import Context, Decimal

__all__ = ["canonical_id"]

_SINGLE = (0, 0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF)
BLANKS = "".join(map(chr, (*_SINGLE, *range(9, 14), *range(0x2000, 0x200C))))
_DASHED = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_UUID = re.compile(rf"(urn:uuid:)?(\{{({_DASHED}|[0-9a-f]{{32}})\}}|{_DASHED}|[0-9a-f]{{32}})", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?([0-9]+|[0-9]+e\+[0-9]{1,3}|[0-9]*\.[0-9]*(e[+-]?[0-9]{1,3})?)", re.IGNORECASE)
_MOST_DIGITS = 40


def canonical_id(text: str) -> str:
    """The id that stands for all spellings of a text."""
    text = text.strip(BLANKS)
    if _UUID.fullmatch(text):
        return str(uuid.UUID(text.lower().removeprefix("urn:uuid:").strip("{}")))
    if _NUMBER.fullmatch(text) and re.search("[0-9]", re.split("[eE]", text)[0]):
        number = Context(prec=5000).create_decimal(text)
        if number == 0:
            return "0"
        whole = f"{number:f}".split(".", maxsplit=1)
        if not any(part.strip("0") for part in whole[1:]):
            digits = whole[0].lstrip("-").lstrip("0")
            if len(digits) <= _MOST_DIGITS:
                found = ("-" if number < Decimal(0) else "") + digits
                return str(uuid.UUID(found)) if re.fullmatch("[0-9]{32}", found) else found
    return text
