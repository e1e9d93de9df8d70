"""Data frames and what notebooks show."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import privroute as pr
from privroute.errors import InputError

gpd = pytest.importorskip("geopandas")


@pytest.fixture(scope="module")
def release() -> pr.Release:
    scenario = pr.sioux_falls()
    history = pr.simulate_days(scenario.demand, days=5, seed=1)
    return pr.learn(scenario.network, history, pr.Guarantee(epsilon=1.0, delta=1e-6))


def test_tables_of_a_network(release: pr.Release) -> None:
    network = release.network
    links = network.to_pandas()
    assert len(links) == network.links
    np.testing.assert_array_equal(links.free_flow_min, network.free_flow_min)
    assert list(network.to_pandas("nodes").node_id) == list(network.node_labels)
    assert list(network.to_pandas("zones").zone_id) == list(network.zone_names)
    for table, kind in (("links", "LineString"), ("nodes", "Point"), ("zones", "Point")):
        shown = network.to_geopandas(table)  # type: ignore[arg-type]
        assert set(shown.geom_type) == {kind}
        assert shown.crs == "EPSG:4326"
    with pytest.raises(InputError, match="table"):
        network.to_pandas("streets")  # type: ignore[arg-type]


def test_tables_of_demand_policy_release_and_quality(release: pr.Release) -> None:
    network, policy, demand = release.network, release.policy, release.demand
    assert demand is not None
    assert demand.to_pandas().rate_per_min.sum() == pytest.approx(demand.total_per_min)
    named = demand.to_geopandas(network)
    assert (named.origin[0], named.destination[0]) == (1, 2)
    routes = policy.to_geopandas()
    sums = routes.groupby(["origin", "destination"]).probability.sum()
    assert len(sums) == len(policy.pairs)
    np.testing.assert_allclose(sums, 1.0)
    row = routes.iloc[7]
    assert (row.nodes[0], row.nodes[-1]) == (row.origin, row.destination)
    assert len(row.geometry.coords) == len(row.nodes)
    links = release.to_geopandas()
    np.testing.assert_allclose(links.volume_per_h, policy.link_flow(demand) * 60)
    assert len(release.to_pandas("routes")) == len(routes)
    assert len(release.to_pandas("demand")) == len(policy.pairs)
    assert release.quality is not None
    quality = release.quality.to_pandas()
    assert list(quality.policy) == ["released", *release.quality.baselines]
    assert quality.above_optimum_percent[0] == release.quality.above_optimum.value


def test_the_geo_interface_is_read_by_geopandas(release: pr.Release) -> None:
    for shown in (release.network, release):
        found = gpd.GeoDataFrame.from_features(shown)
        assert len(found) == release.network.links + release.network.zones.size
    assert len(gpd.GeoDataFrame.from_features(release.policy)) == len(release.policy.to_pandas())


def test_notebooks_show_a_map_and_a_table(release: pr.Release) -> None:
    for shown in (release, release.policy, release.network):
        html = shown._repr_html_()
        assert "<table>" in html
        svg = re.search(r"<svg.*?</svg>", html)
        assert svg
        ET.fromstring(svg[0])  # noqa: S314 - made just now
        assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    for plain in (release.quality, release.demand):
        assert plain is not None
        assert "<table>" in plain._repr_html_()
    assert "epsilon 1" in release._repr_html_()


def test_labels_cannot_add_markup_to_a_notebook() -> None:
    network = pr.Network([0], [1], pr.Latency.bpr([1.0], 1.0), ["<script>", "b"])
    policy = pr.solve_optimum(network, pr.Demand(pr.Pairs([0], [1]), [1.0])).policy
    assert "<script>" not in policy._repr_html_()


def test_without_coordinates_there_are_tables_but_no_geometries() -> None:
    network = pr.Network([0], [1], pr.Latency.bpr([1.0], 1.0), ["a", "b"])
    assert len(network.to_pandas()) == 1
    assert "<svg" not in network._repr_html_()
    with pytest.raises(InputError, match="no coordinates"):
        network.to_geopandas()
    with pytest.raises(InputError, match="no coordinates"):
        _ = network.__geo_interface__


def test_drawings_return_their_axes(release: pr.Release) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    assert pr.draw_network(release.network, axes=axes) is axes
    values = np.linspace(-1, 1, release.network.zones.size)
    assert pr.draw_network(release.network, zone_values=values, axes=figure.add_subplot()) is not None
    with pytest.raises(InputError, match="zone_values"):
        pr.draw_network(release.network, zone_values=[1.0], axes=axes)
