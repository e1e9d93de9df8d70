"""Several periods and kinds of days: what they cost together is never more than what the certificate says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import privroute as pr
from privroute.demand.neighbouring_periods import Estimate, neighbours, smoothed
from privroute.errors import GuaranteeError, HistoryError
from privroute.history.period_histories import PeriodHistories
from privroute.mechanism.learn import Announcement, learn_with_noise
from privroute.study.calendar import Calendar

WEEK = ("2026-03-02", "2026-03-08")
KINDS = {"workday": "mon-fri", "weekend": "sat,sun"}
GUARANTEE = pr.Guarantee(1.0, 1e-6)


def calendar(**more: Any) -> Calendar:
    return Calendar.of(["06:00-08:00/60min", "22:00-02:00"], WEEK, day_types=KINDS, **more)


def frame_of(unit: str | None = None, **more: Any) -> tuple[pr.Network, pr.Frame]:
    city = pr.sioux_falls()
    kept = None if unit is None else pr.Contribution(unit, **more)  # type: ignore[arg-type]
    return city.network, pr.Frame(city.demand.pairs, calendar(), contribution=kept)


def histories(frame: pr.Frame, counts: list[NDArray[np.int64]], requests: list[int] | None = None) -> PeriodHistories:
    parts = [
        pr.DemandHistory.of(each, table, requests=None if requests is None else requests[at])
        for at, (each, table) in enumerate(zip(frame.parts, counts, strict=True))
    ]
    return PeriodHistories.of(frame, parts)


class Replayed:
    """Noise that gives two histories the same noisy answers, and adds up what telling them apart costs."""

    def __init__(self) -> None:
        self.first: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self.cost: float | None = None
        self._at = 0
        self._chance = np.random.default_rng(1)

    def again(self) -> None:
        self.cost, self._at = 0.0, 0

    def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        if self.cost is None:
            noisy = values + np.rint(self._chance.normal(0, scale, values.size)).astype(np.int64)
            self.first.append((values, noisy))
            return noisy
        before, noisy = self.first[self._at]
        self._at += 1
        moved = (values - before).astype(float)
        self.cost += float(moved @ moved) / (2 * scale**2)
        return noisy


def cost_between(study: pr.Study, one: PeriodHistories, other: PeriodHistories) -> float:
    noise = Replayed()
    learn_with_noise(study, one, None, None, noise)
    noise.again()
    learn_with_noise(study, other, None, None, noise)
    assert noise.cost is not None
    return noise.cost


def some_counts(frame: pr.Frame, chance: np.random.Generator) -> list[NDArray[np.int64]]:
    return [chance.poisson(3.0, (part.days, len(part.pairs))) for part in frame.parts]


@pytest.mark.parametrize("mechanism", ["counts", "daily", "layered"])
def test_one_request_costs_no_more_in_many_periods_than_in_one(mechanism: str) -> None:
    network, frame = frame_of()
    study = pr.Study(network, frame, GUARANTEE, mechanism, quality_share=0.2)  # type: ignore[arg-type]
    rho = Announcement(study).certificate.rho or 0.0
    chance = np.random.default_rng(2)
    counts = some_counts(frame, chance)
    with_one = [table.copy() for table in counts]
    slot = int(chance.integers(len(counts)))
    with_one[slot][0, int(chance.integers(len(frame.pairs)))] += 1
    cost = cost_between(study, histories(frame, counts), histories(frame, with_one))
    assert 0 < cost <= rho
    assert rho == Announcement(replace(study, frame=frame.parts[0])).certificate.rho


def spread(frame: pr.Frame, chance: np.random.Generator, most: int, per_pair: int) -> list[NDArray[np.int64]]:
    """Requests of one user over all slots: at most `most` in all and `per_pair` for one pair in all."""
    tables = [np.zeros((part.days, len(part.pairs)), np.int64) for part in frame.parts]
    made = np.zeros(len(frame.pairs), np.int64)
    few = chance.choice(len(frame.pairs), 2, replace=False)
    slots = chance.choice(len(tables), int(chance.integers(1, len(tables) + 1)), replace=False)
    for _ in range(most):
        pair = int(chance.choice(few))
        if made[pair] < per_pair:
            made[pair] += 1
            table = tables[int(chance.choice(slots))]
            table[int(chance.integers(len(table))), pair] += 1
    return tables


@pytest.mark.parametrize("mechanism", ["counts", "layered"])
@pytest.mark.parametrize("seed", range(4))
def test_a_user_whose_requests_are_bounded_in_all_periods_together_costs_rho_at_most(mechanism: str, seed: int) -> None:
    most, per_pair, total = 6, 4, 20
    network, frame = frame_of("user", max_requests=most, max_per_pair=per_pair, max_for_total=total)
    promised = pr.Guarantee(1.0, 1e-6, "user")
    study = pr.Study(network, frame, promised, mechanism, quality_share=0.2, total_share=0.2)  # type: ignore[arg-type]
    rho = Announcement(study).certificate.rho or 0.0
    chance = np.random.default_rng(seed)
    counts, own = some_counts(frame, chance), spread(frame, chance, most, per_pair)
    requests = [int(table.sum()) for table in counts]
    more = chance.multinomial(total, np.full(len(counts), 1 / len(counts))).tolist()
    joined = [table + added for table, added in zip(counts, own, strict=True)]
    all_requests = [before + added for before, added in zip(requests, more, strict=True)]
    cost = cost_between(study, histories(frame, counts, requests), histories(frame, joined, all_requests))
    assert 0 < cost <= rho


def test_the_bound_is_reached_by_a_user_with_all_requests_in_one_period() -> None:
    network, frame = frame_of("user", max_requests=5)
    study = pr.Study(network, frame, pr.Guarantee(1.0, 1e-6, "user"), "counts", quality_share=0.0)  # type: ignore[arg-type]
    rho = Announcement(study).certificate.rho or 0.0
    counts = some_counts(frame, np.random.default_rng(3))
    joined = [table.copy() for table in counts]
    joined[2][0, 7] += 5
    assert cost_between(study, histories(frame, counts), histories(frame, joined)) == pytest.approx(rho, rel=1e-6)


@pytest.mark.parametrize(
    ("unit", "slots", "weights"),
    [
        ("user", range(6), {}),
        ("user", range(6), {"06:00-07:00": 3.0, "weekend": 0.5}),
        ("user-day", range(3), {}),
        ("user-day", range(3, 6), {"weekend 07:00-08:00": 10.0}),
    ],
)
def test_bounds_in_each_period_divide_the_budget(unit: Any, slots: range, weights: dict[str, float]) -> None:
    network, frame = frame_of(unit, max_requests=4, each_period=True)
    study = pr.Study(
        network,
        frame,
        pr.Guarantee(1.0, 1e-6, unit),
        pr.Counts(),
        quality_share=0.0,
        period_weights=weights,
    )
    rho = Announcement(study).certificate.rho or 0.0
    counts = some_counts(frame, np.random.default_rng(4))
    joined = [table.copy() for table in counts]
    for slot in slots:  # a user's day is of one kind
        joined[slot][0, 3] += 4
    cost = cost_between(study, histories(frame, counts), histories(frame, joined))
    assert cost <= rho
    assert cost == pytest.approx(rho, rel=1e-6)
    one = [table.copy() for table in counts]
    one[slots[0]][0, 3] += 4
    alone = cost_between(study, histories(frame, counts), histories(frame, one))
    assert alone == pytest.approx(study.period_shares[slots[0]] * rho, rel=1e-6)


def test_each_period_has_the_policy_that_it_would_have_alone() -> None:
    network, frame = frame_of()
    study = pr.Study(network, frame, GUARANTEE, "counts")  # type: ignore[arg-type]
    counts = some_counts(frame, np.random.default_rng(5))
    release = pr.learn(study, histories(frame, counts))
    assert len(release.parts) == len(release.slots) == 6
    for each, table in zip(release.each(), counts, strict=True):
        assert each.noisy_counts is not None
        assert np.abs(each.noisy_counts - table.sum(axis=0)).max() < 8 * (release.certificate.noise_scale or 0.0)
        alone = pr.solve_optimum(network, each.demand or pr.sioux_falls().demand).policy
        assert each.policy.as_paths() == alone.as_paths()
        assert each.quality is not None
    assert release.slot == max(release.each(), key=lambda each: each.demand.total_per_min if each.demand else 0).slot


def test_histories_of_other_periods_and_flow_mechanisms_are_refused() -> None:
    network, frame = frame_of()
    study = pr.Study(network, frame, GUARANTEE, "counts")  # type: ignore[arg-type]
    other = replace(frame, calendar=Calendar.of(["06:00-08:00/60min"], WEEK, day_types=KINDS))
    with pytest.raises(HistoryError, match="is not what the study describes"):
        pr.learn(study, histories(other, some_counts(other, np.random.default_rng(1))))
    with pytest.raises(GuaranteeError, match="learns one period"):
        pr.Study(network, frame, GUARANTEE, pr.Minimiser(alpha=10.0))
    with pytest.raises(GuaranteeError, match="only valid with each_period"):
        pr.Study(network, frame, GUARANTEE, period_weights={"workday": 2.0})
    _, bounded = frame_of("user", max_requests=2, each_period=True)
    with pytest.raises(GuaranteeError, match="neither a period nor a kind of day"):
        pr.Study(network, bounded, pr.Guarantee(1.0, 1e-6, "user"), period_weights={"noon": 2.0})


def test_neighbouring_periods_borrow_strength_as_far_as_they_are_alike() -> None:
    chance = np.random.default_rng(6)
    shape = chance.gamma(1.0, 20.0, 500)
    scale = 15.0
    truth = [shape, 2 * shape, 1.5 * shape, chance.permutation(shape)]
    noisy = [Estimate(chance.poisson(each) + chance.normal(0, scale, 500), scale) for each in truth]
    better = smoothed(noisy, [(1,), (0, 2), (1,), (2,)])
    error = [
        (float(np.mean((one.counts - each) ** 2)), float(np.mean((other.counts - each) ** 2)))
        for one, other, each in zip(noisy, better, truth, strict=True)
    ]
    assert all(after < 0.8 * before for before, after in error[:3])
    assert error[3][1] < 1.1 * error[3][0]  # another distribution: nothing to borrow, and nothing lost
    assert all(after.scale < before.scale for before, after in zip(noisy[:3], better[:3], strict=True))
    drowned = [Estimate(chance.normal(0, scale, 500), scale), noisy[0]]
    assert smoothed(drowned, [(1,), (0,)])[1] is noisy[0]
    assert neighbours(calendar().slots) == [(1,), (0,), (), (4,), (3,), ()]


def test_smoothing_is_a_public_option() -> None:
    network, frame = frame_of()
    histories_ = histories(frame, some_counts(frame, np.random.default_rng(5)))
    plain = pr.Study(network, frame, GUARANTEE, pr.Counts(gap=1e-3, smooth_periods=False))
    smooth = pr.Study(network, frame, GUARANTEE, pr.Counts(gap=1e-3))
    assert Announcement(plain).certificate.rho == Announcement(smooth).certificate.rho
    demands = []
    for study in (plain, smooth):
        release = learn_with_noise(study, histories_, None, None, Replayed(), measured=False)
        demands.append([each.demand.rate_per_min for each in release.each() if each.demand is not None])
    assert not np.array_equal(demands[0][0], demands[1][0])
    assert np.array_equal(demands[0][2], demands[1][2])  # the night has no neighbour
