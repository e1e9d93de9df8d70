"""Algorithm 1 on Chicago Sketch in shards: seconds of one step and memory on 1 and 2 Dask workers of one thread each.

All ordered pairs of zones on public route sets. Workers are processes of this machine. Printed: the speed-up of two
workers, their memory, the peak memory of one process without a cluster, a run of five days with a worker killed on the
way, which must give the same flows, and what a network of the size of Chicago Regional would take by these figures.
"""

from __future__ import annotations

import logging
import multiprocessing
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import distributed
import numpy as np
from flow_mechanisms import PERIOD_MIN, model_of
from networks import arguments, finish, load, say

import privroute as pr
from privroute.flows.unit_flows import marginal_costs
from privroute.mechanism import sgd
from privroute.mechanism.public_routes import public_routes
from privroute.mechanism.shard import Move, ShardData
from privroute.mechanism.shards import Shards, sharded, shards_for
from privroute.privacy.flow_sensitivity import loads_per_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAYS = 5
DETOUR = 1.1
TIMED_STEPS = 4
REGIONAL_PAIRS, REGIONAL_LINKS = 3_202_310, 39_018


def study_of(name: str) -> tuple[pr.Study, pr.DemandHistory]:
    """Five simulated days around the published demand; public is a model of it with errors."""
    scenario = load(name)
    history = pr.simulate_days(scenario.demand, days=DAYS, period_min=PERIOD_MIN, seed=1)
    model = model_of(scenario.demand)
    options = pr.Sgd(public_demand=model, alpha=1 / 60, power=0.0, steps_per_day=1, detour=DETOUR, tolerance=1e-8)
    return pr.Study(scenario.network, history.frame, pr.Guarantee(1.0, 1e-6), options), history


def data_of(study: pr.Study, history: pr.DemandHistory, start: NDArray[np.float64]) -> ShardData:
    """What the shards are given, for one thread each."""
    routes = public_routes(study)
    rates = np.minimum(history.counts / PERIOD_MIN, routes.caps)
    per_unit = loads_per_unit(routes.sets.sum_by_link(routes.caps))
    return ShardData(routes.sets, routes.metric, rates, start, per_unit, 1e-8, threads=1)


def timed_steps(study: pr.Study, data: ShardData, address: str, quiet: bool) -> tuple[float, list[float]]:
    """Seconds of a step, the mean of four after a first one, and the most GiB that each worker held."""
    routes, network = public_routes(study), study.network
    bounds = sgd.public_bounds(study)
    size = float(sgd.public_steps(study, bounds)[0])
    shards = shards_for(data)
    load = shards.start(0)
    seconds = []
    for number in range(TIMED_STEPS + 1):
        cost = marginal_costs(network, network.background_per_min + load / data.per_unit, routes.ceiling)
        began = time.perf_counter()
        load = shards.advance(Move(0, cost * size / routes.metric.link, 1.0 - size / 60, 0))
        seconds.append(time.perf_counter() - began)
        say(quiet, f"step {number}: {seconds[-1]:.2f} s")
    connect: Any = distributed.Client
    with connect(address, set_as_default=False) as client:
        memory = [value / 2**30 for value in client.run(resident).values()]
    shards.close()
    return sum(seconds[1:]) / TIMED_STEPS, memory


def resident() -> int:
    """Most bytes that this process has held. getrusage would count what its parent held when it was started."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def peak_alone(name: str, pipe: Any) -> None:
    """Learn from one day in a process of its own; sends its peak memory in GiB, seconds and flows."""
    study, history = study_of(name)
    began = time.perf_counter()
    flows = sgd.last_iterate(study, history)
    pipe.send((resident() / 2**30, time.perf_counter() - began, flows))


def on_workers(count: int, study: pr.Study, data: ShardData, quiet: bool) -> tuple[float, list[float]]:
    """`timed_steps` on a fresh cluster of this many workers."""
    with cluster_of(count) as cluster, sharded(count, cluster=cluster.scheduler_address):
        return timed_steps(study, data, cluster.scheduler_address, quiet)


def cluster_of(count: int) -> Any:
    """Dask workers in processes of this machine, one thread each."""
    make: Any = distributed.LocalCluster
    return make(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )


def killed_midway(study: pr.Study, history: pr.DemandHistory) -> tuple[NDArray[np.float64], float]:
    """All days on two workers of which one is killed before the third step; flows and seconds."""
    right, made, killed = Shards.advance, list[int](), list[str]()
    with cluster_of(2) as cluster:

        def advance(self: Shards, move: Move) -> NDArray[np.int64]:
            if len(made) == DAYS // 2 and not killed:
                nanny = next(iter(cluster.workers.values()))
                killed.append(nanny.worker_address)
                nanny.process.process.kill()
            made.append(move.day)
            return right(self, move)

        Shards.advance = advance  # type: ignore[method-assign]
        began = time.perf_counter()
        try:
            with sharded(2, cluster=cluster.scheduler_address):
                flows = sgd.last_iterate(study, history)
        finally:
            Shards.advance = right  # type: ignore[method-assign]
    if not killed:
        raise SystemExit("no worker was killed")
    return flows, time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__).parse_args()
    name = "Anaheim" if options.quick else "ChicagoSketch"
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    alone = context.Process(target=peak_alone, args=(name, theirs))
    alone.start()
    memory, alone_seconds, same = ours.recv()
    alone.join()
    say(options.json, f"one process, {DAYS} days: {memory:.2f} GiB, {alone_seconds:.1f} s")
    study, history = study_of(name)
    routes = public_routes(study)
    data = data_of(study, history, sgd.start_on_routes(study, routes))
    one, memory_one = on_workers(1, study, data, options.json)
    two, memory_two = on_workers(2, study, data, options.json)
    say(options.json, f"one worker {one:.2f} s, two {two:.2f} s: {one / two:.2f} times as fast")
    with_death, seconds = killed_midway(study, history)
    links, entries = study.network.links, same.size
    share = entries / len(routes.sets)
    per_pair = one / len(routes.sets) * REGIONAL_LINKS / links
    finish(
        {
            "network": name,
            "pairs": len(routes.sets),
            "entries": entries,
            "entries_per_pair": share,
            "step_seconds_1": one,
            "step_seconds_2": two,
            "speedup_2": one / two,
            "worker_gib_1": max(memory_one),
            "worker_gib_2": max(memory_two),
            "memory_gib": memory,
            "days": DAYS,
            "alone_seconds": alone_seconds,
            "killed_seconds": seconds,
            "same_after_a_death": bool(np.array_equal(same, with_death)),
            "bytes_per_step_and_worker": 16 * links,
            "chicago_regional": {
                "entries": share * REGIONAL_PAIRS * (REGIONAL_LINKS / links) ** 0.5,
                "gib": 20 * share * REGIONAL_PAIRS * (REGIONAL_LINKS / links) ** 0.5 / 2**30,
                "bytes_per_step_and_worker": 16 * REGIONAL_LINKS,
                "core_seconds_per_step": per_pair * REGIONAL_PAIRS,
            },
        }
    )


if __name__ == "__main__":
    main()
