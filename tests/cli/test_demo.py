from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import refused, run

import privroute as pr


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("privroute")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "100"})


def test_the_demo_learns_compares_and_saves(tmp_path: Path) -> None:
    done = program("demo", "--out", str(tmp_path / "demo"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (tmp_path / "demo" / "policy.png").read_bytes().startswith(b"\x89PNG")
    release = pr.load_release(tmp_path / "demo" / "release")
    certificate = release.certificate
    assert certificate.private
    assert (certificate.data, certificate.noise) == ("simulated", "opendp")
    assert (certificate.epsilon, certificate.delta, certificate.days) == (0.1, 1e-6, 50)
    for text in ("no guidance", "privroute, epsilon 0.1", "gravity model", "privroute inspect"):
        assert text in done.stdout
    assert done.stdout.splitlines()[-1].endswith(f"privroute serve {tmp_path / 'demo' / 'release'} --open")


def test_the_demo_names_a_program_that_the_shell_finds(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("privroute")
    elsewhere = {**os.environ, "COLUMNS": "100", "PATH": os.defpath}
    found = {**elsewhere, "PATH": f"{command.parent}{os.pathsep}{os.defpath}"}
    for environment, name in ((elsewhere, str(command)), (found, "privroute")):
        done = subprocess.run(
            [str(command), "demo", "--out", str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        assert f"\n{name} inspect " in done.stdout
        assert f": {name} serve " in done.stdout


def test_the_demo_replaces_its_release_but_nothing_else(tmp_path: Path) -> None:
    assert run("demo", "--out", tmp_path).code == 0
    before = json.loads((tmp_path / "release" / "release.json").read_text())["sha256"]
    assert run("demo", "--out", tmp_path).code == 0
    after = json.loads((tmp_path / "release" / "release.json").read_text())["sha256"]
    assert before["demand.parquet"] != after["demand.parquet"]  # new noise each time
    other = tmp_path / "other"
    (other / "release").mkdir(parents=True)
    (other / "release" / "mine.txt").write_text("kept")
    assert "contains other files" in refused("demo", "--out", other)
    assert (other / "release" / "mine.txt").read_text() == "kept"


def test_the_private_row_is_near_the_optimum_and_far_below_the_rows_without_trips(tmp_path: Path) -> None:
    done = run("demo", "--out", tmp_path)
    rows = [re.split(r"\s{2,}", line.strip()) for line in done.out.splitlines()]
    shown = {row[0]: row[2] for row in rows if len(row) == 5 and row[2].endswith(" %")}
    above = {name: float(text.removeprefix("< ").removesuffix(" %")) for name, text in shown.items()}
    assert next(iter(above)) == "no guidance (user equilibrium)"
    assert 3.5 < above["no guidance (user equilibrium)"] < 4.5
    assert above["optimum without privacy"] < 0.01
    assert above["privroute, epsilon 0.1"] < 0.01
    assert above["gravity model of zone sizes"] > 1
    assert above["fastest paths, empty roads"] > above["equal demand for all pairs"] > 10


def test_version_and_help() -> None:
    assert program("--version").stdout.strip() == f"privroute {pr.__version__}"
    assert "demo" in program("--help").stdout


def test_the_packages_errors_are_one_line_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    done = program("demo", "--out", str(tmp_path / "taken"))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("unknown",), ("demo", "--unknown")])
def test_wrong_usage_is_explained(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert "Usage" in done.err


@pytest.mark.parametrize("name", ["[bold]x[/bold]", "[/nothing]", ":smile:", "a b " * 40])
def test_paths_are_printed_as_they_are(tmp_path: Path, name: str) -> None:
    done = run("demo", "--out", tmp_path / name)
    assert done.code == 0, done.err
    assert f"Figure: {tmp_path / name / 'policy.png'}." in done.out
    (tmp_path / "taken").write_text("a file")
    done = run("demo", "--out", tmp_path / "taken" / name)
    assert done.code == 1
    assert str(tmp_path / "taken" / name) in done.err
    assert len(done.err.splitlines()) == 1
