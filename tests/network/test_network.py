from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tests.network.strategies import networks

import privroute as pr
from privroute.errors import DemandError, NetworkError

CURVES = pr.Latency.affine([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])


def line(**options: Any) -> pr.Network:
    """1 → 2 → 3 and back from 3 to 1, unless said otherwise."""
    arguments: dict[str, Any] = {"tail": [0, 1, 2], "head": [1, 2, 0], "latency": CURVES, "node_labels": [1, 2, 3]}
    return pr.Network(**(arguments | options))


@given(networks())
def test_arrays_are_read_only_and_own_their_memory(network: pr.Network) -> None:
    for name in ("tail", "head", "zones", "no_through", "background_per_min", "free_flow_min", "capacity_per_min"):
        array = getattr(network, name)
        assert not array.flags.writeable
        assert array.base is None
        with pytest.raises(ValueError, match="read-only"):
            array[:] = array


def test_the_caller_cannot_change_a_network_afterwards() -> None:
    tail = np.array([0, 1, 2])
    network = line(tail=tail)
    tail[0] = 2
    assert network.tail[0] == 0
    with pytest.raises(AttributeError):
        network.tail = tail  # type: ignore[misc]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tail": [0, 1, 3]}, r"tail: position 2 is outside 0 to 2; indices are 0-based"),
        ({"head": [1, -1, 0]}, "head: position 1 is outside"),
        ({"tail": [0.0, 1.0, 2.0]}, "tail has type float64; pass whole numbers"),
        ({"tail": [0, 1]}, "head has 3 links where tail has 2"),
        ({"head": [1, 1, 0]}, r"link 1 starts and ends at node 2 .*omit them"),
        ({"latency": pr.Latency.affine([1.0], [1.0])}, "latency has 1 links where tail has 3"),
        ({"latency": 3}, "latency is a int"),
        ({"node_labels": [1, 2, 2]}, "positions 1 and 2 are both 2"),
        ({"node_labels": [1, 2, "2"]}, "positions 1 and 2 are both 2"),
        ({"node_labels": [1, 2, 2.5]}, "position 2 is a float"),
        ({"node_labels": [1, 2, True]}, "position 2 is a bool"),
        ({"node_labels": [1, 2, " a"]}, "white space at its ends"),
        ({"node_labels": [1, 2, ""]}, "white space at its ends"),
        ({"node_labels": [1, 2, 10**20]}, "more than 18 digits"),
        ({"node_labels": 5}, "node_labels is a int"),
        ({"zones": [0, 0]}, "node 1 is named more than once"),
        ({"zones": [7]}, "zones: position 0"),
        ({"no_through": [0, 1, 0]}, "one True or False for each of the 3 nodes"),
        ({"background_per_min": -1.0}, "background_per_min: positions 0, 1, 2 are"),
        ({"background_per_min": [0.0, np.inf, 0.0]}, "background_per_min: position 1"),
        ({"coordinates": [[0, 0], [1, 1]]}, r"coordinates have shape \(2, 2\)"),
        ({"coordinates": [[0, 0], [1, 1], [np.nan, 1]]}, "1 nodes have no finite x and y .*index 2"),
        ({"coordinates": "far"}, "coordinates has type <U3; pass real numbers"),
        ({"length_km": [1.0, 2.0]}, "length_km has 2 values"),
        ({"link_labels": ["a"]}, "link_labels has 1 labels where there are 3 links"),
        ({"tail": [], "head": [], "latency": pr.Latency.affine([], [])}, "at least one link"),
    ],
)
def test_unusable_networks_are_refused_with_what_and_where(options: dict[str, Any], message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        line(**options)


def test_parallel_links_and_zero_free_flow_time_are_allowed() -> None:
    network = line(tail=[0, 0, 1], head=[1, 1, 0], latency=pr.Latency.affine([0.0, 0.0, 3.0], 1.0))
    assert network.links == 3


def test_nodes_are_found_by_label_as_number_or_text() -> None:
    network = line(node_labels=[10, "7", "Bahnhof Süd"])
    assert network.node_labels == (10, 7, "Bahnhof Süd")
    assert [network.node(label) for label in (10, "10", 7, "7", "Bahnhof Süd")] == [0, 0, 1, 1, 2]
    with pytest.raises(NetworkError, match="no node is labelled 99; the 3 labels begin with 10, 7, 'Bahnhof Süd'"):
        network.node(99)


def test_equality_sees_every_field() -> None:
    assert line() == line()
    for options in (
        {"head": [2, 2, 0]},
        {"zones": [0]},
        {"no_through": np.array([True, False, False])},
        {"background_per_min": 1.0},
        {"coordinates": np.zeros((3, 2))},
        {"crs": "EPSG:4326"},
        {"length_km": 1.0},
        {"link_labels": "abc"},
        {"node_labels": "abc"},
        {"latency": pr.Latency.bpr([1.0, 2.0, 3.0], 1.0)},
    ):
        assert line() != line(**options), options


def test_with_latency_changes_the_curves_only() -> None:
    network = line(background_per_min=2.0, zones=[0, 2])
    steeper = network.with_latency("affine", factor=5)
    assert steeper.latency.time(np.ones(3)) == pytest.approx(5 * network.free_flow_min)
    assert steeper.with_latency("affine", factor=2) == network
    with pytest.raises(NetworkError, match='pass "affine".* or "'):
        network.with_latency("cubic")  # type: ignore[arg-type]
    with pytest.raises(NetworkError, match="factor is no parameter of bpr curves; pass b, power"):
        network.with_latency("bpr", factor=2)


def test_degrees_are_told_from_metres() -> None:
    near = line(coordinates=[[-96.7, 43.5], [-96.6, 43.6], [-96.5, 43.5]])
    assert near.has_longitude_latitude
    assert not line(coordinates=[[690309, 1976022]] * 3).has_longitude_latitude
    assert not line(coordinates=[[1, 1]] * 3, crs="EPSG:26914").has_longitude_latitude
    assert not line().has_longitude_latitude


class TestPairs:
    def test_of_zones_has_every_ordered_pair_once(self) -> None:
        pairs = pr.Pairs.of_zones(line(zones=[0, 2]))
        assert (pairs.origin.tolist(), pairs.destination.tolist()) == ([0, 2], [2, 0])

    def test_unreachable_pairs_are_named_or_dropped(self) -> None:
        network = line(tail=[0, 1, 0], head=[1, 2, 2], node_labels=["a", "b", "c"])
        with pytest.raises(DemandError, match=r'no path leads from b to a, c to a, c to b \(3 of 6 pairs\).*"drop"'):
            pr.Pairs.of_zones(network)
        kept = pr.Pairs.of_zones(network, on_unreachable="drop")
        assert list(zip(kept.origin, kept.destination, strict=True)) == [(0, 1), (0, 2), (1, 2)]
        with pytest.raises(DemandError, match="on_unreachable is 'ignore'"):
            pr.Pairs.of_zones(network, on_unreachable="ignore")  # type: ignore[arg-type]

    def test_no_through_nodes_may_start_and_end_trips_but_not_carry_them(self) -> None:
        network = line(no_through=np.array([False, True, False]))
        minutes = pr.free_flow_minutes(network, pr.Pairs([0, 1, 0], [1, 2, 2]))
        assert minutes.tolist() == [1.0, 2.0, np.inf]

    @given(networks())
    def test_free_flow_minutes_agree_with_bellman_ford(self, network: pr.Network) -> None:
        grid = np.indices((network.nodes, network.nodes)).reshape(2, -1)
        grid = grid[:, grid[0] != grid[1]]
        pairs = pr.Pairs(*grid)
        expected = []
        for origin, destination in grid.T:
            cost = np.full(network.nodes, np.inf)
            cost[origin] = 0.0
            open_links = ~network.no_through[network.tail] | (network.tail == origin)
            for _ in range(network.nodes):
                np.minimum.at(
                    cost,
                    network.head[open_links],
                    (cost[network.tail] + network.free_flow_min)[open_links],
                )
            expected.append(cost[destination])
        assert pr.free_flow_minutes(network, pairs) == pytest.approx(expected)

    @pytest.mark.parametrize(
        ("origin", "destination", "message"),
        [
            ([0, 1], [1], "origin has 2 entries and destination 1"),
            ([0, 1], [1, 1], "1 pairs start and end at the same node .*position 1"),
            ([0, 1, 0], [1, 0, 1], "position 2 occurs before"),
            ([-1], [1], "origin: position 0"),
            ([0.5], [1], "whole numbers"),
        ],
    )
    def test_unusable_pairs_are_refused(self, origin: list[int], destination: list[int], message: str) -> None:
        with pytest.raises(DemandError, match=message):
            pr.Pairs(origin, destination)

    def test_pairs_of_another_network_are_refused(self) -> None:
        with pytest.raises(DemandError, match="node indices that the network with 3 nodes does not have"):
            pr.free_flow_minutes(line(), pr.Pairs([0], [3]))

    def test_positions_find_each_pair_and_mark_the_others(self) -> None:
        pairs = pr.Pairs([5, 2, 2], [1, 9, 1])
        assert pairs.positions([2, 5, 1, 2], [9, 1, 5, 1]).tolist() == [1, 0, -1, 2]
        assert pr.Pairs([], []).positions([1], [2]).tolist() == [-1]

    @pytest.mark.parametrize("wrong", [[2**32 + 2], [-1], [2.0], ["2"], [True], [[2]], [2, 2], [10**30]])
    def test_positions_of_what_is_no_node_index_are_refused(self, wrong: Any) -> None:
        pairs = pr.Pairs([5, 2, 2], [1, 9, 1])
        with pytest.raises(DemandError):
            pairs.positions(wrong, [9])
        with pytest.raises(DemandError):
            pairs.positions([2], wrong)

    def test_more_pairs_than_memory_holds_are_refused_before_they_are_made(self) -> None:
        nodes = 10_001
        step = np.arange(nodes)
        network = pr.Network(step, (step + 1) % nodes, pr.Latency.affine(np.ones(nodes), 1.0), range(nodes))
        with pytest.raises(DemandError, match=r"10,001 zones make 100,010,000 pairs, .*zones= .*grid_km="):
            pr.Pairs.of_zones(network)

    def test_pairs_by_label(self) -> None:
        network = line(node_labels=["a", 7, "c"])
        assert pr.Pairs.of_labels(network, ["c"], ["7"]) == pr.Pairs([2], [1])


class TestDemand:
    pairs = pr.Pairs([0, 1], [1, 0])

    def test_demands_add_scale_and_compare(self) -> None:
        one = pr.Demand(self.pairs, [1.0, 2.0])
        assert one + one == 2 * one == one * 2.0
        assert one != pr.Demand(self.pairs, [1.0, 2.5])
        assert one.is_close(pr.Demand(self.pairs, [1.0, 2.0 + 1e-12]))
        assert not one.is_close(pr.Demand(self.pairs, [1.0, 2.1]))
        assert one.total_per_min == 3.0
        assert one == pr.Demand(pr.Pairs([0, 1], [1, 0]), [1.0, 2.0])
        assert one != pr.Demand(pr.Pairs([1, 0], [0, 1]), [1.0, 2.0])
        assert one != pr.Demand(self.pairs, [1.0, 2.0], expansion=2)

    def test_closeness_is_symmetric_and_sees_pairs_and_expansion(self) -> None:
        low, high = pr.Demand(self.pairs, [0.0, 95.0]), pr.Demand(self.pairs, [0.0, 100.0])
        assert low.is_close(high, relative=0.05)
        assert high.is_close(low, relative=0.05)
        assert not low.is_close(high, relative=0.049)
        assert not high.is_close(low, relative=0.049)
        assert not low.is_close(pr.Demand(self.pairs, [0.0, 95.0], expansion=2))
        assert not low.is_close(pr.Demand(pr.Pairs([1, 0], [0, 1]), [0.0, 95.0]))

    def test_the_printed_form_and_errors_show_no_rates(self) -> None:
        shown = repr(pr.Demand(self.pairs, [31337.0, 1.0], expansion=2))
        assert shown == "Demand(2 pairs, expansion 2)"
        with pytest.raises(DemandError, match="rate_per_min: position 0 is not usable") as refused:
            pr.Demand(self.pairs, [-31337.0, 1.0])
        assert "31337" not in str(refused.value)

    def test_expansion_relates_traffic_to_what_a_fleet_sees(self) -> None:
        seen = pr.Demand.from_observed(self.pairs, [1.0, 2.0], expansion=10)
        assert seen.rate_per_min.tolist() == [10.0, 20.0]
        assert seen.observed_per_min.tolist() == [1.0, 2.0]
        assert (seen + seen).expansion == 10
        with pytest.raises(DemandError, match="expansion 10 and 1"):
            seen + pr.Demand(self.pairs, [1.0, 2.0])

    def test_a_demand_moves_to_other_pairs_without_losing_trips(self) -> None:
        demand = pr.Demand(self.pairs, [0.0, 2.0])
        moved = demand.on(pr.Pairs([2, 1], [0, 0]))
        assert moved.rate_per_min.tolist() == [0.0, 2.0]
        with pytest.raises(DemandError, match="1 pairs with a positive rate"):
            demand.on(pr.Pairs([2], [0]))

    @pytest.mark.parametrize("rates", [[1.0], [1.0, -1.0], [1.0, np.inf], [1.0, np.nan], ["a", "b"], [[1.0, 2.0]]])
    def test_unusable_rates_are_refused(self, rates: Any) -> None:
        with pytest.raises(DemandError, match="rate_per_min"):
            pr.Demand(self.pairs, rates)

    @pytest.mark.parametrize("expansion", [0, 0.5, -1, np.inf, np.nan, "10", True])
    def test_unusable_expansions_are_refused(self, expansion: Any) -> None:
        with pytest.raises(DemandError, match="expansion"):
            pr.Demand(self.pairs, [1.0, 2.0], expansion=expansion)

    def test_demands_on_different_pairs_do_not_add(self) -> None:
        with pytest.raises(DemandError, match="different pairs"):
            pr.Demand(self.pairs, [1, 2]) + pr.Demand(pr.Pairs([1, 0], [0, 1]), [1, 2])
        with pytest.raises(DemandError, match="rate_per_min"):
            pr.Demand(self.pairs, [1, 2]) * -1.0
