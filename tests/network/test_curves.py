"""Every curve of the table is what it says of itself, and the core's curves are those of the table."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.network.curve_cases import CASES, Quadratic, random_latency

import privroute as pr
from privroute import _core
from privroute.errors import FormatError, NetworkError
from privroute.flows.optimum import compiled
from privroute.network.curve import Links
from privroute.network.curve_columns import latency_of_columns, values_by_column
from privroute.network.curves import CURVES, LatencyKind, number_of
from privroute.network.latency import latency_kinds

LINKS = 400
TIGHTNESS = 0.9  # the largest slope that is found is at least this part of `marginal_slope_bound`
HIGHEST_COST = 1e150  # where the core cuts costs off
EACH = pytest.mark.parametrize("name", CURVES)
Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def loaded(name: str, seed: int) -> tuple[pr.Latency, NDArray[np.float64]]:
    """Random links with that curve, and a flow for each."""
    chance = np.random.default_rng(seed)
    latency = random_latency(name, LINKS, chance)
    return latency, latency.capacity_per_min * chance.uniform(*CASES[name].loads, LINKS)


def derivative(function: Function, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Central differences with Richardson extrapolation."""

    def difference(step: NDArray[np.float64]) -> NDArray[np.float64]:
        return (function(at + step) - function(at - step)) / (2 * step)

    step = at * 1e-3
    return (4 * difference(step / 2) - difference(step)) / 3


def same_derivative(function: Function, at: NDArray[np.float64], claimed: NDArray[np.float64]) -> None:
    """Differences of nearly constant functions carry rounding of the function's size over the step."""
    np.testing.assert_array_less(
        np.abs(derivative(function, at) - claimed), 1e-5 * claimed + 1e-11 * function(at) / at + 1e-300
    )


def away_from_kinks(latency: pr.Latency, flow: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where no kink, and no end of a rounded corner, is within the steps of `derivative`."""
    steps = np.linspace(0.998, 1.002, 9)[:, None]
    slopes = latency.marginal_slope(flow * steps)
    return np.asarray((np.abs(slopes - slopes[0]) <= 1e-2 * slopes[0]).all(axis=0))


def refined(latency: pr.Latency, flows: NDArray[np.float64], highest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Further flows (n, links): up to where the cost meets the ceiling, and around the largest slope below it.

    Queues are so steep there that an even grid misses half of the slope between two of its points.
    """
    links = np.arange(len(latency))
    below = latency.marginal_cost(flows) < highest
    last = np.maximum(below.sum(axis=0) - 1, 0)  # costs do not decrease
    low, high = flows[last, links], flows[np.minimum(last + 1, len(flows) - 1), links]
    for _ in range(60):
        middle = 0.5 * (low + high)
        short = latency.marginal_cost(middle) < highest
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    steepest = np.where(below, latency.marginal_slope(flows), -1.0).argmax(axis=0)
    start, end = (flows[np.clip(steepest + step, 0, len(flows) - 1), links] for step in (-1, 1))
    around = start + np.linspace(0, 1, 200)[:, None] * (end - start)
    return np.sort(np.vstack([flows, low, around]), axis=0)


def largest_jump(latency: pr.Latency, flows: NDArray[np.float64], below: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(links,) what remains, relative to the cost, of the step that slopes explain least when it is made short."""
    links = np.arange(len(latency))

    def unexplained(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
        slope = np.maximum(latency.marginal_slope(low), latency.marginal_slope(high))
        return latency.marginal_cost(high) - latency.marginal_cost(low) - slope * (high - low)

    at = np.where(below[:-1], unexplained(flows[:-1], flows[1:]), -np.inf).argmax(axis=0)
    low, high = flows[at, links], flows[at + 1, links]
    for _ in range(60):
        middle = 0.5 * (low + high)
        first = unexplained(low, middle) >= unexplained(middle, high)
        low, high = np.where(first, low, middle), np.where(first, middle, high)
    assert (high - low <= 1e-12 * flows[-1]).all()
    cost = latency.marginal_cost(high)
    return np.divide(cost - latency.marginal_cost(low), cost, out=np.zeros(len(latency)), where=cost > 0)


def test_each_curve_has_values_to_try_and_a_kind() -> None:
    assert list(CASES) == list(CURVES)
    assert get_args(LatencyKind) == tuple(latency_kinds())


def test_the_core_has_the_same_curves_in_the_same_order() -> None:
    assert _core.curves() == [(name, len(curve.parameters)) for name, curve in CURVES.items()]


@EACH
def test_slopes_and_costs_are_derivatives(name: str) -> None:
    latency, flow = loaded(name, 1)
    if CASES[name].draw is not None:  # no corner within the step of the differences
        flow = flow[away := away_from_kinks(latency, flow)]
        latency = latency[away]
        assert len(latency) > LINKS / 2
    same_derivative(latency.integral, flow, latency.time(flow))
    same_derivative(latency.time, flow, latency.time_slope(flow))
    same_derivative(lambda y: y * latency.time(y), flow, latency.marginal_cost(flow))
    same_derivative(latency.marginal_cost, flow, latency.marginal_slope(flow))
    np.testing.assert_allclose(
        latency.marginal_cost(flow), latency.time(flow) + flow * latency.time_slope(flow), rtol=1e-13
    )
    assert (latency.integral(np.zeros(len(latency))) == 0).all()


@EACH
def test_time_and_marginal_cost_never_decrease(name: str) -> None:
    latency, _ = loaded(name, 2)
    flows = np.linspace(0, 1, 2001)[:, None] * latency.capacity_per_min * CASES[name].loads[1]
    for function in (latency.time, latency.marginal_cost):
        values = function(flows)
        assert (values >= 0).all()
        assert (values[1:] >= values[:-1] * (1 - 1e-14)).all()


@EACH
def test_straight_links_are_lines_from_the_free_flow_time(name: str) -> None:
    latency, _ = loaded(name, 3)
    flow = latency.capacity_per_min * CASES[name].loads[1]  # where curves that are not straight have bent
    line = latency.free_flow_min + latency.time_slope(np.zeros(LINKS)) * flow
    close = np.isfinite(line) & (np.abs(latency.time(flow) - np.minimum(line, HIGHEST_COST)) <= 1e-12 * line)
    assert (close == latency.straight).all()


@EACH
def test_defaults_are_allowed_and_values_outside_the_range_are_not(name: str) -> None:
    for parameter in CURVES[name].parameters:
        assert parameter.allows(parameter.default)
        for outside in (parameter.least - 1.0, 2.0 * parameter.greatest + 1.0, np.nan):
            with pytest.raises(NetworkError, match=f"{parameter.name}: position 1 is not usable"):
                pr.Latency.of(name, [1.0, 1.0], 1.0, **{parameter.name: [parameter.default, outside]})


@EACH
@pytest.mark.parametrize("ceiling", [1.5, 8.0, np.inf])
def test_bounds_hold_for_every_flow_that_was_tried(name: str, ceiling: float) -> None:
    """A bound that is refused has slopes without bound: they grow and grow towards zero flow, or jump."""
    latency, most = loaded(name, 4)
    free = latency.free_flow_min
    highest = np.multiply(free, ceiling, out=np.zeros(LINKS), where=free > 0)
    shares = np.concatenate([[0.0], np.geomspace(1e-9, 1.0, 500), np.linspace(1e-3, 1, 2001)])
    flows = refined(latency, np.sort(shares)[:, None] * most, highest)
    cost, slope = latency.marginal_cost(flows), latency.marginal_slope(flows)
    assert (np.minimum(cost, highest) <= latency.marginal_cost_bound(most, highest) * (1 + 1e-12)).all()
    below = cost < highest
    with np.errstate(invalid="ignore"):
        elasticity = np.where(below & (flows > 0), flows * slope / cost, 0.0)
    assert (elasticity <= latency.elasticity_bound(highest) * (1 + 1e-12)).all()
    finite = np.isfinite(slope).all(axis=0) & (latency.straight | (not CASES[name].kinks))
    so_far = latency[finite].marginal_slope_up_to(flows[:, finite])
    assert (np.maximum.accumulate(slope[:, finite]) <= so_far * (1 + 1e-12)).all()
    largest = np.where(below, slope, 0.0).max(axis=0)
    kinks = CASES[name].kinks
    endless = largest_jump(latency, flows, below) > 1e-9 if kinks else slope[1] > 1e3 * slope[-1]
    for link in np.flatnonzero(endless):
        with suppress(NetworkError):
            bound = latency[[link]].marginal_slope_bound(most[link], highest[link])
            assert TIGHTNESS * bound <= largest[link] <= bound * (1 + 1e-12)
            endless[link] = False
    assert not (endless & latency.straight).any()
    bound = latency[~endless].marginal_slope_bound(most[~endless], highest[~endless])
    assert (largest[~endless] <= bound * (1 + 1e-12)).all()
    assert (largest[~endless] >= TIGHTNESS * bound).all()
    assert np.count_nonzero(~endless) > (0 if kinks else LINKS / 2)


@EACH
def test_the_computed_marginal_cost_is_within_its_rounding(name: str) -> None:
    """The same formulas with 64 bits in place of 53 say how far off they are."""
    if np.finfo(np.longdouble).nmant <= np.finfo(np.float64).nmant:
        pytest.skip("long double: no longer than double here")
    latency, flow = loaded(name, 5)
    free, capacity, *parameters, wide = (
        values.astype(np.longdouble)
        for values in (latency.free_flow_min, latency.capacity_per_min, *latency.parameters.T, flow)
    )
    links = Links(np.arange(LINKS), free, capacity, tuple(parameters))
    exact = CURVES[name].marginal_cost(links, wide)
    assert exact.dtype == np.longdouble
    allowed = (16 + latency.roundings()) * 2.0**-53
    assert (np.abs(latency.marginal_cost(flow) - exact) <= allowed * exact).all()


def mixed(seed: int) -> pr.Latency:
    """All curves of the table, links of each in random places."""
    chance = np.random.default_rng(seed)
    kinds = [random_latency(name, LINKS, chance) for name in CURVES]
    order = chance.permutation(LINKS * len(kinds))
    width = max(each.parameters.shape[1] for each in kinds)
    rows = [np.pad(each.parameters, ((0, 0), (0, width - each.parameters.shape[1]))) for each in kinds]
    return pr.Latency(
        np.concatenate([each.free_flow_min for each in kinds])[order],
        np.concatenate([each.capacity_per_min for each in kinds])[order],
        np.concatenate([each.curve for each in kinds])[order],
        np.concatenate(rows)[order],
    )


@pytest.mark.parametrize("equilibrium", [False, True])
@pytest.mark.parametrize("load", [0.0, 1e-9, 0.3, 1.0, 5.0, 1e12])
def test_the_core_evaluates_the_curves_of_the_table(equilibrium: bool, load: float) -> None:
    latency = mixed(6)
    flow = load * latency.capacity_per_min * np.random.default_rng(7).uniform(0.5, 1.5, len(latency))
    cost, slope, objective = compiled(latency).evaluate(flow, equilibrium=equilibrium)
    if equilibrium:
        expected = latency.time(flow), latency.time_slope(flow), latency.integral(flow)
    else:
        expected = latency.marginal_cost(flow), latency.marginal_slope(flow), flow * latency.time(flow)
    np.testing.assert_allclose(cost, np.minimum(expected[0], HIGHEST_COST), rtol=1e-13)
    np.testing.assert_allclose(slope, np.minimum(expected[1], HIGHEST_COST), rtol=1e-13)
    np.testing.assert_allclose(objective, expected[2], rtol=1e-13)


class TestLinksThatDifferInCurve:
    @pytest.fixture(autouse=True)
    def table(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(CURVES, "quadratic", Quadratic())

    def latency(self) -> pr.Latency:
        names = ["quadratic", "bpr", "quadratic", "bpr"]
        rows = [[1.0, 0.1, 0.0], [0.15, 4.0], [-0.5, 0.3, 7.0], [1.0, 1.0]]
        return pr.Latency.by_link([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0], names, rows)

    def network(self) -> pr.Network:
        return pr.Network([0, 1, 0, 1], [1, 0, 1, 0], self.latency(), ["a", "b"])

    def test_each_link_has_its_own_values_and_bounds(self) -> None:
        latency = self.latency()
        flow = np.array([[5.0, 25.0, 8.0, 70.0], [0.0, 1.0, 2.0, 3.0]])
        for name in ("time", "time_slope", "marginal_cost", "marginal_slope", "integral"):
            whole = getattr(latency, name)(flow)
            for link in range(4):
                alone = getattr(latency[[link]], name)(flow[:, [link]])
                assert (whole[:, [link]] == alone).all()
        for name in ("marginal_cost_bound", "marginal_slope_bound"):
            whole = getattr(latency, name)(flow[0], 50.0)
            assert whole.tolist() == [float(getattr(latency[[i]], name)(flow[0, i], 50.0)[0]) for i in range(4)]
        assert latency.elasticity_bound().tolist() == [2.0, 4.0, 2.0, 1.0]
        assert latency.roundings().tolist() == [0.0, 4.0, 0.0, 1.0]
        assert latency.straight.tolist() == [False, False, False, True]

    def test_errors_name_the_link_of_the_network(self) -> None:
        steep = pr.Latency.by_link([1.0, 1.0], [1.0, 1.0], ["quadratic", "bpr"], [[1.0, 1.0, 0.0], [1.0, 0.5]])
        with pytest.raises(NetworkError, match=r"link 1: .*power 0\.5"):
            steep.marginal_slope_bound(1.0)
        with pytest.raises(NetworkError, match="b: position 1 is not usable"):
            pr.Latency.by_link([1.0, 1.0], 1.0, ["quadratic", "bpr"], [[1.0, 1.0, 0.0], [-1.0, 1.0]])
        with pytest.raises(NetworkError, match="bend: position 0 is not usable; every value must be .*greater than 0"):
            pr.Latency.by_link([1.0, 1.0], 1.0, ["quadratic", "bpr"], [[1.0, 0.0, 0.0], [1.0, 1.0]])
        with pytest.raises(NetworkError, match="parameters: position 1 is not usable; every value must be 0 beyond"):
            pr.Latency([1.0, 1.0], 1.0, [number_of("quadratic"), 0], [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])

    def test_equal_only_if_curves_and_parameters_are(self) -> None:
        latency = self.latency()
        assert pickle.loads(pickle.dumps(latency)) == latency  # noqa: S301 - our own bytes
        assert latency[[1, 3]] == pr.Latency.bpr([2.0, 4.0], [20.0, 40.0], [0.15, 1.0], [4.0, 1.0])
        assert latency[[1, 3]].parameters.shape == (2, 2)
        assert latency[::-1] != latency
        assert repr(latency) == "Latency(4 links, bpr, quadratic)"
        words = "2 links: BPR curves with powers 1 to 4; 2 links: quadratic, bent by up to 0.3"
        assert latency.words == words

    def test_parameters_by_name_and_by_column(self) -> None:
        latency = self.latency()
        np.testing.assert_array_equal(latency.parameter("power"), [np.nan, 4.0, np.nan, 1.0])
        columns = values_by_column(latency)
        assert list(columns) == ["vdf_alpha", "vdf_beta", "vdf_tilt", "vdf_spare"]
        np.testing.assert_array_equal(columns["vdf_alpha"], [0.1, 0.15, 0.3, 1.0])
        np.testing.assert_array_equal(columns["vdf_tilt"], [1.0, np.nan, -0.5, np.nan])
        assert latency_of_columns(latency.free_flow_min, latency.capacity_per_min, latency.curve, columns) == latency

    def test_files_and_graphs_give_the_network_back(self, tmp_path: Path) -> None:
        network = self.network()
        pr.write_gmns(network, tmp_path)
        assert pr.read_gmns(tmp_path) == network
        graph = pr.to_networkx(network)
        assert pr.from_networkx(graph) == network
        assert set(graph["a"]["b"][0]) & {"b", "power", "tilt", "bend", "spare"} == {"tilt", "bend", "spare"}

    def test_a_curve_can_be_asked_for_by_name(self, tmp_path: Path) -> None:
        pr.write_gmns(self.network(), tmp_path)
        for kind, expected in (
            ("quadratic", [[1.0, 0.1, 0.0], [1.0, 0.15, 3.0], [-0.5, 0.3, 7.0], [1.0, 1.0, 3.0]]),
            ("bpr", [[0.1, 4.0], [0.15, 4.0], [0.3, 4.0], [1.0, 1.0]]),
        ):
            latency = pr.read_gmns(tmp_path, latency=kind).latency  # type: ignore[arg-type]
            assert latency.parameters.tolist() == expected
        graph = pr.to_networkx(self.network())
        latency = pr.from_networkx(graph, latency="quadratic", spare=9.0).latency  # type: ignore[arg-type]
        assert sorted(latency.parameters[:, 2].tolist()) == [0.0, 7.0, 9.0, 9.0]
        changed = self.network().with_latency("quadratic", bend=4.0)  # type: ignore[arg-type]
        assert changed.latency.parameters.tolist() == [[1.0, 4.0, 3.0]] * 4

    def test_values_out_of_range_are_refused_where_they_stand(self, tmp_path: Path) -> None:
        pr.write_gmns(self.network(), tmp_path)
        text = (tmp_path / "link.csv").read_text()
        (tmp_path / "link.csv").write_text(text.replace("-0.5", "-0.6"))
        with pytest.raises(FormatError, match=r"line 4: vdf_tilt is '-0\.6'; pass a number from -0\.5, up to 9"):
            pr.read_gmns(tmp_path)
        graph = pr.to_networkx(self.network())
        graph["a"]["b"][0]["tilt"] = 10.0
        with pytest.raises(NetworkError, match=r"edge \('a', 'b', 0\): tilt is 10\.0; it must be from -0\.5, up to 9"):
            pr.from_networkx(graph)
        with pytest.raises(NetworkError, match=r"tilt is -1; pass a finite number from -0\.5, up to 9"):
            pr.from_networkx(graph, tilt=-1)

    def test_the_core_refuses_curves_that_it_does_not_have(self) -> None:
        with pytest.raises(ValueError, match="not in the core's table"):
            compiled(self.latency())


def test_curves_that_are_not_in_the_table_are_refused(tmp_path: Path) -> None:
    network = pr.sioux_falls().network
    pr.write_gmns(network, tmp_path)
    text = (tmp_path / "link.csv").read_text()
    (tmp_path / "link.csv").write_text(text.replace(",bpr", ",akima", 1))
    with pytest.raises(FormatError, match="line 2: vdf_type is 'akima'; known curves are bpr"):
        pr.read_gmns(tmp_path)
    (tmp_path / "link.csv").write_text(text.replace(",bpr", ",BPR", 1).replace(",bpr", ",", 1))
    assert pr.read_gmns(tmp_path) == network
    graph = pr.to_networkx(network)
    for value in ("akima", None, ["bpr"]):
        graph[1][2][0]["vdf_type"] = value
        with pytest.raises(NetworkError, match=r"edge \(1, 2, 0\): vdf_type is .*; give one of bpr.*, or omit"):
            pr.from_networkx(graph)
    with pytest.raises(NetworkError, match="bend is no parameter of any curve; those are b, power"):
        pr.from_networkx(graph, bend=1.0)
    with pytest.raises(NetworkError, match="bend is no parameter of bpr curves; pass b, power"):
        pr.Latency.of("bpr", [1.0], [1.0], bend=1.0)
    with pytest.raises(NetworkError, match="curve: position 0 is outside"):
        pr.Latency([1.0], [1.0], [len(CURVES)], [[1.0, 1.0]])
    with pytest.raises(NetworkError, match=r"parameters has shape \(1, 1\); pass \(1, 2\)"):
        pr.Latency([1.0], [1.0], [0], [[1.0]])
