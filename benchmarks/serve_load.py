"""Load on an HTTP server from this process: connections that ask again as soon as they are answered."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import uvloop

if TYPE_CHECKING:
    from collections.abc import Iterator

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


@dataclass
class Load:
    """What one period of load saw: seconds of each answered request, and how many were not answered with 200."""

    seconds: list[float] = field(default_factory=list)
    errors: int = 0
    lasted_s: float = 0.0

    @property
    def per_second(self) -> float:
        """Answers per second."""
        return len(self.seconds) / self.lasted_s

    def percentile_ms(self, share: float) -> float:
        """Milliseconds within which this share of the requests was answered."""
        return 1000 * sorted(self.seconds)[int(share * (len(self.seconds) - 1))]


class _Connection(asyncio.Protocol):
    def __init__(self, requests: Iterator[bytes], load: Load, until: float) -> None:
        self.requests, self.load, self.until = requests, load, until
        self.closed = asyncio.get_running_loop().create_future()
        self.buffer = b""
        self.done = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._ask()

    def _ask(self) -> None:
        self.asked = time.perf_counter()
        if self.asked >= self.until:
            self.done = True
            self.transport.close()
        else:
            self.transport.write(next(self.requests))

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        length = LENGTH.search(self.buffer, 0, head + 2)
        if length is None or len(self.buffer) < head + 4 + int(length[1]):
            return
        self.load.seconds.append(time.perf_counter() - self.asked)
        self.load.errors += not self.buffer.startswith(b"HTTP/1.1 200")
        self.buffer = b""
        self._ask()

    def connection_lost(self, _: Exception | None) -> None:
        self.load.errors += not self.done
        self.closed.set_result(None)


def press(port: int, requests: list[bytes], *, connections: int, seconds: float) -> Load:
    """Ask these requests in turn over so many connections for so long."""
    load = Load()

    async def run() -> None:
        turn = itertools.cycle(requests)
        begin = time.perf_counter()
        loop = asyncio.get_running_loop()
        made = [
            await loop.create_connection(lambda: _Connection(turn, load, begin + seconds), "127.0.0.1", port)
            for _ in range(connections)
        ]
        await asyncio.gather(*(connection.closed for _, connection in made))
        load.lasted_s = time.perf_counter() - begin

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
    return load


def get(path: str) -> bytes:
    """A request as bytes."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
