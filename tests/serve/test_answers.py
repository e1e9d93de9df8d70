"""Texts that the core writes are what orjson would write."""

from __future__ import annotations

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privroute as pr
from privroute import _core
from privroute.policy.bushes import Bushes
from privroute.policy.routes import RoutesOfPairs
from privroute.serve.page_content import Picture
from privroute.serve.service import Service


def same(text: bytes, value: float) -> bool:
    """As orjson writes it; its versions differ in the sign of exponents above 15, which no route has."""
    return text.replace(b"e", b"e+").replace(b"e+-", b"e-") == orjson.dumps(value) or text == orjson.dumps(value)


@given(st.floats())
def test_numbers_are_written_as_orjson_writes_them(value: float) -> None:
    assert same(_core.json_number(value, tenths=False), value)


@given(st.floats(-1e18, 1e18) | st.floats())
def test_tenths_are_numpys_rounding_as_orjson_writes_it(value: float) -> None:
    with np.errstate(over="ignore"):
        rounded = float(np.round(np.float64(value), 1))
    if np.isfinite(value) and not np.isfinite(rounded):
        return  # beyond 1e307 NumPy's own rounding overflows
    assert same(_core.json_number(value, tenths=True), rounded)


@pytest.mark.parametrize("kind", ["release", "bare"])
def test_one_pair_many_pairs_and_paths_give_the_same_text(kind: str, request: pytest.FixtureRequest) -> None:
    found: pr.Release = request.getfixturevalue(kind)
    paths = pr.Release(found.policy.as_paths(), found.certificate, found.demand)
    pairs = np.arange(len(found.policy.pairs))
    texts = []
    for form in (found, paths):
        service = Service(form)
        many = service.texts.of_pairs(pairs, 20, most_bytes=2**30)
        assert many is not None
        single = b",".join(service.texts.of_pair(pair, 20, b"{") for pair in pairs.tolist())
        assert b"".join(many) == single
        assert orjson.dumps(orjson.loads(b"[" + single + b"]")) == b"[" + single + b"]"
        texts.append(orjson.loads(b"[" + single + b"]"))
    for mine, theirs in zip(*texts, strict=True):
        listed = [{tuple(route["links"]): route["duration"] for route in each["routes"]} for each in (mine, theirs)]
        assert listed[0] == listed[1]
    assert Picture(found).example_labels() == Picture(paths).example_labels()


def test_pairs_in_any_order_and_several_times_give_their_own_texts(
    release: pr.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privroute.serve.answers._ROUTES_AT_ONCE", 100)
    texts = Service(release).texts
    pairs = np.random.default_rng(0).integers(0, 30, 200)
    many = texts.of_pairs(pairs, 20, most_bytes=2**30)
    assert many is not None
    assert b"".join(many) == b",".join(texts.of_pair(pair, 20, b"{") for pair in pairs.tolist())


@pytest.mark.parametrize("limit", [1, 20, 1000])
def test_few_routes_stand_in_memory_at_once_and_a_repeated_pair_is_found_once(
    release: pr.Release, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    asked: list[tuple[np.ndarray, int]] = []
    best = Bushes.best

    def watched(bushes: Bushes, pairs: np.ndarray, most: int) -> RoutesOfPairs:
        asked.append((pairs, most))
        return best(bushes, pairs, most)

    texts = Service(release).texts
    monkeypatch.setattr(Bushes, "best", watched)
    assert texts.of_pairs(np.repeat(np.arange(500), 200), limit, most_bytes=2**20) is None
    assert asked
    for pairs, most in asked:
        assert np.unique(pairs).size == pairs.size
        assert pairs.size * most <= 200_000


def test_a_limit_says_what_it_leaves_out(release: pr.Release) -> None:
    service = Service(release)
    pair = int(np.argmin(release.policy.likeliest()))
    whole = orjson.loads(service.texts.of_pair(pair, 20, b"{"))
    one = orjson.loads(service.texts.of_pair(pair, 1, b"{"))
    assert whole["remaining_probability"] == 0
    assert one["routes"] == whole["routes"][:1]
    assert one["remaining_probability"] == pytest.approx(1 - one["routes"][0]["probability"])
