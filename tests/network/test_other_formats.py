"""GMNS, GeoJSON, CSV and Open Matrix files, and pictures."""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.image import imread
from tests.network.strategies import ANY_FINITE, networks

import privroute as pr
from privroute.errors import DemandError, FormatError, InputError
from privroute.network.draw import colour_range

NODES = "node_id,x_coord,y_coord,zone_id\n1,0,0,1\n2,1,0,\nC,1,1,3\n"
LINKS = """\
link_id,from_node_id,to_node_id,directed,length,free_speed,capacity,lanes
a,1,2,1,2.0,60,900,2
b,2,C,0,1.0,30,600,
c,C,1,1,3.0,90,600,1
"""


def gmns(folder: Path, *, nodes: str = NODES, links: str = LINKS, config: str | None = None) -> Path:
    (folder / "node.csv").write_text(nodes)
    (folder / "link.csv").write_text(links)
    if config:
        (folder / "config.csv").write_text(config)
    return folder


@given(networks(largest=ANY_FINITE) | networks())
def test_a_network_written_as_gmns_reads_back_number_for_number(network: pr.Network) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pr.write_gmns(network, folder)
        assert pr.read_gmns(folder) == network


@pytest.mark.parametrize("name", ["SiouxFalls", "Anaheim", "EMA", "ChicagoSketch", "Braess"])
def test_public_networks_survive_gmns(tntp: Path, tmp_path: Path, name: str) -> None:
    network = pr.read_tntp(tntp / f"{name}_net.tntp", length_unit="mi")
    pr.write_gmns(network, tmp_path / "out" / "deep")
    assert pr.read_gmns(tmp_path / "out" / "deep") == network


def test_plain_gmns_is_read_as_the_specification_says(tmp_path: Path) -> None:
    network = pr.read_gmns(gmns(tmp_path))
    assert network.node_labels == (1, 2, "C")
    assert network.zones.tolist() == [0, 2]
    assert network.link_labels == ("a", "b", "b-reverse", "c")
    assert network.free_flow_min == pytest.approx([2, 2, 2, 2])
    assert network.capacity_per_min.tolist() == [30, 10, 10, 10]
    assert network.latency.parameter("power").tolist() == [4] * 4
    miles = pr.read_gmns(gmns(tmp_path, config="long_length,speed\nmi,mph\n"))
    assert miles.free_flow_min == pytest.approx([2, 2, 2, 2])
    assert pr.read_gmns(tmp_path, length_unit="km", speed_unit="mph").free_flow_min == pytest.approx([2 / 1.609344] * 4)
    assert pr.read_gmns(tmp_path, latency="affine", factor=3).latency.parameter("b").tolist() == [2] * 4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a,1,2", "a,1,9", "link.csv, line 2: to_node_id 9 is not a node of node.csv"),
        ("a,1,2", "a,1,1", "line 2: the link starts and ends at one node"),
        ("a,1,2", "a,1,", "line 2: to_node_id is ''"),
        ("2.0,60,900,2", "2.0,0,900,2", "line 2: free_speed is 0"),
        ("2.0,60,900,2", ",60,900,2", "line 2: has neither free_flow_min"),
        ("2.0,60,900,2", "2.0,60,,2", "line 2: has no capacity"),
        ("2.0,60,900,2", "2.0,60,900,x", "line 2: lanes is 'x'"),
        ("2.0,60,900,2", "2.0,60,900,2,7", "line 2: has 9 cells where the header has 8"),
        ("b,2,C,0", "b,2,C,maybe", "line 3: directed is 'maybe'"),
        ("b,2,C,0", "a,2,C,1", "positions 0 and 1 are both 'a'"),
        ("from_node_id", "from", "line 1: column from_node_id is missing"),
        ("free_speed", "length", "names 'length' more than once"),
        ("capacity,lanes", "capacity,capacity_per_min", "line 2: capacity x lanes is 15 .*capacity_per_min is 2"),
        ("a,1,2", 'a,"1,2', "not readable as CSV"),
    ],
)
def test_damaged_gmns_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in LINKS
    with pytest.raises(FormatError, match=message):
        pr.read_gmns(gmns(tmp_path, links=LINKS.replace(old, new, 1)))


def test_gmns_without_files_or_units_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="node.csv: cannot be read"):
        pr.read_gmns(tmp_path)
    gmns(tmp_path, nodes=NODES.replace("2,1,0,", "1,1,0,"))
    with pytest.raises(FormatError, match="node_id 1 occurs before"):
        pr.read_gmns(tmp_path)
    gmns(tmp_path, nodes=NODES.replace("2,1,0,", "2,,,"))
    with pytest.raises(FormatError, match="node.csv, line 3: has no x_coord and y_coord, while 2 of 3 rows"):
        pr.read_gmns(tmp_path)
    timed = LINKS.replace("free_speed", "free_flow_min")
    gmns(tmp_path, links=timed.replace("b,2,C,0,1.0", "b,2,C,0,"))
    with pytest.raises(FormatError, match="link.csv, line 3: has no length, while 2 of 4 rows have it"):
        pr.read_gmns(tmp_path)
    assert pr.read_gmns(gmns(tmp_path, links=timed.replace(",length,", ",note,"))).length_km is None
    gmns(tmp_path, nodes="x_coord,y_coord,node_id\n0,0,1\n1,0\n")
    with pytest.raises(FormatError, match="node.csv, line 3: node_id is ''"):
        pr.read_gmns(tmp_path)
    gmns(tmp_path)
    with pytest.raises(InputError, match="speed_unit is 'knots'"):
        pr.read_gmns(tmp_path, speed_unit="knots")
    wrong: list[dict[str, Any]] = [{"length_unit": 3}, {"latency": "cubic"}, {"latency": []}]
    for options in wrong:
        with pytest.raises(InputError, match=r"(length_unit|latency) is .*; pass "):
            pr.read_gmns(tmp_path, **options)
        if "latency" in options:
            with pytest.raises(InputError, match='latency is .*; pass "affine".* or "'):
                pr.sioux_falls(**options)


def test_gmns_cells_that_are_no_finite_number_are_left_blank(tmp_path: Path) -> None:
    network = pr.Network([0], [1], pr.Latency.bpr([1e-5], [1e308]), [1, 2], length_km=1e307)
    pr.write_gmns(network, tmp_path)
    assert "inf" not in (tmp_path / "link.csv").read_text()
    assert pr.read_gmns(tmp_path) == network


def test_geojson_has_links_zones_and_given_values(tmp_path: Path) -> None:
    scenario = pr.sioux_falls()
    path = tmp_path / "net.geojson"
    pr.write_geojson(scenario.network, path, link_values={"flow_per_min": np.arange(76)})
    data = json.loads(path.read_text())
    lines = [item for item in data["features"] if item["geometry"]["type"] == "LineString"]
    assert (len(lines), len(data["features"])) == (76, 100)
    assert lines[5]["properties"]["flow_per_min"] == 5
    assert lines[0]["properties"]["from_node_id"] == 1
    assert lines[0]["geometry"]["coordinates"][0] == [-96.77042, 43.61283]
    assert "crs" not in data
    assert [p.name for p in tmp_path.iterdir()] == ["net.geojson"]


def test_geojson_needs_coordinates_folders_and_finite_values(tmp_path: Path) -> None:
    network = pr.sioux_falls().network
    for values, message in [
        ({"flow": [1.0]}, r"link_values\['flow'\] has 1 values where 76 are needed"),
        ({"flow": [np.nan] * 76}, "every value must be finite"),
        ({"flow": ["a"] * 76}, "pass real numbers"),
        ({"flow": [[1.0], [2.0, 3.0]]}, "cannot be read as an array"),
        ({5: np.ones(76)}, "link_values has the name 5"),
        ({"link_id": np.ones(76)}, "link_values has the name 'link_id'; pass texts that are not"),
        ({"to_node_id": np.ones(76)}, "link_values has the name 'to_node_id'"),
        (np.ones(76), "link_values is a ndarray; pass a mapping"),
    ]:
        with pytest.raises(InputError, match=message):
            pr.write_geojson(network, tmp_path / "x", link_values=values)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FormatError, match="cannot be written"):
        pr.write_geojson(network, tmp_path / "no" / "x")
    bare = pr.Network([0], [1], pr.Latency.affine([1.0], [1.0]), [1, 2])
    with pytest.raises(InputError, match="no coordinates"):
        pr.write_geojson(bare, tmp_path / "x")
    with pytest.raises(InputError, match="no coordinates"):
        pr.draw_network(bare, tmp_path / "x.png")


def test_one_slow_street_does_not_stretch_the_colours_of_a_picture() -> None:
    usual = np.linspace(1.0, 2.0, 300)
    assert colour_range(usual) == (1.0, 2.0)
    low, high = colour_range(np.append(usual, 60.0))
    assert 1.0 <= low < high <= 2.0
    assert colour_range(np.ones(5)) == (1.0, 1.0)


def test_geojson_names_a_reference_system_other_than_degrees(tmp_path: Path) -> None:
    def written(crs: str | None, points: list[list[float]]) -> dict[str, Any]:
        curves = pr.Latency.affine([1.0], [1.0])
        network = pr.Network([0], [1], curves, [1, 2], coordinates=points, crs=crs)
        pr.write_geojson(network, tmp_path / "x")
        data: dict[str, Any] = json.loads((tmp_path / "x").read_text())
        return data

    metres = [[5e5, 4e6], [6e5, 4e6]]
    assert written("EPSG:32633", metres)["crs"] == {"type": "name", "properties": {"name": "EPSG:32633"}}
    assert "crs" not in written(None, metres)
    assert "crs" not in written("epsg:4326", [[4.0, 52.0], [5.0, 52.0]])


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    from privroute.network.text_files import write_whole  # noqa: PLC0415 - an inner part

    path = tmp_path / "kept.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError), write_whole(path) as stream:
        stream.write("new, but only half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.csv"]


def test_pictures_are_drawn(tmp_path: Path) -> None:
    scenario = pr.sioux_falls()
    for name in ("a.png", "a.svg"):
        pr.draw_network(scenario.network, tmp_path / name, demand=scenario.demand, title="Sioux Falls")
        assert (tmp_path / name).stat().st_size > 10_000
    with pytest.raises(InputError, match="cannot be written"):
        pr.draw_network(scenario.network, tmp_path / "a.unknown")


def test_the_larger_the_value_the_darker_the_link() -> None:
    network = pr.sioux_falls().network
    axes = pr.draw_network(network, link_values=np.arange(76.0), axes=Figure().add_subplot())
    lines = next(item for item in axes.collections if isinstance(item, LineCollection))
    lines.update_scalarmappable()
    lightness = np.asarray(lines.get_colors())[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert lightness[0] < 0.95  # visible on white
    assert (np.diff(lightness) < 0).all()


def test_pictures_refuse_values_and_demands_that_do_not_fit(tmp_path: Path) -> None:
    network = pr.sioux_falls().network
    texts: Any = ["a"] * 76
    ragged: Any = [[1.0], [2.0, 3.0]]
    for values in (texts, ragged, [1.0], [np.inf] * 76):
        with pytest.raises(InputError, match="link_values"):
            pr.draw_network(network, tmp_path / "x.png", link_values=values)
    with pytest.raises(DemandError, match="does not have"):
        pr.draw_network(network, tmp_path / "x.png", demand=pr.Demand(pr.Pairs([0], [99]), [1.0]))
    nothing: Any = 5
    with pytest.raises(InputError, match="demand is a int"):
        pr.draw_network(network, tmp_path / "x.png", demand=nothing)


def test_discs_leave_each_other_free_and_the_picture_is_cropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    save = Figure.savefig

    def keep(figure: Figure, *arguments: Any, **options: Any) -> None:
        drawn.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", keep)
    scenario = pr.sioux_falls()
    pr.draw_network(scenario.network, tmp_path / "x.png", demand=scenario.demand)
    axes = drawn[0].axes[0]
    discs = next(item for item in axes.collections if isinstance(item, PathCollection))
    centre = axes.transData.transform(np.asarray(discs.get_offsets())) / drawn[0].dpi * 72
    radius = np.sqrt(discs.get_sizes()) / 2
    apart = np.hypot(*(centre[:, None] - centre[None]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    assert (apart > radius[:, None] + radius[None]).all()
    pixels = imread(tmp_path / "x.png")[:, :, :3].min(axis=2) < 1
    rows, columns = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
    assert rows[-1] - rows[0] > 0.85 * pixels.shape[0]
    assert columns[-1] - columns[0] > 0.85 * pixels.shape[1]


class TestMatrices:
    scenario = pr.sioux_falls()
    network = scenario.network
    demand = scenario.demand

    def matrix(self) -> np.ndarray:
        table = np.zeros((24, 24))
        table[self.demand.pairs.origin, self.demand.pairs.destination] = self.demand.rate_per_min * 60
        return table

    def test_long_csv_in_any_order_with_other_names(self, tmp_path: Path) -> None:
        path = tmp_path / "od.csv"
        with path.open("w", newline="") as stream:
            rows = csv.writer(stream, delimiter=";")
            rows.writerow(["Count", "To", "note", "From"])
            for origin, destination in zip(self.demand.pairs.origin, self.demand.pairs.destination, strict=True):
                count = self.matrix()[origin, destination]
                if count:
                    rows.writerow([count, destination + 1, "x", origin + 1])
        read = pr.read_od_csv(path, self.network, origin="From", destination="To", trips="Count")
        assert read.is_close(self.demand)

    def test_square_csv_with_shuffled_rows_and_columns(self, tmp_path: Path) -> None:
        order = np.random.default_rng(1).permutation(24)
        path = tmp_path / "od.csv"
        rows = [",".join(["", *map(str, order + 1)])]
        rows += [",".join([str(i + 1), *map(str, self.matrix()[i][order])]) for i in order[::-1]]
        path.write_text("\n".join(rows))
        assert pr.read_od_csv(path, self.network).is_close(self.demand)

    def test_omx_with_and_without_lookup(self, tmp_path: Path) -> None:
        path = tmp_path / "od.omx"
        order = np.random.default_rng(2).permutation(24)
        with h5py.File(path, "w") as file:
            file["data/am"] = self.matrix()[order][:, order]
            file["data/pm"] = self.matrix() * 2
            file["lookup/zone"] = order + 1
        assert pr.read_omx(path, self.network, matrix="am").is_close(self.demand)
        with pytest.raises(FormatError, match="pass matrix= one of am, pm"):
            pr.read_omx(path, self.network)
        with pytest.raises(FormatError, match="no matrix 'xx'; it has am, pm"):
            pr.read_omx(path, self.network, matrix="xx")
        with h5py.File(path, "a") as file:
            del file["lookup"]
        assert pr.read_omx(path, self.network, matrix="pm").is_close(2 * self.demand)

    def test_files_that_are_no_matrix_are_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "od.omx"
        path.write_bytes(b"not hdf5")
        with pytest.raises(FormatError, match="cannot be read as an Open Matrix file"):
            pr.read_omx(path, self.network)
        with h5py.File(path, "w") as file:
            file["other"] = np.ones(3)
        with pytest.raises(FormatError, match="no matrix under /data"):
            pr.read_omx(path, self.network)
        for values, message in [
            (np.ones((3, 3)), r"has shape \(3, 3\) .*24 x 24 zones"),
            (np.full((24, 24), np.nan), "negative or not finite"),
            (np.ones(24), "24 x 24 zones"),
            (np.ones((24, 24), dtype=complex), "type complex128"),
            (np.ones((24, 24), dtype=bool), "type bool"),
            (np.full((24, 24), b"1"), r"type \|S1"),
        ]:
            with h5py.File(path, "w") as file:
                file["data/a"] = values
            with pytest.raises(FormatError, match=message):
                pr.read_omx(path, self.network)

    def test_shapes_are_checked_before_anything_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "od.omx"
        with h5py.File(path, "w") as file:  # a few bytes that declare a terabyte
            file.create_dataset("data/a", shape=(400_000, 400_000), dtype="f8", chunks=(10, 10))
        with pytest.raises(FormatError, match=r"shape \(400000, 400000\)"):
            pr.read_omx(path, self.network)
        for shape in [(400_000_000_000,), (24, 24), (23,)]:
            with h5py.File(path, "w") as file:
                file["data/a"] = self.matrix()
                file.create_dataset("lookup/zone", shape=shape, dtype="i8", chunks=True)
            with pytest.raises(FormatError, match="its (lookup|matrix) has shape"):
                pr.read_omx(path, self.network)

    def test_matrices_by_label_leave_trips_within_zones_out(self) -> None:
        network = pr.Network([0, 1], [1, 0], pr.Latency.affine([1.0, 1.0], 1.0), ["x", "y"])
        demand = pr.demand_from_matrix(network, [[9, 2], [3, 9]], zones=["y", "x"], period_min=1)
        assert demand.rate_per_min.tolist() == [3.0, 2.0]
        with pytest.raises(DemandError, match=r"'z' \(position 1\) is not a zone"):
            pr.demand_from_matrix(network, [[9, 2], [3, 9]], zones=["y", "z"])
        with pytest.raises(DemandError, match="more than once"):
            pr.demand_from_matrix(network, [[9, 2], [3, 9]], zones=["y", "y"])
        with pytest.raises(InputError, match="period_min"):
            pr.demand_from_matrix(network, [[9, 2], [3, 9]], period_min=-1)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("origin,destination,trips\n1,2,5\n1,2,5\n", "line 3: this pair occurs before"),
            ("origin,destination,trips\n1,99,5\n", "line 2: destination 99 is not a zone"),
            ("origin,destination,trips\n1,2,many\n", "line 2: trips is 'many'"),
            ("origin,destination,trips\n1,2\n", "line 2: trips is empty"),
            ("origin,destination\n1,2\n", "line 1: column trips is missing"),
            ("zone,1,2,77\n", "line 1: the header has '77'"),
            ("zone,1,2\n1,0,1\n2,1,0\n", "2 rows and 2 columns where the network has 24 zones"),
            ("zone,1,2\n1,0,1\n1,0,1\n", "line 3: origin 1 occurs before"),
            ("zone,1,2\n1,0\n", "line 2: has 2 cells"),
            ("", "is empty"),
        ],
    )
    def test_damaged_csv_is_refused(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "od.csv"
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            pr.read_od_csv(path, self.network)

    def test_an_unknown_layout_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "od.csv"
        path.write_text("a\n")
        layout: Any = "diagonal"
        with pytest.raises(InputError, match='"auto", "long" or "square"'):
            pr.read_od_csv(path, self.network, layout=layout)
