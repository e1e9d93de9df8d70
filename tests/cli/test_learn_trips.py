"""`privroute learn --trips`: from files to a release, with everything public checked first."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.command import refused, run

import privroute as pr

MARK = "mark-8271"
BASE = ("learn", "--network", "sioux-falls", "--from", "2026-03-02", "--to", "2026-03-15")
PROMISE = ("--epsilon", "1", "--delta", "1e-6")
PERIOD = ("--period", "07:00-08:00")


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two files; some rows cannot be used."""
    place = tmp_path_factory.mktemp("trips")
    chance = np.random.default_rng(1)
    size = 3000
    for file in range(2):
        moments = np.datetime64("2026-03-02T06:00", "s") + chance.integers(0, 14 * 86_400, size).astype(
            "timedelta64[s]"
        )
        columns = {
            "rider": chance.integers(0, 50, size),
            "from_zone": chance.integers(1, 26, size),
            "to_zone": chance.integers(1, 25, size),
            "started": moments,
        }
        pq.write_table(pa.table(columns), place / f"{file}.parquet")
    (place / "last.csv").write_text(f"rider,from_zone,to_zone,started\n{MARK},{MARK},2,{MARK}\n")
    return str(place / "*")


COLUMNS = (
    *("--origin-column", "from_zone", "--destination-column", "to_zone"),
    *("--departure-column", "started", "--user-column", "rider"),
)


def test_files_of_trips_become_a_private_release(trips: str, tmp_path: Path) -> None:
    place = ("--diagnostics", tmp_path / "private.json", "--out", tmp_path / "out")
    done = run(*BASE, *PROMISE, *PERIOD, "--trips", trips, *COLUMNS, "--weekdays", "mon-fri", *place)
    assert done.code == 0, done.err
    assert "mon-fri, 2026-03-02 to 2026-03-15 (10 days), 07:00-08:00, local time of the data" in done.out
    said = [line for line in done.out.splitlines() if "rows counted" in line]
    assert len(said) == 1
    assert said[0].startswith("PRIVATE, do not publish")
    assert MARK not in done.out + done.err
    certificate = pr.load_release(tmp_path / "out").certificate
    assert certificate.private
    assert (certificate.unit, certificate.days, certificate.data) == ("request", 10, "trips")
    dropped = json.loads((tmp_path / "private.json").read_text())
    assert dropped["unreadable_time"] == 1
    assert dropped["read"] == 6001
    manifest = (tmp_path / "out" / "release.json").read_text()
    numbers = re.findall(r"\b\d+\b", manifest)  # whole ones: digests hold any three digits by chance
    assert str(dropped["counted"]) not in numbers
    assert str(dropped["unknown_zone"]) not in numbers or dropped["unknown_zone"] < 100


def test_users_are_protected_when_asked(trips: str, tmp_path: Path) -> None:
    bounds = ("--unit", "user", "--max-requests", 4, "--max-per-pair", 1)
    done = run(*BASE, *PROMISE, *PERIOD, "--trips", trips, *COLUMNS, *bounds, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "for one user's trips together" in done.text
    certificate = pr.load_release(tmp_path / "out").certificate
    assert (certificate.unit, certificate.max_requests, certificate.max_per_pair) == ("user", 4, 1)
    assert certificate.sensitivity == 2.0
    shown = run("inspect", tmp_path / "out")
    assert "all trips of one person together" in shown.text
    assert "at most 4 trips are counted, at most 1 of them" in shown.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--trips needs --period"),
        (
            ("--period", "8-7am"),
            "--period is '8-7am'; write start and end like 07:00-08:00; 22:00-02:00 passes midnight",
        ),
        (("--period", "07:00-07:00"), "a whole day is 00:00-24:00"),
        ((*PERIOD, "--history", "x.csv"), "--trips and --history exclude each other"),
        ((*PERIOD, "--period-min", "30"), "--trips excludes --period-min; pass --period"),
        ((*PERIOD, "--unit", "user"), "--unit user needs --max-requests"),
        ((*PERIOD, "--max-requests", "3"), "--max-requests and --max-per-pair bound users"),
        ((*PERIOD, "--weekdays", "someday"), "--weekdays is 'someday'; write it like mon-fri"),
        ((*PERIOD, "--tz", "Nowhere"), "--tz is 'Nowhere'"),
        ((*PERIOD, "--tz", "Nowhere", "--network", "never-read.tntp"), "--tz is 'Nowhere'"),
        (
            (*PERIOD, "--unit", "user", "--max-requests", "4", "--mechanism", "daily", "--stream", "days"),
            "use --unit user-day",
        ),
        ((*PERIOD, "--set", "trips.epoch_unit=s"), "pass --tz"),
        ((*PERIOD, "--mechanism", "daily", "--set", "mechanism.window=15"), "mechanism.window is 15 days"),
        ((*PERIOD, "--diagnostics", "out/private.json"), "must not be inside --out"),
        ((*PERIOD, "--diagnostics", "other/../out/private.json"), "must not be inside --out"),
        ((*PERIOD, "--pre-bounded"), "--pre-bounded is about users; pass --unit user"),
        ((*PERIOD, "--origin-column", "a,b", "--network", "braess"), "--network takes"),
    ],
)
def test_what_is_public_is_checked_before_a_trip_file_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = refused(*BASE, *PROMISE, "--trips", "never-opened.csv", "--out", "out", *options)
    assert message in text
    assert "never-opened" not in text


def test_a_dry_run_counts_and_neither_charges_nor_releases(trips: str, tmp_path: Path) -> None:
    """A wrong setting is noticed before it costs anything: no guarantee is needed, and no folder."""
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6))
    right = (*BASE, *PERIOD, "--trips", trips, *COLUMNS, "--dry-run")
    good = run(*right)
    assert good.code == 0, good.err
    counted = [line for line in good.out.splitlines() if "counted" in line]
    assert len(counted) == 3
    assert all(line.startswith("PRIVATE, do not publish") for line in counted)
    assert "nothing was charged and nothing was released" in good.text
    spent = ("--ledger", ledger.path, "--out", tmp_path / "out")
    wrong = run(*right, *PROMISE, "--from", "2025-03-02", "--to", "2025-03-15", *spent)  # the year before
    assert "0 of 6,001 rows counted" in wrong.out
    assert "0 trips counted, 14 of 14 days without any" in wrong.out
    hints = [line for line in wrong.out.splitlines() if "check the year, the hours and the time zone" in line]
    assert len(hints) == 1
    assert hints[0].startswith("PRIVATE, do not publish: no trip was counted")
    assert "no trip was counted" not in good.out
    assert "PRIVATE, do not publish: a typical pair (root mean square) has 0 trips, where the noise is" in wrong.out
    assert "THE NOISE DROWNS THEM" in wrong.out
    assert "a typical pair" not in good.out  # without a guarantee there is no noise to compare with
    assert not ledger.account().charges
    assert not (tmp_path / "out").exists()
    assert MARK not in good.out + good.err + wrong.out + wrong.err


def test_a_dry_run_of_a_stream_leaves_its_folder_alone(trips: str, tmp_path: Path) -> None:
    daily = ("--mechanism", "daily", "--set", "mechanism.window=30", "--stream", tmp_path / "days")
    done = run(*BASE, *PROMISE, *PERIOD, "--trips", trips, *COLUMNS, *daily, "--dry-run")
    assert done.code == 0, done.err
    assert not (tmp_path / "days").exists()


def test_without_a_dry_run_a_folder_is_needed(trips: str) -> None:
    assert "--out is missing" in refused(*BASE, *PROMISE, *PERIOD, "--trips", trips, *COLUMNS)


def test_one_of_the_two_inputs_is_needed(tmp_path: Path) -> None:
    assert "--trips or --history is missing" in refused(*BASE, *PROMISE, "--out", tmp_path / "out")
    text = refused(*BASE, *PROMISE, "--history", "x.csv", "--unit", "user", "--out", tmp_path / "out")
    assert "--unit user is only valid with --trips" in text


def test_a_missing_column_is_named_by_its_option(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text(f"{MARK},b\n1,2\n")
    text = refused(*BASE, *PROMISE, *PERIOD, "--trips", tmp_path / "trips.csv", "--out", tmp_path / "out")
    assert "name the column with --departure-column" in text
    assert MARK not in text


def test_a_missing_column_of_daily_counts_is_named_with_all_columns(tmp_path: Path) -> None:
    (tmp_path / "daily.csv").write_text(f"{MARK},b\n1,2\n")
    history = ("--history", tmp_path / "daily.csv", "--out", tmp_path / "out")
    text = refused(*BASE, *PROMISE, *history)
    assert text.endswith("daily counts need the columns date, origin, destination, trips")
    assert MARK not in text
    assert "--origin-column is only valid with --trips" in refused(*BASE, *PROMISE, *history, *COLUMNS[:2])


def test_a_pattern_that_the_shell_expanded_is_an_error_that_says_to_quote_it(tmp_path: Path) -> None:
    expanded = ("--trips", tmp_path / "a.csv", tmp_path / "b.csv")
    text = refused(*BASE, *PROMISE, *PERIOD, *expanded, "--out", tmp_path / "out")
    assert f"{tmp_path / 'b.csv'} is a trip file where a study file is expected; quote patterns" in text
    for more in ((tmp_path / "c.csv",), (tmp_path / "c.csv", tmp_path / "d.csv")):
        done = run("learn", "study.toml", *expanded, *more)
        assert done.code == 2
        assert "quote patterns, so that the shell does not expand them: --trips '*.csv'" in done.text.replace("│ ", "")
    assert "quote" not in run("plan", "study.toml", "b.csv").text
