from __future__ import annotations

from pathlib import Path

import numpy as np
import piqp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.flows.solutions import check_solution, public
from tests.reference import assignment

import privroute as pr

# System-optimal vehicle-minutes per hour, on which three independent codes agree at gap 1e-12.
ANCHORS = {
    ("SiouxFalls", "affine"): 8_233_524.970475,
    ("SiouxFalls", "bpr"): 7_194_256.052893,
    ("Anaheim", "affine"): 2_029_225.917297,
    ("Anaheim", "bpr"): 1_395_015.086695,
    ("ChicagoSketch", "affine"): 28_022_680.806921,
    ("ChicagoSketch", "bpr"): 17_953_267.628854,
}


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


def braess(bridge: bool) -> tuple[pr.Network, pr.Demand]:
    """The textbook's network: 6 vehicles, costs 10y, 50+y, 50+y, 10+y, 10y."""
    tail, head = [0, 0, 2, 2, 3], [2, 3, 1, 3, 1]
    free, b = [1e-8, 50.0, 50.0, 10.0, 1e-8], [1e9, 0.02, 0.02, 0.1, 1e9]
    kept = [i for i in range(5) if bridge or i != 3]
    curves = pr.Latency.bpr([free[i] for i in kept], 1.0, [b[i] for i in kept], 1.0)
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
        tail,
        head,
        pr.Latency.bpr(free, capacity, b, power),
        range(nodes),
        no_through=closed,
        background_per_min=background,
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
    quadratic = network.free_flow_min * network.latency.parameter("b") / network.capacity_per_min
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
    flow, reached = assignment.assign(
        tail=network.tail,
        head=network.head,
        no_through=network.no_through.view(np.uint8),
        latency=latency,
        background=network.background_per_min,
        origin=demand.pairs.origin,
        destination=demand.pairs.destination,
        demand=demand.rate_per_min,
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
