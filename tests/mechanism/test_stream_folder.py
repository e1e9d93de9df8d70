"""The folder of a stream: damage, tampering, other processes, and the account that its days are charged to."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.mechanism.stream_cases import EACH, NETWORK, PROMISE, Told, stream_in

import privroute as pr
from privroute.errors import StreamError


@pytest.fixture
def ledger(tmp_path: Path) -> pr.Ledger:
    return pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6))


def test_one_process_at_a_time_adds_a_day(tmp_path: Path) -> None:
    stream = stream_in(tmp_path)
    stream.add_day(EACH[0])
    with (tmp_path / "stream" / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StreamError, match="another process is adding a day"):
            stream.add_day(EACH[1])
    stream.add_day(EACH[1])


def damage_frame(folder: Path) -> None:
    (folder / "stream.json").write_text("{")


def lose_frame(folder: Path) -> None:
    (folder / "stream.json").unlink()


def other_format(folder: Path) -> None:
    (folder / "stream.json").write_text(json.dumps({"format": 7}))


def cut_day(folder: Path) -> None:
    path = folder / "2026-01-05.parquet"
    path.write_bytes(path.read_bytes()[:-5])


def short_day(folder: Path) -> None:
    pq.write_table(pa.table({"noisy_count": [1, 2]}), folder / "2026-01-05.parquet")


def unpaid_day(folder: Path) -> None:
    pq.write_table(pa.table({"noisy_count": pa.array(np.zeros(552), pa.int64())}), folder / "2026-01-05.parquet")


def lose_pairs(folder: Path) -> None:
    (folder / "pairs.parquet").unlink()


@pytest.mark.parametrize("damage", [damage_frame, lose_frame, other_format, cut_day, short_day, unpaid_day, lose_pairs])
def test_a_damaged_folder_is_refused(tmp_path: Path, damage: Any) -> None:
    stream_in(tmp_path).add_day(EACH[0])
    damage(tmp_path / "stream")
    with pytest.raises(StreamError, match="stream"):
        stream_in(tmp_path).release()


def test_days_whose_frame_was_lost_are_not_continued_as_a_new_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new frame could promise more than the noise in those days gives, and charge another account."""
    stream_in(tmp_path).add_day(EACH[0])
    lose_frame(tmp_path / "stream")
    told = Told(monkeypatch)
    with pytest.raises(StreamError, match="contains other files than a new stream"):
        pr.Stream(tmp_path / "stream", NETWORK, pr.Guarantee(0.1, 1e-6)).add_day(EACH[1])
    assert not told.seen


def test_a_stream_does_not_begin_among_other_files(tmp_path: Path) -> None:
    (tmp_path / "stream").mkdir()
    (tmp_path / "stream" / "notes.txt").write_text("")
    with pytest.raises(StreamError, match="contains other files"):
        stream_in(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StreamError, match="is not a folder|cannot be"):
        pr.Stream(tmp_path / "file", NETWORK, PROMISE)


@pytest.mark.parametrize(
    "changed",
    [
        {"begins": 7},
        {"begins": "x"},
        {"contribution": {"unit": "person"}},
        {"simulated": None},
        {"simulated": ...},
        None,
    ],
)
def test_a_frame_that_was_changed_by_hand_is_refused(tmp_path: Path, changed: dict[str, Any] | None) -> None:
    stream_in(tmp_path).add_day(EACH[0])
    place = tmp_path / "stream" / "stream.json"
    frame = json.loads(place.read_text())
    frame = {name: frame[name] for name in ("format", "guarantee")} if changed is None else frame | changed
    frame = {name: value for name, value in frame.items() if value is not ...}  # that one is missing
    place.write_text(json.dumps(frame))
    with pytest.raises(StreamError, match="what its days share was changed"):
        stream_in(tmp_path).release()


@pytest.mark.parametrize("budget", [{"entry": 1}, {}, None, [], 7, "paid"])
def test_a_day_that_does_not_say_who_paid_for_it_is_refused(tmp_path: Path, budget: object) -> None:
    stream_in(tmp_path).add_day(EACH[0])
    (day,) = (tmp_path / "stream").glob("2*.parquet")
    pq.write_table(pq.read_table(day).replace_schema_metadata({"budget": json.dumps(budget)}), day)
    with pytest.raises(StreamError, match="does not say what paid for it"):
        stream_in(tmp_path).release()


@pytest.mark.parametrize("account", ["none", "another data set", "another file"])
def test_a_stream_stays_with_the_account_it_was_begun_with(
    tmp_path: Path, ledger: pr.Ledger, monkeypatch: pytest.MonkeyPatch, account: str
) -> None:
    """A day that is charged elsewhere, or nowhere, could be released once more from the stream's own account."""
    stream_in(tmp_path, ledger=ledger).add_day(EACH[0])
    others = {
        "none": None,
        "another data set": pr.Ledger.create(ledger.path, "other", pr.Approval(1.0, 1e-6)),
        "another file": pr.Ledger.create(tmp_path / "second.ledger", "city", pr.Approval(1.0, 1e-6)),
    }
    told = Told(monkeypatch)
    stream = stream_in(tmp_path, ledger=others[account])
    with pytest.raises(StreamError, match="charged to the data set 'city'"):
        stream.add_day(EACH[1])
    with pytest.raises(StreamError, match="charged to the data set 'city'"):
        stream.check(EACH[1].frame)
    assert not told.seen
    assert all(not one.account().charges for one in others.values() if one is not None)
    assert isinstance(stream.release().certificate.budget, Mapping)  # of the days so far, and no trip is read


def test_an_account_is_the_same_wherever_its_file_is(tmp_path: Path, ledger: pr.Ledger) -> None:
    stream_in(tmp_path, ledger=ledger).add_day(EACH[0])
    moved = pr.Ledger(ledger.path.rename(tmp_path / "moved.ledger"))
    release = stream_in(tmp_path, ledger=moved).add_day(EACH[1])
    assert release.certificate.budget["entry"] == 2  # type: ignore[index]


def test_a_stream_keeps_the_first_account_it_is_given(tmp_path: Path, ledger: pr.Ledger) -> None:
    stream_in(tmp_path).add_day(EACH[0])
    stream_in(tmp_path, ledger=ledger).add_day(EACH[1])
    with pytest.raises(StreamError, match="charged to the data set 'city'"):
        stream_in(tmp_path).add_day(EACH[2])


def test_days_that_two_accounts_paid_for_are_tracked_by_neither(tmp_path: Path, ledger: pr.Ledger) -> None:
    """One account's total is not what all days cost, and its folders are not noted in the other one."""
    other = pr.Ledger.create(ledger.path, "other", pr.Approval(1.0, 1e-6))
    stream_in(tmp_path, ledger=ledger).add_day(EACH[0])
    stream_in(tmp_path / "second", ledger=other).add_day(EACH[1])
    (day,) = (tmp_path / "second" / "stream").glob("2*.parquet")
    day.rename(tmp_path / "stream" / day.name)
    release = stream_in(tmp_path, ledger=ledger).release()
    assert release.certificate.budget == "not tracked"
    assert release.on_saved is None
    alone = stream_in(tmp_path, pr.Daily(window=1), ledger=ledger).release()
    assert isinstance(alone.certificate.budget, Mapping)
    assert alone.certificate.budget["dataset"] == "other"
    assert alone.on_saved is None
