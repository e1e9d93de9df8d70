"""The regularised optimum and its certificate."""

from __future__ import annotations

import numpy as np
import pytest
from tests.flows.degenerate import grid

import privroute as pr
from privroute.errors import DemandError
from privroute.flows import regularised
from privroute.flows.regularised import average_demand_errors, minimise_regularised
from privroute.network.latency import Latency
from privroute.network.network import Network
from privroute.network.pairs import Pairs

HOURLY = 60.0


def two_roads(power: float = 1.0) -> tuple[Network, Pairs]:
    latency = Latency.bpr([1.0, 2.0], [1.0, 1.0], 1.0, power)
    return Network([0, 0], [1, 1], latency, range(2)), Pairs([0], [1])


def test_two_roads_are_split_as_by_hand() -> None:
    network, pairs = two_roads()
    # (1 + x) x + (2 + 2 (1 - x)) (1 - x) + alpha/2 (x^2 + (1 - x)^2) has the derivative 6 x - 5 + alpha (2 x - 1)
    for alpha in (0.1, 3.0):
        found = minimise_regularised(network, pr.Demand(pairs, [1.0]), alpha, tolerance=1e-8)
        best = (5 + alpha) / (6 + 2 * alpha)
        assert found.converged
        assert np.linalg.norm(found.flows[0] - [best, 1 - best]) <= found.error_bound <= 1e-8


@pytest.mark.parametrize("power", [1.0, 4.0])
def test_the_certificate_holds_against_a_finer_solution(power: float) -> None:
    network, pairs, _ = grid(4, pairs=20)
    network = Network(
        network.tail,
        network.head,
        Latency.bpr(np.ones(network.links), np.full(network.links, 4.0), 1.0, power),
        range(16),
    )
    days = np.random.default_rng(1).poisson(1.0, (3, 20)).astype(float)
    finest = minimise_regularised(network, days, 0.5, pairs=pairs, tolerance=1e-7)
    assert finest.converged
    for tolerance in (1e-2, 1e-4):
        found = minimise_regularised(network, days, 0.5, pairs=pairs, tolerance=tolerance)
        assert np.linalg.norm(found.flows - finest.flows) <= found.error_bound + finest.error_bound
        assert found.error_bound <= tolerance
        assert finest.objective <= found.objective + 1e-9


def test_errors_of_the_average_demand_are_those_of_the_paper_in_kind() -> None:
    # Table 2: evaluating with the mean demand costs little, solving with it next to nothing
    scenario = pr.sioux_falls()
    rates = scenario.demand.rate_per_min
    days = np.random.default_rng(2).poisson(rates * HOURLY, (5, rates.size)) / HOURLY
    errors = average_demand_errors(scenario.network, scenario.demand.pairs, days, 2e4 / HOURLY, tolerance=1e-3)
    assert 0 < errors.evaluation < 1e-3
    assert -1e-9 < errors.solution < 1e-6


def test_days_that_are_all_alike_are_their_average() -> None:
    network, pairs = two_roads()
    for alpha in (0.1, 3.0):
        errors = average_demand_errors(network, pairs, np.full((3, 1), 1.0), alpha, tolerance=1e-9)
        assert errors.evaluation == pytest.approx(0.0, abs=1e-12)
        assert errors.solution == pytest.approx(0.0, abs=1e-12)


def test_a_start_at_the_optimum_ends_at_once_and_a_limit_gives_advice() -> None:
    network, pairs, _ = grid(4, pairs=20)
    demand = pr.Demand(pairs, np.ones(20))
    found = minimise_regularised(network, demand, 1.0, tolerance=1e-6)
    again = minimise_regularised(network, demand, 1.0, tolerance=1e-5, start=found.flows)
    assert again.iterations <= 3
    short = minimise_regularised(network, demand, 1.0, tolerance=1e-9, max_iterations=2)
    assert not short.converged
    assert "raise max_iterations" in short.status


def test_arguments_of_the_wrong_form_are_refused() -> None:
    network, pairs = two_roads()
    demand = pr.Demand(pairs, [1.0])
    with pytest.raises(DemandError, match="alpha is 0"):
        minimise_regularised(network, demand, 0)
    with pytest.raises(DemandError, match="tolerance is -1"):
        minimise_regularised(network, demand, 1.0, tolerance=-1)
    with pytest.raises(DemandError, match="rates need `pairs`"):
        minimise_regularised(network, [1.0], 1.0)
    with pytest.raises(DemandError, match="other pairs"):
        minimise_regularised(network, demand, 1.0, pairs=Pairs([], []))


def test_steps_for_the_constant_that_holds_everywhere_are_made_whatever_a_test_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = 0

    def never(*_: object) -> bool:  # what rounding might say of a step that is short enough
        nonlocal refused
        refused += 1
        assert refused < 100, "it would go on for ever"
        return False

    monkeypatch.setattr(regularised, "_is_small_enough", never)
    network, pairs = two_roads(power=4.0)
    found = minimise_regularised(network, [1.0], 1.0, pairs=pairs, ceiling_min=8 * network.free_flow_min)
    assert found.converged


def test_a_ceiling_bounds_slopes_that_underflow_at_small_flows() -> None:
    network = Network([0, 0], [1, 1], Latency.bpr([1.0, 2.0], [100.0, 100.0], 1.0, 300.0), range(2))
    found = minimise_regularised(network, [1.0], 1.0, pairs=Pairs([0], [1]), ceiling_min=8 * network.free_flow_min)
    assert found.converged


def test_an_objective_beyond_floating_point_numbers_is_infinite_without_a_warning() -> None:
    network, pairs = two_roads(power=236.0)
    found = minimise_regularised(network, [40.0], 1e9, pairs=pairs, ceiling_min=8 * network.free_flow_min)
    assert found.converged
    assert found.objective == np.inf


def test_the_momentum_whose_rate_is_proved_reaches_the_certificate_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regularised, "_MOST_WITH_RESTARTS", 0)
    scenario = pr.sioux_falls()
    found = pr.minimise_regularised(scenario.network, scenario.demand, 400 / 60, tolerance=1e-3)
    assert found.converged
