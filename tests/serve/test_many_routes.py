"""Pairs with more routes than numbers count: every address and every file lists some and says what is left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.policy.strategies import diamonds

import privroute as pr
from privroute.serve.driving import DriveQuestion
from privroute.serve.export import export_release
from privroute.serve.report import report_html
from privroute.serve.service import Service

DIAMONDS = (62, 80, 1100)  # 2^62 routes cannot be numbered, 2^1100 are more than floating-point numbers count


@pytest.fixture(scope="module", params=DIAMONDS)
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pr.Release:
    """Learned, saved and read again."""
    folder = tmp_path_factory.mktemp("many") / "release"
    like = diamonds(request.param)
    history = pr.simulate_days(pr.Demand(like.pairs, [20.0]), days=2, period_min=60, seed=7)
    found = pr.learn(like.network, history, mechanism="none")
    found.save(folder, allow_not_private=True)
    return pr.load_release(folder)


def ends(many: pr.Release) -> tuple[str, str]:
    return "0", str(many.network.node_labels[-1])


def test_the_service_lists_some_and_says_what_is_left(many: pr.Release) -> None:
    service = Service(many)
    origin, destination = ends(many)
    for limit in (1, 20, 300):
        found: Any = json.loads(service.routes(origin, destination, limit))
        assert len(found["routes"]) == limit
        listed = sum(route["probability"] for route in found["routes"])
        assert found["remaining_probability"] == pytest.approx(1 - listed)
    drawn = json.loads(service.sample(origin, destination, 3))["routes"][0]
    assert len(drawn["links"]) == 2 * (many.network.links // 4)
    answer = service.driving.answer(DriveQuestion(origin, destination, alternatives=5), "duration")
    assert len(answer["routes"]) == 6
    assert answer["remaining_probability"] == pytest.approx(1 - sum(each["probability"] for each in answer["routes"]))
    assert json.loads(service.drawing().body)["release"]


@pytest.mark.parametrize("format_", ["csv", "gmns", "routes"])
def test_files_have_the_most_probable_ones(many: pr.Release, tmp_path: Path, format_: Any) -> None:
    assert export_release(many, tmp_path, format_)
    if format_ == "routes":
        assert len(pq.read_table(tmp_path / "routes.parquet")) == 20


def test_it_is_shown_in_words(many: pr.Release) -> None:
    assert "more than 1e+18 paths" in repr(many)
    assert len(repr(many)) < 1000
    assert len(report_html(many)) > 1000
    assert len(many._repr_html_()) < 1_000_000
