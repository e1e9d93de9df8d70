"""Periods and kinds of days: every moment is in one slot at most, and what is written is read again."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privroute as pr
from privroute.errors import HistoryError, InputError
from privroute.study.calendar import Calendar
from privroute.study.periods import read_periods
from privroute.study.weekdays import NAMES

RANGE = ("2026-03-02", "2026-04-12")
KINDS = {"workday": "mon-fri", "weekend": "sat,sun,holidays"}
EASTER = ["2026-04-03", "2026-04-06"]


def test_short_forms_stand_for_lists_of_periods() -> None:
    assert [str(one) for one in read_periods(["06:00-09:00/60min"])] == ["06:00-07:00", "07:00-08:00", "08:00-09:00"]
    assert len(read_periods(["hourly"])) == 24
    assert [str(one) for one in read_periods(["22:00-02:00/2h"])] == ["00:00-02:00", "22:00-24:00"]
    assert [str(one) for one in read_periods(["16:00-17:00", "07:00-08:00"])] == ["07:00-08:00", "16:00-17:00"]


@pytest.mark.parametrize(
    ("periods", "message"),
    [
        (["07:00-08:00", "07:30-09:00"], "07:00-08:00 and 07:30-09:00 overlap"),
        (["hourly", "07:00-08:00"], "overlap"),
        (["22:00-02:00", "01:00-03:00"], "overlap"),
        (["06:00-09:00/50min"], "a length that divides them"),
        (["06:00-09:00/soon"], "a length that divides them"),
    ],
)
def test_periods_that_share_a_moment_or_do_not_divide_are_refused(periods: list[Any], message: str) -> None:
    with pytest.raises(HistoryError, match=message):
        Calendar.of(periods, RANGE)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"workday": "mon-fri", "friday": "fri"}, "workday and friday share a day"),
        ({"Work": "mon-fri"}, "is not a name"),
        ({"workday": "someday"}, "someday"),
        ({}, "write names and days"),
        ({"a": "holidays", "b": "sat,holidays"}, "share a day"),
        ({"workday": "mon-fri", "off": "holidays"}, "no day of the dates is a off"),
    ],
)
def test_kinds_of_days_are_disjoint_named_and_not_empty(kinds: dict[str, str], message: str) -> None:
    with pytest.raises(HistoryError, match=message):
        Calendar.of(["hourly"], RANGE, day_types=kinds)


def test_holidays_are_of_the_kind_that_names_them_and_left_out_where_none_does() -> None:
    named = Calendar.of(["07:00-08:00"], RANGE, day_types=KINDS, holidays=EASTER)
    workday, weekend = named.slots
    assert dt.date(2026, 4, 3) in (weekend.calendar.dates or ())
    assert dt.date(2026, 4, 3) not in (workday.calendar.dates or ())
    left_out = Calendar.of("07:00-08:00", RANGE, "mon-fri", holidays=EASTER)
    assert left_out.days == 28
    assert not left_out.has_slots


starts = st.lists(st.integers(0, 47), min_size=1, max_size=6, unique=True).map(sorted)


@st.composite
def calendars(draw: st.DrawFn) -> Calendar:
    """Any periods at half hours that do not overlap, the last of which may pass midnight; any kinds of days."""
    at = draw(starts)
    lengths = [
        draw(st.integers(1, (after - before - 1) % 48 + 1)) for before, after in zip(at, [*at[1:], at[0]], strict=True)
    ]
    clock = [f"{start // 2:02}:{start % 2 * 30:02}" for start in range(49)]
    periods = [f"{clock[a]}-{clock[(a + n) % 48 or 48]}" for a, n in zip(at, lengths, strict=True) if n < 48]
    kind_of = draw(st.lists(st.sampled_from(["a", "b", None]), min_size=7, max_size=7).filter(any))
    kinds: dict[str, str] = {
        name: ",".join(NAMES[day] for day in range(7) if kind_of[day] == name) for name in ("a", "b") if name in kind_of
    }
    if draw(st.booleans()):
        kinds[next(iter(kinds))] += ",holidays"
    holidays = draw(st.lists(st.dates(dt.date(2026, 3, 9), dt.date(2026, 3, 22)), max_size=2))
    try:
        return Calendar.of(periods or ["hourly"], RANGE, day_types=kinds, holidays=holidays)
    except HistoryError:  # holidays took the last day of a kind
        return Calendar.of(periods or ["hourly"], RANGE, day_types=kinds)


@settings(max_examples=60, deadline=None)
@given(calendars(), st.datetimes(dt.datetime(2026, 3, 4), dt.datetime(2026, 4, 9)))  # noqa: DTZ001 - by the clock
def test_every_moment_is_in_one_slot_at_most_and_slot_at_finds_it(calendar: Calendar, moment: dt.datetime) -> None:
    found = []
    for position, slot in enumerate(calendar.slots):
        for date in slot.calendar.dates or ():
            begin = dt.datetime.combine(date, slot.period.begins or dt.time())
            if begin <= moment < begin + dt.timedelta(minutes=slot.period.minutes):
                found.append(position)
    assert len(found) <= 1
    assert calendar.slot_at(moment) == (found[0] if found else None)


@settings(max_examples=60, deadline=None)
@given(calendars())
def test_calendars_and_their_slots_survive_plain_values(calendar: Calendar) -> None:
    assert Calendar.from_dict(calendar.as_dict()) == calendar
    assert all(Calendar.from_dict(slot.calendar.as_dict()) == slot.calendar for slot in calendar.slots)
    assert len({slot.key for slot in calendar.slots}) == len(calendar.slots)


STUDY = """
[network]
source = "sioux-falls"
[calendar]
from = 2026-03-02
to = 2026-04-12
periods = ["06:00-09:00/60min", "16:00-19:00/60min"]
day_types = {workday = "mon-fri", weekend = "sat,sun,holidays"}
holidays = [2026-04-03, "2026-04-06"]
[unit]
protect = "user"
max_requests = 4
each_period = true
[guarantee]
epsilon = 1.0
delta = 1e-6
period_weights = {"07:00-08:00" = 2.0}
"""


def test_a_study_file_says_periods_kinds_of_days_and_weights(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    study = pr.Study.load(tmp_path / "study.toml")
    assert len(study.parts) == 12
    assert study.period_shares[1] == pytest.approx(2 / 14)
    study.save(tmp_path / "again.toml")
    again = pr.Study.load(tmp_path / "again.toml")
    assert (again.frame, again.period_weights) == (study.frame, study.period_weights)
    given_instead = pr.Study.load(
        tmp_path / "study.toml",
        {
            "calendar.periods": '["hourly"]',
            "calendar.day_types": "workday=mon-fri;weekend=sat,sun",
            "calendar.holidays": "2026-04-03,2026-04-06",
            "guarantee.period_weights": "weekend=0.5",
        },
    )
    assert len(given_instead.parts) == 48
    with pytest.raises(InputError, match="day_types.* says which weekdays count"):
        pr.Study.load(tmp_path / "study.toml", {"calendar.weekdays": "mon-fri"})
