"""The optimum with each curve of the table, beside solvers that share nothing with ours, and kinks at the optimum."""

from __future__ import annotations

import warnings

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize
from tests.network.curve_cases import CASES

import privroute as pr
from privroute.errors import NetworkError
from privroute.network.curves import CURVES
from privroute.network.point_curves import point_parameters

KINKS = [[0.4, 1.0], [0.8, 1.3], [1.0, 2.0], [1.3, 4.0]]


def small_network(name: str, seed: int) -> tuple[pr.Network, pr.Demand]:
    """Six nodes on a ring with chords, four pairs, loads about 1."""
    chance = np.random.default_rng(seed)
    tail = np.r_[np.arange(6), np.arange(6), [0, 1, 2, 3]]
    head = np.r_[(np.arange(6) + 1) % 6, (np.arange(6) - 1) % 6, [3, 4, 5, 0]]
    draw = CASES[name].draw
    values = (
        draw(tail.size, chance)
        if draw is not None
        else {key: chance.choice(choices, tail.size) for key, choices in CASES[name].parameters.items()}
    )
    if name == "bpr":
        values["power"] = np.maximum(values["power"], 1.0)
    free, capacity = chance.uniform(1.0, 5.0, tail.size), chance.uniform(5.0, 15.0, tail.size)
    network = pr.Network(tail, head, pr.Latency.of(name, free, capacity, **values), list(range(6)))
    pairs = pr.Pairs([0, 1, 2, 5], [3, 4, 0, 2])
    return network, pr.Demand(pairs, chance.uniform(4.0, 14.0, 4) * (0.6 if "limit" in values else 1.0))


def paths_of(network: pr.Network, demand: pr.Demand) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(links, paths) and (pairs, paths) of ones: all simple paths."""
    graph = nx.MultiDiGraph()
    for link, (tail, head) in enumerate(zip(network.tail.tolist(), network.head.tolist(), strict=True)):
        graph.add_edge(tail, head, key=link)
    columns, owners = [], []
    ends = zip(demand.pairs.origin.tolist(), demand.pairs.destination.tolist(), strict=True)
    for pair, (origin, to) in enumerate(ends):
        for path in nx.all_simple_edge_paths(graph, origin, to):
            column = np.zeros(network.links)
            column[[link for _, _, link in path]] = 1.0
            columns.append(column)
            owners.append(pair)
    return np.array(columns).T, (np.arange(len(demand.pairs))[:, None] == np.array(owners)).astype(float)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [name for name in CURVES if not CASES[name].kinks])
def test_smooth_curves_beside_sequential_quadratic_programming(name: str, seed: int) -> None:
    network, demand = small_network(name, seed)
    found = pr.solve_optimum(network, demand, gap=1e-10)
    assert found.relative_gap <= 1e-9
    links, owners = paths_of(network, demand)
    rates, latency = demand.rate_per_min, network.latency

    whole = found.objective

    def total(x: NDArray[np.float64]) -> float:
        flow = links @ np.maximum(x, 0.0)
        return float(flow @ latency.time(flow)) / whole

    def slope(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(links.T @ latency.marginal_cost(links @ np.maximum(x, 0.0))) / whole

    start = (owners / owners.sum(axis=1, keepdims=True)).T @ rates
    for _ in range(4):  # again from where it stopped: its own tolerance is loose
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = minimize(
                total,
                start,
                jac=slope,
                method="SLSQP",
                bounds=[(0.0, None)] * start.size,
                constraints=LinearConstraint(owners, rates, rates),
                options={"ftol": 1e-15, "maxiter": 1000},
            )
        start = np.maximum(other.x, 0.0)
        start = (owners * start / (owners @ start)[:, None]).T @ rates  # exactly the demand
    assert total(start) == pytest.approx(1.0, rel=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_kinks_beside_a_cone_solver(seed: int) -> None:
    network, demand = small_network("piecewise", seed)
    found = pr.solve_optimum(network, demand, gap=1e-9)
    assert found.relative_gap <= 1e-8
    links, owners = paths_of(network, demand)
    loads, factors = network.latency.parameters[:, 0::2], network.latency.parameters[:, 1::2]
    x = cp.Variable(links.shape[1], nonneg=True)
    terms = []
    for link, (free, capacity) in enumerate(zip(network.free_flow_min, network.capacity_per_min, strict=True)):
        count = int((loads[link] > 0).sum())
        at, factor = np.r_[0.0, loads[link, :count]] * capacity, np.r_[1.0, factors[link, :count]] * free
        flow = links[link] @ x
        pieces = []
        for piece in range(count):  # y f is the largest of y times each line, as y >= 0
            rate = (factor[piece + 1] - factor[piece]) / (at[piece + 1] - at[piece])
            pieces.append((factor[piece] - rate * at[piece]) * flow + rate * cp.square(flow))
        terms.append(cp.maximum(*pieces) if count > 1 else pieces[0])
    problem = cp.Problem(cp.Minimize(cp.sum(cp.hstack(terms))), [owners @ x == demand.rate_per_min])
    with warnings.catch_warnings():  # it says "almost solved" where its tolerance is just missed
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert found.objective == pytest.approx(float(problem.value), rel=1e-7)


def test_an_optimum_exactly_at_a_kink() -> None:
    """Beyond load 0.5 the first road costs 1 + 0.5 · 8 = 5 at the margin, just below it 1; the second one 3."""
    latency = pr.Latency.by_link(
        [1.0, 3.0], [10.0, 10.0], ["piecewise", "bpr"], [[0.5, 1.0, 1.0, 5.0] + [0.0] * 12, [0.0, 1.0]]
    )
    network = pr.Network([0, 0], [1, 1], latency, ["a", "b"])
    demand = pr.Demand(pr.Pairs([0], [1]), [8.0])
    found = pr.solve_optimum(network, demand, gap=1e-9)
    assert found.status == "converged"
    np.testing.assert_allclose(found.link_flow, [5.0, 3.0], rtol=1e-8)
    np.testing.assert_allclose(found.link_cost, [3.0, 3.0], rtol=1e-6)
    assert found.total_travel_time == pytest.approx(14.0, rel=1e-9)


@pytest.mark.parametrize("share", [0.15, 0.3, 0.5])
@pytest.mark.parametrize("fairness", [0.0, 0.5])
def test_kinks_on_sioux_falls(share: float, fairness: float) -> None:
    scenario = pr.sioux_falls()
    network = scenario.network.with_latency("piecewise", **point_parameters(KINKS))
    demand = pr.Demand(scenario.demand.pairs, scenario.demand.rate_per_min * share)
    found = pr.solve_optimum(network, demand, fairness=fairness, gap=1e-8)
    assert found.relative_gap <= 1e-8
    finer = pr.solve_optimum(network, demand, fairness=fairness, gap=1e-9, start=found)
    # the gap is over the cost of shortest paths at the prices, which bounds the objective's distance from its least
    least = float(found.link_cost @ (found.link_flow - network.background_per_min)) / (1 + found.relative_gap)
    assert found.objective - finer.objective <= found.relative_gap * least * (1 + 1e-6)


@pytest.mark.parametrize("limit", [0.95, 0.999])
def test_queues_near_saturation(limit: float) -> None:
    """Two queues of capacity 10 share 19.9: 9.95 each, in closed form, above or below the limit of the formula."""
    latency = pr.Latency.of("mm1", [1.0, 1.0], [10.0, 10.0], packet=1.0, limit=limit)
    network = pr.Network([0, 0], [1, 1], latency, ["a", "b"])
    found = pr.solve_optimum(network, pr.Demand(pr.Pairs([0], [1]), [19.9]), gap=1e-10)
    assert found.status == "converged"
    np.testing.assert_allclose(found.link_flow, [9.95, 9.95], rtol=1e-9)
    if limit > 0.995:
        assert found.total_travel_time == pytest.approx(2 * 9.95 * (1.0 + 0.1 * 0.995 / 0.005), rel=1e-9)


def test_the_sensitivity_of_kinks_is_refused_with_the_reason() -> None:
    network = pr.sioux_falls().network.with_latency("piecewise", **point_parameters(KINKS))
    with pytest.raises(NetworkError, match=r"jumps at its kinks.*counts, layered, daily"):
        network.latency.marginal_slope_bound(np.inf, 10.0 * network.free_flow_min)
    # no kink below the ceiling: t is 1 and 1.3 + slope · load there
    flat = network.latency.marginal_slope_bound(0.3 * network.capacity_per_min)
    assert (flat == 0).all()
