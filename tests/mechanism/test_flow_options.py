"""Options of `sgd` and `minimiser` that no proof covers are refused before anything private is touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import privroute as pr
from privroute.errors import GuaranteeError, NoiseError, PolicyError, PrivrouteError
from privroute.evaluate.audit import neighbours
from privroute.flows.route_metric import RouteMetric
from privroute.flows.route_sets import RouteSets
from privroute.flows.unit_flows import infeasibility
from privroute.mechanism.minimiser import optimum_of_mean
from privroute.mechanism.promise import Promise
from privroute.mechanism.public_routes import public_routes
from privroute.mechanism.registry import implementation
from privroute.network.latency import Latency
from privroute.privacy.flow_sensitivity import ceiling_min, largest_mean_rate
from privroute.study.frame import Frame

GUARANTEE = pr.Guarantee(epsilon=1.0, delta=1e-6)
NETWORK, HISTORY, _ = neighbours()
PUBLIC = pr.Demand(HISTORY.pairs, [1.0, 1.0])


def promised(options: Any, network: pr.Network = NETWORK, frame: Frame = HISTORY.frame) -> Promise:
    return implementation(options).promise(pr.Study(network, frame, GUARANTEE, options))


@pytest.mark.parametrize("value", [10**400, 1e308, 5e-324, "1", True, None, float("nan"), float("inf"), -1.0, 1 + 0j])
@pytest.mark.parametrize("name", ["alpha", "ceiling", "tolerance", "tilt"])
def test_values_that_are_no_moderate_numbers_are_refused_by_name(name: str, value: Any) -> None:
    if value is not None or name != "tilt":  # without a value it has its default
        with pytest.raises(GuaranteeError, match=f"{name} is .*; pass a number"):
            pr.Minimiser(**{"alpha": 1.0, name: value})
    if value is not None:
        with pytest.raises(GuaranteeError, match=f"{name} is .*; pass a number"):
            pr.Sgd(**{"public_demand": PUBLIC, "alpha": 1.0, name: value})


def test_the_tilt_is_stronger_in_the_metric_of_a_public_demand() -> None:
    assert pr.Minimiser(alpha=1.0).tilt == 2.0
    assert pr.Minimiser(alpha=1.0, public_demand=PUBLIC).tilt == 10.0
    assert pr.Sgd(alpha=1.0, public_demand=PUBLIC).tilt == 10.0


@pytest.mark.parametrize("value", ["x", 10**400, True, float("nan"), 0])
def test_a_half_life_that_is_no_number_of_days_is_refused(value: Any) -> None:
    with pytest.raises(GuaranteeError, match="half_life_days is"):
        pr.Daily(half_life_days=value)


@pytest.mark.parametrize("rate", [1e155, 1e200, 1e307])
def test_public_demand_whose_squares_overflow_is_refused_without_a_warning(rate: float) -> None:
    options = pr.Sgd(public_demand=pr.Demand(HISTORY.pairs, [rate, rate]), alpha=1.0, cap_factor=1e100)
    with pytest.raises(PrivrouteError):
        promised(options)


def test_noise_beyond_its_grid_is_refused_before_it_is_charged() -> None:
    with pytest.raises(NoiseError, match="beyond the grid"):
        promised(pr.Minimiser(alpha=1e-9, tolerance=0.9))


@pytest.mark.parametrize("options", [pr.Minimiser(alpha=1e9), pr.Sgd(public_demand=PUBLIC, alpha=1e9)])
def test_networks_too_large_to_project_on_are_refused_before_the_private_phase(options: Any) -> None:
    nodes = 100_001
    latency = Latency.affine(np.ones(nodes), np.ones(nodes))
    network = pr.Network([*range(nodes - 1), 1], [*range(1, nodes), 0], latency, range(nodes))
    with pytest.raises(PolicyError, match="100,001 nodes"):
        promised(options, network)


@pytest.mark.parametrize("options", [pr.Minimiser(alpha=1.0), pr.Sgd(public_demand=PUBLIC, alpha=1.0)])
def test_powers_for_which_rounding_is_not_bounded_are_refused(options: Any) -> None:
    network = pr.Network([0, 0, 1], [1, 1, 0], Latency.bpr([1.0, 1.5, 1.0], 1.0, 1.0, 2000.0), ["home", "work"])
    with pytest.raises(GuaranteeError, match="power 2000"):
        promised(options, network)


def test_a_tolerance_below_that_of_projections_is_refused_on_flat_networks_too() -> None:
    flat = pr.Network([0, 0, 1], [1, 1, 0], Latency.bpr([1.0, 1.5, 1.0], 1.0, 0.0, 1.0), ["home", "work"])
    sets = RouteSets.whole(flat, HISTORY.pairs)
    ceiling = ceiling_min(flat, 8.0)
    plain = RouteMetric.plain(sets)
    assert largest_mean_rate(sets, plain, alpha=1e9, ceiling=ceiling, tolerance=1e-13) == 0.0
    with pytest.raises(GuaranteeError, match="cannot be certified"):
        promised(pr.Minimiser(alpha=1e9, tolerance=1e-13), flat)


def test_a_subclass_of_a_mechanism_is_refused() -> None:
    class Own(pr.Minimiser):
        pass

    with pytest.raises(GuaranteeError, match="mechanism is a Own"):
        pr.learn(NETWORK, HISTORY, GUARANTEE, Own(alpha=1.0))


@pytest.mark.parametrize("background", [0.0, 1e3])
@pytest.mark.parametrize("power", [1.0, 4.0, 40.0])
def test_the_solver_ends_for_the_largest_counts_there_can_be(power: float, background: float) -> None:
    latency = Latency.bpr([1.0, 1.5, 1.0], 10.0, 0.15, power)
    network = pr.Network([0, 0, 1], [1, 1, 0], latency, ["home", "work"], background_per_min=[background] * 3)
    history = pr.DemandHistory(HISTORY.pairs, [[2**40, 1], [2**40, 2**40]])
    study = pr.Study(network, history.frame, GUARANTEE, pr.Minimiser(alpha=10.0))
    flows = public_routes(study).sets.dense(optimum_of_mean(study, history))
    assert infeasibility(network, history.pairs, flows).max() < 1e-9
