"""Trips counted in engines, for tests: the grid of days and hours, and the counts with what became of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import psycopg
import pytest
from engines import ROADS
from servers import PostgreSQL

import privroute as pr

TEXTS = '"user" text, origin text, destination text, departure timestamp'
GRID: dict[str, Any] = {"period": ("07:00", "09:00"), "dates": ("2026-03-28", "2026-03-30")}
POSTGRES = pytest.mark.xdist_group("postgresql")


def in_postgresql(postgresql: PostgreSQL, name: str, columns: str, rows: Iterable[tuple[Any, ...]] = ()) -> str:
    """The address of a new table on the server."""
    with psycopg.connect(postgresql.url, autocommit=True) as server, server.cursor() as cursor:
        cursor.execute(f'DROP TABLE IF EXISTS "{name}"')
        cursor.execute(f'CREATE TABLE "{name}" ({columns})')
        for row in rows:
            cursor.execute(f'INSERT INTO "{name}" VALUES ({", ".join(["%s"] * len(row))})', row)  # noqa: S608
    return f"{postgresql.url}#{name}"


def counted(source: Any, **wanted: Any) -> tuple[list[int], Any]:
    """Counts of all days and pairs, and what became of rows."""
    seen: list[Any] = []
    found = pr.read_trips(source, ROADS, report=seen.append, **(GRID | {"rows_are_trips": True} | wanted))
    counts = found.counts.ravel() if isinstance(found, pr.DemandHistory) else np.append(found.cells, found.trips)
    return counts.tolist(), seen[0]
