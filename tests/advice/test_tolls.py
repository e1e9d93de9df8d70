from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from tests.advice.busy import busy_grid
from tests.flows.solutions import public

import privroute as pr
from privroute.advice.tolls import check_tolls, marginal_tolls, with_tolls, write_tolls
from privroute.errors import FormatError, GuaranteeError, InputError, NetworkError


def test_chicago_sketch_has_the_published_equilibrium_of_time_distance_and_toll(tntp: Path) -> None:
    """Published for time + 0.04 length + 0.02 toll; flows are given to about a hundredth of a vehicle per hour."""
    network = pr.read_tntp(tntp / "ChicagoSketch_net.tntp", toll_factor=0.02, distance_factor=0.04)
    demand = pr.read_tntp_trips(tntp / "ChicagoSketch_trips.tntp", network, on_unreachable="drop")
    solution = pr.solve_equilibrium(network, demand, gap=1e-9)
    assert solution.relative_gap <= 1e-9
    published = np.loadtxt(tntp / "ChicagoSketch_flow.tntp", skiprows=1)
    volume = {(int(tail), int(head)): per_hour for tail, head, per_hour, _ in published}
    theirs = np.array([volume[t + 1, h + 1] for t, h in zip(network.tail, network.head, strict=True)])
    assert np.abs(solution.link_flow * 60 - theirs).max() < 0.5
    costs = {(int(tail), int(head)): cost for tail, head, _, cost in published}
    published_cost = np.array([costs[t + 1, h + 1] for t, h in zip(network.tail, network.head, strict=True)])
    ours = network.latency.time(solution.link_flow) + network.fixed_cost_min
    np.testing.assert_allclose(ours, published_cost, atol=1e-3)


@pytest.mark.parametrize("name", ["SiouxFalls", "Anaheim", "ChicagoSketch"])
def test_selfish_drivers_who_pay_marginal_costs_drive_the_optimum(tntp: Path, name: str) -> None:
    network, demand = public(tntp, name, "bpr")
    optimum = pr.solve_optimum(network, demand, gap=1e-9)
    found = check_tolls(network, optimum.policy, demand, gap=1e-8)
    assert found.gap_of_policy <= 1e-6
    assert found.time_difference <= 1e-6


def test_tolls_of_a_fairer_optimum_reproduce_it() -> None:
    network, demand = busy_grid(8, 12)
    fair = pr.solve_optimum(network, demand, fairness=0.4, gap=1e-10)
    found = check_tolls(network, fair.policy, demand, fairness=0.4, gap=1e-10)
    assert found.gap_of_policy <= 1e-9
    assert found.largest_flow_difference <= 1e-4
    assert check_tolls(network, fair.policy, demand, gap=1e-10).gap_of_policy > 1e-6  # other tolls, other drivers


def test_tolls_of_the_textbook_network() -> None:
    """Pigou: f = 1 and f = y. Half of the drivers on the second road delay each other by half a minute."""
    latency = pr.Latency.bpr([1.0, 1e-9], 1.0, [0.0, 1e9], 1.0)
    network = pr.Network([0, 0], [1, 1], latency, ["a", "b"])
    demand = pr.Demand(pr.Pairs([0], [1]), [1.0])
    policy = pr.solve_optimum(network, demand, gap=1e-12).policy
    tolls = marginal_tolls(network, policy, demand)
    np.testing.assert_allclose(tolls, [0.0, 0.5], atol=1e-6)
    tolled = pr.solve_equilibrium(with_tolls(network, tolls), demand, gap=1e-12)
    np.testing.assert_allclose(tolled.link_flow, [0.5, 0.5], atol=1e-6)
    assert tolled.total_travel_time == pytest.approx(0.75)


def test_tolls_are_written_as_a_table(tmp_path: Path) -> None:
    network, demand = busy_grid(4, 4)
    policy = pr.solve_optimum(network, demand).policy
    write_tolls(network, policy, demand, tmp_path / "tolls.csv")
    with (tmp_path / "tolls.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == network.links
    written = np.array([float(row["toll_min"]) for row in rows])
    np.testing.assert_allclose(written, marginal_tolls(network, policy, demand), rtol=1e-5, atol=1e-300)


def test_fixed_costs_survive_every_format(tmp_path: Path) -> None:
    network, demand = busy_grid(4, 4)
    priced = network.with_fixed_costs(np.linspace(0.0, 3.0, network.links))
    pr.write_gmns(priced, tmp_path / "gmns")
    np.testing.assert_array_equal(pr.read_gmns(tmp_path / "gmns").fixed_cost_min, priced.fixed_cost_min)
    pytest.importorskip("networkx")
    assert pr.from_networkx(pr.to_networkx(priced)) == priced
    history = pr.simulate_days(demand, days=3, seed=1)
    release = pr.learn(priced, history, pr.Guarantee(1.0, 1e-6))
    release.save(tmp_path / "release")
    again = pr.load_release(tmp_path / "release")
    np.testing.assert_array_equal(again.network.fixed_cost_min, priced.fixed_cost_min)
    assert not pr.sioux_falls().network.has_fixed_costs


def test_tolls_and_lengths_of_a_file_are_costs_only_if_asked(tmp_path: Path) -> None:
    text = """<NUMBER OF ZONES> 2
<NUMBER OF NODES> 2
<FIRST THRU NODE> 1
<NUMBER OF LINKS> 2
<END OF METADATA>
~ init_node term_node capacity length free_flow_time b power speed toll link_type ;
1 2 100 3 0.5 0.15 4 0 20 1 ;
2 1 100 4 0.5 0.15 4 0 0 1 ;
"""
    path = tmp_path / "two_net.tntp"
    path.write_text(text)
    assert not pr.read_tntp(path).has_fixed_costs
    priced = pr.read_tntp(path, toll_factor=0.02, distance_factor=0.04, time_unit="h")
    np.testing.assert_allclose(priced.fixed_cost_min, [60 * (0.4 + 0.12), 60 * 0.16])
    np.testing.assert_allclose(priced.free_flow_min, [30.0, 30.0])
    for wrong in (-1.0, float("inf"), "x"):
        with pytest.raises(InputError, match="toll_factor"):
            pr.read_tntp(path, toll_factor=wrong)  # type: ignore[arg-type]
    path.write_text(text.replace(" 0 20 1 ;", "").replace(" 0 0 1 ;", ""))
    with pytest.raises(FormatError, match="no toll"):
        pr.read_tntp(path, toll_factor=0.02)


def test_mechanisms_that_are_proven_for_time_alone_refuse_fixed_costs() -> None:
    network, demand = busy_grid(4, 4)
    priced = network.with_fixed_costs(1.0)
    history = pr.simulate_days(demand, days=3, seed=1)
    with pytest.raises(GuaranteeError, match="travel times alone"):
        pr.learn(priced, history, pr.Guarantee(1.0, 1e-6), pr.Minimiser(alpha=10.0))
    with pytest.raises(NetworkError, match="fixed_cost_min"):
        network.with_fixed_costs(-1.0)
