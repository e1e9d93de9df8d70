"""From layers of noisy sums to a demand: the solver, the models, and what they agree on without noise."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import truncnorm

import privroute as pr
from privroute.demand import layered_estimate, layers
from privroute.demand import maximum_entropy as solver
from privroute.demand.gravity import GravityModel
from privroute.demand.layered_estimate import Tables, estimate, gravity_prior, likeliest_weight
from privroute.demand.layers import Layer, cells, combined, length_cells
from privroute.demand.maximum_entropy import maximum_entropy
from privroute.demand.positive_mean import positive_mean
from privroute.demand.zone_totals import Ends, zone_totals

SCENARIO = pr.sioux_falls()
PAIRS = SCENARIO.demand.pairs
MODEL = GravityModel.of(SCENARIO.network, PAIRS)
TRUE = SCENARIO.demand.rate_per_min * 600.0


def random_layer(pairs: int, rows: int, seed: int) -> Layer:
    random = np.random.default_rng(seed)
    members = sparse.csr_array((random.random((pairs, rows)) < 0.2).astype(float))
    return Layer(members, random.gamma(2.0, 10.0, rows), random.uniform(0.5, 5.0, rows))


def measured(noise: float, seed: int = 1, *, pairs: bool = True) -> Tables:
    random = np.random.default_rng(seed)
    tables: list[Layer] = []
    for cell in (MODEL.origin, MODEL.destination, length_cells(MODEL.minutes, 12)):
        members = cells(cell, int(cell.max()) + 1)
        exact = members.T @ TRUE
        tables.append(Layer(members, exact + noise * random.normal(size=exact.size), np.full(exact.size, noise)))
    whole = Layer(cells(np.zeros(TRUE.size, np.intp), 1), np.zeros(1), np.full(1, np.inf))
    found = Tables(tables[0], tables[1], tables[2], whole)
    return found.with_pairs(TRUE + noise * random.normal(size=TRUE.size), noise) if pairs else found


class TestEffectiveRows:
    def layer(self, values: NDArray[np.float64], noise: float = 0.0) -> Layer:
        return Layer(cells(np.arange(values.size), values.size), values, np.full(values.size, noise))

    def test_rows_with_equal_sums_count_and_empty_rows_do_not(self) -> None:
        for full in (1, 3, 40):
            values = np.where(np.arange(40) < full, 7.0, 0.0)
            assert self.layer(values).effective_rows == pytest.approx(full)

    def test_the_known_noise_does_not_make_equal_rows_look_concentrated(self) -> None:
        """Mean of twenty draws: near 1,000, where noise left in the squares would make it 500."""
        random = np.random.default_rng(1)
        found = [self.layer(10.0 + random.normal(0, 10.0, 1000), 10.0).effective_rows for _ in range(20)]
        assert np.mean(found) == pytest.approx(1000, rel=0.1)

    @given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=20), st.floats(0, 1e12))
    def test_it_is_between_one_row_and_all_whatever_the_noise_did(self, values: list[float], noise: float) -> None:
        assert 1.0 <= self.layer(np.array(values), noise).effective_rows <= len(values)

    def test_where_all_is_noise_all_rows_count(self) -> None:
        assert self.layer(np.array([3.0, -4.0, 0.5]), 10.0).effective_rows == 3
        assert self.layer(np.array([30.0, -40.0, 0.5]), 10.0).effective_rows == 3


class TestMaximumEntropy:
    @pytest.mark.parametrize("seed", range(5))
    def test_the_solution_is_stationary(self, seed: int) -> None:
        """λ log(d/g) + (d − y)/τ² + B (Bᵀd − z)/s² = 0 in every pair."""
        random = np.random.default_rng(seed)
        layer = random_layer(60, 12, seed)
        prior, weight = random.gamma(1.0, 5.0, 60) + 1e-3, random.uniform(0.1, 2.0, 60)
        counts, deviation = random.normal(5.0, 8.0, 60), random.uniform(1.0, 4.0, 60)
        fit = maximum_entropy(prior, weight, counts, deviation, layer, tolerance=1e-6, max_iterations=1000)
        d = fit.counts
        assert fit.converged
        assert (d > 0).all()
        pull = layer.spread((layer.sums(d) - layer.values) / layer.scale**2)
        assert np.abs(weight * np.log(d / prior) + (d - counts) / deviation**2 + pull).max() < 1e-4

    def test_threads_change_nothing_and_blocks_hardly_anything(self, monkeypatch: pytest.MonkeyPatch) -> None:
        random = np.random.default_rng(3)
        layer = random_layer(60, 12, 3)
        prior, counts = random.gamma(1.0, 5.0, 60) + 1e-3, random.normal(5.0, 8.0, 60)

        def found() -> NDArray[np.float64]:
            return maximum_entropy(prior, np.ones(60), counts, np.full(60, 2.0), layer, tolerance=1e-9).counts

        whole = found()
        monkeypatch.setattr(layers, "_PAIRS_AT_ONCE", 7)
        in_blocks = found()
        monkeypatch.setattr(solver, "available_threads", lambda: 1)
        assert np.array_equal(found(), in_blocks)
        assert in_blocks == pytest.approx(whole, rel=1e-6)
        assert sum(block.members.nnz for block in layer.blocks()) == layer.members.nnz

    def test_a_start_from_fewer_rows_ends_at_the_same_point(self) -> None:
        layer = random_layer(60, 12, 1)
        few = Layer(layer.members[:, :8], layer.values[:8], layer.scale[:8])
        ones = np.full(60, 2.0)
        first = maximum_entropy(ones, ones, ones, ones, few, tolerance=1e-8, max_iterations=1000)
        cold = maximum_entropy(ones, ones, ones, ones, layer, tolerance=1e-8, max_iterations=1000)
        warm = maximum_entropy(
            ones, ones, ones, ones, layer, start=first.multipliers, tolerance=1e-8, max_iterations=1000
        )
        assert warm.counts == pytest.approx(cold.counts, rel=1e-5)

    def test_it_says_when_it_has_not_converged(self) -> None:
        ones = np.ones(60)
        fit = maximum_entropy(ones, ones, ones, ones, random_layer(60, 12, 2), tolerance=1e-12, max_iterations=2)
        assert not fit.converged
        assert fit.residual > 1e-12


class TestZones:
    def ends(self, values: NDArray[np.float64], variance: float) -> Ends:
        count = values.size
        return Ends(
            np.arange(count), np.full(count, 1 / count), np.linspace(5, 9, count), values, np.full(count, variance)
        )

    def test_totals_without_noise_stay_as_they_are(self) -> None:
        out, back = np.array([10.0, 40.0, 50.0]), np.array([30.0, 30.0, 40.0])
        sends, receives = zone_totals(self.ends(out, 1e-9), self.ends(back, 1e-9), 3, 100.0)
        assert sends == pytest.approx(out, rel=1e-4)
        assert receives == pytest.approx(back, rel=1e-4)

    def test_totals_that_are_noise_become_even(self) -> None:
        random = np.random.default_rng(1)
        noisy = 100.0 + 1e4 * random.normal(size=20)
        sends, _ = zone_totals(self.ends(noisy, 1e8), self.ends(noisy[::-1], 1e8), 20, 2000.0)
        assert sends.sum() == pytest.approx(2000.0)
        assert np.abs(sends / 100.0 - 1).max() < 0.2


class TestModels:
    @pytest.mark.parametrize("value", [-50.0, -3.0, 0.0, 2.0, 40.0])
    def test_a_positive_number_is_estimated_by_the_mean_of_its_truncated_normal(self, value: float) -> None:
        expected = max(truncnorm.mean(-value / 5.0, np.inf, loc=value, scale=5.0), 1.0)
        assert positive_mean(value, 25.0) == pytest.approx(expected, rel=1e-6)

    def test_the_likeliest_weight_finds_how_far_the_truth_is_from_the_prior(self) -> None:
        random = np.random.default_rng(3)
        expected = random.gamma(2.0, 50.0, 20_000)
        values = expected + np.sqrt(expected / 0.05 + 4.0) * random.normal(size=expected.size)
        assert likeliest_weight(values, expected, np.full(expected.size, 4.0), expected)[1] == pytest.approx(
            0.05, rel=0.3
        )

    def test_the_likeliest_weight_is_the_best_of_all_that_are_tried(self) -> None:
        random = np.random.default_rng(4)
        for _ in range(60):
            size, spread, noise = (
                int(random.integers(3, 300)),
                10.0 ** random.uniform(-7, 1),
                10.0 ** random.uniform(-3, 6),
            )
            expected = random.gamma(2.0, 50.0, size)
            values = expected + np.sqrt(expected / spread + noise) * random.standard_t(3, size=size)
            found, weight = likeliest_weight(values, expected, np.full(size, noise), expected)
            each = noise + expected / layered_estimate._WEIGHTS[:, None]
            all_of_them = -0.5 * ((values - expected) ** 2 / each + np.log(each)).sum(axis=1)
            all_of_them += np.log(layered_estimate._WEIGHTS)
            assert found == pytest.approx(all_of_them.max(), rel=1e-12)
            assert weight == layered_estimate._WEIGHTS[np.argmax(all_of_them)]

    def test_a_prior_is_positive_and_has_the_measured_total(self) -> None:
        for noise in (1.0, 1e3, 1e6):
            tables = measured(noise)
            prior = gravity_prior(MODEL, PAIRS, tables)
            assert (prior > 0).all()
            assert prior.sum() == pytest.approx(positive_mean(*tables.total), rel=1e-3)

    def test_without_noise_the_estimate_is_the_truth(self) -> None:
        tables = measured(1e-3)
        found = estimate(gravity_prior(MODEL, PAIRS, tables), combined(tables.layers), tables)
        assert found.counts == pytest.approx(TRUE, abs=0.05)

    def test_sums_bring_the_estimate_nearer_to_the_truth(self) -> None:
        tables = measured(300.0)
        prior = gravity_prior(MODEL, PAIRS, tables)
        found = estimate(prior, combined(tables.layers), tables)
        alone = estimate(prior, combined(measured(300.0, pairs=False).layers), measured(300.0, pairs=False))
        errors = [np.linalg.norm(counts - TRUE) for counts in (found.counts, alone.counts, tables.pairs)]  # type: ignore[operator]
        assert errors[0] < errors[1]
        assert errors[0] < errors[2]

    def test_a_table_measured_twice_has_the_mean_by_inverse_variance(self) -> None:
        layer = measured(2.0).origins
        again = layer.again(layer.values + 5.0, 1.0)
        assert again.values - layer.values == pytest.approx(np.full(layer.values.size, 4.0))
        assert again.scale == pytest.approx(np.full(layer.values.size, 0.8**0.5))
        twice = replace(measured(2.0)).with_pairs(np.zeros(TRUE.size), 2.0)
        assert twice.pairs_scale == pytest.approx(2**0.5)


def test_lengths_are_in_bins_of_about_equally_many_pairs() -> None:
    found = length_cells(MODEL.minutes, 12)
    assert set(found.tolist()) == set(range(found.max() + 1))
    assert found.max() + 1 <= 12
    for lower, upper in pairwise(range(found.max() + 1)):
        assert MODEL.minutes[found == lower].max() <= MODEL.minutes[found == upper].min()
    assert length_cells(np.ones(7), 12).tolist() == [0] * 7
