"""Starts real servers for tests and benchmarks: a PostgreSQL of its own in a temporary folder, on loopback."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PostgreSQL", "postgresql_programs"]

_START_S = 60.0
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "restart_after_crash": "on",
}


def postgresql_programs() -> Path | None:
    """The folder with initdb and postgres, or None; Debian keeps them outside of PATH."""
    found = [Path(path).resolve().parent for name in ("initdb", "postgres") if (path := shutil.which(name))]
    places = [*found, *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


class PostgreSQL:
    """A server whose data are in a folder that is removed at the end. Root starts it as the user postgres."""

    def __init__(self) -> None:
        programs = postgresql_programs()
        if programs is None:
            raise RuntimeError("there is no PostgreSQL on this machine; install postgresql")
        self._programs = programs
        self._user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        self._folder = Path(tempfile.mkdtemp(prefix="privroute-postgresql-"))
        if self._user:
            shutil.chown(self._folder, "postgres", "postgres")
        self._data = self._folder / "data"
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        initdb = [str(programs / "initdb"), "--pgdata", str(self._data), "--auth=trust", "--username=privroute"]
        self._run(initdb + ["--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"])
        lines = "".join(f"{name} = '{value}'\n" for name, value in _SETTINGS.items())
        config = self._data / "postgresql.conf"
        config.write_text(config.read_text() + lines)

    @property
    def url(self) -> str:
        """Of its database."""
        return f"postgresql://privroute@127.0.0.1:{self.port}/postgres"

    def _run(self, command: list[str]) -> None:
        subprocess.run(self._user + command, check=True, capture_output=True, cwd=self._folder)  # noqa: S603 - ours

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self.port)]
        end = time.monotonic() + _START_S
        while True:
            with (self._folder / "log").open("ab") as log:
                self._process = subprocess.Popen(self._user + command, stdout=log, stderr=log, cwd=self._folder)  # noqa: S603
            if _answers(self.url, self._process, end):
                return
            time.sleep(0.2)  # a process of a server that was killed may hold its memory for a moment

    def _pid(self) -> int | None:
        try:
            return int((self._data / "postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None

    def kill(self) -> None:
        """End it with SIGKILL, with all its processes, as a crash of the machine would."""
        pid = self._pid()
        if pid is None:
            return
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for one in (pid, *map(int, children)):
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if self._process is not None:
            self._process.wait()
        end = time.monotonic() + _START_S
        while any(_lives(int(child)) for child in children) and time.monotonic() < end:
            time.sleep(0.01)
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def kill_backend(self) -> None:
        """End one process of the server with SIGKILL; the server ends all others and recovers."""
        pid = self._pid()
        children = [] if pid is None else Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if children:
            try:
                os.kill(int(children[-1]), signal.SIGKILL)
            except ProcessLookupError:
                return

    @contextmanager
    def replica(self) -> Iterator[str]:
        """A second server that follows this one; its address."""
        folder = self._folder / f"replica-{time.monotonic_ns()}"
        self._run([str(self._programs / "pg_basebackup"), "-d", self.url, "-D", str(folder), "-R", "--checkpoint=fast"])
        port = _free_port()
        command = [str(self._programs / "postgres"), "-D", str(folder), "-p", str(port)]
        process = subprocess.Popen(self._user + command, stderr=subprocess.DEVNULL, cwd=self._folder)  # noqa: S603
        url = self.url.replace(f":{self.port}/", f":{port}/")
        try:
            _answers(url, process, time.monotonic() + _START_S)
            yield url
        finally:
            os.kill(int((folder / "postmaster.pid").read_text().split()[0]), signal.SIGINT)
            process.wait(timeout=_START_S)

    def stop(self) -> None:
        """Stop it and remove its data."""
        pid = self._pid()
        if pid is not None:
            os.kill(pid, signal.SIGINT)  # without waiting for clients
        if self._process is not None:
            self._process.wait(timeout=_START_S)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _answers(url: str, process: subprocess.Popen[bytes], end: float) -> bool:
    """Wait until a server answers; whether it does before its process ends."""
    import psycopg  # noqa: PLC0415 - an extra

    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.OperationalError:
            if time.monotonic() > end:
                raise
            if process.poll() is not None:
                return False
            time.sleep(0.05)
        else:
            return True
