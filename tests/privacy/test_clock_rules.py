"""One trip has one time, however the rules of a time zone change and however its files are read: Theorem 10."""

from __future__ import annotations

import datetime as dt
import shutil
import zoneinfo
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import privroute as pr
from privroute.errors import BudgetError, LedgerError, ReleaseError
from privroute.mechanism.lost_ledger import charges_of_releases, charges_of_stream, rebuild, verify
from privroute.privacy.scope import Scope
from privroute.release.certificate import BUDGET, check_budget
from privroute.study.calendar import Calendar
from privroute.study.clock_rules import ClockRules
from privroute.study.frame import Frame
from privroute.study.trip_format import TripFormat

pytestmark = pytest.mark.slow

DATES = ("2026-03-02", "2026-03-06")
HEADER = "departure,origin,destination"


@pytest.fixture
def rules(tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Make Test/City a time zone whose clocks go as those of another one; one more call changes its rules."""
    folder = tmp_path / "zoneinfo"
    (folder / "Test").mkdir(parents=True)

    def choose(like: str) -> None:
        source = resources.files("tzdata").joinpath("zoneinfo", *like.split("/"))
        (folder / "Test" / "City").write_bytes(source.read_bytes())
        (folder / "tzdata.zi").write_text(f"# version like {like}\n")
        zoneinfo.reset_tzpath(to=[str(folder)])
        zoneinfo.ZoneInfo.clear_cache()

    yield choose
    zoneinfo.reset_tzpath()
    zoneinfo.ZoneInfo.clear_cache()
    shutil.rmtree(folder)


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    """Trips at 06:30 UTC: half past seven in Berlin, half past eight in Helsinki."""
    path = tmp_path / "trips.csv"
    rows = [f"2026-03-0{day}T06:30:00Z,1,{zone}" for day in range(2, 7) for zone in (2, 3, 4)]
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def history(trips: Path, hour: int, **changes: Any) -> Any:
    options = {"period": (f"{hour:02}:00", f"{hour + 1:02}:00"), "dates": DATES, "tz": "Test/City"} | changes
    return pr.read_trips(trips, pr.sioux_falls().network, report=lambda _: None, **options)


def learned(trips: Path, hour: int, ledger: pr.Ledger, **changes: Any) -> pr.Release:
    unit = changes.get("unit", "request")
    guarantee = pr.Guarantee(1.0, 1e-6, unit)
    return pr.learn(pr.sioux_falls().network, history(trips, hour, **changes), guarantee, "counts", ledger=ledger)


def created(path: Path, epsilon: float, unit: Any = "request") -> pr.Ledger:
    return pr.Ledger.create(path, "city", pr.Approval(epsilon, 1e-6, unit, "Test/City"))


def test_a_trip_that_two_rules_put_into_two_hours_is_charged_twice(
    rules: Callable[[str], None], trips: Path, tmp_path: Path
) -> None:
    rules("Europe/Berlin")
    ledger, wide = created(tmp_path / "city.ledger", 1.0), created(tmp_path / "wide.ledger", 2.0)
    assert history(trips, 7).counts.sum() == 15
    for each in (ledger, wide):
        learned(trips, 7, each)
    learned(trips, 9, wide)  # another hour by the same rules costs nothing more
    once = wide.account().spent_epsilon
    rules("Europe/Helsinki")
    assert history(trips, 8).counts.sum() == 15  # the same trips
    with pytest.raises(BudgetError, match="with this release it would be"):
        learned(trips, 8, ledger)
    assert len(ledger.account().charges) == 1
    release = learned(trips, 8, wide)
    last = wide.account().charges[-1]
    assert last.times.widened_s == 3600
    assert last.scope.covers(Scope.of_days([dt.date(2026, 3, 2)], begins_s=7 * 3600, length_s=3 * 3600))
    assert wide.account().spent_epsilon > 1.3 * once
    assert (last.times.clock is not None, last.times.clock and last.times.clock.zone_data) == (
        True,
        "like Europe/Helsinki",
    )
    assert release.certificate.budget["times"]["widened_s"] == 3600  # type: ignore[index]


def test_rules_that_changed_only_for_other_days_widen_nothing(
    rules: Callable[[str], None], trips: Path, tmp_path: Path
) -> None:
    """Kaliningrad and Helsinki agree in winter; only Helsinki has summer time."""
    rules("Europe/Helsinki")
    ledger = created(tmp_path / "city.ledger", 1.0)
    learned(trips, 8, ledger)
    rules("Europe/Kaliningrad")
    learned(trips, 9, ledger)
    assert ledger.account().charges[-1].times.widened_s == 0
    ledger = created(tmp_path / "summer.ledger", 1.0)
    summer = {"dates": ("2026-06-01", "2026-06-05")}
    learned(trips, 9, ledger, **summer)
    rules("Europe/Helsinki")
    with pytest.raises(BudgetError):
        learned(trips, 10, ledger, **summer)


def test_the_day_of_a_user_must_stay_the_same(rules: Callable[[str], None], trips: Path, tmp_path: Path) -> None:
    rules("Europe/Berlin")
    trips.write_text(trips.read_text().replace("\n", ",u\n").replace("destination,u", "destination,user", 1))
    ledger = created(tmp_path / "city.ledger", 9.0, "user-day")
    bounds = {"unit": "user-day", "max_requests": 2}
    learned(trips, 7, ledger, **bounds)
    rules("Europe/Helsinki")
    with pytest.raises(LedgerError, match=r"user's day is another one.*use time zone data like Europe/Berlin"):
        learned(trips, 8, ledger, **bounds)


def test_other_columns_or_formats_of_times_are_asserted_or_refused(trips: Path, tmp_path: Path) -> None:
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6, time_zone="UTC"))
    learned(trips, 6, ledger, tz="UTC")
    trips.write_text(trips.read_text().replace("departure", "arrival", 1))
    other = {"tz": "UTC", "departure": "arrival"}
    with pytest.raises(LedgerError, match=r"departure is 'arrival' and was 'departure'.*times_as_before=True"):
        learned(trips, 7, ledger, **other)
    learned(trips, 7, ledger, times_as_before=True, **other)
    learned(trips, 8, ledger, **other)  # as asserted
    assert [charge.times.clock and charge.times.clock.as_before for charge in ledger.account().charges] == [
        False,
        True,
        False,
    ]


def test_what_a_ledger_does_not_know_is_said_to_be_unknown(trips: Path, tmp_path: Path) -> None:
    """Entries of version 0.2, and those of counts that were not read from trips, have the columns of before."""
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6, time_zone="UTC"))
    ledger.charge(Scope.of_days([dt.date(2026, 2, 2)]), pr.Guarantee(0.1, 1e-6), 1e-4, "counts", time_zone="UTC")
    learned(trips, 6, ledger, tz="UTC")
    before, after = ledger.account().charges
    assert before.times.clock is None
    assert after.times.clock is not None
    with ledger.store.transaction("read") as records:
        texts = [row[7] for row in records.charges()]
    assert texts[0] == before.scope.text()
    assert Scope.from_text(texts[0]) == before.scope


def test_a_rebuilt_ledger_knows_the_clocks_and_what_was_widened(
    rules: Callable[[str], None], trips: Path, tmp_path: Path
) -> None:
    rules("Europe/Berlin")
    ledger = created(tmp_path / "city.ledger", 3.0)
    learned(trips, 7, ledger).save(tmp_path / "a")
    rules("Europe/Helsinki")
    learned(trips, 8, ledger).save(tmp_path / "b")
    known = charges_of_releases([tmp_path / "a", tmp_path / "b"])
    again = rebuild(tmp_path / "again.ledger", known)
    ours, theirs = again.account().charges, ledger.account().charges
    assert [each.times for each in ours] == [each.times for each in theirs]
    assert all(finding.good for finding in verify(again.account(), known))
    rules("Asia/Tokyo")
    learned(trips, 15, again)
    assert again.account().charges[-1].times.widened_s == 8 * 3600  # from Berlin, seven from Helsinki


def test_days_of_a_stream_name_their_clock(rules: Callable[[str], None], trips: Path, tmp_path: Path) -> None:
    rules("Europe/Berlin")
    network, guarantee = pr.sioux_falls().network, pr.Guarantee(1.0, 1e-6)
    stream = pr.Stream(tmp_path / "stream", network, guarantee, ledger=created(tmp_path / "city.ledger", 2.0))
    for day in history(trips, 7).each_day()[:2]:
        stream.add_day(day)
    known = charges_of_stream(tmp_path / "stream")
    assert all(each.times.clock is not None and each.times.clock.zone_data == "like Europe/Berlin" for each in known)


MOMENTS = st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True).map(sorted)


@st.composite
def clocks(draw: st.DrawFn) -> tuple[ClockRules, dict[int, int]]:
    """A clock, and its offset at each whole hour for which it is known."""
    starts = draw(MOMENTS)
    until = starts[-1] + draw(st.integers(1, 20))
    offsets = [draw(st.sampled_from([-3600, 0, 1800, 3600, 7200])) for _ in starts]

    def moment(hour: int) -> str:
        return (dt.datetime(2026, 1, 1) + dt.timedelta(hours=hour)).isoformat()  # noqa: DTZ001 - of UTC

    named = tuple((moment(start), offset) for start, offset in zip(starts, offsets, strict=True))
    known = {
        hour: [offset for start, offset in zip(starts, offsets, strict=True) if start <= hour][-1]
        for hour in range(starts[0], until)
    }
    return ClockRules((("departure", "departure"),), named, moment(until), "2026a"), known


@given(clocks(), clocks())
def test_how_far_clocks_are_apart_is_the_largest_difference_where_both_are_known(
    one: tuple[ClockRules, dict[int, int]], other: tuple[ClockRules, dict[int, int]]
) -> None:
    both = one[1].keys() & other[1].keys()
    expected = max((abs(one[1][hour] - other[1][hour]) for hour in both), default=0)
    assert one[0].apart_s(other[0]) == other[0].apart_s(one[0]) == expected
    assert ClockRules.from_dict(one[0].as_dict()) == one[0]


@pytest.mark.parametrize(
    "change",
    [
        {"offsets": [["2026-01-01T00:00:00", 0.5]]},
        {"offsets": [["2026-01-01", 0]]},
        {"offsets": [["2026-01-02T00:00:00", 0], ["2026-01-01T00:00:00", 3600]]},
        {"offsets": [["2026-01-01T00:00:00", 10**9]]},
        {"until": ""},
        {"zone_data": 5},
        {"as_before": 1},
        {"reading": []},
        {"reading": None},
    ],
)
def test_what_is_no_clock_is_refused_in_a_certificate(change: dict[str, Any]) -> None:
    clock = ClockRules.of(_frame()).as_dict()  # type: ignore[union-attr]
    budget = dict(zip(BUDGET, ("a", 1, "d", 1.0, 1e-6, 0.5), strict=True))
    times = {"clock": clock, "widened_s": 0, "kept_set": None, "all_times": False}
    check_budget(budget | {"times": times})
    with pytest.raises(ReleaseError):
        check_budget(budget | {"times": times | {"clock": clock | change}})
    for other in ({"widened_s": -1}, {"widened_s": 1.0}, {"widened_s": 10**9}, {"kept_set": " "}, {"all_times": 1}):
        with pytest.raises(ReleaseError):
            check_budget(budget | {"times": times | other})
    with pytest.raises(ReleaseError):
        check_budget(budget | {"times": None})


def _frame() -> Frame:
    calendar = Calendar.of(period=("07:00", "08:00"), dates=DATES, tz="Europe/Berlin")
    return Frame(pr.Pairs.of_zones(pr.sioux_falls().network), calendar, reading=TripFormat())
