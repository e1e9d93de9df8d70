"""Mutated inputs for every reader: nothing but the package's own errors, no crash, no hang, no private contents.

The mutators are those of the tests. Each reader is tried in a process of its own, so that a crash is seen and counted;
with a core built with address sanitizer (make sanitize) an access outside its arrays ends the process.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import random
import resource
import socket
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import checkout  # noqa: F401 - before the others
import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.history import test_mutated_trips as trips
from tests.history.held import everything
from tests.history.trip_cases import read as read_trips
from tests.network import test_hostile_files as tables
from tests.network import test_mutated_maps as maps
from tests.network import test_networkx_mutations as graphs
from tests.policy import test_policy_files as policies
from tests.serve.conftest import serving
from tests.study.test_study_files import SMALL

import privroute as pr
from privroute.errors import PrivrouteError
from privroute.network.networkx_graph import from_networkx
from privroute.release.policy_file import read_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    Try = Callable[[random.Random], int]

MOST_CPU_S = 20.0  # for one input
MOST_MEMORY_MB = 4000.0
TRIP_FILES = 100


class Contents(Exception):  # noqa: N818 - what is reported, not an error of the package
    """Contents of a private row were shown."""


def of_table(name: str, folder: Path) -> Try:
    """TNTP, GMNS and CSV tables, each in a folder with sound files beside it."""
    text, read = tables.READERS[name]
    path = folder / "damaged.file"

    def one(chance: random.Random) -> int:
        path.write_bytes(tables.damaged(text, chance))
        read(folder, path)
        return 1

    return one


def of_map(kind: str, folder: Path) -> Try:
    """OpenStreetMap extracts, GraphML, GeoPackages, GMNS folders and zones."""
    sound = maps.sound_files(folder)
    network = pr.read_network(folder / "a.osm")
    place = folder / "place"
    place.mkdir()
    read = maps.reader(kind, place, network, sound)

    def one(chance: random.Random) -> int:
        read(maps.damaged(sound[kind], chance))
        return 1

    return one


def of_matrix(folder: Path) -> Try:
    """Open matrices."""
    import h5py  # noqa: PLC0415 - an extra

    network = tables.two_zones(folder)
    path = folder / "od.omx"
    with h5py.File(path, "w") as file:
        file["data/m"] = [[0.0, 5.0], [7.0, 0.0]]
        file["lookup/zone"] = [1, 2]
    whole = path.read_bytes()

    def one(chance: random.Random) -> int:
        path.write_bytes(maps.damaged(whole, chance))
        pr.read_omx(path, network)
        return 1

    return one


def of_graph(_: Path) -> Try:
    """NetworkX graphs with odd attributes."""

    def one(chance: random.Random) -> int:
        graph = graphs.street_graph(chance.choice([nx.DiGraph, nx.MultiDiGraph]))
        for _ in range(chance.randint(1, 3)):
            graphs.spoil(graph, chance)
        from_networkx(graph, **graphs.odd_arguments(chance))
        return 1

    return one


def of_trip_rows(folder: Path) -> Try:
    """Trip files with broken rows: every sound row is still counted."""

    def many(chance: random.Random) -> int:
        files = [folder / f"{number}.csv" for number in range(TRIP_FILES)]
        for file in files:
            rows = [trips.GOOD, *(trips.broken_row(chance) for _ in range(chance.randint(1, 3))), trips.GOOD]
            file.write_bytes(trips.HEADER + b"".join(rows))
        options = chance.choice(trips.OPTIONS)
        _, rows_read = read_trips(files, **options)
        if not trips.unmarked(str(rows_read)):
            raise Contents(str(rows_read))
        if "max_zone_distance_km" not in options and rows_read.counted < 2 * TRIP_FILES:
            raise AssertionError(f"only {rows_read.counted} of {2 * TRIP_FILES} sound rows were counted")
        return TRIP_FILES

    return many


def of_trip_file(ending: str, folder: Path) -> Try:
    """Trip files with damaged bytes."""
    path = folder / f"trips.{ending}"
    whole = trips.HEADER + trips.GOOD * 20
    if ending == "parquet":
        names = ("origin", "destination", "departure", "user")
        pq.write_table(pa.table({name: [trips.MARK] * 9 for name in names}), path)
        whole = path.read_bytes()

    def one(chance: random.Random) -> int:
        path.write_bytes(maps.damaged(whole, chance))
        try:
            read_trips(path, unit="user", max_requests=5)
        except PrivrouteError as problem:
            if not trips.unmarked(everything(problem)):
                raise Contents(str(problem)) from problem
            raise
        return 1

    return one


def of_study(folder: Path) -> Try:
    """Study files."""
    path = folder / "study.toml"

    def one(chance: random.Random) -> int:
        path.write_bytes(tables.damaged(SMALL, chance))
        pr.Study.load(path)
        return 1

    return one


def of_policy(folder: Path) -> Try:
    """Policy files, past the checksum."""
    data = policies.written(policies.POLICY, folder)

    def one(chance: random.Random) -> int:
        mutated = policies.mutated(data, np.random.default_rng(chance.getrandbits(64)))
        try:
            read_policy(pa.py_buffer(mutated), policies.SCENARIO.network)
        except policies.REFUSED:  # read_release makes one error of all of these
            return 1
        return 1

    return one


def _small_release(folder: Path) -> Path:
    network = pr.Network([0, 1, 2, 0], [1, 2, 0, 2], pr.Latency.affine([1.0, 1.0, 1.0, 3.0], 5.0), "abc")
    demand = pr.Demand(pr.Pairs([0, 0, 1], [1, 2, 2]), np.array([3.0, 4.0, 5.0]))
    pr.learn(network, pr.simulate_days(demand, days=2, seed=1), pr.Guarantee(1.0, 1e-6)).save(folder / "release")
    return folder / "release"


def of_manifest(folder: Path) -> Try:
    """release.json of a release without a signature."""
    place = _small_release(folder)
    whole = (place / "release.json").read_bytes()

    def one(chance: random.Random) -> int:
        (place / "release.json").write_bytes(maps.damaged(whole, chance))
        pr.load_release(place)
        return 1

    return one


def of_release(folder: Path) -> Try:
    """Files of a release whose checksum was made to fit."""
    place = _small_release(folder)
    manifest = json.loads((place / "release.json").read_text())
    whole = {name: (place / name).read_bytes() for name in manifest["sha256"]}

    def one(chance: random.Random) -> int:
        name = chance.choice(sorted(whole))
        data = maps.damaged(whole[name], chance)
        digest = hashlib.sha256(data).hexdigest()
        (place / name).write_bytes(data)
        (place / "release.json").write_text(json.dumps({**manifest, "sha256": {**manifest["sha256"], name: digest}}))
        try:
            pr.load_release(place)
        finally:
            (place / name).write_bytes(whole[name])
        return 1

    return one


def of_ledger(folder: Path) -> Try:
    """Ledger files: refused, or with all the charges they had."""
    path = folder / "city.ledger"
    ledger = pr.Ledger.create(path, "city", pr.Approval(1.0, 1e-6))
    scenario = pr.sioux_falls()
    days = pr.simulate_days(scenario.demand, days=1, seed=1)
    for day in range(2, 5):
        history = pr.DemandHistory(days.pairs, days.counts, period_min=60, dates=[dt.date(2026, 3, day)])
        pr.learn(scenario.network, history, pr.Guarantee(0.1, 1e-6), ledger=ledger)
    before, whole = ledger.account(), path.read_bytes()

    def one(chance: random.Random) -> int:
        path.write_bytes(maps.damaged(whole, chance))
        account = pr.Ledger(path).account()
        if account.charges != before.charges or account.approval != before.approval:
            raise AssertionError("a damaged ledger was read with other charges")
        return 1

    return one


REQUESTS = [
    b"GET /v1/routes?origin=1&destination=20 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET /v1/sample?origin=1&destination=20&seed=7 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET /v1/route?origin=1&destination=20 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET /v1/link?link=7 HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n",
    b"GET /route/v1/driving/-96.77,43.61;-96.71,43.53?steps=true HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    (
        b"POST /v1/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 38\r\n\r\n"
        b'{"pairs": [[1, 20], [3, 4]], "seed":7}'
    ),
    b"GET /v1/people HTTP/1.1\r\nHost: 127.0.0.1\r\nIf-None-Match: x\r\n\r\n",
]


def of_requests(folder: Path, stack: ExitStack) -> Try:
    """Requests to the service, as bytes on a connection."""
    del folder
    scenario = pr.sioux_falls()
    days = pr.simulate_days(scenario.demand, days=2, seed=1)
    release = pr.learn(scenario.network, days, pr.Guarantee(1.0, 1e-6))
    port = int(stack.enter_context(serving(release)).rpartition(":")[2])

    def one(chance: random.Random) -> int:
        request = maps.damaged(chance.choice(REQUESTS), chance)
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(request)
            try:
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(65536)
            except (ConnectionResetError, BrokenPipeError, OSError):
                answer = b""
        if answer.startswith(b"HTTP/1.1 5") or b"Traceback" in answer:
            raise AssertionError(f"{request!r}: {answer[:200]!r}")
        return 1

    return one


SHARES: dict[str, float] = {
    **dict.fromkeys(tables.READERS, 5.0),
    **dict.fromkeys(("osm", "graphml", "gmns", "zones", "zone_csv"), 2.5),
    "pbf": 5.0,
    **dict.fromkeys(maps.SLOW, 0.5),
    "networkx": 5.0,
    "omx": 3.0,
    "trip rows": 14.0,
    "trips.csv": 0.5,
    "trips.parquet": 0.5,
    "study": 5.0,
    "policy": 6.0,
    "manifest": 4.0,
    "release": 3.0,
    "ledger": 1.0,
    "requests": 5.0,
}
"""How much of all inputs each reader gets; less where one takes long."""


def prepared(name: str, folder: Path, stack: ExitStack) -> Try:
    """A function that tries the reader on a mutated input."""
    if name in tables.READERS:
        return of_table(name, folder)
    if name in maps.KINDS:
        return of_map(name, folder)
    if name.startswith("trips."):
        return of_trip_file(name.partition(".")[2], folder)
    if name == "requests":
        return of_requests(folder, stack)
    made: dict[str, Callable[[Path], Try]] = {
        "omx": of_matrix,
        "networkx": of_graph,
        "trip rows": of_trip_rows,
        "study": of_study,
        "policy": of_policy,
        "manifest": of_manifest,
        "release": of_release,
        "ledger": of_ledger,
    }
    return made[name](folder)


def hammer(once: Try, cases: int, chance: random.Random) -> tuple[int, int, list[str]]:
    """Try so many inputs: how many were tried, how many refused, and what must never be seen."""
    tried = refused = 0
    wrong: list[str] = []
    while tried < cases:
        begin = time.process_time()
        state = chance.getstate()
        try:
            tried += once(chance)
        except PrivrouteError:
            tried += 1
            refused += 1
        except MemoryError:
            tried += 1
            wrong.append("memory ran out")
        except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
            tried += 1
            number = hashlib.sha256(repr(state).encode()).hexdigest()[:8]
            wrong.append(f"input {tried} ({number}): {traceback.format_exc(limit=-3)}")
        if time.process_time() - begin > MOST_CPU_S:
            wrong.append(f"input {tried} took {time.process_time() - begin:.0f} s")
    return tried, refused, wrong


def try_reader(name: str, cases: int, seed: int) -> dict[str, Any]:
    """Try one reader; what became of it."""
    begin = time.process_time()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        once = prepared(name, folder, stack)
        chance = random.Random(f"{name} {seed}")  # noqa: S311 - repeatable cases
        tried, refused, wrong = hammer(once, cases, chance)
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    if memory_mb > MOST_MEMORY_MB:
        wrong.append(f"{memory_mb:.0f} MB were needed")
    return {
        "reader": name,
        "mutated": tried,
        "refused": refused,
        "violations": wrong[:20],
        "found": len(wrong),
        "memory_mb": memory_mb,
        "cpu_s": time.process_time() - begin,
    }


def main() -> None:
    """Try readers, one after the other; a line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="+", metavar="READER=CASES", help=f"readers: {', '.join(SHARES)}")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # remarks of other libraries on damaged files
    for given in options.readers:
        name, _, cases = given.partition("=")
        sys.stdout.write(json.dumps(try_reader(name, int(cases), options.seed)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
