"""A small share of benchmarks/chaos.py: learning killed at random moments, and a planted bug that it must find."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

RUNS = 16 if os.environ.get("CI") == "true" else 8  # as many again are in test_endurance
SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "chaos.py"


def run(*options: str) -> dict[str, Any]:
    command = [sys.executable, str(SCRIPT), "--json", "--only-kill", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_killed_runs_leave_no_noise_without_a_charge_and_no_half_release() -> None:
    found = run("--runs", str(RUNS), "--seed", "1")
    assert found["runs"] == RUNS
    assert found["violations"] == 0
    assert found["charged"] >= found["drew_noise"] >= found["written"]


def test_noise_before_the_charge_would_be_found() -> None:
    assert run("--runs", "6", "--seed", "2", "--plant")["violations"] > 0
