"""Numbers behind the sensitivity of the measured quality: rounding of flows, and parts of a user's requests."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.mechanism.quality_cases import SCENARIO, moved, one_more, published_of, question_of, study_of

import privroute as pr
from privroute.mechanism import quality
from privroute.mechanism.quality import moved_together
from privroute.policy.bushes import Bushes


def diamonds(count: int) -> pr.Network:
    """A chain of diamonds, each with two ways of nearly the same cost: 2^count paths from one end to the other."""
    first = 3 * np.arange(count)
    tail = np.concatenate([first, first, first + 1, first + 2])
    head = np.concatenate([first + 1, first + 2, first + 3, first + 3])
    chance = np.random.default_rng(1)
    minutes = chance.uniform(1.0, 1.1, 4 * count)
    return pr.Network(tail, head, pr.Latency.bpr(minutes, np.full(4 * count, 0.5)), range(3 * count + 1))


def exact_load(bushes: Bushes, rates: np.ndarray[Any, Any]) -> list[Fraction]:
    """Σ_w rate_w x_w by link, in fractions."""
    network = bushes.network
    flow = [Fraction(0)] * network.links
    for bush in range(bushes.root.size):
        links = bushes.links[bushes.link_start[bush] : bushes.link_start[bush + 1]].tolist()
        shares = iter(bushes.share[bushes.share_start[bush] : bushes.share_start[bush + 1]].tolist())
        heads = [int(network.head[link]) for link in links]
        share = [Fraction(next(shares)) if heads.count(node) > 1 else Fraction(1) for node in heads]
        load = [Fraction(0)] * network.nodes
        for pair in np.flatnonzero(bushes.bush_of_pair == bush).tolist():
            load[int(bushes.pairs.destination[pair])] += Fraction(float(rates[pair]))
        for link, node, part in zip(reversed(links), reversed(heads), reversed(share), strict=True):
            flow[link] += load[node] * part
            load[int(network.tail[link])] += load[node] * part
    return flow


@pytest.mark.parametrize("stored", ["by origin", "as paths"])
@pytest.mark.parametrize("network", [diamonds(9), SCENARIO.network], ids=["diamonds", "sioux falls"])
def test_flows_are_off_by_no_more_roundings_than_counted(network: pr.Network, stored: str) -> None:
    pairs = SCENARIO.demand.pairs if network is SCENARIO.network else pr.Pairs([0, 0, 3], [27, 24, 27])
    rates = np.random.default_rng(2).exponential(3.0, len(pairs))
    policy = pr.solve_optimum(network, pr.Demand(pairs, rates), gap=1e-6).policy
    assert isinstance(policy.stored, Bushes)
    exact = exact_load(policy.stored, rates)
    if stored == "as paths":  # whose probabilities are rounded themselves, so paths are compared with paths
        policy = policy.as_paths()
        exact = [Fraction(0)] * network.links
        of_path = np.repeat(np.arange(len(pairs)), np.diff(policy.pair_start))
        for path, pair in enumerate(of_path.tolist()):
            amount = Fraction(float(rates[pair])) * Fraction(float(policy.probability[path]))
            for link in policy.links[policy.path_start[path] : policy.path_start[path + 1]].tolist():
                exact[link] += amount
    most = Fraction(policy.stored.roundings, 2**53)
    found = policy.stored.load(rates)
    assert all(abs(Fraction(float(value)) - true) <= most * true for value, true in zip(found, exact, strict=True))


def test_a_policy_with_very_many_paths_is_measured_as_sharply_as_others() -> None:
    """2⁶⁰ paths, each of which is no rounding of its own."""
    network, pairs = diamonds(60), pr.Pairs([0], [180])
    data = pr.DemandHistory(pairs, np.full((3, 1), 300))
    study = study_of(network, data)
    question = question_of(study, published_of(study, data))
    assert moved(question, data, one_more(data, 0, 0)) > 0.1


@pytest.mark.parametrize("rounded", [0.0, 1e-6, 1.0, 2.9, 3.1, 50.0])
@pytest.mark.parametrize("requests", [1, 2, 9, 200])
def test_a_part_of_a_users_requests_moves_no_more_than_its_part_costs(rounded: float, requests: int) -> None:
    """Rounding enters with the first request: √(n/k) S all the same, which a ledger of one kept set relies on."""
    whole = moved_together(requests, 1.0, rounded)
    assert whole >= requests + rounded
    for part in range(1, requests + 1):
        assert part + rounded <= math.sqrt(part / requests) * whole * (1 + 1e-12)


def test_counts_beyond_the_public_limit_are_cut_off_and_told() -> None:
    """Rounding bounds and the range of integers rest on this limit."""
    pairs = pr.Pairs([0, 0], [1, 2])
    history = pr.DemandHistory(pairs, [[10, 1], [20, 2]])
    counted = quality._Counted(np.array([1.0, 0.5]), 1.0, np.array([5.0, 5.0]), 1)
    assert counted.sums(history).tolist() == [5.0, 2.0]
    assert counted.cut(history) == 5.0  # of fifteen too many as many as are left
