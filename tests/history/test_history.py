from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privroute as pr
from privroute.errors import HistoryError
from privroute.study.contribution import Contribution, as_contribution

SCENARIO = pr.sioux_falls()
PAIRS = pr.Pairs([0, 1], [1, 0])
# One test in a thousand million fails by chance: the quantile of a normal variable used throughout this file.
FALSE_ALARM_SD = 6.2


def test_mean_divides_by_days_and_minutes_and_applies_the_expansion() -> None:
    history = pr.DemandHistory(PAIRS, [[6, 0], [0, 12]], period_min=3, expansion=10)
    assert history.days == 2
    assert history.mean.rate_per_min.tolist() == [10.0, 20.0]
    assert history.mean.observed_per_min.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        ([[1.0, 2.0]], {}, "type float64; requests are counted in whole numbers"),
        ([[1, np.nan]], {}, "whole numbers"),
        ([[True, False]], {}, "whole numbers"),
        ([[1, -2]], {}, r"1 counts are negative or above .* \(first at day 0, position 1\)"),
        ([[1, 2**50]], {}, "negative or above"),
        ([[1, 2, 3]], {}, r"pass \(days, 2\)"),
        ([1, 2], {}, r"pass \(days, 2\)"),
        ([[1], [2, 3]], {}, "cannot be read"),
        (np.zeros((0, 2), dtype=int), {}, "at least one"),
        ([[1, 2]], {"period_min": 0}, "positive number of minutes"),
        ([[1, 2]], {"period_min": "60"}, "period_min is '60'; pass a positive number of minutes"),
        ([[1, 2]], {"dates": []}, "0 dates for 1 days"),
        ([[1, 2]], {"dates": ["2026-01-01"]}, "position 0 is a str"),
        ([[1, 2], [1, 2]], {"dates": [dt.date(2026, 1, 2)] * 2}, "give each day once"),
    ],
)
def test_unusable_histories_are_refused(counts: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(HistoryError, match=message):
        pr.DemandHistory(PAIRS, counts, **options)


class Untouched:
    """Counts that must not be looked at."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise AssertionError("the counts were looked at")


def test_a_dated_period_longer_than_a_day_is_refused_before_the_counts_are_looked_at() -> None:
    dates, network = [dt.date(2026, 3, 2)], SCENARIO.network
    message = "period_min is 1441, and a day has 1,440 minutes; pass the minutes of the period within one day"
    attempts: tuple[Callable[[], object], ...] = (
        lambda: pr.DemandHistory(PAIRS, Untouched(), period_min=1441, dates=dates),
        lambda: pr.DemandHistory.from_matrices(
            network,
            {dates[0]: Untouched()},
            period_min=1441,
            dates=(dates[0], dates[0]),
        ),
        lambda: pr.simulate_days(SCENARIO.demand, days=1, period_min=1441),
    )
    for attempt in attempts:
        with pytest.raises(HistoryError, match=message):
            attempt()
    assert pr.DemandHistory(PAIRS, [[1, 2]], period_min=1440, dates=dates).period_min == 1440


def test_days_without_dates_may_stand_for_weeks_but_not_where_a_users_day_is_protected() -> None:
    """The mechanisms need each request on one day only; a guarantee for a user's day needs days that are days."""
    week = 7 * 1440
    assert pr.DemandHistory(PAIRS, [[1, 2]], period_min=week).period_min == week
    by_user = Contribution("user", 3)
    assert pr.DemandHistory(PAIRS, [[1, 2]], period_min=week, contribution=by_user).period_min == week
    with pytest.raises(HistoryError, match="a day has 1,440 minutes"):
        pr.DemandHistory(PAIRS, [[1, 2]], period_min=week, contribution=Contribution("user-day", 3))


def test_more_days_than_the_proofs_allow_are_refused() -> None:
    with pytest.raises(HistoryError, match="at most 4,194,304"):
        pr.DemandHistory(pr.Pairs([0], [1]), np.zeros((2**22 + 1, 1), dtype=np.int8))


def test_messages_never_show_counts() -> None:
    with pytest.raises(HistoryError) as refused:
        pr.DemandHistory(PAIRS, [[31337, -271828]])
    assert "31337" not in str(refused.value)
    assert "271828" not in str(refused.value)
    assert "31337" not in repr(pr.DemandHistory(PAIRS, [[31337, 1]]))


def test_a_copy_says_what_the_history_says() -> None:
    calendar = pr.Calendar.of("07:00-08:00", ("2026-03-02", "2026-03-02"))
    frame = pr.Frame(PAIRS, calendar, contribution=Contribution("user", 3, max_for_total=5))
    for simulated, elsewhere in ((True, False), (False, True), (False, False)):
        history = pr.DemandHistory.of(frame, [[1, 2]], requests=4, simulated=simulated, elsewhere=elsewhere)
        again = copy.deepcopy(history)
        assert again == history
        assert (again.simulated, again.elsewhere, again.requests) == (simulated, elsewhere, 4)


class TestMatrices:
    network = pr.Network([0, 1], [1, 0], pr.Latency.affine([1.0, 1.0], 1.0), ["x", "y"])
    first, second, fourth = dt.date(2026, 3, 2), dt.date(2026, 3, 3), dt.date(2026, 3, 5)

    def test_the_number_of_days_is_that_of_the_public_range(self) -> None:
        matrices = {self.second: [[5, 1], [2, 5]], self.first: [[0, 3], [4, 0]], self.fourth: [[0, 9], [9, 0]]}
        history = pr.DemandHistory.from_matrices(
            self.network, matrices, dates=("2026-03-03", dt.date(2026, 3, 4)), zones=["y", "x"]
        )
        assert history.dates == (self.second, dt.date(2026, 3, 4))
        assert history.counts.tolist() == [[2, 1], [0, 0]]
        empty = pr.DemandHistory.from_matrices(self.network, {}, dates=(self.first, self.fourth))
        assert empty.counts.tolist() == [[0, 0]] * 4
        with pytest.raises(HistoryError, match=r"need dates=\(first, last\)"):
            pr.DemandHistory.from_matrices(self.network, matrices)

    def test_a_sequence_has_one_matrix_for_each_day(self) -> None:
        days = [[[0, 1], [2, 0]], [[0, 3], [4, 0]]]
        assert pr.DemandHistory.from_matrices(self.network, days).counts.tolist() == [[1, 2], [3, 4]]
        dated = pr.DemandHistory.from_matrices(self.network, iter(days), dates=(self.first, self.second))
        assert dated.dates == (self.first, self.second)
        with pytest.raises(HistoryError, match="4 dates for 2 days"):
            pr.DemandHistory.from_matrices(self.network, days, dates=(self.first, self.fourth))

    def test_period_and_expansion_are_kept(self) -> None:
        history = pr.DemandHistory.from_matrices(self.network, [[[0, 6], [0, 0]]], period_min=3, expansion=10)
        assert (history.period_min, history.expansion) == (3, 10)
        usual = pr.DemandHistory.from_matrices(self.network, [[[0, 6], [0, 0]]])
        assert (usual.period_min, usual.expansion) == (60, 1)
        assert history.mean.rate_per_min.tolist() == [20, 0]

    @pytest.mark.parametrize(
        ("matrices", "options", "message"),
        [
            ([[[0, 1], [2, 0]], [[0, 1]]], {}, "day 1: the matrix has shape"),
            ([[[0, 1], [2, 0]], [[0], [1, 2]]], {}, "day 1: the matrix cannot be read as an array"),
            ([[[0, 1], [2, 0]], [[0, 1], [-2, 0]]], {}, "first at day 1, position 2"),
            ([[[0, 1.5], [2, 0]]], {}, "whole numbers"),
            ([[[0]]], {"zones": ["x"]}, "cover 1 of the network's 2 zones"),
            (5, {}, "matrices is a int; pass one matrix for each day"),
            ({"2026-03-02": [[0, 1], [2, 0]]}, {}, "the key at position 0 is a str; use datetime.date"),
            ({dt.date(2026, 3, 2): [[0, 1], [2, 0]], 5: []}, {}, "the key at position 1 is a int"),
            ({dt.datetime(2026, 3, 2): []}, {}, "the key at position 0 is a datetime"),  # noqa: DTZ001 - refused
            ({}, {"dates": 5}, "dates is 5; pass the first and the last day"),
            ({}, {"dates": ("2026-03-02",)}, "pass the first and the last day"),
            ({}, {"dates": (20260302, 20260303)}, "dates is 20260302; pass a datetime.date or a text"),
        ],
    )
    def test_unusable_matrices_are_refused(self, matrices: Any, options: dict[str, Any], message: str) -> None:
        if isinstance(matrices, dict):
            options = {"dates": (self.first, self.second)} | options
        with pytest.raises(HistoryError, match=message):
            pr.DemandHistory.from_matrices(self.network, matrices, **options)


class TestDailyFile:
    network = SCENARIO.network
    text = (
        "date,origin,destination,trips\n2026-03-02,1,2,5\n2026-03-04,2,1,7\n2026-03-04,2,1,1\n2026-04-09,1,2,3\n"
        "2026-03-01,1,2,100\n1999-12-31,2,1,100\n"
    )

    def read(self, folder: Path, text: str, **options: Any) -> pr.DemandHistory:
        path = folder / "daily.csv"
        path.write_text(text)
        arguments: dict[str, Any] = {"dates": ("2026-03-02", "2026-03-05")}
        return pr.read_daily_od(path, self.network, **(arguments | options))

    def test_the_number_of_days_is_that_of_the_public_range(self, tmp_path: Path) -> None:
        history = self.read(tmp_path, self.text)
        assert history.days == 4
        position = history.pairs.positions([0, 1], [1, 0])
        assert history.counts[:, position].tolist() == [[5, 0], [0, 0], [0, 8], [0, 0]]
        assert history.counts.sum() == 13
        assert not history.simulated

    def test_period_and_expansion_are_kept(self, tmp_path: Path) -> None:
        history = self.read(tmp_path, self.text, period_min=30, expansion=4)
        assert (history.period_min, history.expansion) == (30, 4)
        assert history.mean.total_per_min == pytest.approx(4 * 13 / (4 * 30))

    def test_a_period_longer_than_a_day_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(HistoryError, match="period_min is 2880, and a day has 1,440 minutes"):
            self.read(tmp_path, self.text, period_min=2880)
        assert self.read(tmp_path, self.text, period_min=1440).period_min == 1440

    @pytest.mark.parametrize(
        ("old", "new", "became"),
        [
            ("2,5", "2,5.7", "unreadable_count"),
            ("2,5", "2,5.000", "unreadable_count"),
            ("2,5", "2,5e+06", "unreadable_count"),
            ("2,5", "2,-5", "unreadable_count"),
            ("2,5", "2,MARK", "unreadable_count"),
            ("1,2,5", "MARK,2,5", "unknown_zone"),
            ("1,2,5", "2,2,5", "within_zone"),
            ("2026-03-02", "MARK", "unreadable_time"),
            ("2026-03-02", "2036-03-02", "outside"),
            ("1,2,5", "1,2", "malformed"),
            ("1,2,5", '"1,2,5', "malformed"),
        ],
    )
    def test_an_unusable_row_is_dropped_counted_and_costs_no_other(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, became: str
    ) -> None:
        seen: list[Any] = []
        history = self.read(tmp_path, self.text.replace(old, new, 1), report=seen.append)
        assert history.counts.sum() == 13 - 5
        assert seen[0].numbers[became] == 1 + 3 * (became == "outside")
        self.read(tmp_path, self.text.replace(old, new, 1))
        told = capsys.readouterr().err
        assert told.startswith("PRIVATE")
        assert "MARK" not in told

    def test_counts_above_the_largest_are_taken_as_the_largest(self, tmp_path: Path) -> None:
        history = self.read(tmp_path, self.text.replace("1,2,5", f"1,2,{'9' * 40}").replace("2,1,7", f"2,1,{2**40}"))
        assert sorted(history.counts.ravel())[-2:] == [2**40, 2**40]

    def test_a_header_is_checked_without_showing_what_stands_there(self, tmp_path: Path) -> None:
        with pytest.raises(pr.PrivrouteError, match="none of its 4 columns is called 'date'") as refused:
            self.read(tmp_path, "MARK,origin,destination,trips\n")
        assert "MARK" not in str(refused.value)

    @pytest.mark.parametrize(
        "dates",
        [
            ("2026-03-05", "2026-03-02"),
            ("2026-03-02", "x"),
            ("0001-01-01", "9999-01-01"),
            ("2026-03-02",),
            None,
            5,
            "ab",
        ],
    )
    def test_unusable_ranges_are_refused(self, tmp_path: Path, dates: Any) -> None:
        with pytest.raises(HistoryError):
            self.read(tmp_path, self.text, dates=dates)

    @pytest.mark.parametrize(
        "said",
        [{"dates": ("2026-03-02", "2026-03-03")}, {"period_min": 60}, {"expansion": 1.0}, {"on_unreachable": "error"}],
    )
    def test_what_the_study_sets_is_not_said_again(self, said: dict[str, Any]) -> None:
        calendar = pr.Calendar.of("07:00-08:00", ("2026-03-02", "2026-03-03"))
        study = pr.Study(self.network, pr.Frame(pr.Pairs.of_zones(self.network), calendar), mechanism="none")  # type: ignore[arg-type]  # a name
        with pytest.raises(HistoryError, match=f"the study already sets {next(iter(said))}"):
            pr.read_daily_od("never-opened.csv", study, **said)

    @pytest.mark.parametrize(
        ("calendar", "bounds", "message"),
        [
            ({"period": ["06:00-08:00/60min"]}, {}, "daily counts have no hours"),
            ({"day_types": {"a": "mon", "b": "tue-sun"}}, {}, "daily counts have no hours"),
            ({}, {"unit": "user", "max_requests": 3}, "contain no user ids"),
            ({}, {"unit": "request", "max_weight": 3}, "daily counts have no weights"),
        ],
    )
    def test_studies_that_daily_counts_cannot_be_about_are_refused(
        self, calendar: dict[str, Any], bounds: dict[str, Any], message: str
    ) -> None:
        days = pr.Calendar.of(**{"period": "07:00-08:00", "dates": ("2026-03-02", "2026-03-08")} | calendar)
        kept = as_contribution(**{"max_requests": None, "max_per_pair": None} | bounds) if bounds else None
        frame = pr.Frame(pr.Pairs.of_zones(self.network), days, contribution=kept)
        study = pr.Study(self.network, frame, mechanism="none")  # type: ignore[arg-type]  # a name
        with pytest.raises(HistoryError, match=message):
            pr.read_daily_od("never-opened.csv", study)


class TestSimulation:
    demand = SCENARIO.demand

    def test_the_same_seed_gives_the_same_days(self) -> None:
        one, two = (pr.simulate_days(self.demand, days=3, seed=7) for _ in range(2))
        assert one == two
        assert one.simulated
        assert one != pr.simulate_days(self.demand, days=3, seed=8)

    def test_counts_are_poisson_around_the_demand(self) -> None:
        days = 400
        history = pr.simulate_days(self.demand, days=days, seed=1)
        expected = self.demand.rate_per_min * 60
        busy = expected > 0
        assert (history.counts[:, ~busy] == 0).all()
        z = (history.counts.mean(axis=0) - expected)[busy] / np.sqrt(expected[busy] / days)
        assert np.abs(z).max() < FALSE_ALARM_SD
        dispersion = history.counts[:, busy].var(axis=0, ddof=1) / expected[busy]
        assert abs(dispersion.mean() - 1) < FALSE_ALARM_SD * np.sqrt(2 / days / busy.sum())

    def test_a_fleet_sees_its_share_of_the_traffic(self) -> None:
        seen = pr.Demand(self.demand.pairs, self.demand.rate_per_min, expansion=10)
        history = pr.simulate_days(seen, days=50, seed=2)
        total = seen.total_per_min * 60 * 50 / 10
        assert abs(history.counts.sum() - total) < FALSE_ALARM_SD * np.sqrt(total)
        assert history.mean.total_per_min == pytest.approx(seen.total_per_min, rel=0.01)

    def test_the_period_scales_the_counts(self) -> None:
        history = pr.simulate_days(self.demand, days=50, seed=2, period_min=15)
        total = self.demand.total_per_min * 15 * 50
        assert history.period_min == 15
        assert abs(history.counts.sum() - total) < FALSE_ALARM_SD * np.sqrt(total)

    def test_common_factors_leave_the_mean_as_it_is(self) -> None:
        days, spread = 4000, 0.6  # without the term −s²/2 the mean would be exp(s²/2) = 1.2 times as large
        counts = pr.simulate_days(pr.Demand(PAIRS, [1e6, 0.0]), days=days, seed=5, day_sd=spread).counts[:, 0]
        relative_sd = np.sqrt(np.expm1(spread**2) / days)  # of the mean of log-normal factors
        assert counts.mean() / 6e7 == pytest.approx(1, abs=FALSE_ALARM_SD * relative_sd)

    def test_weekdays_drift_and_common_factors_shape_the_days(self) -> None:
        week = [1, 1, 1, 1, 1, 0.5, 0]
        history = pr.simulate_days(self.demand, days=14, seed=3, weekday=week, drift_per_day=0.01)
        assert history.dates is not None
        total = history.counts.sum(axis=1) / (self.demand.total_per_min * 60)
        expected = [week[date.weekday()] * 1.01**day for day, date in enumerate(history.dates)]
        assert total == pytest.approx(expected, abs=FALSE_ALARM_SD / np.sqrt(360_000))

    def test_common_factors_have_the_given_spread_and_memory(self) -> None:
        days = 4000
        one_pair = pr.Demand(PAIRS, [1e6, 0.0])
        logs = np.log(pr.simulate_days(one_pair, days=days, seed=4, day_sd=0.2, correlation=0.8).counts[:, 0])
        assert logs.std() == pytest.approx(0.2, rel=0.15)
        assert np.corrcoef(logs[:-1], logs[1:])[0, 1] == pytest.approx(0.8, abs=0.07)

    @given(st.integers(1, 5), st.integers(0, 2**32))
    def test_any_seed_and_length_work(self, days: int, seed: int) -> None:
        history = pr.simulate_days(pr.Demand(PAIRS, [0.5, 0.0]), days=days, seed=seed, day_sd=0.1, correlation=-0.5)
        assert history.counts.shape == (days, 2)

    @pytest.mark.parametrize(
        "options",
        [
            {"days": 0},
            {"days": 1.5},
            {"days": True},
            {"seed": -1},
            {"seed": "x"},
            {"period_min": -1},
            {"weekday": [1, 2]},
            {"weekday": [1, 1, 1, 1, 1, 1, -1]},
            {"weekday": "Monday"},
            {"drift_per_day": -1},
            {"drift_per_day": np.inf},
            {"days": 5000, "drift_per_day": 9.0},
            {"day_sd": -0.1},
            {"day_sd": 1e9},
            {"correlation": 1.0},
            {"days": 4_000_000},
            {"period_min": 1e300},
        ],
    )
    def test_unusable_options_are_refused(self, options: dict[str, Any]) -> None:
        arguments: dict[str, Any] = {"days": 3, "seed": 1}
        with pytest.raises(HistoryError):
            pr.simulate_days(self.demand, **(arguments | options))
