"""Corner cases of the solver, its limits and its manners: warm starts, threads, progress, Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.flows.solutions import check_solution, grid, public

import privroute as pr
from privroute.errors import DemandError, InputError
from privroute.progress import Progress


class TestCorners:
    scenario = pr.sioux_falls()
    network = scenario.network
    demand = scenario.demand

    def test_zero_demand_everywhere_gives_free_flow_paths(self) -> None:
        solution = pr.solve_optimum(self.network, 0 * self.demand)
        assert solution.status == "converged"
        assert solution.total_travel_time == 0
        expected = pr.free_flow_minutes(self.network, self.demand.pairs)
        assert solution.policy.expected(self.network.free_flow_min) == pytest.approx(expected)

    def test_demand_on_one_pair_only(self) -> None:
        rates = np.zeros(len(self.demand.pairs))
        rates[17] = 500.0
        demand = pr.Demand(self.demand.pairs, rates)
        solution = pr.solve_optimum(self.network, demand, gap=1e-11)
        assert solution.relative_gap <= 1e-11
        check_solution(self.network, demand, solution, equilibrium=False)

    def test_a_single_link(self) -> None:
        network = pr.Network([0], [1], pr.Latency.bpr([2.0], [10.0]), ["a", "b"])
        solution = pr.solve_optimum(network, pr.Demand(pr.Pairs([0], [1]), [20.0]))
        assert solution.total_travel_time == pytest.approx(20 * 2 * (1 + 0.15 * 16))
        assert solution.policy.routes("a", "b")[0].links == (0,)

    @pytest.mark.parametrize("capacity", [1e-3, 1e9])
    def test_extreme_capacities(self, capacity: float) -> None:
        network = pr.Network(
            self.network.tail,
            self.network.head,
            pr.Latency.bpr(self.network.free_flow_min, np.where(np.arange(76) % 2, capacity, 300.0)),
            self.network.node_labels,
        )
        solution = pr.solve_optimum(network, self.demand, gap=1e-10)
        assert solution.relative_gap <= 1e-10, solution.message

    def test_no_pairs_at_all(self) -> None:
        solution = pr.solve_optimum(self.network, pr.Demand(pr.Pairs([], []), []))
        assert solution.total_travel_time == 0
        assert len(solution.policy.pairs) == 0

    def test_unreachable_pairs_are_named(self) -> None:
        network = pr.Network([0], [1], pr.Latency.bpr([2.0], [10.0]), ["a", "b"])
        with pytest.raises(DemandError, match="no path leads from b to a"):
            pr.solve_optimum(network, pr.Demand(pr.Pairs([0, 1], [1, 0]), [1.0, 0.0]))

    def test_background_traffic_pushes_ours_aside(self) -> None:
        network = pr.Network([0, 0], [1, 1], pr.Latency.affine([1.0, 1.0], 10.0), ["a", "b"], background_per_min=[8, 0])
        demand = pr.Demand(pr.Pairs([0], [1]), [10.0])
        solution = pr.solve_optimum(network, demand, gap=1e-12)
        assert solution.link_flow == pytest.approx([9, 9])
        assert solution.total_travel_time == pytest.approx(2 * 9 * 1.9)
        assert [route.probability for route in solution.policy.routes("a", "b")] == pytest.approx([0.9, 0.1])

    def test_a_warm_start_needs_fewer_iterations_and_changes_nothing(self) -> None:
        first = pr.solve_optimum(self.network, self.demand, gap=1e-10)
        again = pr.solve_optimum(self.network, self.demand, gap=1e-9, start=first)
        assert again.iterations <= 2
        nearby = pr.solve_optimum(self.network, 1.01 * self.demand, gap=1e-10, start=first.policy)
        cold = pr.solve_optimum(self.network, 1.01 * self.demand, gap=1e-10)
        assert nearby.total_travel_time == pytest.approx(cold.total_travel_time, rel=1e-9)
        assert nearby.iterations <= cold.iterations

    def test_a_warm_start_must_fit(self) -> None:
        first = pr.solve_optimum(self.network, self.demand, gap=1e-4)
        other = pr.Demand(pr.Pairs([0], [1]), [1.0])
        with pytest.raises(DemandError, match="other pairs"):
            pr.solve_optimum(self.network, other, start=first)
        turned = pr.Network(self.network.head, self.network.tail, self.network.latency, self.network.node_labels)
        with pytest.raises(DemandError, match="other links"):
            pr.solve_optimum(turned, self.demand, start=first)

    def test_limits_are_reported_honestly(self) -> None:
        few = pr.solve_optimum(self.network, self.demand, gap=1e-12, max_iterations=1)
        assert few.status == "iteration limit"
        assert few.relative_gap > 1e-12
        assert "raise max_iterations" in few.message
        check_solution(self.network, self.demand, few, equilibrium=False)
        hurried = pr.solve_optimum(self.network, self.demand, gap=1e-12, time_limit_s=0.0)
        assert hurried.status == "time limit"
        check_solution(self.network, self.demand, hurried, equilibrium=False)

    def test_the_report_has_a_row_per_iteration(self) -> None:
        solution = pr.solve_optimum(self.network, self.demand, gap=1e-9)
        assert solution.report
        gaps = [row.relative_gap for row in solution.report]
        assert gaps[-1] <= 1e-9 < gaps[0]
        seconds = [row.seconds for row in solution.report]
        assert seconds == sorted(seconds)
        assert solution.report[-1].objective == pytest.approx(solution.objective, rel=1e-8)
        assert len(solution.report_text.splitlines()) == len(solution.report) + 1
        assert repr(solution).startswith("Solution(converged at gap")

    @pytest.mark.parametrize(
        "options",
        [
            {"gap": -1.0},
            {"gap": np.nan},
            {"gap": "small"},
            {"max_iterations": -1},
            {"max_iterations": 2.5},
            {"threads": 0},
            {"time_limit_s": -1},
            {"progress": True},
        ],
    )
    def test_unusable_options_are_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(InputError, match=next(iter(options))):
            pr.solve_optimum(self.network, self.demand, **options)


def test_progress_is_told_and_can_stop(tntp: Path) -> None:
    network, demand = public(tntp, "ChicagoSketch", "affine")
    seen: list[tuple[str, float]] = []

    def stop_soon(phase: str, share: float) -> bool:
        seen.append((phase, share))
        return not phase.startswith("Solving, gap ")

    solution = pr.solve_optimum(network, demand, gap=1e-12, progress=stop_soon)
    assert solution.status == "interrupted"
    *before, (last, share) = seen  # what comes before is told where it takes long enough
    assert {phase for phase, _ in before} <= {"Finding first routes"}
    assert last.startswith("Solving, gap ")
    assert 0 <= share < 1
    check_solution(network, demand, solution, equilibrium=False)


def test_an_error_in_the_progress_function_reaches_the_caller(tntp: Path) -> None:
    network, demand = public(tntp, "ChicagoSketch", "affine")

    def fail(_phase: str, _share: float) -> None:
        raise RuntimeError("from the caller")

    with pytest.raises(RuntimeError, match="from the caller"):
        pr.solve_optimum(network, demand, gap=1e-12, progress=fail)


def test_threads_change_nothing_not_even_a_bit(tntp: Path) -> None:
    network, demand = public(tntp, "ChicagoSketch", "affine")
    one, two = (pr.solve_optimum(network, demand, gap=1e-7, threads=threads) for threads in (1, 2))
    assert one.policy == two.policy
    assert np.array_equal(one.link_flow, two.link_flow)


@pytest.mark.parametrize(
    "progress", [None, lambda _phase, _share: "whatever a function returns"], ids=["silent", "told"]
)
def test_ctrl_c_ends_one_long_call_and_other_threads_run_meanwhile(progress: Progress | None) -> None:
    """Alone the call takes minutes, since a gap of 0 is out of reach; interrupted it ends soon after the signal."""
    network, demand = grid(50, 250)
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.01)
            if ticks == 40:
                os.kill(os.getpid(), signal.SIGINT)

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            pr.solve_optimum(network, demand, gap=0.0, max_iterations=10**6, progress=progress)
    finally:
        done.set()
        ticker.join()
    assert ticks >= 40
    assert time.monotonic() - start < 20


def test_overflowing_costs_are_never_called_converged() -> None:
    demand = pr.Demand(pr.Pairs([0], [1]), [1e5])
    steep = pr.Network([0, 0], [1, 1], pr.Latency.bpr([1.0, 1.0], [1.0, 3.0], 0.15, 40.0), ["a", "b"])
    tiny = pr.Network([0, 0], [1, 1], pr.Latency.affine([1.0, 1.0], 1e-300), ["a", "b"])
    for network in (steep, tiny):
        solution = pr.solve_optimum(network, demand)
        assert solution.status == "stalled"
        assert "overflow" in solution.message


@pytest.mark.parametrize("change", [{"network": 3}, {"demand": None}, {"start": "there"}, {"threads": 2**40}])
def test_arguments_of_the_wrong_kind_are_refused(change: dict[str, Any]) -> None:
    scenario = pr.sioux_falls()
    arguments: dict[str, Any] = {"network": scenario.network, "demand": scenario.demand} | change
    with pytest.raises(InputError):
        pr.solve_optimum(**arguments)
