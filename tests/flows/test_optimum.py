from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import piqp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import privroute as pr
from privroute.errors import DemandError, InputError
from privroute.flows import reference_assignment

# System-optimal vehicle-minutes per hour, on which three independent codes agree at gap 1e-12.
ANCHORS = {
    ("SiouxFalls", "affine"): 8_233_524.970475,
    ("SiouxFalls", "bpr"): 7_194_256.052893,
    ("Anaheim", "affine"): 2_029_225.917297,
    ("Anaheim", "bpr"): 1_395_015.086695,
    ("ChicagoSketch", "affine"): 28_022_680.806921,
    ("ChicagoSketch", "bpr"): 17_953_267.628854,
}


def public(tntp: Path, name: str, latency: Any) -> tuple[pr.Network, pr.Demand]:
    network = pr.read_tntp(tntp / f"{name}_net.tntp", latency=latency)
    return network, pr.read_tntp_trips(tntp / f"{name}_trips.tntp", network, on_unreachable="drop")


@pytest.mark.parametrize(("name", "latency"), ANCHORS)
def test_the_optimum_has_the_published_value(tntp: Path, name: str, latency: str) -> None:
    network, demand = public(tntp, name, latency)
    solution = pr.solve_optimum(network, demand, gap=1e-10)
    assert solution.status == "converged"
    assert solution.relative_gap <= 1e-10
    assert solution.total_travel_time * 60 == pytest.approx(ANCHORS[name, latency], rel=1e-9)
    check_solution(network, demand, solution, equilibrium=False)
    assert len(solution.policy.pairs) == len(demand.pairs)
    assert solution.policy.summary().memory_bytes < 200e6


@pytest.mark.parametrize("name", ["SiouxFalls", "Anaheim"])
def test_the_equilibrium_has_the_published_link_flows(tntp: Path, name: str) -> None:
    network, demand = public(tntp, name, "bpr")
    solution = pr.solve_equilibrium(network, demand, gap=1e-10)
    assert solution.relative_gap <= 1e-10
    published = np.loadtxt(tntp / f"{name}_flow.tntp", skiprows=1)
    ours = dict(zip(zip(network.tail + 1, network.head + 1, strict=True), solution.link_flow * 60, strict=True))
    for tail, head, volume, _ in published:
        assert ours[int(tail), int(head)] == pytest.approx(volume, abs=0.5)
    check_solution(network, demand, solution, equilibrium=True)


def test_chicago_sketch_published_equilibrium_includes_distance_so_ours_is_better(tntp: Path) -> None:
    """The published flows are optimal for time plus 0.04 minutes a mile; for time alone ours are."""
    network, demand = public(tntp, "ChicagoSketch", "bpr")
    published = np.loadtxt(tntp / "ChicagoSketch_flow.tntp", skiprows=1)
    order = {(int(t), int(h)): volume / 60 for t, h, volume, _ in published}
    theirs = np.array([order[t + 1, h + 1] for t, h in zip(network.tail, network.head, strict=True)])
    solution = pr.solve_equilibrium(network, demand, gap=1e-8)
    assert solution.relative_gap <= 1e-8
    objective = float(network.latency.integral(theirs).sum())
    assert solution.objective < objective < solution.objective * 1.02


def check_solution(network: pr.Network, demand: pr.Demand, solution: pr.Solution, *, equilibrium: bool) -> None:
    """The evidence, computed again: flows, gap, objective, and shortest paths for pairs without demand."""
    policy = solution.policy
    flow = policy.link_flow(demand)
    assert np.abs(flow - solution.link_flow).max() <= 1e-9 * max(flow.max(), 1e-300)
    cost = network.latency.time(flow) if equilibrium else network.latency.marginal_cost(flow)
    least = cheapest(network, policy.pairs, cost)
    shortest = float(demand.rate_per_min @ least)
    spent = float((flow - network.background_per_min) @ cost)
    if shortest > 0:
        assert spent / shortest - 1 == pytest.approx(solution.relative_gap, abs=1e-11)
    idle = demand.rate_per_min == 0
    assert policy.expected(cost)[idle] == pytest.approx(least[idle], rel=1e-6, abs=1e-9)
    assert (np.diff(policy.pair_start)[idle] == 1).all()
    objective = float(network.latency.integral(flow).sum()) if equilibrium else float(flow @ network.latency.time(flow))
    assert solution.objective == pytest.approx(objective, rel=1e-9)


def cheapest(network: pr.Network, pairs: pr.Pairs, cost: NDArray[np.float64]) -> NDArray[np.float64]:
    priced = pr.Network(
        network.tail,
        network.head,
        pr.Latency.affine(cost, network.capacity_per_min),
        network.node_labels,
        no_through=network.no_through,
    )
    return pr.free_flow_minutes(priced, pairs)


def braess(bridge: bool) -> tuple[pr.Network, pr.Demand]:
    """The textbook's network: 6 vehicles, costs 10y, 50+y, 50+y, 10+y, 10y."""
    tail, head = [0, 0, 2, 2, 3], [2, 3, 1, 3, 1]
    free, b = [1e-8, 50.0, 50.0, 10.0, 1e-8], [1e9, 0.02, 0.02, 0.1, 1e9]
    kept = [i for i in range(5) if bridge or i != 3]
    curves = pr.Latency([free[i] for i in kept], 1.0, [b[i] for i in kept], 1.0)
    network = pr.Network([tail[i] for i in kept], [head[i] for i in kept], curves, [1, 2, 3, 4], zones=[0, 1])
    return network, pr.Demand(pr.Pairs([0], [1]), [6.0])


def test_braess_a_new_road_makes_everybody_slower_but_not_the_optimum() -> None:
    without, demand = braess(bridge=False)
    network, _ = braess(bridge=True)
    times = {
        name: solve(net, demand, gap=1e-12).total_travel_time / 6
        for name, solve, net in [
            ("equilibrium without", pr.solve_equilibrium, without),
            ("equilibrium with", pr.solve_equilibrium, network),
            ("optimum without", pr.solve_optimum, without),
            ("optimum with", pr.solve_optimum, network),
        ]
    }
    assert times == pytest.approx(
        {"equilibrium without": 83, "equilibrium with": 92, "optimum without": 83, "optimum with": 83}, rel=1e-6
    )


def test_braess_as_published(tntp: Path) -> None:
    network, demand = public(tntp, "Braess", "bpr")
    assert pr.solve_equilibrium(network, demand).total_travel_time * 60 / 6 == pytest.approx(92, rel=1e-6)
    assert pr.solve_optimum(network, demand).total_travel_time * 60 / 6 == pytest.approx(83, rel=1e-6)


@st.composite
def problems(draw: st.DrawFn, extreme: bool = False) -> tuple[pr.Network, pr.Demand]:
    """Random networks with parallel links, free links, closed nodes and background, and a demand on joined pairs."""
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    nodes = draw(st.integers(2, 6))
    links = draw(st.integers(nodes, 14))
    tail = chance.integers(0, nodes, links)
    head = (tail + chance.integers(1, nodes, links)) % nodes
    free = np.where(chance.random(links) < 0.2, 0.0, chance.uniform(0.5, 10, links))
    spread = 6 if extreme else 1
    capacity = 10.0 ** chance.uniform(-spread / 2, spread, links)
    power = chance.choice([1.0] if not extreme else [0.0, 0.5, 1.0, 2.0, 4.0, 6.5], links)
    b = chance.choice([0.0, 0.15, 1.0, 4.0], links)
    closed = chance.random(nodes) < 0.2
    background = np.where(chance.random(links) < 0.3, capacity * chance.random(links), 0.0)
    network = pr.Network(
        tail, head, pr.Latency(free, capacity, b, power), range(nodes), no_through=closed, background_per_min=background
    )
    try:
        pairs = pr.Pairs.of_zones(network, on_unreachable="drop")
    except pr.PrivrouteError:
        pairs = pr.Pairs([], [])
    rates = np.where(chance.random(len(pairs)) < 0.6, 10.0 ** chance.uniform(-1, 1.5, len(pairs)), 0.0)
    return network, pr.Demand(pairs, rates)


@given(problems())
@settings(max_examples=60)
def test_the_optimum_agrees_with_an_independent_quadratic_programme(case: tuple[pr.Network, pr.Demand]) -> None:
    network, demand = case
    solution = pr.solve_optimum(network, demand, gap=1e-11)
    check_solution(network, demand, solution, equilibrium=False)
    if demand.total_per_min == 0:
        return
    assert solution.relative_gap <= 1e-9
    expected = quadratic_optimum(network, demand)
    assert solution.total_travel_time == pytest.approx(expected, rel=1e-8)


def quadratic_optimum(network: pr.Network, demand: pr.Demand) -> float:
    """Minimum of the affine system's total time over flows by origin, by PIQP's interior-point method.

    minimise Σ_e y_e (c_e + q_e y_e) over y = background + scale Σ_o v_o, v_o ≥ 0 with the origin's supplies
    """
    origins = np.unique(demand.pairs.origin[demand.rate_per_min > 0])
    incidence = np.zeros((network.nodes, network.links))
    incidence[network.head, np.arange(network.links)] += 1
    incidence[network.tail, np.arange(network.links)] -= 1
    scale = demand.total_per_min
    supplies, open_links = [], []
    for origin in origins:
        mine = demand.pairs.origin == origin
        supply = np.bincount(demand.pairs.destination[mine], demand.rate_per_min[mine], network.nodes) / scale
        supply[origin] -= supply.sum()
        supplies.append(supply)
        open_links.append(~network.no_through[network.tail] | (network.tail == origin))
    used = np.flatnonzero(np.concatenate(open_links))
    quadratic = network.free_flow_min * network.latency.b / network.capacity_per_min
    background = network.background_per_min
    linear = network.free_flow_min + 2 * quadratic * background
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-13
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-13
    solver.settings.max_iter = 1000
    all_origins = np.ones((len(origins), len(origins)))
    solver.setup(
        P=np.kron(all_origins, np.diag(2 * quadratic * scale))[np.ix_(used, used)],
        c=np.tile(linear, len(origins))[used],
        A=np.kron(np.eye(len(origins)), incidence)[:, used],
        b=np.concatenate(supplies),
        x_l=np.zeros(used.size),
    )
    solver.solve()
    constant = float(background @ (network.free_flow_min + quadratic * background))
    return float(solver.result.info.primal_obj) * scale + constant


@given(problems(), st.booleans())
@settings(max_examples=40)
def test_the_solver_agrees_with_its_readable_twin(case: tuple[pr.Network, pr.Demand], equilibrium: bool) -> None:
    network, demand = case
    solve = pr.solve_equilibrium if equilibrium else pr.solve_optimum
    solution = solve(network, demand, gap=1e-10)
    latency = network.latency
    flow, reached = reference_assignment.assign(
        network.tail,
        network.head,
        network.no_through.view(np.uint8),
        latency.free_flow_min,
        latency.b,
        latency.capacity_per_min,
        latency.power,
        network.background_per_min,
        demand.pairs.origin,
        demand.pairs.destination,
        demand.rate_per_min,
        equilibrium=equilibrium,
        gap=1e-9,
    )
    assert reached <= 1e-9
    total = flow + network.background_per_min
    objective = float(latency.integral(total).sum()) if equilibrium else float(total @ latency.time(total))
    assert solution.objective == pytest.approx(objective, rel=1e-8)


@given(problems(extreme=True))
@settings(max_examples=150)
def test_extreme_networks_converge_or_say_why_not(case: tuple[pr.Network, pr.Demand]) -> None:
    network, demand = case
    for solve, equilibrium in ((pr.solve_optimum, False), (pr.solve_equilibrium, True)):
        solution = solve(network, demand, gap=1e-9)
        check_solution(network, demand, solution, equilibrium=equilibrium)
        assert (solution.status == "converged") == (solution.relative_gap <= 1e-9), solution.message
        assert solution.relative_gap <= 1e-6, solution.message


@given(problems(), st.floats(1.0, 3.0))
@settings(max_examples=60)
def test_more_demand_never_costs_less(case: tuple[pr.Network, pr.Demand], factor: float) -> None:
    network, demand = case
    less = pr.solve_optimum(network, demand, gap=1e-10).total_travel_time
    more = pr.solve_optimum(network, factor * demand, gap=1e-10).total_travel_time
    assert more >= less * (1 - 1e-9)


@given(problems())
@settings(max_examples=60)
def test_the_optimum_is_never_above_the_equilibrium(case: tuple[pr.Network, pr.Demand]) -> None:
    network, demand = case
    best = pr.solve_optimum(network, demand, gap=1e-10).total_travel_time
    selfish = pr.solve_equilibrium(network, demand, gap=1e-10).total_travel_time
    assert best <= selfish * (1 + 1e-9)
    if (network.background_per_min == 0).all():
        assert selfish <= best * (4 / 3) * (1 + 1e-9)  # the price of anarchy for affine latencies


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
        ],
    )
    def test_unusable_options_are_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(InputError, match=next(iter(options))):
            pr.solve_optimum(self.network, self.demand, **options)


def test_progress_is_told_and_can_stop(tntp: Path) -> None:
    network, demand = public(tntp, "ChicagoSketch", "affine")
    seen: list[tuple[int, float, float]] = []

    def stop_soon(iteration: int, gap: float, seconds: float) -> bool:
        seen.append((iteration, gap, seconds))
        return len(seen) < 2

    solution = pr.solve_optimum(network, demand, gap=1e-12, progress=stop_soon)
    assert solution.status == "interrupted"
    assert len(seen) == 2
    check_solution(network, demand, solution, equilibrium=False)


def test_an_error_in_the_progress_function_reaches_the_caller(tntp: Path) -> None:
    network, demand = public(tntp, "ChicagoSketch", "affine")

    def fail(_iteration: int, _gap: float, _seconds: float) -> None:
        raise RuntimeError("from the caller")

    with pytest.raises(RuntimeError, match="from the caller"):
        pr.solve_optimum(network, demand, gap=1e-12, progress=fail)


def test_threads_change_nothing_not_even_a_bit(tntp: Path) -> None:
    network, demand = public(tntp, "ChicagoSketch", "affine")
    one, two = (pr.solve_optimum(network, demand, gap=1e-7, threads=threads) for threads in (1, 2))
    assert one.policy == two.policy
    assert np.array_equal(one.link_flow, two.link_flow)


def grid(side: int, zones: int) -> tuple[pr.Network, pr.Demand]:
    """A square street grid with zones spread over it and a demand that fills it."""
    node = np.arange(side * side).reshape(side, side)
    east, south = (node[:, :-1].ravel(), node[:, 1:].ravel()), (node[:-1].ravel(), node[1:].ravel())
    tail = np.concatenate([east[0], east[1], south[0], south[1]])
    head = np.concatenate([east[1], east[0], south[1], south[0]])
    minutes = np.random.default_rng(1).uniform(0.5, 2.0, tail.size)
    places = np.linspace(0, side * side - 1, zones).astype(int)
    network = pr.Network(tail, head, pr.Latency.bpr(minutes, 100.0), range(side * side), zones=places)
    pairs = pr.Pairs.of_zones(network)
    return network, pr.Demand(pairs, np.random.default_rng(2).uniform(0, 1, len(pairs)))


def test_ctrl_c_ends_one_long_call_and_other_threads_run_meanwhile() -> None:
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
            pr.solve_optimum(network, demand, gap=0.0, max_iterations=10**6)
    finally:
        done.set()
        ticker.join()
    assert ticks >= 40
    assert time.monotonic() - start < 20


def test_overflowing_costs_are_never_called_converged() -> None:
    demand = pr.Demand(pr.Pairs([0], [1]), [1e5])
    steep = pr.Network([0, 0], [1, 1], pr.Latency([1.0, 1.0], [1.0, 3.0], 0.15, 40.0), ["a", "b"])
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
