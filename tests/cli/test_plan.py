from __future__ import annotations

import csv
import json
import shlex
import tomllib
from pathlib import Path

import pytest
from tests.cli.command import refused, run
from tests.cli.conftest import FIRST, LAST

import privroute as pr
from privroute.evaluate.bounds import compare_bounds

QUICK = ("--days", 5, "--epsilons", "0.01,1", "--draws", 2)


def sizes_csv(path: Path, **changes: str) -> Path:
    zones = [str(label) for label in pr.sioux_falls().network.node_labels]
    rows = {zone: f"{zone},{10 + int(zone)},{40 - int(zone)}" for zone in zones} | changes
    path.write_text("zone,size,receives\n" + "\n".join(row for row in rows.values() if row) + "\n")
    return path


def test_a_plan_of_the_built_in_network_needs_no_files(tmp_path: Path) -> None:
    done = run("plan", "--network", "sioux-falls", *QUICK, "--out", tmp_path / "plan")
    assert done.code == 0, done.err
    assert "no trip was read" in done.text
    assert "Epsilon 0.01 is the smallest of these whose policy is within 0.1 % of the optimum" in done.text
    assert "beat the best baseline without data" in done.text
    found = json.loads((tmp_path / "plan" / "plan.json").read_text())
    assert [row["epsilon"] for row in found["rows"]] == [0.01, 1.0]
    assert len(found["rows"][0]["percent"]) == found["draws"] == 2
    with (tmp_path / "plan" / "plan.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["row"] for row in rows[:2]] == ["counts", "counts"]
    assert float(rows[0]["median_percent"]) == found["rows"][0]["median_percent"]
    assert (tmp_path / "plan" / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_a_plan_with_a_delta_too_large_for_single_persons_says_so_everywhere(tmp_path: Path) -> None:
    done = run("plan", "--network", "sioux-falls", *QUICK, "--delta", "0.1", "--out", tmp_path / "plan")
    assert done.code == 0, done.err
    assert "NOT PRIVATE at any of these epsilons: delta 0.1 is above 0.001" in done.err
    assert "too large" in json.loads((tmp_path / "plan" / "plan.json").read_text())["why_not_private"]
    assert (tmp_path / "plan" / "plan.csv").read_text().count("counts, delta too large to be private") == 2
    done = run("plan", "--network", "sioux-falls", *QUICK, "--delta", "0.001", "--out", tmp_path / "plan")
    assert "NOT PRIVATE at any" not in done.err
    assert json.loads((tmp_path / "plan" / "plan.json").read_text())["why_not_private"] is None


def test_a_plan_for_users_has_the_noise_of_their_bounds_and_says_what_is_left_out() -> None:
    bounds = ("--unit", "user", "--max-requests", 10, "--max-per-pair", 2)
    done = run("plan", "--network", "sioux-falls", *QUICK, *bounds)
    assert done.code == 0, done.err
    assert "Noise for each user with at most 10 trips, 2 of them for one pair" in done.text
    assert "A typical pair (root mean square over all pairs) has about" in done.text
    assert "no data: equilibrium without advice" in done.text


def test_a_plan_for_trips_with_weights_has_the_noise_of_the_heaviest(tmp_path: Path) -> None:
    noise = []
    for more in ((), ("--set", "unit.max_weight=7")):
        done = run("plan", "--network", "sioux-falls", *QUICK, *more, "--out", tmp_path)
        assert done.code == 0, done.err
        noise.append(json.loads((tmp_path / "plan.json").read_text())["rows"][0]["noise_scale"])
    assert "count as at most 7 each" in done.text
    assert noise[1] == pytest.approx(7 * noise[0], rel=1e-3)


def test_a_plan_without_congestion_says_that_there_is_nothing_to_gain(tmp_path: Path) -> None:
    sizes = sizes_csv(tmp_path / "sizes.csv")
    done = run("plan", "--network", "sioux-falls", "--zone-sizes", sizes, "--trips-per-hour", 10, *QUICK)
    assert done.code == 0, done.err
    assert "There is nothing to gain" in done.text
    done = run("plan", "--network", "sioux-falls", *QUICK)
    assert "nothing to gain" not in done.text


def test_bounds_on_users_are_compared_from_a_public_distribution(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("trips,users\n1,500\n2,300\n10,150\n200,1\n")
    wanted = ("--trips-per-user", path, "--network", "sioux-falls")
    done = run("plan", *wanted, "--unit", "user", width=150)
    assert done.code == 0, done.err
    assert "The noise over what is kept is smallest with " in done.text
    rows = compare_bounds({1: 500, 2: 300, 10: 150, 200: 1}, pr.Guarantee(1.0, 1e-6, "user"))
    assert rows[0].kept == pytest.approx(951 / 2800)
    assert rows[-1].kept == 1.0
    assert rows[-1].max_requests == 200
    assert rows[3].noise == pytest.approx(rows[0].noise * rows[3].max_requests)
    assert "--trips-per-user is for" in refused("plan", *wanted)
    path.write_text("trips,users\n0,5\n")
    assert "start at 1" in refused("plan", *wanted, "--unit", "user")


def test_the_same_seed_gives_the_same_plan() -> None:
    first, second, third = (run("plan", "--network", "sioux-falls", *QUICK, "--seed", seed).out for seed in (1, 1, 2))
    assert first == second
    assert first != third


@pytest.mark.parametrize("mechanism", ["minimiser", "sgd"])
def test_noise_on_flows_is_planned_with_the_prior_as_public_demand(mechanism: str) -> None:
    quick = ("--days", 5, "--epsilons", "1", "--draws", 1, "--alpha", 500)
    done = run("plan", "--network", "sioux-falls", "--mechanism", mechanism, *quick)
    assert done.code == 0, done.err
    assert f"the optimum: {mechanism}" in done.text
    assert "typical share" in done.out
    assert "--alpha is only valid with" in refused("plan", "--network", "sioux-falls", *quick)


def test_zone_sizes_stand_in_for_a_demand(tmp_path: Path) -> None:
    sizes = sizes_csv(tmp_path / "sizes.csv")
    done = run("plan", "--network", "sioux-falls", "--zone-sizes", sizes, "--trips-per-hour", 300_000, *QUICK)
    assert done.code == 0, done.err
    assert "about 1,500,000 trips" in done.text
    assert "no data: gravity" not in done.out  # the prior is itself one


def test_several_periods_are_compared_with_the_same_rows_as_one(tmp_path: Path) -> None:
    """The same demand as one period and as two: the prior is a gravity model, and is not compared with itself."""
    sizes = sizes_csv(tmp_path / "sizes.csv")
    study = '[network]\nsource = "sioux-falls"\nlatency = "bpr"\n[guarantee]\nepsilon = 0.5\ndelta = 1e-6\n'
    study += '[mechanism]\nname = "counts"\n[calendar]\ndays = 5\n'
    hours = {"one": "period_min = 60", "two": 'periods = ["07:00-08:00", "08:00-09:00"]'}
    found = {}
    for name, given in hours.items():
        (tmp_path / f"{name}.toml").write_text(f"{study}{given}\n")
        quick = ("--zone-sizes", sizes, "--trips-per-hour", 100_000, "--draws", 1)
        more = ("--epsilons", 0.5) if name == "one" else ()
        done = run("plan", tmp_path / f"{name}.toml", *quick, *more, "--out", tmp_path / name)
        assert done.code == 0, done.err
        found[name] = json.loads((tmp_path / name / "plan.json").read_text())
    assert "too thin" not in done.text
    one = found["one"]["rows"][0]
    assert one["verdict"] == "better"
    assert min(found["one"]["without_data_percent"].values()) > 1.0
    for period in found["two"]["periods"]:
        assert period["without_data_percent"] == found["one"]["to_gain_percent"]
        assert period["median_percent"] == one["median_percent"]
        assert period["verdict"] == "useful"


def test_a_total_of_several_periods_is_refused_as_learn_refuses_it() -> None:
    promise = ("--set", "guarantee.epsilon=1")
    hours = ("--set", "calendar.periods=07:00-09:00/60min", *promise, "--unit", "user", "--max-requests", 2)
    total = ("--set", "data.total_vehicles_per_hour=300000")
    message = refused("plan", "--network", "sioux-falls", "--days", 2, "--draws", 1, *hours, *total)
    assert "total_vehicles_per_hour is one number where periods differ" in message


def test_files_of_networks_and_demands(tntp: Path) -> None:
    braess = ("--network", tntp / "Braess_net.tntp", "--prior", tntp / "Braess_trips.tntp", "--period-min", 600)
    assert "--on-unreachable drop" in refused("plan", *braess, *QUICK)
    done = run("plan", *braess, *QUICK, "--on-unreachable", "drop", "--mechanism", "daily")
    assert done.code == 0, done.err
    assert "daily, delta 1e-6" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epsilons", "a,b"), "not a list of numbers"),
        (("--epsilons", "-1"), "epsilon is -1.0"),
        (("--epsilons", "nan"), "epsilon is nan"),
        (("--epsilons", "1e-6", "--delta", "1e-9"), "more than is simulated"),
        (("--delta", "1.5"), "delta is 1.5"),
        (("--delta", "0"), "delta is 0.0"),
        (("--expansion", "0.5"), "--expansion is 0.5"),
        (("--period-min", "0"), "--period-min is 0.0"),
        (("--period-min", "1500"), "--period-min is 1500, and a day has 1,440 minutes"),
        (("--days", "900000"), "fewer days"),
        (("--prior", "trips.xyz"), "the ending does not say"),
        (("--prior", "missing.csv"), "cannot be read"),
        (("--prior", "missing.csv", "--matrix", "am"), "--matrix is only valid for Open Matrix"),
        (("--zone-sizes", "sizes.csv"), "are only valid together"),
        (("--trips-per-hour", "10"), "are only valid together"),
        (("--prior", "a.csv", "--zone-sizes", "b.csv"), "exclude each other"),
        (("--zone-sizes", "missing.csv", "--trips-per-hour", "10"), "cannot be read"),
        (("--zone-sizes", "missing.csv", "--trips-per-hour", "-1"), "pass a positive number"),
        (("--set", "network.nodes=nodes.tntp"), "network.nodes is only valid for TNTP files"),
        (("--set", "network.time_unit=h"), "network.time_unit is only valid for TNTP files"),
        (("--latency", "bpr", "--set", "network.factor=2"), "network.factor is only valid with --latency affine"),
        (("--set", "network.factor=nan"), "factor"),
        (("--days", "0"), "--days is 0; pass a whole number of at least 1"),
        (("--days", "many"), "--days is 'many'; pass a whole number"),
        (("--latency", "cubic"), "--latency is 'cubic'; pass"),
        (("--set", "guarantee.epslion=1"), "did you mean guarantee.epsilon?"),
        (("--set", "guarantee.delta"), "has no value; write it like guarantee.epsilon=0.5"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    assert message in refused("plan", "--network", "sioux-falls", *QUICK, *arguments)


@pytest.mark.parametrize("arguments", [("--draws", "0"), ("--seed", "-1")])
def test_values_out_of_range_are_wrong_usage(arguments: tuple[str, ...]) -> None:
    done = run("plan", "--network", "sioux-falls", *QUICK, *arguments)
    assert done.code == 2
    assert arguments[0] in done.err


def test_a_network_that_is_not_there_and_one_without_demand(tmp_path: Path) -> None:
    assert "--network takes" in refused("plan", "--network", tmp_path / "none.tntp", *QUICK)
    pr.write_gmns(pr.sioux_falls().network, tmp_path / "gmns")
    assert "needs a public demand" in refused("plan", "--network", tmp_path / "gmns", *QUICK)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"5": ""}, "1 zones have no size (first: 5)"),
        ({"5": "5,1,1\n5,1,1"}, "occurs twice"),
        ({"5": "99,1,1"}, "99 is not a zone"),
        ({"5": "5,-1,1"}, "must not be negative"),
        ({"5": "5,x,1"}, "a plain decimal number is needed"),
        ({str(zone): f"{zone},0,1" for zone in range(1, 25)}, "zero everywhere"),
        ({str(zone): f"{zone},{int(zone == 3)},{int(zone == 3)}" for zone in range(1, 25)}, "no pair connects"),
    ],
)
def test_zone_sizes_are_checked(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    sizes = sizes_csv(tmp_path / "sizes.csv", **changes)
    options = ("--zone-sizes", sizes, "--trips-per-hour", 1000)
    assert message in refused("plan", "--network", "sioux-falls", *options, *QUICK)


def test_a_plan_for_users_has_the_noise_of_their_bounds(tmp_path: Path) -> None:
    tables = []
    for more in ((), ("--set", "unit.protect=user", "--set", "unit.max_requests=9")):
        arguments = (
            "plan",
            "--network",
            "sioux-falls",
            "--days",
            3,
            "--epsilons",
            0.5,
            "--draws",
            1,
            "--out",
            tmp_path,
        )
        done = run(*arguments, *more)
        assert done.code == 0, done.err
        tables.append(json.loads((tmp_path / "plan.json").read_text())["rows"][0]["noise_scale"])
        assert ("bounds leave out are not simulated" in done.out.replace("\n", " ")) == bool(more)
    assert tables[1] == pytest.approx(9 * tables[0], rel=1e-3)


def test_options_chosen_on_the_prior_are_shown_whole_and_can_be_learned_with(
    daily_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from privroute.evaluate import tuning  # noqa: PLC0415 - its candidates are fewer here

    monkeypatch.setitem(tuning.CANDIDATES, "sgd", {"steps_per_day": (2,), "power": (0.25,)})
    monkeypatch.setitem(tuning.ALPHA_SHARES, "sgd", (1.6e-5,))
    sizes = sizes_csv(tmp_path / "sizes.csv")
    prior = ("--zone-sizes", sizes, "--trips-per-hour", 300_000)
    done = run("plan", "--network", "sioux-falls", *QUICK, "--mechanism", "sgd", "--tune-for", 1, *prior)
    assert done.code == 0, done.err
    assert "public_demand is missing above" in done.text
    done = run(
        *("plan", "--network", "sioux-falls", *QUICK, "--mechanism", "sgd", "--tune-for", 1, *prior),
        *("--out", tmp_path / "plan"),
    )
    assert done.code == 0, done.err
    block = (tmp_path / "plan" / "mechanism.toml").read_text()
    assert block in done.out
    chosen = tomllib.loads(block)["mechanism"]
    assert (chosen["steps_per_day"], chosen["power"]) == (2, 0.25)
    assert chosen["alpha"] > 0
    command = next(line for line in done.out.splitlines() if line.startswith("privroute learn ... "))
    dates = ("--history", daily_csv, "--from", FIRST, "--to", LAST, "--epsilon", 1, "--delta", "1e-6")
    done = run(
        *("learn", "--network", "sioux-falls", *dates, "--out", tmp_path / "out"),
        *shlex.split(command.removeprefix("privroute learn ... ")),
    )
    assert done.code == 0, done.err
    options = dict(pr.load_release(tmp_path / "out").certificate.options)
    planned = json.loads((tmp_path / "plan" / "plan.json").read_text())["options"]
    assert {name: value for name, value in options.items() if name in chosen and name != "public_demand"} == {
        name: value for name, value in chosen.items() if name not in ("name", "public_demand")
    }
    assert options.pop("public_demand").startswith("sha256 ")
    assert planned.pop("public_demand").startswith("sha256 ")
    assert {name: value for name, value in options.items() if value is not None} == {
        name: value for name, value in planned.items() if value is not None
    }
