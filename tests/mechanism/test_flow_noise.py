"""Noise on unit flows: as much as the certificate says, anew for every entry, on flows made with the promised options.

The promise of a mechanism and what it computes are two pieces of code. Each test here makes one of them from the other:
the scale from the released routes, the flows under the noise from the options by a few lines of NumPy.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.mechanism.flow_cases import CONGESTED, PAPERS_CASE, PROMISE, NoNoise, T, braess, draw, pairs_of, sgd
from tests.statistical.rates import EACH

import privroute as pr
from privroute.mechanism.learn import learn_with_noise
from privroute.mechanism.public_routes import public_routes
from privroute.privacy.noise import GRID, OpenDPNoise
from privroute.release.explanation import explain
from privroute.study.mechanisms import Mechanism

MECHANISMS = ["sgd", "minimiser"]
DRAWN_AT_ONCE = 2**16  # of the present code; any other size is tested just as well


STEEP = pr.Network([0, 0, 1], [1, 1, 0], pr.Latency.bpr([1.0, 1.2, 1.0], 0.03, 0.15, 4.0), ["a", "b"])


def check_normal(values: NDArray[np.float64], alarm: float) -> None:
    """Mean 0 and variance 1 of independent normal numbers: Chernoff's limit and that of Laurent and Massart."""
    chance = math.log(4 / alarm) / values.size
    assert abs(values.mean()) < math.sqrt(2 * chance)
    assert abs(np.mean(values**2) - 1) < 2 * math.sqrt(chance) + 2 * chance


def lanes(count: int, second_capacity: float = 1.0) -> tuple[pr.Network, pr.Pairs]:
    """Pairs that have nothing in common: each has two parallel roads of its own."""
    start = np.arange(count)
    tail = np.repeat(start, 2)
    latency = pr.Latency.affine(np.tile([1.0, 1.25], count), np.tile([1.0, second_capacity], count))
    return pr.Network(tail, tail + count, latency, range(2 * count)), pr.Pairs(start, start + count)


def first_shares(release: pr.Release) -> NDArray[np.float64]:
    """Of each pair of 16 lanes, the share on its first road."""
    return np.array([release.policy.unit_flow(lane, lane + 16)[2 * lane] for lane in range(16)])


def options_of(name: str, pairs: pr.Pairs) -> Mechanism:
    if name == "sgd":
        public = pr.Demand(pairs, np.zeros(len(pairs)))
        return pr.Sgd(public_demand=public, alpha=10.0, tilt=0.0, **PAPERS_CASE)
    return pr.Minimiser(alpha=10.0, tolerance=1e-4, tilt=0.0)


def days_of(pairs: pr.Pairs, days: int = 3) -> pr.DemandHistory:
    return pr.DemandHistory(pairs, np.random.default_rng(1).integers(0, 9, (days, len(pairs))), period_min=T)


@pytest.mark.parametrize("name", MECHANISMS)
def test_released_routes_vary_as_much_as_the_certificate_says(name: str) -> None:
    """Two roads share p and 1 − p. Projecting x + Z gives p + (Z₁ − Z₂)/2, with the variance scale²/2."""
    network, pairs = lanes(16)
    data, options, promise = days_of(pairs), options_of(name, pairs), pr.Guarantee(3.0, 1e-6)

    exact = first_shares(learn_with_noise(network, data, promise, options, NoNoise()))
    releases = [pr.learn(network, data, promise, options) for _ in range(60)]
    errors = np.concatenate([first_shares(release) - exact for release in releases])
    scale = releases[0].certificate.noise_scale
    assert scale is not None
    assert 8 * scale < exact.min() < exact.max() < 1 - 8 * scale, "the projection would cut the noise off"
    check_normal(errors / (scale / math.sqrt(2)), EACH)


@pytest.mark.parametrize("name", MECHANISMS)
def test_in_the_metric_shares_have_noise_by_the_weights_of_their_links(name: str) -> None:
    """Noise on the share of road e is scale/√w_e; the projection of p and 1 − p then has the variance scale²/Σ w_e."""
    network, pairs = lanes(16, second_capacity=0.25)
    options = {"alpha": 10.0, "tilt": 0.0, "detour": 20.0, "public_demand": pr.Demand(pairs, np.full(16, 0.1))}
    data, promise = days_of(pairs), pr.Guarantee(3.0, 1e-6)
    chosen = {"sgd": pr.Sgd, "minimiser": pr.Minimiser}[name](**options)
    study = pr.Study(network, data.frame, promise, chosen)
    weight = public_routes(study).metric.link
    assert weight[0] < 1 < weight[1]

    exact = first_shares(learn_with_noise(network, data, promise, chosen, NoNoise()))
    releases = [pr.learn(study, data) for _ in range(60)]
    errors = np.concatenate([first_shares(release) - exact for release in releases])
    certificate = releases[0].certificate
    assert certificate.noise_scale is not None
    deviation = certificate.noise_scale / math.sqrt(weight[:2].sum())
    assert 6 * deviation < exact.min() < exact.max() < 1 - 6 * deviation, "the projection would cut the noise off"
    check_normal(errors / deviation, EACH)
    assert "on a link of median curvature" in explain(certificate).made[-1]


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_entry_of_the_flows_has_noise_of_its_own(name: str) -> None:
    """Flows are perturbed block by block. In each tenth of three blocks the scale is right, and no draw is used twice.

    Among 135,000 numbers of a range of 1e9 and more, fewer than ten are expected to be equal up to the sign.
    """
    network, pairs = lanes(260)
    data, options = days_of(pairs), options_of(name, pairs)
    exact = draw(network, data, PROMISE, options, NoNoise(), None).noisy
    drawn = draw(network, data, PROMISE, options, OpenDPNoise(), None)
    assert exact.size > 2 * DRAWN_AT_ONCE
    noise = np.rint((drawn.noisy - exact) / GRID).ravel()
    scale = drawn.certificate.noise_scale
    assert scale is not None
    for part in np.array_split(noise * (GRID / scale), 10):
        check_normal(part, EACH / 10)
    expected = noise.size**2 / 2 / (scale / GRID * math.sqrt(math.pi))
    assert noise.size - np.unique(np.abs(noise)).size < expected + 60


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_source_of_noise_is_asked_for_the_scale_of_the_certificate(name: str) -> None:
    """All entries, each once, in units of the grid, rounded to the nearest."""

    class Asked(NoNoise):
        def __init__(self) -> None:
            super().__init__()
            self.scales: set[float] = set()

        def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
            self.scales.add(scale)
            return super().add_integers(values, scale)

    network, pairs = lanes(260)
    noise = Asked()
    drawn = draw(network, days_of(pairs), PROMISE, options_of(name, pairs), noise, None)
    assert drawn.certificate.noise_scale is not None
    assert noise.scales == {drawn.certificate.noise_scale / GRID}
    assert noise.seen == len(pairs) * network.links


def algorithm_1(
    network: pr.Network, counts: NDArray[np.int64], options: pr.Sgd, expansion: float
) -> tuple[NDArray[np.float64], set[str]]:
    """Algorithm 1 with certified constants in NumPy; and which cut-offs were met on the way."""
    assert options.public_demand is not None
    assert options.cap_factor is not None
    assert options.cap_trips is not None
    assert options.ceiling is not None
    pairs = pairs_of(network)
    caps = options.cap_factor * options.public_demand.rate_per_min + options.cap_trips * expansion / T
    highest = options.ceiling * network.free_flow_min
    slope = network.latency.marginal_slope_bound(network.background_per_min + caps.sum(), highest)
    beta = options.alpha + float(caps @ caps) * slope.max()
    empty = pr.solve_optimum(network, pr.Demand(pairs, np.zeros(len(pairs)))).policy
    labels = network.node_labels
    flows = np.array(
        [empty.unit_flow(labels[a], labels[b]) for a, b in zip(pairs.origin, pairs.destination, strict=True)]
    )
    met = set()
    for number, day in enumerate(counts, start=1):
        rates = np.minimum(day * expansion / T, caps)
        cost = network.latency.marginal_cost(network.background_per_min + rates @ flows)
        met |= {"cap"} if (day * expansion / T > caps).any() else set()
        met |= {"ceiling"} if (cost > 1.2 * highest).any() else set()
        step = min(1 / (options.alpha * number), min(1.0, 2 * options.alpha) / beta)
        gradient = np.outer(rates, np.minimum(cost, highest)) + options.alpha * flows
        flows = pr.project(network, pairs, flows - step * gradient, tolerance=1e-12).flows
    return flows, met


@pytest.mark.parametrize("network", [CONGESTED, braess(), STEEP], ids=["congested", "braess", "steep"])
@pytest.mark.parametrize("alpha", [0.2, 2.0])
def test_what_sgd_perturbs_is_made_with_the_caps_and_the_ceiling_of_its_promise(
    network: pr.Network, alpha: float
) -> None:
    """Caps and ceiling make the sensitivity. Dropping either in the private phase alone would make it too small."""
    options = sgd(network, alpha=alpha, ceiling=1.5, rate=0.4, cap_trips=5.0, cap_factor=1.5)
    counts = np.random.default_rng(3).integers(0, 40, (4, len(pairs_of(network))))
    expected, met = algorithm_1(network, counts, options, expansion=2.0)
    assert met == {"cap", "ceiling"}
    data = pr.DemandHistory(pairs_of(network), counts, period_min=T, expansion=2.0)
    found = draw(network, data, PROMISE, options, NoNoise(), None).noisy
    assert np.abs(found - expected).max() < 1e-8


@pytest.mark.parametrize("network", [CONGESTED, braess()], ids=["congested", "braess"])
def test_what_the_minimiser_perturbs_is_the_optimum_under_its_ceiling(network: pr.Network) -> None:
    pairs = pairs_of(network)
    counts = np.random.default_rng(3).integers(0, 40, (4, len(pairs)))
    options = pr.Minimiser(alpha=0.5, ceiling=1.2, tolerance=1e-6)
    data = pr.DemandHistory(pairs, counts, period_min=T, expansion=2.0)
    rates = counts.mean(axis=0) * 2.0 / T
    found = draw(network, data, PROMISE, options, NoNoise(), None).noisy

    def optimum(ceiling: float) -> NDArray[np.float64]:
        highest = ceiling * network.free_flow_min
        return pr.minimise_regularised(network, rates, 0.5, pairs=pairs, tolerance=1e-8, ceiling_min=highest).flows

    assert np.linalg.norm(optimum(np.inf) - optimum(1.2)) > 100 * options.tolerance
    assert np.linalg.norm(found - optimum(1.2)) <= options.tolerance + 1e-8


def test_rates_above_its_public_cap_change_nothing_for_the_minimiser() -> None:
    """The tolerance in its sensitivity is certified below the cap only: 181 requests an hour here."""
    options = pr.Minimiser(alpha=5.0, tolerance=1e-9)

    def found(count: int) -> NDArray[np.float64]:
        data = pr.DemandHistory(pairs_of(CONGESTED), [[count, 1]], period_min=T)
        return np.asarray(draw(CONGESTED, data, PROMISE, options, NoNoise(), None).noisy)

    assert not np.array_equal(found(150), found(170))
    assert np.array_equal(found(190), found(220))


@pytest.mark.parametrize("ceiling", [1.5, 8.0])
def test_on_steep_roads_one_request_moves_sgd_by_no_more_than_declared(ceiling: float) -> None:
    """Far beyond capacity only the ceiling bounds a gradient: without it one request moves thirty times too far."""
    options = sgd(STEEP, rate=0.0, cap_trips=40.0, ceiling=ceiling, alpha=100.0)
    chance = np.random.default_rng(5)
    for _ in range(20):
        counts = chance.integers(0, 39, (3, 2))
        more = counts.copy()
        more[chance.integers(3), chance.integers(2)] += 1
        drawn = [
            draw(STEEP, pr.DemandHistory(pairs_of(STEEP), data, period_min=T), PROMISE, options, NoNoise(), None)
            for data in (counts, more)
        ]
        declared = drawn[0].certificate.sensitivity
        assert declared is not None
        assert np.linalg.norm(drawn[1].noisy - drawn[0].noisy) <= declared
