"""Ten thousand damaged maps: the readers of networks and zones raise nothing but the package's own errors.

PRIVROUTE_MAP_CASES sets how many files of each kind are tried (10,000 in all unless set).
"""

from __future__ import annotations

import json
import os
import random
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import osmium
import pyogrio.raw
import pytest
import shapely
from tests.network.city import City
from tests.network.test_hostile_files import ODD

import privroute as pr
from privroute.network.gmns import read_gmns

KINDS = ("osm", "pbf", "graphml", "gpkg", "gmns", "zones", "zone_gpkg", "zone_csv")
CASES = int(os.environ.get("PRIVROUTE_MAP_CASES", "10000"))
SLOW = ("gpkg", "zone_gpkg")  # GDAL takes a while to open a file: a fortieth of the cases each
WORDS = [b"id", b"ref", b"lat", b"lon", b"node", b"way", b"highway", b"key", b"POLYGON", b"coordinates", b"LINESTRING"]


class Small(City):
    """A city of a few streets, so that a file takes a millisecond."""

    def _other_things(self, way: int) -> None:
        self.ways[way + 1] = ([1, 2], {"highway": "footway"})
        members = [("from", "way", 1001), ("via", "node", self.crossing(1, 0)), ("to", "way", 1004)]
        self.relations.append((members, {"type": "restriction", "restriction": "no_left_turn"}))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return sound_files(tmp_path_factory.mktemp("sound"))


def sound_files(folder: Path) -> dict[str, bytes]:
    """One sound file of each kind."""
    city = Small(3)
    extract = city.write(folder / "a.osm")
    with osmium.SimpleWriter(str(folder / "a.osm.pbf")) as writer:
        for item in osmium.FileProcessor(str(extract)):
            writer.add(item)
    network = pr.read_network(extract)
    pr.write_gmns(pr.with_grid(network, 0.3), folder / "gmns")
    _write_graphs(folder, network)
    zones = city.zones(2)
    shapes = [shapely.geometry.shape(feature["geometry"]) for feature in zones["features"]]
    ids = np.arange(len(shapes))
    pyogrio.raw.write(
        folder / "z.gpkg", shapely.to_wkb(shapes), [ids], ["zone_id"], geometry_type="Polygon", crs="EPSG:4326"
    )
    return {
        "osm": extract.read_bytes(),
        "pbf": (folder / "a.osm.pbf").read_bytes(),
        "graphml": (folder / "g.graphml").read_bytes(),
        "gpkg": (folder / "g.gpkg").read_bytes(),
        "gmns": (folder / "gmns" / "link.csv").read_bytes(),
        "node": (folder / "gmns" / "node.csv").read_bytes(),
        "config": (folder / "gmns" / "config.csv").read_bytes(),
        "zone": (folder / "gmns" / "zone.csv").read_bytes(),
        "zones": json.dumps(zones).encode(),
        "zone_gpkg": (folder / "z.gpkg").read_bytes(),
        "zone_csv": b"zone_id,x_coord,y_coord\nA,13.3,52.48\nB,13.303,52.4818\n",
    }


def _write_graphs(folder: Path, network: pr.Network) -> None:
    """As OSMnx saves graphs."""
    assert network.streets is not None
    assert network.coordinates is not None
    assert network.length_km is not None
    labels, streets = [str(label) for label in network.node_labels], network.streets
    keys = ["x", "y", "osmid", "highway", "name", "length", "oneway", "geometry"]
    lines = ['<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    lines += [
        f'<key id="{key}" for="{"node" if key in "xy" else "edge"}" attr.name="{key}" attr.type="string"/>'
        for key in keys
    ]
    lines += [
        '<key id="crs" for="graph" attr.name="crs"/><graph edgedefault="directed"><data key="crs">epsg:4326</data>'
    ]
    for label, (x, y) in zip(labels, network.coordinates.tolist(), strict=True):
        lines.append(f'<node id="{label}"><data key="x">{x}</data><data key="y">{y}</data></node>')
    for link in range(network.links):
        points = ", ".join(f"{x} {y}" for x, y in streets.line(link).tolist())
        cells = {"osmid": "[1, 2]", "highway": "residential", "name": "A", "oneway": "False"}
        cells |= {"length": f"{network.length_km[link] * 1000}", "geometry": f"LINESTRING ({points})"}
        data = "".join(f'<data key="{key}">{value}</data>' for key, value in cells.items())
        lines.append(f'<edge source="{labels[network.tail[link]]}" target="{labels[network.head[link]]}">{data}</edge>')
    (folder / "g.graphml").write_text("\n".join([*lines, "</graph></graphml>"]))
    ids = np.arange(len(labels))
    path = folder / "g.gpkg"
    pyogrio.raw.write(
        path, shapely.to_wkb(shapely.points(network.coordinates)), [ids], ["osmid"], layer="nodes",
        geometry_type="Point", crs="EPSG:4326",
    )  # fmt: skip
    shapes = [shapely.linestrings(streets.line(link)) for link in range(network.links)]
    columns = [
        ids[network.tail],
        ids[network.head],
        network.length_km * 1000,
        np.array(["residential"] * network.links, object),
    ]
    pyogrio.raw.write(
        path, shapely.to_wkb(shapes), columns, ["u", "v", "length", "highway"], layer="edges",
        geometry_type="LineString", crs="EPSG:4326", append=True,
    )  # fmt: skip


def damaged(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 4)):
        kind, at = chance.randrange(8), chance.randrange(len(data) + 1)
        if kind == 0:
            data = data[:at]
        elif kind in (1, 2):
            data = data[:at] + chance.choice(ODD) + data[at + chance.randint(0, 6) :]
        elif kind == 3:
            data = data[:at] + chance.randbytes(chance.randint(1, 30)) + data[at:]
        elif kind == 4:
            end = chance.randrange(len(data) + 1)
            data = data[: min(at, end)] + data[max(at, end) :]
        elif kind == 5:
            data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        elif kind == 6:
            data = data.replace(chance.choice(WORDS), chance.choice(WORDS), chance.randint(1, 3))
        else:
            lines = data.split(b"\n")
            chance.shuffle(lines)
            data = b"\n".join(lines)
    return data


def reader(kind: str, folder: Path, network: pr.Network, sound: dict[str, bytes]) -> Callable[[bytes], object]:
    if kind == "gmns":
        chance = random.Random(5)  # noqa: S311 - repeatable cases

        def gmns(data: bytes) -> object:
            names = {"link.csv": "gmns", "node.csv": "node", "config.csv": "config", "zone.csv": "zone"}
            hit = chance.choice(list(names))
            for name, key in names.items():
                (folder / name).write_bytes(damaged(sound[key], chance) if name == hit else sound[key])
            del data
            return read_gmns(folder)

        return gmns
    ending = {"pbf": "osm.pbf", "zones": "geojson", "zone_gpkg": "gpkg", "zone_csv": "csv"}.get(kind, kind)
    path = folder / f"a.{ending}"

    def other(data: bytes) -> object:
        path.write_bytes(data)
        return pr.with_zones(network, path) if kind.startswith("zone") else pr.read_network(path)

    return other


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_map_is_read_or_refused(kind: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    chance = random.Random(KINDS.index(kind))  # noqa: S311
    (tmp_path / "base.osm").write_bytes(sound["osm"])
    network = pr.read_network(tmp_path / "base.osm")
    read = reader(kind, tmp_path, network, sound)
    cases = CASES // 40 if kind in SLOW else CASES * 38 // 40 // (len(KINDS) - len(SLOW))
    if kind != "gmns":  # whose files are damaged as they are read
        assert read(sound[kind]) is not None
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # GDAL's remarks on damaged files
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(cases):
            try:
                read(damaged(sound[kind], chance))
            except pr.PrivrouteError:
                refused += 1
    assert refused > cases // 10
