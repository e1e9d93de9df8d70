"""Seconds to the system optimum, against AequilibraE's bi-conjugate Frank-Wolfe in the same run.

Both solve the same problem on one core: privroute returns a policy for every pair, AequilibraE link flows. For each
target gap the two take turns; AequilibraE stops by its own relative gap, and `excess` says how far its flows are above
the optimum. Its optimum is found as the equilibrium of marginal costs, b (power + 1); free links get 1e-8 minutes,
since it refuses zero.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
from networks import NAMES, arguments, finish, load, say

import privroute as pr
from privroute import _core

GAPS = (1e-4, 1e-6, 1e-8)
REPEATS = 5
LONGEST_PEER_ITERATIONS = 20_000


def ours(scenario: pr.Scenario, gap: float) -> tuple[float, pr.Solution]:
    """Seconds, policy included, on one thread."""
    start = time.perf_counter()
    solution = pr.solve_optimum(scenario.network, scenario.demand, gap=gap)
    return time.perf_counter() - start, solution


def sweep_seconds(scenario: pr.Scenario) -> float:
    """One shortest-path search per origin at the optimum's kind of costs, by the same core."""
    network, pairs = scenario.network, scenario.demand.pairs
    cost = network.latency.marginal_cost(network.capacity_per_min)
    best = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        _core.pair_costs(
            network.tail, network.head, network.no_through.view(np.uint8), cost, pairs.origin, pairs.destination
        )
        best = min(best, time.perf_counter() - start)
    return float(best)


def aequilibrae(scenario: pr.Scenario, gap: float) -> tuple[float, float, np.ndarray]:
    """Seconds inside its assignment, the relative gap it reached, and its link flows per minute."""
    os.environ["AEQ_SHOW_PROGRESS"] = "FALSE"
    import pandas as pd  # noqa: PLC0415 - comes with AequilibraE, which only this function needs
    from aequilibrae.matrix import AequilibraeMatrix  # noqa: PLC0415
    from aequilibrae.paths import Graph, TrafficAssignment, TrafficClass  # noqa: PLC0415

    network, demand = scenario.network, scenario.demand
    minutes, power = np.maximum(network.free_flow_min, 1e-8), network.latency.parameter("power")
    graph = Graph()
    graph.network = pd.DataFrame(
        {
            "link_id": np.arange(1, network.links + 1),
            "a_node": network.tail + 1,
            "b_node": network.head + 1,
            "direction": np.ones(network.links, dtype=int),
            "free_flow_time": minutes,
            "capacity": network.capacity_per_min,
            "b": network.latency.parameter("b") * (power + 1),
            "power": power,
        }
    )
    zones = network.zones.astype(np.int64) + 1
    graph.prepare_graph(zones)
    graph.set_graph("free_flow_time")
    graph.set_blocked_centroid_flows(bool(network.no_through.any()))
    trips = AequilibraeMatrix()
    trips.create_empty(zones=zones.size, matrix_names=["od"], memory_only=True)
    trips.index = zones
    place = np.full(network.nodes, -1)
    place[network.zones] = np.arange(zones.size)
    table = np.zeros((zones.size, zones.size))
    table[place[demand.pairs.origin], place[demand.pairs.destination]] = demand.rate_per_min
    trips.matrix["od"][:] = table
    trips.computational_view(["od"])
    assignment = TrafficAssignment()
    assignment.set_classes([TrafficClass("car", graph, trips)])
    assignment.set_vdf("BPR")
    assignment.set_vdf_parameters({"alpha": "b", "beta": "power"})
    assignment.set_capacity_field("capacity")
    assignment.set_time_field("free_flow_time")
    assignment.set_algorithm("bfw")
    assignment.set_cores(1)
    assignment.max_iter = LONGEST_PEER_ITERATIONS
    assignment.rgap_target = gap
    start = time.perf_counter()
    assignment.execute()
    seconds = time.perf_counter() - start
    reached = float(assignment.report()["rgap"].iloc[-1])
    flow = assignment.results()["od_tot"].sort_index().to_numpy()
    return seconds, reached, flow


def peak_memory_mb(name: str) -> float:
    """Largest memory of a new process that reads the network and solves it to 1e-8."""
    script = (
        "import re, sys; sys.path.insert(0, sys.argv[1]); from networks import load; import privroute as pr;"
        "s = load(sys.argv[2]); pr.solve_optimum(s.network, s.demand, gap=1e-8);"
        "print(re.search(r'VmHWM:\\s*(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - a text for the command line
    done = subprocess.run([sys.executable, "-c", script, here, name], capture_output=True, text=True, check=True)  # noqa: S603
    return int(done.stdout) / 1024


def measure(name: str, latency: str, peer_gaps: tuple[float, ...], quiet: bool) -> dict[str, float]:
    """One network with one kind of latency."""
    scenario = load(name, latency)
    best = ours(scenario, 1e-11)[1].total_travel_time
    row: dict[str, float] = {"sweep_seconds": sweep_seconds(scenario)}
    for gap in GAPS:
        label = f"{gap:.0e}".replace("e-0", "e-")
        times, gaps = [], []
        peer: tuple[float, float, np.ndarray] | None = None
        for turn in range(REPEATS):
            seconds, solution = ours(scenario, gap)
            times.append(seconds)
            gaps.append(solution.relative_gap)
            if turn == 0 and gap in peer_gaps:
                peer = aequilibrae(scenario, gap)
        row[f"seconds_{label}"] = float(np.median(times))
        row[f"gap_{label}"] = max(gaps)
        row[f"sweeps_{label}"] = float(np.median(times)) / row["sweep_seconds"]
        line = f"{name} {latency} {label}: {row[f'seconds_{label}']:.4f} s, gap {max(gaps):.1e}"
        if peer is not None:
            flow = np.maximum(peer[2], 0.0)
            excess = float(flow @ scenario.network.latency.time(flow)) / best - 1
            row[f"aequilibrae_seconds_{label}"] = peer[0]
            row[f"aequilibrae_gap_{label}"] = peer[1]
            row[f"aequilibrae_excess_{label}"] = excess
            row[f"ratio_aequilibrae_{label}"] = peer[0] / row[f"seconds_{label}"]
            line += f"; AequilibraE {peer[0]:.2f} s, gap {peer[1]:.1e}, ratio {row[f'ratio_aequilibrae_{label}']:.0f}"
        say(quiet, line)
    return row


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__).parse_args()
    result: dict[str, Any] = {"networks": {}}
    for name in NAMES:
        peers = (1e-4,) if options.quick else (1e-4, 1e-6)
        affine = measure(name, "affine", peers, options.json)
        bpr = measure(name, "bpr", (1e-4,), options.json)
        memory = peak_memory_mb(name)
        result["networks"][name] = affine | {"peak_memory_mb": memory, "bpr": bpr}
    finish(result)


if __name__ == "__main__":
    main()
