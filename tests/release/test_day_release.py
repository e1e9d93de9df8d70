"""A release of several periods: one folder, one certificate, the right policy at every time."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.release.days import day_release

import privroute as pr
from privroute.errors import InputError, ReleaseError
from privroute.release.explanation import explain
from privroute.release.usefulness import period_values
from privroute.study.calendar import Slot


@pytest.fixture(scope="module")
def release() -> pr.Release:
    return day_release("Europe/Berlin")


def test_a_moment_has_the_policy_of_its_period_and_kind_of_day(release: pr.Release) -> None:
    slots = [str(slot) for slot in release.slots]
    assert slots == ["workday 07:00-08:00", "workday 08:00-09:00", "weekend 07:00-08:00", "weekend 08:00-09:00"]
    assert str(release.slot) == "weekend 08:00-09:00"  # the busiest
    monday = release.at("2026-05-04 07:30")
    assert (str(monday.slot), monday.policy) == (slots[0], release.parts[0].policy)
    assert monday.demand is release.parts[0].demand
    assert monday.quality is release.parts[0].quality
    assert str(release.at("2026-05-09T08:59:59").slot) == slots[3]
    assert str(release.at("workday 08:00-09:00").slot) == slots[1]
    assert str(release.at(dt.datetime(2026, 5, 4, 6, 30, tzinfo=dt.UTC)).slot) == slots[1]  # 08:30 in Berlin
    assert str(release.at(dt.datetime(2026, 5, 4, 7, 0, tzinfo=ZoneInfo("Europe/Berlin"))).slot) == slots[0]
    assert [each.position for each in release.each()] == [0, 1, 2, 3]
    with pytest.raises(ReleaseError, match="no policy for 2026-05-04 09:00"):
        release.at("2026-05-04 09:00")
    with pytest.raises(InputError, match="is not a moment"):
        release.at("monday morning")
    for far in ("0001-01-01 07:30", "0001-01-01 00:00:00+14:00", "9999-12-31 23:59:59-12:00"):
        with pytest.raises(ReleaseError, match="no policy"):
            release.at(far)


def test_periods_are_not_spelled_at_every_question(release: pr.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release may have hundreds of them, and a server is asked thousands of times a second."""
    first = release.at("2026-05-04 07:30")

    def spelt(_: Slot) -> str:
        pytest.fail("a period was spelled")

    monkeypatch.setattr(Slot, "__str__", spelt)
    monkeypatch.setattr(Slot, "key", property(spelt))
    for when in ("2026-05-04 07:30", "workday 07:00-08:00", "workday_0700-0800"):
        assert release.at(when).position == first.position == release.position_at(when)


def test_a_folder_holds_all_periods_and_reads_each_when_it_is_used(release: pr.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"policy_workday_0700-0800.arrow", "demand_weekend_0800-0900.parquet", "release.json"} <= names
    again = pr.load_release(tmp_path / "out")
    assert again.certificate == release.certificate
    for one, other in zip(again.each(), release.each(), strict=True):
        assert one.policy.as_paths() == other.policy.as_paths()
        assert one.noisy_counts is not None
        assert other.noisy_counts is not None
        assert np.array_equal(one.noisy_counts, other.noisy_counts)
        assert one.quality == other.quality
    again.save(tmp_path / "copy")
    assert (tmp_path / "copy" / "release.json").read_bytes() == (tmp_path / "out" / "release.json").read_bytes()
    release.save(tmp_path / "out", overwrite=True)  # replaced whole
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    (tmp_path / "out" / "policy_workday_0700-0800.arrow").write_bytes(b"other")
    damaged = pr.load_release(tmp_path / "out")  # the busiest period is whole
    with pytest.raises(ReleaseError, match="not the file that was released"):
        damaged.at("2026-05-04 07:30")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found["periods"].pop(), "other periods than the manifest"),
        (lambda found: found["periods"][0].update(period="06:00-07:00"), "other periods than the manifest"),
        (lambda found: found["periods"][0].update(vehicles_per_hour="many"), "vehicles_per_hour"),
        (lambda found: found.update(format=2), "damaged|other files"),
        (lambda found: found["sha256"].update({"demand_../x.parquet": ""}), "other files than a release has"),
    ],
)
def test_a_manifest_that_contradicts_its_certificate_is_refused(
    release: pr.Release, tmp_path: Path, change: object, message: str
) -> None:
    release.save(tmp_path / "out")
    path = tmp_path / "out" / "release.json"
    manifest = json.loads(path.read_text())
    change(manifest)  # type: ignore[operator]
    path.write_text(json.dumps(manifest))
    with pytest.raises(ReleaseError, match=message):
        pr.load_release(tmp_path / "out")


def test_the_certificate_says_what_the_periods_cost_together(release: pr.Release) -> None:
    made = " ".join(explain(release.certificate).made)
    assert "4 policies, one for each period and kind of day" in made
    assert "a trip is in one of them, so all of them cost what one costs" in made
    values = [period_values(each) for each in release.each()]
    assert [each["days"] for each in values] == [10, 10, 4, 4]
    assert all(each["quality"] is not None for each in values)


def test_a_release_of_one_period_answers_by_the_clock_too() -> None:
    city = pr.sioux_falls()
    calendar = pr.Calendar.of("07:00-08:00", ("2026-03-02", "2026-03-06"), "mon-fri")
    frame = pr.Frame(city.demand.pairs, calendar)
    history = pr.DemandHistory.of(frame, pr.simulate_days(city.demand, days=5, seed=1).counts)
    release = pr.learn(city.network, history, pr.Guarantee(1.0, 1e-6), "counts", quality_share=0.0)
    assert release.at("2026-05-04 07:30") is release
    for when in ("2026-05-04 07:30+00:00", dt.datetime(2026, 5, 4, 7, 30, tzinfo=dt.UTC)):
        with pytest.raises(InputError, match="whose time zone is not known; omit the offset"):
            release.at(when)
    with pytest.raises(ReleaseError, match="no policy"):
        release.at("2026-05-09 07:30")  # a Saturday
    assert pickle.loads(pickle.dumps(release.certificate)) == release.certificate  # noqa: S301
