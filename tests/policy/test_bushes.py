"""A policy by origin is what its routes say: everything it answers without writing them out agrees with them."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.network.strategies import networks
from tests.policy.strategies import bush_policies, diamonds
from tests.reference import bushes as twin
from tests.statistical.rates import EACH

import privroute as pr
from privroute.errors import PolicyError

LARGE = settings(max_examples=150, deadline=None)


@given(bush_policies(), st.integers(0, 2**32))
@LARGE
def test_sweeps_agree_with_the_routes_written_out(policy: pr.RoutingPolicy, seed: int) -> None:
    network, count = policy.network, len(policy.pairs)
    chance = np.random.default_rng(seed)
    rate, value = chance.uniform(0, 5, count), chance.uniform(0, 3, network.links)
    written = [twin.routes(policy, pair) for pair in range(count)]
    flows = np.zeros((count, network.links))
    for row, routes in zip(flows, written, strict=True):
        for route in routes:
            row[list(route.links)] += route.probability
    assert policy.unit_flows(np.arange(count)) == pytest.approx(flows, abs=1e-12)
    assert policy.link_flow(pr.Demand(policy.pairs, rate)) == pytest.approx(
        network.background_per_min + rate @ flows, rel=1e-12, abs=1e-9
    )
    assert policy.expected(value) == pytest.approx(flows @ value, rel=1e-12, abs=1e-12)
    assert policy.likeliest() == pytest.approx([max(route.probability for route in routes) for routes in written])
    assert np.diff(policy.first_path()).tolist() == [len(routes) for routes in written]
    assert policy.pairs_using().tolist() == np.count_nonzero(flows, axis=0).tolist()
    size = policy.summary()
    assert (size.pairs, size.paths) == (count, sum(map(len, written)))
    assert size.most_paths == max(map(len, written), default=0)
    links = [len(route.links) for routes in written for route in routes]
    assert size.mean_links == pytest.approx(np.mean(links) if links else 0.0)


@given(bush_policies(), st.integers(0, 2**32))
@LARGE
def test_flows_are_as_exact_as_they_say(policy: pr.RoutingPolicy, seed: int) -> None:
    """Against fractions, for both forms of storage."""
    rate = np.random.default_rng(seed).uniform(0, 5, len(policy.pairs))
    written = policy.as_paths()
    bare = policy.network.background_per_min
    for each in (policy, written):
        found = each.stored.load(rate)
        exact = [Fraction(0)] * policy.network.links
        for pair in range(len(policy.pairs)):
            for links, probability in _exact_routes(each, pair):
                for link in links:
                    exact[link] += probability * Fraction(float(rate[pair]))
        allowed = Fraction(each.stored.roundings, 2**53)
        assert all(
            abs(Fraction(float(flow)) - wanted) <= allowed * wanted for flow, wanted in zip(found, exact, strict=True)
        )
    assert policy.link_flow(pr.Demand(policy.pairs, rate)) == pytest.approx(bare + policy.stored.load(rate), abs=0)


def _exact_routes(policy: pr.RoutingPolicy, pair: int) -> list[tuple[tuple[int, ...], Fraction]]:
    """Links and exact probability of each route, from the stored numbers."""
    if not policy.is_by_origin:
        stored = policy.paths
        ids = range(int(stored.pair_start[pair]), int(stored.pair_start[pair + 1]))
        parts = [stored.links[stored.path_start[path] : stored.path_start[path + 1]].tolist() for path in ids]
        return [
            (tuple(links), Fraction(float(stored.probability[path]))) for path, links in zip(ids, parts, strict=True)
        ]
    network, bushes = policy.network, policy.bushes
    bush = int(bushes.bush_of_pair[pair])
    entering: dict[int, list[int]] = {}
    for link in bushes.links[bushes.link_start[bush] : bushes.link_start[bush + 1]].tolist():
        entering.setdefault(int(network.head[link]), []).append(link)
    shares = iter(bushes.share[bushes.share_start[bush] : bushes.share_start[bush + 1]].tolist())
    share = {
        link: Fraction(next(shares)) if len(links) > 1 else Fraction(1) for links in entering.values() for link in links
    }
    found: list[tuple[tuple[int, ...], Fraction]] = []
    start: tuple[tuple[int, ...], Fraction, int] = ((), Fraction(1), int(policy.pairs.destination[pair]))
    open_ends = [start]
    while open_ends:
        links, probability, node = open_ends.pop()
        if node == int(policy.pairs.origin[pair]):
            found.append((links, probability))
            continue
        open_ends += [((link, *links), probability * share[link], int(network.tail[link])) for link in entering[node]]
    return found


@given(bush_policies())
@LARGE
def test_the_expansion_into_paths_is_the_same_policy(policy: pr.RoutingPolicy) -> None:
    paths = policy.as_paths()
    count = len(policy.pairs)
    assert not paths.is_by_origin
    assert paths.as_paths() is paths
    rate = np.linspace(1, 2, count)
    demand = pr.Demand(policy.pairs, rate)
    value = np.linspace(0, 1, policy.network.links)
    assert paths.link_flow(demand) == pytest.approx(policy.link_flow(demand), rel=1e-12, abs=1e-9)
    assert paths.expected(value) == pytest.approx(policy.expected(value), rel=1e-12, abs=1e-12)
    assert paths.unit_flows(np.arange(count)) == pytest.approx(policy.unit_flows(np.arange(count)), abs=1e-12)
    assert paths.likeliest() == pytest.approx(policy.likeliest())
    assert np.array_equal(paths.pairs_using(), policy.pairs_using())
    for pair in range(count):
        ends = (policy.network.node_labels[node[pair]] for node in (policy.pairs.origin, policy.pairs.destination))
        origin, destination = ends
        mine, theirs = policy.routes(origin, destination), paths.routes(origin, destination)
        assert {route.links: pytest.approx(route.probability) for route in mine} == {
            route.links: route.probability for route in theirs
        }
        chances = np.array([route.probability for route in mine])
        assert np.all(np.diff(chances) <= 1e-15)
        assert mine.remaining == 0
        assert chances.sum() == pytest.approx(1.0)
        few = policy.routes(origin, destination, limit=2)
        assert few == mine[:2]
        assert few.remaining == pytest.approx(chances[2:].sum(), abs=1e-12)


@given(bush_policies(), st.integers(0, 2**64 - 1))
@settings(max_examples=60, deadline=None)
def test_draws_are_those_of_the_readable_twin(policy: pr.RoutingPolicy, seed: int) -> None:
    wanted = np.repeat(np.arange(len(policy.pairs)), 5)[::-1].copy()
    key, stream = (int(part) for part in np.random.SeedSequence(seed).generate_state(2, np.uint64))
    expected = twin.sample(policy, wanted.tolist(), key, stream)
    start, links, probability = policy.sample_links(wanted, seed=seed)
    drawn = [tuple(links[start[i] : start[i + 1]].tolist()) for i in range(wanted.size)]
    assert drawn == expected
    ids = policy.sample_paths(wanted, seed=seed)
    start, links = policy.path_links(ids)
    assert [tuple(links[start[i] : start[i + 1]].tolist()) for i in range(wanted.size)] == expected
    known = [
        {route.links: route.probability for route in twin.routes(policy, pair)} for pair in range(len(policy.pairs))
    ]
    assert probability == pytest.approx([known[pair][route] for pair, route in zip(wanted, drawn, strict=True)])


@given(bush_policies())
@settings(max_examples=20, deadline=None)
def test_sampled_frequencies_match_the_probabilities_of_both_forms(policy: pr.RoutingPolicy) -> None:
    assume(len(policy.pairs))
    pair, draws = int(np.argmin(policy.likeliest())), 4000
    origin, destination = (
        policy.network.node_labels[node[pair]] for node in (policy.pairs.origin, policy.pairs.destination)
    )
    for form in (policy, policy.as_paths()):
        chance = np.array([route.probability for route in form.routes(origin, destination)])
        counts = np.bincount(form.sample(origin, destination, size=draws, seed=11), minlength=chance.size)
        tail = np.log(2 * chance.size / EACH)
        # Bernstein's inequality
        assert np.all(np.abs(counts - draws * chance) <= np.sqrt(2 * tail * draws * chance * (1 - chance)) + tail)


@given(networks(most_nodes=6, most_links=14, largest=1e3), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_an_optimum_and_its_expansion_agree_also_where_half_of_the_pairs_have_no_demand(
    network: pr.Network, seed: int
) -> None:
    nodes = np.arange(network.nodes)
    first, second = (part.ravel() for part in np.meshgrid(nodes, nodes))
    every = pr.Pairs(first[first != second], second[first != second])
    pairs = every.reachable(network, on_unreachable="drop")
    assume(len(pairs))
    chance = np.random.default_rng(seed)
    demand = pr.Demand(pairs, chance.uniform(0, 10, len(pairs)) * chance.integers(0, 2, len(pairs)))
    solution = pr.solve_optimum(network, demand, gap=1e-6, max_iterations=50)
    paths = solution.policy.as_paths()
    scale = max(float(solution.link_flow.max()), 1.0)
    assert paths.link_flow(demand) == pytest.approx(solution.link_flow, abs=1e-9 * scale)
    again = pr.solve_optimum(network, demand, gap=1e-6, max_iterations=50, start=solution)
    cold = pr.solve_optimum(network, demand, gap=1e-6, max_iterations=50, start=paths)
    for other in (again, cold):
        if solution.status == other.status == "converged":
            assert other.objective == pytest.approx(solution.objective, rel=1e-5)


def test_more_routes_than_floating_point_numbers_count() -> None:
    policy = diamonds(1100)
    size = policy.summary()
    assert size.paths > 2.0**1000
    assert size.mean_links == pytest.approx(2200)
    assert str(size).startswith("1 pairs, more than 1e+18 paths, 2200.0 links a path")
    routes = policy.routes(0, 3300, limit=400)
    assert routes[0].probability == pytest.approx(0.75**1100)
    assert len({route.links for route in routes}) == 400
    assert routes.remaining == pytest.approx(1.0)


def test_more_routes_than_can_be_listed_or_numbered_are_sampled_all_the_same() -> None:
    policy = diamonds(80)
    routes = policy.routes(0, 240, limit=7)
    assert len(routes) == 7
    assert [route.probability for route in routes] == pytest.approx([0.75**80, *[0.75**79 * 0.25] * 6])
    assert routes.remaining == pytest.approx(1.0)
    assert policy.summary().paths == pytest.approx(2.0**80)
    assert policy.expected(np.ones(320)) == pytest.approx(160)
    with pytest.raises(PolicyError, match="too many to write out"):
        policy.as_paths()
    with pytest.raises(PolicyError, match="more routes than can be numbered"):
        policy.sample(0, 240)
    with pytest.raises(PolicyError, match="more routes than can be numbered"):
        policy.sample_paths([0])
    start, links, _ = policy.sample_links(np.zeros(1000, int), seed=1)
    assert np.array_equal(np.diff(start), np.full(1000, 160))
    share = np.bincount(links, minlength=320)[::4] / 1000
    assert np.abs(share - 0.75).max() < 0.1
    with pytest.raises(PolicyError, match="limit"):
        policy.routes(0, 240, limit=0)
    with pytest.raises(PolicyError, match="stored by origin"):
        _ = policy.pair_start


def test_a_pair_with_few_routes_is_sampled_beside_one_with_too_many() -> None:
    policy = diamonds(80)
    both = pr.RoutingPolicy.by_origin(
        policy.network, pr.Pairs([0, 0], [240, 3]), **{**policy.bushes.arrays(), "bush_of_pair": [0, 0]}
    )
    assert set(both.sample(0, 3, size=200, seed=1).tolist()) == {0, 1}
    assert [route.probability for route in both.routes(0, 3)] == [0.75, 0.25]


def test_many_routes_are_ranked_for_draws() -> None:
    policy = diamonds(11)
    ids = policy.sample(0, 33, size=500, seed=4)
    chances = np.array([route.probability for route in policy.routes(0, 33, limit=2**11)])
    assert chances.size == 2**11
    assert chances[ids].mean() == pytest.approx((0.75**2 + 0.25**2) ** 11, rel=0.2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"root": [1]}, "of origin 1 has a link that does not stand behind"),
        ({"root": [4]}, "outside 0 to 3"),
        ({"links": [0, 1, 2, 4]}, "links that the network does not have"),
        ({"links": [0, 1, 2, -1]}, "links that the network does not have"),
        ({"links": [2, 3, 0, 1]}, "does not stand behind"),
        ({"links": [0, 1, 2, 2]}, "does not stand behind"),
        ({"links": [0, 2, 1, 3]}, "a node in two places"),
        ({"share": [0.75, 0.2]}, "do not sum to 1"),
        ({"share": [1.0, 0.0]}, "not positive"),
        ({"share": [np.nan, 0.25]}, "not positive"),
        ({"share": [0.75, 0.25, 0.25], "share_start": [0, 3]}, "more or fewer shares"),
        ({"share": [1.0], "share_start": [0, 1]}, "more or fewer shares"),
        ({"bush_of_pair": [1]}, "outside 0 to 0"),
        ({"bush_of_pair": [0, 0]}, "bush_of_pair has 2 values"),
        ({"link_start": [0, 3]}, "rise from 0 to 4"),
        ({"links": [0, 1], "link_start": [0, 2], "share": [], "share_start": [0, 0]}, "does not reach the destination"),
        ({"pairs": pr.Pairs([1], [3])}, "belongs to another origin"),
        ({"links": [0.5, 1, 2, 3]}, "has type float64"),
    ],
)
def test_unusable_bushes_are_refused(changes: dict[str, Any], message: str) -> None:
    policy = diamonds(1)
    given = {"pairs": policy.pairs, **policy.bushes.arrays(), **changes}
    with pytest.raises(PolicyError, match=message):
        pr.RoutingPolicy.by_origin(policy.network, **given)


def test_bushes_through_a_closed_node_are_refused() -> None:
    policy = diamonds(1)
    network = policy.network
    closed = pr.Network(
        network.tail, network.head, network.latency, network.node_labels, no_through=np.arange(network.nodes) == 1
    )
    with pytest.raises(PolicyError, match="passes through a node that is no through road"):
        pr.RoutingPolicy.by_origin(closed, policy.pairs, **policy.bushes.arrays())


@given(bush_policies(), st.integers(0, 2**32))
@LARGE
def test_the_check_finds_what_its_readable_twin_finds(policy: pr.RoutingPolicy, seed: int) -> None:
    chance = np.random.default_rng(seed)
    arrays: dict[str, Any] = {name: np.array(array) for name, array in policy.bushes.arrays().items()}
    assert not twin.fault(policy, arrays)
    if arrays["links"].size:
        place = chance.integers(arrays["links"].size)
        arrays["links"][place] = chance.integers(policy.network.links)
    if arrays["share"].size and chance.integers(2):
        arrays["share"][chance.integers(arrays["share"].size)] *= chance.choice([1.0, 0.5, -1.0])
    broken = twin.fault(policy, arrays)
    if broken:
        with pytest.raises(PolicyError):
            pr.RoutingPolicy.by_origin(policy.network, policy.pairs, **arrays)
    else:
        pr.RoutingPolicy.by_origin(policy.network, policy.pairs, **arrays)


def test_copies_are_equal_and_nothing_can_be_changed() -> None:
    policy = diamonds(2)
    for again in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy)), copy.copy(policy)):  # noqa: S301 - our own
        assert again == policy
        for array in again.bushes.arrays().values():
            assert not array.flags.writeable
    assert diamonds(2) != diamonds(3)
    assert policy != policy.as_paths()
    assert policy != 3
    with pytest.raises(AttributeError, match="never changes"):
        policy.network = policy.network
    with pytest.raises(AttributeError, match="never changes"):
        del policy.pairs


def test_a_policy_keeps_its_arrays_to_itself() -> None:
    scenario = pr.sioux_falls()
    solved = pr.solve_optimum(scenario.network, scenario.demand, gap=1e-4).policy
    arrays: dict[str, Any] = {name: np.array(array) for name, array in solved.bushes.arrays().items()}
    made = pr.RoutingPolicy.by_origin(scenario.network, solved.pairs, **arrays)
    for array in arrays.values():
        array[:] = 0
    assert made == solved
    for array in solved.bushes.arrays().values():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
