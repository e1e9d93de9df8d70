"""Numbers behind the sensitivity of the measured quality: rounding of flows, and parts of a user's requests."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
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


@pytest.mark.parametrize("mechanism", [pr.Counts(), pr.Minimiser(alpha=20.0, public_demand=SCENARIO.demand)])
def test_the_declared_movement_is_that_of_theorem_1(mechanism: Any) -> None:
    """Term by term, with the rounding of all entries: at most 1e-12 apart, where rounding is some 1e-9 of it."""
    data = pr.simulate_days(SCENARIO.demand, days=3, seed=1)
    study = study_of(SCENARIO.network, data, mechanism=mechanism)
    published = published_of(study, data)
    asked: Any = question_of(study, published).ask.__self__  # type: ignore[attr-defined]
    counted, least, rows = asked.counted, asked.least, list(asked.rows.values())
    assert (counted.noisy is None) == (mechanism.name == "minimiser")
    moved = [counted.request * least.minutes * (1 + 1e-9), *(row.moved for row in rows)]
    largest = [
        abs(least.offset) + counted.request * float(counted.most @ least.minutes),
        *(row.largest for row in rows),
    ]
    if counted.noisy is None:
        moved += [*(row.beyond for row in rows), np.ones(len(study.pairs))]
        largest += [*(row.largest for row in rows), counted.most.sum()]
    assert asked.multiplier.size == len(moved)
    one = np.sqrt(sum((factor * each) ** 2 for factor, each in zip(asked.multiplier, moved, strict=True))).max()
    roundings = 64 + 4 * SCENARIO.network.latency.roundings().max() + 3
    roundings += max(row.policy.stored.roundings for row in rows)
    sizes = (np.array(largest) + largest[0]) * asked.multiplier
    assert sizes.max() <= 2.0**58 * (1 + 1e-12)
    rounded = np.linalg.norm(2.0**-52 * roundings * sizes + 1)
    assert asked.sensitivity == pytest.approx((one + rounded) * (1 + 1e-9), rel=2e-12)


def test_what_may_be_beyond_the_range_is_the_slack_of_a_row() -> None:
    """Entries of the answer: L, two excesses, what is beyond the range in each, and what is cut off."""

    class Time:
        def largest_loss(self, above: float, most: Any) -> float:
            return above + float(most)

    rows = {name: SimpleNamespace(time=Time(), most=most, binds=True) for name, most in (("a", 1.0), ("b", 2.0))}
    asked: Any = SimpleNamespace(counted=SimpleNamespace(noisy=None), rows=rows)
    deviation = np.array([1.0, 2.0, 3.0, 0.5, 0.25, 1.0])
    found = quality._Asked.measured(asked, np.array([1000.0, 50.0, 70.0, 4.0, -9.0, 3.0]), deviation)
    assert (found["a"].excess, found["a"].deviation, found["a"].at_least) == (50.0, 2.0, False)
    assert found["a"].slack == pytest.approx(4.0 + 3.6 * 0.5 + 1.0)
    assert found["b"].slack == pytest.approx(3.6 * 0.25 + 2.0)
    cut = quality._Asked.measured(asked, np.array([1000.0, 50.0, 70.0, 4.0, -9.0, 3.1]), deviation)
    assert all(row.at_least and row.slack == 0 for row in cut.values())
    large = quality._Asked.measured(asked, np.array([1000.0, 50.0, 70.0, 251.0, 0.0, 0.0]), deviation)
    assert (large["a"].at_least, large["b"].at_least) == (True, False)
    asked.counted.noisy = np.zeros(1)
    known = quality._Asked.measured(asked, np.array([1000.0, 50.0, 70.0]), deviation[:3])
    assert all(row.at_least for row in known.values())  # as their ranges bind
