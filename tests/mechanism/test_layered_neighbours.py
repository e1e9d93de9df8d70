"""Neighbours through all rounds of the layered mechanism, by brute force; planted bugs are caught."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.mechanism.layered_cases import (
    PAIRS,
    USER_DAYS,
    USERS,
    granted,
    held,
    history,
    neighbours,
    probe,
    replayed,
    spent,
    study,
    with_requests,
)

import privroute as pr
from privroute.flows.link_loads import counted_links
from privroute.mechanism import layered
from privroute.privacy.calibration import gaussian_rho
from privroute.privacy.sensitivity import summed_counts_sensitivity
from privroute.study.mechanisms import Layered

UNITS = {"request": None, "user": USERS, "user-day": USER_DAYS}
RICH, MIDDLE, POOR, POOREST = 300.0, 2.0, 0.3, 0.01  # requests of a pair and day: other questions for each
LEVELS = (RICH, MIDDLE, POOR, POOREST)


def largest_cost(data: pr.DemandHistory, seed: int = 5) -> float:
    """Largest rho over the neighbours, over the rho that is charged."""
    promise, asked, _ = held(study(data), data, seed=seed)
    worst = max(sum(spent(asked, data, other)) for other in neighbours(data))
    return worst / (2 * promise.integer_scale**2) / promise.rho


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("mean", LEVELS)
def test_no_neighbour_costs_more_than_is_charged(unit: str, mean: float) -> None:
    """And some cost nearly as much, so the search would see a bound that is too small."""
    data = history(mean, contribution=UNITS[unit])
    found = [largest_cost(data, seed) for seed in range(4)]
    assert max(found) <= 1.0
    assert max(found) > 0.9 if unit == "request" else max(found) > 0.6


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("mean", LEVELS)
def test_each_question_stays_within_what_it_declares_and_what_was_promised(unit: str, mean: float) -> None:
    data = history(mean, contribution=UNITS[unit])
    promise, asked, _ = held(study(data), data)
    allowed = granted(promise, asked)
    for other in neighbours(data):
        for square, (question, _), promised in zip(spent(asked, data, other), asked, allowed, strict=True):
            assert square**0.5 <= question.sensitivity / promise.grid * (1 + 1e-12)
            assert question.sensitivity <= promised


def test_the_questions_cost_what_a_ledger_is_charged() -> None:
    for contribution in UNITS.values():
        promise = layered.promise(study(history(RICH, contribution=contribution)))
        each = [gaussian_rho(promise.integer_scale, one / promise.grid) for one in promise.questions]
        assert sum(each) <= promise.rho


def test_shares_of_the_budget_are_those_of_the_options() -> None:
    for contribution in UNITS.values():
        chosen = study(history(RICH, contribution=contribution))
        squares = np.square(layered.promise(chosen).questions)
        assert squares / squares.sum() == pytest.approx([0.06, 0.06, 0.03, 0.15, 0.4, 0.15, 0.15], rel=0.01)
        assert squares.sum() ** 0.5 == pytest.approx(
            summed_counts_sensitivity(chosen.promised, contribution), rel=2e-3
        ), "as much noise as counts have"


def swapped(data: pr.DemandHistory) -> pr.DemandHistory:
    """Other raw counts: those of all pairs in the opposite order."""
    return pr.DemandHistory.of(data.frame, data.counts[:, ::-1].copy())


@pytest.mark.parametrize("mean", LEVELS)
def test_questions_and_release_depend_on_noisy_answers_alone(mean: float) -> None:
    """The same answers with other raw data behind them: the same questions, the same policy and demand."""
    data = history(mean)
    _, asked, published = held(study(data), data)
    same = replayed(study(data), swapped(data), asked)
    assert same is not None
    assert published.policy == same.policy
    assert published.demand == same.demand


def test_each_level_of_clarity_has_questions_of_its_own() -> None:
    """So that the levels above search neighbours of every branch."""
    found = []
    for mean in LEVELS:
        data = history(mean)
        promise, asked, _ = held(study(data), data)
        assert len(granted(promise, asked)) == len(asked) == len(promise.questions) - (mean == RICH)
        found.append([probe(question, data).shape[1] for question, _ in asked[3:]])
    assert found[0][0] == len(PAIRS), "both questions about pairs in one"
    assert found[1][0] < len(PAIRS) == found[1][1]
    assert found[2] == found[3] == [13] * 4, "six zones at either end and the total"
    weights = [probe(held(study(history(mean)), history(mean))[1][3][0], history(mean))[0, -1] for mean in LEVELS[2:]]
    assert weights[1] > weights[0], "the poorest ask mostly for the total"


def test_rounds_follow_the_noisy_answers() -> None:
    """Otherwise the test above could not fail."""
    data = history(RICH)
    _, asked, _ = held(study(data), data, seed=1)
    differ = False
    for seed in range(2, 6):
        _, other, _ = held(study(data), data, seed=seed)
        for (question, _), (same, _) in zip(asked[:4], other[:4], strict=True):
            assert np.array_equal(probe(question, data), probe(same, data))
        differ |= not np.array_equal(probe(asked[5][0], data), probe(other[5][0], data))
    assert differ


class TestPlantedBugs:
    def test_a_round_that_looks_at_raw_counts_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        data = history(RICH)
        private = [data]

        def peeking(network: pr.Network, demand: pr.Demand, most: int, **options: Any) -> Any:
            counts = private[0].counts.sum(axis=0)
            return counted_links(network, pr.Demand(demand.pairs, counts / 120.0), most, **options)

        monkeypatch.setattr(layered, "counted_links", peeking)
        _, asked, _ = held(study(data), data)
        assert replayed(study(data), data, asked) is not None
        private[0] = swapped(data)
        assert replayed(study(data), private[0], asked) is None

    def test_multipliers_of_shares_that_sum_to_more_than_1_are_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        data = history(RICH)
        chosen = study(data)
        promise = layered.promise(chosen)
        right = layered._Multipliers.of(chosen)
        larger = replace(right, pairs=(right.pairs[0], int(right.pairs[1] * (0.5 / 0.4) ** 0.5)))  # sum to 1.1
        monkeypatch.setattr(layered._Multipliers, "of", lambda _: larger)
        monkeypatch.setattr(layered, "promise", lambda _: promise)
        assert largest_cost(data) > 1.0

    def test_shares_that_sum_to_more_than_1_are_refused(self) -> None:
        with pytest.raises(pr.PrivrouteError, match=r"sum to 1\.1; shares of one privacy budget sum to 1"):
            Layered(pairs_share=0.5)

    def test_link_loads_with_the_sensitivity_of_pairs_are_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """√(k k_p) instead of k: a user who goes k times through one link, for several pairs, costs too much."""
        data = history(RICH, contribution=USERS)

        def of_pairs(guarantee: pr.Guarantee, kept: pr.Contribution | None = None, *, squared_row: int = 1) -> float:
            return summed_counts_sensitivity(guarantee, kept) * math.sqrt(squared_row)

        monkeypatch.setattr(layered, "sums_of_pairs_sensitivity", of_pairs)
        assert largest_cost(data) > 1.0

    def test_link_multipliers_that_are_not_rounded_down_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        data = history(RICH)

        def precise(network: pr.Network, demand: pr.Demand, most: int, **options: Any) -> Any:
            found = counted_links(network, demand, most, **options)
            return replace(found, precision=found.precision * 1.01)

        monkeypatch.setattr(layered, "counted_links", precise)
        with pytest.raises(pr.PrivrouteError, match="exceeds what the release promised"):
            pr.learn(study(data), data)

    def test_a_link_that_a_pair_has_twice_is_counted_in_the_sensitivity(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Sparse matrices add up entries that are given twice; the sensitivity is taken from the sum."""
        data = history(RICH)

        def twice(network: pr.Network, demand: pr.Demand, most: int, **options: Any) -> Any:
            found = counted_links(network, demand, most, **options)
            return replace(found, members=sparse.csr_array(found.members * 2.0))

        monkeypatch.setattr(layered, "counted_links", twice)
        with pytest.raises(pr.PrivrouteError, match="exceeds what the release promised"):
            pr.learn(study(data), data)


def test_counts_at_the_cap_move_by_at_most_one_request() -> None:
    """Sums of the largest counts that a history may have do not overflow."""
    data = history(RICH)
    promise, asked, _ = held(study(data), data)
    most = pr.DemandHistory.of(data.frame, np.full_like(data.counts, 2**40))
    for other in (with_requests(data, [(0, 3)]), most):
        for (question, _), promised in zip(asked, granted(promise, asked), strict=True):
            assert question.ask(other, None).min() >= 0
            assert question.ask(other, None).max() <= 2**62
            assert promised > 0
    less = most.counts.copy()
    less[0, 0] -= 1
    assert sum(spent(asked, pr.DemandHistory.of(data.frame, less), most)) / promise.integer_scale**2 <= 2 * promise.rho


@pytest.mark.parametrize("kept", [pr.Contribution("user", 2**20, 1), pr.Contribution("user", 1000, 1)])
def test_large_bounds_on_users_leave_questions_within_the_promise(kept: pr.Contribution) -> None:
    for mean in LEVELS:
        data = history(mean, contribution=kept)
        promise, asked, _ = held(study(data), data)
        for (question, _), promised in zip(asked, granted(promise, asked), strict=True):
            assert 0 < question.sensitivity <= promised
