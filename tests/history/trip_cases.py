"""Small trip files and how they are read, for the tests of trips."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import privroute as pr
from privroute.history.trip_rows import TripRows

__all__ = ["AREAS", "NETWORK", "RANGE", "counts_of", "read", "write_csv", "write_parquet"]

# three zones around a triangle in Berlin, two with numbers and one with a text
NETWORK = pr.Network(
    [0, 1, 2, 1, 2, 0],
    [1, 2, 0, 0, 1, 2],
    pr.Latency.affine([1.0] * 6, 10.0),
    [1, 2, "a b"],
    coordinates=[[13.4, 52.5], [13.5, 52.5], [13.4, 52.6]],
    crs="EPSG:4326",
)


def _square(west: float, south: float, east: float, north: float) -> np.ndarray:
    return np.array([[west, south], [east, south], [east, north], [west, north]])


# the same with areas that share edges, the third with a hole
AREAS = replace(
    NETWORK,
    areas=pr.ZoneAreas.of(
        [
            [_square(13.35, 52.45, 13.45, 52.55)],
            [_square(13.45, 52.45, 13.55, 52.55)],
            [_square(13.35, 52.55, 13.55, 52.65), _square(13.42, 52.57, 13.44, 52.58)],
        ]
    ),
)
RANGE = ("2026-03-27", "2026-03-30")


def read(files: Any, **options: Any) -> tuple[pr.DemandHistory, TripRows]:
    """A history and what became of the rows."""
    seen: list[TripRows] = []
    wanted: dict[str, Any] = {"period": ("07:00", "08:00"), "dates": RANGE, "report": seen.append} | options
    history = pr.read_trips(files, AREAS if wanted.pop("areas", False) else NETWORK, **wanted)
    return history, seen[0]


def counts_of(history: pr.DemandHistory) -> dict[tuple[str, str, str], int]:
    """{(date, origin, destination): trips} where there are any."""
    assert history.dates
    found = {}
    for day, pair in zip(*history.counts.nonzero(), strict=True):
        ends = (NETWORK.node_labels[node[pair]] for node in (history.pairs.origin, history.pairs.destination))
        found[(str(history.dates[day]), *map(str, ends))] = int(history.counts[day, pair])
    return found  # type: ignore[return-value]


def write_csv(place: Path, *lines: str | bytes, header: str = "origin,destination,departure,user") -> Path:
    path = place / "trips.csv"
    rows = [header.encode(), *(line.encode() if isinstance(line, str) else line for line in lines)]
    path.write_bytes(b"\n".join(rows) + b"\n")
    return path


def write_parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path
