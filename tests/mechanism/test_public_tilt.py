"""Public routes, and what is subtracted from noisy flows before they are projected: by costs, in the metric."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mechanism.flow_cases import braess, roads

import privroute as pr
from privroute.flows.route_metric import RouteMetric
from privroute.flows.route_sets import RouteSets
from privroute.mechanism.from_flows import tilted
from privroute.mechanism.from_routes import public_tilt
from privroute.mechanism.public_routes import PublicRoutes, public_routes
from privroute.study.mechanisms import Sgd


def test_links_are_tilted_by_their_times_over_the_mean() -> None:
    network, noisy = roads([1.0, 3.0], back=2.0), np.arange(6.0).reshape(2, 3)
    assert tilted(network, noisy, 4.0) == pytest.approx(noisy - [2.0, 6.0, 4.0])
    assert np.array_equal(tilted(network, noisy, 0.0), noisy)
    free = pr.Network([0, 1], [1, 0], pr.Latency.affine([0.0, 0.0], 1.0, 1.0), ["a", "b"])
    assert np.array_equal(tilted(free, noisy[:, :2], 4.0), noisy[:, :2])


def test_routes_are_tilted_by_costs_in_the_metric() -> None:
    """Entry by entry: amount · cost/mean(cost) · mean(√w) / (w √u)."""
    sets = RouteSets.whole(braess(), pr.Pairs([0, 1], [3, 3]))
    metric = RouteMetric.nearest(np.array([1.0, 4.0, 0.25, 2.0, 1.0, 8.0]), np.array([4.0, 0.25]))
    cost = np.array([1.0, 3.0, 0.5, 3.0, 1.0, 2.0])
    routes = PublicRoutes(sets, metric, np.ones(2), cost, cost)
    found = public_tilt(routes, 3.0)
    pair = sets.by_entry(np.arange(2.0)).astype(int)
    expected = 3.0 * cost / cost.mean() * np.sqrt(metric.link).mean() / metric.link
    assert found == pytest.approx(expected[sets.link] / np.sqrt(metric.pair[pair]))
    assert not public_tilt(routes, 0.0).any()
    assert not public_tilt(PublicRoutes(sets, metric, np.ones(2), cost, 0 * cost), 3.0).any()


def test_routes_are_made_anew_for_other_public_data_and_only_then() -> None:
    network = braess()
    pairs = pr.Pairs([0, 1], [3, 3])
    frame = pr.DemandHistory(pairs, np.ones((2, 2), np.int64)).frame

    def routes(rates: list[float], cap_factor: float = 2.0) -> PublicRoutes:
        options = Sgd(alpha=1.0, public_demand=pr.Demand(pairs, rates), cap_factor=cap_factor)
        return public_routes(pr.Study(network, frame, pr.Guarantee(1.0, 1e-6), options))

    first = routes([1.0, 2.0])
    assert routes([1.0, 2.0]) is first  # an equal demand, not the same object
    other = routes([2.0, 1.0])
    assert other is not first
    assert other.caps.tolist() == first.caps.tolist()[::-1]
    assert routes([2.0, 1.0], cap_factor=4.0).caps.tolist() != other.caps.tolist()
