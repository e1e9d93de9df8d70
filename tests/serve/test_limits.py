"""Headers and trailers without end: refused after 64 KB, and nobody else notices."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.serve.test_run import started

import privroute as pr
from privroute.serve.protocol import LARGEST_HEAD

HEALTH = b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BATCH = b"POST /v1/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
PAIRS = b'{"pairs": [[1, 20]]}'
CHUNKS = b"%x\r\n%b\r\n0\r\n" % (len(PAIRS), PAIRS)
LARGE = LARGEST_HEAD + 1


def talk(address: str, request: bytes) -> list[tuple[int, bytes]]:
    """Status and body of every answer to these very bytes, until the server hangs up."""
    place = urlsplit(address)
    received = b""
    with socket.create_connection((place.hostname or "", place.port or 80), timeout=30) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(request)
        while chunk := connection.recv(65536):
            received += chunk
    answers = []
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        lines = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(lines[b"content-length"])
        answers.append((int(head.split()[1]), rest[:length]))
        received = rest[length:]
    return answers


def assert_too_large(answer: tuple[int, bytes]) -> None:
    status, body = answer
    assert status == 431
    assert json.loads(body) == {"code": "InvalidQuery", "message": "The headers of the request have more than 64 KB."}


@pytest.mark.parametrize(("size", "status"), [(LARGEST_HEAD, 200), (LARGEST_HEAD + 1, 431)])
def test_headers_of_64_kb_are_read_and_larger_ones_are_not(address: str, size: int, status: int) -> None:
    lines = b"Host: 127.0.0.1\r\nConnection: close\r\nX: "
    fill = size - len(b"/v1/health") - len(lines) - len(b"\r\n")
    ((found, _),) = talk(address, b"GET /v1/health HTTP/1.1\r\n" + lines + b"x" * fill + b"\r\n\r\n")
    assert found == status


@pytest.mark.parametrize(("times", "ended"), [(1, True), (20, True), (20, False)])
@pytest.mark.parametrize(
    ("opening", "repeated", "ending"),
    [
        (HEALTH + b"X: ", b"x", b"\r\n\r\n"),
        (HEALTH, b"x", b": 1\r\n\r\n"),
        (HEALTH, b"a:b\r\n", b"\r\n"),
        (b"GET /", b"x", b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        (BATCH + CHUNKS + b"X: ", b"x", b"\r\n\r\n"),
        (BATCH + CHUNKS, b"a:b\r\n", b"\r\n"),
    ],
)
def test_headers_and_trailers_that_are_too_large_are_refused_whether_they_end_or_not(
    address: str, client: httpx.Client, opening: bytes, repeated: bytes, ending: bytes, *, times: int, ended: bool
) -> None:
    request = opening + repeated * (LARGE * times // len(repeated) + 1) + (ending if ended else b"")
    (answer,) = talk(address, request)
    assert_too_large(answer)
    assert client.get("/v1/health").status_code == 200


def test_an_extension_of_a_chunk_without_end_is_refused(address: str) -> None:
    (answer,) = talk(address, BATCH + b"2;x=" + b"x" * (20 * LARGE))
    assert_too_large(answer)


def test_answers_that_are_due_are_sent_before_the_connection_ends(address: str) -> None:
    large = HEALTH + b"X: " + b"x" * LARGE + b"\r\n\r\n"
    found = talk(address, HEALTH + b"\r\n" + HEALTH + b"\r\n" + large + HEALTH + b"\r\n")
    assert [status for status, _ in found] in ([200, 200], [200, 200, 431])
    assert json.loads(found[0][1])["status"] == "ok"


def test_trailers_are_read_and_nobody_takes_them_for_headers(address: str) -> None:
    ending = b"X: 1\r\n\r\n" + HEALTH + b"Connection: close\r\n\r\n"
    assert [status for status, _ in talk(address, BATCH + CHUNKS + ending)] == [200, 200]
    nameless = BATCH.replace(b"Host: 127.0.0.1\r\n", b"Connection: close\r\n")
    assert [status for status, _ in talk(address, nameless + CHUNKS + b"Host: 127.0.0.1\r\n\r\n")] == [400]


def test_bodies_have_their_own_limit(client: httpx.Client) -> None:
    many = {"pairs": [[1, 20]] * 50_000}
    assert len(client.post("/v1/batch", json={**many, "limit": 1}).json()["answers"]) == 50_000


def test_60_mb_of_headers_do_not_stay_in_memory(release: pr.Release, tmp_path: Path) -> None:
    def memory_mb() -> float:
        return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096 / 1e6

    release.save(tmp_path / "release")
    with started("serve", tmp_path / "release", "--port", 0) as (address, process):
        assert_too_large(*talk(address, HEALTH + b"a:b\r\n" * 20_000))
        before = memory_mb()
        for request in (b"a:b\r\n" * 12_000_000, b"X: " + b"x" * 60_000_000):
            assert_too_large(*talk(address, HEALTH + request))
        assert memory_mb() < before + 10
        assert httpx.get(f"{address}v1/health").status_code == 200
