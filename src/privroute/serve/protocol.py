"""What the server speaks: uvicorn's HTTP, with a limit on what stands around the body of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LARGEST_HEAD", "LimitedProtocol"]

LARGEST_HEAD = 64 * 2**10
_LINGER_S = 2.0
_PER_HEADER = len(b": \r\n")
_BODY = b'{"code":"InvalidQuery","message":"The headers of the request have more than 64 KB."}'
_HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", b"%d" % len(_BODY)),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"connection", b"close"),
]


class LimitedProtocol(HttpToolsProtocol):
    """Answers 431 where the first line and headers of a request, or its trailers, have more than LARGEST_HEAD bytes.

    Without a limit one request could fill the memory, and others would wait while it is read.
    """

    _since = 0  # bytes that came since headers, a part of a body or a message were last complete
    _in_body = False  # of a message whose headers are complete
    _refused = False

    def data_received(self, data: bytes) -> None:
        """Parse what came, if it is not refused."""
        if self._refused:
            return
        self._since += len(data)
        super().data_received(data)
        if self._since > LARGEST_HEAD:
            self._refuse()

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        if self._refused:
            return
        if len(self.url) + _size(self.headers) > LARGEST_HEAD:
            self._refuse()
            return
        super().on_headers_complete()
        self._since, self._in_body = 0, True
        self.headers = []  # for trailers, which the application never sees

    def on_body(self, body: bytes) -> None:
        """Hand on a part of the body."""
        if not self._refused:
            super().on_body(body)
            self._since = 0

    def on_message_complete(self) -> None:
        """Tell the application that it has the whole body."""
        if self._refused:
            return
        if _size(self.headers) > LARGEST_HEAD:
            self._refuse()
            return
        super().on_message_complete()
        self._since, self._in_body = 0, False

    def _refuse(self) -> None:
        """Answer where no other answer has begun or is due before, and close when all answers are sent."""
        self._refused = True
        if self.transport.is_closing():
            return
        cycle = self.cycle
        due = cycle is not None and not cycle.response_complete
        if due != self._in_body or self.pipeline or (due and cycle.response_started):
            self.shutdown()
            return
        if due:
            cycle.disconnected = True
            cycle.message_event.set()
            self.flow.resume_reading()
        headers = [*self.server_state.default_headers, *_HEADERS]
        lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        self.transport.write(b"HTTP/1.1 431 Request Header Fields Too Large\r\n%b\r\n%b" % (lines, _BODY))
        # a connection that is closed while bytes arrive is reset, and the client may never see the answer: they are
        # dropped for a while
        self.transport.write_eof()
        self.loop.call_later(_LINGER_S, self.transport.close)


def _size(headers: Iterable[tuple[bytes, bytes]]) -> int:
    return sum(len(name) + len(value) + _PER_HEADER for name, value in headers)
