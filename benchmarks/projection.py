"""Projection onto unit flows against quadratic-programming solvers: python benchmarks/projection.py --json.

Points are random (normal), SGD-like (a gradient step for a simulated day from an iterate of Algorithm 1) or noisy (an
iterate plus noise of 0.1). Cold starts know nothing; warm starts have the solution of the point before: the last SGD
step, or the same point shifted by 1%. Everybody runs on one thread, in turns; times are CPU seconds of that thread, the
median of the rounds, per projection. Distances are to projections certified to 1e-13.

On route sets, `weighted` projects the points of steps of Algorithm 1 in the metric of the links' curvature and, the
same points, in the plain norm: warm starts as in a run, and the ratio of the times.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from flow_mechanisms import PERIOD_MIN, model_of
from networks import load
from projection_peers import Daqp, Osqp, Peer, Piqp

import privroute as pr
from privroute.flows.projection import project, project_in_place, smallest_tolerance
from privroute.flows.route_metric import RouteMetric, add_load, project_on_routes, step
from privroute.flows.unit_flows import blocks, link_flow, marginal_costs, step_in_place
from privroute.mechanism import sgd
from privroute.mechanism.public_routes import public_routes
from privroute.network.pairs import Pairs
from privroute.privacy.flow_sensitivity import loads_per_unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

TOLERANCE = 1e-8
ROUNDS = 5
SGD_STEPS = 20
PEERS: dict[str, type[Any]] = {"osqp": Osqp, "daqp": Daqp, "piqp": Piqp}
# pairs timed per peer and network; DAQP's dense matrices take half a second a projection on Anaheim, minutes on Chicago
SAMPLES = {
    "SiouxFalls": {"osqp": 60, "daqp": 60, "piqp": 60},
    "Anaheim": {"osqp": 40, "daqp": 1, "piqp": 40},
    "ChicagoSketch": {"osqp": 40, "daqp": 0, "piqp": 40},
}


class Batch(NamedTuple):
    """Points to project and the points before them, whose solutions are the warm starts."""

    kind: str
    points: NDArray[np.float64]
    before: NDArray[np.float64]


def folder() -> Path:
    """Where the public TNTP networks are."""
    return Path(os.environ.get("PRIVROUTE_TNTP", Path(__file__).resolve().parents[2] / "shared" / "tntp"))


def read(name: str, most_pairs: int | None) -> tuple[pr.Network, Pairs, NDArray[np.float64]]:
    """A network, its pairs (all, or a fixed sample of those with demand), and rates scaled to the whole demand."""
    network = pr.read_tntp(folder() / f"{name}_net.tntp", latency="affine")
    demand = pr.read_tntp_trips(folder() / f"{name}_trips.tntp", network)
    rate = demand.rate_per_min
    chosen = np.arange(rate.size)
    if most_pairs is not None:
        chosen = np.sort(np.random.default_rng(0).choice(np.flatnonzero(rate), most_pairs, replace=False))
    pairs = Pairs(demand.pairs.origin[chosen], demand.pairs.destination[chosen])
    return network, pairs, rate[chosen] * (rate.sum() / rate[chosen].sum())


def batches(network: pr.Network, pairs: Pairs, rate: NDArray[np.float64]) -> list[Batch]:
    """Random, SGD-like and noisy points."""
    rng = np.random.default_rng(1)
    flows = project(network, pairs, np.zeros((len(pairs), network.links))).flows
    steepest = network.latency.marginal_slope(link_flow(network, rate, flows)).max()
    step = 1.0 / float(rate @ rate * steepest)
    points = before = flows
    for _ in range(SGD_STEPS):
        before, points = points, flows.copy()
        step_in_place(network, rng.poisson(rate * 60.0) / 60.0, points, step)
        iterate, flows = flows, project(network, pairs, points).flows

    def shifted(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(values + 0.01 * np.std(values) * rng.normal(size=values.shape))

    random = rng.normal(size=flows.shape)
    noisy = iterate + 0.1 * rng.normal(size=flows.shape)
    return [
        Batch("sgd", points, before),
        Batch("random", random, shifted(random)),
        Batch("noisy", noisy, shifted(noisy)),
    ]


def distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Largest distance of two rows."""
    return float(np.sqrt(((one - other) ** 2).sum(axis=1)).max())


class Runner:
    """One solver on one batch: repeatable timed work, and what it found."""

    def __init__(self, name: str, rows: NDArray[np.intp], work: Callable[[], NDArray[np.float64]]) -> None:
        self.name, self.rows, self.work = name, rows, work
        self.seconds: list[float] = []
        self.flows: NDArray[np.float64] = np.empty(0)

    def run(self) -> None:
        """Do the work once more."""
        begun = time.thread_time()
        self.flows = self.work()
        self.seconds.append(time.thread_time() - begun)

    def each_us(self) -> float:
        """Microseconds per projection."""
        return float(np.median(self.seconds)) / self.rows.size * 1e6


def runners(
    network: pr.Network, pairs: Pairs, batch: Batch, peers: dict[str, tuple[Peer, int]], *, warm: bool
) -> list[Runner]:
    """All solvers on a batch."""
    start = project(network, pairs, batch.before).potentials if warm else None

    def ours() -> NDArray[np.float64]:
        return project(network, pairs, batch.points, potentials=start, tolerance=TOLERANCE, threads=1).flows

    found = [Runner("privroute", np.arange(len(pairs)), ours)]
    for name, (peer, count) in peers.items():
        if count == 0 or (name == "daqp" and batch.kind != "sgd" and network.nodes > 100):  # noqa: PLR2004 - dense: slow
            continue
        rows = np.linspace(0, len(pairs) - 1, count).astype(np.intp)
        starts = [peer.solve(int(w), batch.before[w])[1] if warm else None for w in rows]
        found.append(Runner(name, rows, _peer_work(peer, batch.points, rows, starts)))
    return found


def _peer_work(
    peer: Peer, points: NDArray[np.float64], rows: NDArray[np.intp], starts: list[Any]
) -> Callable[[], NDArray[np.float64]]:
    def work() -> NDArray[np.float64]:
        return np.array([peer.solve(int(w), points[w], start)[0] for w, start in zip(rows, starts, strict=True)])

    return work


def measure(name: str, most_pairs: int | None) -> dict[str, Any]:
    """All rows of one network."""
    network, pairs, rate = read(name, most_pairs)
    peers = {peer: (make(network, pairs), SAMPLES[name][peer]) for peer, make in PEERS.items() if SAMPLES[name][peer]}
    rows: list[dict[str, Any]] = []
    for batch in batches(network, pairs, rate):
        truth = project(network, pairs, batch.points, tolerance=smallest_tolerance(network)).flows
        for warm in (True, False):
            all_runners = runners(network, pairs, batch, peers, warm=warm)
            for turn in range(ROUNDS):
                for runner in all_runners:
                    if runner.name == "privroute" or turn < (2 if batch.kind == "sgd" else 1):
                        runner.run()
            floor = float(np.median([_stream(batch.points) for _ in range(ROUNDS)]))
            ours_us = all_runners[0].each_us()
            for runner in all_runners:
                rows.append(
                    {
                        "points": batch.kind,
                        "start": "warm" if warm else "cold",
                        "solver": runner.name,
                        "projections": int(runner.rows.size),
                        "us": runner.each_us(),
                        "ratio": runner.each_us() / ours_us,
                        "max_distance": distance(runner.flows, truth[runner.rows]),
                        "floor_us": floor / len(pairs) * 1e6,
                    }
                )
                print(f"{name}: {rows[-1]}", file=sys.stderr)
    chosen = {row["solver"]: row for row in rows if row["points"] == "sgd" and row["start"] == "warm"}
    ours = chosen.pop("privroute")
    return {
        "pairs": len(pairs),
        "us": ours["us"],
        "ratio_osqp": chosen["osqp"]["ratio"],
        "ratio_best_peer": min(row["ratio"] for row in chosen.values()),
        "max_distance": ours["max_distance"],
        "ratio_floor": ours["us"] / ours["floor_us"],
        "rows": rows,
    }


def weighted(name: str) -> dict[str, float]:
    """CPU microseconds of a projection on route sets in the metric of the links' curvature, and in the plain norm."""
    scenario = load(name)
    network, model = scenario.network, model_of(scenario.demand)
    history = pr.simulate_days(scenario.demand, days=1, period_min=PERIOD_MIN, seed=1)
    options = pr.Sgd(public_demand=model, alpha=1 / PERIOD_MIN, steps_per_day=1, detour=1.1)
    study = pr.Study(network, history.frame, pr.Guarantee(1.0, 1e-6), options)
    routes, size = public_routes(study), float(sgd.public_steps(study, sgd.public_bounds(study))[0])
    sets, rates = routes.sets, np.minimum(history.counts[0] / PERIOD_MIN, routes.caps)
    per_unit = loads_per_unit(sets.sum_by_link(routes.caps))
    metrics = {"weighted": routes.metric, "plain": RouteMetric.plain(sets)}
    hints = {kind: np.zeros(sets.entries, dtype=np.float32) for kind in metrics}
    seconds: dict[str, list[float]] = {kind: [] for kind in metrics}
    flows = sgd.start_on_routes(study, routes)
    for turn in range(ROUNDS + 1):
        loads = np.zeros(network.links, dtype=np.int64)
        add_load(sets, flows, rates, per_unit, loads)
        cost = marginal_costs(network, network.background_per_min + loads / per_unit, routes.ceiling)
        step(sets, flows, rates / routes.metric.pair, cost * size / routes.metric.link, 1.0 - size / PERIOD_MIN)
        found = {kind: flows.copy() for kind in metrics}
        for kind, metric in metrics.items():
            begun = time.thread_time()
            project_on_routes(sets, metric, found[kind], hints[kind], tolerance=TOLERANCE, threads=1)
            if turn:  # the first start knows nothing
                seconds[kind].append(time.thread_time() - begun)
        flows = found["weighted"]
    us = {kind: float(np.median(each)) / len(sets) * 1e6 for kind, each in seconds.items()}
    return {f"{kind}_us": value for kind, value in us.items()} | {"ratio": us["weighted"] / us["plain"]}


def _stream(points: NDArray[np.float64]) -> float:
    """CPU seconds to read the points and write as many flows: no projection can be faster."""
    flows = np.empty_like(points)
    begun = time.thread_time()
    np.copyto(flows, points)
    return time.thread_time() - begun


def whole_step(threads: int) -> dict[str, float]:
    """One step of Algorithm 1 on all Chicago Sketch pairs with demand: x <- Π(x - η ∇F(x, Λ)), in place.

    CPU seconds stand beside the wall clock: on a busy machine only they say what the step costs. The first use of the
    arrays is left out; on a virtual machine it takes longer than the step itself, because the host has to find 3 GB.
    """
    network = pr.read_tntp(folder() / "ChicagoSketch_net.tntp", latency="affine")
    demand = pr.read_tntp_trips(folder() / "ChicagoSketch_trips.tntp", network)
    used = np.flatnonzero(demand.rate_per_min)
    pairs = Pairs(demand.pairs.origin[used], demand.pairs.destination[used])
    rate = demand.rate_per_min[used]
    flows, potentials = np.zeros((used.size, network.links)), np.zeros((used.size, network.nodes))
    project_in_place(network, pairs, flows, potentials, threads=threads)
    potentials[:] = 0.0
    steepest = network.latency.marginal_slope(link_flow(network, rate, flows)).max()
    step = 1.0 / float(rate @ rate * steepest)
    rng = np.random.default_rng(2)
    for _ in range(3):  # the later ones have warm starts, as all of a run but the first
        begun, begun_cpu = time.perf_counter(), time.process_time()
        step_in_place(network, rng.poisson(rate * 60.0) / 60.0, flows, step)
        half, half_cpu = time.perf_counter(), time.process_time()
        bound = project_in_place(network, pairs, flows, potentials, threads=threads)
        ended, ended_cpu = time.perf_counter(), time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "pairs": used.size,
        "threads": threads,
        "seconds": ended - begun,
        "seconds_projecting": ended - half,
        "cpu_seconds": ended_cpu - begun_cpu,
        "cpu_us_per_projection": (ended_cpu - half_cpu) / used.size * 1e6,
        "memory_gib": memory,
        "max_error_bound": float(bound.max()),
        "blocks": sum(1 for _ in blocks(*flows.shape)),
    }


def main() -> None:
    """Measure, print a line per row to the terminal, and the JSON object last."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--networks", nargs="*", default=list(SAMPLES), choices=list(SAMPLES))
    parser.add_argument("--skip-step", action="store_true", help="leave out the step on all Chicago Sketch pairs")
    options = parser.parse_args()
    most = {"SiouxFalls": None, "Anaheim": None, "ChicagoSketch": 240}
    result: dict[str, Any] = {"networks": {name: measure(name, most[name]) for name in options.networks}}
    result["weighted"] = {name: weighted(name) for name in options.networks}
    print(f"weighted: {result['weighted']}", file=sys.stderr)
    if not options.skip_step:
        result["algorithm_1_step"] = whole_step(threads=2)
    if options.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
