"""Functions that are told how far long computations are."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import privroute as pr
from privroute import progress
from privroute.errors import InputError


def test_each_item_is_told_after_it_was_used() -> None:
    seen: list[tuple[str, float]] = []
    told_before = [len(seen) for _ in progress.each_told("abcd", 4, "Letters", lambda *told: seen.append(told))]
    assert seen == [("Letters", share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert told_before == [1, 2, 3, 4]


def test_none_is_silent() -> None:
    assert list(progress.each_told("abc", 3, "Letters", None)) == ["a", "b", "c"]
    progress.tell(None, "Letters", 1.0)
    before = threading.active_count()
    with progress.polled("Waiting", lambda: 0.5, None):
        assert threading.active_count() == before


def test_a_long_call_is_told_from_another_thread_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_POLL_SECONDS", 0.001)
    seen: list[tuple[str, float, int]] = []
    enough = threading.Event()

    def show(phase: str, share: float) -> None:
        seen.append((phase, share, threading.get_ident()))
        enough.set()

    with progress.polled("Waiting", lambda: 0.5, show):
        assert enough.wait(30)
    told = len(seen)
    time.sleep(0.05)
    assert len(seen) == told
    assert {(phase, share) for phase, share, _ in seen} == {("Waiting", 0.5)}
    assert threading.get_ident() not in {thread for *_, thread in seen}


def test_an_error_of_the_callers_function_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_POLL_SECONDS", 0.001)
    called = threading.Event()

    def fail(_phase: str, _share: float) -> None:
        called.set()
        raise RuntimeError("from the caller")

    with pytest.raises(RuntimeError, match="from the caller"), progress.polled("Waiting", lambda: 0.5, fail):
        assert called.wait(30)


@pytest.mark.parametrize("given", [True, False, 1.0, "bar"])
def test_what_cannot_be_called_is_refused(given: object) -> None:
    with pytest.raises(InputError, match="pass a function that takes the phase and the share done, or None"):
        progress.check_progress(given)


def test_functions_and_none_are_taken() -> None:
    progress.check_progress(None)
    progress.check_progress(print)


def test_reading_trips_tells_the_share_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_POLL_SECONDS", 0.0)
    trips = tmp_path / "trips.csv"
    trips.write_text("origin,destination,departure\n" + "1,2,2026-03-02 07:15:00\n" * 20_000)
    seen: list[tuple[str, float]] = []
    history = pr.read_trips(
        trips,
        pr.sioux_falls().network,
        period=("07:00", "08:00"),
        dates=("2026-03-02", "2026-03-02"),
        report=lambda _: None,
        progress=lambda *told: seen.append(told),
    )
    assert history.counts.sum() == 20_000
    shares = [share for phase, share in seen if phase == "Reading trips"]
    assert shares
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1
