"""What a release says it is worth: that the verdict follows from the intervals, and how often it is wrong."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privroute as pr
from privroute.errors import ReleaseError
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.evaluate.suboptimality import Baseline
from privroute.mechanism.comparison import policies_to_compare
from privroute.mechanism.learn import learn_with_noise
from privroute.release.quality import NEGLIGIBLE_PERCENT, RELEASED, MeasuredRow, Quality
from privroute.release.usefulness import period_values, useful_in_words
from privroute.serve.page_content import Picture

DRAWS = 4000
LARGEST_RATE = 0.025 + 4 * math.sqrt(0.025 / DRAWS)  # of wrong verdicts, and four deviations
_AMOUNTS = st.floats(-1, 50)
ROWS = st.builds(MeasuredRow, _AMOUNTS, st.floats(1e-6, 5), st.booleans(), st.sampled_from([0.0, 0.0, 0.5]))


def measured(own: float, deviation: float = 1e-3, least_deviation: float = 1e-3, **others: float) -> Quality:
    """Excesses over L = 100; all rows have the same deviation."""
    rows = {RELEASED: own, **others}
    return Quality(0.05, 100.0, least_deviation, {name: MeasuredRow(each, deviation) for name, each in rows.items()})


def drawn(optimum: float, noise: float, least_noise: float, **excess: float) -> Iterator[Quality]:
    """What would be measured of policies that are so far above V = optimum; L is V itself."""
    chance = np.random.default_rng(1)
    for each in chance.normal(0.0, 1.0, (DRAWS, 1 + len(excess))).tolist():
        rows = {name: MeasuredRow(far + noise * z, noise) for (name, far), z in zip(excess.items(), each, strict=False)}
        yield Quality(0.05, optimum + least_noise * each[-1], least_noise, rows)


def rate(verdict: str, found: Iterator[Quality]) -> float:
    return sum(each.verdict == verdict for each in found) / DRAWS


def test_a_nearly_perfect_release_need_not_beat_a_model_of_its_own_totals() -> None:
    """Distances of a real country's morning: 0.0009 % above the best, a gravity model of the same counts 0.012 %."""
    found = measured(0.0023, 0.008, equilibrium=1.23, gravity=0.00079, equal_demand=30.6, free_flow=18.4)
    assert found.words == "better than no data"
    assert found.sentences[1].startswith("Travel time above the best possible: at most 0.02 %, with 95 % confidence")
    assert found.sentences[-1].startswith(
        "Gravity model of the released zone totals (not part of the verdict): at most"
    )
    assert found.sentences[2].startswith("No advice: equilibrium of the released demand: 1.23 % (1.1")


def test_the_first_that_holds_is_said() -> None:
    far = {"equilibrium": 2.0, "equal_demand": 5.0, "free_flow": 9.0}
    assert measured(0.05, **far).words == "better than no data"
    assert measured(0.05, 0.01, equilibrium=0.06, free_flow=9.0).words == "nothing to gain"
    assert measured(0.05, 0.01, equal_demand=0.06, free_flow=9.0).words == "within 0.1 % of the best possible"
    assert measured(1.0, 1.0, **far).words == "not distinguishable from no data"
    assert measured(3.0, **far).words == "worse than no data: do not use"
    for name, said in (("free_flow", "Fastest paths on empty roads"), ("equilibrium", "Drivers without advice")):
        found = measured(0.09, **(far | {name: 0.02}))  # worse by 0.07 %, which is no loss
        assert found.words == "nothing to gain"
        assert found.sentences[1] == f"{said} are within 0.1 % of the best possible."
    assert measured(0.05, equal_demand=-0.2).verdict == "near best"  # whatever noise says of others
    harmful = measured(0.5, **(far | {"free_flow": 0.02}))
    assert harmful.words == "worse than no data: do not use"
    unknown = measured(0.5, 0.02, **(far | {"free_flow": 0.02, "equilibrium": 0.44}))
    assert unknown.words == "worse than no data: do not use"
    rows = {RELEASED: MeasuredRow(0.05, 0.2), "free_flow": MeasuredRow(0.0, 0.01)}
    assert Quality(0.05, 100.0, 0.01, rows).words == "nothing to gain, and this release may lose"


def test_a_small_loss_is_not_called_worse() -> None:
    assert measured(0.35, equal_demand=0.2).verdict == "worse"  # by 0.15 %
    small = measured(0.25, equal_demand=0.2)
    assert small.verdict == "undecided"
    assert small.above_optimum.low > 0


def test_only_the_gravity_model_decides_nothing() -> None:
    """Where nothing else could be made; also where the release is far behind it."""
    assert measured(5.0, gravity=0.0).verdict == measured(5.0).verdict == "undecided"
    assert measured(0.01, gravity=5.0).verdict == measured(0.01).verdict == "near best"


@given(
    own=ROWS,
    others=st.dictionaries(st.sampled_from(["equilibrium", "gravity", "equal_demand", "free_flow"]), ROWS),
    least=st.floats(-1, 200),
    least_deviation=st.floats(1e-6, 60),
    trips=st.sampled_from(["all", "scaled", "kept"]),
)
def test_a_verdict_follows_from_the_limits_that_are_shown(
    own: MeasuredRow, others: dict[str, MeasuredRow], least: float, least_deviation: float, trips: Any
) -> None:
    found = Quality(0.05, least, least_deviation, {RELEASED: own, **others}, trips)
    high = found.above_optimum.high
    near = high is not None and high <= NEGLIGIBLE_PERCENT
    if near:
        assert found.verdict not in ("undecided", "worse")
        assert "do not use" not in " ".join(found.sentences)
    free_flow = found.baselines.get("free_flow")
    if free_flow is not None and free_flow.high is not None and free_flow.high <= NEGLIGIBLE_PERCENT:
        assert found.verdict == "nothing to gain" or (found.verdict == "worse" and not near)
    if found.verdict == "worse":
        assert any(found.above_baselines[name][0] > 0 for name in others if name != "gravity")
    if trips == "kept":
        assert found.verdict in ("undecided", "worse")
    without = Quality(found.share, least, least_deviation, {RELEASED: own, **others | {"gravity": own}}, trips)
    if found.verdict == "better":
        assert without.verdict == "better"
    for sentence in found.sentences:
        assert not re.search(r"\de[-+]?\d", sentence)
    assert Quality.from_dict(json.loads(json.dumps(found.as_dict()))) == found


@pytest.mark.parametrize("optimum_noise", [0.01, 1.0])
def test_a_wrong_verdict_is_as_rare_as_it_is_said_to_be(optimum_noise: float) -> None:
    """Each at the worst truth for it: on the limit itself, where noise decides, for an optimum of 100."""
    limit = NEGLIGIBLE_PERCENT
    alike = {"released": limit, "equal_demand": limit}
    assert 0.01 < rate("near best", drawn(100.0, 0.03, optimum_noise, **alike)) <= LARGEST_RATE
    assert rate("nothing to gain", drawn(100.0, 0.03, optimum_noise, released=3.0, free_flow=limit)) <= LARGEST_RATE
    assert rate("better", drawn(100.0, 0.5, optimum_noise, released=2.0, equal_demand=2.0)) <= LARGEST_RATE
    assert (
        rate("worse", drawn(100.0, 0.5, optimum_noise, released=2.0, equal_demand=2.0, free_flow=2.0)) <= LARGEST_RATE
    )


def test_an_hour_whose_traffic_the_noise_hides_is_measured_against_the_most_that_it_may_hide() -> None:
    """V = 1, known to 10: what is within 0.1 % of the upper limit of V is called so, and nothing that is more."""
    empty = list(drawn(1.0, 1e-6, 10.0, released=1e-5, free_flow=1e-5))
    assert all(each.above_optimum.high is None for each in empty if each.least < 20)
    assert Counter(each.verdict for each in empty)["nothing to gain"] > 0.97 * DRAWS
    said = " ".join(empty[0].sentences)
    assert "as a share of the most travel time that the noise may hide" in said
    assert rate("nothing to gain", drawn(1.0, 1e-6, 10.0, released=1.0, free_flow=1.0)) == 0.0
    busy = drawn(100.0, 1e-6, 1.0, released=0.15, free_flow=0.1001)  # V is not hidden: percent of V count
    assert rate("nothing to gain", busy) <= LARGEST_RATE


GRAVITY = pr.sioux_falls(latency="bpr")


def gravity_city(vehicles_per_h: float) -> pr.Demand:
    """A demand that a gravity model of its zone totals tells nearly whole."""
    scenario = GRAVITY
    sizes = np.bincount(scenario.demand.pairs.origin, scenario.demand.rate_per_min, scenario.network.nodes)
    return pr.gravity_demand(
        scenario.network, scenario.demand.pairs, sizes[scenario.network.zones], total_per_min=vehicles_per_h / 60
    )


def learned(demand: pr.Demand, seed: int) -> tuple[pr.Release, pr.DemandHistory]:
    history = pr.simulate_days(pr.Demand(demand.pairs, demand.rate_per_min, expansion=6), days=22, seed=seed)
    promise = pr.Guarantee(0.5, 1e-6)
    release = learn_with_noise(GRAVITY.network, history, promise, "counts", SeededNoise(seed), quality_share=0.05)
    assert release.quality is not None
    return release, history


def test_a_congested_morning_that_a_gravity_model_knows_as_well() -> None:
    """A release next to the best possible, far ahead of no advice; its own totals tell it from nothing."""
    undecided_before = 0
    for seed in range(6):
        release, history = learned(gravity_city(110_000), seed)
        assert release.quality is not None
        assert release.demand is not None
        truth = Baseline.of(GRAVITY.network, history.mean)
        rows = policies_to_compare(GRAVITY.network, release.policy, release.demand)
        above = {name: truth.percent(policy) for name, policy in rows.items()}
        assert above[RELEASED] < 0.01
        assert above["equilibrium"] > 0.5
        assert above["gravity"] < 0.05
        assert release.quality.verdict == "better"
        undecided_before += release.quality._against(release.quality.baselines, 0.0) == "undecided"
        said = " ".join(useful_in_words(release))
        assert "Verdict: better than no data." in said
        assert "do not use" not in said
        assert "of zone sizes" not in said
    assert undecided_before >= 3


@pytest.mark.parametrize("vehicles_per_h", [0, 20, 300])
def test_an_empty_night_hour_has_nothing_to_gain(vehicles_per_h: float) -> None:
    """Every route is the fastest path; the noise is larger than the traffic."""
    for seed in range(5):
        release, history = learned(gravity_city(110_000) * (vehicles_per_h / 110_000), seed)
        assert release.quality is not None
        assert Baseline.of(GRAVITY.network, history.mean).percent(release.policy) < 1e-3
        assert release.quality.words == "nothing to gain"
        values = period_values(release)
        assert (values["verdict"], values["thin"]) == ("nothing to gain", False)
        page = Picture(release).of_period()
        assert (page["verdict"], page["worse"]) == ("nothing to gain", False)
        assert "do not use" not in " ".join(page["useful"])


def test_noise_that_leaves_no_travel_time_at_all_gives_finite_numbers() -> None:
    """L far below 0, by a chance of one in a thousand: what is written to the folder is a number."""
    rows = {RELEASED: MeasuredRow(1.0, 0.1), "free_flow": MeasuredRow(0.0, 0.1)}
    found = Quality(0.05, -100.0, 1.0, rows)
    json.dumps(found.as_dict(), allow_nan=False)
    assert found.above_optimum.low == 0.0
    assert f"{found.above_optimum}" == "not known"


def test_verdicts_of_earlier_versions_are_read_and_said_anew() -> None:
    """They counted the gravity model, and called losses of more than 0.01 %, or any, worse."""
    former = {
        "not distinguishable from no data": measured(0.0023, 0.008, equilibrium=1.2, gravity=0.0008, free_flow=18.0),
        "worse than no data: do not use": measured(0.05, equilibrium=0.03, free_flow=9.0),
        "nothing to gain: what needs no data is within 0.01 % of the best possible": measured(0.002, equilibrium=1e-4),
        "not distinguishable from no data, and nothing bounds its travel time: do not use": Quality(
            0.05, 1.0, 10.0, {RELEASED: MeasuredRow(1e-6, 1e-6), "free_flow": MeasuredRow(0.0, 1e-6)}
        ),
    }
    for words, found in former.items():
        values = found.as_dict()
        assert words != values["verdict"]
        assert Quality.from_dict(values | {"verdict": words}) == found
        for other in set(former) - {words}:
            if other not in found._former_words():
                with pytest.raises(ReleaseError, match="contradicts itself"):
                    Quality.from_dict(values | {"verdict": other})
    for wrong in ("better than no data", "within 0.1 % of the best possible", ""):
        with pytest.raises(ReleaseError, match="contradicts itself"):
            Quality.from_dict(former["worse than no data: do not use"].as_dict() | {"verdict": wrong})


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (0.0, 0.0, 4.79, "at most 4.79 %"),
        (1.2, 0.92, 1.5, "1.20 % (0.92 to 1.50 %)"),
        (0.004, 0.0021, 0.0081, "0.0040 % (0.0021 to 0.0081 %)"),
        (0.05, 0.0, 0.1001, "at most 0.11 %"),
        (0.05, 0.0, 0.1, "at most 0.10 %"),
        (0.294, 0.2899, 0.2901, "0.29 % (0.28 to 0.30 %)"),
        (0.29, 0.29, 0.29, "0.29 % (0.29 to 0.29 %)"),
        (9e-5, 1e-5, 2e-4, "below 0.001 %"),
        (1e-5, 0.0, 0.02, "at most 0.02 %"),
        (12345.678, 12000.0, 13000.0, "12,345.68 % (12,000.00 to 13,000.00 %)"),
        (5.0, 4.0, None, "at least 4.00 %"),
        (5.0, 1e-5, None, "not known"),
        (5.0, 1e-5, 1e9, "not known"),
        (1e300, 1e299, 1e301, "at least 1,000,000.00 %"),
    ],
)
def test_limits_are_plain_numbers(value: float, low: float, high: float | None, said: str) -> None:
    from privroute.release.quality import Excess  # noqa: PLC0415

    assert f"{Excess(value, low, high)}" == said
