"""From the map to the driver: an extract, polygons, 100,000 trips, learn, serve, a route between coordinates."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from playwright.sync_api import Browser, Page, expect
from tests.cli.command import run
from tests.network.city import SOUTH, STEP_LAT, STEP_LON, WEST, City

import privroute as pr
from privroute.errors import InputError
from privroute.serve.driving import DriveQuestion
from privroute.serve.export import export_release
from privroute.serve.lines import encoded, simplified
from privroute.serve.options import Basemap, ServeOptions
from privroute.serve.service import Service

TRIPS = 100_000
METRES = np.array([111_195.08 * np.cos(np.radians(SOUTH)), 111_195.08])


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> pr.Release:
    """Everything by the command line, as a planner does it."""
    folder, city = tmp_path_factory.mktemp("town"), City()
    city.write(folder / "city.osm")
    city.write_zones(folder / "zones.geojson")
    draw = np.random.default_rng(1)

    def points() -> tuple[np.ndarray, np.ndarray]:
        return WEST + draw.random(TRIPS) * 19 * STEP_LON, SOUTH + draw.random(TRIPS) * 19 * STEP_LAT

    columns = dict(zip(("olon", "olat", "dlon", "dlat"), (*points(), *points()), strict=True))
    days = np.datetime64("2026-03-02T07:00") + draw.integers(0, 5, TRIPS).astype("timedelta64[D]")
    departure = days + draw.integers(0, 3600, TRIPS).astype("timedelta64[s]")
    pq.write_table(pa.table({"departure": departure, **columns}), folder / "trips.parquet")
    options = ("--zones", folder / "zones.geojson", "--zone-id", "quarter")
    done = run("network", "import", folder / "city.osm", "--out", folder / "gmns", *options)
    assert done.code == 0, done.err
    done = run(
        *("learn", "--network", folder / "gmns", "--trips", folder / "trips.parquet", "--period", "07:00-08:00"),
        *("--from", "2026-03-02", "--to", "2026-03-06", "--epsilon", 1, "--delta", "1e-6", "--expansion", 6),
        *("--origin-column", "olon,olat", "--destination-column", "dlon,dlat", "--out", folder / "release"),
    )
    assert done.code == 0, done.err
    return pr.load_release(folder / "release")


@pytest.fixture(scope="module")
def town_address(town: pr.Release, serve: Callable[[pr.Release], str]) -> str:
    return serve(town)


@pytest.fixture(scope="module")
def driver(town_address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=town_address) as found:
        yield found


def ask(driver: httpx.Client, **query: Any) -> Any:
    answer = driver.get("/v1/route", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def places(number: int, seed: int = 0) -> list[str]:
    draw = np.random.default_rng(seed)
    x, y = WEST + draw.random(number) * 19 * STEP_LON, SOUTH + draw.random(number) * 19 * STEP_LAT
    return [f"{u:.6f},{v:.6f}" for u, v in zip(x, y, strict=True)]


def streets_of(network: pr.Network) -> Any:
    assert network.streets is not None
    links = np.flatnonzero(network.streets.drawn).tolist()
    return shapely.union_all([shapely.linestrings(network.streets.line(link) * METRES) for link in links])


def check_line(answer: Any, streets: Any) -> None:
    """The line begins and ends at the waypoints, follows streets, and has no gaps."""
    line = np.array(answer["routes"][0]["geometry"]["coordinates"]) * METRES
    for end, waypoint in ((line[0], answer["waypoints"][0]), (line[-1], answer["waypoints"][1])):
        assert np.hypot(*(end - np.array(waypoint["location"]) * METRES)) < 1
    dense = shapely.points(shapely.get_coordinates(shapely.segmentize(shapely.linestrings(line), 10)))
    assert shapely.distance(dense, streets).max() < 30


def test_routes_between_coordinates_are_lines_along_streets(driver: httpx.Client, town: pr.Release) -> None:
    streets, ends = streets_of(town.network), places(120)
    for origin, destination in zip(ends[::2], ends[1::2], strict=True):
        check_line(ask(driver, origin=origin, destination=destination), streets)


def turns_back(line: list[list[float]]) -> int:
    """How often a line goes back to the point where it came from."""
    return sum(a == c for a, _, c in zip(line, line[1:], line[2:], strict=False))


class TestNobodyTurnsRound:
    """A street of the city is no dead end, so no way goes back on the street on which it came."""

    def test_between_coordinates(self, driver: httpx.Client) -> None:
        ends = places(398, 8)
        answers = [ask(driver, origin=a, destination=b, seed=1) for a, b in zip(ends[::2], ends[1::2], strict=True)]
        assert len(answers) == 199
        assert [turns_back(each["routes"][0]["geometry"]["coordinates"]) for each in answers] == [0] * 199

    def test_between_a_place_and_a_zone(self, driver: httpx.Client) -> None:
        for place in places(20, 9):
            zone = "Q44" if float(place.partition(",")[2]) < SOUTH + 9 * STEP_LAT else "Q00"
            for ends in ((place, zone), (zone, place)):
                for route in ask(driver, origin=ends[0], destination=ends[1], alternatives=3)["routes"]:
                    assert turns_back(route["geometry"]["coordinates"]) == 0

    def test_between_places_of_one_street_or_one_block(self, driver: httpx.Client) -> None:
        draw = np.random.default_rng(10)
        for place in places(60, 11):
            x, y = (float(part) for part in place.split(","))
            near = f"{x + draw.uniform(-1, 1) * STEP_LON:.6f},{y + draw.uniform(-1, 1) * STEP_LAT:.6f}"
            route = ask(driver, origin=place, destination=near, seed=1)["routes"][0]
            assert turns_back(route["geometry"]["coordinates"]) == 0

    def test_the_route_of_the_policy_is_most_of_the_way(self, driver: httpx.Client, town: pr.Release) -> None:
        """Legs leave out no more of the route than they would take to its ends."""
        origins, kept = places(40, 12), []
        for origin, destination in zip(origins[::2], origins[1::2], strict=True):
            answer = ask(driver, origin=origin, destination=destination, seed=3)
            zones = [end["zone"] for end in answer["waypoints"]]
            if zones[0] != zones[1]:
                whole = ask(driver, origin=zones[0], destination=zones[1], seed=3)["routes"][0]["links"]
                links = answer["routes"][0]["links"]
                assert set(links) <= set(whole)
                kept.append(len(links) / len(whole))
        assert np.mean(kept) > 0.6
        del town


def test_the_release_keeps_geometry_names_and_areas(town: pr.Release) -> None:
    network = town.network
    assert network.streets is not None
    assert network.areas is not None
    assert "Querstraße 1-1" in network.streets.name
    assert network.zone_names[0] == "Q00"
    assert (np.diff(network.streets.start) == 5).sum() > 1000


def test_steps_name_streets_and_add_up(driver: httpx.Client) -> None:
    origin, destination = places(2, 4)
    route = ask(driver, origin=origin, destination=destination, steps="true")["routes"][0]
    steps = route["legs"][0]["steps"]
    assert steps[0]["maneuver"]["type"] == "depart"
    assert steps[-1]["maneuver"]["type"] == "arrive"
    assert all(step["name"].startswith(("Querstraße", "Längsallee")) for step in steps)
    assert sum(step["distance"] for step in steps) == pytest.approx(route["distance"], abs=1)
    assert sum(step["duration"] for step in steps) == pytest.approx(route["duration"], abs=1)
    parts = [step["part"] for step in steps]
    assert parts == sorted(parts, key=["access", "route", "egress"].index)


def decoded(text: str, decimals: int) -> list[tuple[float, float]]:
    """Read an encoded polyline as its definition says, independently of the writer."""
    numbers, value, shift = [], 0, 0
    for sign in text:
        part = ord(sign) - 63
        value |= (part & 31) << shift
        shift += 5
        if part < 32:
            numbers.append(~(value >> 1) if value & 1 else value >> 1)
            value = shift = 0
    latitude, longitude = np.cumsum(np.array(numbers).reshape(-1, 2), axis=0).T / 10**decimals
    return list(zip(longitude.tolist(), latitude.tolist(), strict=True))


class TestPolylines:
    @pytest.mark.parametrize(("geometries", "decimals"), [("polyline", 5), ("polyline6", 6)])
    def test_the_line_is_the_same(self, driver: httpx.Client, geometries: str, decimals: int) -> None:
        origin, destination = places(2, 5)
        query = {"origin": origin, "destination": destination, "alternatives": 0, "steps": "true"}
        plain = ask(driver, **query)["routes"][0]
        packed = ask(driver, **query, geometries=geometries)["routes"][0]
        both = [(plain, packed), *zip(plain["legs"][0]["steps"], packed["legs"][0]["steps"], strict=True)]
        for line, text in ((one["geometry"]["coordinates"], other["geometry"]) for one, other in both):
            assert np.allclose(decoded(text, decimals), line, rtol=0, atol=0.56 * 10**-decimals)

    def test_published_examples(self) -> None:
        line = [[-120.2, 38.5], [-120.95, 40.7], [-126.453, 43.252]]
        assert encoded(line, 5) == "_p~iF~ps|U_ulLnnqC_mqNvxq`@"
        assert encoded(line, 6) == "_izlhA~rlgdF_{geC~ywl@_kwzCn`{nI"

    def test_halves_are_rounded_away_from_zero_after_millionths(self) -> None:
        assert decoded(encoded([[0.000025, -0.000025], [0.000024, -0.000024]], 5), 5) == [
            (0.00003, -0.00003),
            (0.00002, -0.00002),
        ]
        # 0.0000249999 is 0.000025 in millionths, and then 0.00003
        assert decoded(encoded([[0.0000249999, 0.0]], 5), 5) == [(0.00003, 0.0)]


def test_points_on_a_straight_line_are_left_out_and_corners_stay() -> None:
    line = [[13.0 + k / 100, 52.0] for k in range(5)] + [[13.04, 52.0 + k / 100] for k in range(1, 5)]
    assert simplified(line) == [line[0], line[4], line[-1]]
    assert simplified([line[0], line[0]]) == [line[0], line[0]]


def test_overviews_are_whole_or_simplified_or_left_out(driver: httpx.Client) -> None:
    origin, destination = places(2, 5)
    query = {"origin": origin, "destination": destination, "alternatives": 0}
    full = ask(driver, **query)["routes"][0]["geometry"]["coordinates"]
    fewer = ask(driver, **query, overview="simplified")["routes"][0]["geometry"]["coordinates"]
    assert "geometry" not in ask(driver, **query, overview="false")["routes"][0]
    assert 2 <= len(fewer) <= len(full)
    assert all(point in full for point in fewer)
    assert (fewer[0], fewer[-1]) == (full[0], full[-1])
    away = shapely.distance(shapely.points(np.array(full) * METRES), shapely.linestrings(np.array(fewer) * METRES))
    assert away.max() <= np.ptp(np.array(full) * METRES, axis=0).max() / 900


def test_one_route_is_sampled_and_a_vehicle_keeps_it_for_the_day(driver: httpx.Client, town: pr.Release) -> None:
    policy = town.policy
    pair = int(np.argmin(policy.likeliest()))
    labels = [town.network.end_labels[ends[pair]] for ends in (policy.pairs.origin, policy.pairs.destination)]
    query = {"origin": labels[0], "destination": labels[1]}
    drawn = {str(ask(driver, **query)["routes"][0]["links"]) for _ in range(40)}
    assert len(drawn) > 1
    kept = {str(ask(driver, **query, vehicle="car 7")["routes"][0]["links"]) for _ in range(10)}
    assert len(kept) == 1
    others = {str(ask(driver, **query, vehicle=f"car {k}")["routes"][0]["links"]) for k in range(40)}
    assert len(others) > 1
    answer = ask(driver, **query, alternatives=5)
    listed = answer["routes"]
    assert len(listed) == 6
    assert sum(route["probability"] for route in listed) + answer["remaining_probability"] == pytest.approx(1)
    assert [route["probability"] for route in listed] == sorted((r["probability"] for r in listed), reverse=True)


def test_another_key_gives_other_draws(town: pr.Release) -> None:
    service = [Service(town, ServeOptions(vehicle_key=key)) for key in (b"a" * 32, b"b" * 32)]
    seeds = [each.driving._seed(_question(), 1, 2) for each in service]
    assert seeds[0] != seeds[1]
    assert seeds[0] == service[0].driving._seed(_question(), 1, 2)
    assert b"car" not in str(vars(service[0].driving)).encode()


def _question() -> Any:
    return DriveQuestion("Q00", "Q11", vehicle="car")


def test_the_form_of_osrm_is_understood(driver: httpx.Client) -> None:
    origin, destination = places(2, 6)
    options = "overview=full&geometries=polyline6&steps=true&alternatives=true&annotations=false"
    answer = driver.get(f"/route/v1/driving/{origin};{destination}?{options}").json()
    assert answer["code"] == "Ok"
    assert isinstance(answer["routes"][0]["geometry"], str)
    assert set(answer["waypoints"][0]) == {"zone", "location", "distance", "name"}
    plain = driver.get(f"/route/v1/driving/{origin};{destination}.json?alternatives=0&seed=1").json()
    line = decoded(plain["routes"][0]["geometry"], 5)  # what clients of OSRM expect unless they ask for another form
    assert np.allclose(line[0], plain["waypoints"][0]["location"], atol=1e-5)
    assert np.allclose(line[-1], plain["waypoints"][1]["location"], atol=1e-5)


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"origin": "nowhere", "destination": "Q00"}, 404, "NoRoute"),
        ({"origin": "2.35,48.85", "destination": "Q00"}, 404, "NoSegment"),
        ({"origin": "999,48.85", "destination": "Q00"}, 422, "InvalidQuery"),
        ({"origin": "Q00", "destination": "Q00"}, 404, "NoRoute"),
        ({"origin": "Q00"}, 422, "InvalidQuery"),
        ({"origin": "Q00", "destination": "Q01", "geometries": "wkt"}, 422, "InvalidQuery"),
        ({"origin": "Q00", "destination": "Q01", "overview": "some"}, 422, "InvalidQuery"),
        ({"origin": "Q00", "destination": "Q01", "alternatives": "99"}, 422, "InvalidQuery"),
        ({"origin": "Q00", "destination": "Q01", "typo": "1"}, 422, "InvalidQuery"),
    ],
)
def test_errors_have_the_same_form(driver: httpx.Client, query: dict[str, str], status: int, code: str) -> None:
    answer = driver.get("/v1/route", params=query)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["message"].endswith(".")


def test_three_places_are_an_invalid_query_in_the_form_of_osrm(driver: httpx.Client) -> None:
    origin, destination = places(2, 6)
    answer = driver.get(f"/route/v1/driving/{origin};{destination};{origin}")
    assert (answer.status_code, answer.json()["code"]) == (422, "InvalidQuery")


def test_an_unknown_zone_is_told_which_zones_there_are(driver: httpx.Client) -> None:
    message = driver.get("/v1/routes", params={"origin": "Q00", "destination": "Feld"}).json()["message"]
    assert "zones begin with Q00" in message
    assert "/v1/route takes longitude,latitude" in message


def test_files_draw_streets_as_they_run(town: pr.Release, tmp_path: Path) -> None:
    export_release(town, tmp_path, "geojson")
    streets = streets_of(town.network)
    route = json.loads((tmp_path / "routes.geojson").read_text())["features"][0]
    line = shapely.points(np.array(route["geometry"]["coordinates"]) * METRES)
    assert shapely.distance(line, streets).max() < 30
    assert "Querstraße" in route["properties"]["streets"] or "Längsallee" in route["properties"]["streets"]
    export_release(town, tmp_path, "gmns")
    assert pr.read_gmns(tmp_path) == town.network


class TestThePage:
    @pytest.fixture(params=[(1440, 900, "light"), (1440, 900, "dark"), (390, 844, "light"), (390, 844, "dark")])
    def page(self, browser: Browser, request: pytest.FixtureRequest, town_address: str) -> Iterator[Page]:
        width, height, theme = request.param
        page = browser.new_page(
            viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce"
        )
        page.set_default_timeout(15_000)
        asked: list[str] = []
        problems: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda problem: problems.append(str(problem)))
        page.goto(town_address)
        page.wait_for_selector("html[data-ready=true]")
        yield page
        assert problems == []
        assert all(url.startswith((town_address, "data:")) for url in asked)
        page.close()

    def click(self, page: Page, across: float, down: float) -> None:
        box = page.locator("#overlay").bounding_box()
        assert box
        page.locator("#overlay").click(position={"x": box["width"] * across, "y": box["height"] * down})

    def test_two_clicks_anywhere_draw_a_route_along_curves(self, page: Page) -> None:
        self.click(page, 0.36, 0.55)
        self.click(page, 0.62, 0.33)
        expect(page.locator("#routes-title")).to_be_visible()
        expect(page.locator(".choice").first).to_contain_text("via")
        assert "," in page.url.split("origin=")[1].replace("%2C", ",")
        painted = (Path(__file__).parent / "painted.js").read_text()
        # the map draws in a frame of its own, after the list
        page.wait_for_function(f"given => ({painted.strip()})(given) > 100", arg=["#overlay", "--route-0"])

    def test_streets_and_zones_are_found_by_name(self, page: Page) -> None:
        page.locator("#origin").fill("Querstraße 7-2")
        expect(page.locator("#origin-list [role=option]").first).to_contain_text("street")
        page.keyboard.press("Enter")
        page.locator("#destination").fill("Q44")
        page.keyboard.press("Enter")
        expect(page.locator("#routes-title")).to_have_text("Querstraße 7-2 → Q44")
        expect(page.locator("#origin")).to_have_value("Querstraße 7-2")


class TestBasemap:
    def test_it_is_off_unless_an_operator_names_one(self, town: pr.Release, driver: httpx.Client) -> None:
        assert driver.get("/page/drawing.json").json()["basemap"] is None
        assert "img-src 'self' data:" in driver.get("/").headers["content-security-policy"]
        del town

    def test_only_its_server_is_allowed(self) -> None:
        basemap = Basemap("https://tiles.example.org/{z}/{x}/{y}.png", "© A")
        assert basemap.origin == "https://tiles.example.org"
        for tiles in ("ftp://a/{z}/{x}/{y}", "https://a b/{z}/{x}/{y}", "https://a/{z}/{x}", "https://a;x/{z}/{x}/{y}"):
            with pytest.raises(InputError, match="not an address"):
                Basemap(tiles, "© A")
        with pytest.raises(InputError, match="needs a credit"):
            Basemap("https://a/{z}/{x}/{y}", " ")


def test_chicago_with_real_trips(tntp: Path) -> None:
    """Chicago Sketch at its longitudes and latitudes, trips of a bike-sharing system: lines along links."""
    real = Path(os.environ.get("PRIVROUTE_REAL", tntp.parent / "real")) / "chicago"
    if not (real / "divvy_trips.parquet").exists():
        pytest.skip("Chicago: no coordinates and trips; set PRIVROUTE_REAL to their folder")
    network = pr.read_network(tntp / "ChicagoSketch_net.tntp", nodes=real / "ChicagoSketch_node_lonlat.tntp")
    history = pr.read_trips(
        real / "divvy_trips.parquet",
        network,
        dates=("2013-06-27", "2013-07-10"),
        period=("00:00", "24:00"),
        origin=("olon", "olat"),
        destination=("dlon", "dlat"),
        max_zone_distance_km=3.0,
        report=lambda _: None,
    )
    assert history.counts.sum() > 1000
    release = pr.learn(network, history, pr.Guarantee(epsilon=1.0, delta=1e-6))
    service = Service(release)
    assert network.coordinates is not None
    points, metres = network.coordinates, np.array([111_195.08 * np.cos(np.radians(41.9)), 111_195.08])
    lines = shapely.linestrings(np.stack([points[network.tail], points[network.head]], axis=1) * metres)
    streets = shapely.union_all(lines[shapely.length(lines) > 0])
    table = pq.read_table(real / "divvy_trips.parquet").slice(0, 60).to_pylist()
    drawn = 0
    for row in table:
        ends = [f"{row[f'{end}lon']:.6f},{row[f'{end}lat']:.6f}" for end in "od"]
        answer = service.driving.answer(_drive(*ends), "duration")
        line = answer["routes"][0]["geometry"]["coordinates"]
        assert len(line) >= 2
        if not answer["routes"][0]["distance"]:  # from a station to itself
            continue
        dense = shapely.segmentize(shapely.linestrings(np.array(line) * metres), 50)
        assert shapely.distance(shapely.points(shapely.get_coordinates(dense)), streets).max() < 30
        drawn += len(line) > 2
    assert drawn > 20


def _drive(origin: str, destination: str) -> Any:
    return DriveQuestion(origin, destination)
