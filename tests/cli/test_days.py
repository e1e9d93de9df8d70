"""A whole day from the command line: learn, inspect, route, export, reroute; kept sets; a ledger that was lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.command import refused, run

import privroute as pr
from privroute.privacy import ledger

DATES = ("--from", "2026-03-02", "--to", "2026-03-15")
KINDS = ("--day-types", "workday=mon-fri;weekend=sat,sun")
PROMISE = ("--epsilon", "1", "--delta", "1e-6", "--set", "mechanism.gap=1e-3")


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance = np.random.default_rng(1)
    rows = 20_000
    times = np.datetime64("2026-03-02", "us") + chance.integers(0, 14 * 86_400, rows).astype("timedelta64[s]")
    columns = {
        "user": chance.integers(0, 900, rows),
        "origin": chance.integers(1, 25, rows),
        "destination": chance.integers(1, 25, rows),
        "departure": pa.array(times),
    }
    path = tmp_path_factory.mktemp("trips") / "trips.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture(scope="module")
def made(trips: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("day")
    done = run("budget", "init", place / "city.ledger", "--dataset", "city", "--epsilon", 2, "--delta", "1e-6")
    assert done.code == 0, done.err
    hours = ("--period", "06:00-09:00/60min", "--period", "17:00-18:00")
    words = ("learn", "--network", "sioux-falls", "--trips", trips, *DATES, *hours, *KINDS, *PROMISE)
    done = run(*words, "--ledger", place / "city.ledger", "--out", place / "out")
    assert done.code == 0, done.err
    assert "8 policies, one for each period and kind of day" in done.text
    assert "entry 1 of the ledger of city" in done.text
    return place


def test_one_charge_pays_for_all_periods(made: Path) -> None:
    charges = json.loads(run("budget", "history", made / "city.ledger", "--json").out)["datasets"][0]["charges"]
    assert len(charges) == 1
    release = pr.load_release(made / "out")
    assert release.certificate.rho == charges[0]["rho"]
    assert len(release.slots) == 8


def test_commands_use_the_policy_of_the_time(made: Path) -> None:
    text = run("inspect", made / "out").text
    assert "weekend 17:00-18:00" in text
    values = json.loads(run("inspect", made / "out", "--json").out)
    assert [each["days"] for each in values["periods"]] == [10] * 4 + [4] * 4
    found = json.loads(run("route", made / "out", 1, 20, "--at", "2026-05-04 07:30", "--json").out)
    assert found["at"] == {"day_type": "workday", "period": "07:00-08:00"}
    assert "no policy for 2026-05-04 12:00" in refused("route", made / "out", 1, 20, "--at", "2026-05-04 12:00")
    assert "For weekend 06:00-07:00, one of 8" in run("evaluate", made / "out", "--at", "2026-05-09 06:10").text
    assert "For weekend 06:00-07:00, one of 8" in run("link", made / "out", 1, "--at", "weekend 06:00-07:00").text
    release = pr.load_release(made / "out")
    for more, each in (((), release), (("--at", "2026-05-09 06:10"), release.at("2026-05-09 06:10"))):
        found = json.loads(run("link", made / "out", 1, "--json", *more).out)
        assert (found["at"], each.demand is not None) == (each.slot.as_dict, True)
        assert found["pairs_using"] == len(pr.select_link(each.policy, 1, each.demand))
    assert "no link is labelled '500'; the 76 labels begin with 1, 2, 3, 4, 5" in refused("link", made / "out", 500)
    done = run("export", made / "out", "--out", made / "files", "--format", "csv")
    assert done.code == 0, done.err
    assert (made / "files" / "weekend_1700-1800" / "links.csv").exists()


def test_a_road_closes(made: Path) -> None:
    label = str(pr.load_release(made / "out").network.link_labels[3])
    done = run("reroute", made / "out", "--close", label, "--capacity", "1=500", "--out", made / "detour")
    assert done.code == 0, done.err
    assert "No trip was read and no budget was spent" in done.text
    assert "computed again for changed roads" in run("inspect", made / "detour").text
    assert "is not a link and a number" in refused(
        "reroute", made / "out", "--capacity", "wide", "--out", made / "other"
    )


def test_a_lost_ledger_is_rebuilt_and_verified(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = tmp_path / "again.ledger"
    assert "pass --complete" in refused("budget", "rebuild", again, made / "out")
    with monkeypatch.context() as later:  # a ledger that is made again in the same second has the same digests
        later.setattr(ledger, "_now", lambda timespec="seconds": f"2030-01-01T00:00:00+00:00{timespec[:0]}")
        done = run("budget", "rebuild", again, made / "out", "--complete")
    assert done.code == 0, done.err
    assert "Epsilon 1 of 2 spent" in done.text
    assert run("budget", "verify", made / "city.ledger", made / "out").code == 0
    assert "charged, in a rebuilt ledger" in run("budget", "verify", again, made / "out", width=200).text
    since = tmp_path / "since.ledger"
    assert run("budget", "rebuild", since, made / "out", "--since-epsilon", 0.5).code == 0
    shown = run("budget", "show", since, width=200).text
    assert "1 release charged, 1 entry for what was lost." in shown
    assert "no known release" not in shown
    assert "until 2026-03-01" in shown
    listed = run("budget", "history", since, width=200).text
    assert "all times for what was lost" in listed
    values = json.loads(run("budget", "show", since, "--json").out)["datasets"][0]
    assert (values["releases"], values["without_release"], values["entries_for_lost"]) == (1, 0, 1)
    other = tmp_path / "other.ledger"
    run("budget", "init", other, "--dataset", "city", "--epsilon", 2, "--delta", "1e-6")
    done = run("budget", "verify", other, made / "out", width=200)
    assert (done.code, "NOT CHARGED" in done.text) == (1, True)
    network = pr.sioux_falls()
    pr.learn(network.network, pr.simulate_days(network.demand, days=2, seed=1), pr.Guarantee(1.0, 1e-6)).save(
        tmp_path / "free"
    )
    done = run("budget", "verify", made / "city.ledger", made / "out", tmp_path / "free", width=200)
    assert (done.code, "its certificate names no ledger" in done.text) == (1, True)
    assert run("budget", "set-tz", other, "--tz", "Europe/Berlin").code == 0
    assert "is Europe/Berlin, and stays" in refused("budget", "set-tz", other, "--tz", "Asia/Tokyo")


def test_a_changed_certificate_is_not_believed_where_releases_are_signed(made: Path, tmp_path: Path) -> None:
    release, key = tmp_path / "out", tmp_path / "agency"
    shutil.copytree(made / "out", release)
    assert run("keys", key).code == 0
    assert run("sign", release, "--key", key).code == 0
    trusted = ("--trusted", key.with_suffix(".pub"))
    assert run("budget", "rebuild", tmp_path / "one.ledger", release, "--complete", *trusted).code == 0
    assert run("budget", "verify", made / "city.ledger", release, *trusted).code == 0
    manifest = release / "release.json"
    manifest.write_text(manifest.read_text().replace('"approved_epsilon": 2.0', '"approved_epsilon": 20.0'))
    for command in (
        ("rebuild", tmp_path / "two.ledger", release, "--complete"),
        ("verify", made / "city.ledger", release),
    ):
        assert "the signature is not one of the trusted key" in refused("budget", *command, *trusted)
    assert not (tmp_path / "two.ledger").exists()
    assert "nothere.pub is not there" in refused("verify", release, "--trusted", tmp_path / "nothere.pub")


def test_a_kept_set_is_made_once_and_learned_from_at_user_level(trips: Path, tmp_path: Path) -> None:
    done = run("bound", trips, "--max-requests", 4, "--out", tmp_path / "kept")
    assert done.code == 0, done.err
    assert "PRIVATE, do not publish: 3,6" in done.text  # at most four of 900 users
    assert "of 20,000 rows kept" in done.text
    assert "made once and never replaced" in refused("bound", trips, "--max-requests", 4, "--out", tmp_path / "kept")
    kept = tmp_path / "kept" / "trips.parquet"
    assert pq.read_metadata(kept).num_rows == 4 * 900
    unit = ("--unit", "user", "--max-requests", 4, "--pre-bounded")
    words = ("learn", "--network", "sioux-falls", "--trips", kept, *DATES, "--period", "hourly", *KINDS, *unit)
    done = run(*words, *PROMISE, "--set", "quality.share=0", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "the limits hold for all trips of one user together" in done.text


def test_a_plan_names_the_periods_that_are_too_thin(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        '[network]\nsource = "sioux-falls"\n[calendar]\nfrom = 2026-03-02\nto = 2026-03-15\n'
        'periods = ["07:00-08:00", "12:00-13:00"]\n[guarantee]\nepsilon = 0.003\ndelta = 1e-6\n'
        '[data]\nexpansion = 100.0\n[mechanism]\nname = "counts"\ngap = 1e-3\n'
    )
    (tmp_path / "profile.csv").write_text("period,factor\n07:00-08:00,1.0\n12:00-13:00,0.6\n")
    words = ("plan", tmp_path / "study.toml", "--prior", "sioux-falls", "--draws", 1)
    done = run(*words, "--day-profile", tmp_path / "profile.csv", "--out", tmp_path / "plan")
    assert done.code == 0, done.err
    assert "Too thin at this epsilon" in done.text
    periods = json.loads((tmp_path / "plan" / "plan.json").read_text())["periods"]
    assert [each["period"] for each in periods] == ["07:00-08:00", "12:00-13:00"]
    assert periods[0]["expected_trips"] > periods[1]["expected_trips"]
