from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.demand.frames import frames_with_counts, full_frame

import privroute as pr
from privroute.demand.gravity import GravityModel
from privroute.demand.nonnegative import gravity_bins, nonnegative_counts, settle, share_of_counts
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.evaluate.suboptimality import Baseline

WHOLE = st.lists(st.integers(-50, 50) | st.integers(-(2**45), 2**45), min_size=1, max_size=40)
SCALES = st.sampled_from([0.5, 4.5, 39.5, 1e7])


def as_counts(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.float64)


class TestSettle:
    @given(WHOLE)
    def test_keeps_the_total_and_is_nowhere_negative(self, values: list[int]) -> None:
        found = settle(as_counts(values))
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(max(sum(values), 0), rel=1e-12)

    @given(WHOLE, st.floats(0.0, 1.0))
    def test_reaches_any_total_up_to_the_sum_of_the_positive_values(self, values: list[int], part: float) -> None:
        wanted = part * np.maximum(as_counts(values), 0.0).sum()
        found = settle(as_counts(values), wanted)
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(wanted, rel=1e-12)

    @given(WHOLE)
    def test_a_value_stays_or_falls_to_zero_but_for_those_at_one_level(self, values: list[int]) -> None:
        given_values = as_counts(values)
        found = settle(given_values)
        between = (found != given_values) & (found != 0)
        assert np.unique(given_values[between]).size <= 1
        assert (found <= np.maximum(given_values, 0.0)).all()

    @given(WHOLE)
    def test_order_is_kept_and_equal_values_stay_equal(self, values: list[int]) -> None:
        found = settle(as_counts(values))
        order = np.argsort(values, kind="stable")
        assert (np.diff(found[order]) >= 0).all()
        for value in set(values):
            assert np.unique(found[as_counts(values) == value]).size == 1

    @given(WHOLE, st.integers(0, 1000))
    def test_the_order_of_the_pairs_does_not_matter(self, values: list[int], seed: int) -> None:
        turned = np.random.default_rng(seed).permutation(len(values))
        assert settle(as_counts(values)[turned]) == pytest.approx(settle(as_counts(values))[turned], rel=1e-12)

    @given(st.lists(st.integers(0, 2**45), min_size=1, max_size=40))
    def test_values_without_a_negative_one_stay(self, values: list[int]) -> None:
        assert settle(as_counts(values)).tolist() == values

    @given(WHOLE)
    def test_the_factor_of_all_values_is_that_of_the_result(self, values: list[int]) -> None:
        assert settle(4.0 * as_counts(values)).tolist() == (4.0 * settle(as_counts(values))).tolist()

    def test_the_smallest_pay_first(self) -> None:
        assert settle(as_counts([10, -5, 3, 4])).tolist() == [10, 0, 0, 2]
        assert settle(as_counts([10, -5, 4, 4])).tolist() == [10, 0, 1.5, 1.5]
        assert settle(as_counts([1, -5, 4, 0])).tolist() == [0, 0, 0, 0]


class TestGravityBins:
    @given(st.lists(st.floats(0, 1e9), min_size=1, max_size=300), st.integers(1, 30), st.integers(1, 50))
    def test_bins_part_the_pairs_by_expected_demand(self, expected: list[float], bins: int, smallest: int) -> None:
        values = np.array(expected)
        parts = gravity_bins(values, bins=bins, smallest_bin=smallest)
        assert sorted(np.concatenate(parts).tolist()) == list(range(values.size))
        assert len(parts) <= bins
        assert len(parts) == 1 or min(part.size for part in parts) >= smallest
        for one, next_one in itertools.pairwise(parts):
            assert values[one].max() <= values[next_one].min()


class TestShareOfCounts:
    @given(st.integers(1, 200), st.integers(0, 1000), st.sampled_from([0.0, 1.0, 40.0]))
    def test_it_is_a_share(self, pairs: int, seed: int, scale: float) -> None:
        generator = np.random.default_rng(seed)
        values, expected = generator.normal(10, 30, pairs), generator.gamma(1.0, 10.0, pairs)
        assert 0 <= share_of_counts(values, expected, settle(values), scale) <= 1

    def test_extremes(self) -> None:
        values, expected = as_counts([5, 9, 1]), as_counts([5, 8, 2])
        assert share_of_counts(values, expected, values, 0.0) == 1.0
        assert share_of_counts(values, expected, values, 100.0) == 0.0
        assert share_of_counts(1e9 * values, expected, values, 1.0) == pytest.approx(1.0)

    def test_it_falls_with_the_noise(self) -> None:
        generator = np.random.default_rng(1)
        truth, expected = generator.gamma(0.5, 200.0, 4000), np.full(4000, 100.0)
        shares = []
        for scale in (1.0, 30.0, 100.0, 1000.0):
            values = truth + generator.normal(0, scale, truth.size)
            shares.append(share_of_counts(values, expected, settle(values), scale))
        assert shares == sorted(shares, reverse=True)
        assert shares[0] > 0.99


class TestNonnegativeCounts:
    @given(frames_with_counts(), SCALES, st.integers(1, 5), st.integers(1, 4))
    def test_any_counts_give_a_demand_with_their_total(
        self, given_counts: tuple[GravityModel, np.ndarray], scale: float, bins: int, smallest: int
    ) -> None:
        model, counts = given_counts
        found = nonnegative_counts(model, counts, scale, bins=bins, smallest_bin=smallest)
        assert found.shape == counts.shape
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(max(counts.sum(), 0), rel=1e-9)

    @given(frames_with_counts(), st.integers(1, 5))
    def test_without_noise_counts_stay_as_they_are(
        self, given_counts: tuple[GravityModel, np.ndarray], bins: int
    ) -> None:
        model, counts = given_counts
        counts = np.abs(counts)
        assert nonnegative_counts(model, counts, 0.0, bins=bins, smallest_bin=1).tolist() == counts.tolist()

    @given(st.integers(0, 50), SCALES)
    def test_within_a_bin_the_demand_beyond_the_models_share_keeps_the_order(self, seed: int, scale: float) -> None:
        """Where the model says the same of all pairs, a larger count is never given less."""
        counts = np.random.default_rng(seed).integers(-60, 100, 20)
        model = full_frame(5, np.zeros((5, 5)))
        noise_drowns_the_margins = 1e3 * max(scale, 1.0)
        found = nonnegative_counts(model, counts, noise_drowns_the_margins, bins=1, smallest_bin=1)
        assert (np.diff(found[np.argsort(counts, kind="stable")]) >= -1e-9 * found.max()).all()

    @pytest.mark.parametrize("scale", [0.0, 4.5])
    @pytest.mark.parametrize("counts", [[0, 0], [-7, 3], [-7, -3], [0, 5], [5, -5]])
    def test_two_zones(self, counts: list[int], scale: float) -> None:
        model = full_frame(2, np.zeros((2, 2)))
        found = nonnegative_counts(model, np.array(counts), scale, bins=20, smallest_bin=200)
        assert found.sum() == pytest.approx(max(sum(counts), 0))
        assert (found >= 0).all()

    def test_no_pairs(self) -> None:
        nothing = np.zeros(0, dtype=np.intp)
        model = GravityModel(nothing, nothing, np.zeros(0))
        assert nonnegative_counts(model, nothing, 1.0, bins=20, smallest_bin=200).size == 0

    def test_every_pair_gets_demand_where_there_is_noise(self) -> None:
        scenario = pr.sioux_falls()
        model = GravityModel.of(scenario.network, scenario.demand.pairs)
        counts = np.round(scenario.demand.rate_per_min * 60).astype(np.int64)
        noisy = SeededNoise(3).add_integers(counts, 39.5)
        assert (noisy < 0).any()
        assert (nonnegative_counts(model, noisy, 39.5, bins=20, smallest_bin=200) > 0).all()

    def test_it_is_far_better_than_clipping_on_a_sparse_network(self) -> None:
        """A gravity demand on a grid of which most pairs have less than the noise: clipping doubles the traffic."""
        generator = np.random.default_rng(5)
        scenario = pr.sioux_falls()
        network, pairs = scenario.network, scenario.demand.pairs
        model = GravityModel.of(network, pairs)
        counts = generator.poisson(scenario.demand.rate_per_min * generator.gamma(0.2, 5.0, len(pairs)) * 6)
        scale = 4 * float(np.median(counts))
        noisy = SeededNoise(6).add_integers(counts, scale)
        truth = Baseline.of(network, pr.Demand(pairs, counts / 6))
        percent = [
            truth.percent(pr.solve_optimum(network, pr.Demand(pairs, released / 6)).policy)
            for released in (
                nonnegative_counts(model, noisy, scale, bins=20, smallest_bin=200),
                np.maximum(noisy, 0),
            )
        ]
        assert percent[0] < percent[1]
