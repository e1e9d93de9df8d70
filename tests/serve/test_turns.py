"""Large answers take turns until they are sent: readers that are slow cannot fill the memory."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import privroute as pr
from privroute.serve import service
from privroute.serve.app import create_app

BODY = b'{"pairs": [[1, 20]]}'
SCOPE = {
    "type": "http",
    "http_version": "1.1",
    "method": "POST",
    "path": "/v1/batch",
    "raw_path": b"/v1/batch",
    "query_string": b"",
    "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
}


async def statuses(release: pr.Release, readers: int) -> tuple[list[int], list[int]]:
    """Statuses that so many readers got while none of them read on, and after all did."""
    app = create_app(release)
    reads = asyncio.Event()
    found: list[int] = []

    async def ask() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": BODY, "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                found.append(message["status"])
            else:
                await reads.wait()

        await app(dict(SCOPE), receive, send)

    tasks = [asyncio.create_task(ask()) for _ in range(readers)]
    await asyncio.sleep(0.5)
    before = list(found)
    reads.set()
    await asyncio.gather(*tasks)
    return before, found


def run(release: pr.Release, readers: int) -> tuple[list[int], list[int]]:
    """In a thread of its own: tests in a browser leave an event loop running in theirs."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(statuses(release, readers))).result()


def test_no_more_batches_are_made_than_turns_while_readers_are_slow(release: pr.Release) -> None:
    before, after = run(release, 7)
    assert before == [200] * service._BATCHES_AT_ONCE
    assert after == [200] * 7


def test_who_waits_too_long_for_a_turn_is_told_to_come_again(
    release: pr.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_PATIENCE_S", 0.05)
    before, _ = run(release, 6)
    assert sorted(before) == [200] * service._BATCHES_AT_ONCE + [503] * 2
