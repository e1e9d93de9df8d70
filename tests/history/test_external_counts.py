"""Counts of another system: each row by itself, and the certificate says what was asserted."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privroute as pr
from privroute.errors import FormatError, HistoryError
from privroute.release.explanation import explain
from privroute.study.trip_format import COUNTS_ARE_TRIPS

CITY = pr.sioux_falls()
DAY = dt.date(2026, 3, 2)
TABLES = pr.TripFormat(rows_are_trips=True)


def study(period: Any = ("07:00", "08:00"), **bounds: Any) -> pr.Study:
    calendar = pr.Calendar.of(period, (DAY, DAY + dt.timedelta(days=1)))
    contribution = pr.Contribution(**bounds) if bounds else None
    frame = pr.Frame(CITY.demand.pairs, calendar, contribution=contribution)
    return pr.Study(
        CITY.network, frame, pr.Guarantee(1.0, 1e-6, bounds.get("unit", "request")), pr.Counts(), trips=TABLES
    )


def table(**columns: Any) -> pa.Table:
    good: dict[str, Any] = {"day": [DAY], "origin": [1], "destination": ["2"], "trips": [3]}
    return pa.table(good | columns)


def test_rows_are_added_up_and_bad_ones_dropped(tmp_path: Path) -> None:
    rows = [
        ("2026-03-02", "1", "2", 3),
        ("2026-03-02", " 1", "2 ", 4),
        ("2026-03-03", "1", "2", 5),
        ("2026-03-04", "1", "2", 100),
        ("yesterday", "1", "2", 100),
        (None, "1", "2", 100),
        ("2026-03-02", "1", "1", 100),
        ("2026-03-02", "nowhere", "2", 100),
        ("2026-03-02", "1", "2", -1),
        ("2026-03-02", "1", "2", None),
    ]
    names = ("day", "origin", "destination", "trips")
    given = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    pq.write_table(given, tmp_path / "counts.parquet")
    seen: list[Any] = []
    histories = [pr.read_counts(source, study(), report=seen.append) for source in (given, tmp_path / "counts.parquet")]
    assert histories[0] == histories[1]
    pair = CITY.demand.pairs
    at = [(o, d) for o, d in zip(pair.origin.tolist(), pair.destination.tolist(), strict=True)].index((0, 1))
    assert histories[0].counts[:, at].tolist() == [7, 5]
    assert histories[0].counts.sum() == 12
    assert (seen[0].counted, seen[0].outside, seen[0].unreadable_time, seen[0].unreadable_count) == (3, 1, 2, 2)
    assert (seen[0].within_zone, seen[0].unknown_zone) == (1, 1)


def test_every_day_and_pair_has_the_count_of_its_own_row() -> None:
    pairs, names = CITY.demand.pairs, CITY.network.node_labels
    numbers = np.arange(1, 2 * len(pairs) + 1).reshape(2, len(pairs))
    given = table(
        day=[DAY] * len(pairs) + [DAY + dt.timedelta(days=1)] * len(pairs),
        origin=[str(names[node]) for node in pairs.origin] * 2,
        destination=[str(names[node]) for node in pairs.destination] * 2,
        trips=numbers.ravel(),
    )
    assert np.array_equal(pr.read_counts(given, study(), report=lambda _: None).counts, numbers)


@pytest.mark.parametrize("in_file", [False, True])
def test_values_that_python_cannot_hold_are_dropped_like_others(tmp_path: Path, in_file: bool) -> None:
    days = pa.array([(DAY - dt.date(1970, 1, 1)).days, 2**31 - 1, -(2**31), None], pa.int32()).view(pa.date32())
    given = table(day=days, origin=[1] * 4, destination=["2"] * 4, trips=[3] * 4)
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"2\xff\xfe")]
    )
    texts = table(day=[DAY] * 2, origin=[1] * 2, destination=broken, trips=[3] * 2)
    seen: list[Any] = []
    for at, one in enumerate((given, texts)):
        source: Any = one
        if in_file:
            source = tmp_path / f"{at}.parquet"
            pq.write_table(one, source)
        assert pr.read_counts(source, study(), report=seen.append).counts.sum() == 3
    assert (seen[0].counted, seen[0].unreadable_time) == (1, 3)
    assert (seen[1].counted, seen[1].unknown_zone) == (1, 1)


def test_several_periods_by_either_name() -> None:
    several = study(["06:00-09:00/60min"])
    given = table(
        day=[DAY] * 4,
        origin=[1] * 4,
        destination=["2"] * 4,
        trips=[1, 2, 4, 8],
        period=["06:00", "07:00-08:00", "08:00", "09:00"],
    )
    found = pr.read_counts(given, several, report=lambda _: None)
    assert [int(part.counts.sum()) for part in found.parts()] == [1, 2, 4]
    with pytest.raises(FormatError, match="no column 'period'"):
        pr.read_counts(table(), several)


def test_the_certificate_says_what_was_asserted(tmp_path: Path) -> None:
    counts = pr.read_counts(table(), study(), report=lambda _: None)
    release = pr.learn(CITY.network, counts, pr.Guarantee(1.0, 1e-6))
    assert release.certificate.data == "counts"
    release.save(tmp_path / "out")
    again = pr.load_release(tmp_path / "out").certificate
    assert again.data == "counts"
    assert again.asserted[0] == COUNTS_ARE_TRIPS
    assert "each in at most one count" in str(explain(again).assumed)


def test_a_stream_does_not_take_them(tmp_path: Path) -> None:
    one = pr.Frame(CITY.demand.pairs, pr.Calendar.of(("07:00", "08:00"), (DAY, DAY)))
    of_one_day = pr.Study(CITY.network, one, pr.Guarantee(1.0, 1e-6), pr.Counts(), trips=TABLES)
    counts = pr.read_counts(table(), of_one_day, report=lambda _: None)
    with pytest.raises(HistoryError, match="counted by privroute"):
        pr.Stream(tmp_path / "days", CITY.network, pr.Guarantee(1.0, 1e-6)).add_day(counts)
    for day in counts.each_day():
        with pytest.raises(HistoryError, match="counted by privroute"):
            pr.Stream(tmp_path / "days", CITY.network, pr.Guarantee(1.0, 1e-6)).add_day(day)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"trips": [1.5]}, "'trips' has a type"),
        ({"day": [1]}, "'day' has a type"),
        ({"origin": [None]}, "'origin' has"),
    ],
)
def test_schemas_are_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        pr.read_counts(table(**columns), study())


def test_files_that_are_no_parquet_are_refused(tmp_path: Path) -> None:
    (tmp_path / "counts.parquet").write_text("day,origin,destination,trips\n2026-03-02,1,20,secret\n")
    for name in ("counts.parquet", "none.parquet"):
        with pytest.raises(FormatError, match="cannot be read as Parquet") as caught:
            pr.read_counts(tmp_path / name, study())
        assert "secret" not in str(caught.value)


def test_what_nobody_checks_has_to_be_asserted() -> None:
    unsaid = replace(study(), trips=pr.TripFormat())
    with pytest.raises(HistoryError, match="Pass trips.rows_are_trips = true to assert that one row is one trip"):
        pr.read_counts(table(), unsaid)


def test_other_sources_and_totals_are_refused() -> None:
    with pytest.raises(HistoryError, match="pass an Arrow table"):
        pr.read_counts([1, 2], study())
    with pytest.raises(HistoryError, match="pass privroute.Study"):
        pr.read_counts(table(), CITY.network)  # type: ignore[arg-type]


def test_odd_dates_and_texts_of_one_row_stop_nothing(tmp_path: Path) -> None:
    """Days that no calendar has, and bytes that are no text: the row is dropped, and no error says what it held."""
    good = (DAY - dt.date(1970, 1, 1)).days
    days = pa.array([good, 2**31 - 1, -(2**31), good, None], pa.int32()).cast(pa.date32())
    ends = pa.py_buffer(np.array([0, 1, 2, 3, 4, 5], np.int32).tobytes())
    origin = pa.Array.from_buffers(pa.string(), 5, [None, ends, pa.py_buffer(b"111\xff1")])
    given = pa.table({"day": days, "origin": origin, "destination": ["2"] * 5, "trips": [3] * 5})
    pq.write_table(given, tmp_path / "counts.parquet")
    for source in (given, tmp_path / "counts.parquet"):
        seen: list[Any] = []
        history = pr.read_counts(source, study(), report=seen.append)
        assert history.counts.sum() == 3
        assert (seen[0].counted, seen[0].unreadable_time, seen[0].unknown_zone) == (1, 3, 1)
