"""The command as users start it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Queue
from threading import Thread

import httpx
import pytest
import uvicorn
from tests.cli.command import refused

import privroute as pr
from privroute.release.signing import make_keys
from privroute.serve.run import run

COMMAND = str(Path(sys.executable).with_name("privroute"))


@pytest.fixture(scope="module")
def folder(release: pr.Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("releases") / "sioux"
    release.save(place)
    return place


@contextmanager
def started(*arguments: object) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [COMMAND, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            said = ""
            while "http://" not in said:
                line = process.stdout.readline()
                assert line, process.stderr.read() if process.stderr else ""
                said += line
            found = re.search(r"http://\S+:\d+/", said)
            assert found
            yield found[0], process
        finally:
            process.terminate()


def test_serve_answers_says_where_logs_nothing_and_ends_with_ctrl_c(folder: Path) -> None:
    with started("serve", folder, "--port", 0) as (address, process):
        assert address.startswith("http://127.0.0.1:")
        assert httpx.get(f"{address}v1/routes?origin=1&destination=20", timeout=30).status_code == 200
        assert "privroute" in httpx.get(address).text
        port = httpx.URL(address).port
        for host in ("localhost", f"localhost:{port}", "127.0.0.1", "[::1]"):
            assert httpx.get(f"{address}v1/health", headers={"host": host}).status_code == 200
        rebound = httpx.get(f"{address}v1/health", headers={"host": "evil.example"})
        assert rebound.status_code == 400
        assert "Host header" in rebound.json()["message"]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "origin" not in out + err
    assert "Traceback" not in err


@pytest.mark.parametrize("request_to_end", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("busy", [False, True])
def test_a_server_that_is_told_to_end_sends_its_last_answers(
    folder: Path, request_to_end: signal.Signals, *, busy: bool
) -> None:
    """A closed terminal is a request to end, too."""
    body = json.dumps({"pairs": [[1, 20]] * 1000}).encode()
    head = b"POST /v1/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body)
    with started("serve", folder, "--port", 0) as (address, process), ThreadPoolExecutor(4) as clients:
        place = httpx.URL(address)
        with socket.create_connection((place.host, place.port or 80), timeout=20) as connection:
            connection.sendall(head + body[:-1])
            asked = [clients.submit(ask_until_it_ends, address) for _ in range(4 if busy else 0)]
            assert httpx.get(f"{address}v1/health", timeout=30).status_code == 200
            process.send_signal(request_to_end)
            time.sleep(0.3)
            connection.sendall(body[-1:])
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
        assert all(client.result() > 0 for client in asked)
        out, err = process.communicate(timeout=20)
    assert len(json.loads(answer.partition(b"\r\n\r\n")[2])["answers"]) == 1000
    assert process.returncode == 0
    assert err == ""
    assert "Traceback" not in out


def ask_until_it_ends(address: str) -> int:
    """Number of answers until the server accepts no more questions."""
    answers = 0
    with httpx.Client(base_url=address, timeout=20) as client, suppress(httpx.TransportError):
        while client.get("v1/routes?origin=1&destination=20").status_code == 200:
            answers += 1
    return answers


def test_a_server_under_nohup_outlives_its_terminal(folder: Path) -> None:
    ignoring = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # processes that are started inherit it
    try:
        with started("serve", folder, "--port", 0) as (address, process):
            process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
            assert httpx.get(f"{address}v1/health", timeout=30).status_code == 200
    finally:
        signal.signal(signal.SIGHUP, ignoring)


def test_only_names_of_this_machine_are_answered_where_only_this_machine_can_ask(
    release: pr.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, so that it is this code that is tested and not what is installed."""
    with running(release, monkeypatch, host="LocalHost") as address:
        port = httpx.URL(address).port
        for host in ("localhost", f"LOCALHOST:{port}", "127.0.0.1", f"[::1]:{port}"):
            assert httpx.get(f"{address}v1/health", headers={"host": host}).status_code == 200
        for host in ("evil.example", "localhost.evil.example", "127.0.0.2", "localhost:", "", "[::2]", "x-localhost"):
            refused = httpx.get(f"{address}v1/health", headers={"host": host})
            assert (refused.status_code, refused.json()["code"]) == (400, "InvalidHost"), host
            assert "Host header is not one of this server's" in refused.json()["message"]
    with running(release, monkeypatch, host="0.0.0.0") as address:  # noqa: S104 - for other machines, whatever they call it
        assert httpx.get(f"{address}v1/health", headers={"host": "city.example"}).status_code == 200
        assert httpx.get(f"{address}v1/health", headers={"host": "city example"}).status_code == 400


@contextmanager
def running(release: pr.Release, monkeypatch: pytest.MonkeyPatch, *, host: str) -> Iterator[str]:
    """The address of `run`, in a thread."""
    servers: list[uvicorn.Server] = []
    addresses: Queue[str] = Queue()

    class Server(uvicorn.Server):
        def __init__(self, config: uvicorn.Config) -> None:
            super().__init__(config)
            servers.append(self)

    with monkeypatch.context() as patch:
        patch.setattr("uvicorn.Server", Server)
        for name in ("freeze", "set_threshold"):  # for a process that serves and does nothing else
            patch.setattr(f"gc.{name}", lambda *_: None)
        thread = Thread(target=run, args=(release,), kwargs={"host": host, "port": 0, "started": addresses.put})
        thread.start()
        try:
            yield addresses.get(timeout=20).replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        finally:
            servers[0].should_exit = True
            thread.join()


def test_a_name_of_this_machine_in_any_spelling_keeps_strangers_out(folder: Path) -> None:
    with started("serve", folder, "--host", "LocalHost", "--port", 0) as (address, _):
        assert httpx.get(f"{address}v1/health", timeout=30).status_code == 200
        assert httpx.get(f"{address}v1/health", headers={"host": "evil.example"}).status_code == 400


def test_a_signed_release_is_served_as_it_was_signed_whatever_is_written_into_its_files(
    folder: Path, tmp_path: Path
) -> None:
    place, key = tmp_path / "signed", tmp_path / "key"
    shutil.copytree(folder, place)
    make_keys(key)
    pr.sign_release(place, key)
    question = "v1/routes?origin=1&destination=20"
    with started("serve", place, "--port", 0, "--trusted", f"{key}.pub") as (address, process):
        before = httpx.get(f"{address}{question}", timeout=30)
        for path in place.iterdir():
            with path.open("r+b") as stream:  # the same file, not another in its place
                stream.write(b"\x01" * path.stat().st_size)
        assert httpx.get(f"{address}{question}").content == before.content
        for path in place.iterdir():
            os.truncate(path, 0)
        assert httpx.get(f"{address}{question}").content == before.content
        assert httpx.get(f"{address}v1/link?link=1").status_code == 200
        assert process.poll() is None


def test_a_damaged_release_is_refused_at_the_start_with_the_reason(folder: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    (damaged / "routes.parquet").write_bytes((damaged / "routes.parquet").read_bytes()[:-7])
    assert "not the file that was released" in refused("serve", damaged)
    shutil.copy(folder / "routes.parquet", damaged)
    manifest = json.loads((damaged / "release.json").read_text())
    manifest["certificate"]["epsilon"] = 1e-9
    (damaged / "release.json").write_text(json.dumps(manifest))
    assert "epsilon" in refused("serve", damaged)
    assert "is not a release" in refused("serve", tmp_path / "missing")


def test_a_port_that_is_taken_and_a_host_that_is_none_are_one_line(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "choose another" in refused("serve", folder, "--port", taken.getsockname()[1])
    assert "not an address of this machine" in refused("serve", folder, "--host", "not a host")


def test_demo_open_serves_what_it_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER", "true")  # a program that does nothing
    with started("demo", "--open", "--out", tmp_path) as (address, _):
        health = httpx.get(f"{address}v1/health", timeout=30).json()
    assert health["pairs"] == 552


@pytest.mark.parametrize(
    "statement",
    [
        "import privroute.serve.app, privroute.serve.run, privroute.serve.report, privroute.serve.export",
        "import sys; sys.argv = ['privroute', 'report', {0!r}, '--out', {1!r}]; run()",
        "import sys; sys.argv = ['privroute', 'export', {0!r}, '--out', {2!r}, '--format', 'csv']; run()",
        "import privroute as pr; from privroute.serve.app import create_app; create_app(pr.load_release({0!r}))",
    ],
)
def test_serving_reporting_and_exporting_never_load_the_private_side(
    folder: Path, tmp_path: Path, statement: str
) -> None:
    lines = [
        "def run():",
        "    from privroute.cli.app import main",
        "    try: main()",
        "    except SystemExit as leave: assert not leave.code",
        statement.format(str(folder), str(tmp_path / "report.html"), str(tmp_path / "files")),
        "import sys",
        "private = ('privroute.history', 'privroute.privacy', 'privroute.mechanism', 'privroute.evaluate', 'opendp')",
        "assert not [name for name in sys.modules if name.startswith(private)]",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
