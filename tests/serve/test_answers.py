"""Texts that the core writes are what orjson would write."""

from __future__ import annotations

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privroute as pr
from privroute import _core
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


def test_a_limit_says_what_it_leaves_out(release: pr.Release) -> None:
    service = Service(release)
    pair = int(np.argmin(release.policy.likeliest()))
    whole = orjson.loads(service.texts.of_pair(pair, 20, b"{"))
    one = orjson.loads(service.texts.of_pair(pair, 1, b"{"))
    assert whole["remaining_probability"] == 0
    assert one["routes"] == whole["routes"][:1]
    assert one["remaining_probability"] == pytest.approx(1 - one["routes"][0]["probability"])
