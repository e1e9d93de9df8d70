"""Zones from polygons, grids and lists, and the connectors that join them to the streets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyogrio.raw
import pytest
import shapely
from tests.network.city import SOUTH, STEP_LAT, STEP_LON, WEST, City

import privroute as pr
from privroute.errors import FormatError, InputError
from privroute.network.read_notes import ReadNotes
from privroute.network.streets import CONNECTOR


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> pr.Network:
    return pr.read_network(City(12).write(tmp_path_factory.mktemp("osm") / "city.osm"))


@pytest.fixture(scope="module")
def polygons() -> dict[str, Any]:
    return City(12).zones(3)


def write(path: Path, polygons: dict[str, Any]) -> Path:
    path.write_text(json.dumps(polygons))
    return path


def test_every_kind_of_file_gives_the_same_zones(network: pr.Network, polygons: dict[str, Any], tmp_path: Path) -> None:
    expected = pr.with_zones(network, write(tmp_path / "z.geojson", polygons), zone_id="quarter")
    shapes = [shapely.geometry.shape(feature["geometry"]) for feature in polygons["features"]]
    names = np.array([feature["properties"]["quarter"] for feature in polygons["features"]], dtype=object)
    for name, crs in (("z.gpkg", "EPSG:4326"), ("z.shp", "EPSG:4326")):
        pyogrio.raw.write(
            tmp_path / name, shapely.to_wkb(shapes), [names], ["quarter"], geometry_type="Polygon", crs=crs
        )
        found = pr.with_zones(network, tmp_path / name, zone_id="quarter")
        assert found.zone_names == expected.zone_names
        assert np.array_equal(found.tail, expected.tail)
        assert found.areas is not None
        assert expected.areas is not None
        assert found.areas.index().find(0.0, *_grid()).tolist() == expected.areas.index().find(0.0, *_grid()).tolist()


def _several_parts(polygons: dict[str, Any]) -> dict[str, Any]:
    """The first zone with a hole and an exclave inside the second, the third with its only part as a multipolygon."""
    first, second, third, *_ = polygons["features"]

    def square(corner: list[float], steps: float, side: float) -> list[list[float]]:
        corners = ((0, 0), (side, 0), (side, side), (0, side), (0, 0))
        return [[corner[0] + (steps + x) * STEP_LON, corner[1] + (steps + y) * STEP_LAT] for x, y in corners]

    hole = square(first["geometry"]["coordinates"][0][0], 1, 1)
    exclave = square(second["geometry"]["coordinates"][0][0], 0, 1.5)
    coordinates = [[*first["geometry"]["coordinates"], hole], [exclave]]
    first["geometry"] = {"type": "MultiPolygon", "coordinates": coordinates}
    second["geometry"]["coordinates"].append(exclave)
    third["geometry"] = {"type": "MultiPolygon", "coordinates": [third["geometry"]["coordinates"]]}
    return polygons


@pytest.mark.parametrize(("name", "kind"), [("z.gpkg", "MultiPolygon"), ("z.gpkg", "Unknown"), ("z.shp", "Polygon")])
@pytest.mark.parametrize("all_of_them", [True, False])
def test_holes_and_exclaves_are_what_they_are_as_geojson(
    network: pr.Network, tmp_path: Path, name: str, kind: str, *, all_of_them: bool
) -> None:
    """GeoPandas writes a layer as multipolygons if one of them is; a shapefile holds both kinds."""
    polygons = _several_parts(City(12).zones(3))
    expected = pr.with_zones(network, write(tmp_path / "z.geojson", polygons), zone_id="quarter")
    shapes = [shapely.geometry.shape(feature["geometry"]) for feature in polygons["features"]]
    if all_of_them:
        shapes = [shapely.multipolygons(shapely.get_parts(shape)) for shape in shapes]
    names = np.array([feature["properties"]["quarter"] for feature in polygons["features"]], dtype=object)
    written = {"fields": ["quarter"], "geometry_type": kind, "crs": "EPSG:4326"}
    pyogrio.raw.write(tmp_path / name, shapely.to_wkb(shapes), [names], **written)
    found = pr.with_zones(network, tmp_path / name, zone_id="quarter")
    assert found.zone_names == expected.zone_names
    assert np.array_equal(found.head, expected.head)
    assert found.areas is not None
    assert expected.areas is not None
    assert [len(found.areas.rings(area)) for area in range(4)] == [3, 2, 1, 1]
    assert found.areas.index().find(0.0, *_grid()).tolist() == expected.areas.index().find(0.0, *_grid()).tolist()
    inside = [shapely.contains_xy(shape, *_grid()) for shape in shapes]
    assert found.areas.index().find(0.0, *_grid())[inside[0]].tolist() == [0] * inside[0].sum()
    assert inside[0].sum() > 0


def test_the_zones_of_an_exported_release_are_read_back(
    network: pr.Network, polygons: dict[str, Any], tmp_path: Path
) -> None:
    """From the file with links and routes, too: zones are its only layer of polygons."""
    zoned = pr.with_zones(network, write(tmp_path / "z.geojson", polygons), zone_id="quarter")
    pairs = pr.Pairs.of_zones(zoned)
    history = pr.simulate_days(pr.Demand(pairs, np.ones(len(pairs))), days=2, seed=1)
    (exported,) = pr.hand_over(pr.learn(zoned, history, pr.Guarantee(1.0, 1e-6)), tmp_path, "gpkg")
    about, _, geometry, columns = pyogrio.raw.read(exported, layer="zones")
    alone = {"fields": about["fields"], "geometry_type": about["geometry_type"], "crs": about["crs"]}
    assert alone["geometry_type"] == "MultiPolygon"
    pyogrio.raw.write(tmp_path / "zones.gpkg", geometry, columns, **alone)
    for place in (exported, tmp_path / "zones.gpkg"):
        found = pr.with_zones(network, place)
        assert found.zone_names == zoned.zone_names
        assert np.array_equal(found.head, zoned.head)
    pyogrio.raw.write(exported, geometry, columns, layer="districts", append=True, **alone)
    with pytest.raises(FormatError, match=r"several layers of polygons \(zones, districts\); save the zones alone"):
        pr.with_zones(network, exported)


def _grid() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(1)
    return WEST + draw.random(500) * 12 * STEP_LON, SOUTH + draw.random(500) * 12 * STEP_LAT


def test_projected_polygons_are_turned_into_degrees(
    network: pr.Network, polygons: dict[str, Any], tmp_path: Path
) -> None:
    pyproj = pytest.importorskip("pyproj")
    change = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:25833", always_xy=True)
    shapes = [
        shapely.transform(
            shapely.geometry.shape(feature["geometry"]), lambda p: np.column_stack(change.transform(*p.T))
        )
        for feature in polygons["features"]
    ]
    pyogrio.raw.write(tmp_path / "utm.gpkg", shapely.to_wkb(shapes), [], [], geometry_type="Polygon", crs="EPSG:25833")
    found = pr.with_zones(network, tmp_path / "utm.gpkg")
    assert found.zone_names == tuple(range(1, 10))
    assert found.areas is not None
    assert np.abs(found.areas.points - (13.3, 52.5)).max() < 0.1


class TestConnectors:
    @pytest.fixture
    def zoned(self, network: pr.Network, polygons: dict[str, Any], tmp_path: Path) -> pr.Network:
        return pr.with_zones(network, write(tmp_path / "z.geojson", polygons), zone_id="quarter")

    def nodes(self, network: pr.Network) -> dict[int, list[int]]:
        return {zone: network.head[network.tail == zone].tolist() for zone in network.zones.tolist()}

    def test_a_zone_enters_over_several_nodes_inside_it(self, zoned: pr.Network) -> None:
        assert zoned.areas is not None
        assert zoned.coordinates is not None
        for position, held in enumerate(self.nodes(zoned).values()):
            assert len(held) == len(set(held)) == 4
            places = np.ascontiguousarray(zoned.coordinates[held].T)
            assert set(zoned.areas.index().find(0.0, *places).tolist()) == {position}

    def test_nobody_passes_a_zone(self, zoned: pr.Network) -> None:
        assert zoned.no_through[zoned.zones].all()
        assert zoned.no_through.sum() == zoned.zones.size

    def test_connectors_take_local_streets_before_main_roads(self, zoned: pr.Network) -> None:
        assert zoned.streets is not None
        for held in self.nodes(zoned).values():
            for node in held:
                kinds = {zoned.streets.road_class[link] for link in np.flatnonzero(zoned.tail == node)}
                assert "residential" in kinds

    def test_no_junction_carries_a_whole_zone(self, zoned: pr.Network) -> None:
        """Of the trips from a zone to all others, no node of it takes more than three quarters."""
        pairs = pr.Pairs.of_zones(zoned)
        policy = pr.solve_optimum(zoned, pr.Demand(pairs, np.full(len(pairs), 5.0))).policy
        flow = policy.link_flow(pr.Demand(pairs, np.full(len(pairs), 5.0)))
        for zone in zoned.zones.tolist():
            leaving = flow[zoned.tail == zone]
            assert leaving.max() < 0.75 * leaving.sum()

    def test_zones_replace_those_that_were_there(
        self, zoned: pr.Network, network: pr.Network, polygons: dict[str, Any], tmp_path: Path
    ) -> None:
        again = pr.with_zones(zoned, write(tmp_path / "z.geojson", polygons), zone_id="quarter")
        assert again == zoned
        assert pr.with_grid(zoned, 0.5) == pr.with_grid(network, 0.5)

    def test_a_label_that_a_node_has_is_still_the_zone(self, network: pr.Network, tmp_path: Path) -> None:
        found = pr.with_grid(network, 1.0)
        assert 1 in network.node_labels
        assert 1 in found.zone_names
        assert found.node(1) == found.zones[0]
        pr.write_gmns(found, tmp_path / "g")
        assert pr.read_gmns(tmp_path / "g") == found


def test_zones_far_from_streets_are_left_out_and_those_near_are_joined(network: pr.Network, tmp_path: Path) -> None:
    def square(x: float, y: float) -> dict[str, Any]:
        ring = [[x, y], [x + 0.002, y], [x + 0.002, y + 0.002], [x, y + 0.002], [x, y]]
        return {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}}

    features = [square(13.301, 52.481), square(13.29, 52.481), square(14.0, 53.0)]
    notes = ReadNotes()
    path = write(tmp_path / "z.geojson", {"type": "FeatureCollection", "features": features})
    found = pr.with_zones(network, path, notes=notes)
    assert found.zone_names == (1, 2)
    assert (notes["outside_zones"], notes["far_zones"]) == (2, 1) or notes["far_zones"] == 1
    assert "1 zone left out because no street is near (3)" in notes.sentences()
    assert any(sentence.startswith("3 zones numbered 1, 2, 3, ...") for sentence in notes.sentences())
    assert any("--zone-id (its properties: none)" in sentence for sentence in notes.sentences())


def test_lists_of_nodes_and_of_places(network: pr.Network, tmp_path: Path) -> None:
    listed = tmp_path / "zones.csv"
    listed.write_text("zone_id,node_id\nA,1\nA,2\nB,100\n")
    found = pr.with_zones(network, listed)
    assert found.zone_names == ("A", "B")
    assert [network.node_labels[node] for node in found.head[found.tail == found.zones[0]]] == [1, 2]
    listed.write_text(f"zone_id,x_coord,y_coord\nA,{WEST},{SOUTH}\nB,{WEST + 0.02},{SOUTH + 0.01}\n")
    found = pr.with_zones(network, listed, connectors=2)
    assert np.bincount(found.tail, minlength=found.nodes)[found.zones].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.update(features=[]), "has no polygons"),
        (lambda p: p["features"][1].update(geometry=None), "feature 2 is not a polygon"),
        (lambda p: p["features"][1]["geometry"].update(type="Point"), "feature 2 is not a polygon"),
        (lambda p: p["features"][1]["properties"].update(quarter="Q00"), "polygons 1 and 2 have the same quarter"),
        (lambda p: p["features"][1]["properties"].update(quarter=None), "polygon 2: quarter is a NoneType"),
        (
            lambda p: p["features"][0]["geometry"]["coordinates"][0][0].__setitem__(0, 999),
            "not longitudes and latitudes",
        ),
        (lambda p: p.pop("features"), "is not a GeoJSON FeatureCollection"),
    ],
)
def test_polygons_that_cannot_be_zones_are_refused(
    network: pr.Network, tmp_path: Path, change: Any, message: str
) -> None:
    polygons = City(12).zones(3)
    change(polygons)
    with pytest.raises(FormatError, match=message):
        pr.with_zones(network, write(tmp_path / "z.geojson", polygons), zone_id="quarter")


def test_options_that_do_not_fit_are_refused(network: pr.Network, polygons: dict[str, Any], tmp_path: Path) -> None:
    path = write(tmp_path / "z.geojson", polygons)
    with pytest.raises(FormatError, match="has no column 'name' for zone_id=; its columns are: people, quarter"):
        pr.with_zones(network, path, zone_id="name")
    with pytest.raises(InputError, match="connectors is 0"):
        pr.with_zones(network, path, connectors=0)
    with pytest.raises(InputError, match="the ending does not say what it is"):
        pr.with_zones(network, tmp_path / "zones.txt")
    bare = pr.sioux_falls().network
    with pytest.raises(pr.PrivrouteError, match="within 2 km of a street"):
        pr.with_zones(bare, path)


def test_zone_ids_of_gmns_are_what_trips_name(tmp_path: Path) -> None:
    (tmp_path / "node.csv").write_text(
        "node_id,x_coord,y_coord,zone_id\n1,13.30,52.5,20\n2,13.31,52.5,10\n3,13.32,52.5,\n10,13.33,52.5,\n"
    )
    (tmp_path / "link.csv").write_text(
        "link_id,from_node_id,to_node_id,directed,length,free_speed,capacity\n"
        "a,1,2,0,0.7,50,900\nb,2,3,0,0.7,50,900\nc,3,10,0,0.7,50,900\n"
    )
    network = pr.read_gmns(tmp_path)
    assert network.zone_names == (20, 10)
    assert (network.node(10), network.node(1)) == (1, 0)  # zone 10 is at node 2; no zone is called 1
    demand = tmp_path / "demand.csv"
    demand.write_text("origin,destination,trips\n20,10,60\n")
    assert pr.read_od_csv(demand, network).rate_per_min.tolist() == [1.0, 0.0]


def test_a_zone_id_at_several_nodes_is_a_zone_with_connectors(tmp_path: Path) -> None:
    (tmp_path / "node.csv").write_text(
        "node_id,x_coord,y_coord,zone_id\n1,13.30,52.5,A\n2,13.31,52.5,A\n3,13.32,52.5,B\n"
    )
    (tmp_path / "link.csv").write_text(
        "link_id,from_node_id,to_node_id,directed,length,free_speed,capacity\na,1,2,0,0.7,50,900\nb,2,3,0,0.7,50,900\n"
    )
    network = pr.read_gmns(tmp_path)
    assert network.zone_names == ("A", "B")
    assert network.links == 4 + 6
    assert network.streets is not None
    assert network.streets.road_class.count(CONNECTOR) == 6
