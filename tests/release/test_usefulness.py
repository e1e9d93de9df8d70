"""What every screen says about how useful a release is: measured, drowned, and whose trips its demand is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.command import run

import privroute as pr
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.mechanism.learn import learn_with_noise
from privroute.release.quality import NOT_MEASURED
from privroute.release.signal import Signal
from privroute.release.usefulness import useful_in_words
from privroute.serve.page_content import Picture

SCENARIO = pr.sioux_falls()


def released(expansion: float, epsilon: float, mechanism: str = "counts", **options: Any) -> pr.Release:
    traffic = pr.Demand(SCENARIO.demand.pairs, SCENARIO.demand.rate_per_min, expansion=expansion)
    history = pr.simulate_days(traffic, days=2, seed=1)
    promise = pr.Guarantee(epsilon, 1e-6)
    return learn_with_noise(SCENARIO.network, history, promise, mechanism, SeededNoise(1), **options)


@pytest.mark.parametrize(("expansion", "epsilon", "level"), [(1, 1.0, "no"), (100, 0.1, "pairs"), (1000, 0.01, "all")])
@pytest.mark.parametrize("mechanism", ["counts", "daily"])
def test_noise_that_drowns_the_counts_is_named(expansion: float, epsilon: float, level: str, mechanism: str) -> None:
    signal = Signal.of(released(expansion, epsilon, mechanism))
    assert signal is not None
    assert signal.drowned == level
    assert ("drowns" in signal.words.lower()) == (level != "no")


def test_a_night_without_trips_is_not_released_in_silence() -> None:
    history = pr.DemandHistory(SCENARIO.demand.pairs, np.zeros((3, 552), dtype=int))
    release = pr.learn(SCENARIO.network, history, pr.Guarantee(0.1, 1e-6))
    said = " ".join(useful_in_words(release))
    assert "NOISE DROWNS THE COUNTS" in said
    assert release.quality is not None
    assert release.quality.verdict != "better"


def test_screens_show_the_same_sentences(tmp_path: Path) -> None:
    history = pr.DemandHistory(SCENARIO.demand.pairs, pr.simulate_days(SCENARIO.demand, days=2, seed=1).counts)
    bounded = pr.DemandHistory.of(replace(history.frame, contribution=pr.Contribution("user", 3)), history.counts)
    release = pr.learn(SCENARIO.network, bounded, pr.Guarantee(1.0, 1e-6, "user"))
    release.save(tmp_path / "out")
    sentences = useful_in_words(release)
    assert any("demand is that of the kept trips only" in sentence for sentence in sentences)
    assert any("measured on the kept trips only" in sentence for sentence in sentences)
    assert not any("true trips" in sentence or "better than" in sentence for sentence in sentences)
    assert Picture(release).as_dict()["useful"] == sentences
    for command in ("inspect", "evaluate"):
        shown = run(command, tmp_path / "out", width=400).text
        assert all(sentence in shown for sentence in sentences)
    assert "Measured on the kept trips only, with noise" in shown
    plain = json.loads(run("inspect", tmp_path / "out", "--json").out)
    assert plain["quality"]["measured_on"] == "the kept trips only"
    assert run("report", tmp_path / "out", "--out", tmp_path / "report.html").code == 0
    assert "demand is that of the kept trips only" in (tmp_path / "report.html").read_text()
    assert "measured on the kept trips only" in (tmp_path / "report.html").read_text()


def test_a_release_that_measured_nothing_says_so() -> None:
    assert useful_in_words(released(1, 1.0))[0] == NOT_MEASURED
    assert useful_in_words(released(1, 1.0, quality_share=0.05))[0] == "Verdict: better than no data."
