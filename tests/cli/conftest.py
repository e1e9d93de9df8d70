"""Releases and files that the commands read."""

from __future__ import annotations

from pathlib import Path

import pytest

import privroute as pr
from privroute.errors import LargeDeltaWarning

MARK = 876_543  # a count that stands out wherever it is printed
FIRST, LAST = "2026-01-05", "2026-01-08"


@pytest.fixture(scope="session")
def history() -> pr.DemandHistory:
    scenario = pr.sioux_falls()
    return pr.simulate_days(scenario.demand, days=4, period_min=60, seed=7)


@pytest.fixture(scope="session")
def release(history: pr.DemandHistory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("releases") / "private"
    pr.learn(pr.sioux_falls().network, history, pr.Guarantee(epsilon=0.1, delta=1e-6)).save(place)
    return place


@pytest.fixture(scope="session")
def unprotected(history: pr.DemandHistory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("releases") / "none"
    pr.learn(pr.sioux_falls().network, history, mechanism="none").save(place, allow_not_private=True)
    return place


@pytest.fixture(scope="session")
def weak(history: pr.DemandHistory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """OpenDP's noise for a delta that is too large to be called private."""
    place = tmp_path_factory.mktemp("releases") / "weak"
    with pytest.warns(LargeDeltaWarning):
        made = pr.learn(pr.sioux_falls().network, history, pr.Guarantee(epsilon=0.1, delta=0.1))
    made.save(place, allow_not_private=True)
    return place


@pytest.fixture(scope="session")
def daily_csv(history: pr.DemandHistory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A private file of four days; one count of it is MARK."""
    labels = pr.sioux_falls().network.node_labels
    lines = ["date,origin,destination,trips"]
    assert history.dates
    for day, counts in zip(history.dates, history.counts.tolist(), strict=True):
        ends = zip(history.pairs.origin.tolist(), history.pairs.destination.tolist(), counts, strict=True)
        lines += [f"{day},{labels[o]},{labels[d]},{number}" for o, d, number in ends]
    lines[1] = f"{history.dates[0]},1,2,{MARK}"
    path = tmp_path_factory.mktemp("private") / "daily.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
