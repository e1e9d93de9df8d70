from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.release.certificates import with_guarantee

import privroute as pr
from privroute.errors import GuaranteeError, LargeDeltaWarning
from privroute.release.explanation import budget_in_words, explain, odds_factor
from privroute.study.guarantee import LARGEST_PRIVATE_DELTA, Unit

SCENARIO = pr.sioux_falls()
HISTORY = pr.simulate_days(SCENARIO.demand, days=2, seed=1)
CERTIFICATE = pr.learn(SCENARIO.network, HISTORY, pr.Guarantee(0.1, 1e-6)).certificate


def tail(threshold: float, mean: float, sd: float) -> float:
    return 0.5 * math.erfc((threshold - mean) / (sd * math.sqrt(2)))


@pytest.mark.parametrize("rho", [1e-5, 3.2e-4, 0.02, 0.5, 4.0])
@pytest.mark.parametrize("exception", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("trips", [1, 7])
def test_gaussian_noise_changes_odds_by_more_than_the_factor_less_often_than_said(
    rho: float, exception: float, trips: int
) -> None:
    """The log likelihood ratio of Gaussian noise for k trips is itself Gaussian, N(k² rho, 2 k² rho)."""
    together = trips**2 * rho
    most = math.log(odds_factor(rho, exception, units=trips))
    up = tail(most, together, math.sqrt(2 * together))
    down = tail(most, -together, math.sqrt(2 * together))
    assert up + down <= exception


@pytest.mark.parametrize("rho", [1e-5, 3.2e-4, 0.02, 0.5, 4.0])
@pytest.mark.parametrize("exception", [0.3, 1e-3, 1e-9])
@pytest.mark.parametrize("trips", [1, 7])
def test_the_factor_is_what_markovs_inequality_gives_for_every_mechanism_of_this_rho(
    rho: float, exception: float, trips: int
) -> None:
    """The lemma behind the factor, for L = log P[release | with] / P[release | without], not for Gaussian tails.

    k² rho-zero-concentrated privacy says E exp((a − 1) L) ≤ exp((a − 1) a k² rho) for all orders a > 1, and for the
    other direction E exp(−a L) ≤ exp((a − 1) a k² rho). Markov's inequality at the best order bounds both tails.
    """
    together = trips**2 * rho
    most = math.log(odds_factor(rho, exception, units=trips))
    excess = np.geomspace(1e-3, 1e6, 200_001)  # a − 1
    moment = excess * (1 + excess) * together
    up = np.exp(np.minimum(moment - excess * most, 0.0)).min()
    down = np.exp(np.minimum(moment - (1 + excess) * most, 0.0)).min()
    assert up + down <= exception * (1 + 1e-6)
    assert up == pytest.approx(exception / 2, rel=1e-6)  # and no factor above it is said


def test_epsilon_itself_does_not_bound_the_odds_except_with_probability_delta() -> None:
    """Why the odds are read from rho: at (0.1, 1e-6) the ratio exceeds e^epsilon more often than delta says."""
    assert CERTIFICATE.rho
    assert CERTIFICATE.epsilon
    assert tail(CERTIFICATE.epsilon, CERTIFICATE.rho, math.sqrt(2 * CERTIFICATE.rho)) > 10e-6
    assert odds_factor(CERTIFICATE.rho, 1e-6) > math.exp(CERTIFICATE.epsilon)


@pytest.mark.parametrize(
    ("rho", "exception", "trips"), [(0.0, 0.1, 1), (math.nan, 0.1, 1), (1.0, 1.0, 1), (1.0, 0.1, 0)]
)
def test_odds_that_do_not_follow_are_refused(rho: float, exception: float, trips: int) -> None:
    with pytest.raises(GuaranteeError, match="no odds follow"):
        odds_factor(rho, exception, units=trips)


def test_a_certificate_in_words() -> None:
    words = explain(CERTIFICATE)
    assert words.verdict.startswith("Private: epsilon 0.1, delta 1e-6")
    assert "1.106" in words.strength[0]  # e^0.1 = 1.10517, rounded upwards
    assert len(words.strength) == 3
    assert any("one person" in sentence for sentence in words.not_protected)
    assert "simulated" in words.made[0]
    assert "not tracked" in " ".join(words.not_protected)


@pytest.mark.parametrize("unit", ["request", "user", "user-day"])
def test_a_user_is_an_id_and_a_certificate_says_so(unit: Unit) -> None:
    kept = None if unit == "request" else pr.Contribution(unit, 4)
    history = pr.DemandHistory(HISTORY.pairs, HISTORY.counts, period_min=60, contribution=kept)
    made = pr.learn(SCENARIO.network, history, pr.Guarantee(0.1, 1e-6, unit=unit)).certificate
    said = [sentence for sentence in explain(made).not_protected if "one id in the data" in sentence]
    assert len(said) == (unit != "request")


@pytest.mark.parametrize("mechanism", ["counts", "layered", "none"])
def test_a_certificate_is_printed_in_few_lines_of_80_columns(mechanism: str) -> None:
    promise = None if mechanism == "none" else pr.Guarantee(0.1, 1e-6)
    made = pr.learn(SCENARIO.network, HISTORY, promise, mechanism).certificate
    lines = f"{made}".splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80
    assert " ".join(f"{made}".split()).startswith(explain(made).verdict)
    assert "privroute inspect explains what this protects" in lines[-2] + lines[-1]
    assert "as_dict()" in lines[-2] + lines[-1]
    assert "mappingproxy" not in f"{made!r}{made}"
    assert len(f"{made!r}") <= 80
    assert ("NOT PRIVATE" in f"{made!r}") == (mechanism == "none")


def test_a_guarantee_without_a_number_says_which_to_pass() -> None:
    with pytest.raises(GuaranteeError, match="delta is missing; pass a number, for instance 1e-6"):
        pr.Guarantee(epsilon=1)
    with pytest.raises(GuaranteeError, match="epsilon is missing; pass a number, for instance 0.1"):
        pr.Guarantee(delta=1e-6)


def test_a_weak_guarantee_is_called_weak() -> None:
    weak = pr.learn(SCENARIO.network, HISTORY, pr.Guarantee(1000.0, 1e-6)).certificate
    text = " ".join(explain(weak).strength)
    assert "above 10,000" in text
    assert "gives almost no protection" in text


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"noise": "none", "rho": None}, "no noise was added"),
        ({"noise": "seeded"}, "drawn from a seed"),
        ({"rho": None}, "no guarantee"),
        ({"noise_scale": None}, "no guarantee"),
    ],
)
def test_what_is_not_private_is_said_first_and_promises_nothing(changes: dict[str, object], reason: str) -> None:
    words = explain(replace(CERTIFICATE, **changes))  # type: ignore[arg-type]
    assert words.verdict.startswith("NOT PRIVATE")
    assert reason in words.verdict
    assert words.strength == words.protected == words.from_whom == ()


def weak_certificate(delta: float) -> pr.Certificate:
    with pytest.warns(LargeDeltaWarning, match=f"NOT PRIVATE: delta {delta:g} is above 0.001"):
        return pr.learn(SCENARIO.network, HISTORY, pr.Guarantee(0.1, delta)).certificate


@pytest.mark.parametrize("delta", [0.0011, 0.1, 0.5])
def test_a_delta_too_large_for_single_persons_is_not_called_private_and_says_why(delta: float) -> None:
    weak = weak_certificate(delta)
    assert weak.guaranteed
    assert not weak.private
    words = explain(weak)
    assert words.verdict.startswith(f"NOT PRIVATE: delta {delta:g} is above 0.001, too large to protect single persons")
    assert "holds as stated" in words.verdict
    assert words.protected == words.from_whom == ()
    (stated,) = words.strength
    assert "1.106 times as likely" in stated
    assert f"plus {delta:g}" in stated
    assert "Private" not in " ".join([*words.strength, *words.not_protected, *words.made])


def test_the_largest_delta_that_is_called_private_is_one_in_a_thousand() -> None:
    made = pr.learn(SCENARIO.network, HISTORY, pr.Guarantee(0.1, LARGEST_PRIVATE_DELTA)).certificate
    assert LARGEST_PRIVATE_DELTA == 1e-3
    assert made.private
    assert made.why_not_private is None
    assert explain(made).verdict.startswith("Private")


@pytest.mark.parametrize("approved", [1e-6, 0.1])
def test_an_approved_delta_too_large_for_single_persons_is_said_to_be(approved: float) -> None:
    entry = {"dataset": "city", "entry": 1, "digest": "x", "approved_epsilon": 1.0, "spent_epsilon": 0.1}
    words = budget_in_words(replace(CERTIFICATE, budget=entry | {"approved_delta": approved}))
    assert ("too large to protect single persons" in words) == (approved > LARGEST_PRIVATE_DELTA)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 3.0])
def test_numbers_in_words_are_rounded_to_the_safe_side(epsilon: float) -> None:
    scale = 4.0 / epsilon
    rho = 1 / (2 * scale**2)
    words = explain(replace(with_guarantee(CERTIFICATE, {"epsilon": epsilon}), rho=rho, noise_scale=scale))
    likely, odds, elsewhere = words.strength
    stated = float(re.search(r"at most ([0-9.]+) times", likely)[1])  # type: ignore[index]
    assert math.exp(epsilon) <= stated < 1 + (math.exp(epsilon) - 1) * 1.02
    stated = float(re.search(r"factor of ([0-9.]+),", odds)[1])  # type: ignore[index]
    exact = odds_factor(rho, 1e-6)
    assert exact <= stated < 1 + (exact - 1) * 1.02
    low, high = (float(value) for value in re.search(r"between ([0-9.]+) % and ([0-9.]+) %", odds).groups())  # type: ignore[union-attr]
    assert low <= 100 / (1 + exact) <= 100 * exact / (1 + exact) <= high
    stated = float(re.search(r"at most ([0-9.]+), except", elsewhere)[1])  # type: ignore[index]
    assert odds_factor(2 * rho, 1e-6) <= stated


def test_where_a_trip_went_is_two_steps_away() -> None:
    """A replaced request changes two counts: the Gaussian ratio exceeds the one-step factor more often than said."""
    rho, exception = 1 / (2 * 39.46**2), 1e-6
    deviations = (math.log(odds_factor(rho, exception)) - 2 * rho) / math.sqrt(4 * rho)
    assert math.erfc(deviations / math.sqrt(2)) / 2 > 10 * exception
    deviations = (math.log(odds_factor(2 * rho, exception)) - 2 * rho) / math.sqrt(4 * rho)
    assert math.erfc(deviations / math.sqrt(2)) <= exception


@pytest.mark.parametrize("mechanism", ["counts", "daily", "layered"])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.45])
def test_a_replacement_costs_four_times_the_share_of_the_quality(mechanism: str, share: float) -> None:
    made = pr.learn(SCENARIO.network, HISTORY, pr.Guarantee(1.0, 1e-6), mechanism, quality_share=share).certificate
    assert made.rho is not None
    stated = float(re.search(r"at most ([0-9.]+), except", explain(made).strength[2])[1])  # type: ignore[index]
    exact = odds_factor((2 * (1 - share) + 4 * share) * made.rho, 1e-6)
    assert exact <= stated < 1 + (exact - 1) * 1.02
    assert "for the measured quality twice" in " ".join(made.adjacency.split())
