"""Rules for whole runs; conftest.py loads them.

- No run tests a core that is older than its sources.
- With --cpu-limit, tests without the mark `slow` must be fast. The limit is in processor time, which a busy machine
  hardly changes; waiting does not count. A test is over the limit if it is so twice: the first time it may
  pay for imports.
- A run ends with a line of what was not tested and why. Reasons of skips are written as "subject: why; what to do".
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "seconds of processor time that tests without the mark slow may take"
    parser.addoption("--cpu-limit", type=float, metavar="SECONDS", help=text)


def pytest_configure(config: pytest.Config) -> None:
    core = find_spec("privroute._core")
    if core is None or core.origin is None:
        raise pytest.UsageError("the compiled core is not installed: run make core")
    built = Path(core.origin).stat().st_mtime
    newer = [path for path in [ROOT / "CMakeLists.txt", *ROOT.glob("core/*")] if path.stat().st_mtime > built]
    if newer and not hasattr(config, "workerinput"):
        raise pytest.UsageError(f"{newer[0].relative_to(ROOT)} is newer than the compiled core: run make core")


def _processor_seconds() -> float:
    """Of this process, and of others that it started and that have ended."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    before = _processor_seconds()
    result = yield
    spent = _processor_seconds() - before
    limit = item.config.getoption("--cpu-limit")
    if limit is not None and spent > limit and item.get_closest_marker("slow") is None:
        assert item.parent is not None
        # the parent's name, since a worker appends groups to that of the test
        item.user_properties.append(("over", (f"{item.parent.nodeid}::{item.name}", spent)))
    return result


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    config = session.config
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None or exitstatus:  # a worker, or a run that fails anyway
        return
    properties = [dict(report.user_properties) for report in reporter.stats.get("passed", [])]
    over = [found["over"] for found in properties if "over" in found]
    if not over:
        return
    limit = config.getoption("--cpu-limit")
    if config.getoption("numprocesses", None):
        again = [sys.executable, "-m", "pytest", "--quiet", f"--cpu-limit={limit}", *(name for name, _ in over)]
        session.exitstatus = subprocess.run(again, cwd=config.rootpath, check=False).returncode
        return
    reporter.ensure_newline()
    for name, spent in over:
        reporter.write_line(f"{name} took {spent:.1f} s of processor time: make it faster, or mark it slow", red=True)
    session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ").partition(";")[0]
        for report in terminalreporter.stats.get("skipped", [])
    )
    skipped = []
    for reason, count in reasons.most_common():
        subject, _, why = reason.partition(": ")
        skipped.append(f"{subject} ({', '.join([str(count), *filter(None, [why])])})")
    if config.option.markexpr:
        skipped.append(f'what -m "{config.option.markexpr}" leaves out')
    if skipped:
        terminalreporter.write_line(f"not tested here: {', '.join(skipped)}")
