"""Trips counted in engines, for tests: the grid of days and hours, and the counts with what became of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines import ROADS

import privroute as pr

GRID: dict[str, Any] = {"period": ("07:00", "09:00"), "dates": ("2026-03-28", "2026-03-30")}
POSTGRES = pytest.mark.xdist_group("postgresql")


def counted(source: Any, **wanted: Any) -> tuple[list[int], Any]:
    """Counts of all days and pairs, and what became of rows."""
    seen: list[Any] = []
    found = pr.read_trips(source, ROADS, report=seen.append, **(GRID | {"rows_are_trips": True} | wanted))
    counts = found.counts.ravel() if isinstance(found, pr.DemandHistory) else np.append(found.cells, found.trips)
    return counts.tolist(), seen[0]
