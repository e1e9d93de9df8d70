"""The projection onto unit flows: what it is, how exactly, and that its certificate never lies."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.flows.degenerate import Case, adversarial, cases, grid
from tests.reference import projection as reference

import privroute as pr
from privroute import _core
from privroute.errors import DemandError, PolicyError
from privroute.flows.projection import project, project_in_place, smallest_tolerance
from privroute.flows.unit_flows import closed_links, infeasibility
from privroute.network.latency import Latency
from privroute.network.network import Network
from privroute.network.pairs import Pairs

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

DEGENERATE = cases(400, seed=1)
FEW = DEGENERATE[:90]
HUGE = cases(60, seed=2, kinds=("huge",))


def true_projection(case: Case) -> NDArray[np.floating]:
    """To about 1e-14: the twin with 19 digits, its imbalance checked."""
    network, pairs, points = case
    flows, imbalance, _ = reference.project(
        network.tail,
        network.head,
        network.no_through,
        pairs.origin,
        pairs.destination,
        points,
        imbalance=2e-15,
        dtype=np.longdouble,
    )
    assert imbalance.max() <= 1e-14
    return flows


def distance(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.asarray(np.sqrt(((one - other) ** 2).sum(axis=1)))


def test_the_certificate_is_never_violated_on_thousands_of_degenerate_points() -> None:
    rows = 0
    for case in DEGENERATE:
        truth = true_projection(case)
        for tolerance in (1e-2, 1e-4, 1e-9, 1e-12):
            found = project(*case, tolerance=tolerance)
            assert np.all(distance(found.flows, truth) <= found.error_bound + 3e-14)
            assert np.all(found.error_bound <= tolerance)
        rows += len(case.pairs)
    assert rows > 2_000


def test_bad_starts_change_neither_the_result_nor_the_certificate() -> None:
    rng = np.random.default_rng(3)
    for case in FEW:
        truth = true_projection(case)
        for size in (1.0, 1e6, 1e19, 1e300):
            start = rng.normal(size=(len(case.pairs), case.network.nodes)) * size
            found = project(*case, potentials=start)
            assert np.all(distance(found.flows, truth) <= found.error_bound + 3e-14)
            assert np.all(found.error_bound <= 1e-9)


def test_huge_points_meet_the_tolerance_and_are_optimal() -> None:
    for case in HUGE:
        found = project(*case, tolerance=1e-9)
        assert np.all(found.error_bound <= 1e-9)
        finer = project(*case, tolerance=1e-13)
        assert np.all(distance(found.flows, finer.flows) <= found.error_bound + finer.error_bound)


def test_flows_at_intermediate_potentials_obey_the_theorem() -> None:
    # the bound itself, far from convergence, where it is not hidden by the tolerance
    rng = np.random.default_rng(4)
    for case in FEW:
        network, pairs, points = case
        p = rng.normal(size=(len(pairs), network.nodes)) * 0.3
        closed = closed_links(network, pairs.origin)
        x = np.where(closed, 0.0, np.clip(points + p[:, network.head] - p[:, network.tail], 0, 1))
        matrix = reference.incidence(network.tail, network.head, network.nodes)
        demand = np.zeros((len(pairs), network.nodes))
        demand[np.arange(len(pairs)), pairs.origin] = -1
        demand[np.arange(len(pairs)), pairs.destination] = 1
        bound = 0.5 * np.sqrt(network.nodes - 1) * np.abs(x @ matrix.T - demand).sum(axis=1)
        assert np.all(distance(x, true_projection(case)) <= bound + 1e-12 * (1 + np.abs(points).max()))


def test_the_bound_is_sharp_on_a_directed_chain() -> None:
    links = 9
    network = Network(
        range(links), range(1, links + 1), Latency.affine(np.ones(links), np.ones(links)), range(links + 1)
    )
    matrix = reference.incidence(network.tail, network.head, network.nodes)
    short = np.full(links, 0.75)  # a quarter of the unit is missing all along: x(p) for p = 0, v = 0.75
    demand = np.zeros(links + 1)
    demand[[0, -1]] = -1, 1
    bound = 0.5 * np.sqrt(links) * np.abs(matrix @ short - demand).sum()
    assert np.linalg.norm(short - 1.0) == pytest.approx(bound)


@pytest.mark.parametrize("instruction_set", _core.instruction_sets())
def test_kernels_of_all_widths_agree_with_the_twin(instruction_set: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVROUTE_INSTRUCTION_SET", instruction_set)
    for network, pairs, points in FEW:
        found = project(network, pairs, points, tolerance=1e-11)
        twin, _, _ = reference.project(
            network.tail, network.head, network.no_through, pairs.origin, pairs.destination, points, imbalance=1e-10
        )
        np.testing.assert_allclose(found.flows, twin, atol=1e-9)


def test_the_width_of_avx512_is_among_the_kernels_tested() -> None:
    assert "plain8" in _core.instruction_sets()


@pytest.mark.parametrize("solver", ["", "exact", "scaling"])
def test_every_solver_meets_every_tolerance_on_adversarial_points(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # up to 1e15, ties, chains, stars, parallel links, parts that no free link joins: none may return uncertified
    for case in (*adversarial(), *HUGE[:20], *DEGENERATE[:36]):
        monkeypatch.setenv("PRIVROUTE_INSTRUCTION_SET", "")
        finest = project(*case, tolerance=smallest_tolerance(case.network))
        monkeypatch.setenv("PRIVROUTE_INSTRUCTION_SET", solver)
        for tolerance in (1e-4, 1e-9, smallest_tolerance(case.network)):
            found = project(*case, tolerance=tolerance)
            assert np.all(found.error_bound <= tolerance)
            assert np.all(distance(found.flows, finest.flows) <= found.error_bound + finest.error_bound)
            assert infeasibility(case.network, case.pairs, found.flows).max() <= 2 * tolerance


def test_the_last_resort_is_balanced_to_the_last_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVROUTE_INSTRUCTION_SET", "scaling")
    for network, pairs, points in (*adversarial(1), *FEW):
        found = project(network, pairs, points, tolerance=1e-4)
        unit = found.flows * 2.0**52  # whole numbers, so sums are exact
        np.testing.assert_array_equal(unit, np.rint(unit))
        assert infeasibility(network, pairs, found.flows).max() == 0.0


def test_the_last_resort_agrees_with_the_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVROUTE_INSTRUCTION_SET", "scaling")
    for case in FEW:
        found = project(*case, tolerance=1e-12)
        assert np.all(distance(found.flows, true_projection(case)) <= found.error_bound + 3e-14)


def test_nodes_that_hang_on_one_other_are_projected_in_closed_form() -> None:
    # 0 and 3 hang on 1, 4 hangs on 2: their links carry 1, 0 or the mean of both points
    tail, head = np.array([0, 1, 1, 2, 3, 1, 4, 2]), np.array([1, 0, 2, 1, 1, 3, 2, 4])
    network = Network(tail, head, Latency.affine(np.ones(8), np.ones(8)), range(5))
    points = np.array([0.3, 0.1, 0.2, 0.4, 0.9, 0.2, -3.0, 1.0])
    found = project(network, Pairs([0, 0], [2, 3]), np.tile(points, (2, 1)), tolerance=1e-12)
    expected = [[1, 0, 0.8, -0.2, 0.55, 0.55, 0, 0], [1, 0, 0.3, 0.3, 0, 1, 0, 0]]
    expected[0][2:4] = [1, 0]  # 1 net from 1 to 2: the box leaves nothing else
    np.testing.assert_allclose(found.flows, expected, atol=1e-12)


def test_an_instruction_set_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVROUTE_INSTRUCTION_SET", "abacus")
    with pytest.raises(ValueError, match="abacus"):
        project(*FEW[0])


def test_no_feasible_flow_is_closer_in_the_direction_of_the_point() -> None:
    # variational inequality <v - x, y - x> <= 0 for all unit flows y, with the best y from an independent LP solver
    for network, pairs, points in FEW[:45]:
        found = project(network, pairs, points, tolerance=1e-11)
        matrix = reference.incidence(network.tail, network.head, network.nodes)
        closed = closed_links(network, pairs.origin)
        for w in range(0, len(pairs), 4):
            demand = np.zeros(network.nodes)
            demand[pairs.origin[w]], demand[pairs.destination[w]] = -1, 1
            toward = points[w] - found.flows[w]
            bounds = [(0.0, 0.0 if shut else 1.0) for shut in closed[w]]
            best = linprog(-toward, A_eq=matrix, b_eq=demand, bounds=bounds)
            scale = 1 + np.abs(points[w]).max()
            assert toward @ (best.x - found.flows[w]) <= 1e-6 * scale


def test_flows_are_feasible_and_come_from_their_potentials() -> None:
    for network, pairs, points in FEW:
        found = project(network, pairs, points)
        assert infeasibility(network, pairs, found.flows).max() <= 1e-9
        z = points + found.potentials[:, network.head] - found.potentials[:, network.tail]
        # links that lead into a dead end are shut without a price, so they are compared only where they carry flow
        dead = network.no_through[network.head] & (network.head != pairs.origin[:, None])
        usable = ~closed_links(network, pairs.origin) & ~(dead & (network.head != pairs.destination[:, None]))
        scale = 1 + np.abs(points).max()
        assert np.abs(np.where(usable, np.clip(z, 0, 1) - found.flows, 0)).max() <= 1e-14 * scale


def test_projecting_twice_changes_nothing() -> None:
    for network, pairs, points in FEW:
        once = project(network, pairs, points)
        twice = project(network, pairs, once.flows)
        assert np.all(distance(once.flows, twice.flows) <= once.error_bound + twice.error_bound)


def test_projections_are_no_farther_apart_than_their_points() -> None:
    rng = np.random.default_rng(5)
    for network, pairs, points in FEW:
        other = points + rng.normal(size=points.shape) * rng.choice([1e-6, 1.0])
        one, two = project(network, pairs, points), project(network, pairs, other)
        apart = distance(points, other) + one.error_bound + two.error_bound
        assert np.all(distance(one.flows, two.flows) <= apart * (1 + 1e-12))


def test_links_leaving_a_no_through_node_are_open_only_to_its_own_pairs() -> None:
    # 0 -> 1 -> 2 is short, but 1 is no through road; 0 -> 3 -> 2 remains, and 1 -> 2 for trips from 1
    network = Network(
        [0, 1, 0, 3],
        [1, 2, 3, 2],
        Latency.affine(np.ones(4), np.ones(4)),
        range(4),
        no_through=np.array([False, True, False, False]),
    )
    found = project(network, Pairs([0, 1, 0], [2, 2, 1]), np.full((3, 4), 0.5))
    np.testing.assert_allclose(found.flows, [[0, 0, 1, 1], [0, 1, 0, 0], [1, 0, 0, 0]], atol=1e-9)


def test_parts_without_free_links_between_them_are_balanced() -> None:
    # two cliques joined by one link each way; points hold every flow at a bound, so no free link joins anything
    n = 5
    tail, head = np.nonzero(~np.eye(n, dtype=bool))
    both = np.concatenate([tail, tail + n, [n - 1, n]]), np.concatenate([head, head + n, [n, n - 1]])
    network = Network(*both, Latency.affine(np.ones(both[0].size), np.ones(both[0].size)), range(2 * n))
    pairs = Pairs.of_zones(network)
    for value in (-5.0, -1e3, 7.0):
        found = project(network, pairs, np.full((len(pairs), network.links), value))
        assert infeasibility(network, pairs, found.flows).max() <= 1e-9


def test_a_warm_start_from_the_last_projection_is_at_once_certified() -> None:
    case = grid(8, pairs=64)
    first = project(*case)
    again = project(*case, potentials=first.potentials)
    np.testing.assert_array_equal(again.flows, first.flows)


def test_results_do_not_depend_on_threads_or_on_company() -> None:
    network, pairs, points = grid(12, pairs=400)
    one, two = project(network, pairs, points, threads=1), project(network, pairs, points, threads=3)
    np.testing.assert_array_equal(one.flows, two.flows)
    alone = project(network, Pairs(pairs.origin[7:8], pairs.destination[7:8]), points[7:8])
    np.testing.assert_array_equal(alone.flows[0], one.flows[7])


def test_in_place_gives_the_same_without_new_arrays() -> None:
    for network, pairs, points in (*FEW[:20], *HUGE[:10], grid(6, pairs=40)):
        found = project(network, pairs, points, tolerance=1e-12)
        flows, potentials = points.copy(), np.zeros((len(pairs), network.nodes))
        bound = project_in_place(network, pairs, flows, potentials, tolerance=1e-12)
        np.testing.assert_array_equal(flows, found.flows)
        np.testing.assert_array_equal(potentials, found.potentials)
        np.testing.assert_array_equal(bound, found.error_bound)


def test_a_row_certified_at_the_last_moment_is_not_projected_again_in_place() -> None:
    network, pairs, _ = grid(5)  # where rounding stalls a row just within the tolerance
    rng = np.random.default_rng(0)
    for _ in range(20):
        points = rng.normal(size=(len(pairs), network.links)) * 3e3
        found = project(network, pairs, points, tolerance=3e-10)
        potentials = np.zeros((len(pairs), network.nodes))
        project_in_place(network, pairs, points, potentials, tolerance=3e-10)
        np.testing.assert_array_equal(points, found.flows)


def test_published_networks_are_projected_within_the_tolerance(tntp: Path) -> None:
    rng = np.random.default_rng(6)
    for name, rows in (("SiouxFalls", 552), ("Anaheim", 200), ("ChicagoSketch", 40), ("EMA", 200)):
        network = pr.read_tntp(tntp / f"{name}_net.tntp", latency="affine")
        every = Pairs.of_zones(network)
        chosen = np.sort(rng.choice(len(every), min(rows, len(every)), replace=False))
        pairs = Pairs(every.origin[chosen], every.destination[chosen])
        points = rng.normal(size=(len(pairs), network.links))
        found = project(network, pairs, points)
        finer = project(network, pairs, points, potentials=found.potentials, tolerance=smallest_tolerance(network))
        assert np.all(found.error_bound <= 1e-9)
        assert np.all(distance(found.flows, finer.flows) <= found.error_bound + finer.error_bound)


def test_no_pairs_give_no_flows() -> None:
    network = FEW[0].network
    found = project(network, Pairs([], []), np.zeros((0, network.links)))
    assert found.flows.shape == (0, network.links)
    assert found.error_bound.shape == (0,)


def test_pairs_without_a_path_are_refused_by_name() -> None:
    network = Network([0, 1], [1, 2], Latency.affine([1, 1], [1, 1]), ["home", "mill", "shore"])
    with pytest.raises(DemandError, match="no path leads from shore to home"):
        project(network, Pairs([0, 2], [2, 0]), np.zeros((2, 2)))


def test_networks_too_large_for_the_last_resort_are_refused() -> None:
    nodes = 100_001
    latency = Latency.affine(np.ones(nodes - 1), np.ones(nodes - 1))
    network = Network(range(nodes - 1), range(1, nodes), latency, range(nodes))
    with pytest.raises(PolicyError, match="100,001 nodes"):
        project(network, Pairs([0], [1]), np.zeros((1, nodes - 1)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2e15])
def test_points_that_cannot_be_projected_are_refused_with_their_row(value: float) -> None:
    network, pairs, points = grid(3, pairs=9)
    points[5, 11] = value
    with pytest.raises(PolicyError, match="row 5 has values that are not finite or beyond 1e\\+15"):
        project(network, pairs, points)


def test_arguments_of_the_wrong_form_are_refused() -> None:
    network, pairs, points = grid(3, pairs=9)
    with pytest.raises(PolicyError, match="points have shape"):
        project(network, pairs, points[:, 1:])
    with pytest.raises(PolicyError, match="points cannot be read"):
        project(network, pairs, "flows")
    with pytest.raises(PolicyError, match="potentials have shape"):
        project(network, pairs, points, potentials=points)
    with pytest.raises(PolicyError, match="tolerance is 0"):
        project(network, pairs, points, tolerance=0)
    with pytest.raises(PolicyError, match="threads is 0"):
        project(network, pairs, points, threads=0)
    with pytest.raises(PolicyError, match="must be a writeable"):
        project_in_place(network, pairs, points[:, ::2], points)
    with pytest.raises(PolicyError, match="share memory"):
        _share(network, pairs)


def _share(network: Network, pairs: Pairs) -> None:
    both = np.zeros(len(pairs) * (network.links + network.nodes))
    project_in_place(
        network,
        pairs,
        both[: len(pairs) * network.links].reshape(len(pairs), -1),
        both[: len(pairs) * network.nodes].reshape(len(pairs), -1),
    )


def test_ctrl_c_ends_a_long_projection() -> None:
    network, pairs, points = grid(45, pairs=3000)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            project(network, pairs, points)
    assert time.monotonic() - began < 10
