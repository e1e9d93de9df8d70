"""Algorithm 1 and the minimiser on route sets in a metric: neighbours in the W-norm, and planted bugs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.mechanism.flow_cases import CONGESTED, PROMISE, SCENARIO, T, braess, history, pairs_of, roads, sgd_in_metric
from tests.mechanism.test_flow_mechanisms import check_isolation
from tests.mechanism.test_flow_neighbours import ratio, worst_found
from tests.reference import projection as reference

import privroute as pr
from privroute.flows import route_metric as route_metric_module
from privroute.flows.route_metric import RouteMetric
from privroute.flows.route_metric import project_on_routes as right_projection
from privroute.mechanism import from_routes as from_routes_module
from privroute.mechanism import sgd as sgd_module
from privroute.mechanism import shard as shard_module
from privroute.mechanism.public_routes import public_routes
from privroute.privacy import flow_sensitivity
from privroute.study.mechanisms import Mechanism

# Two roads whose costs hardly depend on traffic: a trip moves its pair away from the longer one, as far as declared.
FLAT = roads([1.0, 3.0], capacity=1e6, back=1.0)
BPR = pr.Network([0, 0, 1], [1, 1, 0], pr.Latency.bpr([1.0, 1.2, 1.0], 0.2, 0.15, 4.0), ["a", "b"])
NETWORKS = {"flat": FLAT, "congested": CONGESTED, "braess": braess(), "bpr": BPR}


def unequal(network: pr.Network, **options: Any) -> pr.Sgd:
    """Steps in a metric whose weights of pairs differ by a factor of a hundred."""
    rate = np.where(np.arange(len(pairs_of(network))) % 2, 2.0, 0.0)
    usual: dict[str, Any] = {"alpha": 3.0, "cap_trips": 3, "detour": 20.0, "prior_ceiling": 3.0, "steps_per_day": 3}
    return pr.Sgd(public_demand=pr.Demand(pairs_of(network), rate), **(usual | {"power": 1.0} | options))


def minimiser(network: pr.Network, **options: Any) -> pr.Minimiser:
    rate = np.full(len(pairs_of(network)), 0.1)
    usual: dict[str, Any] = {"alpha": 0.5, "detour": 20.0, "prior_ceiling": 3.0, "tolerance": 1e-7}
    return pr.Minimiser(public_demand=pr.Demand(pairs_of(network), rate), **(usual | options))


class TestSensitivity:
    @pytest.mark.parametrize("name", NETWORKS)
    @pytest.mark.parametrize("options", [{}, {"alpha": 0.05}, {"alpha": 30.0}, {"steps_per_day": 1, "power": 0.0}])
    def test_sgd_keeps_its_bound(self, name: str, options: dict[str, Any]) -> None:
        network = NETWORKS[name]
        assert worst_found(network, sgd_in_metric(network, **options), 3, 9, 16) <= 1.0
        assert worst_found(network, unequal(network, **options), 3, 9, 16) <= 1.0

    def test_the_bound_of_sgd_is_nearly_attained(self) -> None:
        options = sgd_in_metric(FLAT, alpha=3.0, start="prior")
        assert worst_found(FLAT, options, 3, 9, 60) > 0.5

    def test_the_bound_of_the_minimiser_is_nearly_attained(self) -> None:
        assert worst_found(FLAT, minimiser(FLAT, prior_ceiling=1.05), 3, 9, 40) > 0.9

    @pytest.mark.parametrize("name", NETWORKS)
    def test_the_minimiser_keeps_its_bound(self, name: str) -> None:
        for power in (0.0, 1.0):
            assert worst_found(NETWORKS[name], minimiser(NETWORKS[name], power=power), 3, 9, 16) <= 1.0

    @pytest.mark.parametrize("latency", ["affine", "bpr"])
    def test_sioux_falls_keeps_its_bounds(self, latency: Any) -> None:
        scenario = pr.sioux_falls(latency=latency)
        network, demand = scenario.network, scenario.demand
        usual = pr.simulate_days(demand, days=3, period_min=T, seed=3).counts
        busiest, idle = int(usual[0].argmax()), int(usual[0].argmin())
        chosen: list[Mechanism] = [
            pr.Sgd(public_demand=demand, alpha=1.0, steps_per_day=4),
            pr.Minimiser(public_demand=demand, alpha=5.0, tolerance=1e-4),
        ]
        for options in chosen:
            for counts, day, pair in ((usual, 2, busiest), (usual * 0, 0, 3), (usual * 3, 2, idle)):
                assert ratio(network, counts, day, pair, options) <= 1.0


def algorithm_1(network: pr.Network, counts: NDArray[np.int64], options: pr.Sgd) -> NDArray[np.float64]:
    """W^½ x of Algorithm 1 in NumPy, on the route sets and in the metric of the study."""
    data = history(network, counts)
    study = pr.Study(network, data.frame, PROMISE, options)
    routes = public_routes(study)
    sets, metric = routes.sets, routes.metric
    bounds = sgd_module.public_bounds(study)
    steps = sgd_module.public_steps(study, bounds).reshape(len(counts), -1)
    x = sets.dense(sgd_module.start_on_routes(study, routes))
    opened = sets.dense(np.ones(sets.entries)) > 0
    for day, sizes in zip(counts, steps, strict=True):
        rates = np.minimum(day / T, routes.caps)
        for step in sizes:
            cost = np.minimum(network.latency.marginal_cost(network.background_per_min + rates @ x), routes.ceiling)
            slope = np.outer(rates / metric.pair, cost / metric.link) + options.alpha * x
            found, _, _ = reference.project(
                network.tail,
                network.head,
                network.no_through,
                sets.pairs.origin,
                sets.pairs.destination,
                np.where(opened, x - step * slope, 0.0),
                weight=metric.link,
                opened=opened,
            )
            x = found.astype(np.float64)
    z = np.sqrt(np.outer(metric.pair, metric.link)) * x
    return np.asarray(sets.sparse(z)[~sets.forced])


def check_algorithm() -> None:
    """What gets noise is Algorithm 1 as written down, in the units of the metric."""
    for network in (CONGESTED, braess()):
        counts = np.random.default_rng(3).integers(0, 12, (3, len(pairs_of(network))))
        options = unequal(network, alpha=0.3)
        data = history(network, counts)
        study = pr.Study(network, data.frame, PROMISE, options)
        found = sgd_module.query(study, data, None) * sgd_module.promise(study).grid
        assert np.abs(found - algorithm_1(network, counts, options)).max() < 1e-7


def test_what_sgd_perturbs_is_algorithm_1_in_the_metric() -> None:
    check_algorithm()


class TestPlantedBugs:
    def test_noise_without_the_weights_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Isotropic noise on x instead of W^½ x: too little for the pairs of small weight."""
        options = unequal(FLAT, alpha=3.0, start="prior")
        assert worst_found(FLAT, options, 3, 9, 40) <= 1.0
        monkeypatch.setattr(RouteMetric, "root", lambda _, sets: np.ones(sets.entries))
        with pytest.raises(AssertionError, match="more than was declared"):
            worst_found(FLAT, options, 3, 9, 40)

    def test_steps_of_a_day_that_are_forgotten_are_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = flow_sensitivity.sgd_sensitivity
        options = sgd_in_metric(FLAT, alpha=0.1, steps_per_day=5, step_sizes="paper", prior_ceiling=1.05)
        assert worst_found(FLAT, options, 3, 2, 40) > 0.5
        monkeypatch.setattr(sgd_module, "sgd_sensitivity", lambda *a, **k: right(*a, **(k | {"rounds": 1})))
        with pytest.raises(AssertionError, match="more than was declared"):
            worst_found(FLAT, options, 3, 2, 40)

    def test_a_projection_in_another_norm_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def plain(sets: Any, metric: Any, *arguments: Any, **named: Any) -> Any:
            del metric
            return right_projection(sets, RouteMetric.plain(sets), *arguments, **named)

        monkeypatch.setattr(shard_module, "project_on_routes", plain)
        with pytest.raises(AssertionError):
            check_algorithm()

    def test_a_step_in_another_norm_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = route_metric_module.step
        monkeypatch.setattr(
            shard_module, "step", lambda sets, flows, rates, price, keep: right(sets, flows, rates * 1.01, price, keep)
        )
        with pytest.raises(AssertionError):
            check_algorithm()

    def test_route_sets_made_of_private_demand_are_caught(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Links that only the data's optimum needs would show in the release which data it was."""
        right = sgd_module.query
        options = sgd_in_metric(braess(), detour=1.5)
        seen: list[pr.Demand] = []

        def private(study: pr.Study) -> Any:
            other = pr.Sgd(public_demand=seen[-1], alpha=1.0, cap_trips=3, detour=1.5) if seen else study.mechanism
            return public_routes(pr.Study(study.network, study.frame, PROMISE, other))

        def query(study: pr.Study, data: pr.DemandHistory, progress: Any) -> Any:
            exact = right(study, data, progress)
            seen.append(data.mean)
            return exact

        size = int(
            (
                ~public_routes(
                    pr.Study(braess(), history(braess(), np.zeros((4, 12), int)).frame, PROMISE, options)
                ).sets.forced
            ).sum()
        )
        check_isolation(options, tmp_path / "right", entries=size)
        monkeypatch.setattr(sgd_module, "query", query)
        monkeypatch.setattr(from_routes_module, "public_routes", private)
        with pytest.raises((AssertionError, ValueError, IndexError)):
            check_isolation(options, tmp_path / "wrong", entries=size)


def test_the_public_sets_do_not_depend_on_the_history() -> None:
    """Two histories of one frame have the same sets, metric, caps and ceiling, made once."""
    network, demand = SCENARIO.network, SCENARIO.demand
    options = pr.Sgd(public_demand=demand, alpha=1.0)
    frames = [pr.simulate_days(demand, days=3, period_min=T, seed=seed).frame for seed in (1, 2)]
    first, second = (public_routes(pr.Study(network, frame, PROMISE, options)) for frame in frames)
    assert first is second
