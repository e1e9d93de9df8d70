"""Which links are counted: those of each pair's main path that matter most, with a budget that no pair exceeds."""

from __future__ import annotations

import numpy as np
import pytest

import privroute as pr
from privroute.flows import link_loads
from privroute.flows.link_loads import counted_links
from privroute.policy.main_paths import main_paths

SCENARIO = pr.sioux_falls()
NETWORK, DEMAND = SCENARIO.network, SCENARIO.demand


def test_the_main_path_is_the_first_route_of_a_pair() -> None:
    policy = pr.solve_optimum(NETWORK, DEMAND, gap=1e-4).policy
    start, links = main_paths(policy)
    for pair in range(0, len(DEMAND.pairs), 17):
        ends = (NETWORK.node_labels[node[pair]] for node in (DEMAND.pairs.origin, DEMAND.pairs.destination))
        assert tuple(links[start[pair] : start[pair + 1]].tolist()) == policy.routes(*ends)[0].links


@pytest.mark.parametrize("most", [1, 3, 12])
def test_no_pair_is_on_more_links_or_costs_more_than_allowed(most: int) -> None:
    found = counted_links(NETWORK, DEMAND, most)
    assert set(found.members.data.tolist()) == {1.0}
    assert np.diff(found.members.indptr).max() == min(most, np.diff(found.members.indptr).max())
    cost = found.members @ found.precision
    assert cost.max() == pytest.approx(1.0)
    assert (found.precision > 0).all()


def test_a_link_whose_cost_does_not_depend_on_its_flow_is_not_counted() -> None:
    latency = pr.Latency.bpr([1.0, 1.0, 1.0], 10.0, [0.0, 0.5, 0.5], 4.0)
    network = pr.Network([0, 1, 2], [1, 2, 0], latency, ["a", "b", "c"])
    pairs = pr.Pairs([0], [2])
    found = counted_links(network, pr.Demand(pairs, [5.0]), 12)
    assert found.members.shape == (1, 1)


def test_nothing_is_counted_where_no_cost_depends_on_the_flow() -> None:
    latency = pr.Latency.bpr([1.0, 1.0], 10.0, 0.0, 4.0)
    network = pr.Network([0, 1], [1, 0], latency, ["a", "b"])
    found = counted_links(network, pr.Demand(pr.Pairs([0], [1]), [5.0]), 12)
    assert found.members.shape == (1, 0)


def test_paths_in_blocks_of_pairs_count_the_same_links(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = counted_links(NETWORK, DEMAND, 3)
    monkeypatch.setattr(link_loads, "_PAIRS_AT_ONCE", 50)
    parts = counted_links(NETWORK, DEMAND, 3)
    assert (whole.members != parts.members).nnz == 0
    assert np.array_equal(whole.precision, parts.precision)


def test_a_start_at_an_earlier_optimum_reaches_the_gap_too() -> None:
    first = counted_links(NETWORK, DEMAND * 0.9, 3)
    again = counted_links(NETWORK, DEMAND, 3, gap=1e-4, start=first.policy)
    least = pr.solve_optimum(NETWORK, DEMAND, gap=1e-9).total_travel_time
    assert pr.total_travel_time(NETWORK, again.policy, DEMAND) <= least * (1 + 2e-4)
