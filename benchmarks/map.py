"""From the map to the driver: import of 100,000 links, and routes between coordinates on a city and on Chicago.

    python benchmarks/map.py [--json] [--real DIR]

The city is an OpenStreetMap extract that this script writes. DIR holds ChicagoSketch_node_lonlat.tntp and
divvy_trips.parquet (departure, olon, olat, dlon, dlat); the network file is taken from PRIVROUTE_TNTP.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import itertools

from tests.network.city import SOUTH, STEP_LAT, STEP_LON, WEST, City

import privroute as pr
from privroute.network.on_earth import point_km
from privroute.network.read_notes import ReadNotes
from privroute.serve.driving import DriveQuestion, Driving
from privroute.serve.page_content import Picture
from privroute.serve.pair_index import PairIndex
from privroute.serve.places import Places

DRIVES = 500


def import_links(folder: Path) -> dict[str, Any]:
    """Write an extract of about 100,000 links and import it."""
    extract = City(168).write(folder / "large.osm")
    began, notes = time.perf_counter(), ReadNotes()
    network = pr.read_network(extract, notes=notes)
    read_s = time.perf_counter() - began
    pr.write_gmns(network, folder / "gmns")
    return {
        "links": network.links,
        "points": len(network.streets.points) if network.streets else 0,
        "extract_mb": round(extract.stat().st_size / 1e6, 1),
        "read_s": round(read_s, 1),
        "import_s": round(time.perf_counter() - began, 1),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def drives(release: pr.Release, places: list[tuple[float, float]]) -> dict[str, Any]:
    """Routes between places: how far their lines are from streets, and how long one takes."""
    picture = Picture(release)
    driving = Driving(release, picture.times, PairIndex(release.policy), b"key")
    index = Places(release.network)
    seconds, apart, jumps, refused = [], 0.0, 0.0, 0
    for origin, destination in zip(places[::2], places[1::2], strict=False):
        ends = [f"{x:.6f},{y:.6f}" for x, y in (origin, destination)]
        question = DriveQuestion(ends[0], ends[1])
        began = time.perf_counter()
        try:
            answer = driving.answer(question, "duration")
        except pr.PrivrouteError:
            refused += 1
            continue
        seconds.append(time.perf_counter() - began)
        line = np.array(answer["routes"][0]["geometry"]["coordinates"])
        for (x, y), (u, v) in itertools.pairwise(line):
            for share in (0.0, 0.5):
                street = index.at(x + share * (u - x), y + share * (v - y), "place").street
                apart = max(apart, street.metres if street else math.inf)
        given = np.array([waypoint["location"] for waypoint in answer["waypoints"]])
        jumps = max(jumps, float(point_km(given, line[[0, -1]]).max()) * 1000)
    return {
        "drives": len(seconds),
        "refused": refused,
        "largest_distance_from_streets_m": round(apart, 3),
        "largest_gap_at_the_ends_m": round(jumps, 3),
        "median_ms": round(float(np.median(seconds)) * 1000, 2),
    }


def city(folder: Path) -> dict[str, Any]:
    """An extract, polygons, 100,000 trips with coordinates, learn, routes between coordinates."""
    draw, trips = np.random.default_rng(1), 100_000
    network = pr.with_zones(
        pr.read_network(City().write(folder / "city.osm")), City().write_zones(folder / "z.geojson"), zone_id="quarter"
    )

    def points() -> tuple[np.ndarray, np.ndarray]:
        return WEST + draw.random(trips) * 19 * STEP_LON, SOUTH + draw.random(trips) * 19 * STEP_LAT

    columns = dict(zip(("olon", "olat", "dlon", "dlat"), (*points(), *points()), strict=True))
    days = np.datetime64("2026-03-02T07:00") + draw.integers(0, 5, trips).astype("timedelta64[D]")
    departure = days + draw.integers(0, 3600, trips).astype("timedelta64[s]")
    pq.write_table(pa.table({"departure": departure, **columns}), folder / "trips.parquet")
    return learned(network, folder / "trips.parquet", ("2026-03-02", "2026-03-06"), ("07:00", "08:00"), 4.0)


def chicago(real: Path) -> dict[str, Any]:
    """The Chicago Sketch network at its longitudes and latitudes, and trips of a bike-sharing system."""
    net = Path(os.environ.get("PRIVROUTE_TNTP", "")) / "ChicagoSketch_net.tntp"
    network = pr.read_network(net, nodes=real / "ChicagoSketch_node_lonlat.tntp")
    return learned(network, real / "divvy_trips.parquet", ("2013-06-27", "2013-07-10"), ("00:00", "24:00"), 1.0, 3.0)


def learned(
    network: pr.Network,
    trips: Path,
    dates: tuple[str, str],
    period: tuple[str, str],
    expansion: float,
    distance: float | None = None,
) -> dict[str, Any]:
    """Read, learn, save, load, and drive."""
    began = time.perf_counter()
    rows: list[Any] = []
    ends: dict[str, Any] = {"origin": ("olon", "olat"), "destination": ("dlon", "dlat")}
    history = pr.read_trips(
        trips,
        network,
        dates=dates,
        period=period,
        expansion=expansion,
        max_zone_distance_km=distance,
        report=rows.append,
        on_unreachable="drop",
        **ends,
    )
    release = pr.learn(network, history, pr.Guarantee(epsilon=1.0, delta=1e-6))
    learned_s = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        release.save(Path(folder) / "release")
        release = pr.load_release(Path(folder) / "release")
        table = pq.read_table(trips, columns=["olon", "olat", "dlon", "dlat"]).slice(0, DRIVES)
        cells = np.column_stack([table[name].to_numpy() for name in table.column_names]).reshape(-1, 2)
        found = drives(release, [(float(x), float(y)) for x, y in cells])
    return {"rows": rows[0].read, "counted": rows[0].counted, "read_and_learn_s": round(learned_s, 1), **found}


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--real", type=Path, help="folder with Chicago's coordinates and trips")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {"import": import_links(Path(folder)), "city": city(Path(folder))}
    if given.real is not None:
        found["chicago"] = chicago(given.real)
    print(json.dumps(found, indent=None if given.json else 2))


if __name__ == "__main__":
    main()
