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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.cli.command import refused

import privroute as pr
from privroute.release.signing import make_keys

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
