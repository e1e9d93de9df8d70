from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.demand.frames import frames, frames_with_counts, full_frame

import privroute as pr
from privroute.demand.gravity import GravityModel, gravity_demand
from privroute.errors import DemandError
from privroute.evaluate.seeded_noise import SeededNoise

SCALES = st.sampled_from([0.0, 0.5, 39.5, 1e6])


def random_frame(generator: np.random.Generator, zones: int) -> GravityModel:
    place = generator.random((zones, 2))
    return full_frame(zones, 30.0 * np.linalg.norm(place[:, None] - place, axis=2))


class TestBalanced:
    @given(st.integers(4, 12), st.floats(-1.0, 3.0), st.integers(0, 1000))
    def test_margins_that_some_demand_has_are_met(self, zones: int, theta: float, seed: int) -> None:
        generator = np.random.default_rng(seed)
        model = random_frame(generator, zones)
        rows, columns = model.margins(generator.uniform(0.2, 2.0, model.minutes.size))
        found = model.balanced(theta, rows, columns)
        sent, received = model.margins(found)
        assert np.abs(sent - rows).sum() <= 1e-5 * rows.sum()
        assert received == pytest.approx(columns, rel=1e-9)

    @given(st.integers(4, 8), st.floats(-1.0, 3.0), st.integers(0, 1000))
    def test_its_own_model_is_recovered(self, zones: int, theta: float, seed: int) -> None:
        """A table of the form a_o b_d exp(−θ t / t̄) is the only one of that form with its margins."""
        generator = np.random.default_rng(seed)
        model = random_frame(generator, zones)
        factors = generator.uniform(0.1, 10.0, (2, zones))
        truth = np.exp(-theta * model.minutes / model.minutes.mean())
        truth *= factors[0][model.origin] * factors[1][model.destination]
        found = model.balanced(theta, *model.margins(truth))
        assert np.abs(found - truth).sum() <= 1e-3 * truth.sum()

    @given(frames(), st.floats(-1.0, 32.0), st.data())
    def test_any_frame_and_margins_work(self, model: GravityModel, theta: float, data: st.DataObject) -> None:
        """Also margins that no demand on these pairs has: nothing overflows, nothing is negative."""
        rows, columns = (
            np.array(data.draw(st.lists(st.floats(0.0, 1e15), min_size=zones, max_size=zones)))
            for zones in (int(model.origin.max()) + 1, int(model.destination.max()) + 1)
        )
        found = model.balanced(theta, rows, columns)
        assert np.isfinite(found).all()
        assert (found >= 0).all()


class TestFit:
    @given(st.integers(4, 8), st.floats(-0.8, 8.0), st.integers(0, 1000))
    def test_a_gravity_demand_is_recovered_from_itself(self, zones: int, theta: float, seed: int) -> None:
        generator = np.random.default_rng(seed)
        model = random_frame(generator, zones)
        truth = model.balanced(theta, *model.margins(generator.gamma(0.5, size=model.minutes.size) + 0.01))
        found = model.fit(truth)
        assert found.sum() == pytest.approx(truth.sum())
        assert found @ model.minutes == pytest.approx(truth @ model.minutes, rel=5e-3)
        for sums, wanted in zip(model.margins(found), model.margins(truth), strict=True):
            assert np.abs(sums - wanted).sum() <= 1e-4 * truth.sum()

    @given(frames_with_counts(), SCALES)
    def test_any_counts_give_a_demand_with_their_total(
        self, given_counts: tuple[GravityModel, np.ndarray], scale: float
    ) -> None:
        model, counts = given_counts
        found = model.fit(counts.astype(np.float64), scale)
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(max(counts.sum(), 0), rel=1e-9)

    @given(st.integers(0, 100), st.floats(0.1, 1000.0))
    def test_the_unit_of_time_does_not_matter(self, seed: int, factor: float) -> None:
        generator = np.random.default_rng(seed)
        model = random_frame(generator, 5)
        other = GravityModel(model.origin, model.destination, model.minutes * factor)
        counts = generator.poisson(20.0, model.minutes.size).astype(np.float64)
        assert other.fit(counts, 3.0) == pytest.approx(model.fit(counts, 3.0), rel=1e-6)

    def test_margins_are_even_where_the_noise_drowns_them(self) -> None:
        """Zones with the same number of pairs and totals that differ by less than the noise get equal totals."""
        model = full_frame(4, np.ones((4, 4)))
        counts = np.arange(12, dtype=np.float64)
        rows, columns = model.margins(model.fit(counts, 100.0))
        assert rows == pytest.approx(np.full(4, counts.sum() / 4), rel=1e-5)
        assert columns == pytest.approx(np.full(4, counts.sum() / 4), rel=1e-5)

    @pytest.mark.parametrize("minutes", [0.0, 7.0])
    def test_one_pair_and_two_zones(self, minutes: float) -> None:
        one = GravityModel(np.array([0]), np.array([0]), np.array([minutes]))
        assert one.fit(np.array([5.0]), 1.0).tolist() == [5.0]
        assert one.fit(np.array([-5.0]), 1.0).tolist() == [0.0]
        two = full_frame(2, np.full((2, 2), minutes))
        assert two.fit(np.array([30.0, 10.0])) == pytest.approx([30.0, 10.0])
        assert two.fit(np.array([0.0, 0.0]), 4.5).tolist() == [0.0, 0.0]

    def test_pairs_that_cannot_meet_the_totals_share_the_traffic(self) -> None:
        """Two pairs without a zone in common; what one sends the other would have to receive."""
        apart = GravityModel(np.array([0, 1]), np.array([0, 1]), np.array([1.0, 2.0]))
        for counts in ([9.0, -3.0], [-3.0, 9.0], [2.0, 4.0]):
            found = apart.fit(np.array(counts), 1.0)
            assert found.sum() == pytest.approx(6.0)
            assert (found >= 0).all()

    def test_no_pairs_no_traffic(self) -> None:
        nothing = np.zeros(0, dtype=np.intp)
        assert GravityModel(nothing, nothing, np.zeros(0)).fit(np.zeros(0), 1.0).size == 0

    def test_a_large_network_takes_well_under_a_second(self) -> None:
        """As many pairs as Chicago Sketch has; steep, and with noise above most counts."""
        generator = np.random.default_rng(1)
        model = random_frame(generator, 387)
        sizes = generator.lognormal(size=(2, 387))
        expected = sizes[0][model.origin] * sizes[1][model.destination] * np.exp(-0.5 * model.minutes)
        counts = generator.poisson(expected * (5e7 / expected.sum()))
        noisy = SeededNoise(1).add_integers(counts, 39.5).astype(np.float64)
        assert np.median(counts) < 39.5
        start = time.process_time()
        model.fit(noisy, 39.5)
        assert time.process_time() - start < 1.0


class TestGravityDemand:
    scenario = pr.sioux_falls()

    def test_sizes_and_mean_minutes_are_met(self) -> None:
        network, pairs = self.scenario.network, self.scenario.demand.pairs
        model = GravityModel.of(network, pairs)
        sends = np.arange(1.0, network.zones.size + 1)
        wanted = 0.9 * float(model.minutes.mean())
        demand = gravity_demand(network, pairs, sends, sends[::-1], total_per_min=500.0, mean_minutes=wanted)
        rows, columns = model.margins(demand.rate_per_min)
        assert demand.total_per_min == pytest.approx(500.0)
        assert rows == pytest.approx(500.0 * sends / sends.sum(), rel=1e-3)
        assert columns == pytest.approx(500.0 * sends[::-1] / sends.sum(), rel=1e-3)
        assert demand.rate_per_min @ model.minutes / 500.0 == pytest.approx(wanted, rel=5e-3)

    @pytest.mark.parametrize("mean_minutes", [np.nan, np.inf, -1.0])
    def test_impossible_mean_minutes_are_refused(self, mean_minutes: float) -> None:
        network, pairs = self.scenario.network, self.scenario.demand.pairs
        with pytest.raises(DemandError, match="mean_minutes"):
            gravity_demand(network, pairs, np.ones(network.zones.size), total_per_min=1.0, mean_minutes=mean_minutes)

    def test_sizes_that_no_pair_can_use_are_refused(self) -> None:
        network = self.scenario.network
        sizes = np.zeros(network.zones.size)
        sizes[5] = 1.0
        with pytest.raises(DemandError, match="no pair connects"):
            gravity_demand(network, pr.Pairs([0, 1], [1, 0]), sizes, total_per_min=1.0)
        with pytest.raises(DemandError, match="no pair connects"):
            gravity_demand(network, self.scenario.demand.pairs, sizes, total_per_min=1.0)
