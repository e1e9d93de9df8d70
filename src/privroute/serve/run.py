"""Run the service on this machine."""

from __future__ import annotations

import gc
import ipaddress
import signal
import socket
import threading
import webbrowser
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn

from privroute.errors import InputError
from privroute.serve.app import create_app
from privroute.serve.protocol import LimitedProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

    from privroute.release.release import Release
    from privroute.serve.options import ServeOptions

__all__ = ["run", "settings"]

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
    if started is not None:
        started(address)
    if open_browser:  # the socket listens already, so an early request waits and is answered
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with listening, _hangup_ends(), suppress(KeyboardInterrupt):
        uvicorn.Server(settings(app)).run(sockets=[listening])


def settings(app: ASGIApp) -> uvicorn.Config:
    """How the server runs an application."""
    return uvicorn.Config(
        app,
        http=LimitedProtocol,
        log_level="warning",
        access_log=False,  # which pairs somebody asks for is nobody's business
        server_header=False,
        lifespan="off",
        ws="none",
        limit_concurrency=_MOST_CONNECTIONS,
        backlog=_WAITING,
        timeout_graceful_shutdown=_LAST_ANSWERS_S,
    )


@contextmanager
def _hangup_ends() -> Iterator[None]:
    """Within, a closed terminal (SIGHUP, unless it is ignored as under nohup) ends the server as SIGTERM does.

    uvicorn waits for the last answers after SIGTERM and SIGINT only.
    """
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


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
