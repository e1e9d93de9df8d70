"""User level: what is kept of a user is that user's own matter, and never more than the sensitivity allows."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.history.trip_cases import NETWORK, counts_of, read, write_csv, write_parquet
from tests.statistical.rates import EACH

import privroute as pr
from privroute.errors import GuaranteeError, HistoryError
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.history import bounding
from privroute.mechanism.learn import learn_with_noise
from privroute.privacy.sensitivity import summed_counts_sensitivity

ZONES = ("1", "2", "a b")
ENDS = [(first, second) for first in ZONES for second in ZONES if first != second]
DAYS = ("2026-03-27", "2026-03-28", "2026-03-29", "2026-03-30")


def row(user: object, ends: tuple[str, str], day: str, minute: int) -> str:
    return f"{ends[0]},{ends[1]},{day} 07:{minute:02},{user}"


@pytest.fixture
def same_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours are compared under one salt: the guarantee holds for each, so for any mixture of them."""
    monkeypatch.setattr(bounding, "new_salt", lambda: "5a" * 16)


REQUESTS = st.lists(
    st.builds(
        row,
        st.sampled_from(["u", "v", "w"]),
        st.sampled_from(ENDS),
        st.sampled_from(DAYS),
        st.integers(0, 3),  # few minutes, so that equal requests occur
    ),
    max_size=40,
)
LOUD = st.lists(
    st.builds(row, st.just("loud"), st.sampled_from(ENDS), st.sampled_from(DAYS), st.integers(0, 59)), max_size=60
)


@given(REQUESTS, LOUD, st.integers(1, 6), st.integers(1, 6), st.sampled_from(["user", "user-day"]), st.randoms())
@settings(max_examples=60)
def test_a_user_with_trips_everywhere_moves_counts_by_at_most_the_sensitivity(
    tmp_path_factory: pytest.TempPathFactory,
    others: list[str],
    loud: list[str],
    most: int,
    per_pair: int,
    unit: Any,
    chance: Any,
) -> None:
    place = tmp_path_factory.mktemp("user")
    if unit == "user-day":
        loud = [line.replace(line.split(",")[2][:10], DAYS[1]) for line in loud]
    bounds = {"unit": unit, "max_requests": most, "max_per_pair": min(per_pair, most)}
    mixed = others + loud
    chance.shuffle(mixed)  # the order of rows must not matter
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounding, "new_salt", lambda: "5a" * 16)
        without, _ = read(write_csv(place, *others), **bounds)
        with_loud, _ = read(write_csv(place, *mixed), **bounds)
    difference = with_loud.counts - without.counts
    assert (difference >= 0).all(), "nobody else's requests were displaced"
    assert difference.sum() <= most
    bound = summed_counts_sensitivity(pr.Guarantee(1.0, 1e-6, unit), with_loud.contribution)
    assert np.linalg.norm(difference.sum(axis=0)) <= bound
    assert np.linalg.norm(difference) <= bound
    assert bound == pytest.approx(math.sqrt(most * min(per_pair, most)))


@pytest.mark.usefixtures("same_salt")
def test_the_bound_is_reached_by_a_user_with_a_habit(tmp_path: Path) -> None:
    habit = [row("loud", ENDS[0], day, minute) for day in DAYS for minute in range(5)]
    history, rows = read(write_csv(tmp_path, *habit), unit="user", max_requests=7)
    assert np.linalg.norm(history.counts.sum(axis=0)) == 7
    assert (rows.counted, rows.above_bounds) == (7, 13)
    history, _ = read(write_csv(tmp_path, *habit), unit="user", max_requests=7, max_per_pair=2)
    assert history.counts.sum() == 2
    history, _ = read(write_csv(tmp_path, *habit), unit="user-day", max_requests=3)
    assert history.counts.sum(axis=1).tolist() == [3, 3, 3, 3]


@pytest.mark.usefixtures("same_salt")
def test_what_is_kept_does_not_depend_on_order_or_files(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    lines = [
        row(user, ENDS[chance.integers(6)], DAYS[chance.integers(4)], int(chance.integers(60)))
        for user in range(30)
        for _ in range(9)
    ]
    bounds: dict[str, Any] = {"unit": "user", "max_requests": 4, "max_per_pair": 2}
    whole, _ = read(write_csv(tmp_path, *lines), **bounds)
    backwards, _ = read(write_csv(tmp_path, *reversed(lines)), **bounds)
    parts = []
    for part in range(3):
        (tmp_path / f"{part}").mkdir()
        parts.append(write_csv(tmp_path / f"{part}", *lines[part::3]))
    assert read(parts, **bounds)[0] == backwards == whole


def test_every_request_of_a_user_is_as_likely_to_be_kept(tmp_path: Path) -> None:
    """30 users have the same ten requests, two of them equal; three are kept each, with a new salt every time."""
    own = [(ENDS[number % 6], DAYS[number % 4], number % 7) for number in range(8)] + [(ENDS[0], DAYS[0], 59)] * 2
    path = write_csv(tmp_path, *(row(user, *request) for user in range(100) for request in own))
    seen: Counter[tuple[str, str, str]] = Counter()
    runs = 20
    for _ in range(runs):
        seen.update(counts_of(read(path, unit="user", max_requests=3)[0]))
    expected = Counter((day, *ends) for ends, day, _ in own)
    for place, number in expected.items():
        trials = 100 * runs * number
        mean, deviation = 0.3 * trials, math.sqrt(0.21 * trials * number)  # kept together or not, at worst
        assert abs(seen[place] - mean) < deviation * math.sqrt(2 * math.log(2 * len(expected) / EACH))
    assert sum(seen.values()) == 3 * 100 * runs


def test_one_person_is_one_user_however_files_write_the_id(tmp_path: Path) -> None:
    when = [dt.datetime(2026, 3, 27, 7, 30)] * 2  # noqa: DTZ001 - local time
    ends = {"origin": [1, 1], "destination": [2, 2], "departure": when}
    files = [
        write_parquet(tmp_path / "a.parquet", user=[7, 7], **ends),
        write_parquet(tmp_path / "b.parquet", user=[7.0, 7.0], **ends),
        write_parquet(tmp_path / "c.parquet", user=["7", " 7.0 "], **ends),
        write_csv(tmp_path, row("7", ENDS[0], DAYS[0], 1), row('"7.00"', ENDS[0], DAYS[0], 1)),
    ]
    _, rows = read(files, unit="user", max_requests=1)
    assert (rows.counted, rows.above_bounds) == (1, 7)


def test_rows_without_a_user_are_dropped_and_files_without_users_refused(tmp_path: Path) -> None:
    lines = [row(user, ENDS[0], DAYS[0], 1) for user in ("", " ", "NaN", "null", "None", "u")]
    _, rows = read(write_csv(tmp_path, *lines), unit="user", max_requests=5)
    assert (rows.counted, rows.missing_user) == (1, 5)
    with pytest.raises(pr.PrivrouteError, match="'rider'; name the column with user="):
        read(write_csv(tmp_path, *lines), unit="user", max_requests=5, user="rider")
    columns = {"origin": [1], "destination": [2], "departure": ["2026-03-27 07:30"], "user": [[1]]}
    with pytest.raises(pr.PrivrouteError, match="user ids are whole numbers or texts"):
        read(write_parquet(tmp_path / "a.parquet", **columns), unit="user", max_requests=5)


PROMISES = {unit: pr.Guarantee(1.0, 1e-6, unit) for unit in ("request", "user", "user-day")}


@pytest.mark.parametrize("mechanism", ["counts", "daily"])
def test_units_do_not_mix(tmp_path: Path, mechanism: str) -> None:
    path = write_csv(tmp_path, row("u", ENDS[0], DAYS[0], 1))
    histories = {
        "request": read(path)[0],
        "user": read(path, unit="user", max_requests=8, max_per_pair=2)[0],
        "user-day": read(path, unit="user-day", max_requests=8, max_per_pair=2)[0],
    }
    for unit, promise in PROMISES.items():
        for kept, history in histories.items():
            if kept == unit:
                certificate = pr.learn(NETWORK, history, promise, mechanism).certificate
                assert certificate.private
                assert (certificate.unit, certificate.sensitivity) == (unit, 1.0 if unit == "request" else 4.0)
            else:
                with pytest.raises(GuaranteeError, match="unit="):
                    pr.learn(NETWORK, history, promise, mechanism)


def test_the_certificate_says_what_was_kept_and_reads_back(tmp_path: Path) -> None:
    history, _ = read(write_csv(tmp_path, row("u", ENDS[0], DAYS[0], 1)), unit="user", max_requests=10, max_per_pair=3)
    pr.learn(NETWORK, history, PROMISES["user"]).save(tmp_path / "out")
    certificate = pr.load_release(tmp_path / "out").certificate
    assert (certificate.unit, certificate.max_requests, certificate.max_per_pair) == ("user", 10, 3)
    assert "all requests of one user" in certificate.adjacency
    values = certificate.as_dict()
    for change in (
        {"max_requests": None},
        {"max_per_pair": 11},
        {"max_requests": 100},
        {"max_requests": True},
        {"unit": "request"},
        {"unit": "user-day"},
    ):
        with pytest.raises(pr.PrivrouteError, match="certificate"):
            pr.Certificate.from_dict(values | change)


def test_a_history_of_users_survives_copies_and_is_refused_with_wrong_bounds() -> None:
    kept = pr.Contribution("user", 5)
    history = pr.DemandHistory(pr.Pairs([0], [1]), [[3]], contribution=kept)
    assert history.contribution == pr.Contribution("user", 5, 5)
    assert history != pr.DemandHistory(pr.Pairs([0], [1]), [[3]])
    with pytest.raises(HistoryError, match="contribution is a int"):
        pr.DemandHistory(pr.Pairs([0], [1]), [[3]], contribution=5)  # type: ignore[arg-type]
    for values in (("person", 5), ("user", 0), ("user", 5, 6), ("user", 5, 0), ("user", 2.0), ("user", 2**40)):
        with pytest.raises(HistoryError):
            pr.Contribution(*values)


def test_the_noise_grows_with_the_bounds(tmp_path: Path) -> None:
    path = write_csv(tmp_path, row("u", ENDS[0], DAYS[0], 1))
    scales = []
    for per_pair in (1, 4):
        history, _ = read(path, unit="user", max_requests=4, max_per_pair=per_pair)
        release = learn_with_noise(NETWORK, history, PROMISES["user"], "counts", SeededNoise(1))
        assert release.certificate.noise_scale
        scales.append(release.certificate.noise_scale)
    assert scales[1] / scales[0] == pytest.approx(2.0, rel=1e-6)


def test_only_a_caller_who_asserts_it_reads_a_pre_bounded_set(tmp_path: Path) -> None:
    path = write_csv(tmp_path, row("u", ("1", "2"), "2026-03-27", 1))
    for vouched in (False, True):
        history, _ = read(path, unit="user", max_requests=3, pre_bounded=vouched)
        assert history.contribution == pr.Contribution("user", 3, 3, pre_bounded=vouched)
    with pytest.raises(HistoryError, match="pre_bounded= is about users"):
        read(path, pre_bounded=True)
    with pytest.raises(HistoryError, match="pre_bounded is True"):
        read(path, unit="user-day", max_requests=3, pre_bounded=True)


def test_users_whose_ids_are_broken_in_different_ways_are_not_made_one(tmp_path: Path) -> None:
    """If they were, the requests of one would displace those of the other, and both would move the counts."""
    ids = pa.Array.from_buffers(pa.string(), 3, pa.array([b"u", b"\xff", b"\xfe"], pa.binary()).buffers())
    when = [dt.datetime(2026, 3, 27, 7, minute) for minute in range(3)]  # noqa: DTZ001 - local time
    path = write_parquet(tmp_path / "trips.parquet", origin=[1] * 3, destination=[2] * 3, departure=when, user=ids)
    _, rows = read(path, unit="user", max_requests=1)
    assert (rows.counted, rows.missing_user, rows.above_bounds) == (1, 2, 0)


def test_every_reading_has_a_salt_of_its_own() -> None:
    salts = {bounding.new_salt() for _ in range(100)}
    assert len(salts) == 100
    assert min(map(len, salts)) >= 32
