"""Roads change: new policies from the released demand, the same certificate, no trip, no cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.release.days import day_release

import privroute as pr
from privroute.errors import DemandError, NetworkError, ReleaseError
from privroute.network.changes import with_capacities, without_links
from privroute.release.explanation import explain


@pytest.fixture(scope="module")
def release() -> pr.Release:
    city = pr.sioux_falls()
    history = pr.simulate_days(city.demand, days=5, seed=1)
    return pr.learn(city.network, history, pr.Guarantee(1.0, 1e-6), "counts")


def test_a_closed_link_is_in_no_route_and_the_rest_is_the_optimum_without_it(release: pr.Release) -> None:
    closed = [release.network.link_labels[3], release.network.link_labels[10]]
    again = pr.reroute(release, close=closed)
    assert again.network.links == release.network.links - 2
    assert not set(map(str, closed)) & set(map(str, again.network.link_labels))
    assert again.demand is not None
    assert release.demand is not None
    assert np.array_equal(again.demand.rate_per_min, release.demand.rate_per_min)
    best = pr.solve_optimum(again.network, again.demand, gap=1e-8)
    spent = pr.total_travel_time(again.network, again.policy, again.demand)
    assert spent == pytest.approx(best.total_travel_time, rel=1e-7)


def test_the_guarantee_stays_and_the_certificate_says_what_happened(release: pr.Release, tmp_path: Path) -> None:
    again = pr.reroute(release, close=[release.network.link_labels[3]])
    twice = pr.reroute(again, capacity={again.network.link_labels[0]: 100.0})
    kept = ("rho", "epsilon", "delta", "unit", "budget", "noise", "private", "noise_scale", "sensitivity")
    for name in kept:
        assert getattr(twice.certificate, name) == getattr(release.certificate, name)
    assert twice.quality is None  # it was measured for other routes
    changed = twice.certificate.study["rerouted"]
    assert list(changed["closed"]) == [str(release.network.link_labels[3])]
    assert list(changed["capacity_per_hour"].values()) == [100.0]
    assert changed["learned_on"]["links"] == release.network.links
    made = " ".join(explain(twice.certificate).made)
    assert "1 links closed, 1 capacities changed" in made
    assert "no trip was read and no budget was spent" in made
    twice.save(tmp_path / "out")
    assert pr.load_release(tmp_path / "out").certificate == twice.certificate


def test_another_network_is_matched_by_the_labels_of_zones(release: pr.Release) -> None:
    roads = with_capacities(release.network, {release.network.link_labels[0]: 60.0})
    assert roads.capacity_per_min[0] == 1.0
    backwards = pr.Network(
        roads.nodes - 1 - roads.tail,
        roads.nodes - 1 - roads.head,
        roads.latency,
        roads.node_labels[::-1],
        link_labels=roads.link_labels,
    )
    again = pr.reroute(release, backwards)
    origin, destination = release.policy.pairs.origin[7], release.policy.pairs.destination[7]
    ends = [release.network.node_labels[node] for node in (origin, destination)]
    assert again.policy.routes(*ends)[0].nodes[0] == ends[0]
    plain = pr.reroute(release, capacity={release.network.link_labels[0]: 60.0})
    times = [pr.total_travel_time(each.network, each.policy, each.demand) for each in (again, plain) if each.demand]
    assert times[0] == pytest.approx(times[1], rel=1e-6)


def test_pairs_that_nothing_joins_are_refused_or_dropped(release: pr.Release) -> None:
    into = [label for label, head in zip(release.network.link_labels, release.network.head, strict=True) if head == 0]
    with pytest.raises(pr.PrivrouteError, match="path"):
        pr.reroute(release, close=into)
    again = pr.reroute(release, close=into, on_unreachable="drop")
    assert len(again.policy.pairs) == len(release.policy.pairs) - 23
    assert again.noisy_counts is not None
    assert again.noisy_counts.size == len(again.policy.pairs)


def test_every_period_is_computed_again() -> None:
    day = day_release(quality_share=0.0)
    again = pr.reroute(day, close=[day.network.link_labels[3]])
    assert [str(slot) for slot in again.slots] == [str(slot) for slot in day.slots]
    for each in again.each():
        assert each.demand is not None
        best = pr.solve_optimum(again.network, each.demand, gap=1e-4)
        spent = pr.total_travel_time(again.network, each.policy, each.demand)
        assert spent == pytest.approx(best.total_travel_time, rel=1e-3)


def test_what_cannot_be_done_is_refused(release: pr.Release) -> None:
    with pytest.raises(ReleaseError, match="nothing changes"):
        pr.reroute(release)
    with pytest.raises(NetworkError, match="no link is labelled 'nowhere'"):
        pr.reroute(release, close=["nowhere"])
    with pytest.raises(NetworkError, match="at least one"):
        without_links(release.network, release.network.link_labels)
    other = pr.Network([0, 1], [1, 0], pr.Latency.affine([1.0, 1.0], 10.0), ["a", "b"])
    with pytest.raises(DemandError, match="has no zone"):
        pr.reroute(release, other)
    bare = pr.Release(release.policy, release.certificate)
    with pytest.raises(ReleaseError, match="contains no demand"):
        pr.reroute(bare, close=[release.network.link_labels[0]])


def test_rerouting_loads_nothing_of_the_private_side() -> None:
    script = (
        "import sys, privroute as pr; pr.reroute; print('\\n'.join(name for name in sys.modules if "
        "name.startswith(('privroute.history', 'privroute.privacy', 'privroute.mechanism'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_fairness_stays_what_the_certificate_says() -> None:
    city = pr.sioux_falls()
    history = pr.simulate_days(city.demand, days=5, seed=1)
    fair = pr.learn(city.network, history, pr.Guarantee(1.0, 1e-6), pr.Counts(fairness=1.0, gap=1e-8))
    again = pr.reroute(fair, close=[city.network.link_labels[3]])
    assert again.certificate.options["fairness"] == 1.0
    assert again.demand is not None
    spent = pr.total_travel_time(again.network, again.policy, again.demand)
    expected = pr.solve_equilibrium(again.network, again.demand, gap=1e-8).total_travel_time
    least = pr.solve_optimum(again.network, again.demand, gap=1e-8).total_travel_time
    assert spent == pytest.approx(expected, rel=1e-5)
    assert spent > 1.001 * least
