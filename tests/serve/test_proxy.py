"""The proxy of deploy/ in front of the service: what the service leaves open to slow clients, it closes.

Its configuration is used as it is, but for addresses, files, and time-outs that are shorter here.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

NGINX = shutil.which("nginx", path="/usr/sbin")
CONFIGURATION = Path(__file__).resolve().parents[2] / "deploy" / "nginx.conf"
BATCH = {"pairs": [[1, 20]] * 20_000}

pytestmark = pytest.mark.skipif(
    (NGINX is None or shutil.which("openssl") is None) and os.environ.get("CI") != "true",
    reason="proxy: no nginx or no openssl; install them",
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def here(text: str, folder: Path, upstream: str, port: int) -> str:
    """The configuration for this machine; every place that is changed must be there."""
    version = subprocess.run([str(NGINX), "-v"], capture_output=True, text=True, check=True).stderr
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    mine = "" if os.getuid() else "user root root; "  # whose folders nobody else may enter
    changes = {
        "worker_processes auto;": f"{mine}worker_processes 1; daemon off; pid {folder}/pid; error_log stderr crit;",
        "error_log /dev/stderr crit;": "".join(
            f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        ),
        "client_header_timeout 10s;": "client_header_timeout 2s;",
        "client_body_timeout 10s;": "client_body_timeout 2s;",
        "privroute:8000;": f"{upstream};",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "/etc/nginx/tls": str(folder),
    }
    if numbers < (1, 25):
        changes["http2 on;"] = ""  # older ones say it elsewhere
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def proxy(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of the proxy."""
    folder = tmp_path_factory.mktemp("proxy")
    certificate = ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    files = ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
    subprocess.run([*certificate, *files], check=True, capture_output=True)
    port = free_port()
    upstream = address.removeprefix("http://").rstrip("/")
    path = folder / "nginx.conf"
    path.write_text(here(CONFIGURATION.read_text(), folder, upstream, port))
    with subprocess.Popen([str(NGINX), "-c", str(path), "-e", "stderr"]) as process:
        try:
            for _ in range(500):
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except ConnectionRefusedError:
                    assert process.poll() is None
                    time.sleep(0.02)
            yield port
        finally:
            process.terminate()


@pytest.fixture
def client(proxy: int) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"https://127.0.0.1:{proxy}", verify=False, timeout=60) as found:  # noqa: S501 - made here
        yield found


def connection(port: int) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30))


def test_the_proxy_answers_as_the_service_does(client: httpx.Client, address: str) -> None:
    path = "/v1/routes?origin=1&destination=20"
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.content == httpx.get(address + path).content
    assert "content-security-policy" in answer.headers


def test_slow_headers_and_bodies_are_dropped(proxy: int) -> None:
    body = (
        b"POST /v1/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
    )
    for begun in (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", body):
        with connection(proxy) as slow:
            slow.sendall(begun)
            answer = slow.recv(4096)  # nothing, or 408: in any case it ends
            assert answer == b"" or b" 408 " in answer[:20]


def test_large_bodies_never_reach_the_service(client: httpx.Client) -> None:
    answer = client.post("/v1/batch", content=b"[" + b" " * (9 * 2**20))
    assert answer.status_code == 413


def test_slow_readers_hold_no_turn_of_the_service(proxy: int, client: httpx.Client) -> None:
    """Eight clients ask for large answers and do not read them; the service has four turns."""
    text = httpx.Request("POST", "http://x/", json=BATCH).content
    head = (
        f"POST /v1/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(text)}"
    )
    slow = []
    try:
        for _ in range(8):
            slow.append(connection(proxy))
            slow[-1].sendall(head.encode() + b"\r\n\r\n" + text)
        answer = client.post("/v1/batch", json=BATCH)
        assert answer.status_code == 200
        assert len(answer.json()["answers"]) == len(BATCH["pairs"])
    finally:
        for one in slow:
            one.close()


def test_one_address_cannot_ask_without_end(client: httpx.Client) -> None:
    found = {client.get("/v1/health").status_code for _ in range(600)}
    assert found == {200, 429}
