"""The sensitivity on a certificate is that of the proofs, evaluated here anew from the public numbers alone.

Searches for neighbours come within a factor three of the bound. A constant that is forgotten inside that factor, or a
term that is small on the networks searched, is seen only by comparing with the formula.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.mechanism.flow_cases import PAPERS_CASE, PROMISE, NoNoise, braess, draw, pairs_of
from tests.reference import routes

import privroute as pr
from privroute.flows.route_metric import RouteMetric
from privroute.flows.route_sets import RouteSets
from privroute.mechanism.learn import learn_with_noise
from privroute.privacy.flow_sensitivity import SgdBounds, ceiling_min, minimiser_sensitivity, sgd_sensitivity
from privroute.privacy.noise import GRID
from privroute.study.mechanisms import Mechanism

U = 2.0**-53
DAYS, PERIOD, EXPANSION = 5, 45.0, 4.0


def curved(background: float) -> pr.Network:
    """Two ways to work and one home with curves of power 4, and traffic that is there anyway."""
    latency = pr.Latency.bpr([1.0, 1.5, 1.0], [3.0, 2.0, 4.0], 0.6, 4.0)
    return pr.Network([0, 0, 1], [1, 1, 0], latency, ["a", "b"], background_per_min=[background, 0.5 * background, 0.0])


NETWORKS = {"braess": braess(), "curved": curved(0.0), "background": curved(3.0)}


def declared(network: pr.Network, options: Mechanism) -> float:
    pairs = pairs_of(network)
    empty = np.zeros((DAYS, len(pairs)), np.int64)
    data = pr.DemandHistory(pairs, empty, period_min=PERIOD, expansion=EXPANSION)
    certificate = draw(network, data, PROMISE, options, NoNoise(), None).certificate
    assert certificate.sensitivity is not None
    return certificate.sensitivity


class Public:
    """Route sets, metric and costs of a study, made anew from its public numbers."""

    def __init__(self, network: pr.Network, options: pr.Sgd | pr.Minimiser, rate: float, caps: float) -> None:
        self.network, self.pairs = network, pairs_of(network)
        tail, head = network.tail, network.head
        self.ends = list(zip(self.pairs.origin.tolist(), self.pairs.destination.tolist(), strict=True))
        ceiling = (options.ceiling or np.inf) * network.free_flow_min
        cost = network.free_flow_min
        if options.public_demand is not None and options.prior_ceiling is not None:
            demand = pr.Demand(self.pairs, np.full(len(self.pairs), rate))
            cost = network.latency.marginal_cost(pr.solve_optimum(network, demand, gap=1e-8).link_flow)
            ceiling = np.minimum(ceiling, options.prior_ceiling * cost)
        self.acyclic = options.routes == "near"
        every = list(range(network.links))
        self.sets = [
            routes.route_set(tail, head, network.no_through, cost, pair, options.detour or 1.0)
            if self.acyclic
            else every
            for pair in self.ends
        ]
        self.fixed = [
            routes.forced(links, tail, head, pair) if self.acyclic else [False] * len(links)
            for links, pair in zip(self.sets, self.ends, strict=True)
        ]
        self.entries = sum(not known for fixed in self.fixed for known in fixed)
        self.most = network.background_per_min + caps * np.array(
            [sum(e in links for links in self.sets) for e in every]
        )
        self.ceiling = ceiling
        self.weight, self.pair_weight = np.ones(network.links), 1.0  # all pairs have the same rate, and so u = 1
        if options.metric == "curvature":
            slope = network.latency.marginal_slope_bound(self.most, ceiling)
            wanted = slope * (self.most - network.background_per_min) * caps
            middle = np.median(wanted[wanted > 0])
            self.weight = np.array([2.0 ** round(math.log2(w / middle)) if w > 0 else 1.0 for w in wanted])

    def spread(self, pair: int, most: NDArray[np.float64]) -> float:
        network = self.network
        high = network.latency.marginal_cost_bound(most, self.ceiling)
        low = np.minimum(network.latency.marginal_cost(network.background_per_min), high)
        links, fixed = self.sets[pair], self.fixed[pair]
        return routes.spread(links, fixed, network.tail, network.head, low, high, 1.0 / self.weight)

    def heaviest(self, pair: int, value: NDArray[np.float64]) -> float:
        if not self.acyclic:
            return float(value.sum())
        return routes.heaviest_path(self.sets[pair], self.network.tail, self.network.head, self.ends[pair], value)


def theorem_1(network: pr.Network, options: pr.Sgd, rate: float) -> float:
    """docs/proofs/sgd.md, Theorem 1 and Lemma 4, without the terms for the rounding of numbers of 53 bits."""
    assert options.cap_factor is not None
    assert options.cap_trips is not None
    assert options.steps_per_day is not None
    h, r, alpha = EXPANSION / PERIOD, options.steps_per_day, options.alpha
    cap = options.cap_factor * rate + options.cap_trips * h  # the same for all pairs
    public = Public(network, options, rate, cap)
    slope = network.latency.marginal_slope_bound(public.most, public.ceiling)
    users = np.array([sum(e in links for links in public.sets) for e in range(network.links)])
    beta = alpha + float((slope * users * cap**2 / public.weight).max())
    change = 0.0
    for pair in range(len(public.ends)):
        steep = slope**2 / public.weight
        own = math.sqrt(public.spread(pair, public.most)) + cap * math.sqrt(public.heaviest(pair, steep))
        change = max(change, own**2 + public.heaviest(pair, steep * (users - 1) * cap**2))
    count = DAYS * r
    steps = [2 / (alpha + beta)] * count
    if options.step_sizes == "paper":
        steps = [min(1 / (alpha * k), min(1.0, 2 * alpha) / beta) for k in range(1, count + 1)]
    left = [math.prod(1 - later * alpha for later in steps[k + 1 :]) for k in range(count)]
    of_day = [sum(steps[k] * left[k] for k in range(day * r, day * r + r)) for day in range(DAYS)]
    from_start = left[0] * (1 - steps[0] * alpha)
    errors = 2 * sum(math.sqrt(len(public.ends)) * options.tolerance * rest for rest in (from_start, *left))
    return float(math.sqrt(change) * h * max(of_day) + errors + math.sqrt(public.entries) * GRID)


IN_METRIC: dict[str, Any] = {"steps_per_day": 4, "detour": 5.0, "prior_ceiling": 2.0}


@pytest.mark.parametrize("case", [PAPERS_CASE, IN_METRIC], ids=["paper", "metric"])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("alpha", "tolerance", "ceiling"), [(0.3, 1e-9, 3.0), (20.0, 1e-4, 40.0), (400.0, 1e-11, 8.0)])
def test_sgd_declares_what_its_theorem_says(
    name: str, case: dict[str, Any], alpha: float, tolerance: float, ceiling: float
) -> None:
    network = NETWORKS[name]
    rate = 0.2
    public = pr.Demand(pairs_of(network), np.full(len(pairs_of(network)), rate))
    options = pr.Sgd(
        public_demand=public, alpha=alpha, tolerance=tolerance, ceiling=ceiling, cap_trips=2.0, cap_factor=1.5, **case
    )
    expected = theorem_1(network, options, rate)
    assert expected <= declared(network, options) <= expected * (1 + 1e-7)


@pytest.mark.parametrize("case", [{}, {"detour": 5.0, "prior_ceiling": 2.0}], ids=["plain", "metric"])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("alpha", "tolerance", "ceiling"), [(0.5, 1e-5, 1.2), (30.0, 1e-4, 8.0)])
def test_the_minimiser_declares_what_its_theorem_says(
    name: str, case: dict[str, Any], alpha: float, tolerance: float, ceiling: float
) -> None:
    """docs/proofs/minimiser.md, Theorem 1, and Lemma 4 of sgd.md."""
    network, rate = NETWORKS[name], 0.2
    if case:
        demand = pr.Demand(pairs_of(network), np.full(len(pairs_of(network)), rate))
        case = case | {"public_demand": demand}
    options = pr.Minimiser(alpha=alpha, tolerance=tolerance, ceiling=ceiling, **case)
    public = Public(network, options, rate, rate + 10 * EXPANSION / PERIOD)
    slope = network.latency.marginal_slope_bound(np.inf, public.ceiling)
    moved = 0.0
    for pair in range(len(public.ends)):
        a, b2 = math.sqrt(public.spread(pair, np.full(network.links, np.inf))), public.heaviest(pair, slope)
        moved = max(moved, EXPANSION / (DAYS * PERIOD) * (a + math.sqrt(a**2 + alpha * b2)) / (2 * alpha))
    expected = float(moved + 2 * tolerance + math.sqrt(public.entries) * GRID)
    assert expected <= declared(network, options) <= expected * (1 + 1e-7)


def test_the_day_that_moves_flows_most_decides_also_where_it_is_not_the_last() -> None:
    bounds = SgdBounds(alpha=1.0, beta=3.0, change=2.0, norm=1.0, cost_rounding=0.0)
    steps = np.array([0.1, 0.4, 1e-3])
    s = sgd_sensitivity(bounds, steps, request=0.01, cap=0.0, pairs=1, entries=1, tolerance=0.0)
    assert s == pytest.approx(2.0 * 0.01 * 0.4 * (1 - 1e-3), rel=1e-9)


class TestRounding:
    """The terms for numbers of 53 bits, each where it is not hidden behind others."""

    PLAIN = SgdBounds(alpha=1.0, beta=3.0, change=2.0, norm=1.0, cost_rounding=0.0)

    def sgd(self, bounds: SgdBounds, **values: Any) -> float:
        usual = {"request": 0.0, "cap": 0.0, "pairs": 1, "entries": 1, "tolerance": 0.0}
        return sgd_sensitivity(bounds, np.array([0.25]), **(usual | values))

    def test_rates_are_rounded_by_up_to_four_units_of_the_cap(self) -> None:
        rise = self.sgd(self.PLAIN, cap=1e6) - self.sgd(self.PLAIN, cap=0.0)
        assert rise == pytest.approx(2.0 * 0.25 * 4 * U * 1e6, rel=1e-9)
        network = braess()
        sets = RouteSets.whole(network, pairs_of(network))
        usual: dict[str, Any] = {"request": 1e-9, "days": 3, "alpha": 2.0, "tolerance": 1e-300}
        usual["ceiling"] = ceiling_min(network, 8.0)
        s = [minimiser_sensitivity(sets, RouteMetric.plain(sets), cap=cap, **usual) for cap in (0.0, 1e9)]
        assert s[1] / s[0] == pytest.approx(1 + 4 * U * 1e9 / (1e-9 / 3), rel=1e-9)

    def test_steps_are_rounded_in_both_data_sets(self) -> None:
        rounded = SgdBounds(alpha=1.0, beta=3.0, change=2.0, norm=5.0, cost_rounding=1e-3)
        assert self.sgd(rounded) >= 2 * 0.25 * 5.0 * 1e-3
        assert self.sgd(self.PLAIN, pairs=100, entries=2500) >= 2 * 8 * U * 50

    @pytest.mark.parametrize("pairs", [1, 40, 5000])
    def test_sums_over_more_pairs_are_rounded_more(self, pairs: int) -> None:
        """docs/proofs/sgd.md, Lemma 3: costs are off by up to p (pairs + 4) u t̄, and some roundings more."""
        network = curved(0.0)
        bounds = SgdBounds.of(network, np.full(pairs, 1e3), 1.0, 8.0)
        assert bounds.cost_rounding >= 4 * (pairs + 4) * U * np.linalg.norm(8.0 * network.free_flow_min)

    @pytest.mark.parametrize("days", [1, 50, 3000])
    def test_what_is_left_of_a_difference_is_rounded_upwards(self, days: int) -> None:
        """Products of floats may come out too small; the declared sensitivity is above the exact product."""
        steps = np.full(days, 0.1)
        bounds = SgdBounds(alpha=1e-3, beta=3.0, change=1.0, norm=1.0, cost_rounding=0.0)
        found = sgd_sensitivity(bounds, steps, request=0.0, cap=0.0, pairs=1, entries=1, tolerance=1.0)
        exact = 2 * math.fsum((1 - 0.1 * 1e-3) ** day for day in range(days))
        assert found >= exact


@pytest.mark.parametrize("most", [2, 3, 7, 12, 1000, 2**20])
def test_the_root_of_a_users_bound_is_never_rounded_down(most: int) -> None:
    network = curved(0.0)
    for per_pair in sorted({1, 2, most - 1, most}):
        kept = pr.Contribution("user", most, per_pair)
        data = pr.DemandHistory(pairs_of(network), [[0, 0]], contribution=kept)
        drawn = draw(network, data, pr.Guarantee(1.0, 1e-6, "user"), pr.Counts(), NoNoise(), None)
        assert drawn.certificate.sensitivity is not None
        square = Fraction(drawn.certificate.sensitivity) ** 2
        assert most * per_pair <= square <= most * per_pair * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize("most", [2**31 - 1, 2**32 - 1, 2**40 - 1])
@pytest.mark.parametrize("mechanism", ["counts", "daily"])
def test_one_request_more_is_one_count_more_however_many_there_are(mechanism: str, most: int) -> None:
    """A sum that overflows would move by all of its range for one request."""

    class Kept(NoNoise):
        def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
            self.values = values.copy()
            return super().add_integers(values, scale)

    network = curved(0.0)
    seen = []
    for extra in (0, 1):
        noise = Kept()
        counts = np.array([[most, 0], [extra, 2**40]])
        learn_with_noise(network, pr.DemandHistory(pairs_of(network), counts), PROMISE, mechanism, noise)
        seen.append(noise.values)
    moved = seen[1] - seen[0]
    assert np.abs(moved).sum() == 1
    assert seen[0].max() >= most
