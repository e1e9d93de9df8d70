from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import privroute as pr


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("privroute")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_demo_draws_the_built_in_network(tmp_path: Path) -> None:
    done = run("demo", "--out", str(tmp_path / "pictures"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pictures" / "sioux-falls.png").read_bytes().startswith(b"\x89PNG")
    assert "552 pairs, 528 with demand" in done.stdout


def test_version_and_help() -> None:
    assert run("--version").stdout.strip() == f"privroute {pr.__version__}"
    assert "demo" in run("--help").stdout


def test_the_packages_errors_are_one_line_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    done = run("demo", "--out", str(tmp_path / "taken"))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("unknown",), ("demo", "--unknown")])
def test_wrong_usage_is_explained(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "Usage" in done.stderr


@pytest.mark.parametrize("name", ["[bold]x[/bold]", "[/nothing]", ":smile:", "a b " * 40])
def test_paths_are_printed_as_they_are(tmp_path: Path, name: str) -> None:
    done = run("demo", "--out", str(tmp_path / name))
    assert done.returncode == 0, done.stderr
    assert f"Picture: {tmp_path / name / 'sioux-falls.png'}\n" in done.stdout
    (tmp_path / "taken").write_text("a file")
    done = run("demo", "--out", str(tmp_path / "taken" / name))
    assert done.returncode == 1
    assert str(tmp_path / "taken" / name) in done.stderr
    assert len(done.stderr.splitlines()) == 1
