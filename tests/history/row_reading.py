"""How files of a layout are read to one array, and where the reader cuts them into pieces, which must not matter."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from tests.history.row_files import TALLY
from tests.history.trip_cases import AREAS, NETWORK, RANGE, read

import privroute as pr
from privroute.history import row_groups, trip_batches
from privroute.history.period_histories import PeriodHistories
from privroute.study.calendar import Calendar
from privroute.study.contribution import Contribution
from privroute.study.frame import Frame
from privroute.study.trip_format import TripFormat

__all__ = ["counts_of_files", "draw_borders", "numbers_of"]

_CALENDAR = ("period", "weekdays", "tz", "day_types", "holidays")
_FORMAT = ("origin", "destination", "time_format", "epoch_unit", "max_zone_distance_km")


def counts_of_files(paths: list[Path], options: dict[str, Any]) -> np.ndarray[Any, Any]:
    """All numbers of the history: counts of every slot, day and pair, and totals where they are measured."""
    history = pr.read_trips(paths, _study(options), report=lambda _: None) if "bounds" in options else None
    history = read(paths, **options)[0] if history is None else history
    found = numbers_of(history)
    TALLY["numbers above 0"] += int((found > 0).sum())
    return found


def numbers_of(history: Any) -> np.ndarray[Any, Any]:
    """The same of a history that was read."""
    parts = list(history.parts()) if isinstance(history, PeriodHistories) else [history]
    return np.concatenate([*(part.counts.ravel() for part in parts), [part.requests or 0 for part in parts]])


def _study(options: dict[str, Any]) -> pr.Study:
    """Bounds that only a study can have."""
    network = AREAS if "areas" in options else NETWORK
    bounds = {name: options.get(name) for name in ("unit", "max_requests", "max_per_pair")} | options["bounds"]
    calendar = Calendar.of(dates=RANGE, **{name: options[name] for name in _CALENDAR if name in options})
    frame = Frame(pr.Pairs.of_zones(network), calendar, contribution=Contribution(**bounds))
    layout = TripFormat(**{name: options[name] for name in _FORMAT if name in options})
    return pr.Study(network, frame, mechanism="none", trips=layout)  # type: ignore[arg-type]  # a name


@contextmanager
def draw_borders(chance: random.Random) -> Iterator[None]:
    """Chunks of text, batches and runs of row groups of any size while files are read."""
    with (
        mock.patch.object(trip_batches, "_CHUNK_BYTES", chance.choice([64, 1000, 2**22])),
        mock.patch.object(row_groups, "_BATCH_ROWS", chance.choice([1, 3, 131_072])),
        mock.patch.object(row_groups, "_RUN_BYTES", chance.choice([1, 300, 2**27])),
    ):
        yield
