"""Bounds on users hold for what a unit is: a user's operation day, also past midnight; and for sets kept once too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.history.trip_cases import NETWORK, read, write_csv, write_parquet

import privroute as pr
from privroute.errors import HistoryError

NIGHT: dict[str, Any] = {"period": ("22:00", "02:00"), "dates": ("2026-03-02", "2026-03-05")}
EVENING, AFTER_MIDNIGHT = "23:{:02}", "01:{:02}"


def night(user: str, day: int, minute: int, clock: str, ends: str = "1,2") -> str:
    """A request of the night that begins on this day of March 2026."""
    date = day if clock == EVENING else day + 1
    return f"{ends},2026-03-{date:02} {clock.format(minute)},{user}"


def test_a_user_day_is_a_night_where_the_period_passes_midnight(tmp_path: Path) -> None:
    """Of each night at most two are kept, of whichever side of midnight; by calendar days it would be up to four."""
    lines = [
        night("u", day, minute, clock)
        for day in (2, 3, 4, 5)
        for clock in (EVENING, AFTER_MIDNIGHT)
        for minute in range(5)
    ]
    history, rows = read(write_csv(tmp_path, *lines), **NIGHT, unit="user-day", max_requests=2)
    assert history.counts.sum(axis=1).tolist() == [2, 2, 2, 2]
    assert (rows.counted, rows.above_bounds) == (8, 32)
    history, _ = read(write_csv(tmp_path, *lines), **NIGHT, unit="user-day", max_requests=5, max_per_pair=1)
    assert history.counts.sum(axis=1).tolist() == [1, 1, 1, 1]


def test_the_two_nights_of_one_date_do_not_displace_each_other(tmp_path: Path) -> None:
    """01:00 and 23:00 of one date belong to two user-days. Were one to displace the other, both would move."""
    lines = [night("u", 2, 0, AFTER_MIDNIGHT), night("u", 3, 0, EVENING)]
    for _ in range(20):  # what is kept is chosen at random
        history, rows = read(write_csv(tmp_path, *lines), **NIGHT, unit="user-day", max_requests=1)
        assert history.counts.sum(axis=1).tolist() == [1, 1, 0, 0]
        assert rows.above_bounds == 0


def test_a_user_day_is_a_night_of_the_wall_clock_of_its_time_zone(tmp_path: Path) -> None:
    """One night in New York: two dates of its wall clock, one date in UTC, one user-day."""
    times = [f"2026-03-03T0{hour}:30:00Z" for hour in (3, 4, 5, 6)]
    columns = {"origin": [1] * 4, "destination": [2] * 4, "departure": times, "user": ["u"] * 4}
    path = write_parquet(tmp_path / "trips.parquet", **columns)
    bounds: dict[str, Any] = {"unit": "user-day", "max_requests": 3, "tz": "America/New_York"}
    history, rows = read(path, **NIGHT, **bounds)
    assert history.counts.sum(axis=1).tolist() == [3, 0, 0, 0]
    assert (rows.counted, rows.above_bounds) == (3, 1)


@pytest.mark.parametrize("per_pair", [None, 2])
def test_a_pre_bounded_set_that_is_not_bounded_is_refused_before_anything_is_charged(
    tmp_path: Path, per_pair: int | None
) -> None:
    """The caller asserted something about the files that they contradict; the message has no numbers of them."""
    loud = [night("loud", day, minute, EVENING) for day in (2, 3, 4) for minute in range(9)]
    quiet = [night("quiet", 2, 0, EVENING, "2,1"), night("quiet", 3, 0, AFTER_MIDNIGHT, "2,1")]
    bounds: dict[str, Any] = {"unit": "user", "max_requests": 7, "max_per_pair": per_pair, "pre_bounded": True}
    with pytest.raises(HistoryError, match="there are more; nothing was charged or released") as refusal:
        read(write_csv(tmp_path, *loud, *quiet), **NIGHT, **bounds)
    assert not any(sign.isdigit() for sign in str(refusal.value))


@pytest.mark.parametrize(("unit", "most", "total"), [("user", 5, 7), ("user", 30, 29), ("user-day", 5, 17)])
def test_the_total_counts_each_unit_up_to_its_larger_bound(tmp_path: Path, unit: Any, most: int, total: int) -> None:
    loud = [night("loud", day, minute, EVENING) for day in (2, 3, 4) for minute in range(9)]
    quiet = [night("quiet", 2, 0, EVENING, "2,1"), night("quiet", 3, 0, AFTER_MIDNIGHT, "2,1")]
    kept = pr.Contribution(unit, 3, 2, max_for_total=most)
    whole, _ = read(write_csv(tmp_path, *loud, *quiet), **NIGHT)
    study = pr.Study(NETWORK, replace(whole.frame, contribution=kept), pr.Guarantee(1.0, 1e-6, unit), quality_share=0.0)
    history = pr.read_trips(tmp_path / "trips.csv", study, report=lambda _: None)
    assert history.requests == total
    assert pr.learn(study, history).certificate.total == {"source": "measured", "max_requests": most, "share": 0.02}


def test_a_set_that_holds_only_the_kept_requests_is_read_as_it_is(tmp_path: Path) -> None:
    lines = [night("u", day, 0, EVENING) for day in (2, 3)] + [night("v", 2, 1, AFTER_MIDNIGHT, "2,1")]
    whole, _ = read(write_csv(tmp_path, *lines), **NIGHT)
    kept, rows = read(write_csv(tmp_path, *lines), **NIGHT, unit="user", max_requests=2, pre_bounded=True)
    assert np.array_equal(whole.counts, kept.counts)
    assert rows.above_bounds == 0
