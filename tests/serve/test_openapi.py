"""Schemathesis asks the running service everything that its own description allows and forbids, and finds nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import privroute as pr


@pytest.mark.parametrize(("kind", "examples", "addresses"), [("release", 40, 11), ("bare", 10, 9)])
def test_schemathesis_finds_nothing(
    kind: str,
    examples: int,
    addresses: int,
    serve: Callable[[pr.Release], str],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    """As a command: its plugin for pytest does not know pytest 9."""
    address = serve(request.getfixturevalue(kind))
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{address}/openapi.json", "--checks", "all"]
    options = ["--max-examples", str(examples), "--generation-deterministic", "--no-color", "--workers", "1"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-8000:]
    assert f"Selected: {addresses}/{addresses}" in done.stdout
    assert "No issues found" in done.stdout
