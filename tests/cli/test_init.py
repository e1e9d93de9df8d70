"""`privroute init`: what the study file says of its keys, and what the command warns of."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command import run

from privroute.study.schema import KEYS

CHOICES = (
    *("--network", "sioux-falls", "--from", "2026-03-02", "--to", "2026-03-13", "--period", "07:00-08:00"),
    *("--epsilon", "0.5"),
)


def test_comments_say_which_keys_are_required_and_which_values_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    done = run("init", path, *CHOICES, "--delta", "1e-6")
    assert done.code == 0, done.err
    comments = " ".join(line.removeprefix("# ") for line in path.read_text().splitlines() if line.startswith("# "))
    for key in KEYS.values():
        if not key.owners or "counts" in key.owners:
            assert key.about in comments
    assert "Allowed: request, user, user-day. Default: request." in KEYS["unit.protect"].about
    assert "Required." in KEYS["network.source"].about
    assert "Default: max_requests." in run("learn", "--help", width=200).text


def test_a_delta_that_learn_would_reject_is_warned_of(tmp_path: Path) -> None:
    done = run("init", tmp_path / "study.toml", *CHOICES, "--delta", "0.01")
    assert done.code == 0
    assert "NOT PRIVATE: delta 0.01 is above 0.001" in done.err
    assert not run("init", tmp_path / "usual.toml", *CHOICES, "--delta", "1e-6").err


def test_no_command_offers_to_install_completion() -> None:
    for words in ((), ("budget",), ("budget", "init"), ("learn",)):
        assert "completion" not in run(*words, "--help", width=200).text
