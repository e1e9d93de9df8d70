"""Run the service on this machine."""

from __future__ import annotations

import gc
import ipaddress
import socket
import threading
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING

import uvicorn

from privroute.errors import InputError
from privroute.serve.app import create_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from privroute.release.release import Release
    from privroute.serve.options import ServeOptions

__all__ = ["run"]

_MOST_CONNECTIONS = 1024
_WAITING = 2048
_LAST_ANSWERS_S = 5
_LISTS_BETWEEN_COLLECTIONS = 100_000


def run(
    release: Release,
    *,
    host: str,
    port: int,
    open_browser: bool = False,
    started: Callable[[str], None] | None = None,
    options: ServeOptions | None = None,
) -> None:
    """Serve a release until interrupted.

    host, port : where to listen; port 0 takes a free one
    open_browser : show the page in the user's browser
    started : called with the address as soon as connections are accepted
    options : as in create_app
    """
    listening = _listen(host, port)
    address = _address(host, listening.getsockname()[1])
    app = create_app(release, hosts=_names(host, listening.getsockname()[0]), options=options)
    # what stands in memory now stays: the collector need not look at it, nor every few lists at those of a large batch
    gc.freeze()
    gc.set_threshold(_LISTS_BETWEEN_COLLECTIONS)
    gc.enable()
    # no log of requests: which pairs somebody asks for is nobody's business
    settings = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        limit_concurrency=_MOST_CONNECTIONS,
        backlog=_WAITING,
        timeout_graceful_shutdown=_LAST_ANSWERS_S,
    )
    if started is not None:
        started(address)
    if open_browser:  # the socket listens already, so an early request waits and is answered
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with listening, suppress(KeyboardInterrupt):
        uvicorn.Server(settings).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError):
        raise InputError(
            f"{host!r} is not an address of this machine; use 127.0.0.1, or 0.0.0.0 for all addresses"
        ) from None
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(place)
        listening.listen(_WAITING)
    except OSError as problem:
        listening.close()
        raise InputError(
            f"port {port} at {host} cannot be used ({problem.strerror}); choose another, or 0 for any free one"
        ) from None
    return listening


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _names(host: str, bound: str) -> frozenset[str] | None:
    """Names in the Host header of somebody on this machine; any where the bound address serves others too."""
    local = ipaddress.ip_address(bound).is_loopback
    return frozenset({"localhost", "127.0.0.1", "[::1]", host.lower()}) if local else None
