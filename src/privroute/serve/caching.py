"""A release never changes: one tag names all that is answered from it.

An address that names the release (`release=`) may be kept for ever. Others are asked again, since the server may hold
another release tomorrow, and answered with 304 as long as it does not.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from dataclasses import fields
from importlib import metadata
from typing import TYPE_CHECKING

import numpy as np
import orjson
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from privroute.release.release import Release

__all__ = ["JSON", "Document", "InTurn", "Plain", "Tagged", "release_id"]

JSON = "application/json"
_KEPT = "public, max-age=31536000, immutable"
_ASKED_AGAIN = "no-cache"
_SMALLEST_PACKED = 1024
_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))")


def release_id(release: Release, *, more: Iterable[bytes] = ()) -> str:
    """Return a short name of what is served: the release, the version of the package, and `more`."""
    policy, network, demand = release.policy, release.network, release.demand
    digest = hashlib.sha256(metadata.version("privroute").encode())
    texts = [release.certificate.as_dict(), network.crs, network.node_labels, network.link_labels]
    texts += [network.zone_labels, None if network.streets is None else network.streets.name]
    digest.update(orjson.dumps(texts, default=str))
    for array in (
        *(network.tail, network.head, network.zones, network.no_through, network.background_per_min),
        *((network.fixed_cost_min,) if network.has_fixed_costs else ()),
        *(getattr(network.latency, field.name) for field in fields(network.latency)),
        *(network.coordinates, network.length_km),
        *(() if network.streets is None else (network.streets.start, network.streets.points)),
        *(() if network.areas is None else (network.areas.points, network.areas.ring_start, network.areas.area_start)),
        *(policy.pairs.origin, policy.pairs.destination, *policy.stored.arrays().values()),
        None if demand is None else demand.rate_per_min,
    ):
        digest.update(b"-" if array is None else np.ascontiguousarray(array).data)
    for part in more:
        digest.update(part)
    if release.parts:
        files = getattr(release.parts, "digests", None)  # of a folder whose periods are not all read
        parts = [] if files else [part.policy.stored.arrays().values() for part in release.parts]
        digest.update(orjson.dumps([files, release.vehicles_per_hour]))
        for array in (array for arrays in parts for array in arrays):
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]


class Plain(Response):
    """An answer whose headers are ready as bytes and whose body may come in pieces, which are sent without a copy."""

    def __init__(self, headers: Sequence[tuple[bytes, bytes]], *pieces: bytes | memoryview, status: int = 200) -> None:
        self.status_code = status
        self.background = None
        self.pieces = pieces
        self.body = pieces[0] if len(pieces) == 1 else b""
        length = sum(map(len, pieces))
        self.raw_headers = [*headers, (b"content-length", b"%d" % length)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - the protocol's
        """Send it."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        last = len(self.pieces) - 1
        for position, piece in enumerate(self.pieces):
            await send({"type": "http.response.body", "body": piece, "more_body": position < last})


class InTurn(Response):
    """An answer that is made and sent while it holds one of a few turns, since it stands in memory until it is sent.

    A client that gets no turn in time, because others read slowly, is asked to try again.
    """

    def __init__(self, turns: asyncio.Semaphore, make: Callable[[], Response], patience_s: float) -> None:
        self.background = None
        self._turns, self._make, self._patience_s = turns, make, patience_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait for a turn, make the answer and send it."""
        try:
            await asyncio.wait_for(self._turns.acquire(), self._patience_s)
        except TimeoutError:
            raise HTTPException(503, headers={"retry-after": "10"}) from None
        try:
            answer = await run_in_threadpool(self._make)
            await answer(scope, receive, send)
        finally:
            self._turns.release()


class Tagged:
    """Makes answers that carry the tag, or 304 where the asker has them already."""

    def __init__(self, tag: str) -> None:
        self._tag = f'"{tag}"'
        self._headers = {
            pinned: {"etag": self._tag, "cache-control": _KEPT if pinned else _ASKED_AGAIN} for pinned in (True, False)
        }
        self._plain = {
            pinned: [
                *((name.encode(), value.encode()) for name, value in headers.items()),
                (b"content-type", JSON.encode()),
            ]
            for pinned, headers in self._headers.items()
        }

    def answer(self, request: Request, body: bytes, *, pinned: bool) -> Response:
        """Answer with JSON; `pinned` says that the address names the release."""
        if self._known(request):
            return Response(status_code=304, headers=self._headers[pinned])
        return Plain(self._plain[pinned], body)

    def document(self, request: Request, document: Document, *, pinned: bool) -> Response:
        """Answer with a whole document, packed where the asker can unpack it."""
        headers = {**self._headers[pinned], "vary": "accept-encoding"}
        if self._known(request):
            return Response(status_code=304, headers=headers)
        if document.packed is not None and _GZIP.search(request.headers.get("accept-encoding", "")):
            headers["content-encoding"] = "gzip"
            return Response(document.packed, headers=headers, media_type=document.media_type)
        return Response(document.body, headers=headers, media_type=document.media_type)

    def _known(self, request: Request) -> bool:
        known = next((value for name, value in request.scope["headers"] if name == b"if-none-match"), None)
        if known is None:
            return False
        return any(each.strip().removeprefix("W/") in (self._tag, "*") for each in known.decode("latin-1").split(","))


class Document:
    """A text that is sent whole."""

    def __init__(self, body: bytes, media_type: str) -> None:
        self.body = body
        self.media_type = media_type
        self.packed = gzip.compress(body, 6, mtime=0) if len(body) >= _SMALLEST_PACKED else None
