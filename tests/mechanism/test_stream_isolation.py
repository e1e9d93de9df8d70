"""A stream publishes the noise's answer and public data: other trips behind the same answer change no byte."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.mechanism.stream_cases import DAYS, NETWORK, PROMISE

import privroute as pr
from privroute.mechanism.stream_files import StreamFiles
from privroute.privacy.noise import OpenDPNoise

ANSWER = np.random.default_rng(5).integers(-50, 3000, (3, 552))
NOW = "2026-11-02T08:00:00+00:00"


class Recorded:
    """The noise answers with the numbers of a recording, one row for each call, whatever it is given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0

        def add(_noise: OpenDPNoise, values: NDArray[np.int64], _scale: float) -> NDArray[np.int64]:
            assert values.shape == ANSWER[self.calls].shape
            self.calls += 1
            return np.asarray(ANSWER[self.calls - 1].copy())

        monkeypatch.setattr(OpenDPNoise, "add_integers", add)


def days_like(seed: int) -> list[pr.DemandHistory]:
    """Three days with the same public frame: empty ones, usual ones, and ones with a single pair that is crowded."""
    counts = np.zeros((3, 552), np.int64)
    if seed == 1:
        counts = np.random.default_rng(1).integers(0, 5000, counts.shape)
    if seed == 2:
        counts[:, 7] = 10**9
    return pr.DemandHistory(DAYS.pairs, counts, dates=(DAYS.dates or ())[:3], begins=None).each_day()


def published(place: Path, seed: int, options: pr.Daily, *, charged: bool, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Everything that a stream of three days leaves behind: all files by their bytes, and what it says of itself."""
    recorded = Recorded(patch)
    place.mkdir()
    ledger = pr.Ledger.create(place / "city.ledger", "city", pr.Approval(2.0, 1e-6)) if charged else None
    releases = []
    for number, day in enumerate(days_like(seed)):
        stream = pr.Stream(place / "stream", NETWORK, PROMISE, options, ledger=ledger)
        release = stream.add_day(day)
        release.save(place / f"release {number}")
        releases.append(repr(release))
    stream.release().save(place / "again")
    assert recorded.calls == 3, "the data were used in more than one noisy query for each day"
    found = {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}
    shutil.rmtree(place)
    return {**found, "repr": repr(stream), "releases": releases}


def check_isolation(place: Path, options: pr.Daily, *, charged: bool, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("privroute.privacy.ledger._now", lambda *_: NOW)
    first, *others = (published(place / "city", seed, options, charged=charged, patch=patch) for seed in range(3))
    assert {"stream/stream.json", "stream/pairs.parquet", "stream/2026-01-07.parquet", "again/release.json"} < set(
        first
    )
    assert ("city.ledger" in first) == charged
    for other in others:
        assert other.keys() == first.keys()
        assert [name for name in first if other[name] != first[name]] == []


@pytest.mark.parametrize("charged", [False, True], ids=["uncharged", "charged"])
@pytest.mark.parametrize(
    "options", [pr.Daily(), pr.Daily(window=2, half_life_days=3.0)], ids=["all days", "fading window"]
)
def test_swapping_the_raw_days_behind_the_noise_changes_no_byte_of_a_stream(
    tmp_path: Path,
    options: pr.Daily,
    charged: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    check_isolation(tmp_path, options, charged=charged, patch=monkeypatch)
    assert capfd.readouterr() == ("", "")


def test_a_total_of_the_first_day_beside_what_all_days_share_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, added = StreamFiles.begin, pr.Stream.add_day
    total: list[int] = []

    def telling(files: Any, frame: dict[str, Any], *labels: Any) -> None:
        begin(files, frame | {"total": total[-1]}, *labels)

    def add_day(stream: pr.Stream, history: pr.DemandHistory, **options: Any) -> pr.Release:
        total.append(int(history.counts.sum()))
        return added(stream, history, **options)

    monkeypatch.setattr(StreamFiles, "begin", telling)
    monkeypatch.setattr(pr.Stream, "add_day", add_day)
    with pytest.raises(AssertionError, match=r"stream/stream\.json"):
        check_isolation(tmp_path, pr.Daily(), charged=False, patch=monkeypatch)
