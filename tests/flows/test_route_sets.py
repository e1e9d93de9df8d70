"""Route sets and unit flows on them: which links, projections with weights, loads, steps, bounds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.reference import projection as reference
from tests.reference import routes as twin

import privroute as pr
from privroute.errors import PolicyError
from privroute.flows.route_metric import (
    LARGEST_ROUTE_POINT,
    RouteMetric,
    add_load,
    project_on_routes,
    smallest_route_tolerance,
    step,
)
from privroute.flows.route_sets import RouteSets
from privroute.flows.unit_flows import infeasibility

SIOUX_FALLS = pr.sioux_falls()
SOLVERS = ["", "plain", "plain8", "exact", "scaling"]


def grid(side: int, seed: int, *, zones: bool = False) -> tuple[pr.Network, pr.Pairs]:
    """A grid with links both ways and random times; with zones, two that hang on corners and let nothing through."""
    nodes = np.arange(side * side).reshape(side, side)
    one = np.concatenate([nodes[:, :-1].ravel(), nodes[:-1].ravel()])
    other = np.concatenate([nodes[:, 1:].ravel(), nodes[1:].ravel()])
    tail, head = np.concatenate([one, other]), np.concatenate([other, one])
    count = side * side
    if zones:
        tail = np.concatenate([tail, [count, 0, count + 1, count - 1]])
        head = np.concatenate([head, [0, count, count - 1, count + 1]])
        count += 2
    times = np.random.default_rng(seed).uniform(1.0, 3.0, tail.size)
    blocked = np.arange(count) >= side * side
    network = pr.Network(tail, head, pr.Latency.affine(times, 1.0), range(count), no_through=blocked)
    ends = [(count - 2, count - 1), (count - 1, count - 2)] if zones else [(0, count - 1), (2, side * side - 2), (5, 0)]
    return network, pr.Pairs(*np.transpose(ends))


def sets_of(network: pr.Network, pairs: pr.Pairs, detour: float = 1.4) -> RouteSets:
    return RouteSets.of(network, pairs, network.free_flow_min, detour)


def metric_of(sets: RouteSets, seed: int) -> RouteMetric:
    chance = np.random.default_rng(seed)
    return RouteMetric(
        np.exp2(chance.integers(-4, 5, sets.network.links).astype(np.float64)), chance.uniform(0.1, 10.0, len(sets))
    )


def opened(sets: RouteSets) -> NDArray[np.bool_]:
    return sets.dense(np.ones(sets.entries)) > 0


CASES = {"grid": grid(4, 1), "zones": grid(4, 2, zones=True), "large": grid(6, 3)}


class TestWhichLinks:
    @pytest.mark.parametrize("detour", [1.0, 1.2, 3.0])
    @pytest.mark.parametrize("name", CASES)
    def test_the_kernel_finds_what_its_twin_finds(self, name: str, detour: float) -> None:
        network, pairs = CASES[name]
        sets = sets_of(network, pairs, detour)
        for pair, ends in enumerate(zip(pairs.origin.tolist(), pairs.destination.tolist(), strict=True)):
            links = twin.route_set(network.tail, network.head, network.no_through, network.free_flow_min, ends, detour)
            inside = slice(sets.start[pair], sets.start[pair + 1])
            assert sets.link[inside].tolist() == links
            if len(links) < 25:
                assert sets.forced[inside].tolist() == twin.forced(links, network.tail, network.head, ends)

    @pytest.mark.parametrize("name", CASES)
    def test_no_walk_meets_a_node_twice_and_every_walk_arrives(self, name: str) -> None:
        network, pairs = CASES[name]
        sets = sets_of(network, pairs)
        for pair in range(len(pairs)):
            links = sets.link[sets.start[pair] : sets.start[pair + 1]]
            last = {int(v): k for k, v in enumerate(network.tail[links])}
            for k, head in enumerate(network.head[links]):
                assert head == pairs.destination[pair] or last[int(head)] > k, "a link leads back, or nowhere"

    def test_the_cheapest_way_is_always_there(self) -> None:
        sets = sets_of(SIOUX_FALLS.network, SIOUX_FALLS.demand.pairs, 1.0)
        empty = pr.solve_optimum(SIOUX_FALLS.network, pr.Demand(sets.pairs, np.zeros(len(sets)))).policy
        assert sets.shares_of(empty).sum() == pytest.approx(empty.as_paths().paths.path_start[-1])

    def test_links_without_cost_make_no_cycles(self) -> None:
        network = pr.Network([0, 1, 1, 2], [1, 0, 2, 1], pr.Latency.affine([0.0, 0.0, 1.0, 1.0], 1.0), "abc")
        sets = sets_of(network, pr.Pairs([0, 2], [2, 0]), 2.0)
        assert sets.link.tolist() == [0, 2, 3, 1]

    def test_shards_of_pairs_are_parts_of_the_whole(self) -> None:
        sets = sets_of(SIOUX_FALLS.network, SIOUX_FALLS.demand.pairs)
        parts = [sets.part(first, last) for first, last in ((0, 100), (100, 101), (101, 552))]
        assert np.concatenate([part.link for part in parts]).tolist() == sets.link.tolist()
        assert sum(len(part) for part in parts) == len(sets)


class TestProjection:
    @pytest.mark.parametrize("solver", SOLVERS)
    @pytest.mark.parametrize("size", [0.1, 3.0, 1e3])
    @pytest.mark.parametrize("name", CASES)
    def test_it_is_the_nearest_unit_flow_in_the_norm_of_the_weights(
        self, name: str, size: float, solver: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Against a reference of 19 digits: within the certified bound, and the bound within the tolerance."""
        monkeypatch.setenv("PRIVROUTE_INSTRUCTION_SET", solver)
        network, pairs = CASES[name]
        for whole in (False, True):
            sets = RouteSets.whole(network, pairs) if whole else sets_of(network, pairs)
            metric = metric_of(sets, 7)
            chance = np.random.default_rng(3)
            points = chance.normal(0.3, size, sets.entries)
            exact, left, _ = reference.project(
                network.tail,
                network.head,
                network.no_through,
                pairs.origin,
                pairs.destination,
                sets.dense(points),
                weight=metric.link,
                opened=opened(sets),
                imbalance=1e-16,
                dtype=np.longdouble,
            )
            assert left.max() < 1e-12
            bound = project_on_routes(sets, metric, points, np.zeros(sets.entries, np.float32), tolerance=1e-9)
            error = np.sqrt(((sets.dense(points) - exact) ** 2 * metric.link).sum(axis=1))
            assert (error <= bound + 1e-11).all()
            assert bound.max() <= 1e-9
            assert infeasibility(network, pairs, sets.dense(points)).max() < 1e-8

    def test_any_start_gives_the_same_within_the_tolerance(self) -> None:
        network, pairs = CASES["large"]
        sets = sets_of(network, pairs)
        metric = metric_of(sets, 1)
        chance = np.random.default_rng(5)
        points = chance.normal(0.5, 1.0, sets.entries)
        found = []
        for hints in (np.zeros(sets.entries), chance.normal(0, 1e3, sets.entries), np.full(sets.entries, np.nan)):
            flows = points.copy()
            project_on_routes(sets, metric, flows, hints.astype(np.float32), tolerance=1e-11)
            found.append(flows)
        assert np.abs(np.diff(found, axis=0)).max() < 1e-9

    @pytest.mark.parametrize("threads", [1, 2])
    def test_results_do_not_depend_on_company_not_even_where_steps_stall(self, threads: int) -> None:
        """Shortest paths as points: many links exactly at their bounds, where some pairs need the exact solver."""
        network, demand = SIOUX_FALLS.network, SIOUX_FALLS.demand
        sets = sets_of(network, demand.pairs, 1.6)
        empty = pr.solve_optimum(network, pr.Demand(sets.pairs, np.zeros(len(sets)))).policy
        metric = metric_of(sets, 3)
        points = 3.0 * sets.shares_of(empty) - 1.0
        together, hints = points.copy(), np.zeros(sets.entries, np.float32)
        project_on_routes(sets, metric, together, hints, tolerance=1e-12, threads=threads)
        for first in range(0, len(sets), 23):
            part = sets.part(first, min(first + 23, len(sets)))
            inside = slice(sets.start[first], sets.start[first] + part.entries)
            apart, own = points[inside].copy(), np.zeros(part.entries, np.float32)
            project_on_routes(part, metric.part(first, first + len(part)), apart, own, tolerance=1e-12, threads=1)
            assert np.array_equal(apart, together[inside])
            assert np.array_equal(own, hints[inside])

    def test_a_pair_with_one_route_uses_it_wherever_the_point_is(self) -> None:
        network, pairs = CASES["large"]
        sets = sets_of(network, pairs, 1.0)
        assert sets.forced.all()
        flows = np.random.default_rng(1).normal(0, 1e6, sets.entries)
        bound = project_on_routes(
            sets, RouteMetric.plain(sets), flows, np.zeros(sets.entries, np.float32), tolerance=1e-9
        )
        assert (flows == 1.0).all()
        assert (bound == 0.0).all()

    def test_potentials_added_to_a_point_do_not_move_its_projection(self) -> None:
        """The lemma behind the sensitivity: W⁻¹Aᵀp is orthogonal to all differences of unit flows."""
        network, pairs = CASES["grid"]
        sets = sets_of(network, pairs)
        metric = metric_of(sets, 2)
        chance = np.random.default_rng(6)
        points = chance.normal(0.3, 0.5, sets.entries)
        p = chance.normal(0, 3.0, network.nodes)
        moved = points + (p[network.head] - p[network.tail])[sets.link] / metric.link[sets.link]
        for flows in (points, moved):
            project_on_routes(sets, metric, flows, np.zeros(sets.entries, np.float32), tolerance=1e-11)
        assert np.abs(points - moved).max() < 1e-9

    @pytest.mark.parametrize("value", [np.nan, np.inf, 2 * LARGEST_ROUTE_POINT])
    def test_points_out_of_range_are_refused(self, value: float) -> None:
        network, pairs = CASES["grid"]
        for detour in (1.0, 1.4):
            sets = sets_of(network, pairs, detour)
            points = np.zeros(sets.entries)
            points[-1] = value
            with pytest.raises(PolicyError, match="not finite or beyond"):
                project_on_routes(
                    sets, RouteMetric.plain(sets), points, np.zeros(sets.entries, np.float32), tolerance=1e-9
                )

    def test_a_tolerance_below_rounding_is_refused(self) -> None:
        network, pairs = CASES["grid"]
        sets = sets_of(network, pairs)
        metric = RouteMetric.plain(sets)
        with pytest.raises(PolicyError, match="tolerance is"):
            project_on_routes(
                sets,
                metric,
                np.zeros(sets.entries),
                np.zeros(sets.entries, np.float32),
                tolerance=0.5 * smallest_route_tolerance(sets, metric),
            )

    @pytest.mark.parametrize("weight", [3.0, 2.0**11, 0.0])
    def test_weights_that_are_no_moderate_powers_of_two_are_refused(self, weight: float) -> None:
        with np.errstate(divide="ignore"), pytest.raises(PolicyError, match="powers of 2"):
            RouteMetric(np.array([1.0, weight]), np.ones(1))


class TestFlows:
    SETS = sets_of(SIOUX_FALLS.network, SIOUX_FALLS.demand.pairs)

    def test_loads_are_the_same_in_any_order_and_any_split(self) -> None:
        chance = np.random.default_rng(1)
        flows, rates = chance.random(self.SETS.entries), chance.random(552) * 1e3
        whole = np.zeros(76, np.int64)
        add_load(self.SETS, flows, rates, 2.0**40, whole)
        split = np.zeros(76, np.int64)
        for first, last in ((300, 552), (0, 7), (7, 300)):
            part = self.SETS.part(first, last)
            inside = flows[self.SETS.start[first] : self.SETS.start[last]]
            add_load(part, np.ascontiguousarray(inside), rates[first:last], 2.0**40, split)
        assert (whole == split).all()
        assert whole / 2.0**40 == pytest.approx(rates @ self.SETS.dense(flows), rel=1e-9)

    def test_a_step_is_a_gradient_step_in_the_metric(self) -> None:
        chance = np.random.default_rng(2)
        flows, rates, price = chance.random(self.SETS.entries), chance.random(552), chance.random(76)
        expected = 0.9 * flows - self.SETS.sparse(np.outer(rates, price))
        step(self.SETS, flows, rates, price, 0.9)
        assert flows == pytest.approx(expected, rel=1e-14)

    @pytest.mark.parametrize("seed", range(3))
    def test_bounds_over_unit_flows_are_what_their_twins_find(self, seed: int) -> None:
        network, pairs = grid(4, seed)
        sets = sets_of(network, pairs, 1.6)
        chance = np.random.default_rng(seed)
        value, minus, inverse = chance.random(network.links), chance.random(network.links), chance.uniform(0.1, 4, 48)
        less = chance.random(len(pairs))
        low, high = chance.uniform(0, 1, 48), chance.uniform(1, 3, 48)
        heaviest, spreads = sets.heaviest(value, minus, less), sets.cost_spread(low, high, inverse)
        for pair, ends in enumerate(zip(pairs.origin.tolist(), pairs.destination.tolist(), strict=True)):
            inside = slice(sets.start[pair], sets.start[pair + 1])
            links = sets.link[inside].tolist()
            here = value - less[pair] * minus
            assert heaviest[pair] == pytest.approx(twin.heaviest_path(links, network.tail, network.head, ends, here))
            fixed = sets.forced[inside].tolist()
            expected = twin.spread(links, fixed, network.tail, network.head, low, high, inverse)
            assert spreads[pair] == pytest.approx(expected, rel=1e-8)

    def test_no_costs_within_their_range_leave_more_than_the_spread(self) -> None:
        """Least squares over all potentials, for extreme costs: never above the bound, and near it somewhere."""
        network, pairs = grid(3, 4)
        sets = sets_of(network, pairs, 1.8)
        chance = np.random.default_rng(8)
        inverse, low = chance.uniform(0.2, 4, network.links), np.full(network.links, 1.0)
        high = chance.uniform(1.5, 4.0, network.links)
        bound = sets.cost_spread(low, high, inverse)
        balance = reference.incidence(network.tail, network.head, network.nodes)
        nearest = 0.0
        for pair in range(len(pairs)):
            links = sets.link[sets.start[pair] : sets.start[pair + 1]]
            root = np.sqrt(inverse[links])
            matrix = (balance[:, links] * root).T
            for _ in range(200):
                cost = np.where(chance.random(links.size) < 0.5, low[links], high[links]) * root
                rest = cost - matrix @ np.linalg.lstsq(matrix, cost, rcond=None)[0]
                assert rest @ rest <= bound[pair]
                nearest = max(nearest, float(rest @ rest / bound[pair]))
        assert nearest > 0.3

    def test_a_policy_is_written_as_paths_and_read_as_flows(self) -> None:
        flows = np.random.default_rng(3).random(self.SETS.entries)
        plain = RouteMetric.plain(self.SETS)
        project_on_routes(self.SETS, plain, flows, np.zeros(flows.size, np.float32), tolerance=1e-11)
        assert self.SETS.shares_of(self.SETS.policy(flows)) == pytest.approx(flows, abs=1e-8)
