"""The ledger's rule for releases of several periods and kinds of days, against an enumeration of moments."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pytest

import privroute as pr
from privroute.privacy.budget import Approval, Spending
from privroute.privacy.charging import scope_of
from privroute.privacy.scope import Scope
from privroute.study.calendar import Calendar

FIRST = dt.date(2026, 3, 2)
HALF_HOUR = dt.timedelta(minutes=30)


def any_calendar(chance: random.Random, *, midnight: bool) -> Calendar:
    """Periods at half hours and kinds of days within three weeks."""
    cuts = sorted(chance.sample(range(49), 2 * chance.randint(1, 3)))
    clock = [f"{at // 2:02}:{at % 2 * 30:02}" for at in range(49)]
    periods: list[Any] = [f"{clock[a]}-{clock[b]}" for a, b in zip(cuts[::2], cuts[1::2], strict=True)]
    if midnight and cuts[0] > 1 and cuts[-1] < 47:
        periods.append(f"{clock[cuts[-1] + 1]}-{clock[cuts[0] - 1]}")
    start = FIRST + dt.timedelta(days=chance.randint(0, 7))
    dates = (start, start + dt.timedelta(days=chance.randint(6, 13)))
    kinds = chance.choice(
        [None, {"workday": "mon-fri", "weekend": "sat,sun"}, {"a": "mon,wed,sun"}, {"a": "tue", "b": "fri"}]
    )
    return Calendar.of(periods, dates, day_types=kinds)


def moments(calendar: Calendar) -> set[dt.datetime]:
    """Every half hour that a release of this calendar looks at."""
    found = set()
    for slot in calendar.slots:
        for date in slot.calendar.dates or ():
            begin = dt.datetime.combine(date, slot.period.begins or dt.time())
            found |= {begin + step * HALF_HOUR for step in range(round(slot.period.minutes / 30))}
    return found


def frame_of(calendar: Calendar, unit: str) -> pr.Frame:
    kept = None if unit == "request" else pr.Contribution(unit, 3)  # type: ignore[arg-type]
    return pr.Frame(pr.sioux_falls().demand.pairs, calendar, contribution=kept)


@pytest.mark.parametrize("unit", ["request", "user-day", "user"])
def test_random_releases_of_periods_and_kinds_of_days_never_cost_more_than_the_ledger_says(unit: str) -> None:
    approval = Approval(5.0, 1e-6, unit)
    for seed in range(40):
        chance = random.Random(seed)  # noqa: S311
        calendars = [any_calendar(chance, midnight=unit != "user-day") for _ in range(chance.randint(1, 6))]
        rhos = [chance.choice([0.001, 0.01, 0.05]) for _ in calendars]
        scopes = [scope_of(frame_of(calendar, unit)) for calendar in calendars]
        spending = Spending(approval, scopes, rhos)
        cost: dict[Any, float] = {}
        for calendar, rho in zip(calendars, rhos, strict=True):
            touched: set[Any] = moments(calendar)
            if unit == "user-day":
                touched = {moment.date() for moment in touched}
            elif unit == "user":
                touched = {"any"}
            for moment in touched:
                cost[moment] = cost.get(moment, 0.0) + rho
        worst = max(cost.values())
        assert approval.rho(spending.spent) >= worst * (1 - 1e-12)  # never below what one unit can lose
        assert approval.rho(spending.spent) <= worst * (1 + 1e-9)  # and not above it
        assert all(Scope.from_text(scope.text()) == scope for scope in scopes)
        assert all(not scope.passes_midnight for scope in scopes) or unit != "user-day"


def test_disjoint_periods_of_one_release_cost_what_one_costs_and_the_same_hours_add_up(tmp_path: Any) -> None:
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", Approval(1.0, 1e-6))
    dates = ("2026-03-02", "2026-03-15")
    kinds = {"workday": "mon-fri", "weekend": "sat,sun"}
    guarantee = pr.Guarantee(0.5, 1e-6)
    rho = 0.004
    day = scope_of(frame_of(Calendar.of(["hourly"], dates, day_types=kinds), "request"))
    ledger.charge(day, guarantee, rho, "counts")
    assert ledger.account().approval.rho(ledger.account().spending.spent) == pytest.approx(rho)
    mornings = scope_of(frame_of(Calendar.of(["07:00-08:00"], dates, day_types={"workday": "mon-fri"}), "request"))
    ledger.charge(mornings, guarantee, rho, "counts")
    assert ledger.account().approval.rho(ledger.account().spending.spent) == pytest.approx(2 * rho)
    elsewhere = scope_of(frame_of(Calendar.of(["07:00-08:00"], dates, day_types={"weekend": "sat,sun"}), "request"))
    ledger.charge(elsewhere, guarantee, rho, "counts")  # weekends meet the first release only
    assert ledger.account().approval.rho(ledger.account().spending.spent) == pytest.approx(2 * rho)
