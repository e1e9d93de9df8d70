"""The optimum over days that differ: the changed curves are the mean over days, and the policy beats the mean day's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import privroute as pr
from privroute.errors import GuaranteeError, NetworkError
from privroute.flows.varying_days import day_variation, for_all_days, solve_for_all_days
from privroute.mechanism.learn import Announcement

CITY = pr.sioux_falls()
BPR = CITY.network.with_latency("bpr")


def factors(variation: float, size: int = 20_001) -> np.ndarray:
    """Equally likely lognormal factors with mean 1."""
    spread = np.sqrt(np.log1p(variation**2))
    normal = np.sqrt(2) * np.array([_inverse_error(2 * (at + 0.5) / size - 1) for at in range(size)])
    return np.asarray(np.exp(spread * normal - spread**2 / 2))


def _inverse_error(value: float) -> float:
    from scipy.special import erfinv  # noqa: PLC0415 - of one test

    return float(erfinv(value))


def mean_time(policy: pr.RoutingPolicy, network: pr.Network, days: np.ndarray) -> float:
    flow = policy.link_flow(CITY.demand)
    return float(np.mean([day * flow @ network.latency.time(day * flow) for day in days]))


@pytest.mark.parametrize("network", [CITY.network, BPR], ids=["affine", "bpr"])
def test_the_changed_curves_are_the_mean_over_days(network: pr.Network) -> None:
    days = factors(0.2)
    policy = pr.solve_optimum(network, CITY.demand).policy
    changed = for_all_days(network, 0.2)
    assert pr.total_travel_time(changed, policy, CITY.demand) == pytest.approx(
        mean_time(policy, network, days), rel=2e-3
    )


def test_the_policy_for_all_days_has_the_least_mean_over_days() -> None:
    days = factors(0.4, 501)
    mean_day = pr.solve_optimum(BPR, CITY.demand).policy
    all_days = solve_for_all_days(BPR, CITY.demand, 0.4)
    assert all_days.policy.network is BPR
    assert mean_time(all_days.policy, BPR, days) < mean_time(mean_day, BPR, days)
    calm = np.array([1.0])
    assert mean_time(all_days.policy, BPR, calm) > mean_time(mean_day, BPR, calm)


def test_days_that_do_not_vary_have_the_optimum_of_the_mean_day() -> None:
    same = solve_for_all_days(BPR, CITY.demand, 0.0)
    assert same.policy.as_paths() == pr.solve_optimum(BPR, CITY.demand).policy.as_paths()


def test_the_variation_is_found_beyond_noise_and_chance() -> None:
    chance = np.random.default_rng(1)
    days = chance.poisson(50_000 * factors(0.2, 400)[chance.permutation(400)]) + chance.normal(0, 2000, 400)
    assert day_variation(days, 2000.0) == pytest.approx(0.2, rel=0.15)
    assert day_variation(chance.poisson(50_000, 400).astype(float), 0.0) < 0.002
    assert day_variation(np.array([5.0]), 1.0) == 0.0


@pytest.mark.parametrize("unit", ["request", "user"])
def test_the_share_for_the_days_is_within_rho(unit: str) -> None:
    kept = None if unit == "request" else pr.Contribution("user", 7, 3)
    frame = pr.Frame(CITY.demand.pairs, pr.Calendar.of_days(30), contribution=kept)
    promised = pr.Guarantee(1.0, 1e-6, unit)  # type: ignore[arg-type]
    plain = Announcement(pr.Study(BPR, frame, promised, pr.Counts()))
    asking = Announcement(pr.Study(BPR, frame, promised, pr.Counts(objective="all days")))
    public = Announcement(pr.Study(BPR, frame, promised, pr.Counts(objective="all days", day_variation=0.2)))
    assert asking.certificate.rho == pytest.approx(plain.certificate.rho, rel=1e-9)
    assert (asking.certificate.noise_scale or 0) > (plain.certificate.noise_scale or 0)
    assert public.certificate.noise_scale == plain.certificate.noise_scale
    assert asking.shares is not None
    share = asking.shares.days[0] ** 2 / asking.shares.whole.sensitivity**2
    assert share == pytest.approx(0.02, rel=1e-6)
    pr.Certificate.from_dict(asking.certificate.as_dict())


@pytest.mark.parametrize("mechanism", [pr.Counts, pr.Layered, pr.Daily])
def test_mechanisms_measure_the_variation_and_say_it(mechanism: type) -> None:
    chance = np.random.default_rng(2)
    simulated = pr.simulate_days(CITY.demand, days=40, seed=1)
    days = factors(0.3, 40)[chance.permutation(40)]
    counts = (simulated.counts * days[:, None]).astype(np.int64)
    history = pr.DemandHistory.of(simulated.frame, counts)
    release = pr.learn(BPR, history, pr.Guarantee(1.0, 1e-6), mechanism(objective="all days", gap=1e-4))
    truth = day_variation(counts.sum(axis=1).astype(float), 0.0)
    assert release.day_variation == pytest.approx(truth, rel=0.02)
    again = pr.reroute(release, close=[BPR.link_labels[3]])
    assert again.day_variation == release.day_variation


def test_what_the_objective_does_not_know_is_refused() -> None:
    with pytest.raises(GuaranteeError, match="only valid with the objective all days"):
        pr.Counts(day_variation=0.2)
    with pytest.raises(GuaranteeError, match="objective is 'worst day'"):
        pr.Counts(objective="worst day")  # type: ignore[arg-type]
    with pytest.raises(GuaranteeError, match="pass a number from 0 to 2"):
        pr.Counts(objective="all days", day_variation=5.0)
    assert replace(pr.Counts(), objective="all days").objective == "all days"


def test_curves_without_a_known_mean_over_days_are_refused_before_the_charge(tmp_path: Path) -> None:
    other = CITY.network.with_latency("conical")
    history = pr.simulate_days(CITY.demand, days=2, seed=1)
    approval = pr.Approval(2.0, 1e-6, "request")
    ledger = pr.Ledger.create(tmp_path / "ledger", "city", approval)
    for mechanism in (pr.Counts, pr.Layered, pr.Daily):
        with pytest.raises(NetworkError, match="known for BPR curves, and the network has conical"):
            pr.learn(other, history, pr.Guarantee(1.0, 1e-6), mechanism(objective="all days"), ledger=ledger)
    assert not ledger.account().charges
