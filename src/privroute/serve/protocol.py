"""What the server speaks: uvicorn's HTTP, with a limit on what stands around the body of a request."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

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

    _last = 0  # bytes that came last
    _most = 0  # bytes that can belong to what is not complete yet: headers, or what follows a part of a body
    _unsure = 0  # of these, bytes that came together with what is complete, and may belong to that
    _in_body = False  # of a message whose headers are complete
    _refused = False

    def data_received(self, data: bytes) -> None:
        """Parse what came, if it is not refused."""
        if self._refused:
            return
        self._last = len(data)
        self._most += self._last
        HttpToolsProtocol.data_received(self, data)
        if self._most - self._unsure > LARGEST_HEAD:
            self._refuse()

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        if self._refused or (self._most > LARGEST_HEAD and self._is_large(self.url)):
            return
        HttpToolsProtocol.on_headers_complete(self)
        self._most = self._unsure = self._last
        self._in_body = True
        self.headers = []  # for trailers, which the application never sees

    def on_body(self, body: bytes) -> None:
        """Hand on a part of the body."""
        if not self._refused:
            HttpToolsProtocol.on_body(self, body)
            self._most = self._unsure = self._last

    def on_message_complete(self) -> None:
        """Tell the application that it has the whole body."""
        if self._refused or (self._most > LARGEST_HEAD and self._is_large(b"")):
            return
        HttpToolsProtocol.on_message_complete(self)
        self._most = self._unsure = self._last
        self._in_body = False

    def _is_large(self, line: bytes) -> bool:
        """Refuse headers or trailers that are complete and too large."""
        if len(line) + sum(len(name) + len(value) + _PER_HEADER for name, value in self.headers) > LARGEST_HEAD:
            self._refuse()
        return self._refused

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
