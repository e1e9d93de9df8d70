"""A small share of benchmarks/endurance.py, and planted bugs that it must find."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[2] / "benchmarks"
PLANTED = """
import sys; sys.path.insert(0, {scripts!r})
import random, endurance_readers as readers
from privroute.errors import InputError
def once(chance):
    if chance.random() < 0.5:
        raise InputError("refused")
    {{}}["planted"]
print(*map(bool, readers.hammer(once, 20, random.Random(1))[1:]))
def shown(problem):
    raise readers.Contents("a row")
print(readers.hammer(shown, 1, random.Random(1))[2])
"""


def run(*options: str) -> dict[str, Any]:
    """The figures of some parts, in which nothing wrong was found."""
    command = [sys.executable, str(SCRIPTS / "endurance.py"), "--json", "--quick", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["found"] == []
    assert (found["violations"], found["losses"]) == (0, 0)
    return found


def test_killed_processes_lose_nothing() -> None:
    found = run("--only", "kills")
    assert found["kills"] == 8


def test_bad_clients_stop_no_service() -> None:
    found = run("--only", "load")
    assert found["load"]["answered"] > 0
    assert all(found["load"]["bad_clients"].values())


def test_failing_disks_and_clocks_lose_nothing() -> None:
    found = run("--only", "faults")
    assert found["faults"]["full"]["failed"] > 0


def test_every_reader_refuses_mutated_inputs() -> None:
    found = run("--only", "readers")
    assert found["mutated"] >= 600
    assert min(found["readers"]["by_reader"].values()) > 0


def test_another_error_than_the_packages_own_would_be_found() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLANTED.format(scripts=str(SCRIPTS))], capture_output=True, text=True, check=True
    )
    first, second = done.stdout.splitlines()
    assert first == "True True"
    assert "Contents" in second
