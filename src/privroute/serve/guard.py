"""What every answer has in common: headers that keep a browser to this server, and a check of the Host header."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard"]

_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_HOSTS_KEPT = 64
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


class Guard:
    """Wraps the application.

    hosts : names under which the server answers, without port, or None for any; a page of a stranger whose name was
        made to point here is refused by it
    images_from : the only other server from which the page may load images: that of a basemap
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None = None, *, images_from: str | None = None) -> None:
        self._app = app
        self._hosts = hosts
        policy = _POLICY if images_from is None else _POLICY.replace("img-src 'self'", f"img-src 'self' {images_from}")
        self._headers = [(b"content-security-policy", policy.encode()), *_HEADERS]
        self._knows = lru_cache(maxsize=_HOSTS_KEPT)(self._is_host)  # nearly all requests have the same

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        app = self._app if self._knows(host) else _wrong_host
        if scope["method"] == "HEAD":  # the server leaves the body out
            scope = {**scope, "method": "GET"}
        await app(scope, receive, guarded)

    def _is_host(self, header: bytes) -> bool:
        found = _HOST.fullmatch(header.decode("latin-1"))
        return found is not None and (self._hosts is None or found[1].lower() in self._hosts)


async def _wrong_host(scope: Scope, receive: Receive, send: Send) -> None:
    shown = "is missing" if "host" not in Headers(scope=scope) else "is not one of this server's"
    message = f"the Host header {shown}; open the address that `privroute serve` printed"
    await JSONResponse({"code": "InvalidHost", "message": message}, status_code=400)(scope, receive, send)
