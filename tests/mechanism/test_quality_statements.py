"""What a release may say of its usefulness: whose trips were measured, limits, and totals."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mechanism.quality_cases import SCENARIO, bounded_fleet

import privroute as pr
from privroute.errors import ReleaseError
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.mechanism import quality as measuring
from privroute.mechanism.from_counts import with_known_total
from privroute.mechanism.interface import Published
from privroute.mechanism.learn import learn_with_noise
from privroute.release.quality import RELEASED, MeasuredRow, Quality


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_the_upper_limit_of_the_optimum_fails_in_half_a_percent_however_many_rows_it_is_the_best_of(rows: int) -> None:
    """All policies at the optimum V = 100, noise mostly on the rows: 0.47 % of 100,000 draws, and four deviations."""
    names = [RELEASED, "equilibrium", "gravity", "equal_demand", "free_flow"][:rows]
    draws, failed = 100_000, 0
    noise = np.random.default_rng(rows).normal(0.0, 1.0, (draws, rows))
    for each in noise:
        found = dict(zip(names, (MeasuredRow(10.0 + value, 1.0) for value in each.tolist()), strict=True))
        failed += Quality(0.05, 90.0, 0.01, found)._optimum()[1] < 100.0
    assert failed <= 0.0047 * draws + 4 * math.sqrt(0.0047 * draws)
    assert failed >= 0.002 * draws  # and it is not wasteful


def test_slack_widens_every_limit_that_it_concerns() -> None:
    def measured(own: float, other: float, own_slack: float, other_slack: float) -> Quality:
        rows = {
            RELEASED: MeasuredRow(own, 0.1, slack=own_slack),
            "free_flow": MeasuredRow(other, 0.1, slack=other_slack),
        }
        return Quality(0.05, 100.0, 0.01, rows)

    plain, wide = measured(1.0, 20.0, 0.0, 0.0), measured(1.0, 20.0, 5.0, 0.0)
    assert plain.above_optimum.high is not None
    assert wide.above_optimum.high == pytest.approx(plain.above_optimum.high + 5.0, rel=1e-3)
    assert wide.verdict == "better"
    assert measured(1.0, 20.0, 18.9, 0.0).verdict == "undecided"
    assert measured(20.0, 1.0, 0.0, 0.0).verdict == "worse"
    assert measured(20.0, 1.0, 0.0, 18.9).verdict == "undecided"
    assert measured(20.0, 1.0, 0.0, 5.0).above_optimum.low < measured(20.0, 1.0, 0.0, 0.0).above_optimum.low - 4
    assert Quality.from_dict(json.loads(json.dumps(wide.as_dict()))) == wide
    with pytest.raises(ReleaseError, match="no noise"):
        measured(1.0, 20.0, -1.0, 0.0)


def test_a_lighter_sample_gives_no_upper_limit_and_no_better() -> None:
    rows = {RELEASED: MeasuredRow(1.0, 0.1), "free_flow": MeasuredRow(20.0, 0.1)}
    every, scaled, kept = (Quality(0.05, 100.0, 0.01, rows, trips) for trips in ("all", "scaled", "kept"))
    assert every.words == "better than no data"
    assert scaled.words == "better than no data (measured on the kept trips scaled to the total)"
    assert scaled.above_optimum == every.above_optimum
    assert kept.verdict == "undecided"
    assert kept.words.startswith("not known: real traffic may be heavier than the kept trips")
    assert kept.above_optimum.high is None
    assert kept.baselines["free_flow"].high is None
    assert kept.above_baselines["free_flow"][1:] == (-math.inf, math.inf)
    assert "measured on the kept trips only" in kept.sentences[1]
    assert kept.sentences[1].startswith("Travel time above the best possible: not known, measured on")
    assert "the true trips" not in " ".join((*scaled.sentences, *kept.sentences))
    for each in (every, scaled, kept):
        assert Quality.from_dict(json.loads(json.dumps(each.as_dict()))) == each
    worse = {RELEASED: MeasuredRow(20.0, 0.1), "free_flow": MeasuredRow(1.0, 0.1)}
    assert "do not use" in Quality(0.05, 100.0, 0.01, worse, "kept").words
    with pytest.raises(ReleaseError, match="whose trips"):
        Quality(0.05, 100.0, 0.01, rows, "most")  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", ["user", "user-day"])
def test_a_folder_that_calls_kept_trips_all_trips_is_refused(unit: Any, tmp_path: Path) -> None:
    data = pr.simulate_days(SCENARIO.demand, days=2, seed=1)
    frame = replace(data.frame, contribution=pr.Contribution(unit, 4))
    release = pr.learn(SCENARIO.network, pr.DemandHistory.of(frame, data.counts), pr.Guarantee(1.0, 1e-6, unit))
    release.save(tmp_path / "out")
    path = tmp_path / "out" / "release.json"
    good = json.loads(path.read_text())
    assert good["quality"]["measured_on"] == "the kept trips only"
    assert good["quality"]["above_optimum_percent"][RELEASED]["high"] is None
    assert pr.load_release(tmp_path / "out").quality == release.quality
    assert release.quality is not None
    for trips in ("all", "scaled"):
        path.write_text(json.dumps({**good, "quality": replace(release.quality, trips=trips).as_dict()}))
        with pytest.raises(ReleaseError, match="other trips"):
            pr.load_release(tmp_path / "out")


def test_a_known_total_counts_where_layered_asks_for_zones_only() -> None:
    """Noise that drowns pairs: there are no noisy counts of pairs, and the kept trips are measured at the total."""
    data, everybody = bounded_fleet()
    frame = replace(data.frame, total_per_h=60 * everybody.total_per_min)
    history = pr.DemandHistory.of(frame, data.counts, simulated=True)
    promise = pr.Guarantee(0.001, 1e-6, "user")
    found = learn_with_noise(SCENARIO.network, history, promise, "layered", SeededNoise(1), quality_share=0.45)
    assert found.demand is not None
    assert found.quality is not None
    assert found.quality.trips == "scaled"
    study = pr.Study(SCENARIO.network, frame, promise, pr.Layered(), quality_share=0.45)
    published = Published(found.policy, found.demand, factor=found.demand.total_per_min / 7.0)
    counted = measuring._Counted.of(study, published, found.demand, 1.0)
    assert counted.noisy is None
    assert counted.request == pytest.approx(found.demand.total_per_min / 7.0 / (frame.days * frame.period_min))


@pytest.mark.parametrize("noisy", [-(10**9), -1, 0, 1, 10**7])
def test_a_measured_total_is_there_whatever_was_drawn(noisy: int) -> None:
    """The certificate says measured before anything is drawn, so the released demand has a measured total."""
    data, _ = bounded_fleet(max_for_total=100)
    answers = [np.array([noisy]), np.full(552, 1000)]

    class Fixed:
        def add_integers(self, values: Any, scale: float) -> Any:
            del values, scale
            return answers.pop(0)

    release = learn_with_noise(SCENARIO.network, data, pr.Guarantee(1.0, 1e-6, "user"), "counts", Fixed())
    assert release.certificate.total is not None
    assert release.certificate.total["source"] == "measured"
    assert release.demand is not None
    kept = 552 * 1000 / (20 * 60)
    assert release.demand.total_per_min > 0
    assert abs(release.demand.total_per_min / kept - 1) > 0.01
    if noisy == 10**7:
        assert release.demand.total_per_min == pytest.approx(noisy / (20 * 60), rel=1e-6)


def test_a_total_is_kept_where_the_noise_left_no_demand() -> None:
    data, everybody = bounded_fleet()
    frame = replace(data.frame, total_per_h=60 * everybody.total_per_min)
    study = pr.Study(SCENARIO.network, frame, pr.Guarantee(1.0, 1e-6, "user"), pr.Counts())
    demand, factor = with_known_total(study, pr.Demand(frame.pairs, np.zeros(552)))
    assert demand.total_per_min == pytest.approx(everybody.total_per_min)
    assert factor is None
