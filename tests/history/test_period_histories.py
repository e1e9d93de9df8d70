"""Trips of several periods are read once, and give what one reading for each of them would give."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privroute as pr
from privroute.errors import HistoryError
from privroute.history.period_histories import CellCounts, PeriodHistories

DATES = ("2026-03-02", "2026-04-12")
KINDS = {"workday": "mon-fri", "weekend": "sat,sun,holidays"}
HOLIDAYS = ["2026-04-03", "2026-04-06"]
PERIODS: list[Any] = ["06:00-09:00/60min", "16:15-17:00", "22:30-02:00"]
ROWS = 6000


def write_trips(folder: Path, *, zoned: bool = False) -> Path:
    chance = np.random.default_rng(1)
    first = np.datetime64("2026-02-27T00:00", "us")
    times = first + chance.integers(0, 48 * 86_400, ROWS).astype("timedelta64[s]")
    times[:200] = np.datetime64("2026-03-06T22:30", "us") + np.arange(200).astype("timedelta64[m]")  # over midnight
    table = {
        "user": chance.integers(0, 60, ROWS),
        "origin": chance.integers(1, 25, ROWS),
        "destination": chance.integers(1, 25, ROWS),
        "departure": pa.array(times).cast(pa.timestamp("us", "UTC" if zoned else None)),
    }
    path = folder / "trips.parquet"
    pq.write_table(pa.table(table), path)
    return path


def quiet(_: object) -> None:
    """Numbers of rows are not what is tested."""


def read(path: Path, **more: Any) -> PeriodHistories:
    network = pr.sioux_falls().network
    found = pr.read_trips(
        path, network, period=PERIODS, dates=DATES, day_types=KINDS, holidays=HOLIDAYS, report=quiet, **more
    )
    assert isinstance(found, PeriodHistories)
    return found


def by_hand(path: Path, calendar: pr.Calendar, pairs: pr.Pairs) -> list[Counter[tuple[dt.date, int]]]:
    """The same, row by row, with nothing but the definition of a slot."""
    place = {ends: at for at, ends in enumerate(zip(pairs.origin.tolist(), pairs.destination.tolist(), strict=True))}
    found: list[Counter[tuple[dt.date, int]]] = [Counter() for _ in calendar.slots]
    table = pq.read_table(path).to_pydict()
    for origin, destination, moment in zip(table["origin"], table["destination"], table["departure"], strict=True):
        pair = place.get((origin - 1, destination - 1))
        for at, slot in enumerate(calendar.slots):
            for date in (moment.date(), moment.date() - dt.timedelta(days=1)):
                begin = dt.datetime.combine(date, slot.period.begins or dt.time())
                inside = begin <= moment < begin + dt.timedelta(minutes=slot.period.minutes)
                if pair is not None and inside and date in (slot.calendar.dates or ()):
                    found[at][date, pair] += 1
    return found


def test_each_slot_has_the_requests_of_its_hours_and_days(tmp_path: Path) -> None:
    path = write_trips(tmp_path)
    histories = read(path)
    expected = by_hand(path, histories.frame.calendar, histories.frame.pairs)
    assert histories.total == sum(sum(each.values()) for each in expected) > 1000
    for part, counts in zip(histories.parts(), expected, strict=True):
        days, pairs = part.counts.nonzero()
        dates = part.dates or ()
        assert {
            (dates[day], pair): int(part.counts[day, pair]) for day, pair in zip(days, pairs, strict=True)
        } == counts


def test_one_reading_gives_what_a_reading_of_each_period_gives(tmp_path: Path) -> None:
    path, network = write_trips(tmp_path, zoned=True), pr.sioux_falls().network
    histories = read(path, tz="Europe/Berlin")  # clocks change on 2026-03-29
    for slot, part in zip(histories.frame.calendar.slots, histories.parts(), strict=True):
        weekdays = "mon-fri" if slot.day_type == "workday" else "mon-sun"
        alone = pr.read_trips(
            path, network, period=str(slot.period), dates=DATES, weekdays=weekdays, tz="Europe/Berlin", report=quiet
        )
        kept = [date in (part.dates or ()) for date in alone.dates]
        assert np.array_equal(alone.counts[kept], part.counts)


@pytest.mark.parametrize("unit", ["user", "user-day"])
@pytest.mark.parametrize("each_period", [False, True])
def test_bounds_hold_in_all_periods_together_or_in_each(tmp_path: Path, unit: Any, each_period: bool) -> None:
    path, city = write_trips(tmp_path), pr.sioux_falls()
    calendar = read(path).frame.calendar
    kept = pr.Contribution(unit, 3, 2, max_for_total=5, each_period=each_period)
    frame = pr.Frame(city.demand.pairs, calendar, contribution=kept)
    study = pr.Study(city.network, frame, pr.Guarantee(1.0, 1e-6, unit))
    histories = pr.read_trips(path, study, report=quiet)
    made: Counter[Any] = Counter()
    table = pq.read_table(path).to_pydict()
    for user, origin, destination, moment in zip(
        table["user"], table["origin"], table["destination"], table["departure"], strict=True
    ):
        slot = calendar.slot_at(moment)
        day = moment.date() - dt.timedelta(days=int(moment.hour < 2))
        if origin != destination and slot is not None and day in (calendar.dates or ()):
            made[user, day if unit == "user-day" else None, slot if each_period else None] += 1
    assert sum(histories.requests) == sum(min(number, 5) for number in made.values())
    # of each unit at most 3, and 2 for one pair: the unit's trips may have fewer pairs than that
    assert sum(min(number, 2) for number in made.values()) <= histories.total
    assert histories.total <= sum(min(number, 3) for number in made.values())
    assert np.array_equal(histories.pair_sums, sum(part.counts.sum(axis=0) for part in histories.parts()))
    again = PeriodHistories.of(frame, list(histories.parts()))
    assert again.requests == histories.requests
    assert list(again.parts()) == list(histories.parts())


def test_one_part_of_trips_is_enough_to_be_private_and_one_of_given_counts_to_be_asserted() -> None:
    calendar = pr.Calendar.of(["06:00-08:00/60min"], DATES)
    frame = pr.Frame(pr.sioux_falls().demand.pairs, calendar)
    zeros = [np.zeros((part.days, len(frame.pairs)), np.int64) for part in frame.parts]
    for said in ((False, False), (False, True), (True, True)):
        made = [pr.DemandHistory.of(*each) for each in zip(frame.parts, zeros, strict=True)]
        simulated = [pr.DemandHistory.of(h.frame, h.counts, simulated=s) for h, s in zip(made, said, strict=True)]
        elsewhere = [pr.DemandHistory.of(h.frame, h.counts, elsewhere=s) for h, s in zip(made, said, strict=True)]
        assert PeriodHistories.of(frame, simulated).simulated == all(said)
        assert PeriodHistories.of(frame, elsewhere).elsewhere == any(said)


@pytest.mark.parametrize("cells", [[0, 4], [1, 0], [1, 1], [0]])
def test_cells_that_are_not_those_of_the_frame_are_refused(cells: list[int]) -> None:
    frame = pr.Frame(pr.Pairs([0, 1], [1, 0]), pr.Calendar.of("07:00-08:00", ("2026-03-02", "2026-03-03")))
    assert PeriodHistories(frame, np.array([0, 3]), np.array([5, 6])).total == 11
    with pytest.raises(HistoryError, match="do not ascend, or exceed"):
        PeriodHistories(frame, np.array(cells), np.array([5, 6]))


def test_large_tables_are_added_up_like_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(1)
    monkeypatch.setattr("privroute.history.period_histories._WAITING", 50)
    dense, sparse = CellCounts(1000), CellCounts(2**26)
    for _ in range(20):
        cells, trips = chance.integers(0, 1000, 30), chance.integers(1, 5, 30)
        dense.add(cells, trips)
        sparse.add(cells, trips)
    for one, other in zip(dense.found(), sparse.found(), strict=True):
        assert np.array_equal(one, other)
    assert CellCounts(2**26).found()[0].size == 0
