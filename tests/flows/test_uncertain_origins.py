"""Policies for demands of which little is known: better over the samples, valid, and the optimum where all is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import privroute as pr
from privroute.flows import uncertain_origins
from privroute.flows.uncertain_origins import spread_for_uncertain_origins

CITY = pr.sioux_falls()
BPR = CITY.network.with_latency("bpr")


def mean_time(policy: pr.RoutingPolicy, network: pr.Network, demand: pr.Demand, deviation: float) -> float:
    """Mean total time over demands whose origins send more or less, drawn apart from those that were solved for."""
    generator = np.random.default_rng(77)
    place = np.unique(demand.pairs.origin, return_inverse=True)[1]
    found = []
    for _ in range(40):
        factor = np.exp(deviation * generator.normal(size=place.max() + 1))[place]
        rate = demand.rate_per_min * factor
        flow = policy.link_flow(pr.Demand(demand.pairs, rate * (demand.total_per_min / rate.sum())))
        found.append(float(flow @ network.latency.time(flow)))
    return float(np.mean(found))


@pytest.mark.parametrize(("network", "most"), [(CITY.network, 1.01), (BPR, 0.95)], ids=["affine", "bpr"])
def test_the_mean_over_other_demands_is_lower_where_curves_are_steep(network: pr.Network, most: float) -> None:
    solution = pr.solve_optimum(network, CITY.demand)
    policy = spread_for_uncertain_origins(network, CITY.demand, solution, 1.0)
    assert policy is not None
    spread = mean_time(policy, network, CITY.demand, 1.0)
    assert spread < most * mean_time(solution.policy, network, CITY.demand, 1.0)
    again = spread_for_uncertain_origins(network, CITY.demand, solution, 1.0)
    assert again == policy


def test_without_uncertainty_it_comes_near_the_optimum() -> None:
    solution = pr.solve_optimum(CITY.network, CITY.demand)
    policy = spread_for_uncertain_origins(CITY.network, CITY.demand, solution, 0.0)
    assert policy is not None
    flow = policy.link_flow(CITY.demand)
    assert flow @ CITY.network.latency.time(flow) == pytest.approx(solution.total_travel_time, rel=0.01)
    assert len(policy.pairs) == len(CITY.demand.pairs)


def test_two_roads_are_shared_as_the_mean_over_the_samples_wants_it() -> None:
    # two parallel roads from a to b, of which only the direct link is in question; zones let nobody through
    network = pr.Network(
        tail=[0, 0, 2],
        head=[1, 1, 3],
        latency=pr.Latency.bpr([1.0, 1.5, 1.0], [1.0, 3.0, 1.0]),
        node_labels="abcd",
        zones=[0, 1, 2, 3],
    )
    demand = pr.Demand(pr.Pairs([0, 2], [1, 3]), [2.0, 2.0])
    policy = spread_for_uncertain_origins(network, demand, pr.solve_optimum(network, demand), 1.0)
    assert policy is not None
    generator = np.random.default_rng(uncertain_origins._SEED)  # the public samples
    factors = np.exp(generator.normal(size=(uncertain_origins._SAMPLES, 2)))
    factors *= 2.0 / factors.sum(axis=1, keepdims=True)

    def mean(share: float) -> float:
        flows = 2.0 * factors[:, :1] * np.array([[share, 1.0 - share, 0.0]])
        return float(np.mean([flow @ network.latency.time(flow) for flow in flows]))

    best = minimize_scalar(mean, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9}).x
    assert policy.unit_flow("a", "b")[0] == pytest.approx(best, abs=2e-3)
    alone = pr.solve_optimum(network, demand).policy.unit_flow("a", "b")[0]
    assert abs(alone - best) > 0.02


def test_zones_that_let_nobody_through_and_links_without_cost_are_respected() -> None:
    # the short way from 0 to 3 leads through the zone 1; the other one has a link that costs nothing
    network = pr.Network(
        tail=[0, 1, 0, 2],
        head=[1, 3, 2, 3],
        latency=pr.Latency.affine([1.0, 1.0, 0.0, 5.0], [10.0, 10.0, 10.0, 10.0]),
        node_labels="abcd",
        zones=[0, 1, 3],
        no_through=[True, True, False, True],
    )
    demand = pr.Demand(pr.Pairs([0, 0], [1, 3]), [1.0, 0.0])
    policy = spread_for_uncertain_origins(network, demand, pr.solve_optimum(network, demand), 1.0)
    assert policy is not None
    assert policy.unit_flow("a", "d").tolist() == [0.0, 0.0, 1.0, 1.0]
    assert policy.unit_flow("a", "b").tolist() == [1.0, 0.0, 0.0, 0.0]


def test_networks_that_are_too_large_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncertain_origins, "LARGEST", 100)
    solution = pr.solve_optimum(CITY.network, CITY.demand)
    assert spread_for_uncertain_origins(CITY.network, CITY.demand, solution, 1.0) is None
