from __future__ import annotations

from unittest import mock

import pytest
from tests.cli.command import refused, run

import privroute as pr
from privroute.evaluate.audit import Audit


@pytest.mark.parametrize("mechanism", ["counts", "daily", "minimiser", "sgd"])
def test_an_audit_goes_through_learn_and_gives_a_verdict(mechanism: str) -> None:
    with mock.patch("privroute.mechanism.learn.learn", wraps=pr.learn) as learn:
        done = run("audit", "--mechanism", mechanism, "--runs", 50, "--false-alarm", "1e-9")
    assert done.code == 0, done.err
    assert learn.call_count == 100
    assert "Passed" in done.out
    assert "cannot prove" in done.text
    assert f"Mechanism {mechanism}, promised: epsilon 4, delta 1e-06" in done.out


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
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    assert message in refused("audit", "--runs", 50, *arguments)


def test_too_few_runs_are_wrong_usage() -> None:
    assert run("audit", "--runs", 10).code == 2
