"""Addresses of PostgreSQL servers: postgresql://user@host:port/database#name, shown without user and password."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from privroute.errors import InputError, MissingExtraError

__all__ = ["ServerAddress", "driver", "is_address", "quoted"]

_SCHEMES = ("postgresql://", "postgres://")
_CONNECT_S = 20
_LONGEST_NAME = 63
_HOST = re.compile(r"(\[[^\[\]@]*\]|[^\[\]@:]*)(:[0-9]*)?")


def is_address(text: object) -> bool:
    """Whether a text is the address of a server, not a path."""
    return isinstance(text, str) and text.lower().startswith(_SCHEMES)


def quoted(name: str) -> str:
    """A name of a schema, table or column, quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def driver() -> Any:
    """The package that speaks with servers."""
    try:
        import psycopg  # noqa: PLC0415 - heavy and optional
    except ImportError:
        raise MissingExtraError("psycopg", "postgresql", "a PostgreSQL server") from None
    return psycopg


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server is, and a name there. Its text has neither user nor password.

    name : what stands behind the #, in parts between dots; () if nothing does
    """

    url: str = field(repr=False)
    name: tuple[str, ...]
    shown: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Read postgresql://user:password@host:port/database?options#name."""
        url, _, fragment = text.partition("#")
        try:
            parts = urlsplit(url)
            options = parse_qs(parts.query)
        except ValueError:
            raise _bad() from None
        name = tuple(fragment.split(".")) if fragment else ()
        if any(not part or len(part.encode()) > _LONGEST_NAME or not part.isprintable() for part in name):
            raise _bad()
        named = parts.netloc.rpartition("@")[2]
        # a password with signs that stand for themselves would be taken for a host, a database or a name, and shown
        behind = parts.path + fragment + (parts.query if "@" not in parts.netloc else "")
        if "@" in behind or not all(_HOST.fullmatch(host) for host in named.split(",")):
            raise _bad()
        host = named or ",".join(options.get("host", ["localhost"]))
        if ":" not in host and "port" in options:
            host += f":{options['port'][0]}"
        database = parts.path.strip("/") or ",".join(options.get("dbname", [""]))
        return cls(url, name, f"postgresql://{host}/{database}")

    def __str__(self) -> str:
        return self.shown + (f"#{'.'.join(self.name)}" if self.name else "")

    def connect(self, **options: Any) -> Any:
        """A new connection, on which each statement stands alone unless a transaction is begun."""
        return driver().connect(
            self.url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=_CONNECT_S,
            client_encoding="UTF8",
            application_name="privroute",
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            **options,
        )


def _bad() -> InputError:
    return InputError(
        "the address of the server cannot be read; pass one like postgresql://user@host:5432/database#name, with the "
        "password in the file ~/.pgpass, or its signs /, ?, # and @ as %2F, %3F, %23 and %40"
    )
