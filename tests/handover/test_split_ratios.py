"""Split ratios load links as the policy does, weights are whole, and segment lists lead along the routes."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privroute as pr
from privroute.errors import InputError
from privroute.handover.export import hand_over
from privroute.handover.split_ratios import FILES, ShortestPaths, segments_of, split_ratios, whole_weights


def followed(network: pr.Network, demand: pr.Demand, release: pr.Release) -> np.ndarray:
    """Link flows of routers that know the destination alone: a power iteration by destination."""
    flow = np.zeros(network.links)
    pairs = demand.pairs
    splits = list(split_ratios(network, release.policy, demand))
    for destination in np.unique(pairs.destination).tolist():
        own = pairs.destination == destination
        load = np.zeros(network.nodes)
        np.add.at(load, pairs.origin[own], demand.rate_per_min[own])
        here = {split.node: split for split in splits if split.destination == destination}
        for _ in range(network.nodes):
            ahead = np.zeros(network.nodes)
            for node, split in here.items():
                if load[node] > 0 and node != destination:
                    flow[split.links] += load[node] * split.ratio
                    np.add.at(ahead, network.head[split.links], load[node] * split.ratio)
            load = ahead
        assert load.sum() == pytest.approx(load[destination], abs=1e-9)
    return flow


def test_traffic_that_background_swallows_has_no_splits() -> None:
    scenario = pr.sioux_falls()
    network, pairs = (
        replace(scenario.network, background_per_min=np.full(scenario.network.links, 10.0)),
        scenario.demand.pairs,
    )
    rates = np.where(pairs.destination == 0, 1e-17, 1.0)
    policy = pr.solve_optimum(network, pr.Demand(pairs, rates)).policy
    splits = list(split_ratios(network, policy, pr.Demand(pairs, rates)))
    assert {split.destination for split in splits} == set(range(1, network.nodes))


def test_routers_that_know_the_destination_alone_load_links_as_the_policy_does(release: pr.Release) -> None:
    network, demand = release.network, release.demand
    assert demand is not None
    expected = release.policy.link_flow(demand) - network.background_per_min
    np.testing.assert_allclose(followed(network, demand, release), expected, rtol=1e-6, atol=1e-6 * expected.max())


def test_files_for_routers(release: pr.Release, tmp_path: Path) -> None:
    paths = hand_over(release, tmp_path, "splits")
    assert [path.name for path in paths] == list(FILES)
    rows = list(csv.DictReader(paths[0].read_text().splitlines()))
    together: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        together.setdefault((row["node"], row["destination"]), []).append(row)
    assert any(len(listed) > 1 for listed in together.values())
    for listed in together.values():
        assert sum(float(row["ratio"]) for row in listed) == pytest.approx(1.0)
        assert sum(int(row["weight"]) for row in listed) == 64
        assert all(int(row["weight"]) >= 1 for row in listed)
    lists = list(csv.DictReader(paths[1].read_text().splitlines()))
    assert {row["origin"] for row in lists} == {str(label) for label in release.network.node_labels}
    assert all(row["segments"].split(" > ")[-1].split()[0] in ("node", "link") for row in lists)
    assert max(len(row["segments"].split(" > ")) for row in lists) > 1
    with pytest.raises(InputError, match="already exists"):
        hand_over(release, tmp_path, "splits")


def shortest(network: pr.Network) -> np.ndarray:
    """(nodes, nodes) free-flow minutes, by relaxing all links as often as there are nodes."""
    found = np.full((network.nodes, network.nodes), np.inf)
    np.fill_diagonal(found, 0.0)
    for _ in range(network.nodes):
        np.minimum.at(found.T, network.head, (found[:, network.tail] + network.free_flow_min).T)
    return found


def test_segments_lead_along_the_route_and_nowhere_else(release: pr.Release) -> None:
    """A router that is told a node goes the only shortest path there; one that is told a link takes it."""
    network = release.network
    distance, paths, few = shortest(network), ShortestPaths(network), ShortestPaths(network, most_bytes=1)
    nodes, links = {str(n): i for i, n in enumerate(network.node_labels)}, list(map(str, network.link_labels))
    several = 0
    for pair in range(len(release.policy.pairs)):
        ends = release.policy.pairs.origin[pair], release.policy.pairs.destination[pair]
        for route in release.policy.routes(*(network.node_labels[end] for end in ends)):
            segments = segments_of(network, paths, list(route.links))
            assert segments == segments_of(network, few, list(route.links))
            several += len(segments) > 1
            here, driven = int(ends[0]), list[int]()
            for kind, name in (segment.split(" ", 1) for segment in segments):
                if kind == "link":
                    driven.append(links.index(name))
                    here = int(network.head[driven[-1]])
                    continue
                to = nodes[name]
                while here != to:
                    out = np.flatnonzero(network.tail == here)
                    best = network.free_flow_min[out] + distance[network.head[out], to] <= distance[here, to] + 1e-9
                    assert best.sum() == 1
                    driven.append(int(out[best][0]))
                    here = int(network.head[driven[-1]])
            assert driven == list(route.links)
    assert several > 10


def test_memory_of_shortest_paths_is_limited(release: pr.Release) -> None:
    network = release.network
    paths = ShortestPaths(network, most_bytes=3 * 4 * network.nodes)
    first = paths.last_links(0).copy()
    for start in range(network.nodes):
        paths.last_links(start)
        assert len(paths._known) <= 3
    np.testing.assert_array_equal(paths.last_links(0), first)


def test_labels_that_need_care(odd: pr.Release, tmp_path: Path) -> None:
    rows = list(csv.DictReader(hand_over(odd, tmp_path, "splits")[0].read_text().splitlines()))
    assert '"a"' in {row["node"] for row in rows}


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=20))
def test_weights_are_whole_and_near_the_ratios(values: list[float]) -> None:
    ratio = np.array(values) / sum(values)
    weights = whole_weights(ratio, 64)
    assert weights.sum() == 64
    assert weights.min() >= 1
    assert np.abs(weights / 64 - ratio).max() <= ratio.size / 64


def test_too_many_next_hops_are_refused() -> None:
    with pytest.raises(InputError, match="do not fit into 4 buckets"):
        whole_weights(np.full(5, 0.2), 4)
