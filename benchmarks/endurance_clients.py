"""The service for long under 64 connections: good clients, clients that send or read slowly, and broken ones."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import checkout  # noqa: F401 - before the others
from networks import say
from serve import memory_mb, running
from serve_load import get, press
from tests.network.test_mutated_maps import damaged

import privroute as pr

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CONNECTIONS = {"good": 40, "slow senders": 8, "slow readers": 8, "broken": 8}
SEGMENT_S = 10.0
MOST_GROWTH_MB = 64.0
GOOD = get("/v1/routes?origin=1&destination=20")
BODY = b'{"pairs": [' + b",".join([b"[1, 20]"] * 20_000) + b"]}"
BATCH = (
    b"POST /v1/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    + f"Content-Length: {len(BODY)}\r\n\r\n".encode()
    + BODY
)


@dataclass
class Seen:
    """What the bad clients saw: connections that they opened, and answers that a server must not give."""

    opened: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CONNECTIONS, 0))
    faults: list[str] = field(default_factory=list)


async def send_slowly(port: int, chance: random.Random, seen: Seen) -> None:
    """A request in a byte or two at a time, sometimes never finished."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    seen.opened["slow senders"] += 1
    end = len(GOOD) if chance.random() < 0.5 else chance.randrange(len(GOOD))  # noqa: PLR2004 - half of them
    with contextlib.suppress(OSError, TimeoutError):
        for at in range(0, end, 2):
            writer.write(GOOD[at : min(at + 2, end)])
            await writer.drain()
            await asyncio.sleep(chance.uniform(0, 0.2))
        if end == len(GOOD):
            _note(seen, "slow sender", await asyncio.wait_for(reader.read(4096), 30))
    writer.close()


async def read_slowly(port: int, chance: random.Random, seen: Seen) -> None:
    """A large batch whose answer is read a little at a time, and left half way."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=4096)
    seen.opened["slow readers"] += 1
    with contextlib.suppress(OSError, TimeoutError):
        writer.write(BATCH)
        await writer.drain()
        first = True
        for _ in range(chance.randrange(60)):
            part = await asyncio.wait_for(reader.read(1024), 60)
            if first:
                _note(seen, "slow reader", part, busy=True)
            first = False
            if not part:
                break
            await asyncio.sleep(0.1)
    writer.transport.abort()


async def break_off(port: int, chance: random.Random, seen: Seen) -> None:
    """Damaged requests, or good ones whose client is gone before the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    seen.opened["broken"] += 1
    with contextlib.suppress(OSError, TimeoutError):
        request = chance.choice([GOOD, BATCH[:400]])
        writer.write(damaged(request, chance) if chance.random() < 0.7 else request)  # noqa: PLR2004
        await writer.drain()
        if chance.random() < 0.5:  # noqa: PLR2004
            _note(seen, "broken client", await asyncio.wait_for(reader.read(4096), 0.3))
    writer.transport.abort()
    await asyncio.sleep(chance.uniform(0, 0.05))


def _note(seen: Seen, who: str, answer: bytes, *, busy: bool = False) -> None:
    """5xx is a fault of the server, except "busy" (503) to those who ask for large batches."""
    status = answer[9:12]
    if answer.startswith(b"HTTP/1.1 5") and not (busy and status == b"503"):
        seen.faults.append(f"{who}: {answer[:60]!r}")


def bad_clients(port: int, until: float, seen: Seen, seed: int) -> None:
    """All of the bad clients, each of which comes again as soon as it is done."""

    async def again(client: Callable[[int, random.Random, Seen], Awaitable[None]], number: int) -> None:
        chance = random.Random(seed * 1000 + number)  # noqa: S311 - moments
        while time.monotonic() < until:
            try:
                await client(port, chance, seen)
            except OSError as problem:
                seen.faults.append(f"{client.__name__}: {problem}")
                await asyncio.sleep(1)

    async def all_of_them() -> None:
        kinds = {"slow senders": send_slowly, "slow readers": read_slowly, "broken": break_off}
        each = [client for name, client in kinds.items() for _ in range(CONNECTIONS[name])]
        with contextlib.suppress(TimeoutError):  # whoever is still waiting then is cut off
            async with asyncio.timeout(max(0.0, until - time.monotonic()) + 1):
                await asyncio.gather(*(again(client, number) for number, client in enumerate(each)))

    asyncio.run(all_of_them())


def hold_out(folder: Path, seconds: float, seed: int, *, quiet: bool) -> tuple[dict[str, Any], list[str]]:
    """Serve a release to all of them for so long; figures, and what must never be seen."""
    scenario = pr.sioux_falls()
    days = pr.simulate_days(scenario.demand, days=2, seed=1)
    pr.learn(scenario.network, days, pr.Guarantee(1.0, 1e-6)).save(folder / "release")
    command = [str(Path(sys.executable).with_name("privroute")), "serve", str(folder / "release"), "--port", "0"]
    seen, answered, errors, slowest_ms = Seen(), 0, 0, 0.0
    with running(command) as (port, process):
        begin = time.monotonic()
        others = threading.Thread(target=bad_clients, args=(port, begin + seconds, seen, seed))
        others.start()
        settled = 0.0
        while (left := begin + seconds - time.monotonic()) > 0:
            load = press(port, [GOOD], connections=CONNECTIONS["good"], seconds=min(SEGMENT_S, max(left, 0.5)))
            answered += len(load.seconds)
            errors += load.errors
            slowest_ms = max(slowest_ms, load.percentile_ms(0.99))
            if not settled and time.monotonic() - begin > seconds / 6:
                settled = memory_mb(process)
                say(quiet, f"{answered:,} answers, {errors} errors, {settled:.0f} MB")
        others.join()
        after = memory_mb(process)  # fails if the server is gone
    wrong = seen.faults + [f"{errors:,} good requests were not answered with 200"] * bool(errors)
    if after - settled > MOST_GROWTH_MB:
        wrong.append(f"memory grew by {after - settled:.0f} MB")
    figures = {
        "seconds": seconds,
        "connections": CONNECTIONS,
        "answered": answered,
        "errors": errors,
        "bad_clients": {name: number for name, number in seen.opened.items() if name != "good"},
        "slowest_p99_ms": slowest_ms,
        "memory_mb": after,
        "memory_growth_mb": after - settled,
    }
    return figures, wrong
