"""The commands that read a release: inspect, route, evaluate."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.command import refused, run
from tests.cli.conftest import FIRST, LAST, MARK

import privroute as pr
from privroute.errors import InputError
from privroute.release.explanation import odds_factor
from privroute.study.source import read_public_demand

PRIVATE_SIDE = ("privroute.history", "privroute.privacy", "privroute.mechanism", "privroute.evaluate", "opendp")


def test_inspect_says_what_is_protected_from_whom_how_strongly_and_what_is_not(release: Path) -> None:
    done = run("inspect", release)
    assert done.code == 0, done.err
    certificate = pr.load_release(release).certificate
    assert certificate.rho
    for title in ("Protected", "From whom", "How strongly", "Not protected", "How it was made"):
        assert f"\n{title}\n" in done.out
    assert "Private: epsilon 0.1, delta 1e-6" in done.text
    assert "at most 1.106 times as likely, plus a probability of 1e-6" in done.text  # e^0.1, rounded upwards
    factor = odds_factor(certificate.rho, 1e-6)
    stated = re.search(r"the data by at most a factor of ([0-9.]+),", done.text)
    assert stated
    assert factor <= float(stated[1]) < factor + 1e-3
    for limit in (
        "Several trips of one person",
        "curator",
        "Facts about the population",
        "Information from other sources",
    ):
        assert limit in done.text
    assert "NOT PRIVATE" not in done.text


def test_inspect_says_loudly_what_is_not_private(unprotected: Path) -> None:
    done = run("inspect", unprotected)
    assert done.code == 0
    assert done.out.splitlines()[1].startswith("NOT PRIVATE")
    assert "How strongly" not in done.out
    assert "odds" not in done.out


def test_inspect_says_loudly_that_a_delta_is_too_large_for_single_persons(weak: Path) -> None:
    done = run("inspect", weak)
    assert done.code == 0
    assert done.out.splitlines()[1].startswith("NOT PRIVATE: delta 0.1 is above 0.001")
    assert "\nProtected\n" not in done.out
    assert "hold as stated" in done.text
    assert "Private" not in done.text
    assert "vehicles per hour in total (NOT PRIVATE)" in done.text
    found = json.loads(run("inspect", weak, "--json").out)
    assert found["private"] is found["certificate"]["private"] is False
    assert found["odds_factor"] > 1
    assert found["words"]["verdict"].startswith("NOT PRIVATE: delta 0.1")
    assert "NOT PRIVATE" in run("route", weak, 1, 20).err


def test_inspect_as_json_is_the_certificate(release: Path, unprotected: Path) -> None:
    found = json.loads(run("inspect", release, "--json").out)
    assert found["private"] is True
    assert found["certificate"]["epsilon"] == 0.1
    assert found["odds_factor"] > math.exp(0.1)
    assert found["policy"]["pairs"] == 552
    found = json.loads(run("inspect", unprotected, "--json").out)
    assert found["private"] is False
    assert found["odds_factor"] is None
    assert found["words"]["verdict"].startswith("NOT PRIVATE")


def test_route_shows_the_alternatives_with_their_minutes(release: Path) -> None:
    known = pr.load_release(release)
    pair = int(np.argmax(np.diff(known.policy.first_path())))
    labels = known.network.node_labels
    ends = labels[known.policy.pairs.origin[pair]], labels[known.policy.pairs.destination[pair]]
    found = json.loads(run("route", release, *ends, "--json").out)
    routes = known.policy.routes(*ends)
    assert len(routes) > 1
    assert [row["probability"] for row in found["routes"]] == [each.probability for each in routes]
    assert [tuple(row["nodes"]) for row in found["routes"]] == [each.nodes for each in routes]
    expected = sum(row["probability"] * row["expected_min"] for row in found["routes"])
    assert known.demand
    times = pr.travel_times(known.network, known.policy, known.demand)
    assert expected == pytest.approx(times.expected_min[pair])
    assert all(row["free_flow_min"] <= row["expected_min"] for row in found["routes"])
    shown = run("route", release, *ends, width=120).out
    assert " → ".join(map(str, routes[0].nodes)) in shown
    assert "min, released demand" in shown


def test_drawing_routes_with_a_seed_repeats(release: Path) -> None:
    first, second = (
        json.loads(run("route", release, 1, 20, "--sample", 50, "--seed", 4, "--json").out) for _ in range(2)
    )
    assert first == second
    assert len(first["sample"]) == sum(row["drawn"] for row in first["routes"]) == 50
    assert "Take route 1." in run("route", release, 1, 2, "--sample", 1).out
    assert "--seed is only valid with --sample" in refused("route", release, 1, 20, "--seed", 4)


def test_routes_of_an_unprotected_release_come_with_a_warning(unprotected: Path) -> None:
    done = run("route", unprotected, 1, 20)
    assert done.code == 0
    assert "NOT PRIVATE" in done.err
    assert "released demand" not in done.out


@pytest.mark.parametrize("ends", [("1", "99"), ("1", "1"), ("[bold]", "2"), ("", "2")])
def test_a_pair_that_is_not_there_is_one_line(release: Path, ends: tuple[str, str]) -> None:
    assert refused("route", release, *ends)
    assert "the 24 zones begin with 1, 2, 3" in refused("route", release, "1", "99")


def test_evaluate_against_the_released_and_a_public_demand(release: Path, tmp_path: Path) -> None:
    done = run("evaluate", release)
    assert done.code == 0, done.err
    assert "Modelled, against the released demand" in done.out
    assert "PRIVATE" not in done.out
    demand = tmp_path / "[red]demand[bold].csv"
    demand.write_text("origin,destination,trips\n1,20,600\n13,7,300\n")
    done = run("evaluate", release, "--demand", demand)
    assert done.code == 0, done.err
    assert "[red]demand[bold].csv" in done.out
    for row in ("optimum of this demand", "released, counts", "gravity model of zone sizes", "fastest paths"):
        assert row in done.out


def test_the_built_in_demand_is_named_by_its_word(release: Path) -> None:
    done = run("evaluate", release, "--demand", "sioux-falls")
    assert done.code == 0, done.err
    assert "Against the demand of sioux-falls" in done.out
    assert "per hour" in refused("evaluate", release, "--demand", "sioux-falls", "--demand-period-min", 30)
    road = pr.Network([0, 1], [1, 0], pr.Latency.affine([1.0, 1.0], 1.0), ["a", "b"])
    with pytest.raises(InputError, match="is only valid with the network sioux-falls"):
        read_public_demand(Path("sioux-falls"), road)


def test_evaluate_takes_files_of_trips_where_daily_counts_are_expected(release: Path, tmp_path: Path) -> None:
    trips = tmp_path / "trips.csv"
    trips.write_text(f"departure,origin,destination\n{FIRST} 07:10:00,1,20\n{LAST} 07:20:00,13,7\n")
    private = ("--private-counts", trips, "--from", FIRST, "--to", LAST)
    assert "files of trips need --period" in refused("evaluate", release, *private)
    done = run("evaluate", release, *private, "--period", "07:00-08:00", width=120)
    assert done.code == 0, done.err
    numbers = [line for line in done.out.splitlines() if any(sign.isdigit() for sign in line)]
    assert numbers
    assert all(line.strip().startswith("PRIVATE") for line in numbers)
    (tmp_path / "other.csv").write_text("from,to\n1,20\n")
    assert "daily counts" in refused("evaluate", release, "--private-counts", tmp_path / "other.csv")


def test_no_trip_at_all_is_said_in_private_and_stops_nothing(release: Path, tmp_path: Path) -> None:
    trips = tmp_path / "trips.csv"
    for record in ("", f"{FIRST} 12:00:00,1,20\n"):  # none, or none of the period
        trips.write_text("departure,origin,destination\n" + record)
        private = ("--private-counts", trips, "--from", FIRST, "--to", LAST, "--period", "07:00-08:00")
        done = run("evaluate", release, *private, width=120)
        assert done.code == 0, done.err
        (said,) = [line for line in done.out.splitlines() if "zero for all pairs" in line]
        assert said.strip().startswith("PRIVATE")


def test_a_record_does_not_decide_what_a_private_file_is(release: Path, tmp_path: Path) -> None:
    """Lines that end with carriage returns: a cell of a record is not a column."""
    trips, lines = tmp_path / "trips.csv", [f"{FIRST} 07:10:00,1,20,x", f"{LAST} 07:20:00,13,7,trips"]
    for count in (1, 2):
        trips.write_bytes("\r".join(["departure,origin,destination,note", *lines[:count]]).encode())
        done = run(
            "evaluate", release, "--private-counts", trips, "--from", FIRST, "--to", LAST, "--period", "07:00-08:00"
        )
        assert done.code == 0, done.err


def test_evaluate_shows_what_was_measured_first_and_calls_its_own_demand_modelled(release: Path) -> None:
    done = run("evaluate", release, width=150)
    assert done.out.index("Measured on the true trips") < done.out.index("Modelled, against the released demand")
    rows = [line for line in done.out.splitlines() if "0 %" in line and "released, counts" in line]
    assert all("modelled" in line for line in rows)
    assert "Verdict: " in done.out
    names = ("released, counts", "no advice: equilibrium", "gravity model", "equal demand", "fastest paths")
    at = [done.out.rindex(name) for name in names]
    assert at == sorted(at)
    assert done.out.count("ravity model of the released zone totals") == 2
    assert "of zone sizes" not in done.out


def test_evaluate_against_private_trips_marks_every_line(release: Path, daily_csv: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    done = run("evaluate", release, "--private-counts", daily_csv, "--from", FIRST, "--to", LAST, width=120)
    assert done.code == 0, done.err
    assert "PRIVATE" in done.err
    numbers = [line for line in done.out.splitlines() if any(sign.isdigit() for sign in line)]
    assert numbers
    assert all(line.strip().startswith("PRIVATE") for line in numbers)
    assert str(MARK) not in done.out + done.err
    assert f"{MARK:,}" not in done.out + done.err
    assert "PRIVATE gravity model of the private zone totals" in done.out
    assert sorted(tmp_path.rglob("*")) == before


def test_private_counts_are_read_on_the_days_of_the_certificate_unless_others_are_given(
    release: Path, daily_csv: Path
) -> None:
    dates = ("--from", FIRST, "--to", LAST)
    default, same, first = (
        run("evaluate", release, "--private-counts", daily_csv, *more, width=120)
        for more in ((), dates, ("--from", FIRST, "--to", FIRST))
    )
    assert default.code == same.code == first.code == 0, default.err
    assert default.out == same.out != first.out


def test_private_counts_are_read_on_days_that_follow_no_rule(daily_csv: Path, tmp_path: Path) -> None:
    """Only the days of the certificate count: neither the days between them nor the file's others."""
    scenario, dates = pr.sioux_falls(), [dt.date.fromisoformat(day) for day in (FIRST, LAST)]
    days = pr.simulate_days(scenario.demand, days=4, period_min=60, seed=7)
    some = pr.DemandHistory(days.pairs, days.counts[[0, 3]], dates=dates, begins=dt.time(7, 0, 0, 500_000))
    pr.learn(scenario.network, some, pr.Guarantee(0.1, 1e-6)).save(tmp_path / "some")
    private = ("evaluate", tmp_path / "some", "--private-counts", daily_csv)
    default, whole, longer = (
        run(*private, *more, width=120) for more in ((), ("--from", FIRST, "--to", LAST), ("--period-min", 120))
    )
    assert default.code == whole.code == longer.code == 0, default.err + whole.err + longer.err
    ours = [line.split() for line in daily_csv.read_text().splitlines() if line.startswith((FIRST, LAST))]
    (tmp_path / "two.csv").write_text(
        "date,origin,destination,trips\n" + "\n".join(" ".join(words) for words in ours) + "\n"
    )
    two = run("evaluate", tmp_path / "some", "--private-counts", tmp_path / "two.csv", width=120)
    assert default.out == two.out  # with the days between them left out, nothing changes
    assert len({default.out, whole.out, longer.out}) == 3
    assert "pass both --from and --to" in refused(*private, "--from", FIRST)


def test_private_trips_are_read_as_a_study_says(release: Path, tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text(
        f"start,end,at\n1,20,{FIRST} 07:10:00\n13,7,{LAST} 07:20:00\n13,7,{LAST} 09:20:00\n"
    )
    (tmp_path / "study.toml").write_text(
        f'[calendar]\nfrom = {FIRST}\nto = {LAST}\nperiods = ["07:00-08:00"]\n'
        '[trips]\norigin = "start"\ndestination = "end"\ndeparture = "at"\n'
    )
    private = ("--private-trips", tmp_path / "trips.csv", "--study", tmp_path / "study.toml")
    done = run("evaluate", release, *private, width=120)
    assert done.code == 0, done.err
    numbers = [line for line in done.out.splitlines() if any(sign.isdigit() for sign in line)]
    assert numbers
    assert all(line.strip().startswith("PRIVATE") for line in numbers)
    assert "The study" not in done.err  # its days and bounds are those of the release


def test_a_study_that_contradicts_the_release_is_rejected_or_named(release: Path, tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text(f"user,origin,destination,departure\na,1,20,{FIRST} 07:10:00\n")
    study = tmp_path / "study.toml"
    calendar = f'[calendar]\nfrom = {FIRST}\nto = {FIRST}\nperiods = ["07:00-08:00"]\n'
    private = ("evaluate", release, "--private-trips", tmp_path / "trips.csv", "--study", study)
    study.write_text(calendar + "[data]\nexpansion = 10\n")
    message = refused(*private)
    assert "data.expansion is 10 in" in message
    assert "and 1 in the release" in message
    chosen = run(*private, "--expansion", 10, width=120)
    assert chosen.code == 0, chosen.err
    assert f"The study is for {FIRST} to {FIRST} (1 day)" in chosen.err
    assert f"the release for {FIRST} to {LAST} (4 days)" in chosen.err
    assert "The study counts" not in chosen.err
    study.write_text(calendar + '[unit]\nprotect = "user"\nmax_requests = 5\n[trips]\nuser = "user"\n')
    bounded = run(*private, width=120)
    assert bounded.code == 0, bounded.err
    assert "The study counts at most 5 trips of each user, 5 for one pair, the release all trips" in bounded.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--demand", "a.csv", "--private-counts", "b.csv"), "exclude each other"),
        (("--from", FIRST), "--from is only valid with --private-counts"),
        (("--expansion", "2"), "--expansion is only valid with --private-counts"),
        (("--matrix", "am"), "--matrix is only valid with --demand"),
        (("--private-counts", "never-opened.csv", "--from", LAST, "--to", FIRST), "is before --from"),
        (("--private-trips", "never-opened.csv"), "--private-trips needs --study"),
        (("--study", "never-opened.toml"), "--study is only valid with --private-counts"),
        (
            ("--private-counts", "never-opened.csv", "--from", FIRST, "--to", LAST, "--period-min", "0"),
            "--period-min is 0.0",
        ),
        (
            ("--private-counts", "never-opened.csv", "--from", FIRST, "--to", LAST, "--expansion", "0"),
            "--expansion is 0.0",
        ),
        (("--private-counts", "missing.csv", "--from", FIRST, "--to", LAST), "cannot be read"),
        (("--private-counts", "days/*.csv"), "--private-counts takes one file, and days/*.csv is a pattern"),
        (("--demand", "missing.csv"), "cannot be read"),
        (("--demand", "missing"), "the ending does not say"),
    ],
)
def test_evaluate_refuses_what_does_not_fit(release: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in refused("evaluate", release, *arguments)


def test_an_empty_demand_and_a_release_without_one_are_refused(
    release: Path, unprotected: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("origin,destination,trips\n1,2,0\n")
    assert "zero for all pairs" in refused("evaluate", release, "--demand", empty)
    done = run("evaluate", unprotected)
    assert done.code == 1
    assert "contains no demand" in done.err


def test_evaluate_shows_the_measured_quality_of_a_release_without_a_demand(
    history: pr.DemandHistory, tmp_path: Path
) -> None:
    scenario = pr.sioux_falls()
    made = pr.Minimiser(alpha=1.0, public_demand=scenario.demand)
    pr.learn(scenario.network, history, pr.Guarantee(0.1, 1e-6), mechanism=made).save(tmp_path / "flows")
    assert pr.load_release(tmp_path / "flows").demand is None
    done = run("evaluate", tmp_path / "flows", width=120)
    assert done.code == 0, done.err
    assert "Measured on the true trips, with noise" in done.out
    assert "contains no demand, so no travel times are modelled" in done.text


@pytest.mark.parametrize("command", [("inspect",), ("route", "1", "20"), ("evaluate",)])
def test_a_damaged_release_is_one_line(release: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    name, *rest = command
    damaged = tmp_path / "damaged"
    shutil.copytree(release, damaged)
    (damaged / "routes.parquet").write_bytes(b"nothing")
    assert "not the file that was released" in refused(name, damaged, *rest)
    manifest = json.loads((release / "release.json").read_text())
    manifest["certificate"]["epsilon"] = manifest["certificate"]["study"]["guarantee"]["epsilon"] = -5.0
    shutil.copy(release / "routes.parquet", damaged)
    (damaged / "release.json").write_text(json.dumps(manifest))
    assert "epsilon is -5.0" in refused(name, damaged, *rest)
    assert "is not a release" in refused(name, tmp_path / "missing", *rest)


@pytest.mark.parametrize("arguments", [("inspect", "{}"), ("inspect", "{}", "--json"), ("route", "{}", "1", "20")])
def test_reading_a_release_never_loads_the_private_side(release: Path, arguments: tuple[str, ...]) -> None:
    words = ["privroute", *(word.format(release) for word in arguments)]
    script = (
        f"import sys; sys.argv = {words!r}\n"
        "from privroute.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit as leave:\n    assert not leave.code\n"
        f"loaded = [name for name in sys.modules if name.startswith({PRIVATE_SIDE!r})]\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
