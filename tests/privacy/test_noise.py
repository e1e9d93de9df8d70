"""The noise itself: integers, the right distribution, fresh each time, independent, and refused on anything odd."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.history.held import everything
from tests.statistical.rates import EACH

from privroute.errors import NoiseError
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.privacy.calibration import gaussian_rho
from privroute.privacy.noise import GRID, LARGEST_VALUE, Noise, OpenDPNoise, check_integers, on_grid

SOURCES: dict[str, Noise] = {"opendp": OpenDPNoise(), "seeded": SeededNoise(3)}
DRAWS = 40_000


def normal_quantile(alarm: float) -> float:
    """z with P[|Z| > z] ≤ alarm, by the bound P[|Z| > z] ≤ exp(−z²/2)."""
    return math.sqrt(2 * math.log(1 / alarm))


def distribution(scale: float, reach: int) -> NDArray[np.float64]:
    """Cumulative probabilities of the discrete Gaussian on −reach .. reach."""
    support = np.arange(-reach, reach + 1)
    weight = np.exp(-0.5 * (support / scale) ** 2)
    return np.asarray(np.cumsum(weight) / weight.sum())


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("scale", [0.6, 4.53, 39.46])
def test_noise_has_the_discrete_gaussian_distribution(source: str, scale: float) -> None:
    """Kolmogorov and Smirnov's distance, with the limit of Dvoretzky, Kiefer, Wolfowitz and Massart (exact)."""
    drawn = SOURCES[source].add_integers(np.zeros(DRAWS, dtype=np.int64), scale)
    reach = int(12 * scale) + 2
    observed = np.cumsum(np.bincount(np.clip(drawn + reach, 0, 2 * reach), minlength=2 * reach + 1)) / DRAWS
    assert np.abs(observed - distribution(scale, reach)).max() < math.sqrt(math.log(2 / EACH) / (2 * DRAWS))


@pytest.mark.parametrize("source", SOURCES)
def test_noise_has_the_declared_scale(source: str) -> None:
    scale = 10.0
    drawn = SOURCES[source].add_integers(np.zeros(DRAWS, dtype=np.int64), scale)
    assert abs(drawn.mean()) < normal_quantile(EACH) * scale / math.sqrt(DRAWS)
    assert abs(drawn.var() / scale**2 - 1) < normal_quantile(EACH) * math.sqrt(2 / DRAWS) * 1.1


@pytest.mark.parametrize("source", SOURCES)
def test_entries_and_draws_are_uncorrelated(source: str) -> None:
    draws, entries = 4000, 6
    table = np.array([SOURCES[source].add_integers(np.zeros(entries, np.int64), 5.0) for _ in range(draws)])
    later = np.hstack([table[:-1], table[1:]])
    correlation = np.corrcoef(later, rowvar=False) - np.eye(2 * entries)
    tests = entries * (2 * entries - 1)
    assert np.abs(correlation).max() < normal_quantile(EACH / tests) / math.sqrt(draws - 1) * 1.05


def test_noise_is_added_to_the_values_as_integers() -> None:
    values = np.array([10**12, -(10**12), 0], dtype=np.int64)
    noisy = OpenDPNoise().add_integers(values, 2.0)
    assert noisy.dtype == np.int64
    assert np.abs(noisy - values).max() < 200
    assert OpenDPNoise().add_integers(np.empty(0, np.int64), 2.0).size == 0


def test_no_two_draws_are_equal() -> None:
    zeros = np.zeros(200, dtype=np.int64)
    first, second = (OpenDPNoise().add_integers(zeros, 1000.0) for _ in range(2))
    assert not np.array_equal(first, second)


def test_opendp_noise_has_no_seed_and_no_state() -> None:
    assert OpenDPNoise.__slots__ == ()
    with pytest.raises(TypeError):
        OpenDPNoise(1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, 2.0]),
        np.array([1.0, np.nan]),
        np.array([np.inf]),
        np.array([[1, 2]]),
        np.array([1, 2], dtype=np.int32),
        np.array([True]),
        np.array([None], dtype=object),
        [1, 2],
        np.array([LARGEST_VALUE + 1]),
        np.array([-LARGEST_VALUE - 1]),
    ],
)
def test_odd_values_are_refused_without_showing_them(values: Any) -> None:
    with pytest.raises(NoiseError, match="nothing was released") as refused:
        OpenDPNoise().add_integers(values, 1.0)
    assert str(LARGEST_VALUE) not in str(refused.value)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, "1"])
def test_odd_scales_are_refused(scale: Any) -> None:
    with pytest.raises(NoiseError, match="positive and finite"):
        OpenDPNoise().add_integers(np.zeros(3, np.int64), scale)


def test_an_error_of_opendp_is_refused_without_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text may quote a value."""

    def failing(_scale: float) -> Any:
        def measurement(values: list[int]) -> list[int]:
            raise ValueError(f"cannot cast {values}")

        return measurement

    monkeypatch.setattr("privroute.privacy.noise.gaussian_on_integers", failing)
    with pytest.raises(NoiseError, match="could not draw the noise") as refused:
        OpenDPNoise().add_integers(np.array([20_261_102]), 1.0)
    assert "20261102" not in everything(refused.value)


def test_a_draw_of_another_length_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privroute.privacy.noise.gaussian_on_integers", lambda _scale: lambda values: values[1:])
    with pytest.raises(NoiseError, match="could not draw the noise"):
        OpenDPNoise().add_integers(np.zeros(3, np.int64), 1.0)


def test_the_largest_counts_with_room_for_noise_are_accepted_and_no_larger_ones() -> None:
    assert LARGEST_VALUE == 2**62
    check_integers(np.array([2**62, -(2**62)]))
    for value in (2**62 + 1, -(2**62) - 1):
        with pytest.raises(NoiseError, match="too large for 64-bit integers"):
            check_integers(np.array([0, value]))


class TestGrid:
    """Noise on flows: integers on a grid of step 2^-40."""

    @pytest.mark.parametrize("source", SOURCES)
    def test_noise_on_the_grid_is_normal_with_the_declared_scale(self, source: str) -> None:
        """Kolmogorov and Smirnov's distance to the normal distribution, from which it differs by less than 1e-9."""
        draws, scale = 4000, 0.07
        noisy = SOURCES[source].add_integers(on_grid(np.full(draws, 0.25)), scale / GRID) * GRID
        ordered = np.sort((noisy - 0.25) / scale)
        normal = np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in ordered])
        steps = np.arange(draws + 1) / draws
        distance = max(np.abs(steps[1:] - normal).max(), np.abs(steps[:-1] - normal).max())
        assert distance < math.sqrt(math.log(2 / EACH) / (2 * draws)) + 1e-9

    def test_what_comes_out_lies_on_the_grid(self) -> None:
        flows = np.random.default_rng(1).random(200)
        assert np.abs(on_grid(flows) * GRID - flows).max() <= GRID / 2

    def test_the_map_is_the_same_in_units_of_the_grid(self) -> None:
        """A power of two scales exactly, so a certificate may speak of flows."""
        for scale, sensitivity in ((0.07, 0.0174), (1.3e-3, 3e-5)):
            assert gaussian_rho(scale / GRID, sensitivity / GRID) == gaussian_rho(scale, sensitivity)

    @pytest.mark.parametrize(
        "values",
        [
            np.array([np.nan]),
            np.array([0.5, np.inf]),
            np.array([1e7]),
            np.zeros((2, 2)),
            np.zeros(3, dtype=np.float32),
            np.zeros(3, dtype=np.int64),
            [0.5],
        ],
    )
    def test_odd_flows_are_refused_without_showing_them(self, values: Any) -> None:
        with pytest.raises(NoiseError, match="nothing was released"):
            on_grid(values)

    def test_flows_up_to_2_to_the_20th_are_accepted_and_no_larger_ones(self) -> None:
        assert GRID == 2.0**-40
        assert on_grid(np.array([2.0**20, -(2.0**20)])).tolist() == [2**60, -(2**60)]
        for value in (math.nextafter(2.0**20, math.inf), -math.nextafter(2.0**20, math.inf)):
            with pytest.raises(NoiseError, match="too large for the grid"):
                on_grid(np.array([value]))
