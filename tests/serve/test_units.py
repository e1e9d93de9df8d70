"""A release of a data network speaks of Mbit/s and ms: on the page, in reports, answers and their description."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page
from tests.release.data_network import learned, odd_words
from tests.serve.conftest import moved
from tests.serve.test_browser import opened, page, script

import privroute as pr
from privroute.errors import ReleaseError
from privroute.network.display_units import MBIT
from privroute.release.certificate import Certificate
from privroute.serve.report import report_html

__all__ = ["page"]  # a fixture

OF_ROADS = re.compile(r"\b(trips?|vehicles?|drivers?|roads)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> pr.Release:
    return learned(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def data_address(data: pr.Release, serve: Callable[[pr.Release], str]) -> str:
    return serve(data)


def texts(values: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """All texts of an answer with the names under which they stand."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield from texts(value, key)
    elif isinstance(values, list):
        for value in values:
            yield from texts(value, name)
    elif isinstance(values, str):
        yield name, values


@pytest.mark.parametrize(
    "address",
    ["v1/certificate", "v1/periods", "v1/link?link=A_B", "v1/people", "v1/network", "page/drawing.json"],
)
def test_answers_have_units_and_speak_in_them(address: str, data_address: str) -> None:
    found = httpx.get(f"{data_address}/{address}", timeout=120).json()
    shown = {name: found["units"][name] for name in MBIT.as_dict()}
    assert shown == MBIT.as_dict()
    said = [text for name, text in texts(found) if name not in ("data", "name", "crs")]
    assert said
    assert [odd for text in said for odd in odd_words(text)] == []


def test_the_description_speaks_of_requests(data_address: str, address: str) -> None:
    described = httpx.get(f"{data_address}/openapi.json").json()
    said = [text for name, text in texts(described) if name in ("description", "summary")]
    assert len(said) > 50
    assert [text for text in said if OF_ROADS.search(text)] == []
    roads = httpx.get(f"{address}/openapi.json").json()
    assert any(OF_ROADS.search(text) for name, text in texts(roads) if name == "description")


def test_milliseconds_are_not_rounded_away(data: pr.Release, data_address: str) -> None:
    network = data.network
    assert data.demand is not None
    busy_s = network.latency.time(data.policy.link_flow(data.demand)) * 60
    for what, ends in (("routes", {"origin": "A", "destination": "B"}), ("route", {"origin": "A", "destination": "B"})):
        answer = httpx.get(f"{data_address}/v1/{what}", params=ends).json()["routes"][0]
        links = [network.link_labels.index(label) for label in answer["links"]]
        assert answer["duration"] == pytest.approx(busy_s[links].sum(), rel=1e-5)
        assert 0 < answer["duration"] < 0.05
    people = httpx.get(f"{data_address}/v1/people").json()
    assert people["limits"] == [1.0, 5.0]
    assert people["limits_min"] == pytest.approx([1 / 60_000, 5 / 60_000])
    assert 1.0 < people["mean_min"] * 60_000 < 20.0


def every_text(page: Page) -> str:
    """What is seen or read aloud, of all sheets."""
    return str(page.evaluate(script("every_text")))


def walk(page: Page, release: pr.Release) -> Iterator[str]:
    """All that the page says while somebody tries everything."""
    yield every_text(page)
    page.locator("#example").click()
    page.wait_for_selector(".choice")
    page.locator("#sample").click()
    page.wait_for_selector("#drawn-count:not(:empty)")
    yield every_text(page)
    for tab in ("guarantee", "people", "links"):
        page.locator(f"#tab-{tab}").click()
        if tab == "people":
            page.wait_for_selector("#people table")
        yield every_text(page)
    page.locator("#links .text-button").first.click()
    page.wait_for_selector("#link-close")
    yield every_text(page)
    box = page.locator("#overlay").bounding_box()
    assert box
    seen = set()
    for step in range(40):  # across the map, until tips of a zone and of a link were there
        page.mouse.move(box["x"] + box["width"] * (step + 0.5) / 40, box["y"] + box["height"] * 0.5)
        tip = page.locator("#tip")
        if tip.is_visible():
            seen.add("zone" if tip.inner_text().startswith("Zone") else "link")
            yield tip.inner_text()
    assert "link" in seen
    if len(release.slots) > 1:
        page.locator("#clock").press("ArrowLeft" if release.position else "ArrowRight")
        page.wait_for_selector("html[data-period]")
        yield every_text(page)


def test_the_page_speaks_of_mbit_and_ms(page: Page, data: pr.Release, data_address: str) -> None:
    opened(page, data_address)
    said = list(walk(page, data))
    assert [odd for text in said for odd in odd_words(text)] == []
    together = "\n".join(said)
    assert data.demand is not None
    assert f"{data.demand.total_per_min / 60:,.0f} Mbit/s" in together
    assert re.search(r"\d\.\d\d ms on empty links", together)
    assert "Share of its requests" in together
    assert "of 1,000 Mbit/s (" in together


def test_the_report_speaks_of_mbit_and_ms(page: Page, data: pr.Release, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(report_html(data))
    opened(page, f"file://{tmp_path / 'report.html'}")
    assert [odd for text in walk(page, data) for odd in odd_words(text)] == []


def test_roads_speak_of_vehicles_and_minutes(page: Page, release: pr.Release, address: str) -> None:
    opened(page, address)
    together = "\n".join(walk(page, release))
    for words in (r"[\d,]+ vehicles per hour", r"\d\.\d min on empty roads", "Share of its trips", "Vehicles / h"):
        assert re.search(words, together), words
    assert page.locator("#origin").get_attribute("placeholder") == "Zone or street, or click the map"


def test_signs_of_html_reach_no_page(data: pr.Release) -> None:
    """Units are refused when a release is read; and a page that got them all the same shows them as text."""
    values = data.certificate.as_dict()
    for bad in ("<img src=x onerror=alert(1)>/s", "</script>/s"):
        values["study"]["units"]["flow"] = bad
        with pytest.raises(ReleaseError, match="flow is"):
            Certificate.from_dict(values)
    values["study"]["units"] = {"flow": "Mbit/s"}
    with pytest.raises(ReleaseError, match="units have other entries"):
        Certificate.from_dict(values)


def test_a_page_shows_units_as_text(page: Page, release: pr.Release, serve: Callable[[pr.Release], str]) -> None:
    odd = pr.Units("trip")
    for name, value in (("request", "<i id=bad>x</i>"), ("flow", "<i id=bad>vehicles</i> per hour"), ("time", "min")):
        object.__setattr__(odd, name, value)  # past its check
    network = replace(release.network, units=odd)
    opened(page, serve(replace(release, policy=moved(release.policy, network))))
    assert page.locator("#bad").count() == 0
    assert "<i id=bad>vehicles</i> per hour" in page.locator("#facts").inner_text()
