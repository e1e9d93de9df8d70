"""One full run of Algorithm 1 before the noise (Sioux Falls, 50 days), against the same written with CVXPY.

The peer makes the same gradient steps with NumPy and projects each pair with one parametrised CVXPY problem that is
compiled once and solved by OSQP, the way one writes it down; its tolerance is far looser than ours, which is to its
advantage. Runs are interleaved: ours is timed before each of the peer's days. Both end at an iterate whose distance
from a run with projections exact to 1e-12 is printed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np
from flow_mechanisms import PERIOD_MIN, model_of
from networks import arguments, finish, load, say

import privroute as pr
from privroute.mechanism.sgd import iterates, public_caps, public_start
from privroute.mechanism.theory import step_sizes
from privroute.privacy.flow_sensitivity import SgdBounds, ceiling_min

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAYS = 50
PEER_DAYS, QUICK_PEER_DAYS = 5, 1  # its days take equally long: the whole run is estimated from these
ALPHA = 400 / 60
PEER_EPS = 1e-7


class Peer:
    """Algorithm 1's step with CVXPY for the projection."""

    def __init__(self, network: pr.Network, pairs: pr.Pairs) -> None:
        self.network, self.pairs = network, pairs
        links = np.arange(network.links)
        balance = np.zeros((network.nodes, network.links))
        balance[network.head, links] += 1.0
        balance[network.tail, links] -= 1.0
        self.flow = cp.Variable(network.links)
        self.point = cp.Parameter(network.links)
        self.ends = cp.Parameter(network.nodes)
        self.problem = cp.Problem(
            cp.Minimize(cp.sum_squares(self.flow - self.point)),
            [balance @ self.flow == self.ends, self.flow >= 0, self.flow <= 1],
        )

    def step(self, flows: NDArray[np.float64], rates: NDArray[np.float64], step: float, highest: Any) -> None:
        """One day, in place."""
        cost = np.minimum(self.network.latency.marginal_cost(rates @ flows), highest)
        flows -= step * (np.outer(rates, cost) + ALPHA * flows)
        for row, origin, destination in zip(flows, self.pairs.origin, self.pairs.destination, strict=True):
            ends = np.zeros(self.network.nodes)
            ends[origin], ends[destination] = -1.0, 1.0
            self.point.value, self.ends.value = row, ends
            self.problem.solve(solver=cp.OSQP, eps_abs=PEER_EPS, eps_rel=PEER_EPS, max_iter=100_000)
            row[:] = self.flow.value


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__).parse_args()
    scenario = load("SiouxFalls")
    network, pairs = scenario.network, scenario.demand.pairs
    history = pr.simulate_days(scenario.demand, days=DAYS, period_min=PERIOD_MIN, seed=1)
    chosen = pr.Sgd(public_demand=model_of(scenario.demand), alpha=ALPHA)
    caps, ceiling = public_caps(history.frame, chosen), float(chosen.ceiling or 0.0)
    steps = step_sizes(DAYS, ALPHA, SgdBounds.of(network, caps, ALPHA, ceiling).beta)
    rates = np.minimum(history.counts / history.period_min, caps)
    start, highest = public_start(network, pairs, chosen), ceiling_min(network, ceiling)

    def ours(days: int = DAYS, tolerance: float = chosen.tolerance) -> NDArray[np.float64]:
        last = start
        for flows in iterates(
            network,
            pairs,
            rates[:days],
            start,
            alpha=ALPHA,
            steps=steps[:days],
            ceiling=highest,
            tolerance=tolerance,
        ):
            last = flows
        return last

    ours()  # the plan of the graph is made once
    days = QUICK_PEER_DAYS if options.quick else PEER_DAYS
    peer, flows = Peer(network, pairs), start.copy()
    times, processor, peer_seconds = [], [], 0.0
    for day in range(days):
        began, worked = time.perf_counter(), time.process_time()
        ours()
        times.append(time.perf_counter() - began)
        processor.append(time.process_time() - worked)
        began = time.perf_counter()
        peer.step(flows, rates[day], float(steps[day]), highest)
        peer_seconds += time.perf_counter() - began
        say(options.json, f"day {day + 1} of {days}: ours {times[-1]:.4f} s for all, CVXPY {peer_seconds:.1f} s so far")
    seconds = float(np.median(times))
    exact = ours(days, 1e-12)
    exact_whole = ours(DAYS, 1e-12)
    finish(
        {
            "days": DAYS,
            "pairs": len(pairs),
            "seconds": seconds,
            "processor_seconds": float(np.median(processor)),
            "cvxpy_seconds": peer_seconds * DAYS / days,
            "cvxpy_days_run": days,
            "ratio_cvxpy": peer_seconds * DAYS / days / seconds,
            "error": float(np.linalg.norm(ours() - exact_whole)),
            "cvxpy_error": float(np.linalg.norm(flows - exact)),
        }
    )


if __name__ == "__main__":
    main()
