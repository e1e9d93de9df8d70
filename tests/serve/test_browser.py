"""The page in a real browser, as people with a mouse, with keys only and with a small screen use it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.serve.conftest import moved

import privroute as pr
from privroute.serve.page_content import Picture
from privroute.serve.report import report_html


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A new window; whatever the console complains about fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    found = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    found.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.on("request", lambda request: asked.append(request.url))
    yield found
    context.close()
    assert complaints == []
    elsewhere = [url for url in asked if not url.startswith(("http://127.0.0.1:", "file://", "data:"))]
    assert elsewhere == []


def script(name: str) -> str:
    return Path(__file__).with_name(f"{name}.js").read_text(encoding="utf-8")


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    return page


def shares(page: Page) -> list[float]:
    """Percentages as shown: tenths that add up to 100, of which a route "< 0.1 %" has none."""
    texts = page.locator(".share").all_inner_texts()
    return [0.0 if text.startswith("<") else float(text.removesuffix(" %")) for text in texts]


def painted(page: Page, canvas: str, variable: str) -> int:
    """How many pixels of a canvas have about the colour of a CSS variable."""
    return int(
        page.evaluate(
            script("painted"),
            [canvas, variable],
        )
    )


def click_zone(page: Page, release: pr.Release, label: object) -> None:
    """Click where the page itself has drawn the zone."""
    points = Picture(release).points
    node = release.network.node_labels.index(label)
    box = page.locator("#overlay").bounding_box()
    assert box
    width, height = box["width"], box["height"]
    span = points.max(axis=0)
    side, top, bottom = (28, 30, 84) if width < 600 else (72, 56, 112)
    scale = min((width - 2 * side) / span[0], (height - top - bottom) / span[1])
    x = (width - scale * span[0]) / 2 + scale * points[node, 0]
    y = top + (height - top - bottom + scale * span[1]) / 2 - scale * points[node, 1]
    page.locator("#overlay").click(position={"x": x, "y": y})


def test_the_page_loads_with_the_network_coloured_by_expected_load(
    page: Page, address: str, release: pr.Release
) -> None:
    opened(page, address)
    assert "24 zones" in page.locator("#facts").inner_text()
    assert "(4 days), 60 minutes of each day" in page.locator("#hours").inner_text()
    assert "552 pairs" in page.locator("#facts").inner_text()
    expect(page.locator("#legend")).to_contain_text("Expected volume / capacity")
    assert release.demand
    load = pr.volume_over_capacity(release.network, release.policy, release.demand)
    breaks = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, float("inf")]
    for of in range(7):
        links = ((load >= breaks[of]) & (load < breaks[of + 1])).sum()
        assert (painted(page, "#network", f"--class-{of}") > 50) == (links > 0)
    expect(page.locator("#verdict")).to_have_text("Private · ε 0.1")


def test_two_clicks_on_the_map_show_the_routes_of_a_pair(page: Page, address: str, release: pr.Release) -> None:
    opened(page, address)
    origin, destination = Picture(release).example_labels()
    click_zone(page, release, origin)
    expect(page.locator("#origin")).to_have_value(str(origin))
    click_zone(page, release, destination)
    expect(page.locator("#routes-title")).to_have_text(f"{origin} → {destination}")
    routes = release.policy.routes(origin, destination)
    expect(page.locator(".choice")).to_have_count(len(routes))
    assert sum(shares(page)) == pytest.approx(100, abs=1e-6)
    for position in range(min(len(routes), 6)):
        assert painted(page, "#overlay", f"--route-{position}") > 100
    assert re.search(rf"origin={origin}&destination={destination}", page.url)
    expect(page.locator("#said")).to_contain_text(f"from {origin} to {destination}")


def test_a_pair_can_be_chosen_with_the_keyboard_alone(page: Page, address: str) -> None:
    opened(page, address)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#origin")).to_be_focused()
    page.keyboard.type("1")
    expect(page.locator("#origin-list [role=option]")).to_have_count(12)  # 1, 10 to 19, 21
    expect(page.locator("#origin")).to_have_attribute("aria-expanded", "true")
    active = page.locator("#origin").get_attribute("aria-activedescendant")
    expect(page.locator(f"#{active}")).to_have_text("1")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator("#origin")).to_have_value("1")
    expect(page.locator("#destination")).to_be_focused()
    page.keyboard.type("20")
    page.keyboard.press("Enter")
    expect(page.locator("#routes-title")).to_have_text("1 → 20")
    assert sum(shares(page)) == pytest.approx(100, abs=1e-6)
    page.locator("#swap").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#routes-title")).to_have_text("20 → 1")
    page.keyboard.press("Tab")  # to the tabs
    page.keyboard.press("ArrowRight")
    expect(page.locator("#guarantee")).to_be_visible()


def test_typing_nonsense_chooses_nothing(page: Page, address: str) -> None:
    opened(page, address)
    page.locator("#origin").fill("<img src=x onerror=alert(1)>")
    expect(page.locator("#origin-list")).to_contain_text("No matching zone")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.locator("#origin")).to_have_value("")
    page.locator("#origin").fill("1")
    page.keyboard.press("Enter")
    page.locator("#destination").fill("1")
    page.keyboard.press("Enter")
    expect(page.locator("#routes")).to_contain_text("two different")


def test_sampling_marks_a_route_and_says_which(page: Page, address: str, release: pr.Release) -> None:
    origin, destination = Picture(release).example_labels()
    opened(page, f"{address}/#origin={origin}&destination={destination}")
    for turn in range(1, 4):
        page.locator("#sample").click()
        counts = page.locator("#drawn-count")
        expect(counts).to_have_attribute("data-draws", str(turn))
        expect(page.locator("#said")).to_contain_text("Sampled: route")
        expect(page.locator(".choice[aria-pressed=true]")).to_have_count(1)
        if turn > 1:
            expect(counts).to_contain_text("Total:")
            assert sum(int(each) for each in re.findall(r"(\d+) ×", counts.inner_text())) == turn


def test_a_sampled_vehicle_drives_unless_less_motion_is_wanted(
    browser: Browser, address: str, release: pr.Release
) -> None:
    origin, destination = Picture(release).example_labels()
    moved = {}
    for wish in ("no-preference", "reduce"):
        context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion=wish)
        page = opened(context.new_page(), f"{address}/#origin={origin}&destination={destination}")
        page.wait_for_timeout(600)
        page.locator("#sample").click()
        expect(page.locator("#said")).to_contain_text("Sampled")
        page.wait_for_timeout(300)
        first = page.locator("#overlay").screenshot()
        page.wait_for_timeout(700)
        moved[wish] = page.locator("#overlay").screenshot() != first
        context.close()
    assert moved == {"no-preference": True, "reduce": False}


def test_the_guarantee_says_what_is_protected_and_what_is_not(page: Page, address: str) -> None:
    opened(page, address)
    page.locator("#verdict").click()
    sheet = page.locator("#guarantee")
    for text in (
        "Whether any one trip was in the data",
        "From whom",
        "How strongly",
        "Not protected",
        "the curator has access to all trips",
    ):
        expect(sheet).to_contain_text(text)
    expect(page.locator("#banner")).to_be_hidden()


def test_what_is_not_private_is_said_in_red_at_once_and_labels_are_only_text(
    page: Page, bare: pr.Release, serve: Callable[[pr.Release], str]
) -> None:
    opened(page, serve(bare))
    expect(page.locator("#banner")).to_contain_text("NOT PRIVATE")
    expect(page.locator("#verdict")).to_have_text("Not private")
    expect(page.locator("#legend")).to_contain_text("Pairs that use a link")
    expect(page.locator("#legend")).to_contain_text("computed")
    page.locator("#origin").fill("</script>")
    page.keyboard.press("Enter")
    page.locator("#destination").fill("a/b")
    page.keyboard.press("Enter")
    expect(page.locator("#routes-title")).to_have_text("</script><b> → a/b")
    expect(page.locator(".choice").first).to_contain_text("km")


def test_a_delta_too_large_for_single_persons_is_said_in_red_on_the_page_and_in_the_report(
    page: Page, weak: pr.Release, serve: Callable[[pr.Release], str], tmp_path: Path
) -> None:
    (tmp_path / "report.html").write_text(report_html(weak), encoding="utf-8")
    for address in (serve(weak), (tmp_path / "report.html").as_uri()):
        opened(page, address)
        expect(page.locator("#banner")).to_contain_text("NOT PRIVATE: delta 0.1 is above 0.001")
        expect(page.locator("#verdict")).to_have_text("Not private")
        page.locator("#verdict").click()
        expect(page.locator("#guarantee .stamp.bad")).to_contain_text("too large to protect single persons")
        expect(page.locator("#guarantee")).to_contain_text("hold as stated")


def test_dark_and_light_follow_the_system_and_the_button(browser: Browser, address: str) -> None:
    context = browser.new_context(color_scheme="dark")
    page = opened(context.new_page(), address)

    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    expect(page.locator("#theme")).to_have_attribute("aria-pressed", "true")
    dark = ground()
    page.emulate_media(color_scheme="light")
    expect(page.locator("#theme")).to_have_attribute("aria-pressed", "false")
    light = ground()
    assert dark != light
    page.locator("#theme").click()
    assert ground() == dark
    opened(page, address)
    assert ground() == dark  # remembered
    context.close()


def test_the_map_moves_and_zooms_by_mouse_and_keys(page: Page, address: str) -> None:
    opened(page, address)

    def view() -> bytes:
        page.wait_for_timeout(60)
        return page.locator("#network").screenshot()

    overlay = page.locator("#overlay")
    overlay.focus()
    seen = [view()]
    for key in ("+", "ArrowLeft", "ArrowUp", "-"):
        page.keyboard.press(key)
        seen.append(view())
    page.mouse.move(500, 500)
    page.mouse.wheel(0, -300)
    seen.append(view())
    page.mouse.down()
    page.mouse.move(600, 560, steps=4)
    page.mouse.up()
    seen.append(view())
    assert len(set(seen)) == len(seen)
    page.mouse.move(5, 300)
    overlay.focus()
    page.keyboard.press("0")
    assert view() == seen[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_fits_a_telephone(browser: Browser, address: str, release: pr.Release, theme: str) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844},
        has_touch=True,
        is_mobile=True,
        color_scheme=theme,  # type: ignore[arg-type]
        reduced_motion="reduce",
    )
    page = opened(context.new_page(), address)
    origin, destination = Picture(release).example_labels()
    click_zone(page, release, origin)
    click_zone(page, release, destination)
    expect(page.locator("#routes-title")).to_have_text(f"{origin} → {destination}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in ("#origin", "#destination", "#swap", "#sample", "#theme", "#verdict"):
        page.locator(name).scroll_into_view_if_needed()
        box = page.locator(name).bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert box["height"] >= 28
    context.close()


def test_controls_have_names_and_text_has_contrast(page: Page, address: str, release: pr.Release) -> None:
    origin, destination = Picture(release).example_labels()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        opened(page, f"{address}/#origin={origin}&destination={destination}")
        page.reload()
        page.wait_for_selector("html[data-ready]")
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("button, a, input, [role=application]")].filter((each) =>
              !(each.getAttribute("aria-label") || each.textContent.trim() || (each.labels && each.labels.length)))
              .map((each) => each.outerHTML)"""
        )
        assert nameless == []
        assert page.evaluate(script("contrast")) == []


def test_arrow_up_from_nowhere_goes_to_the_last_zone(page: Page, address: str) -> None:
    opened(page, address)
    page.locator("#origin").click()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#origin-list [aria-selected=true]")).to_have_text("24")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#origin-list [aria-selected=true]")).to_have_text("1")


def test_connectors_do_not_change_what_a_typical_link_is(page: Page, address: str) -> None:
    """Links 1 and 2 are 3 and 4 long, and the first, 100 long, is a connector."""
    opened(page, address)
    found = page.evaluate(
        """() => {
          const map = Object.create(privroute.NetworkMap.prototype);
          map.nodes = { x: [0, 100, 103, 107], y: [0, 0, 0, 0], zone: [0], zone_per_h: null };
          map.links = { tail: [0, 1, 2], head: [1, 2, 3] };
          map.connector = new Set([0]);
          map.shapes = new privroute.Shapes({ nodes: map.nodes, links: map.links });
          map._prepare();
          return map.typical;
        }"""
    )
    assert found == 4


def test_both_directions_are_apart_also_where_forbidden_turns_split_a_junction(page: Page, address: str) -> None:
    """Nodes 1 and 2 are one junction: links 0 and 1 are the directions of a street, link 2 has none in return."""
    opened(page, address)
    found = page.evaluate(
        """() => {
          const map = Object.create(privroute.NetworkMap.prototype);
          map.nodes = { x: [0, 100, 100, 200], y: [0, 0, 0, 0], zone: [0], zone_per_h: null };
          map.links = { tail: [0, 2, 1], head: [1, 0, 3] };
          map.connector = new Set();
          map.shapes = new privroute.Shapes({ nodes: map.nodes, links: map.links });
          map._prepare();
          return map.aside.map((shift) => shift.some((each) => each !== 0));
        }"""
    )
    assert found == [True, True, False]


def test_the_map_is_drawn_without_an_animation_frame(page: Page, address: str) -> None:
    page.add_init_script("window.requestAnimationFrame = () => 1;")
    opened(page, address)
    assert sum(painted(page, "#network", f"--class-{of}") for of in range(7)) > 500


def test_routes_that_are_not_listed_are_named_with_their_probability(page: Page, address: str) -> None:
    def others_have_a_tenth(route: Route) -> None:
        found = route.fetch().json()
        for each in found["routes"]:
            each["probability"] *= 0.9
        route.fulfill(json=found)

    page.route("**/v1/routes?*", others_have_a_tenth)
    opened(page, f"{address}/#origin=1&destination=20")
    expect(page.locator("#spread")).to_contain_text("Other routes have 10.0 % together.")
    expect(page.locator("#said")).to_contain_text("others 10.0 %")
    assert sum(shares(page)) == pytest.approx(90, abs=0.2)


def test_of_many_routes_six_are_side_by_side_and_the_others_thin(page: Page, address: str) -> None:
    def many(route: Route) -> None:
        found = route.fetch().json()
        one = found["routes"][0]
        found["routes"] = [{**one, "probability": 0.1} for _ in range(10)]
        route.fulfill(json=found)

    page.route("**/v1/routes?*", many)
    opened(page, f"{address}/#origin=1&destination=20")
    expect(page.locator(".choice")).to_have_count(10)
    page.wait_for_timeout(100)
    for position in range(6):
        assert painted(page, "#overlay", f"--route-{position}") > 100
    widths = page.evaluate(
        """() => {
          const map = Object.create(privroute.NetworkMap.prototype);
          Object.assign(map, { emphasised: 8, routes: Array(10).fill({ probability: 0.1 }) });
          return map.routes.map((_, i) => map._routeWidth(i));
        }"""
    )
    assert all(width > 3 for width in [*widths[:6], widths[8]])
    assert all(width < 2 for width in [*widths[6:8], widths[9]])


def test_links_of_one_street_are_told_apart_by_their_cross_streets(page: Page, address: str) -> None:
    opened(page, address)
    found = page.evaluate(
        """() => {
          const nodes = { x: [0, 1, 2, 1], y: [0, 0, 0, 1] }, links = { tail: [0, 1, 1], head: [1, 2, 3] };
          const streets = { names: ["Main", "Cross"], name: [0, 0, 1], hidden: [], start: [0, 2, 4, 6],
            x: [0, 1, 1, 2, 1, 1], y: [0, 0, 0, 0, 0, 1] };
          const ends = new privroute.Shapes({ nodes, links, streets }).crossings();
          return [ends(0, 0), ends(0, 1), ends(1, 0), ends(1, 1)];
        }"""
    )
    assert found == ["", "Cross", "Cross", ""]


def test_a_draw_that_fails_is_told(page: Page, address: str) -> None:
    login = "<p>the login page of a proxy</p>"
    page.route("**/v1/sample?*", lambda route: route.fulfill(content_type="text/html", body=login))
    opened(page, f"{address}/#origin=1&destination=20")
    page.locator("#sample").click()
    expect(page.locator("#drawn-count")).not_to_be_empty()


def test_a_late_failure_does_not_cover_a_newer_answer(page: Page, address: str) -> None:
    late: list[Route] = []
    page.route("**/v1/routes?origin=1&destination=20&*", lambda route: late.append(route))  # noqa: PLW0108 - it wants a function of Python
    opened(page, address)
    page.locator("#origin").fill("1")
    page.keyboard.press("Enter")
    page.locator("#destination").fill("20")
    page.keyboard.press("Enter")
    page.locator("#destination").fill("13")
    page.keyboard.press("Enter")
    expect(page.locator("#routes-title")).to_have_text("1 → 13")
    late[0].fulfill(content_type="text/html", body="")
    page.wait_for_timeout(300)
    expect(page.locator("#routes-title")).to_have_text("1 → 13")


def test_a_label_cannot_leave_the_quotes_of_an_example_for_the_shell(
    page: Page, bare: pr.Release, serve: Callable[[pr.Release], str]
) -> None:
    policy, network = bare.policy, bare.network
    labels = [f"'; echo {node} #" for node in range(network.nodes)]
    hostile = pr.Network(network.tail, network.head, network.latency, labels)
    page.goto(f"{serve(pr.Release(moved(policy, hostile), bare.certificate))}/docs")
    expect(page.locator("#article")).to_contain_text("curl -H")
    for call in page.locator("#article pre").all_inner_texts():
        assert "'; echo" not in call
        assert call.count("'") % 2 == 0


def test_the_description_of_the_api_is_a_page(page: Page, address: str) -> None:
    page.goto(f"{address}/docs")
    expect(page.locator("#article")).to_contain_text("/v1/routes")
    expect(page.locator("#article")).to_contain_text("up to 100,000 pairs")
    expect(page.locator("#article")).to_contain_text("curl")


def test_every_example_of_the_description_works_as_it_stands(page: Page, address: str) -> None:
    page.goto(f"{address}/docs")
    expect(page.locator("#article")).to_contain_text("/route/v1/driving/{coordinates}")
    calls = [shlex.split(call) for call in page.locator("#article pre").all_inner_texts()]
    assert len(calls) == 11
    for curl, *options, place in calls:
        assert curl == "curl"
        body = options[options.index("-d") + 1] if options else None
        method, headers = ("POST", {"content-type": "application/json"}) if body else ("GET", {})
        answer = httpx.request(method, place, content=body, headers=headers)
        assert answer.status_code == 200, (place, answer.text)


def test_the_report_is_the_same_page_in_one_file(
    page: Page, bare: pr.Release, release: pr.Release, tmp_path: Path
) -> None:
    for name, found in (("private", release), ("bare", bare)):
        origin, destination = Picture(found).example_labels()
        path = tmp_path / f"{name}.html"
        path.write_text(report_html(found), encoding="utf-8")
        opened(page, path.as_uri())
        page.locator("#example").click()
        expect(page.locator("#routes-title")).to_have_text(f"{origin} → {destination}")
        routes = found.policy.routes(origin, destination)
        chances = [float(each.get_attribute("data-probability") or 0) for each in page.locator(".choice").all()]
        assert chances == [route.probability for route in routes]
        assert sum(shares(page)) == pytest.approx(100, abs=1e-6)
        page.locator("#sample").click()
        expect(page.locator("#said")).to_contain_text("Sampled: route")
        page.locator("#tab-guarantee").click()
        expect(page.locator("#guarantee")).to_contain_text("Not protected")


def test_chicago_sketch_is_drawn_and_routed_like_a_small_network(
    page: Page, tntp: Path, serve: Callable[[pr.Release], str]
) -> None:
    network = pr.read_tntp(tntp / "ChicagoSketch_net.tntp", nodes=tntp / "ChicagoSketch_node.tntp")
    demand = pr.read_tntp_trips(tntp / "ChicagoSketch_trips.tntp", network)
    solution = pr.solve_optimum(network, demand, gap=1e-2)
    history = pr.simulate_days(pr.sioux_falls().demand, days=1, seed=1)
    certificate = pr.learn(pr.sioux_falls().network, history, mechanism="none").certificate
    chicago = pr.Release(solution.policy, certificate, demand)
    opened(page, serve(chicago))
    assert "149,382 pairs" in page.locator("#facts").inner_text()
    assert painted(page, "#network", "--class-3") > 200
    origin, destination = Picture(chicago).example_labels()
    click_zone(page, chicago, origin)
    page.locator("#destination").fill(str(destination))
    page.keyboard.press("Enter")
    expect(page.locator("#routes-title")).to_have_text(f"{origin} → {destination}")
    expect(page.locator(".choice")).to_have_count(len(solution.policy.routes(origin, destination)))
    assert sum(shares(page)) == pytest.approx(100, abs=1e-6)
    assert painted(page, "#overlay", "--route-0") > 50
