from __future__ import annotations

import json
from unittest import mock

import numpy as np
import pytest
from tests.cli.command import Done, refused, run

import privroute as pr
from privroute.evaluate.attack import Attack
from privroute.evaluate.audit import Audit
from privroute.mechanism.learn import Announcement


@pytest.mark.parametrize("mechanism", ["counts", "daily", "layered", "minimiser", "sgd"])
def test_an_audit_makes_releases_and_gives_a_verdict(mechanism: str) -> None:
    release = Announcement.release
    with mock.patch.object(Announcement, "release", autospec=True, side_effect=release) as released:
        done = run("audit", "--mechanism", mechanism, "--runs", 50, "--false-alarm", "1e-9")
    assert done.code == 0, done.err
    assert released.call_count == 100
    assert "Passed" in done.out
    assert "cannot prove" in done.text
    assert f"Mechanism {mechanism}, guarantee: epsilon 4, delta 1e-6" in done.out


def test_a_broken_promise_is_said_loudly_and_by_the_exit_code() -> None:
    broken = Audit(pr.Guarantee(1.0, 1e-6), 50, 0.0, 1e-3, 2.5)
    with mock.patch("privroute.evaluate.audit.audit", return_value=broken):
        done = run("audit", "--runs", 50)
    assert done.code == 1
    assert "FAILED" in done.err
    assert "at least 2.5" in done.out
    assert "Passed" not in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epsilon", "0"), "epsilon is 0.0"),
        (("--delta", "-1"), "delta is -1.0"),
        (("--false-alarm", "0"), "false_alarm is 0.0"),
        (("--false-alarm", "nan"), "false_alarm is nan"),
        (("--attack", "--false-alarm", "1"), "false_alarm is 1.0"),
        (("--attack", "--epsilon", "-1"), "epsilon is -1.0"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    assert message in refused("audit", "--runs", 50, *arguments)


def test_too_few_runs_are_wrong_usage() -> None:
    assert run("audit", "--runs", 10).code == 2


@pytest.fixture(scope="module")
def attacked() -> Done:
    return run("audit", "--attack", "--runs", 51, "--json")


def test_the_attack_finds_the_trip_in_flows_and_not_in_releases(attacked: Done) -> None:
    assert attacked.code == 0, attacked.err
    found = json.loads(attacked.out)
    assert (found["mechanism"], found["epsilon"], found["delta"], found["days"]) == ("counts", 0.1, 1e-6, 50)
    per_pair, total, policy, release = found["attacks"]
    for row in (per_pair, total, policy):
        assert row["hits"] == row["trials"] == 52
        assert row["limit"] is row["passed"] is None
    assert release["passed"]
    assert release["published"] == "counts, epsilon 0.1, delta 1e-6"
    assert release["accuracy_high"] <= release["limit"] + release["tolerance"]


@pytest.mark.parametrize("width", [60, 80])
def test_the_attack_is_readable_on_any_terminal(width: int) -> None:
    present = np.arange(60) % 2 == 0
    rows = [Attack(name, present, present * 1.0, 0.5, 1e-3) for name in ("pair by pair", "total flow")]
    release = Attack("release", present, (np.arange(60) % 3 == 0) * 1.0, 0.5, 1e-3, 0.525)
    with (
        mock.patch("privroute.evaluate.attack.attack_flows", return_value=tuple(rows)),
        mock.patch("privroute.evaluate.attack.attack_releases", side_effect=[rows[0], release]),
    ):
        done = run("audit", "--attack", "--mechanism", "daily", "--epsilon", 1, width=width)
    assert done.code == 0, done.err
    assert "Passed" in done.out
    assert "An attacker who knows the map detects it" in done.text
    assert f"The test fails if more than {release.most_hits} of the 60 answers" in done.text
    assert "With this number of trials the test detects only large errors" in done.text
    assert done.text.startswith("Running 1,000 trials with published flows, then 2,400 releases")
    assert max(map(len, done.out.splitlines())) <= width


def test_a_trip_found_in_releases_is_said_loudly_and_by_the_exit_code() -> None:
    present = np.arange(200) % 2 == 0
    rows = [Attack("flows", present, present * 1.0, 0.5, 1e-3)] * 2
    broken = Attack("release", present, present * 1.0, 0.5, 1e-3, 0.525)
    for json_too in ((), ("--json",)):
        with (
            mock.patch("privroute.evaluate.attack.attack_flows", return_value=tuple(rows)),
            mock.patch("privroute.evaluate.attack.attack_releases", side_effect=[rows[0], broken]),
        ):
            done = run("audit", "--attack", *json_too)
        assert done.code == 1
        assert "FAILED" in done.err
        assert "Passed" not in done.out


def test_an_audit_for_machines() -> None:
    done = run("audit", "--runs", 50, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["passed"] is True
    assert (found["runs"], found["epsilon"]) == (50, 4.0)
    assert found["epsilon_lower_bound"] <= 4.0
