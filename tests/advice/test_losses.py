from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from tests.advice.busy import busy_grid
from tests.cli.command import run

import privroute as pr
from privroute.advice.losses import LOSSES
from privroute.errors import DemandError, InputError, PolicyError


@pytest.fixture(scope="module")
def optimum() -> tuple[pr.Network, pr.Demand, pr.RoutingPolicy]:
    network, demand = busy_grid(8, 12)
    return network, demand, pr.solve_optimum(network, demand, gap=1e-9).policy


def test_minutes_are_those_of_the_links(optimum: tuple[pr.Network, pr.Demand, pr.RoutingPolicy]) -> None:
    network, demand, policy = optimum
    losses = pr.who_loses(network, policy, demand, gap=1e-9)
    times = pr.travel_times(network, policy, demand)
    np.testing.assert_array_equal(losses.policy_min, times.expected_min)
    np.testing.assert_array_equal(losses.fastest_min, times.fastest_min)
    assert (losses.minutes("fastest") >= -1e-9).all()
    selfish = pr.solve_equilibrium(network, demand, gap=1e-9)
    alone = pr.travel_times(network, selfish.policy, demand)
    np.testing.assert_allclose(losses.equilibrium_min, alone.fastest_min, rtol=1e-5)  # Wardrop: all used are fastest


def test_means_shares_and_groups_agree_with_a_list_of_trips(
    optimum: tuple[pr.Network, pr.Demand, pr.RoutingPolicy],
) -> None:
    """Each pair as many times as it has trips, and everything counted one by one."""
    network, demand, policy = optimum
    whole = pr.Demand(demand.pairs, np.ceil(demand.rate_per_min))
    losses = pr.who_loses(network, policy, whole)
    trips = np.repeat(losses.minutes(), whole.rate_per_min.astype(int))
    assert losses.mean() == pytest.approx(trips.mean())
    for limit in (-0.1, 0.0, 0.1):
        assert losses.share_losing(limit) == pytest.approx((trips > limit).mean())
    ordered = np.sort(trips)
    for share, minutes in losses.quantiles().items():
        assert minutes == pytest.approx(ordered[max(int(np.ceil(share * trips.size - 1e-6)) - 1, 0)])
    for rows in (losses.by_zone(), losses.by_distance()):
        total = sum(row.trips_per_h for row in rows)
        assert total == pytest.approx(whole.total_per_min * 60)
        assert sum(row.trips_per_h * row.mean_loss_min for row in rows) / total == pytest.approx(losses.mean())
        for at, limit in enumerate(LOSSES):
            share = sum(row.trips_per_h * row.share_losing[at] for row in rows) / total
            assert share == pytest.approx(losses.share_losing(limit))
    worst = losses.worst(3)
    assert [row.loss_min for row in worst] == pytest.approx(np.sort(losses.minutes())[::-1][:3].tolist())
    distances = losses.by_distance()
    assert all(one.to_min <= other.from_min + 1e-12 for one, other in itertools.pairwise(distances))


def test_the_equilibrium_as_policy_gains_and_loses_nothing(
    optimum: tuple[pr.Network, pr.Demand, pr.RoutingPolicy],
) -> None:
    network, demand, policy = optimum
    selfish = pr.solve_equilibrium(network, demand, gap=1e-10).policy
    assert np.abs(pr.who_loses(network, selfish, demand, gap=1e-10).minutes()).max() < 1e-3
    better = pr.who_loses(network, policy, demand)
    assert better.mean() < 0  # the optimum's mean trip is faster
    with pytest.raises(DemandError, match="zero"):
        pr.who_loses(network, policy, demand * 0.0)
    with pytest.raises(InputError, match="against"):
        better.mean("nobody")  # type: ignore[arg-type]


def test_compliance_leads_from_the_equilibrium_to_the_policy(
    optimum: tuple[pr.Network, pr.Demand, pr.RoutingPolicy],
) -> None:
    network, demand, policy = optimum
    rows = pr.compliance_curve(network, policy, demand, shares=(0.0, 0.3, 0.6, 1.0), gap=1e-9)
    total = [row.total_travel_time for row in rows]
    assert total[0] == pytest.approx(pr.solve_equilibrium(network, demand).total_travel_time, rel=1e-6)
    assert total[-1] == pytest.approx(pr.total_travel_time(network, policy, demand), rel=1e-9)
    assert total == sorted(total, reverse=True)
    for row in rows:
        assert row.mean_min == pytest.approx(row.share * row.followers_min + (1 - row.share) * row.others_min)
        assert row.mean_min * demand.total_per_min == pytest.approx(row.total_travel_time, rel=1e-6)
        assert row.others_min <= row.followers_min + 1e-6  # who chooses alone is at least as fast
    with pytest.raises(InputError, match="from 0 to 1"):
        pr.compliance_curve(network, policy, demand, shares=(1.5,))


def test_others_are_in_equilibrium_beside_the_followers(
    optimum: tuple[pr.Network, pr.Demand, pr.RoutingPolicy],
) -> None:
    """Their mean time is that of the fastest routes at the flows of both together."""
    network, demand, policy = optimum
    (row,) = pr.compliance_curve(network, policy, demand, shares=(0.5,), gap=1e-10)
    half = pr.Network(
        network.tail,
        network.head,
        network.latency,
        network.node_labels,
        zones=network.zones,
        background_per_min=0.5 * policy.link_flow(demand),
    )
    others = pr.solve_equilibrium(half, demand * 0.5, gap=1e-10)
    times = pr.travel_times(half, others.policy, demand * 0.5)
    assert row.others_min == pytest.approx(float(np.average(times.fastest_min, weights=demand.rate_per_min)), rel=1e-6)


def test_selected_links_have_the_traffic_of_their_pairs(
    optimum: tuple[pr.Network, pr.Demand, pr.RoutingPolicy],
) -> None:
    _network, demand, policy = optimum
    flow = policy.link_flow(demand)
    for link in (3, int(np.argmax(flow))):
        used = pr.select_link(policy, link, demand)
        assert used.rate_per_min is not None
        assert float(used.rate_per_min.sum()) == pytest.approx(flow[link])
        assert (np.diff(used.rate_per_min) <= 0).all()
        shares = policy.unit_flows(np.arange(len(policy.pairs)))[:, link]
        np.testing.assert_array_equal(np.sort(used.pair), np.flatnonzero(shares > 1e-9))
        np.testing.assert_allclose(used.probability, shares[used.pair], rtol=1e-12)
        assert len(used) == policy.pairs_using()[link]
    assert pr.select_link(policy, 3).rate_per_min is None
    np.testing.assert_array_equal(pr.select_link(policy.as_paths(), 3).pair.size, pr.select_link(policy, "3").pair.size)
    with pytest.raises(PolicyError, match="no link is labelled"):
        pr.select_link(policy, "nothing")


def test_the_commands_say_who_loses_and_write_files(tmp_path: Path) -> None:
    scenario = pr.sioux_falls()
    history = pr.simulate_days(scenario.demand, days=5, seed=1)
    release = pr.learn(scenario.network, history, pr.Guarantee(1.0, 1e-6), pr.Counts(fairness=0.5))
    release.save(tmp_path / "release")
    done = run(
        *("evaluate", tmp_path / "release", "--people", "--out", tmp_path / "people"),
        *("--tolls", tmp_path / "tolls.csv"),
    )
    assert done.code == 0, done.err
    for words in ("Who gains, who loses", "Pairs that lose most", "If only some follow", "tolls.csv", "people.png"):
        assert words in done.text
    assert (tmp_path / "people" / "people.png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "people" / "pairs.csv").read_text().splitlines()) == 1 + len(release.policy.pairs)
    rows = np.genfromtxt(tmp_path / "tolls.csv", delimiter=",", names=True)
    assert release.demand is not None
    expected = pr.marginal_tolls(release.network, release.policy, release.demand, fairness=0.5)
    np.testing.assert_allclose(rows["toll_min"], expected, rtol=1e-4, atol=1e-6)
    assert run("evaluate", tmp_path / "release", "--tolls", tmp_path / "tolls.csv").code == 1
    assert run("evaluate", tmp_path / "release", "--out", tmp_path / "x").code == 1
    private = run("evaluate", tmp_path / "release", "--private-counts", tmp_path / "none.csv", "--people")
    assert private.code == 1
    assert "nothing private is written" in private.err
    done = run("link", tmp_path / "release", "5", "--limit", "2")
    assert done.code == 0, done.err
    assert "from 3 to 1" in done.text
    assert "vehicles per hour" in done.text
    assert '"pairs_using"' in run("link", tmp_path / "release", "5", "--json").out
    plan = run(
        *("plan", "--network", "sioux-falls", "--days", "5", "--draws", "1", "--epsilons", "1"),
        *("--fairness", "0.5", "--fairness-curve", "--out", tmp_path / "plan"),
    )
    assert plan.code == 0, plan.err
    assert "longest over shortest" in plan.text
    assert (tmp_path / "plan" / "fairness.png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "plan" / "fairness.csv").read_text().splitlines()) == 6
