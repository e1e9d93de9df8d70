"""A release of several periods in the service, on the page and in a report: every question has its time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.release.days import day_release
from tests.serve.conftest import serving

import privroute as pr
from privroute.release.quality import MeasuredRow, Quality
from privroute.serve.export import export_release
from privroute.serve.report import report_html


@pytest.fixture(scope="module")
def release() -> pr.Release:
    return day_release()


@pytest.fixture(scope="module")
def address(release: pr.Release) -> Iterator[str]:
    with serving(release) as found:
        yield found


ENDS = {"origin": "1", "destination": "20"}


def test_departure_selects_the_policy_of_its_period(release: pr.Release, address: str) -> None:
    for when, at in (("2026-05-04T07:30", 0), ("2026-05-09 08:30", 3), ("workday 08:00-09:00", 1)):
        found = httpx.get(f"{address}/v1/routes", params={**ENDS, "departure": when}).json()
        routes = release.parts[at].policy.routes("1", "20")
        assert found["period"] == release.slots[at].as_dict
        assert [each["probability"] for each in found["routes"]] == pytest.approx([each.probability for each in routes])
    busiest = httpx.get(f"{address}/v1/routes", params=ENDS).json()
    assert busiest["period"] == release.slot.as_dict
    for path in ("sample", "route"):
        found = httpx.get(f"{address}/v1/{path}", params={**ENDS, "departure": "2026-05-04T08:30"}).json()
        assert found["period"] == release.slots[1].as_dict
    for path, query in (("link", {"link": "1"}), ("people", {})):
        for more, at in (({}, release.position), ({"departure": "2026-05-04T08:30"}, 1)):
            found = httpx.get(f"{address}/v1/{path}", params={**query, **more}).json()
            assert found["period"] == release.slots[at].as_dict
    body = {"pairs": [[1, 20]], "departure": "2026-05-04T07:30"}
    assert httpx.post(f"{address}/v1/batch", json=body).json()["period"] == release.slots[0].as_dict


def test_a_departure_is_looked_up_once(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question = {**ENDS, "departure": "2026-05-04T07:30"}
    before = httpx.get(f"{address}/v1/routes", params=question)
    asked: list[object] = []
    look_up = pr.Release.position_at

    def counted(self: pr.Release, when: str) -> int:
        asked.append(when)
        return look_up(self, when)

    monkeypatch.setattr(pr.Release, "position_at", counted)
    assert httpx.get(f"{address}/v1/routes", params=question).content == before.content
    assert asked == ["2026-05-04T07:30"]


def test_damage_that_comes_later_is_said_without_the_place_of_the_files(release: pr.Release, tmp_path: Path) -> None:
    place = tmp_path / "day"
    release.save(place)
    found = pr.load_release(place, whole=True)
    for file in place.glob("policy_*"):
        if found.slot.key not in file.name:
            file.write_bytes(file.read_bytes()[:-1])
    with serving(found) as server:
        for path in ("periods", "routes?origin=1&destination=20&departure=2026-05-09T07:30"):
            answer = httpx.get(f"{server}/v1/{path}")
            assert answer.status_code == 500
            assert "damaged or replaced" in answer.json()["message"]
            assert str(tmp_path) not in answer.text
        assert httpx.get(f"{server}/v1/routes", params=ENDS).status_code == 200


def test_other_times_are_refused_and_answers_of_two_periods_have_two_tags(address: str) -> None:
    refused = httpx.get(f"{address}/v1/routes", params={**ENDS, "departure": "2026-05-04T12:00"})
    assert (refused.status_code, refused.json()["code"]) == (404, "NoRoute")
    bad = httpx.get(f"{address}/v1/routes", params={**ENDS, "departure": "noon"})
    assert (bad.status_code, bad.json()["code"]) == (404, "NoRoute")
    shifted = httpx.get(f"{address}/v1/routes", params={**ENDS, "departure": "2026-05-04T07:30:00+02:00"})
    now = httpx.get(f"{address}/v1/routes", params={**ENDS, "departure": "now"})
    for answer, said in ((shifted, "omit the offset"), (now, "a local time instead of now")):
        assert (answer.status_code, said in answer.json()["message"]) == (404, True)
    tags = {
        httpx.get(f"{address}/v1/routes", params={**ENDS, "departure": f"2026-05-04T0{hour}:30"}).headers["etag"]
        for hour in (7, 8)
    }
    assert len(tags) == 2
    periods = httpx.get(f"{address}/v1/periods").json()["periods"]
    assert [each["period"] for each in periods] == ["07:00-08:00", "08:00-09:00"] * 2
    flows = [
        httpx.get(f"{address}/v1/network", params={"departure": f"2026-05-0{day}T07:30"}).json()["features"][0]
        for day in (4, 9)
    ]
    assert flows[0]["properties"] != flows[1]["properties"]


def total(page: Page) -> str:
    return page.locator("#clock-now").inner_text()


def use(page: Page) -> None:
    """Move through the day: the colours, the numbers and the routes follow."""
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#day")).to_be_visible()
    assert "weekend, 08:00-09:00" in total(page)
    assert page.locator(".bars i").count() == 2
    facts = page.locator("#facts").inner_text()
    page.get_by_role("button", name="workday").click()
    page.wait_for_selector("html[data-period='1']")
    assert "workday, 08:00-09:00" in total(page)
    page.locator("#clock").press("ArrowLeft")
    page.wait_for_selector("html[data-period='0']")
    assert "workday, 07:00-08:00" in total(page)
    assert page.locator("#facts").inner_text() != facts
    page.locator("#origin").fill("1")
    page.locator("#origin").press("Enter")
    page.locator("#destination").fill("20")
    page.locator("#destination").press("Enter")
    expect(page.locator(".choice").first).to_be_visible()


def test_the_page_shows_the_day(browser: Browser, address: str) -> None:
    page = browser.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    use(page)
    page.close()
    assert complaints == []


def test_the_report_has_all_periods_without_a_server(browser: Browser, release: pr.Release, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(report_html(release), encoding="utf-8")
    page = browser.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "report.html").as_uri())
    use(page)
    page.close()
    assert complaints == []


def with_a_bad_hour(release: pr.Release) -> pr.Release:
    """The same with one period that was measured to be worse than no data, and one that was not measured."""
    rows = {"released": MeasuredRow(90.0, 1.0), "equilibrium": MeasuredRow(1.0, 1.0)}
    bad = Quality(0.05, 1000.0, 1.0, rows)
    assert bad.verdict == "worse"
    first, second, *others = release.parts
    parts = [replace(first, quality=bad), replace(second, quality=None), *others]
    return pr.Release.of_parts(parts, release.certificate)


def test_the_measured_usefulness_of_the_shown_period_is_visible(
    browser: Browser, release: pr.Release, tmp_path: Path
) -> None:
    mixed = with_a_bad_hour(release)
    mixed.save(tmp_path / "mixed")
    assert pr.load_release(tmp_path / "mixed").qualities == mixed.qualities
    (tmp_path / "report.html").write_text(report_html(mixed), encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    measured, bad = page.locator("#measured"), mixed.parts[0].quality
    assert mixed.quality is not None
    assert bad is not None
    expect(measured).to_have_text(f"Usefulness · {mixed.quality.words}")
    expect(page.locator(".bars .worse")).to_have_count(0)  # on weekends there is none
    page.get_by_role("button", name="workday").click()
    page.wait_for_selector("html[data-period='1']")
    expect(measured).to_have_text("Usefulness · not measured")
    expect(page.locator(".bars .worse")).to_have_attribute("title", f"07:00-08:00: {bad.words}")
    expect(page.locator(".day .key")).to_have_text(f"Hatched: {bad.words}")
    page.locator("#clock").press("ArrowLeft")
    page.wait_for_selector("html[data-period='0']")
    expect(measured).to_have_class("measured bad")
    expect(page.locator("#clock")).to_have_attribute("aria-valuetext", f"workday, 07:00-08:00, {bad.words}")
    page.close()


def test_the_export_has_a_folder_for_each_period(release: pr.Release, tmp_path: Path) -> None:
    paths = export_release(release, tmp_path / "all", "csv")
    assert sorted({path.parent.name for path in paths}) == sorted(slot.key for slot in release.slots)
    assert all(path.exists() for path in paths)
    (first, *_) = export_release(release.at("2026-05-04 07:30"), tmp_path / "one", "csv", one_period=True)
    assert first.read_bytes() == (tmp_path / "all" / "workday_0700-0800" / first.name).read_bytes()
