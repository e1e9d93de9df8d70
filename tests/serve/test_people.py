"""Who gains and loses, and the pairs of a link: in the service, on the page, in a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tests.serve.test_browser import opened, page, painted  # noqa: F401 - the fixture

import privroute as pr
from privroute.serve.report import report_html


def test_the_service_says_who_gains_and_loses(client: httpx.Client, release: pr.Release) -> None:
    found = client.get("/v1/people").json()
    assert release.demand is not None
    losses = pr.who_loses(release.network, release.policy, release.demand)
    for against in ("equilibrium", "fastest"):
        shown = found["against"][against]
        assert shown["mean_loss_min"] == pytest.approx(losses.mean(against), abs=2e-3)
        assert shown["share_losing"]["1"] == pytest.approx(losses.share_losing(1.0, against), abs=0.01)
    assert len(found["zone_loss_min"]) == release.network.zones.size
    total = [row["total_travel_time"] for row in found["compliance"]]
    assert [row["share"] for row in found["compliance"]] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert total == sorted(total, reverse=True)
    again = client.get("/v1/people", params={"release": found["release"]})
    assert "immutable" in again.headers["cache-control"]


def test_the_service_selects_links(client: httpx.Client, release: pr.Release) -> None:
    network = release.network
    assert release.demand is not None
    flow = release.policy.link_flow(release.demand)
    for link in (0, 30, 75):
        found = client.get("/v1/link", params={"link": network.link_labels[link], "limit": 1000}).json()
        assert found["vehicles_per_h"] == pytest.approx(flow[link] * 60, rel=1e-3)
        assert sum(row["vehicles_per_h"] for row in found["pairs"]) == pytest.approx(flow[link] * 60, rel=1e-3)
        assert len(found["pairs"]) == found["pairs_using"] == release.policy.pairs_using()[link]
        assert (found["from_node"], found["to_node"]) == (
            network.node_labels[network.tail[link]],
            network.node_labels[network.head[link]],
        )
    assert len(client.get("/v1/link", params={"link": 30, "limit": 2}).json()["pairs"]) == 2
    assert client.get("/v1/link", params={"link": "none"}).status_code == 404
    assert client.get("/v1/link").status_code == 422
    assert client.get("/v1/link", params={"link": 30, "limit": 0}).status_code == 422


def test_without_a_demand_only_links_are_known(bare: pr.Release, serve: Callable[[pr.Release], str]) -> None:
    with httpx.Client(base_url=serve(bare)) as asking:
        assert asking.get("/v1/people").status_code == 404
        found = asking.get("/v1/link", params={"link": "=5"}).json()
        assert found["vehicles_per_h"] is None
        assert all(row["vehicles_per_h"] is None for row in found["pairs"])


def check_people(page: Page, release: pr.Release) -> None:  # noqa: F811 - the fixture's value
    page.click("#tab-people")
    expect(page.locator("#people table").first).to_be_visible()
    assert release.demand is not None
    losses = pr.who_loses(release.network, release.policy, release.demand)
    shown = page.locator("#people").inner_text()
    assert f"{losses.policy_min @ release.demand.rate_per_min / release.demand.total_per_min:.2f} min" in shown
    worst = losses.worst(1)[0]
    assert f"{worst.origin} → {worst.destination}" in shown
    expect(page.locator("#legend")).to_contain_text("Mean minutes of trips from a zone")
    page.wait_for_timeout(200)
    assert painted(page, "#overlay", "--loss-1") > 30
    assert painted(page, "#overlay", "--gain-1") > 30
    page.click("#tab-links")
    expect(page.locator("#legend")).to_contain_text("Expected volume")
    page.wait_for_timeout(200)
    assert painted(page, "#overlay", "--loss-1") == 0


def check_link(page: Page, release: pr.Release) -> None:  # noqa: F811
    page.click("#tab-links")
    first = page.locator("#links button[data-link]").first
    link = int(first.get_attribute("data-link") or "")
    first.click()
    network = release.network
    ends = [network.node_labels[nodes[link]] for nodes in (network.tail, network.head)]
    expect(page.locator("#link-title")).to_have_text(f"Link {ends[0]} → {ends[1]}")
    used = pr.select_link(release.policy, network.link_labels[link], release.demand)
    pairs = release.policy.pairs
    top = [network.end_labels[nodes[used.pair[0]]] for nodes in (pairs.origin, pairs.destination)]
    expect(page.locator("#links tbody tr").first).to_contain_text(f"{top[0]} → {top[1]}")
    expect(page.locator("#links")).to_contain_text(f"{len(used)} pairs")
    page.locator("#links tbody button").first.click()
    expect(page.locator("#routes-title")).to_have_text(f"{top[0]} → {top[1]}")
    page.click("#tab-links")
    page.click("#link-close")
    expect(page.locator("#links button[data-link]").first).to_be_visible()


def test_the_page_shows_gains_losses_and_the_pairs_of_a_link(
    page: Page,  # noqa: F811
    address: str,
    release: pr.Release,
) -> None:
    opened(page, address)
    check_people(page, release)
    check_link(page, release)


def test_a_click_on_a_link_of_the_map_selects_it_while_the_tab_is_open(
    page: Page,  # noqa: F811
    address: str,
    release: pr.Release,
) -> None:
    opened(page, address)
    points = release.network.coordinates
    assert points is not None
    page.click("#tab-links")
    box = page.locator("#overlay").bounding_box()
    assert box
    for x, y in np.random.default_rng(1).uniform((0, 0), (box["width"], box["height"]), (5000, 2)).tolist():
        page.mouse.move(box["x"] + x, box["y"] + y)
        said = page.locator("#tip").inner_text().partition("\n")[0]  # empty where nothing is shown
        if "→" in said:
            page.mouse.click(box["x"] + x, box["y"] + y)
            expect(page.locator("#link-title")).to_have_text(f"Link {said}")
            return
    pytest.fail("no link was found under the mouse")


def test_a_report_has_the_same_without_a_server(page: Page, release: pr.Release, tmp_path: Path) -> None:  # noqa: F811
    path = tmp_path / "report.html"
    path.write_text(report_html(release), encoding="utf-8")
    opened(page, path.as_uri())
    check_people(page, release)
    check_link(page, release)


def test_a_release_without_demand_says_so_on_the_page(
    page: Page,  # noqa: F811
    bare: pr.Release,
    serve: Callable[[pr.Release], str],
) -> None:
    opened(page, serve(bare))
    page.click("#tab-people")
    expect(page.locator("#people")).to_contain_text("no demand")
