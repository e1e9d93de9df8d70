"""The service on Chicago Sketch: single routes against a bare FastAPI endpoint, batches against orjson alone.

Also a minute of load over 64 connections, with errors and memory, and the time from the start to the first answer.

The bare endpoint returns a constant of the same size, in a server of its own with the same settings, in turns with
ours. A batch is measured from the first byte sent to the last one received; orjson only turns the same answer, already
in memory, into bytes.
"""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from networks import arguments, finish, load, say
from serve_load import Load, get, press

import privroute as pr

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTIONS, MANY_CONNECTIONS = 16, 64
ROUND_S, ROUNDS = 1.5, 11  # many short turns, so that both see the same neighbours on a shared machine
STARTS = 3
ENDURANCE_S = 60.0
BATCH = 100_000
BARE = """
import socket, sys, uvicorn
from fastapi import FastAPI, Response
app = FastAPI()
CONSTANT = b"x" * int(sys.argv[1])
@app.get("/constant")
async def constant() -> Response:
    return Response(CONSTANT, media_type="application/json")
listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
print("127.0.0.1:%s" % listening.getsockname()[1], flush=True)
settings = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off", ws="none")
uvicorn.Server(settings).run(sockets=[listening])
"""


@contextmanager
def running(command: list[str]) -> Iterator[tuple[int, int]]:
    """Port and process id of a server that says its address on its first line."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own servers
        try:
            assert process.stdout  # noqa: S101
            found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
            if found is None:
                sys.exit("the server did not start")
            yield int(found[1]), process.pid
        finally:
            process.terminate()


def answer(port: int, method: str, path: str, body: bytes | None = None) -> bytes:
    """Ask once, over a new connection, waiting for a server that is just starting."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            found = connection.getresponse()
            text = found.read()
        except ConnectionRefusedError:
            time.sleep(0.005)
            continue
        finally:
            connection.close()
        if found.status != http.client.OK:
            sys.exit(f"{path}: {found.status} {text[:200]!r}")
        return text


def start_seconds(command: list[str], path: str) -> float:
    """From the start of the process to its first answer."""
    begin = time.perf_counter()
    with running(command) as (port, _):
        answer(port, "GET", path)
        return time.perf_counter() - begin


def memory_mb(process: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def singles(port: int, bare_port: int, requests: list[bytes], *, rounds: int, quiet: bool) -> dict[str, Any]:
    """Requests per second and 99th percentile, in turns."""
    bare = [get("/constant")]
    for where, what in ((port, requests), (bare_port, bare)):
        press(where, what, connections=CONNECTIONS, seconds=1.0)
    both: list[tuple[Load, Load]] = []
    for turn in range(rounds):
        ours = press(port, requests, connections=CONNECTIONS, seconds=ROUND_S)
        theirs = press(bare_port, bare, connections=CONNECTIONS, seconds=ROUND_S)
        both.append((ours, theirs))
        say(quiet, f"round {turn + 1}: {ours.per_second:,.0f} routes/s, bare {theirs.per_second:,.0f}/s")
    ratios = [ours.per_second / theirs.per_second for ours, theirs in both]
    return {
        "requests_per_second": float(np.median([ours.per_second for ours, _ in both])),
        "p99_ms": float(np.median([ours.percentile_ms(0.99) for ours, _ in both])),
        "bare_per_second": float(np.median([theirs.per_second for _, theirs in both])),
        "bare_p99_ms": float(np.median([theirs.percentile_ms(0.99) for _, theirs in both])),
        "ratio_to_bare": float(np.median(ratios)),
        "errors": sum(ours.errors for ours, _ in both),
    }


def batches(port: int, release: pr.Release, *, rounds: int) -> dict[str, Any]:
    """Seconds of a whole batch request, in turns with orjson on the same answer."""
    labels, pairs = release.network.node_labels, release.policy.pairs
    wanted = np.random.default_rng(2).choice(len(pairs), BATCH)
    ends = [[labels[pairs.origin[pair]], labels[pairs.destination[pair]]] for pair in wanted]
    question = orjson.dumps({"pairs": ends})
    begin = time.perf_counter()
    known = orjson.loads(answer(port, "POST", "/v1/batch", question))
    first_s = time.perf_counter() - begin
    batch_s, orjson_s = [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        text = answer(port, "POST", "/v1/batch", question)
        batch_s.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        same = orjson.dumps(known)
        orjson_s.append(time.perf_counter() - begin)
        if text != same:
            sys.exit("the batch is not what orjson writes")
    return {
        "batch_pairs": BATCH,
        "batch_mb": len(text) / 1e6,
        "batch_s": float(np.median(batch_s)),
        "batch_first_s_with_reading": first_s,
        "orjson_s": float(np.median(orjson_s)),
        "ratio_batch": float(np.median(np.array(orjson_s) / np.array(batch_s))),
    }


def endurance(port: int, process: int, requests: list[bytes], *, seconds: float) -> dict[str, Any]:
    """Many connections for long: errors, and how the memory grows after the first sixth."""
    begin = press(port, requests, connections=MANY_CONNECTIONS, seconds=seconds / 6)
    before = memory_mb(process)
    rest = press(port, requests, connections=MANY_CONNECTIONS, seconds=seconds * 5 / 6)
    after = memory_mb(process)
    return {
        "seconds": seconds,
        "connections": MANY_CONNECTIONS,
        "answered": len(begin.seconds) + len(rest.seconds),
        "errors": begin.errors + rest.errors,
        "p99_ms": rest.percentile_ms(0.99),
        "memory_mb": after,
        "memory_growth_mb": after - before,
    }


def main() -> None:
    """Learn a release, serve it, and measure."""
    options = arguments(__doc__).parse_args()
    scenario = load("ChicagoSketch", "bpr")
    history = pr.simulate_days(scenario.demand, days=5, period_min=60, seed=1)
    release = pr.learn(scenario.network, history, pr.Guarantee(epsilon=1.0, delta=1e-6))
    say(options.json, f"{release}")
    rounds = 4 if options.quick else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        release.save(folder)
        labels, pairs = release.network.node_labels, release.policy.pairs
        chosen = np.random.default_rng(1).permutation(len(pairs))[:20_000]
        ends = [(labels[pairs.origin[pair]], labels[pairs.destination[pair]]) for pair in chosen]
        paths = [f"/v1/routes?origin={origin}&destination={destination}" for origin, destination in ends]
        requests = [get(path) for path in paths]
        command = [str(Path(sys.executable).with_name("privroute")), "serve", folder, "--port", "0"]
        starts = [start_seconds(command, paths[0]) for _ in range(1 if options.quick else STARTS)]
        say(options.json, f"start to first answer {min(starts):.2f} to {max(starts):.2f} s")
        with running(command) as (port, process):
            size = int(np.mean([len(answer(port, "GET", path)) for path in paths[:2000]]))
            bare = [sys.executable, "-c", BARE, str(size)]
            with running(bare) as (bare_port, _):
                answer(bare_port, "GET", "/constant")
                single = singles(port, bare_port, requests, rounds=rounds, quiet=options.json)
            many = batches(port, release, rounds=rounds)
            say(options.json, f"batch {many['batch_s']:.3f} s, orjson alone {many['orjson_s']:.3f} s")
            mixed = [
                request for path in paths for request in (get(path), get(path), get(path.replace("routes", "sample")))
            ]
            long = endurance(port, process, mixed, seconds=12.0 if options.quick else ENDURANCE_S)
    result = {"answer_bytes": size, **single, **many, "start_to_first_answer_s": float(np.median(starts)), "load": long}
    say(options.json, f"ratio_to_bare {result['ratio_to_bare']:.2f}, ratio_batch {result['ratio_batch']:.2f}")
    finish({"networks": {"ChicagoSketch": result}})


if __name__ == "__main__":
    main()
