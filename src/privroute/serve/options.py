"""What an operator may set for a server: a basemap from another server, and the key of sticky routes."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from privroute.errors import InputError

__all__ = ["Basemap", "ServeOptions"]

_SIZES = ("{z}", "{x}", "{y}")
_HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")
_KEY_BYTES = 32
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Basemap:
    """Pictures of a public map below the network, off unless an operator asks for them.

    The visitor's browser requests them from that server, which sees who looks at which part of the map.

    tiles : address with {z}, {x} and {y}, https, such as https://tiles.example.org/{z}/{x}/{y}.png
    credit : whom the map is by, shown on it
    """

    tiles: str
    credit: str

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.tiles)
            usable = parts.scheme in ("https", "http") and bool(_HOST.fullmatch(parts.netloc))
        except (ValueError, AttributeError):
            usable = False
        if not usable or any(self.tiles.count(size) != 1 for size in _SIZES) or len(self.tiles) > _LONGEST:
            raise InputError("the basemap is not an address like https://tiles.example.org/{z}/{x}/{y}.png")
        if not self.credit.strip() or len(self.credit) > _LONGEST or not self.credit.isprintable():
            raise InputError("the basemap needs a credit, such as: © OpenStreetMap contributors")

    @property
    def origin(self) -> str:
        """The server of the pictures."""
        parts = urlsplit(self.tiles)
        return f"{parts.scheme}://{parts.netloc}"


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """basemap : None for none; vehicle_key : secret, a new one for each server if not given."""

    basemap: Basemap | None = None
    vehicle_key: bytes = field(default_factory=lambda: secrets.token_bytes(_KEY_BYTES), repr=False)
