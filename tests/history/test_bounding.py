"""Bounds of users: exactly as many requests are kept as they allow, and an assertion of them is checked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.history.trip_cases import NETWORK, read, write_csv

import privroute as pr
from privroute.errors import HistoryError
from privroute.study.contribution import Contribution

ZONES = ("1", "2", "a b")
ENDS = [(first, second) for first in ZONES for second in ZONES if first != second]
UNUSABLE = ["1,2,soon,{}", "1,2,,{}", "1,9,2026-03-27 07:30,{}", "1,1,2026-03-27 07:30,{}", "1,2,2026-03-27 07:30,"]


def lines_of(user: str, *habits: tuple[tuple[str, str], int]) -> list[str]:
    """Requests of a user: ends and how many, at different minutes of two days."""
    times = [f"2026-03-{27 + number % 2} 07:{number:02}" for number in range(60)]
    return [f"{first},{second},{times[at]},{user}" for (first, second), number in habits for at in range(number)]


@pytest.mark.parametrize("unit", ["user", "user-day"])
def test_a_user_keeps_as_many_requests_as_both_bounds_allow(tmp_path: Path, unit: Any) -> None:
    chance = np.random.default_rng(1)
    drawn = [(f"u{user}", [(ends, int(chance.integers(0, 7))) for ends in ENDS]) for user in range(12)]
    lines = [line for user, habits in drawn for line in lines_of(user, *habits)]
    of_pairs: Counter[Any] = Counter()
    for line in lines:
        first, second, time, user = line.split(",")
        of_pairs[(user, time[:10] if unit == "user-day" else ""), first, second] += 1
    allowed: Counter[Any] = Counter()
    for (one, *_), number in of_pairs.items():
        allowed[one] += min(number, 2)
    expected = sum(min(number, 5) for number in allowed.values())
    unusable = [line.format("u0") for line in UNUSABLE]
    history, rows = read(write_csv(tmp_path, *lines, *unusable), unit=unit, max_requests=5, max_per_pair=2)
    assert 0 < history.counts.sum() == rows.counted == expected < len(lines)
    assert rows.above_bounds == len(lines) - expected
    assert (rows.unreadable_time, rows.unknown_zone, rows.within_zone, rows.missing_user) == (2, 1, 1, 1)


@pytest.mark.parametrize(
    ("habits", "within"),
    [
        ([(ENDS[0], 2), (ENDS[1], 2), (ENDS[2], 1)], True),
        ([(ENDS[0], 2), (ENDS[1], 2), (ENDS[2], 2)], False),
        ([(ends, 1) for ends in ENDS], False),
        ([(ENDS[0], 3)], False),
        ([(ENDS[0], 3), (ENDS[1], 2)], False),
        ([], True),
    ],
)
def test_an_assertion_holds_if_each_user_is_within_both_bounds(tmp_path: Path, habits: Any, within: bool) -> None:
    """Rows that cannot be used are no requests, and contradict nothing."""
    lines = [*lines_of("u", *habits), *lines_of("v", (ENDS[0], 2), (ENDS[3], 2))]
    lines += [line.format(user) for user in ("u", "v") for line in UNUSABLE]
    path = write_csv(tmp_path, *lines)
    options: dict[str, Any] = {"unit": "user", "max_requests": 5, "max_per_pair": 2, "pre_bounded": True}
    if within:
        history, rows = read(path, **options)
        assert history.counts.sum() == sum(number for _, number in habits) + 4
        assert rows.above_bounds == 0
    else:
        with pytest.raises(HistoryError, match="asserts that there are at most"):
            read(path, **options)


@pytest.mark.parametrize("unit", ["user", "user-day"])
def test_a_measured_total_may_be_of_no_requests(tmp_path: Path, unit: Any) -> None:
    """No row decides whether there is a history."""
    whole, _ = read(write_csv(tmp_path))
    frame = replace(whole.frame, contribution=Contribution(unit, 3, max_for_total=5))
    study = pr.Study(NETWORK, frame, pr.Guarantee(1.0, 1e-6, unit))
    for lines, total in (([], 0), (UNUSABLE, 0), (lines_of("u", (ENDS[0], 1)), 1)):
        history = pr.read_trips(write_csv(tmp_path, *lines), study, report=lambda _: None)
        assert history.requests == total == history.counts.sum()
