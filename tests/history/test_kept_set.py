"""The kept set: at most k trips of each user, chosen without looking at anybody else, once."""

from __future__ import annotations

import gzip
import math
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privroute as pr
from privroute.errors import FormatError, HistoryError
from privroute.history.kept_set import TRIPS, bound_trips
from privroute.study.trip_format import TripFormat

CITY = pr.sioux_falls()


def table(rows: int = 3000, seed: int = 1, users: int = 80) -> dict[str, Any]:
    chance = np.random.default_rng(seed)
    times = np.datetime64("2026-03-02", "us") + chance.integers(0, 28 * 86_400, rows).astype("timedelta64[s]")
    return {
        "user": chance.zipf(1.5, rows) % users,
        "origin": chance.integers(1, 6, rows),
        "destination": chance.integers(1, 6, rows),
        "departure": pa.array(times),
    }


def written(path: Path, columns: dict[str, Any]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def rows_of(folder: Path) -> list[tuple[Any, ...]]:
    found = pq.read_table(folder / TRIPS).to_pydict()
    return list(zip(*(found[name] for name in ("user", "origin", "destination", "departure")), strict=True))


def test_each_user_keeps_as_many_as_the_bounds_allow_and_only_own_trips(tmp_path: Path) -> None:
    path = written(tmp_path / "trips.parquet", table())
    bound_trips(path, tmp_path / "kept", max_requests=10, max_per_pair=2)
    read = pq.read_table(path).select(["user", "origin", "destination", "departure"]).to_pydict()
    kept, everything = Counter(rows_of(tmp_path / "kept")), Counter(zip(*read.values(), strict=True))
    assert kept <= everything
    per_user, per_pair, made = Counter[Any](), Counter[Any](), Counter[Any]()
    for row, times in kept.items():
        per_user[row[0]] += times
        per_pair[row[:3]] += times
    assert max(per_user.values()) <= 10
    assert max(per_pair.values()) <= 2
    pairs_of: dict[Any, Counter[Any]] = {}
    for row, times in everything.items():
        pairs_of.setdefault(row[0], Counter())[row[1:3]] += times
    for user, pairs in pairs_of.items():
        made[user] = min(10, sum(min(times, 2) for times in pairs.values()))
    assert per_user == made


@pytest.mark.parametrize("alike", [(0.0, -0.0), (math.nan, -math.nan)])
def test_numbers_that_are_equal_but_not_the_same_have_keys_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alike: tuple[float, float]
) -> None:
    layout = TripFormat(origin=("x", "y"), destination=("to_x", "to_y"))
    kept = set()
    for salt in range(8):
        monkeypatch.setattr("privroute.history.kept_set.new_salt", lambda salt=salt: f"salt {salt}")
        chosen = set()
        for number, longitudes in enumerate(([*alike, 3.0, 4.0], [*alike[::-1], 3.0, 4.0])):
            columns = {
                "user": ["u"] * 4,
                "x": longitudes,
                **dict.fromkeys(("y", "to_x", "to_y"), [51.5] * 4),
                "departure": pa.array([0, 0, 1, 2], pa.timestamp("us")),
            }
            place = tmp_path / f"{salt} {number}"
            bound_trips(written(tmp_path / "trips.parquet", columns), place, max_requests=2, trips=layout)
            found = pq.read_table(place / TRIPS)["x"].to_pylist()
            chosen.add(tuple(sorted(f"{math.copysign(1.0, each)} {each}" for each in found)))
        assert len(chosen) == 1  # whichever of the two comes first
        kept |= chosen
    assert len(kept) > 1


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_what_is_kept_of_a_user_depends_on_nobody_else(
    tmp_path_factory: pytest.TempPathFactory, seed: int, most: int
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    columns = table(400, seed % 1000, users=12)
    order = np.random.default_rng(seed).permutation(400)
    others = np.flatnonzero(np.asarray(columns["user"]) != 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privroute.history.kept_set.new_salt", lambda: "salt")  # the same choice each time
        whole = written(folder / "all.parquet", columns)
        bound_trips(whole, folder / "a", max_requests=most)
        shuffled = {name: pa.array(values).take(pa.array(order)) for name, values in columns.items()}
        bound_trips(written(folder / "shuffled.parquet", shuffled), folder / "b", max_requests=most)
        without = {name: pa.array(values).take(pa.array(others)) for name, values in columns.items()}
        bound_trips(written(folder / "without.parquet", without), folder / "c", max_requests=most)
    assert Counter(rows_of(folder / "a")) == Counter(rows_of(folder / "b"))
    assert Counter(row for row in rows_of(folder / "a") if row[0] != 3) == Counter(rows_of(folder / "c"))


def test_a_bound_for_life_holds_for_all_parts_together(tmp_path: Path) -> None:
    first = written(tmp_path / "first.parquet", table(seed=1))
    second = written(tmp_path / "second.parquet", table(seed=2))
    bound_trips(first, tmp_path / "a", max_requests=7, max_per_pair=2)
    bound_trips(second, tmp_path / "b", max_requests=7, max_per_pair=2, previous=[tmp_path / "a"])
    both = [*rows_of(tmp_path / "a"), *rows_of(tmp_path / "b")]
    assert max(Counter(row[0] for row in both).values()) <= 7
    assert max(Counter(row[:3] for row in both).values()) <= 2
    assert rows_of(tmp_path / "b")
    with pytest.raises(HistoryError, match="the same for all parts"):
        bound_trips(second, tmp_path / "c", max_requests=8, max_per_pair=2, previous=[tmp_path / "a"])
    with pytest.raises(FormatError, match="not a kept set"):
        bound_trips(second, tmp_path / "c", max_requests=7, previous=[tmp_path])


def test_the_kept_set_is_read_as_bounded_and_one_ledger_takes_all_its_periods(tmp_path: Path) -> None:
    path = written(tmp_path / "trips.parquet", table())
    _, _, name = bound_trips(path, tmp_path / "kept", max_requests=5)
    approval = pr.Approval(1.0, 1e-6, "user", kept_requests=5)
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", approval)
    promised = pr.Guarantee(0.9, 1e-6, "user")
    for dates in (("2026-03-02", "2026-03-15"), ("2026-03-16", "2026-03-29")):
        history = pr.read_trips(
            tmp_path / "kept" / TRIPS,
            CITY.network,
            period=["06:00-12:00/3h"],
            dates=dates,
            day_types={"workday": "mon-fri", "weekend": "sat,sun"},
            unit="user",
            max_requests=5,
            pre_bounded=True,
            kept_set=name,
            report=lambda _: None,
        )
        pr.learn(CITY.network, history, promised, pr.Counts(gap=1e-3), quality_share=0.0, ledger=ledger)
    assert ledger.account().spent_epsilon <= 0.9  # two releases of four periods each cost what one costs


def test_the_files_are_private_and_never_replaced(tmp_path: Path) -> None:
    path = written(tmp_path / "trips.parquet", table(200))
    bound_trips(path, tmp_path / "kept", max_requests=2)
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "kept" / TRIPS).stat().st_mode) == 0o600
    with pytest.raises(HistoryError, match="made once and never replaced"):
        bound_trips(path, tmp_path / "kept", max_requests=2)
    with pytest.raises(HistoryError, match="needs columns of zones"):
        layout = TripFormat(origin=("x", "y"), destination=("u", "v"))
        bound_trips(path, tmp_path / "other", max_requests=2, max_per_pair=1, trips=layout)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["kept", "trips.parquet"]


def test_files_of_different_types_are_refused(tmp_path: Path) -> None:
    """Otherwise some would be left out, or a user would be several."""
    numbers = written(tmp_path / "numbers.parquet", table(20))
    texts = written(tmp_path / "texts.parquet", table(20) | {"user": ["u"] * 20})
    with pytest.raises(HistoryError, match="columns of different types"):
        bound_trips([numbers, texts], tmp_path / "kept", max_requests=2)
    bound_trips(numbers, tmp_path / "new" / "kept", max_requests=2)
    with pytest.raises(HistoryError, match="have other types than the new files"):
        bound_trips(texts, tmp_path / "more", max_requests=2, previous=[tmp_path / "new" / "kept"])


def test_a_damaged_file_leaves_no_kept_set(tmp_path: Path) -> None:
    lines = [f"u{i},{i % 4 + 1},9,2026-03-02 07:{i % 60:02}:00" for i in range(4000)]
    path = tmp_path / "trips.csv.gz"
    path.write_bytes(gzip.compress("\n".join(["user,origin,destination,departure", *lines]).encode())[:-500])
    with pytest.raises(HistoryError, match="cannot be read to their end"):
        bound_trips(path, tmp_path / "kept", max_requests=2)
    assert [item.name for item in tmp_path.iterdir()] == ["trips.csv.gz"]


def test_one_column_for_two_things_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    columns = {"user": ["u"], "zone": ["1"], "departure": pa.array([0], pa.timestamp("us"))}
    layout = TripFormat(origin="zone", destination="zone")
    with pytest.raises(HistoryError, match="one column is named for two things"):
        bound_trips(written(tmp_path / "trips.parquet", columns), tmp_path / "kept", max_requests=2, trips=layout)
    assert not (tmp_path / "kept").exists()


def test_csv_files_and_texts_are_kept_as_they_are(tmp_path: Path) -> None:
    lines = ["user,origin,destination,departure"]
    lines += [f"u{i % 3},{i % 4 + 1},9,2026-03-02 07:{i:02}:00" for i in range(40)]
    lines.append(",1,2,2026-03-02 07:00:00")
    (tmp_path / "trips.csv").write_text("\n".join(lines) + "\n")
    bound_trips(tmp_path / "trips.csv", tmp_path / "kept", max_requests=4)
    kept = rows_of(tmp_path / "kept")
    assert sorted(Counter(row[0] for row in kept).items()) == [("u0", 4), ("u1", 4), ("u2", 4)]
    assert {f"{row[0]},{row[1]},{row[2]},{row[3]}" for row in kept} <= set(lines)


def test_a_user_whose_id_is_written_in_another_way_stays_one_user_for_life(tmp_path: Path) -> None:
    """32 digits are a UUID when they are read again from a kept set."""
    folders: list[Path] = []
    for month in ("03", "04"):
        path = tmp_path / f"{month}.csv"
        lines = [f"1,2,2026-{month}-27 07:10:00,{user}" for user in ("1.2345678901234568e+31", "bob")]
        path.write_text("\n".join(["origin,destination,departure,user", *lines]) + "\n")
        bound_trips(path, tmp_path / month, max_requests=1, previous=folders)
        folders.append(tmp_path / month)
    assert [pq.read_metadata(folder / TRIPS).num_rows for folder in folders] == [2, 0]


class TestNamesOfKeptSets:
    """Two selections from one data set hold more of a user together than one, so a ledger must tell them apart."""

    @pytest.fixture
    def trips(self, tmp_path: Path) -> Path:
        return written(tmp_path / "trips.parquet", table())

    def test_each_selection_has_a_name_of_its_own_and_its_parts_share_it(self, trips: Path, tmp_path: Path) -> None:
        names = [bound_trips(trips, tmp_path / place, max_requests=5)[2] for place in ("a", "b")]
        assert names[0] != names[1]
        more = written(tmp_path / "more.parquet", table(seed=2))
        part = bound_trips(more, tmp_path / "a2", max_requests=5, previous=[tmp_path / "a"])
        assert part[2] == names[0]

    def test_a_limit_for_life_needs_every_part_and_one_chain(self, trips: Path, tmp_path: Path) -> None:
        def bound(place: str, *previous: str) -> None:
            bound_trips(trips, tmp_path / place, max_requests=5, previous=[tmp_path / one for one in previous])

        bound("one")
        bound("two", "one")
        with pytest.raises(HistoryError, match=r"is not the last part.*pass that one, too"):
            bound("fork", "one")
        with pytest.raises(HistoryError, match="the parts 2 of the kept set"):
            bound("three", "two")
        with pytest.raises(HistoryError, match="the parts 1, 2, 2 of"):
            bound("three", "one", "two", "two")
        bound("three", "two", "one")
        bound("other")
        with pytest.raises(HistoryError, match="is not a part of the kept set of"):
            bound("four", "one", "two", "three", "other")
        assert not (tmp_path / "fork").exists()
        assert not (tmp_path / "four").exists()

    def test_files_of_another_set_than_the_one_that_is_named_are_refused(self, trips: Path, tmp_path: Path) -> None:
        _, _, name = bound_trips(trips, tmp_path / "kept", max_requests=5)
        read: dict[str, Any] = {
            "period": ("00:00", "24:00"),
            "dates": ("2026-03-02", "2026-03-29"),
            "unit": "user",
            "max_requests": 5,
            "pre_bounded": True,
            "report": lambda _: None,
        }
        pr.read_trips(tmp_path / "kept" / TRIPS, CITY.network, kept_set=name, **read)
        with pytest.raises(HistoryError, match="and kept_set is 'another'; pass that name"):
            pr.read_trips(tmp_path / "kept" / TRIPS, CITY.network, kept_set="another", **read)
