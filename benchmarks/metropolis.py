"""A metropolitan network from reading to serving: Chicago Regional, 39,018 links and 3,202,310 pairs.

Demand is made by a formula that anybody can repeat: zone masses lognormal(0, 1) with seed 1, times exp(-0.08 free-flow
minutes), 1,360,427 trips an hour, BPR curves. Each phase says its seconds and the largest memory of the process in it.
`learn` runs at request level from a history and from a Parquet file of single trips, with the optimum to gap 1e-4.

Folder of the network: PRIVROUTE_CHICAGO, or `shared/real/chicago` beside the checkout. `--network NAME` measures
another public network with its own demand, for a first look. `--phases` with `--work FOLDER` measures some of the
phases; results of earlier ones are read from the folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from networks import arguments, finish, load, say
from pyarrow import csv
from serve import start_seconds

import privroute as pr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TRIPS_PER_H = 1_360_427
GUARANTEE = pr.Guarantee(epsilon=1.0, delta=1e-6)
DRAWS = 2_000_000
PHASES = ("tables", "optimum", "optimum-6", "counts", "service", "layered", "trips")
LOAD = """
import sys, time
import privroute as pr
from privroute.release import reading
begin = time.perf_counter()
release = pr.load_release(sys.argv[1])
print(time.perf_counter() - begin)
"""


class Phases:
    """Seconds and peak memory of named phases."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.found: dict[str, dict[str, float]] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[dict[str, float]]:
        """Measure one phase; more figures can be added to what is yielded."""
        forget_peak()
        row: dict[str, float] = {}
        begin, busy = time.perf_counter(), time.process_time()
        yield row
        row["seconds"] = time.perf_counter() - begin
        row["cpu_seconds"] = time.process_time() - busy  # of all threads; what the phase costs on an idle machine
        row["peak_memory_mb"] = peak_mb()
        self.found[name] = row
        say(self.quiet, f"{name}: {', '.join(f'{what} {value:,.2f}' for what, value in row.items())}")


def forget_peak() -> None:
    """Let the peak of this process begin anew, where the system allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_mb() -> float:
    """Largest memory since the last `forget_peak`."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found  # noqa: S101
    return int(found[1]) / 1024


def folder() -> Path:
    """Where the network is."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "real" / "chicago"
    found = Path(os.environ.get("PRIVROUTE_CHICAGO", beside))
    if not found.is_dir():
        sys.exit("Chicago Regional is not on this machine; set PRIVROUTE_CHICAGO to its folder.")
    return found


def gravity(network: pr.Network) -> pr.Demand:
    """The demand of the formula."""
    pairs = pr.Pairs.of_zones(network, on_unreachable="drop")
    mass = np.zeros(network.nodes)
    mass[network.zones] = np.random.default_rng(1).lognormal(0, 1, network.zones.size)
    weight = mass[pairs.origin] * mass[pairs.destination] * np.exp(-0.08 * pr.free_flow_minutes(network, pairs))
    return pr.Demand(pairs, weight * (TRIPS_PER_H / 60 / weight.sum()))


def write_table(path: Path, demand: pr.Demand, network: pr.Network) -> None:
    """The demand as a TNTP trip table."""
    labels = [str(label) for label in network.node_labels]
    with path.open("w") as stream:
        stream.write(f"<NUMBER OF ZONES> {network.zones.size}\n<END OF METADATA>\n")
        ends = np.flatnonzero(np.diff(demand.pairs.origin)) + 1
        for block in np.split(np.arange(len(demand.pairs)), ends):
            stream.write(f"\nOrigin {labels[demand.pairs.origin[block[0]]]}\n")
            rates = (demand.rate_per_min[block] * 60).tolist()
            names = [labels[node] for node in demand.pairs.destination[block].tolist()]
            stream.write("".join(f"{name} : {rate:.6f}; " for name, rate in zip(names, rates, strict=True)))


def write_csv(path: Path, demand: pr.Demand, network: pr.Network) -> None:
    """The demand as a long CSV table."""
    labels = pa.array([str(label) for label in network.node_labels])
    columns = {
        "origin": labels.take(pa.array(demand.pairs.origin)),
        "destination": labels.take(pa.array(demand.pairs.destination)),
        "trips": pa.array(np.round(demand.rate_per_min * 60, 6)),
    }
    csv.write_csv(pa.table(columns), path, csv.WriteOptions(quoting_style="none"))


def write_matrix(path: Path, demand: pr.Demand, network: pr.Network) -> None:
    """The demand as an Open Matrix file."""
    place = np.zeros(network.nodes, np.intp)
    place[network.zones] = np.arange(network.zones.size)
    matrix = np.zeros((network.zones.size, network.zones.size))
    matrix[place[demand.pairs.origin], place[demand.pairs.destination]] = demand.rate_per_min * 60
    with h5py.File(path, "w") as file:
        file.attrs["OMX_VERSION"] = b"0.2"
        file.attrs["SHAPE"] = np.array(matrix.shape, np.int32)
        file.create_group("data").create_dataset("trips", data=matrix)


def write_trips(path: Path, demand: pr.Demand, network: pr.Network) -> int:
    """One hour of single trips as Parquet; how many there are."""
    chance = np.random.default_rng(2)
    counts = chance.poisson(demand.rate_per_min * 60)
    pair = chance.permutation(np.repeat(np.arange(counts.size), counts))
    labels = pa.array([str(label) for label in network.node_labels])
    start = np.datetime64("2026-03-02T07:00:00", "s") + chance.integers(0, 3600, pair.size).astype("timedelta64[s]")
    columns = {
        "departure": pa.array(start.astype("datetime64[us]")),
        "origin": labels.take(pa.array(demand.pairs.origin[pair])),
        "destination": labels.take(pa.array(demand.pairs.destination[pair])),
    }
    pq.write_table(pa.table(columns), path)
    return int(pair.size)


def learned(
    phases: Phases, name: str, network: pr.Network, history: pr.DemandHistory, mechanism: pr.Counts | pr.Layered
) -> pr.Release:
    """Learn, with the seconds of each phase that its progress names."""
    now_in, since = "", time.perf_counter()
    spent: dict[str, float] = {}

    def note(phase: str, _share: float) -> None:
        nonlocal now_in, since
        now = time.perf_counter()
        if now_in:
            spent[now_in] = spent.get(now_in, 0.0) + now - since
        now_in, since = phase.partition(",")[0], now

    with phases(name) as row:
        release = pr.learn(network, history, GUARANTEE, mechanism, progress=note)
        note("", 0.0)
        row |= {f"{what.lower().replace(' ', '_')}_seconds": seconds for what, seconds in spent.items()}
    return release


def sampled(release: pr.Release, draws: int) -> dict[str, float]:
    """Routes as links and as ids per second, on one thread, pairs drawn by demand."""
    assert release.demand is not None  # noqa: S101
    total = np.cumsum(release.demand.rate_per_min)
    wanted = np.searchsorted(total, np.random.default_rng(3).uniform(0, total[-1], draws)).astype(np.int64)
    wanted = np.minimum(wanted, total.size - 1)
    best: dict[str, float] = {}
    for turn in range(3):
        for name, draw in (("samples", release.policy.sample_links), ("ids", release.policy.sample_paths)):
            begin, busy = time.perf_counter(), time.process_time()
            draw(wanted, seed=turn)
            best[f"{name}_per_second"] = max(best.get(f"{name}_per_second", 0.0), draws / (time.perf_counter() - begin))
            best[f"{name}_per_cpu_second"] = max(
                best.get(f"{name}_per_cpu_second", 0.0), draws / (time.process_time() - busy)
            )
    return best


def served(phases: Phases, place: Path, release: pr.Release, starts: int) -> dict[str, float]:
    """Loading and the first answer, each in a new process."""
    labels, pairs = release.network.node_labels, release.policy.pairs
    address = f"/v1/routes?origin={labels[pairs.origin[0]]}&destination={labels[pairs.destination[-1]]}"
    command = [str(Path(sys.executable).with_name("privroute")), "serve", str(place), "--port", "0"]
    loads, answers = [], []
    with phases("load and first answer"):
        for _ in range(starts):
            done = subprocess.run(  # noqa: S603 - our own program
                [sys.executable, "-c", LOAD, str(place)], capture_output=True, text=True, check=True
            )
            loads.append(float(done.stdout))
            answers.append(start_seconds(command, address))
    return {"load_seconds": float(np.median(loads)), "first_answer_seconds": float(np.median(answers))}


def tables(phases: Phases, network: pr.Network, demand: pr.Demand, work: Path) -> None:
    """Reading the demand as TNTP, CSV and OMX."""
    write_table(work / "trips.tntp", demand, network)
    write_csv(work / "trips.csv", demand, network)
    write_matrix(work / "trips.omx", demand, network)
    readers: dict[str, Callable[..., pr.Demand]] = {
        "tntp": pr.read_tntp_trips,
        "csv": pr.read_od_csv,
        "omx": pr.read_omx,
    }
    for kind, read in readers.items():
        path = work / f"trips.{kind}"
        size_mb = path.stat().st_size / 1e6
        with phases(f"read {kind}") as row:
            found = read(path, network, on_unreachable="drop")
            row["mb"] = size_mb
        phases.found[f"read {kind}"]["mb_per_second"] = size_mb / phases.found[f"read {kind}"]["seconds"]
        if len(found.pairs) != len(demand.pairs):
            sys.exit(f"{path.name}: {len(found.pairs):,} pairs were read of {len(demand.pairs):,}")
        path.unlink()


def optimum(phases: Phases, network: pr.Network, demand: pr.Demand, *, quick: bool) -> None:
    """The optimum to 1e-4 with two threads and with one."""
    with phases("optimum 1e-4, two threads") as row:
        solution = pr.solve_optimum(network, demand, gap=1e-4, threads=2)
        row["relative_gap"] = solution.relative_gap
    if quick:
        return
    with phases("optimum 1e-4, one thread"):
        alone = pr.solve_optimum(network, demand, gap=1e-4, threads=1)
    assert alone.objective == solution.objective  # noqa: S101 - threads change nothing


def optimum_6(phases: Phases, network: pr.Network, demand: pr.Demand) -> None:
    """The optimum to 1e-6."""
    with phases("optimum 1e-6") as row:
        row["relative_gap"] = pr.solve_optimum(network, demand, gap=1e-6, threads=2).relative_gap


def saved(phases: Phases, release: pr.Release, place: Path) -> float:
    """Save a release; megabytes."""
    with phases("save"):
        release.save(place, allow_not_private=True)
    return sum(path.stat().st_size for path in place.iterdir()) / 1e6


def served_and_sampled(phases: Phases, work: Path, *, quick: bool) -> dict[str, float]:
    """What a saved release takes to load, to serve and to sample."""
    release = pr.load_release(work / "release")
    found = served(phases, work / "release", release, 1 if quick else 3)
    return found | sampled(release, DRAWS // 8 if quick else DRAWS)


def from_trips(
    phases: Phases, network: pr.Network, demand: pr.Demand, work: Path, mechanism: pr.Counts | pr.Layered
) -> None:
    """Read a file of single trips and learn from it."""
    trips = write_trips(work / "trips.parquet", demand, network)
    with phases("read trip file") as row:
        row["trips"] = trips
        history = pr.read_trips(
            work / "trips.parquet",
            network,
            period=("07:00", "08:00"),
            dates=("2026-03-02", "2026-03-02"),
            on_unreachable="drop",
        )
    learned(phases, "learn from trips", network, history, mechanism)


def measure(network: pr.Network, demand: pr.Demand, options: Any, work: Path) -> dict[str, Any]:
    """Everything after the network and its demand are there."""
    phases, quick = Phases(quiet=options.json), options.quick
    result: dict[str, Any] = {"links": network.links, "pairs": len(demand.pairs)}

    def history() -> pr.DemandHistory:
        return pr.simulate_days(demand, days=1 if quick else 5, period_min=60, seed=1)

    for phase in options.phases.split(","):
        if phase == "tables":
            tables(phases, network, demand, work)
        elif phase == "optimum":
            optimum(phases, network, demand, quick=quick)
        elif phase == "optimum-6":
            optimum_6(phases, network, demand)
        elif phase == "counts":
            release = learned(phases, "learn from a history", network, history(), pr.Counts(gap=1e-4))
            result["learn_seconds"] = phases.found["learn from a history"]["seconds"]
            result["release_mb"] = saved(phases, release, work / "release")
            del release
        elif phase == "layered":
            learned(phases, "learn, layered", network, history(), pr.Layered(gap=1e-4))
        elif phase == "service":
            result |= served_and_sampled(phases, work, quick=quick)
        elif phase == "trips":
            from_trips(phases, network, demand, work, pr.Counts(gap=1e-3 if quick else 1e-4))
        else:
            sys.exit(f"there is no phase {phase}; pass some of {','.join(PHASES)}")
    result["peak_memory_mb"] = max(row["peak_memory_mb"] for row in phases.found.values())
    return {**result, "phases": phases.found}


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("--network", default="ChicagoRegional", help="a public network; with its own demand if another")
    parser.add_argument("--phases", default=",".join(PHASES), help="some of them, separated by commas")
    parser.add_argument("--work", type=Path, help="folder for what phases hand to later ones; default: a temporary one")
    options = parser.parse_args()
    begin = time.perf_counter()
    if options.network == "ChicagoRegional":
        network = pr.read_tntp(
            folder() / "ChicagoRegional_net.tntp", nodes=folder() / "ChicagoRegional_node_lonlat.tntp"
        )
        demand = gravity(network)
    else:
        scenario = load(options.network, "bpr")
        network, demand = scenario.network, scenario.demand
    say(options.json, f"network and demand: {time.perf_counter() - begin:.1f} s")
    with tempfile.TemporaryDirectory() as temporary:
        result = measure(network, demand, options, options.work or Path(temporary))
    finish({"networks": {options.network: result}})


if __name__ == "__main__":
    main()
