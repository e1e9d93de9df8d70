"""Runs of tests refuse an old core, hold that unmarked tests are fast, and end with what was not tested."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from privroute import _core

ROOT = Path(__file__).resolve().parents[1]
pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

LIMIT = "--cpu-limit=0.05"
BURN = """
import time, pathlib, pytest

def burn():
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest('pytest_plugins = ["tests.run_rules"]')
    pytester.makeini(f"[pytest]\npythonpath = {ROOT}\nmarkers = slow\naddopts = -p no:schemathesis")
    return pytester


def core_of_age(folder: Path, seconds: float) -> dict[str, str]:
    """Variables for a run with a copy of the core, so much older than the newest source."""
    copy = Path(shutil.copy(str(_core.__file__), folder))
    newest = max(path.stat().st_mtime for path in [ROOT / "CMakeLists.txt", *ROOT.glob("core/*")])
    os.utime(copy, (newest - seconds, newest - seconds))
    return {**os.environ, "PRIVROUTE_TEST_CORE": str(folder)}


@pytest.mark.parametrize(("seconds", "code"), [(1, pytest.ExitCode.USAGE_ERROR), (-1, pytest.ExitCode.OK)])
def test_no_run_starts_with_a_core_that_is_older_than_its_sources(tmp_path: Path, seconds: float, code: int) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/test_errors.py"]
    done = subprocess.run(
        command, cwd=ROOT, env=core_of_age(tmp_path, seconds), capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout
    assert ("is newer than the compiled core: run make core" in done.stderr) == (code != 0)


def test_an_unmarked_test_that_is_slow_fails_a_run(project: pytest.Pytester) -> None:
    project.makepyfile(BURN + "def test_unmarked(): burn()")
    assert project.runpytest().ret == 0
    done = project.runpytest(LIMIT)
    assert done.ret == 1
    done.stdout.fnmatch_lines("*::test_unmarked took 0.? s of processor time: make it faster, or mark it slow")
    assert project.runpytest(LIMIT, "-n1").ret == 1


def test_a_process_that_a_test_waits_for_counts(project: pytest.Pytester) -> None:
    lines = "import subprocess, sys", "def test_unmarked(): subprocess.run([sys.executable, '-c', 'sum(range(10**7))'])"
    project.makepyfile("\n".join(lines))
    assert project.runpytest(LIMIT).ret == 1


def test_marked_tests_and_tests_that_are_slow_once_do_not_fail_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        BURN
        + """
@pytest.mark.slow
def test_marked():
    burn()

@pytest.mark.xdist_group("some")
def test_that_imports():
    pathlib.Path("imported").exists() or burn()
    pathlib.Path("imported").touch()
"""
    )
    assert project.runpytest(LIMIT, "-n1").ret == 0
    assert Path("imported").exists()


def test_a_run_ends_with_what_was_not_tested(project: pytest.Pytester) -> None:
    project.makepyfile("""
        import pytest

        @pytest.mark.parametrize("number", range(3))
        def test_page(number):
            pytest.skip("page: no Chromium; install it")

        @pytest.mark.skipif(True, reason="the moon is full")
        def test_moon():
            pass

        @pytest.mark.slow
        def test_slow():
            pass
    """)
    done = project.runpytest("-n1", "-m", "not slow")
    done.stdout.fnmatch_lines(
        'not tested here: page (3, no Chromium), the moon is full (1), what -m "not slow" leaves out'
    )
