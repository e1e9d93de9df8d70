"""Simulators drive what they are given; the comparison of policies is that of benchmarks/simulated.py."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from tests.cli.command import run
from tests.release.days import day_release

import privroute as pr
from privroute.errors import InputError
from privroute.handover.fleet import Fleet
from privroute.handover.uxsim_world import simulated_min
from privroute.simulation.comparison import NAMES, compare

UXSIM = pytest.importorskip("uxsim", reason="UXsim: not installed; the test extra has it")


@pytest.fixture(scope="module")
def release() -> pr.Release:
    scenario = pr.sioux_falls()
    history = pr.simulate_days(scenario.demand * 0.4, days=20, seed=1)
    return pr.learn(scenario.network, history, pr.Guarantee(epsilon=0.1, delta=1e-6))


def test_a_fleet_has_the_demand_in_expectation_and_departs_in_order() -> None:
    demand = pr.sioux_falls().demand * 0.001
    fleets = [Fleet.draw(demand, platoon=2, seed=seed) for seed in range(200)]
    counts = np.mean([np.bincount(fleet.pair, minlength=len(demand.pairs)) for fleet in fleets], axis=0)
    expected = demand.rate_per_min * 60 / 2
    deviation = np.sqrt(demand.rate_per_min * 60 / 4 + 0.25)  # of Poisson numbers halved, and of the rounding
    assert (np.abs(counts - expected) < 6 * deviation / np.sqrt(200)).all()
    assert all((np.diff(fleet.departure_s) >= 0).all() for fleet in fleets[:5])
    assert 0 <= fleets[0].departure_s[0] <= fleets[0].departure_s[-1] < 3600
    np.testing.assert_array_equal(fleets[3].pair, Fleet.draw(demand, platoon=2, seed=3).pair)
    for wrong in ({"platoon": 0}, {"period_min": 0.0}, {"period_min": float("inf")}):
        with pytest.raises(InputError):
            Fleet.draw(demand, **wrong)


def test_routes_are_drawn_by_their_probabilities(release: pr.Release) -> None:
    assert release.demand is not None
    fleet = Fleet.draw(release.demand, platoon=1, seed=1)
    pair = int(np.argmin(release.policy.likeliest()))
    pairs, labels = release.policy.pairs, release.network.end_labels
    ends = [labels[nodes[pair]] for nodes in (pairs.origin, pairs.destination)]
    routes = release.policy.routes(*ends)
    drawn = [tuple(links) for at, links in enumerate(fleet.routes(release.policy)) if fleet.pair[at] == pair]
    assert set(drawn) <= {route.links for route in routes}
    first = sum(links == routes[0].links for links in drawn) / len(drawn)
    assert first == pytest.approx(routes[0].probability, abs=6 * np.sqrt(0.25 / len(drawn)))


def test_uxsim_prefers_the_private_policy_to_selfish_and_reactive_drivers(release: pr.Release) -> None:
    """One seed of what benchmarks/simulated.py measures with five."""
    found = pr.simulate(release, engine="uxsim", platoon=20)
    assert list(found.rows) == list(NAMES)
    minutes = {name: row.minutes for name, row in found.rows.items()}
    assert minutes["released"] < 1.02 * minutes["optimum"]
    assert minutes["released"] < minutes["equilibrium"]
    assert minutes["released"] < 0.7 * minutes["reactive"]
    assert minutes["released"] < 0.7 * minutes["free_flow"]
    assert found.rows["released"].completed == (1.0,)


def test_what_cannot_be_simulated_is_refused(release: pr.Release) -> None:
    network = release.network
    assert release.demand is not None
    with pytest.raises(InputError, match="engine"):
        compare(network, release.demand, {}, engine="other")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="seeds"):
        compare(network, release.demand, {}, seeds=())
    with pytest.raises(InputError, match="zero"):
        compare(network, release.demand * 0.0, {})
    bare = pr.Release(release.policy, release.certificate)
    with pytest.raises(InputError, match="no demand"):
        pr.simulate(bare)


def test_the_command_shows_a_table_and_writes_a_picture(release: pr.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "release")
    done = run("simulate", tmp_path / "release", "--demand-share", "0.02", "--seeds", "2", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    for name in ("released policy", "reactive navigation", "minutes"):
        assert name in " ".join(done.text.split())
    assert (tmp_path / "out" / "simulation.png").read_bytes().startswith(b"\x89PNG")
    written = json.loads((tmp_path / "out" / "simulation.json").read_text())
    assert list(written["rows"]) == list(NAMES)
    assert all(row["completed"] == 1.0 and len(row["by_seed"]) == 2 for row in written["rows"].values())
    assert run("simulate", tmp_path / "release", "--demand-share", "0").code == 1


def test_the_command_names_the_period(tmp_path: Path) -> None:
    day_release(quality_share=0.0).save(tmp_path / "day")
    words = ("simulate", tmp_path / "day", "--demand-share", "0.005", "--platoon", "20", "--period-min", "5")
    assert "For weekend 08:00-09:00, one of 4 periods" in run(*words).text
    done = run(*words, "--at", "workday 07:00-08:00")
    assert "For workday 07:00-08:00, one of 4 periods" in done.text
    assert "Differences may be chance" in done.text
    assert "Not all vehicles arrived" not in done.text


def test_a_short_period_leaves_time_for_the_longest_trips(release: pr.Release) -> None:
    free = float(release.policy.expected(release.network.free_flow_min).max())
    assert free + 5 > 2.5 * 5  # without that time some could not arrive
    found = pr.simulate(release, demand_share=0.01, period_min=5.0, platoon=20)
    assert found.end_min >= (5 + 2 * free) * (1 - 1e-9)  # the same sum, rounded in another order
    assert {row.completed for row in found.rows.values()} == {(1.0,)}
    assert simulated_min([release.policy], 60.0) == 150.0
    world = pr.to_uxsim(release, demand=release.demand, period_min=5.0, platoon=20)
    assert (5 + 2 * free) * (1 - 1e-9) <= world.TMAX / 60


def test_sumo_drives_the_release() -> None:
    if os.environ.get("CI") != "true":  # SUMO is large: under CI=true it must be there
        pytest.importorskip("sumo", reason="SUMO: no eclipse-sumo; CI=true installs it")
    scenario = pr.sioux_falls()
    history = pr.simulate_days(scenario.demand * 0.01, days=20, seed=1)
    release = pr.learn(scenario.network, history, pr.Guarantee(epsilon=1.0, delta=1e-6))
    found = pr.simulate(release, engine="sumo", platoon=1)
    assert all(row.completed == (1.0,) for row in found.rows.values())
    free = release.policy.expected(scenario.network.free_flow_min)
    assert release.demand is not None
    empty = float(np.average(free, weights=release.demand.rate_per_min))
    assert empty < found.rows["released"].minutes < 1.3 * empty  # hardly any traffic
