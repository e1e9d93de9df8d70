from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from tests.policy.strategies import unit_flows
from tests.reference import kernels

import privroute as pr
from privroute import _core
from privroute.errors import DemandError, NetworkError, PolicyError

# Each chi-squared test below raises a false alarm once in a thousand million runs.
FALSE_ALARM = 1e-9

UnitFlows = tuple[pr.Network, pr.Pairs, NDArray[np.float64]]


def diamond() -> pr.Network:
    """a → b → d and a → c → d, a direct link a → d, and a way back d → a."""
    curves = pr.Latency.affine([1.0, 1.0, 2.0, 2.0, 5.0, 1.0], 10.0)
    return pr.Network([0, 1, 0, 2, 0, 3], [1, 3, 2, 3, 3, 0], curves, ["a", "b", "c", "d"])


def split(chances: tuple[float, float, float] = (0.5, 0.3, 0.2), **changes: Any) -> pr.RoutingPolicy:
    arrays: dict[str, Any] = {
        "pairs": pr.Pairs([0, 3], [3, 0]),
        "pair_start": [0, 3, 4],
        "path_start": [0, 2, 4, 5, 6],
        "links": [0, 1, 2, 3, 4, 5],
        "probability": [*chances, 1.0],
    }
    return pr.RoutingPolicy(diamond(), **(arrays | changes))


def test_routes_come_with_labels_most_probable_first() -> None:
    routes = split((0.2, 0.5, 0.3)).routes("a", "d")
    assert [(route.probability, route.nodes, route.links) for route in routes] == [
        (0.5, ("a", "c", "d"), (2, 3)),
        (0.3, ("a", "d"), (4,)),
        (0.2, ("a", "b", "d"), (0, 1)),
    ]
    assert [route.probability for route in split((0.0, 1.0, 0.0)).routes("a", "d")] == [1.0]
    with pytest.raises(PolicyError, match="no routes from a to itself; pass two different zones"):
        split().routes("a", "a")
    with pytest.raises(PolicyError, match="no pair from a to b"):
        split().routes("a", "b")
    with pytest.raises(NetworkError, match="no zone is labelled 'z'; the . zones begin with"):
        split().routes("a", "z")


def test_link_flow_is_background_plus_the_demand_on_the_routes() -> None:
    policy = split()
    demand = pr.Demand(policy.pairs, [10.0, 4.0])
    assert policy.link_flow(demand) == pytest.approx([5, 5, 3, 3, 2, 4])
    assert policy.unit_flow("a", "d") == pytest.approx([0.5, 0.5, 0.3, 0.3, 0.2, 0])
    with pytest.raises(DemandError, match="other pairs"):
        policy.link_flow(pr.Demand(pr.Pairs([0], [3]), [1.0]))


def test_travel_times_are_those_of_the_loaded_network() -> None:
    policy = split()
    network = policy.network
    demand = pr.Demand(policy.pairs, [10.0, 4.0])
    minutes = network.latency.time(policy.link_flow(demand))
    assert pr.total_travel_time(network, policy, demand) == pytest.approx(minutes @ [5, 5, 3, 3, 2, 4])
    times = pr.travel_times(network, policy, demand)
    mixed = 0.5 * (minutes[0] + minutes[1]) + 0.3 * (minutes[2] + minutes[3]) + 0.2 * minutes[4]
    fastest = min(minutes[0] + minutes[1], minutes[2] + minutes[3], minutes[4])
    assert times.expected_min == pytest.approx([mixed, minutes[5]])
    assert times.fastest_min == pytest.approx([fastest, minutes[5]])
    assert times.detour == pytest.approx([mixed / fastest, 1.0])
    assert demand.rate_per_min @ times.expected_min == pytest.approx(pr.total_travel_time(network, policy, demand))
    assert pr.volume_over_capacity(network, policy, demand) == pytest.approx([0.5, 0.5, 0.3, 0.3, 0.2, 0.4])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probability": [0.5, 0.3, 0.1, 1.0]}, "from a to d sum to 0.9"),
        ({"probability": [0.5, 0.7, -0.2, 1.0]}, "negative"),
        ({"probability": [0.5, np.nan, 0.5, 1.0]}, "not a number"),
        ({"probability": [0.5, 0.3, 0.2]}, "path_start must have 4 values"),
        ({"pair_start": [0, 3, 3]}, "rise from 0 to 4"),
        ({"pair_start": [0, 4, 4]}, "from d to a has no path"),
        ({"pair_start": [0, 5, 4]}, "rise from 0 to 4"),
        ({"links": [0, 1, 2, 3, 4, 6]}, "outside 0 to 5"),
        ({"links": [0, 3, 2, 1, 4, 5]}, "path 0 of the pair from a to d does not lead"),
        ({"links": [0, 1, 2, 3, 5, 5]}, "path 2 .*does not lead"),
        ({"path_start": [0, 2, 4, 4, 6], "links": [0, 1, 2, 3, 4, 5]}, "path 2 .*does not lead"),
        (
            {"path_start": [0, 4, 6, 7, 8], "links": [4, 5, 0, 1, 2, 3, 4, 5]},
            "path 0 .*meets a node twice",
        ),
        ({"links": [0.0, 1, 2, 3, 4, 5]}, "links has type float64"),
        ({"pairs": pr.Pairs([0, 9], [9, 0])}, "node indices"),
    ],
)
def test_unusable_policies_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((PolicyError, DemandError), match=message):
        split(**changes)


def test_paths_through_a_closed_node_are_refused() -> None:
    network = diamond()
    closed = pr.Network(
        network.tail,
        network.head,
        network.latency,
        network.node_labels,
        no_through=np.array([False, True, False, False]),
    )
    with pytest.raises(PolicyError, match="from a to d passes through a node that is no through road"):
        pr.RoutingPolicy(closed, pr.Pairs([0], [3]), [0, 1], [0, 2], [0, 1], [1.0])
    pr.RoutingPolicy(closed, pr.Pairs([0, 1], [1, 3]), [0, 1, 2], [0, 1, 2], [0, 1], [1.0, 1.0])


def chi_squared_limit(freedom: int) -> float:
    """Quantile of chi-squared by Wilson and Hilferty."""
    z = 5.9978  # standard normal quantile of 1 - 1e-9
    return float(freedom * (1 - 2 / (9 * freedom) + z * np.sqrt(2 / (9 * freedom))) ** 3)


def test_sampled_frequencies_match_the_probabilities() -> None:
    policy = split()
    draws = 200_000
    counts = np.bincount(policy.sample("a", "d", size=draws, seed=3), minlength=3)
    expected = np.array([0.5, 0.3, 0.2]) * draws
    assert ((counts - expected) ** 2 / expected).sum() < chi_squared_limit(2)


def test_consecutive_draws_are_independent() -> None:
    draws = split().sample("a", "d", size=200_000, seed=4)
    table = np.zeros((3, 3))
    np.add.at(table, (draws[:-1], draws[1:]), 1)
    expected = np.outer([0.5, 0.3, 0.2], [0.5, 0.3, 0.2]) * table.sum()
    assert ((table - expected) ** 2 / expected).sum() < chi_squared_limit(8)


def test_seeds_reproduce_and_no_seed_does_not() -> None:
    policy = split()
    one = policy.sample("a", "d", size=100, seed=9)
    assert np.array_equal(one, policy.sample("a", "d", size=100, seed=9))
    assert not np.array_equal(one, policy.sample("a", "d", size=100, seed=10))
    assert not np.array_equal(policy.sample("a", "d", size=100), policy.sample("a", "d", size=100))
    assert policy.sample("a", "d", size=0).size == 0


def test_batches_give_ids_and_links() -> None:
    policy = split()
    ids = policy.sample_paths([1, 0, 0, 1], seed=1)
    assert ids[[0, 3]].tolist() == [3, 3]
    assert set(ids[1:3].tolist()) <= {0, 1, 2}
    start, links = policy.path_links([2, 0, 3])
    assert start.tolist() == [0, 1, 3, 4]
    assert links.tolist() == [4, 0, 1, 5]


def test_unusable_draws_are_refused() -> None:
    policy = split()
    with pytest.raises(PolicyError, match="size"):
        policy.sample("a", "d", size=-1)
    with pytest.raises(PolicyError, match="seed"):
        policy.sample("a", "d", seed=-1)
    with pytest.raises(PolicyError, match="outside 0 to 1"):
        policy.sample_paths([2])
    with pytest.raises(PolicyError, match="whole numbers"):
        policy.sample_paths([0.5])
    with pytest.raises(PolicyError, match="outside 0 to 3"):
        policy.path_links([4])
    for odd in ([0.5], [[0]]):
        with pytest.raises(PolicyError, match="one axis"):
            policy.path_links(odd)
    with pytest.raises(PolicyError, match="one value for each"):
        policy.expected([1.0])


def test_equality_and_summary() -> None:
    assert split() == split()
    assert split() != split((0.3, 0.5, 0.2))
    summary = split().summary()
    assert (summary.pairs, summary.paths, summary.most_paths) == (2, 4, 3)
    assert str(summary).startswith("2 pairs, 4 paths (2.00 a pair, at most 3), 1.5 links a path")


@given(unit_flows())
@settings(max_examples=200)
def test_decomposition_reproduces_the_flow_without_cycles(case: UnitFlows) -> None:
    network, pairs, flows = case
    policy = pr.decompose(network, pairs, flows)
    assert (np.diff(policy.pair_start) <= network.links).all()
    assert np.add.reduceat(policy.probability, policy.pair_start[:-1]) == pytest.approx(1.0, abs=1e-12)
    for pair in range(len(pairs)):
        rate = np.zeros(len(pairs))
        rate[pair] = 1.0
        rebuilt = policy.link_flow(pr.Demand(pairs, rate)) - network.background_per_min
        taken_out = flows[pair] - rebuilt
        assert taken_out.min() >= -1e-12 * (1 + network.background_per_min.max())
        balance = np.bincount(network.head, taken_out, network.nodes) - np.bincount(
            network.tail, taken_out, network.nodes
        )
        assert np.abs(balance).max() <= 1e-9 * (1 + network.background_per_min.max())


def test_an_acyclic_flow_is_reproduced_exactly() -> None:
    network = diamond()
    pairs = pr.Pairs([0], [3])
    flow = np.array([[0.5, 0.5, 0.3, 0.3, 0.2, 0.0]])
    policy = pr.decompose(network, pairs, flow)
    assert np.abs(policy.unit_flow("a", "d") - flow[0]).max() <= 1e-12
    assert [route.probability for route in policy.routes("a", "d")] == pytest.approx([0.5, 0.3, 0.2], abs=1e-12)


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        ([0.5, 0.5, 0.5, 0.4, 0.0, 0.0], "row 0 does not conserve one unit"),
        ([0.0] * 6, "does not conserve one unit"),
        ([0.5, 0.5, 0.7, 0.7, -0.2, 0.0], "outside 0 to 1"),
        ([np.nan, 0.5, 0.5, 0.5, 0.0, 0.0], "outside 0 to 1"),
    ],
)
def test_rows_that_are_no_unit_flows_are_refused(flow: list[float], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        pr.decompose(diamond(), pr.Pairs([0], [3]), [flow])


def test_flows_of_another_shape_or_on_closed_links_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"pass \(1, 6\)"):
        pr.decompose(diamond(), pr.Pairs([0], [3]), [[1.0]])
    network = pr.Network([0, 1], [1, 2], pr.Latency.affine([1, 1], 1), "abc", no_through=np.array([False, True, False]))
    with pytest.raises(PolicyError, match="may not use"):
        pr.decompose(network, pr.Pairs([0], [2]), [[1.0, 1.0]])


def test_a_trace_of_flow_on_a_closed_link_is_left_out() -> None:
    rule = np.array([False, True, False, False])
    network = diamond()
    closed = pr.Network(network.tail, network.head, network.latency, network.node_labels, no_through=rule)
    policy = pr.decompose(closed, pr.Pairs([0], [3]), [[1e-13, 1e-13, 0.5, 0.5, 0.5, 0.0]])
    assert [route.links for route in policy.routes("a", "d")] == [(2, 3), (4,)]


@pytest.mark.parametrize("tolerance", [np.inf, -1.0, "wide"])
def test_a_tolerance_that_checks_nothing_is_refused(tolerance: Any) -> None:
    with pytest.raises(PolicyError, match="tolerance"):
        pr.decompose(diamond(), pr.Pairs([0], [3]), [[0.5, 0.5, 0.5, 0.5, 0.0, 0.0]], tolerance=tolerance)


def test_a_policy_is_evaluated_on_its_own_links_only() -> None:
    policy = split()
    turned = pr.Network(policy.network.head, policy.network.tail, policy.network.latency, "abcd")
    with pytest.raises(DemandError, match="other links"):
        pr.total_travel_time(turned, policy, pr.Demand(policy.pairs, [1.0, 1.0]))


def both(name: str, *arguments: Any) -> tuple[Any, Any]:
    """What the compiled kernel and its readable twin make of the same arguments."""
    return getattr(_core, name)(*arguments), getattr(kernels, name)(*arguments)


@given(unit_flows())
@settings(max_examples=60)
def test_kernels_agree_with_their_twins(case: UnitFlows) -> None:
    network, pairs, flows = case
    graph = (network.tail, network.head, network.no_through.view(np.uint8))
    ends = (pairs.origin, pairs.destination)
    ours, twin = both("decompose", *graph, *ends, flows, 1e-15)
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(ours, twin, strict=True))
    *arrays, _ = ours
    pair_start, path_start, links, probability = arrays
    assert both("first_fault", *graph, *ends, *arrays) == ((0, -1), (0, -1))
    found, expected = both("first_fault", *graph, *ends, pair_start, path_start, links[::-1].copy(), probability)
    assert found == expected
    wanted = np.arange(len(pairs), dtype=np.int64).repeat(5)
    drawn, expected = both("sample_paths", pair_start, probability, wanted, 2**64 - 5, 17)
    assert np.array_equal(drawn, expected)
    gathered, expected = both("gather_paths", path_start, links, drawn)
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(gathered, expected, strict=True))
    flow, expected = both("load_paths", *arrays, np.linspace(0, 3, len(pairs)), network.links)
    assert flow == pytest.approx(expected, rel=1e-12)
    sums, expected = both("expected_values", *arrays, np.linspace(1, 2, network.links))
    assert sums == pytest.approx(expected, rel=1e-12)
    costs, expected = both("pair_costs", *graph, network.free_flow_min, *ends)
    assert costs == pytest.approx(expected, rel=1e-12)
