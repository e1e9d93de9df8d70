"""Rows outside the hours of the period are left out of a batch early: exactly those that could not have counted."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.history.trip_cases import read, write_parquet

from privroute.history.trip_batches import Hours
from privroute.history.trip_columns import TimeReading
from privroute.study.calendar import DAY_US, Calendar

DAYS = ("2026-03-27", "2026-03-30")  # clocks in Berlin change on the 29th
EXTREMES = [2**63 - 1, -(2**63), 0, -1, DAY_US, -DAY_US, 2**62]


def hours_of(period: str, form: Any, tz: str | None = None) -> Hours | None:
    return TimeReading(Calendar.of(period, DAYS, tz=tz), None, None).hours(form)


@pytest.mark.parametrize("period", ["07:00-08:00", "22:00-02:00", "00:00-00:01", "23:59-23:58"])
def test_a_time_by_the_clock_is_in_the_hours_if_it_is_less_than_their_length_after_their_start(period: str) -> None:
    days = Calendar.of(period, DAYS)
    hours = hours_of(period, "local_us")
    assert hours is not None
    start, length = days.period.start_us, days.period.length_us
    near = [day * DAY_US + at + by for day in (-3, 0, 20_000) for at in (start, start + length) for by in (-1, 0, 1)]
    times = [*near, *EXTREMES]
    expected = [at for at, time in enumerate(times) if (time - start) % DAY_US < length]
    assert 0 < len(expected) < len(times)
    assert hours.rows(pa.array(times)).to_pylist() == expected


def test_an_instant_is_in_the_hours_if_it_counts_by_any_clock_of_the_zone() -> None:
    zone = "Europe/Berlin"
    hours = hours_of("07:00-08:00", "utc_us", zone)
    assert hours is not None
    first = dt.datetime(2026, 3, 26, tzinfo=dt.UTC)
    instants = [first + dt.timedelta(minutes=minute) for minute in range(6 * 1440)]
    times = pa.array([int(instant.timestamp()) * 10**6 for instant in instants])
    kept = set(hours.rows(times).to_pylist())
    within = {at for at, instant in enumerate(instants) if instant.astimezone(zoneinfo.ZoneInfo(zone)).hour == 7}
    assert within < kept
    assert len(kept) == 6 * 120  # 05:00 to 07:00 in UTC


@pytest.mark.parametrize("period", ["07:00-08:00", "22:00-02:00"])
def test_a_time_by_the_clock_is_not_shifted_by_the_time_zone(tmp_path: Path, period: str) -> None:
    assert hours_of(period, "local_us", "Europe/Berlin") == hours_of(period, "local_us")
    when = [dt.datetime(2026, 3, 28, hour, 30) for hour in range(24)]  # noqa: DTZ001 - local time
    path = write_parquet(tmp_path / "trips.parquet", departure=when, origin=[1] * 24, destination=[2] * 24)
    zoned, plain = (read(path, period=period, **tz) for tz in ({"tz": "Europe/Berlin"}, {}))
    assert zoned[1] == plain[1]
    assert zoned[1].counted == (1 if period == "07:00-08:00" else 4)


def test_missing_times_stay() -> None:
    hours = hours_of("07:00-08:00", "local_us")
    assert hours is not None
    assert hours.rows(pa.array([None, 0, None, 7 * 3600 * 10**6], pa.int64())).to_pylist() == [0, 2, 3]
    assert not len(hours.rows(pa.array([], pa.int64())))


@pytest.mark.parametrize("form", ["integer", "number", "text"])
def test_only_times_are_compared_with_the_hours(form: Any) -> None:
    assert hours_of("07:00-08:00", form) is None
    assert hours_of("00:00-24:00", "local_us") is None


@pytest.mark.parametrize("tz", [None, "UTC", "Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_counts_are_the_same_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str, tz: str | None
) -> None:
    draw = np.random.default_rng(7)
    start = int(dt.datetime(2026, 3, 26, tzinfo=dt.UTC).timestamp())
    second = start + draw.integers(0, 6 * 86_400, 4000)
    second[::10] = start + draw.integers(0, 6 * 24, 400) * 3600  # at full hours
    kind = pa.timestamp(unit, None if tz is None else "UTC")
    when = pa.array(second * {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit], mask=draw.random(4000) < 0.02).cast(kind)
    ends = {"origin": draw.integers(1, 3, 4000), "destination": draw.integers(1, 3, 4000)}
    path = write_parquet(tmp_path / "trips.parquet", departure=when, **ends)
    options = {} if tz is None else {"tz": tz}
    early, early_rows = read(path, **options)
    monkeypatch.setattr(TimeReading, "hours", lambda *_: None)
    late, late_rows = read(path, **options)
    np.testing.assert_array_equal(early.counts, late.counts)
    assert early_rows == late_rows
    assert early.counts.sum() > 0 < early_rows.outside
