"""Streams: each day once, charged for itself alone, kept on disk, resumed after anything."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mechanism.stream_cases import DAYS, EACH, NETWORK, PROMISE, SCENARIO, Told, stream_in

import privroute as pr
from privroute.errors import (
    BudgetError,
    DemandError,
    GuaranteeError,
    HistoryError,
    LargeDeltaWarning,
    LedgerError,
    StreamError,
)
from privroute.mechanism.daily import day_weights
from privroute.mechanism.stream_files import StreamFiles
from privroute.policy.travel_time import total_travel_time
from privroute.privacy.noise import OpenDPNoise
from privroute.study.calendar import Calendar, Period
from privroute.study.contribution import Contribution


@pytest.fixture
def ledger(tmp_path: Path) -> pr.Ledger:
    return pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6))


def test_every_day_is_charged_once_and_for_itself_alone(tmp_path: Path, ledger: pr.Ledger) -> None:
    """The budget is one day's, and ten days fit, each resumed by a stream that is opened anew."""
    for day in EACH:
        release = stream_in(tmp_path, pr.Daily(window=7), ledger=ledger).add_day(day)
    charges = ledger.account().charges
    assert [str(charge.scope) for charge in charges] == [str(day) for day in DAYS.dates or ()]
    assert ledger.account().spent_epsilon == pytest.approx(1.0, rel=1e-6)
    assert all(charge.status == "released" for charge in charges)
    certificate = release.certificate
    assert certificate.private
    assert certificate.calendar.dates == (DAYS.dates or ())[3:]
    assert certificate.budget["entry"] == 10  # type: ignore[index]
    release.save(tmp_path / "out")
    assert pr.load_release(tmp_path / "out").certificate == certificate
    assert ledger.account().charges[-1].folders[-1] == str(tmp_path / "out")


def test_a_day_is_not_added_twice(tmp_path: Path, ledger: pr.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    stream_in(tmp_path, ledger=ledger).add_day(EACH[0])
    told = Told(monkeypatch)
    with pytest.raises(StreamError, match="2026-01-05 was added before.*nothing was charged"):
        stream_in(tmp_path, ledger=ledger).add_day(EACH[0])
    assert not told.seen
    assert len(ledger.account().charges) == 1


def test_only_the_new_day_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(monkeypatch)
    stream = stream_in(tmp_path, pr.Daily(window=3))
    for day in EACH[:5]:
        release = stream.add_day(day)
        assert np.array_equal(told.seen[-1], day.counts[0])
    assert len(told.seen) == 5
    assert release.noisy_counts is not None
    assert np.array_equal(release.noisy_counts, DAYS.counts[2:5].sum(axis=0))


def test_a_release_can_be_made_again_at_no_cost(tmp_path: Path, ledger: pr.Ledger) -> None:
    first = [stream_in(tmp_path, pr.Daily(window=2), ledger=ledger).add_day(day) for day in EACH[:3]][-1]
    again = stream_in(tmp_path, pr.Daily(window=2), ledger=ledger).release()
    assert again.policy == first.policy
    assert again.certificate == first.certificate
    assert len(ledger.account().charges) == 3
    longer = stream_in(tmp_path, pr.Daily()).release()
    assert longer.certificate.days == 3
    assert longer.certificate.data == first.certificate.data == "simulated"


def test_a_release_made_again_is_by_the_same_clock(tmp_path: Path) -> None:
    frame = replace(EACH[0].frame, calendar=replace(EACH[0].frame.calendar, time_zone="Europe/Berlin"))
    first = stream_in(tmp_path).add_day(pr.DemandHistory.of(frame, EACH[0].counts))
    again = stream_in(tmp_path).release()
    assert again.certificate == first.certificate
    assert again.certificate.data == "trips"
    assert again.certificate.study["calendar"]["time_zone"] == "Europe/Berlin"


def test_days_may_come_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Told(monkeypatch)
    stream = stream_in(tmp_path, pr.Daily(window=2))
    for number in (0, 3, 1):
        release = stream.add_day(EACH[number])
    assert release.noisy_counts is not None
    assert np.array_equal(release.noisy_counts, DAYS.counts[[1, 3]].sum(axis=0))


def test_a_stream_is_as_good_as_the_days_it_averages(tmp_path: Path) -> None:
    stream = stream_in(tmp_path, pr.Daily(window=7))
    for day in EACH:
        release = stream.add_day(day)
    best = pr.solve_optimum(NETWORK, SCENARIO.demand).total_travel_time
    blind = pr.Demand(SCENARIO.demand.pairs, np.zeros(552))
    no_data = total_travel_time(NETWORK, pr.solve_optimum(NETWORK, blind).policy, SCENARIO.demand)
    assert total_travel_time(NETWORK, release.policy, SCENARIO.demand) < best + 0.01 * (no_data - best)


def closed(link: int) -> pr.Network:
    """The network without one link."""
    keep = np.arange(NETWORK.links) != link
    return pr.Network(
        NETWORK.tail[keep],
        NETWORK.head[keep],
        NETWORK.latency[keep],
        list(NETWORK.node_labels),
        zones=NETWORK.zones,
    )


def test_roads_may_be_closed_while_the_stream_goes_on(tmp_path: Path) -> None:
    stream = stream_in(tmp_path)
    stream.add_day(EACH[0])
    release = stream.add_day(EACH[1], network=closed(5))
    assert release.network.links == NETWORK.links - 1
    assert stream.add_day(EACH[2]).network.links == NETWORK.links - 1
    with pytest.raises(DemandError):
        stream.add_day(EACH[3], network=pr.Network([0], [1], pr.Latency.affine([1.0], [1.0]), [1, 2]))
    assert len(stream.dates) == 3


def test_a_refused_charge_leaves_no_day(tmp_path: Path, ledger: pr.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    pr.learn(NETWORK, EACH[0], pr.Guarantee(0.5, 1e-6), ledger=ledger)
    told = Told(monkeypatch)
    stream = stream_in(tmp_path, ledger=ledger)
    with pytest.raises(BudgetError, match="would fit"):
        stream.add_day(EACH[0])
    assert not told.seen
    assert stream.dates == ()
    stream.add_day(EACH[1])


@pytest.mark.parametrize("moment", ["charge", "noise", "write"])
def test_after_a_crash_at_any_moment_the_stream_goes_on(
    tmp_path: Path, ledger: pr.Ledger, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """What was charged stays charged, and is seen; other days are not affected."""

    def crash(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    place: dict[str, tuple[Any, str]] = {
        "charge": (pr.Ledger, "charge"),
        "noise": (OpenDPNoise, "add_integers"),
        "write": (StreamFiles, "write_day"),
    }
    stream_in(tmp_path, ledger=ledger).add_day(EACH[0])
    with monkeypatch.context() as patch:
        patch.setattr(*place[moment], crash)
        with pytest.raises(KeyboardInterrupt):
            stream_in(tmp_path, ledger=ledger).add_day(EACH[1])
    stream = stream_in(tmp_path, ledger=ledger)
    assert len(stream.dates) == 1
    if moment == "charge":
        stream.add_day(EACH[1])
    else:
        assert [charge.status for charge in ledger.account().charges] == ["released", "charged"]
        with pytest.raises(BudgetError):
            stream.add_day(EACH[1])
    assert stream.add_day(EACH[2]).certificate.private


def test_a_day_that_nobody_charged_makes_the_release_untracked(tmp_path: Path, ledger: pr.Ledger) -> None:
    stream_in(tmp_path).add_day(EACH[0])
    release = stream_in(tmp_path, pr.Daily(window=2), ledger=ledger).add_day(EACH[1])
    assert release.certificate.budget == "not tracked"
    later = stream_in(tmp_path, pr.Daily(window=1), ledger=ledger).release()
    assert later.certificate.budget != "not tracked"


def test_users_days_are_a_unit_of_streams_and_users_are_not(tmp_path: Path) -> None:
    guarantee = pr.Guarantee(1.0, 1e-6, "user-day")
    ledger = pr.Ledger.create(tmp_path / "users.ledger", "users", pr.Approval(1.0, 1e-6, "user-day"))
    stream = pr.Stream(tmp_path / "stream", NETWORK, guarantee, ledger=ledger)
    for number, day in enumerate(EACH[:3]):
        bounded = pr.DemandHistory(
            day.pairs, day.counts, dates=day.dates, simulated=True, contribution=Contribution("user-day", 4, 1)
        )
        certificate = stream.add_day(bounded).certificate
        assert (certificate.unit, certificate.sensitivity, certificate.days) == ("user-day", 2.0, number + 1)
    assert ledger.account().spent_epsilon == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(StreamError, match="unit is not given"):
        stream.add_day(EACH[4])
    with pytest.raises(GuaranteeError, match="user-day"):
        pr.Stream(tmp_path / "other", NETWORK, pr.Guarantee(1.0, 1e-6, "user"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"period_min": 30.0}, "period_min is 30.0 where the stream has 60.0"),
        ({"expansion": 2.0}, "expansion"),
        ({"simulated": False}, "simulated"),
        ({"begins": dt.time(7)}, "begins is '07:00:00'"),
        ({"time_zone": "UTC"}, "time_zone"),
    ],
)
def test_days_of_another_frame_are_refused(
    tmp_path: Path, change: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = stream_in(tmp_path)
    stream.add_day(EACH[0])
    told = Told(monkeypatch)
    frame = {"period_min": 60.0, "dates": EACH[1].dates, "simulated": True} | change
    with pytest.raises(StreamError, match=message):
        stream.add_day(pr.DemandHistory(DAYS.pairs, EACH[1].counts, **frame))
    fewer = pr.DemandHistory(
        pr.Pairs(DAYS.pairs.origin[:5], DAYS.pairs.destination[:5]),
        EACH[1].counts[:, :5],
        dates=EACH[1].dates,
        simulated=True,
    )
    with pytest.raises(StreamError, match="other pairs"):
        stream.add_day(fewer)
    assert not told.seen


def test_what_cannot_be_a_day_is_refused(tmp_path: Path) -> None:
    stream = stream_in(tmp_path)
    with pytest.raises(HistoryError, match="one day with its date, and this history has 10 days"):
        stream.add_day(DAYS)
    with pytest.raises(HistoryError, match="1 days without dates"):
        stream.add_day(pr.DemandHistory(DAYS.pairs, DAYS.counts[:1]))
    with pytest.raises(HistoryError, match="period_min is 2000, and a day has 1,440 minutes"):
        pr.DemandHistory(DAYS.pairs, DAYS.counts[:1], dates=(DAYS.dates or ())[:1], period_min=2000)
    with pytest.raises(HistoryError, match="history is a list"):
        stream.add_day([])  # type: ignore[arg-type]
    with pytest.raises(HistoryError, match="counted by privroute"):
        stream.add_day(pr.DemandHistory.of(EACH[0].frame, EACH[0].counts, elsewhere=True))
    with pytest.raises(DemandError, match="network is a str"):
        pr.Stream(tmp_path / "stream", "roads", PROMISE)  # type: ignore[arg-type]
    with pytest.raises(StreamError, match="has no day yet"):
        stream.release()
    assert not (tmp_path / "stream").exists()


def test_what_no_day_may_be_is_known_before_trips_are_read(tmp_path: Path, ledger: pr.Ledger) -> None:
    """`check` refuses all that `add_day` would, of the public frame alone."""
    stream, frame = stream_in(tmp_path, ledger=ledger), EACH[0].frame
    stream.check(DAYS.frame)
    by_day = pr.Guarantee(1.0, 1e-6, unit="user-day")
    of_users = pr.Stream(tmp_path / "users", NETWORK, by_day)
    for bounds, total_per_h in (
        (Contribution("user-day", 2), 100.0),
        (Contribution("user-day", 2, max_for_total=9), None),
    ):
        with pytest.raises(HistoryError, match="a stream has no total of its own"):
            of_users.check(replace(frame, contribution=bounds, total_per_h=total_per_h))
    (date,) = frame.calendar.dates or ()
    hours = tuple(Period(60.0, dt.time(hour)) for hour in (7, 17))
    with pytest.raises(HistoryError, match="a stream follows one period"):
        stream.check(replace(frame, calendar=Calendar(1, hours, (date,))))
    stream.add_day(EACH[0])
    with pytest.raises(StreamError, match="was added before"):
        stream.check(frame)
    other = pr.Ledger.create(tmp_path / "other.ledger", "other", pr.Approval(9.0, 1e-6))
    with pytest.raises(StreamError, match="charged to the data set 'city'"):
        stream_in(tmp_path, ledger=other).check(EACH[1].frame)


def test_a_day_that_computes_its_public_frame_is_refused_before_the_frame_is_written(tmp_path: Path) -> None:
    class Telling(pr.DemandHistory):
        pass

    with pytest.raises(HistoryError, match="history is a Telling"):
        stream_in(tmp_path).add_day(Telling(DAYS.pairs, EACH[0].counts, dates=EACH[0].dates))
    assert not (tmp_path / "stream").exists()


def test_another_guarantee_needs_another_stream(tmp_path: Path) -> None:
    stream_in(tmp_path).add_day(EACH[0])
    with pytest.raises(StreamError, match=r"epsilon is 0\.5 where the stream has 1\.0; use that"):
        pr.Stream(tmp_path / "stream", NETWORK, pr.Guarantee(0.5, 1e-6))
    for bad in ({"network": "x"}, {"guarantee": None}, {"mechanism": pr.Counts()}, {"ledger": "city.ledger"}):
        arguments: dict[str, Any] = {"network": NETWORK, "guarantee": PROMISE} | bad
        with pytest.raises((DemandError, GuaranteeError)):
            pr.Stream(tmp_path / "new", **arguments)


def frame_of(dates: list[dt.date] | None, days: int) -> Any:
    return pr.DemandHistory(DAYS.pairs, np.zeros((days, 552), np.int64), dates=dates).frame


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=30, unique=True).map(sorted),
    st.none() | st.integers(1, 40),
    st.none() | st.floats(0.1, 100),
    st.booleans(),
)
def test_weights_of_days_depend_on_dates_as_they_say(
    numbers: list[int], window: int | None, half_life: float | None, next_weekday: bool
) -> None:
    dates = [dt.date(2026, 3, 2) + dt.timedelta(days=number) for number in numbers]
    weights = day_weights(
        frame_of(dates, len(dates)).calendar,
        pr.Daily(window=window, half_life_days=half_life, next_weekday=next_weekday),
    )
    recent = dates[-(window or len(dates)) :]
    wanted = (dates[-1] + dt.timedelta(days=1)).weekday()
    alike = [day for day in recent if day.weekday() == wanted]
    used = alike if next_weekday and alike else recent
    expected = [0.5 ** ((used[-1] - day).days / half_life) if half_life else 1.0 for day in used]
    assert weights.max() == 1.0
    assert weights == pytest.approx([expected[used.index(day)] if day in used else 0.0 for day in dates])


def test_fading_days_are_averaged_by_their_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Told(monkeypatch)
    stream = stream_in(tmp_path, pr.Daily(half_life_days=1.0))
    for number in (0, 1):
        counts = np.full((1, 552), 300 * (number + 1))
        release = stream.add_day(pr.DemandHistory(DAYS.pairs, counts, dates=EACH[number].dates))
    assert release.demand is not None
    assert release.demand.total_per_min == pytest.approx(552 * (0.5 * 300 + 600) / 1.5 / 60)
    assert release.noisy_counts is None


def test_a_stream_with_a_delta_too_large_for_single_persons_is_warned_of(tmp_path: Path) -> None:
    with pytest.warns(LargeDeltaWarning, match=r"NOT PRIVATE: delta 0\.1 is above 0\.001"):
        stream = pr.Stream(tmp_path / "stream", NETWORK, pr.Guarantee(0.1, 0.1))
    certificate = stream.add_day(EACH[0]).certificate
    assert certificate.guaranteed
    assert not certificate.private


@pytest.mark.parametrize("bad", [{"half_life_days": 0.0}, {"half_life_days": True}, {"next_weekday": 1}, {"window": 0}])
def test_options_that_mean_nothing_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(GuaranteeError):
        pr.Daily(**bad)


def test_a_ledger_refuses_what_it_cannot_account_for(ledger: pr.Ledger) -> None:
    with pytest.raises(LedgerError, match="needs the dates of a release"):
        pr.learn(NETWORK, pr.DemandHistory(DAYS.pairs, DAYS.counts), PROMISE, ledger=ledger)
    with pytest.raises(LedgerError, match="NOT PRIVATE"):
        pr.learn(NETWORK, DAYS, mechanism="none", ledger=ledger)
    as_published = pr.Sgd(public_demand=SCENARIO.demand, alpha=1000.0, constants="paper")
    with pytest.raises(LedgerError, match="NOT PRIVATE .mechanism sgd"):
        pr.learn(NETWORK, DAYS, PROMISE, as_published, ledger=ledger)
    with pytest.raises(LedgerError, match="ledger is a str"):
        pr.learn(NETWORK, DAYS, PROMISE, ledger="city.ledger")  # type: ignore[arg-type]
    assert not ledger.account().charges


def test_noise_on_flows_is_refused_where_users_are_bounded() -> None:
    """With bounded contributions one request more can displace another, which the proofs on flows do not cover."""
    bounded = pr.DemandHistory(DAYS.pairs, DAYS.counts, dates=DAYS.dates, contribution=Contribution("user", 4))
    for mechanism in (pr.Minimiser(alpha=100.0), pr.Sgd(public_demand=SCENARIO.demand, alpha=100.0)):
        with pytest.raises(GuaranteeError, match="displace"):
            pr.learn(NETWORK, bounded, PROMISE, mechanism)
        with pytest.raises(GuaranteeError, match="is proved for the unit 'user'"):
            pr.learn(NETWORK, bounded, pr.Guarantee(1.0, 1e-6, "user"), mechanism)
