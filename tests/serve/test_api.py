from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace

import httpx
import numpy as np
import orjson
import pytest
from tests.serve.conftest import moved
from tests.statistical.rates import EACH

import privroute as pr
from privroute.release.explanation import explain
from privroute.serve.caching import release_id


def ends(release: pr.Release, pair: int) -> tuple[object, object]:
    labels = release.network.node_labels
    return labels[release.policy.pairs.origin[pair]], labels[release.policy.pairs.destination[pair]]


def varied(release: pr.Release) -> int:
    """The pair whose likeliest route is the least likely."""
    policy = release.policy
    return int(np.argmin(policy.likeliest()))


def ask(client: httpx.Client, what: str, **query: object) -> dict:  # type: ignore[type-arg]
    answer = client.get(f"/v1/{what}", params={name: str(value) for name, value in query.items()})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_routes_are_those_of_the_policy_with_seconds_at_the_released_demand(
    release: pr.Release, client: httpx.Client
) -> None:
    assert release.demand
    flow = release.policy.link_flow(release.demand)
    minutes, weight = release.network.latency.time(flow), release.network.latency.marginal_cost(flow)
    for pair in [0, 17, varied(release), len(release.policy.pairs) - 1]:
        origin, destination = ends(release, pair)
        found = ask(client, "routes", origin=origin, destination=destination)
        routes = release.policy.routes(origin, destination)  # type: ignore[arg-type]
        assert found["code"] == "Ok"
        assert found["weight_name"] == "marginal_duration"
        assert [row["probability"] for row in found["routes"]] == [route.probability for route in routes]
        assert [tuple(row["nodes"]) for row in found["routes"]] == [route.nodes for route in routes]
        for row, route in zip(found["routes"], routes, strict=True):
            links = list(route.links)
            assert row["links"] == [release.network.link_labels[link] for link in links]
            assert row["duration"] == pytest.approx(60 * minutes[links].sum(), abs=0.051)
            assert row["duration_free_flow"] == pytest.approx(
                60 * release.network.free_flow_min[links].sum(), abs=0.051
            )
            assert row["weight"] == pytest.approx(60 * weight[links].sum(), abs=0.051)
        driven = ask(client, "route", origin=origin, destination=destination, alternatives=20)["routes"]
        metres = {tuple(row["links"]): row["distance"] for row in driven}
        for row in found["routes"]:  # all nodes are zones, so there are no connectors
            assert row["distance"] == pytest.approx(metres[tuple(row["links"])], abs=0.11)


def test_routes_of_a_pair_have_nearly_the_same_weight_which_is_what_the_optimum_equalises(
    release: pr.Release, client: httpx.Client
) -> None:
    origin, destination = ends(release, varied(release))
    weights = [row["weight"] for row in ask(client, "routes", origin=origin, destination=destination)["routes"]]
    assert len(weights) > 1
    assert max(weights) == pytest.approx(min(weights), rel=1e-3)


def test_without_a_demand_times_are_those_of_empty_roads_and_labels_of_any_kind_work(
    bare: pr.Release, serve: Callable[[pr.Release], str]
) -> None:
    lengths = bare.network.length_km
    assert lengths is not None
    with httpx.Client(base_url=serve(bare)) as client:
        for pair in range(0, len(bare.policy.pairs), 23):
            origin, destination = ends(bare, pair)
            found = ask(client, "routes", origin=origin, destination=destination)
            assert found["weight_name"] == "duration"
            (route, *_), row = bare.policy.routes(origin, destination), found["routes"][0]  # type: ignore[arg-type]
            assert tuple(map(str, row["nodes"])) == tuple(map(str, route.nodes))
            assert all(abs(label) < 2**53 for label in row["nodes"] + row["links"] if isinstance(label, int))
            assert row["duration"] == row["duration_free_flow"] == row["weight"]
            assert row["distance"] == pytest.approx(1000 * lengths[list(route.links)].sum(), abs=0.051)
        network = client.get("/v1/network").json()
        assert network["computed_layout"]
        assert "pairs_using" in network["features"][0]["properties"]


def test_samples_follow_the_probabilities_and_a_seed_repeats_them(release: pr.Release, client: httpx.Client) -> None:
    origin, destination = ends(release, varied(release))
    routes = ask(client, "routes", origin=origin, destination=destination)["routes"]
    one, two = (ask(client, "sample", origin=origin, destination=destination, seed=5) for _ in range(2))
    assert one == two
    assert one["routes"][0] in routes
    draws = 20_000
    answer = client.post("/v1/batch", json={"pairs": [[origin, destination]] * draws, "sample": True, "seed": 3})
    drawn = [entry["routes"] for entry in answer.json()["answers"]]
    assert all(len(entry) == 1 for entry in drawn)
    tail = np.log(2 * len(routes) / EACH)
    for route in routes:
        count, chance = sum(entry[0] == route for entry in drawn), route["probability"]
        # Bernstein's inequality
        assert abs(count - draws * chance) <= np.sqrt(2 * tail * draws * chance * (1 - chance)) + tail
    unseeded = {str(ask(client, "sample", origin=origin, destination=destination)) for _ in range(60)}
    assert len(unseeded) > 1


def test_a_batch_answers_like_its_pairs_one_by_one_in_their_order(release: pr.Release, client: httpx.Client) -> None:
    pairs = [ends(release, pair) for pair in [5, 3, 3, 400, varied(release)]]
    found = client.post("/v1/batch", json={"pairs": pairs}).json()
    single = [ask(client, "routes", origin=origin, destination=destination) for origin, destination in pairs]
    assert [entry["routes"] for entry in found["answers"]] == [answer["routes"] for answer in single]
    assert client.post("/v1/batch", json={"pairs": []}).json()["answers"] == []
    texts = client.post("/v1/batch", json={"pairs": [[str(o), str(d)] for o, d in pairs]}).json()
    assert texts == found
    floats = client.post("/v1/batch", json={"pairs": [[float(str(o)), float(str(d))] for o, d in pairs], "seed": 1.0})
    assert floats.json() == found  # JSON does not tell 7.0 from 7


def test_the_largest_batch_is_answered(release: pr.Release, client: httpx.Client) -> None:
    pairs = [ends(release, pair % len(release.policy.pairs)) for pair in range(100_000)]
    question = orjson.dumps({"pairs": pairs})
    answer = client.post("/v1/batch", content=question, headers={"content-type": "application/json"}, timeout=60)
    assert answer.status_code == 200
    assert len(orjson.loads(answer.content)["answers"]) == 100_000


def test_the_network_is_geojson_with_expected_flows(release: pr.Release, client: httpx.Client) -> None:
    answer = client.get("/v1/network")
    assert answer.headers["content-type"] == "application/geo+json"
    found = answer.json()
    network = release.network
    lines = [feature for feature in found["features"] if feature["geometry"]["type"] == "LineString"]
    assert len(lines) == network.links
    assert len(found["features"]) == network.links + network.zones.size
    assert not found["computed_layout"]
    assert release.demand
    expected = pr.volume_over_capacity(network, release.policy, release.demand)
    assert [line["properties"]["volume_over_capacity"] for line in lines] == pytest.approx(expected)
    assert network.coordinates is not None
    assert lines[0]["geometry"]["coordinates"][0] == network.coordinates[network.tail[0]].tolist()


def test_a_delta_too_large_for_single_persons_is_not_called_private(
    weak: pr.Release, serve: Callable[[pr.Release], str]
) -> None:
    found = httpx.get(f"{serve(weak)}/v1/certificate").json()
    assert found["private"] is found["certificate"]["private"] is False
    assert found["words"]["verdict"].startswith("NOT PRIVATE: delta 0.1 is above 0.001")


def test_certificate_and_health(release: pr.Release, client: httpx.Client) -> None:
    found = client.get("/v1/certificate").json()
    assert found["private"] is True
    assert found["certificate"]["epsilon"] == 0.1
    assert found["words"] == json.loads(json.dumps(explain(release.certificate).as_dict()))
    health = client.get("/v1/health").json()
    assert health == {"status": "ok", "release": found["release"], "version": pr.__version__, "pairs": 552}


@pytest.mark.parametrize("path", ["/v1/routes?origin=1&destination=20", "/v1/network", "/v1/certificate", "/", "/docs"])
def test_answers_are_tagged_and_not_sent_twice(client: httpx.Client, path: str) -> None:
    first = client.get(path)
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = client.get(path, headers={"if-none-match": known})
        assert again.status_code == 304
        assert again.content == b""
        assert again.headers["etag"] == tag
    assert client.get(path, headers={"if-none-match": '"other"'}).status_code == 200
    head = client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == tag


def test_an_address_that_names_the_release_may_be_kept_for_ever(client: httpx.Client) -> None:
    release = client.get("/v1/health").json()["release"]
    kept = client.get("/v1/routes", params={"origin": 1, "destination": 20, "release": release})
    assert "immutable" in kept.headers["cache-control"]
    other = client.get("/v1/routes", params={"origin": 1, "destination": 20, "release": "another"})
    assert other.status_code == 404
    assert release in other.json()["message"]
    sample = client.get("/v1/sample", params={"origin": 1, "destination": 20})
    assert sample.headers["cache-control"] == "no-store"


def test_another_release_has_another_name(
    release: pr.Release, bare: pr.Release, client: httpx.Client, serve: Callable[[pr.Release], str]
) -> None:
    mine = client.get("/v1/health").json()["release"]
    same = pr.Release(release.policy, release.certificate, release.demand, release.noisy_counts)
    assert httpx.get(f"{serve(same)}/v1/health").json()["release"] == mine
    assert httpx.get(f"{serve(bare)}/v1/health").json()["release"] != mine


def test_a_release_with_other_curves_has_another_name(release: pr.Release) -> None:
    policy, latency = release.policy, release.network.latency
    changes: list[pr.Latency] = [latency]
    for position in range(latency.parameters.shape[1]):
        parameters = latency.parameters.copy()
        parameters[7, position] += 0.25
        changes.append(replace(latency, parameters=parameters))
    changes.append(replace(latency, capacity_per_min=latency.capacity_per_min * 2))
    changes.append(replace(latency, free_flow_min=latency.free_flow_min * 2))
    names = [
        release_id(replace(release, policy=moved(policy, replace(release.network, latency=changed))))
        for changed in changes
    ]
    assert names[0] == release_id(release)
    assert len(set(names)) == len(changes)


def test_large_documents_are_packed_for_those_who_can_unpack_them(client: httpx.Client) -> None:
    packed = client.get("/v1/network", headers={"accept-encoding": "gzip"})
    plain = client.get("/v1/network", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "accept-encoding"
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(gzip.compress(plain.content)) * 1.2
    refused = client.get("/v1/network", headers={"accept-encoding": "gzip;q=0"})
    assert "content-encoding" not in refused.headers


def test_the_description_names_every_address_and_needs_nothing_from_elsewhere(client: httpx.Client) -> None:
    found = client.get("/openapi.json").json()
    assert set(found["paths"]) == {
        *(
            f"/v1/{name}"
            for name in [
                "routes",
                "sample",
                "route",
                "batch",
                "network",
                "periods",
                "certificate",
                "health",
                "link",
                "people",
            ]
        ),
        "/route/v1/driving/{coordinates}",
    }
    for path in ("/", "/docs", *(f"/page/{name}" for name in ("app.js", "map.js", "style.css", "docs.js"))):
        text = client.get(path).text
        assert "://" not in text.replace("http://www.w3.org/2000/svg", "")
