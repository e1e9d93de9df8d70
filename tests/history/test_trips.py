"""Trip files: which rows become which counts, and what is refused."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
import stat
import zoneinfo
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.history.trip_cases import NETWORK, RANGE, counts_of, read, write_csv, write_parquet

import privroute as pr
from privroute.errors import FormatError, HistoryError
from privroute.history.nearest_zone import NearestZone
from privroute.study.calendar import Calendar, utc_offsets

DAY = "2026-03-27"


def test_the_period_is_half_open_and_rows_fall_on_their_days(tmp_path: Path) -> None:
    path = write_csv(
        tmp_path,
        "1,2,2026-03-27 07:00:00,u",
        "1,2,2026-03-27 07:59:59.999999,u",
        "1,2,2026-03-27 08:00:00,u",
        "1,2,2026-03-27 06:59:59.999999,u",
        "2,a b,2026-03-30T07:30,u",
        "1,2,2026-03-26 07:30:00,u",
        "1,2,2026-03-31 07:30:00,u",
    )
    history, rows = read(path)
    assert counts_of(history) == {(DAY, "1", "2"): 2, ("2026-03-30", "2", "a b"): 1}
    assert (rows.counted, rows.outside, rows.read) == (3, 4, 7)
    assert history.period_min == 60


def test_the_number_of_days_is_that_of_the_range_whatever_the_files_hold(tmp_path: Path) -> None:
    empty = write_csv(tmp_path)
    assert read(empty)[0].days == 4
    assert read(empty, dates=("2026-01-01", "2026-12-31"))[0].days == 365
    weekend, _ = read(write_csv(tmp_path, "1,2,2026-03-28 07:30,u", "1,2,2026-03-30 07:30,u"), weekdays="sat,sun")
    assert weekend.dates == (dt.date(2026, 3, 28), dt.date(2026, 3, 29))
    assert counts_of(weekend) == {("2026-03-28", "1", "2"): 1}


def test_after_midnight_a_period_still_belongs_to_the_day_on_which_it_began(tmp_path: Path) -> None:
    path = write_csv(
        tmp_path,
        "1,2,2026-03-27 00:30,u",  # the period of the 26th, before the range
        "1,2,2026-03-27 23:30,u",
        "1,2,2026-03-28 00:30,u",
        "1,2,2026-03-28 01:00,u",  # the end is not included
        "1,2,2026-03-31 00:30,u",  # the period of the 30th, the last day
    )
    history, rows = read(path, period=("23:00", "01:00"))
    assert counts_of(history) == {(DAY, "1", "2"): 2, ("2026-03-30", "1", "2"): 1}
    assert rows.outside == 2
    assert history.period_min == 120
    friday, _ = read(path, period=("23:00", "01:00"), weekdays=[4])
    assert counts_of(friday) == {(DAY, "1", "2"): 2}


def test_times_with_an_offset_are_converted_to_the_time_zone(tmp_path: Path) -> None:
    """In Berlin clocks were put forward on 29 March 2026 at 2:00."""
    path = write_csv(
        tmp_path,
        "1,2,2026-03-28T06:30:00Z,u",
        "1,2,2026-03-28 07:30:00+01:00,u",
        "1,2,2026-03-29T05:30:00Z,u",
        "1,2,2026-03-29T06:30:00+00,u",
        "1,2,2026-03-29T07:30:00,u",
    )
    history, rows = read(path, tz="Europe/Berlin")
    assert counts_of(history) == {("2026-03-28", "1", "2"): 2, ("2026-03-29", "1", "2"): 2}
    assert rows.outside == 1
    _, without = read(path)
    assert (without.counted, without.unreadable_time) == (1, 4)


@pytest.mark.parametrize(("zone", "first"), [("Europe/Berlin", "2026-03-27"), ("America/St_Johns", "2026-10-30")])
def test_conversion_agrees_with_the_clocks_of_the_zone(tmp_path: Path, zone: str, first: str) -> None:
    """Every quarter of an hour around a change of the clocks, against Python's own conversion."""
    start = dt.datetime.fromisoformat(f"{first}T00:00:00+00:00")
    instants = [start + dt.timedelta(minutes=15 * step) for step in range(4 * 24 * 5)]
    columns = {"origin": [1] * len(instants), "destination": [2] * len(instants), "departure": instants}
    path = write_parquet(tmp_path / "trips.parquet", **columns)
    last = str(dt.date.fromisoformat(first) + dt.timedelta(days=4))
    for period in (("01:00", "03:00"), ("23:30", "02:30")):
        history, _ = read(path, tz=zone, period=period, dates=(first, last))
        days = Calendar.of(period, (first, last))
        expected = np.zeros(5, dtype=int)
        for instant in instants:
            local = instant.astimezone(zoneinfo.ZoneInfo(zone)).replace(tzinfo=None)
            since = local - dt.datetime.combine(days.first, dt.time()) - dt.timedelta(microseconds=days.period.start_us)
            day, rest = divmod(since, dt.timedelta(days=1))
            if 0 <= day < 5 and rest < dt.timedelta(minutes=history.period_min):
                expected[day] += 1
        assert history.counts.sum(axis=1).tolist() == expected.tolist()


def test_a_column_of_instants_needs_a_time_zone(tmp_path: Path) -> None:
    when = [dt.datetime(2026, 3, 27, 7, 30, tzinfo=dt.UTC)]
    path = write_parquet(tmp_path / "trips.parquet", origin=[1], destination=[2], departure=when)
    with pytest.raises(FormatError, match="need tz="):
        read(path)
    assert read(path, tz="UTC")[1].counted == 1


def test_offsets_change_when_clocks_change() -> None:
    days = Calendar.of("07:00-08:00", ("2026-01-01", "2026-12-31"))
    hours = [offset / 3.6e9 for _, offset in utc_offsets(days, "Europe/Berlin")]
    changes = [dt.datetime.fromtimestamp(at / 1e6, dt.UTC) for at, _ in utc_offsets(days, "Europe/Berlin")[1:]]
    assert hours == [1, 2, 1]
    assert changes == [dt.datetime(2026, 3, 29, 1, tzinfo=dt.UTC), dt.datetime(2026, 10, 25, 1, tzinfo=dt.UTC)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_numbers_count_from_1970_in_the_unit_that_was_said(tmp_path: Path, unit: Any, ending: str) -> None:
    second = int(dt.datetime(2026, 3, 27, 7, 30, tzinfo=dt.UTC).timestamp())
    numbers = [second * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit], 2**63 - 1, -(2**63)]
    if ending == "csv":
        path = write_csv(tmp_path, *(f"1,2,{number},u" for number in [*numbers, "1e300", "inf", "nan"]))
    else:
        columns = {"origin": [1] * 3, "destination": [2] * 3, "departure": numbers}
        path = write_parquet(tmp_path / "trips.parquet", **columns)
    assert read(path, epoch_unit=unit, tz="UTC")[1].counted == 1


def test_a_format_of_times_can_be_named(tmp_path: Path) -> None:
    path = write_csv(tmp_path, "1,2,27.03.2026 07:30,u", "1,2,2026-03-27 07:30,u")
    _, rows = read(path, time_format="%d.%m.%Y %H:%M")
    assert (rows.counted, rows.unreadable_time) == (1, 1)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit_are_read(tmp_path: Path, unit: str) -> None:
    when = pa.array([dt.datetime(2026, 3, 27, 7, 30), None]).cast(pa.timestamp(unit))  # noqa: DTZ001 - local time
    path = write_parquet(tmp_path / "trips.parquet", origin=[1, 1], destination=[2, 2], departure=when)
    _, rows = read(path)
    assert (rows.counted, rows.unreadable_time) == (1, 1)


def test_one_extreme_time_or_broken_text_costs_its_own_row_only(tmp_path: Path) -> None:
    """DuckDB itself stops at milliseconds beyond its range and at texts that are not UTF-8."""
    day = int(dt.datetime(2026, 3, 27, 7, 30, tzinfo=dt.UTC).timestamp())
    for unit, factor in (("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        numbers = [day * factor, 2**63 - 1, -(2**63) + 1, -(2**63) + 10]
        when = pa.array(numbers, pa.int64()).cast(pa.timestamp(unit))
        path = write_parquet(tmp_path / "trips.parquet", origin=[1] * 4, destination=[2] * 4, departure=when)
        _, rows = read(path)
        assert (rows.counted, rows.read) == (1, 4)
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array([b"1", b"\xff\xfe"], pa.binary()).buffers())
    when = pa.array([dt.datetime(2026, 3, 27, 7, 30)] * 2)  # noqa: DTZ001 - local time
    path = write_parquet(tmp_path / "trips.parquet", origin=broken, destination=["2", "2"], departure=when)
    _, rows = read(path)
    assert (rows.counted, rows.unknown_zone) == (1, 1)


def test_a_broken_row_does_not_decide_which_far_times_are_read(tmp_path: Path) -> None:
    """Nanoseconds reach to 2262, also where a row without a readable text makes the file be read with more care."""
    when = pa.array([dt.datetime(2150, 3, 27, 7, 30)] * 2, pa.timestamp("ns"))  # noqa: DTZ001 - local time
    for text in (b"2", b"\xff"):
        ends = pa.Array.from_buffers(pa.string(), 2, pa.array([b"2", text], pa.binary()).buffers())
        path = write_parquet(tmp_path / "trips.parquet", origin=["1", "1"], destination=ends, departure=when)
        history, _ = read(path, dates=("2150-03-27", "2150-03-27"))
        assert history.counts.sum() == (2 if text == b"2" else 1)


@pytest.mark.parametrize(
    "zones",
    [[1, 2, None], [1.0, 2.0, 1.5], ["1", " 2\t", "007"], pa.array(["1", "2", "x"]).dictionary_encode()],
)
def test_zones_of_any_type_have_the_label_of_the_network(tmp_path: Path, zones: Any) -> None:
    when = [dt.datetime(2026, 3, 27, 7, 30)] * 3  # noqa: DTZ001 - local time
    path = write_parquet(tmp_path / "trips.parquet", origin=zones, destination=["a b"] * 3, departure=when)
    history, rows = read(path)
    assert counts_of(history) == {(DAY, "1", "a b"): 1, (DAY, "2", "a b"): 1}
    assert rows.unknown_zone == 1


def test_bad_rows_are_dropped_and_counted_one_reason_each(tmp_path: Path) -> None:
    path = write_csv(
        tmp_path,
        "1,2,2026-03-27 07:30,u",
        "9,2,2026-03-27 07:30,u",
        "1,,2026-03-27 07:30,u",
        "1,1,2026-03-27 07:30,u",
        "1,2,tomorrow,u",
        "1,2,,u",
        "1,2,2026-02-30 07:30,u",
        "1,2,2026-03-27,u",
        "1,2,2026-03-27 07:30",
        "1,2,2026-03-27 07:30,u,v",
        '1,"2,2026-03-27 07:30,u',
        b"1,2,2026-03-27 07:30,\xff",
        "",
        "9,9,2026-03-27 12:30,u",
    )
    _, rows = read(path, diagnostics=tmp_path / "private.json")
    assert rows.counted == 1
    assert (rows.unknown_zone, rows.within_zone, rows.unreadable_time) == (2, 1, 4)
    assert (rows.malformed, rows.outside, rows.read) == (4, 1, 13)
    written = json.loads((tmp_path / "private.json").read_text())
    assert "PRIVATE" in written["notice"]
    assert written["unknown_zone"] == 2
    assert stat.S_IMODE((tmp_path / "private.json").stat().st_mode) == 0o600


def test_quotes_and_line_ends_are_those_of_usual_csv(tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    path.write_bytes(
        '\ufeff"Departure";note;"ORIGIN";destination\r\n'
        '2026-03-27 07:30;"a; ""b""";"1";2\r\n'
        '"2026-03-27 07:31";5" pipe; 1 ;"a b"\n\r\n'.encode()
    )
    history, rows = read(path)
    assert counts_of(history) == {(DAY, "1", "2"): 1, (DAY, "1", "a b"): 1}
    assert rows.read == 2


@given(st.lists(st.text(alphabet='12,"\n\r;x 7\\', max_size=30), max_size=6), st.integers(0, 6))
@settings(max_examples=60)
def test_no_line_changes_how_another_one_is_read(
    tmp_path_factory: pytest.TempPathFactory, noise: list[str], at: int
) -> None:
    """Whatever stands between good lines, the good ones are counted: quotes do not reach over the end of a line."""
    good = ["1,2,2026-03-27 07:30,u", '1,"a b",2026-03-27 07:30,u', "2,1,2026-03-28 07:30,u"]
    lines = noise[:at] + good + noise[at:]
    history, rows = read(write_csv(tmp_path_factory.mktemp("lines"), *lines))
    assert counts_of(history) == {(DAY, "1", "2"): 1, (DAY, "1", "a b"): 1, ("2026-03-28", "2", "1"): 1}
    assert rows.counted == 3


def test_many_files_of_different_kinds_are_one_history(tmp_path: Path) -> None:
    when = dt.datetime(2026, 3, 27, 7, 30)  # noqa: DTZ001 - local time
    write_csv(tmp_path, "1,2,2026-03-27 07:30,u")
    (tmp_path / "other.csv").write_text("destination;departure;origin\n2;2026-03-27 07:31;1\n")
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(b"origin,destination,departure\n1,2,2026-03-27 07:32\n"))
    write_parquet(tmp_path / "a.parquet", origin=[1], destination=[2], departure=[when])
    write_parquet(tmp_path / "b.parquet", departure=["2026-03-27T07:30"], origin=["1"], destination=[2.0])
    history, rows = read([tmp_path / "*.csv", f"{tmp_path}/*.gz", str(tmp_path / "?.parquet")])
    assert counts_of(history) == {(DAY, "1", "2"): 5}
    assert rows.read == 5


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    """Otherwise one request would count twice, beyond the sensitivity."""
    path = write_csv(tmp_path, "1,2,2026-03-27 07:30,u")
    (tmp_path / "link.csv").symlink_to(path)
    (tmp_path / "hard.csv").hardlink_to(path)
    files = [path, str(path), tmp_path / "link.csv", f"{tmp_path}/*.csv", os.path.relpath(path)]
    assert read(files)[1].counted == 1


def test_coordinates_mean_the_nearest_zone_within_reach(tmp_path: Path) -> None:
    header = "departure,olon,olat,dlon,dlat"
    path = write_csv(
        tmp_path,
        "2026-03-27 07:30,13.401,52.501,13.499,52.5",
        "2026-03-27 07:30,13.4,52.5,13.4,52.62",  # 2.2 km away
        "2026-03-27 07:30,nan,52.5,13.4,52.6",
        "2026-03-27 07:30,,,inf,1e300",
        "2026-03-27 07:30,13.4,52.5,13.4001,52.5",
        header=header,
    )
    ends: dict[str, Any] = {"origin": ("olon", "olat"), "destination": ("dlon", "dlat")}
    history, rows = read(path, **ends)
    assert counts_of(history) == {(DAY, "1", "2"): 1}
    assert (rows.too_far + rows.outside_network, rows.missing_place, rows.within_zone) == (1, 2, 1)
    assert read(path, **ends, max_zone_distance_km=3)[1].counted == 2


@given(st.lists(st.tuples(st.floats(-180, 180), st.floats(-90, 90)), min_size=1, max_size=20), st.integers(0, 99))
@settings(max_examples=50)
def test_the_nearest_zone_is_the_one_of_least_haversine(points: list[tuple[float, float]], seed: int) -> None:
    chance = np.random.default_rng(seed)
    places = np.column_stack([chance.uniform(-180, 180, 12), chance.uniform(-90, 90, 12)])
    network = pr.Network(
        np.arange(12), (np.arange(12) + 1) % 12, pr.Latency.affine([1.0] * 12, 1.0), range(12), coordinates=places
    )
    longitude, latitude = np.array(points).T
    found = NearestZone(network, 30_000)(longitude, latitude)
    a, b = np.radians(latitude)[:, None], np.radians(places[:, 1])
    half = np.radians(longitude[:, None] - places[:, 0]) / 2
    angle = 2 * np.arcsin(np.sqrt(np.sin((a - b) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(half) ** 2).clip(0, 1))
    chosen = angle[np.arange(len(points)), found]
    assert (chosen <= angle.min(axis=1) + 1e-7).all()  # 0.6 m


def test_hostile_names_of_files_and_columns_are_only_names(tmp_path: Path) -> None:
    evil = "x'] ); DROP TABLE zones; --\"*?[a]{b}$(touch hacked)"
    folder = tmp_path / "a'b\"; DROP TABLE pairs; --*"
    folder.mkdir()
    when = [dt.datetime(2026, 3, 27, 7, 30)]  # noqa: DTZ001 - local time
    path = write_parquet(
        folder / f"{evil.replace('/', '')}.parquet", **{evil: [1], "destination": [2], "departure": when}
    )
    assert read(path, origin=evil)[1].counted == 1
    text = folder / "evil'.csv"
    text.write_text('"x\'); DROP TABLE zones; --",destination,departure\n1,2,2026-03-27 07:30\n')
    assert read(text, origin="x'); DROP TABLE zones; --")[1].counted == 1
    for name in ("http://example.org/x.csv", "s3://bucket/x.parquet", "/dev/stdin", "/dev/zero", str(tmp_path)):
        with pytest.raises(FormatError, match="cannot be read"):
            read(name)


def test_what_concerns_whole_files_is_refused(tmp_path: Path) -> None:
    when = [dt.datetime(2026, 3, 27, 7, 30)]  # noqa: DTZ001 - local time
    good = {"origin": [1], "destination": [2], "departure": when}
    for change, message in (
        ({"origin": [[1]]}, "the column for origin has the type"),
        ({"departure": [dt.date(2026, 3, 27)]}, "departure times are timestamps or texts"),
        ({"departure": [1]}, "epoch_unit="),
        ({"destination": [dt.time(7)]}, "zones are whole numbers or texts"),
    ):
        with pytest.raises(FormatError, match=message):
            read(write_parquet(tmp_path / "trips.parquet", **good | change))
    with pytest.raises(FormatError, match="none of its 2 columns is called 'departure'"):
        read(write_parquet(tmp_path / "trips.parquet", origin=[1], destination=[2]))
    with pytest.raises(FormatError, match="has the column 'origin' more than once"):
        read(write_parquet(tmp_path / "trips.parquet", **good, Origin=[2]))
    damaged = write_parquet(tmp_path / "trips.parquet", **good)
    damaged.write_bytes(damaged.read_bytes()[:-20])
    with pytest.raises(FormatError, match="not readable as Parquet"):
        read(damaged)
    texts = write_parquet(tmp_path / "trips.parquet", **good | {"origin": ["1"]})
    sound = texts.read_bytes()
    texts.write_bytes(sound.replace(b"\x25\x02\x18\x06origin", b"\x25\x00\x18\x06origin"))
    assert texts.read_bytes() != sound
    with pytest.raises(FormatError, match="cannot be read to its end"):  # and the process goes on
        read(texts)
    for files, message in (
        ([], "pass a path"),
        (7, "pass a path"),
        (tmp_path / "missing.csv", "No such file"),
        ("x" * 5000, "File name too long"),
        (f"{tmp_path}/no*.csv", "no file matches"),
        (tmp_path / "trips.xlsx", "cannot be read"),
    ):
        with pytest.raises((FormatError, HistoryError), match=message):
            read(files)
    (tmp_path / "trips.xlsx").write_text("x")
    with pytest.raises(FormatError, match="does not say what it is"):
        read(tmp_path / "trips.xlsx")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"period": "07:00"}, "period"),
        ({"period": ("07:00", "07:00")}, "which is empty"),
        ({"period": ("24:00", "07:00")}, "period"),
        ({"period": ("7", "8")}, "period"),
        ({"period": 7}, "period"),
        ({"dates": ("2026-03-30", "2026-03-27")}, "empty"),
        ({"dates": ("1960-01-01", "1960-02-01")}, "1970-01-05"),
        ({"weekdays": "someday"}, "weekdays"),
        ({"weekdays": [7]}, "weekdays"),
        ({"weekdays": "tue-wed", "dates": ("2026-03-28", "2026-03-29")}, "no day"),
        ({"tz": "Berlin/Europe"}, "time zone"),
        ({"tz": "../../etc/passwd"}, "time zone"),
        ({"epoch_unit": "h", "tz": "UTC"}, "epoch_unit"),
        ({"epoch_unit": "s"}, "pass tz="),
        ({"time_format": "DD.MM.YYYY"}, "time_format"),
        ({"time_format": "%Q"}, "letters that strptime does not know"),
        ({"time_format": "%Y-%m-%d %H:%M %z"}, "need tz="),
        ({"origin": ""}, "name of a column"),
        ({"origin": ("a",)}, "name of a column"),
        ({"departure": 3}, "name of a column"),
        ({"max_zone_distance_km": 0, "origin": ("a", "b")}, "max_zone_distance_km"),
        ({"unit": "person"}, "unit"),
        ({"unit": "user"}, "needs max_requests="),
        ({"max_requests": 3}, "bound users"),
        ({"unit": "user", "max_requests": 0}, "max_requests"),
        ({"unit": "user", "max_requests": 3, "max_per_pair": 4}, "max_per_pair"),
        ({"expansion": 0}, "expansion"),
        ({"memory_mb": 1}, "memory_mb"),
        ({"memory_mb": 10**30}, "memory_mb"),
        ({"temp_folder": "/missing"}, "temp_folder"),
    ],
)
def test_public_arguments_are_checked_before_a_file_is_opened(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pr.PrivrouteError, match=message):
        read("never-opened.csv", **options)


def test_more_rows_than_memory_are_counted_through_the_disk(tmp_path: Path) -> None:
    size = 400_000
    chance = np.random.default_rng(1)
    when = np.datetime64("2026-03-27T07:00", "us") + chance.integers(0, 3600, size).astype("timedelta64[s]")
    ends = np.array(["1", "2", "a b"])[chance.integers(0, 3, (2, size))]
    users = [f"user {number:040}" for number in chance.integers(0, size, size)]
    path = tmp_path / "trips.parquet"
    write_parquet(path, origin=ends[0], destination=ends[1], departure=when, user=users)
    spill = tmp_path / "spill"
    spill.mkdir()
    options: dict[str, Any] = {"unit": "user", "max_requests": 1, "memory_mb": 64, "temp_folder": spill}
    history, rows = read(path, **options)
    kept = len({user for user, o, d in zip(users, *ends, strict=True) if o != d})
    assert rows.counted == history.counts.sum() == kept
    assert not list(spill.iterdir()), "what was spilled is removed"


def test_the_terminal_is_told_what_was_dropped_and_that_it_is_private(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_csv(tmp_path, "1,2,2026-03-27 07:30,u", "1,2,x,u")
    pr.read_trips(path, NETWORK, period="07:00-08:00", dates=RANGE)
    said = capsys.readouterr()
    assert said.err.startswith("PRIVATE, do not publish: 1 of 2 rows counted; dropped: 1 with an unreadable")
    assert said.out == ""
