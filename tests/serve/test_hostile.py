"""Whatever is asked: 4xx with a sentence, never 500, nothing of the file system."""

from __future__ import annotations

import json
import logging
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

import privroute as pr

OPENING = '{"pairs": '


def assert_refused(answer: httpx.Response, *statuses: int) -> str:
    assert answer.status_code in statuses, (answer.status_code, answer.text)
    found = answer.json()
    assert set(found) == {"code", "message"}
    message = str(found["message"])
    assert message[0].isupper() or not message[0].isalpha()
    assert message.endswith(".")
    for secret in (str(Path(pr.__file__).parent), sys.prefix, "site-packages", "Traceback", str(Path.home()) + "/"):
        assert secret not in answer.text
    assert "nosniff" in answer.headers["x-content-type-options"]
    return message


@pytest.mark.parametrize("what", ["routes", "sample"])
@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("origin=1&destination=99", 404, "99"),
        ("origin=1&destination=1", 404, "same node"),
        ("origin=01&destination=2", 404, "'01'"),
        ("origin=&destination=2", 404, "''"),
        ("origin=1", 422, "Destination"),
        ("", 422, "Origin"),
        ("origin=" + "9" * 5000 + "&destination=2", 404, "…"),
        ("origin=%00&destination=2", 404, "x00"),
        ("origin=%FF%FE&destination=2", 404, "labelled"),
        ("origin=..%2F..%2Fetc%2Fpasswd&destination=2", 404, "labelled"),
        ("origin=%3Cscript%3E&destination=2", 404, "<script>"),
        ("origin=1;DROP&destination=2", 404, "DROP"),
        ("origin[]=1&destination=2", 422, "Origin"),
    ],
)
def test_pairs_that_are_not_there(client: httpx.Client, what: str, query: str, status: int, said: str) -> None:
    assert said in assert_refused(client.get(f"/v1/{what}?{query}"), status)


@pytest.mark.parametrize("seed", ["-1", "x", "1.5", "1e3", "9007199254740992", "99999999999999999999999", ""])
def test_seeds_that_are_none(client: httpx.Client, seed: str) -> None:
    assert "Seed" in assert_refused(client.get(f"/v1/sample?origin=1&destination=2&seed={seed}"), 422)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("", 422, "not JSON"),
        ("{", 422, "not JSON"),
        ("\ufeff{}", 422, "not JSON"),
        ("[" * 100_000, 422, "not JSON"),
        (OPENING + "[" * 5000 + "]" * 5000 + "}", 422, "."),
        ('{"pairs": [[NaN, 1]]}', 422, "not JSON"),
        ("null", 422, "no pairs"),
        ("[[1, 2]]", 422, "no pairs"),
        ("{}", 422, "no pairs"),
        ('{"pairs": null}', 422, "not a list"),
        ('{"pairs": {"1": 2}}', 422, "not a list"),
        ('{"pairs": [1, 2]}', 422, "two labels"),
        ('{"pairs": [[1]]}', 422, "two labels"),
        ('{"pairs": [[1, 2, 3]]}', 422, "two labels"),
        ('{"pairs": ["12"]}', 422, "two labels"),
        ('{"pairs": [[1.5, 2]]}', 422, "neither"),
        ('{"pairs": [[1e400, 2]]}', 422, "."),
        ('{"pairs": [[true, 2]]}', 422, "neither"),
        ('{"pairs": [[null, 2]]}', 422, "neither"),
        ('{"pairs": [[[1], 2]]}', 422, "neither"),
        ('{"pairs": [[1, 20], [1, 99]]}', 404, "entry 1"),
        ('{"pairs": [[1, 1]]}', 404, "same node"),
        ('{"pairs": [[-1, 2]]}', 404, "-1"),
        ('{"pairs": [[18446744073709551615, 2]]}', 404, "labelled"),
        ('{"pairs": [[1, 20]], "sample": 1}', 422, "Sample"),
        ('{"pairs": [[1, 20]], "seed": -1}', 422, "Seed"),
        ('{"pairs": [[1, 20]], "seed": true}', 422, "Seed"),
        ('{"pairs": [[1, 20]], "seed": 1.5}', 422, "Seed"),
        ('{"pairs": [[1, 20]], "size": 5}', 422, "other"),
    ],
)
def test_batches_that_are_none(client: httpx.Client, body: str, status: int, said: str) -> None:
    answer = client.post("/v1/batch", content=body.encode(), headers={"content-type": "application/json"})
    assert said in assert_refused(answer, status)


def test_batches_that_are_too_large_or_no_json(client: httpx.Client) -> None:
    many = {"pairs": [[1, 20]] * 100_001}
    assert "100,000" in assert_refused(client.post("/v1/batch", json=many), 422)
    big = b'{"pairs": [' + b" " * (33 * 2**20) + b"]}"
    answer = client.post("/v1/batch", content=big, headers={"content-type": "application/json"})
    assert "32 MB" in assert_refused(answer, 413)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = client.post("/v1/batch", content=b'{"pairs": []}', headers={"content-type": kind})
        assert "application/json" in assert_refused(answer, 415)


def test_an_answer_that_would_fill_the_memory_is_refused(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privroute.serve.service._LARGEST_ANSWER", 1000)
    assert "fewer pairs" in assert_refused(client.post("/v1/batch", json={"pairs": [[1, 20]] * 10}), 413)
    assert client.post("/v1/batch", json={"pairs": [[1, 20]]}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/page/..%2f..%2fapp.py",
        "/page/%2e%2e/%2e%2e/app.py",
        "/page/../app.py",
        "/page//etc/passwd",
        "/page/index.html%00.js",
        "/page/",
        "/page",
        "/page/app.py",
        "/..%2f..%2f..%2fetc%2fpasswd",
        "/v1",
        "/v2/routes",
        "/v1/routes/1/20",
        "/.git/config",
        "/\\..\\..\\x",
        "/%",
    ],
)
def test_path_tricks_lead_nowhere(address: str, path: str) -> None:
    """Sent as they are: a client library would tidy them up."""
    status, body = raw(address, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    assert status in {400, 404}, body
    assert b"root:" not in body
    assert b"import " not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"])
def test_other_methods_are_refused(client: httpx.Client, method: str) -> None:
    answer = client.request(method, "/v1/routes?origin=1&destination=20")
    assert_refused(answer, 405)
    assert answer.headers["allow"] == "GET"


@pytest.mark.parametrize("host", ["", "evil example", "a/b", "x:99999999", "[::1", "a\x7f"])
def test_a_host_that_is_none_is_refused(address: str, host: str) -> None:
    request = f"GET /v1/health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    assert raw(address, request)[0] == 400


@pytest.mark.parametrize(
    "request_bytes",
    [b"GET / HTTP/9.9\r\n\r\n", b"\x00\x01\x02\r\n\r\n", b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\n\r\n"],
)
def test_what_is_no_request_is_answered_or_dropped_and_the_server_stays(
    address: str, client: httpx.Client, request_bytes: bytes
) -> None:
    status, _ = raw(address, request_bytes)
    assert status < 500
    assert client.get("/v1/health").status_code == 200


def test_clients_that_leave_in_the_middle_of_a_body_leave_no_traces_in_the_log(
    address: str, client: httpx.Client
) -> None:
    seen: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = seen.append  # type: ignore[method-assign, assignment]
    log = logging.getLogger("uvicorn.error")
    log.addHandler(handler)
    try:
        head = b"POST /v1/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n"
        place = urlsplit(address)
        for _ in range(5):
            with socket.create_connection((place.hostname or "", place.port or 80), timeout=10) as connection:
                connection.sendall(head + b'{"pairs": [')
                client.get("/v1/health")
        for _ in range(20):
            assert client.get("/v1/health").status_code == 200
            time.sleep(0.01)
    finally:
        log.removeHandler(handler)
    assert [record.levelname for record in seen if record.levelno >= logging.ERROR] == []


def test_a_fault_of_ours_shows_nothing_of_the_inside(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no known way to cause one, so one is planted."""

    def fault(*_: object) -> bytes:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr("privroute.serve.service.Service.routes", fault)
    answer = httpx.get(f"{address}/v1/routes?origin=1&destination=20")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "content-security-policy" in answer.headers
    assert json.loads(answer.text)["code"] == "Fault"


def test_every_answer_keeps_the_browser_to_this_server(client: httpx.Client) -> None:
    for path in ("/", "/docs", "/page/app.js", "/v1/health", "/nothing", "/v1/routes"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy


def raw(address: str, request: bytes) -> tuple[int, bytes]:
    """Status and body of the answer to these very bytes; 0 where the server hangs up."""
    place = urlsplit(address)
    assert place.hostname
    with socket.create_connection((place.hostname, place.port or 80), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        try:
            while chunk := connection.recv(65536):
                answer += chunk
                if b"\r\n\r\n" in answer and b"onnection: close" not in request:
                    break
        except ConnectionResetError:
            pass
    head, _, body = answer.partition(b"\r\n\r\n")
    return (int(head.split()[1]) if head else 0), body
