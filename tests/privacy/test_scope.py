"""Scopes and the rule of the ledger, against an evaluation over atoms in plain Python."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privroute.errors import GuaranteeError, InputError
from privroute.privacy.budget import Approval, Spending, affordable_epsilon, total_rho
from privroute.privacy.calibration import gaussian_rho, gaussian_scale, rho_to_epsilon
from privroute.privacy.scope import DAY_S, Profile, Scope, moment
from privroute.release.certificate import epsilon_of_rho

FIRST = dt.date(2026, 3, 2)
DATES = st.lists(st.integers(0, 12), min_size=1, max_size=8, unique=True)
BEGINS = st.integers(0, 47).map(lambda half: half * 1800)
LENGTHS = st.integers(1, 100).map(lambda half: half * 1800)  # up to two days and two hours
RHOS = st.floats(1e-9, 1e-3)


def day(number: int) -> dt.date:
    return FIRST + dt.timedelta(days=number)


def days(first: int, last: int) -> Scope:
    """Whole days, numbered from 1, both included."""
    return Scope.of_days([day(number) for number in range(first, last + 1)])


def pieces(dates: list[int], begins: int, length: int) -> list[tuple[int, int]]:
    """The intervals one by one, as they may overlap."""
    starts = [day(number).toordinal() * DAY_S + begins for number in dates]
    return [(start, start + length) for start in starts]


def covers(intervals: list[tuple[int, int]], at: int) -> bool:
    return any(start <= at < stop for start, stop in intervals)


def brute_force(
    scopes: list[list[tuple[int, int]]], amounts: list[Fraction], within: list[tuple[int, int]]
) -> Fraction:
    """Max over atoms of the sum over the scopes that have the atom: each atom begins at an endpoint."""
    atoms = sorted({end for intervals in [*scopes, within] for interval in intervals for end in interval})
    sums = [
        sum((amount for one, amount in zip(scopes, amounts, strict=True) if covers(one, at)), Fraction(0))
        for at in atoms
        if covers(within, at)
    ]
    return max(sums, default=Fraction(0))


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[int], int, int]:
    return draw(DATES), draw(BEGINS), draw(LENGTHS)


def scope(of: tuple[list[int], int, int]) -> Scope:
    dates, begins, length = of
    return Scope.of_days([day(number) for number in dates], begins_s=begins, length_s=length)


def widened(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(start // DAY_S * DAY_S, -(-stop // DAY_S) * DAY_S) for start, stop in intervals]


@settings(max_examples=300)
@given(
    st.lists(st.tuples(releases(), RHOS), max_size=8),
    releases(),
    st.sampled_from(["request", "user-day", "user", "kept set"]),
)
def test_the_rule_is_the_brute_force_evaluation_over_atoms(
    made: list[tuple[tuple[list[int], int, int], float]], new: tuple[list[int], int, int], rule: str
) -> None:
    kept = 5 if rule == "kept set" else None
    approval = Approval(1.0, 1e-6, "user" if rule == "kept set" else rule, kept_requests=kept)
    spending = Spending(approval, [scope(of) for of, _ in made], [rho for _, rho in made])
    exact = [Fraction(approval.grains(rho)) for _, rho in made]
    change = widened if rule == "user-day" else list
    scopes = [change(pieces(*of)) for of, _ in made]
    every = [interval for one in scopes for interval in one]
    if rule == "user":
        assert spending.spent == spending.within(scope(new)) == sum(exact)
    else:
        assert spending.spent == brute_force(scopes, exact, every)
        assert spending.within(scope(new)) == brute_force(scopes, exact, change(pieces(*new)))
        at = spending.busiest(scope(new))
        assert at is not None
        assert covers(change(pieces(*new)), at)
        assert brute_force(scopes, exact, [(at, at + 1)]) == spending.within(scope(new))
    for grains, (_, rho) in zip(exact, made, strict=True):
        assert Fraction(rho) <= grains * Fraction(approval.grain) <= Fraction(rho) * (1 + Fraction(1, 10**6))


@given(releases())
def test_scopes_are_written_and_read_back(of: tuple[list[int], int, int]) -> None:
    one = scope(of)
    assert Scope.from_text(one.text()) == one
    starts, stops = one.intervals()
    assert (starts < stops).all()
    assert (starts[1:] > stops[:-1]).all()
    for start, stop in pieces(*of):
        assert any(first <= start and stop <= last for first, last in zip(starts, stops, strict=True))
    assert one.whole_days().whole_days() == one.whole_days()


@given(st.text() | st.sampled_from(["[]", "{}", "1", '[["2026-03-02T07:00", 0, 1]]', '[["2026-03-02", 60, 1]]']))
def test_another_text_is_no_scope(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        Scope.from_text(text)


@pytest.mark.parametrize(
    "text",
    [
        '[["2026-03-02T07:00", 60, 0]]',
        '[["2026-03-02T07:00", 60.0, 1]]',
        '[["2026-03-02T07:00", true, 1]]',
        '[["2026-03-02T07:00", 86400, 2]]',
        '[["2026-03-03T07:00", 60, 1], ["2026-03-02T07:00", 60, 1]]',
        '[["2026-03-02T07:00", 60, 1], ["2026-03-02T07:01", 60, 1]]',
        '[["2026-03-02T07:00+01:00", 60, 1]]',
        '[["2026-03-02T07:00", 60, 99999999999999999999]]',
    ],
)
def test_scopes_that_contradict_themselves_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        Scope.from_text(text)


def test_partial_overlap_costs_the_larger_of_the_parts_and_what_covers_both() -> None:
    """{1-10}, {11-20}, {5-15}: max(A, B) + C, not A + B + C (connected parts) and not max of pairs."""
    approval = Approval(1.0, 1e-6)
    a, b, c = 1e-4, 2e-4, 4e-4
    parts = [days(1, 10), days(11, 20), days(5, 15)]
    spending = Spending(approval, parts, [a, b, c])
    assert spending.spent == approval.grains(b) + approval.grains(c)
    assert spending.within(days(1, 4)) == approval.grains(a)
    assert spending.within(days(10, 10)) == approval.grains(a) + approval.grains(c)
    assert spending.within(days(21, 30)) == 0
    assert spending.busiest(days(1, 20)) == day(11).toordinal() * DAY_S


def test_periods_of_one_day_do_not_meet_unless_they_do() -> None:
    morning, late = (Scope.of_days([day(0)], begins_s=hour * 3600, length_s=4 * 3600) for hour in (6, 22))
    night = Scope.of_days([day(1)], begins_s=3600, length_s=3600)  # 01:00, which the late period of the day before has
    assert Profile([morning, late], [1, 1]).peak() == 1
    assert Profile([late, night], [1, 1]).peak() == 2
    assert late.passes_midnight
    assert not morning.passes_midnight
    user_days = Spending(Approval(1.0, 1e-6, "user-day"), [morning, night], [1e-4, 1e-4])
    assert user_days.within(late) == user_days.approval.grains(1e-4)
    assert Spending(Approval(1.0, 1e-6, "user-day"), [morning, late], [1e-4, 1e-4]).spent == 2 * user_days.spent


def test_touching_intervals_share_no_moment() -> None:
    assert Profile([days(1, 10), days(11, 20)], [3, 5]).peak() == 5


def test_a_year_of_daily_releases_costs_one_day() -> None:
    approval = Approval(1.0, 1e-6)
    year = [Scope.of_days([day(number)], begins_s=7 * 3600, length_s=3600) for number in range(365)]
    spending = Spending(approval, year, [1e-4] * 365)
    assert spending.spent == approval.grains(1e-4)
    assert spending.profile is not None
    assert spending.profile.days() == [(day(0), day(364), spending.spent)]
    assert Spending(Approval(1.0, 1e-6, "user"), year, [1e-4] * 365).spent == 365 * approval.grains(1e-4)


def test_days_are_listed_with_their_largest_amount() -> None:
    profile = Profile([days(1, 10), days(5, 6), Scope.of_days([day(12)], begins_s=60, length_s=60)], [1, 2, 4])
    assert profile.days() == [
        (day(1), day(4), 1),
        (day(5), day(6), 3),
        (day(7), day(10), 1),
        (day(12), day(12), 4),
    ]
    assert Profile([], []).days() == []
    assert Profile([], []).peak() == Profile([], []).peak(days(1, 3)) == 0


def test_what_was_spent_is_found_by_its_amount_and_what_is_left_everywhere() -> None:
    profile = Profile([days(1, 10), days(5, 6)], [1, 2])
    assert profile.at_level(3) == [(days(5, 6), 3)]
    assert profile.at_level(1) == [(Scope.union([days(1, 4), days(7, 10)]), 1)]
    assert profile.at_level(2) == []
    left = profile.below(3)
    assert [amount for _, amount in left] == [3, 2]
    nothing = Scope.always()
    assert Profile([scope for scope, _ in left] + [days(5, 6)], [1, 1, 1]).peak(nothing) == 1
    whole = Profile([scope for scope, _ in left] + [days(1, 10), days(5, 6)], [amount for _, amount in left] + [1, 2])
    assert {whole.peak(days(day, day)) for day in range(12)} == {3}
    assert profile.below(1) == [(left[0][0], 1)]


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (days(0, 0), "2026-03-02"),
        (days(0, 3), "2026-03-02 to 2026-03-05"),
        (Scope.of_days([day(0), day(2)]), "2026-03-02 to 2026-03-04 (2 of 3 days)"),
        (Scope.of_days([day(0), day(1)], begins_s=7 * 3600, length_s=3600), "2026-03-02 to 2026-03-03, 07:00 to 08:00"),
        (Scope.of_days([day(0)], begins_s=22 * 3600, length_s=4 * 3600), "2026-03-02, 22:00 to 02:00"),
        (Scope.of_days([day(0)], begins_s=22 * 3600, length_s=2 * 3600), "2026-03-02, 22:00 to 24:00"),
    ],
)
def test_scopes_read_like_dates_and_periods(one: Scope, text: str) -> None:
    assert str(one) == text


def test_empty_scopes_are_refused() -> None:
    with pytest.raises(InputError, match="at least one day"):
        Scope.of_days([])
    with pytest.raises(InputError, match="not empty"):
        Scope.of_days([day(0)], length_s=0)


def test_a_moment_reads_like_a_time() -> None:
    assert moment(day(0).toordinal() * DAY_S + 7 * 3600) == "2026-03-02T07:00"


@given(st.floats(-3, 2).map(lambda power: 10.0**power), st.floats(-12, -1).map(lambda power: 10.0**power))
@settings(max_examples=25)
def test_the_total_is_the_largest_that_opendps_map_allows(epsilon: float, delta: float) -> None:
    total = total_rho(epsilon, delta)
    assert rho_to_epsilon(total, delta) <= epsilon
    assert rho_to_epsilon(total * (1 + 1e-6), delta) > epsilon
    approval = Approval(epsilon, delta)
    assert 2**56 < approval.total < 2**59
    assert approval.allows(approval.total)
    assert not approval.allows(math.ceil(approval.total * (1 + 1e-6)))


@pytest.mark.parametrize("more", [1e-8, 1e-4, 0.3])
def test_where_opendp_finds_more_than_the_closed_form_it_decides(more: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "privroute.privacy.calibration.rho_to_epsilon", lambda rho, _: epsilon_of_rho(rho, 1e-6) * (1 + more)
    )
    total = total_rho.__wrapped__(1.0, 1e-6)
    assert epsilon_of_rho(total, 1e-6) * (1 + more) <= 1.0
    assert epsilon_of_rho(total, 1e-6) * (1 + more) > 1.0 - 1e-8


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0])
def test_a_release_of_the_whole_budget_fits_once(epsilon: float) -> None:
    approval = Approval(epsilon, 1e-6)
    rho = gaussian_rho(gaussian_scale(epsilon, 1e-6, 1.0), 1.0)
    assert Spending(approval, [], []).allows(days(1, 3), rho)
    after = Spending(approval, [days(1, 3)], [rho])
    assert not after.allows(days(3, 5), rho / 1000)
    assert after.allows(days(4, 5), rho)


@settings(max_examples=8)
@given(st.floats(1e-7, 1e-2), st.sampled_from([1e-9, 1e-6, 1e-2]))
def test_the_epsilon_that_is_said_to_fit_does_and_little_more_would(rho: float, delta: float) -> None:
    epsilon = affordable_epsilon(rho, delta)
    assert affordable_epsilon(0.0, delta) == 0.0
    if epsilon == 0:  # a large delta: even the smallest epsilon costs more
        assert gaussian_rho(gaussian_scale(1e-9, delta, 1.0), 1.0) > rho
        return
    assert gaussian_rho(gaussian_scale(epsilon, delta, 1.0), 1.0) <= rho
    assert rho_to_epsilon(rho, delta) <= epsilon * 1.011


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epsilon": 0.0}, "epsilon is 0.0"),
        ({"epsilon": 1e6}, "below 1000"),
        ({"epsilon": math.nan}, "epsilon is nan"),
        ({"epsilon": True}, "epsilon is True"),
        ({"epsilon": 1e-200, "delta": 1e-200}, "no release is within"),
        ({"delta": 1.0}, "delta is 1.0"),
        ({"delta": "1e-6"}, "delta is '1e-6'"),
        ({"unit": "person"}, "unit is 'person'"),
        ({"time_zone": "Middle/Earth"}, "time_zone is 'Middle/Earth'"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
        ({"time_zone": 3}, "time_zone is 3"),
        ({"kept_requests": 3}, "are only valid with the unit user"),
        ({"unit": "user", "kept_requests": 0}, "kept_requests is 0"),
        ({"unit": "user", "kept_requests": 10**30}, "kept_requests is 1000"),
        ({"unit": "user", "kept_per_pair": 2}, "kept_requests is None"),
        ({"unit": "user", "kept_requests": 2, "kept_per_pair": 3}, "above kept_requests"),
    ],
)
def test_approvals_that_mean_nothing_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(GuaranteeError, match=message):
        Approval(**({"epsilon": 1.0, "delta": 1e-6} | values))  # type: ignore[arg-type]


def test_a_charge_without_a_cost_is_refused() -> None:
    for rho in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(GuaranteeError, match="rho is"):
            Approval(1.0, 1e-6).grains(rho)
    assert not Spending(Approval(1.0, 1e-6), [], []).allows(days(1, 1), 1e300)
