"""Mutation testing of the modules where a fault breaks a guarantee: privacy/ with the ledger, mechanism/, history/.

    python benchmarks/mutation.py cover  --work DIR      which test runs which line, and how long each test takes
    python benchmarks/mutation.py run    --work DIR      one line of JSON per mutant, appended to DIR/mutants.jsonl
    python benchmarks/mutation.py report --work DIR      the score of each module, and what survived

`run` tries mutants in a random order with a fixed seed, such that every beginning is a sample of all modules in
proportion to their size, and goes on where it was stopped. A mutant gets the tests that run its statement, those named
like its module first, then cheap files, up to the first failure: in a fork of a process that has collected the tests,
with the function's code replaced, or in a process of its own where the fault is in what Python runs when it defines the
module. Processes that tests start have the unchanged package. --again tries only those that survived, --also with tests
that are newer than `cover`.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import importlib
import importlib.machinery
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import asdict
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any
from unittest import mock

import coverage
import pytest
from mutants import Mutant, code_of, mutants_of, mutated

ROOT = Path(__file__).resolve().parents[1]
MUTATED = ("privacy", "mechanism", "history")
TESTS = ("tests/privacy", "tests/mechanism", "tests/statistical", "tests/history")
PYTEST = ("-q", "-n0", "--dist=no", "-p", "no:cacheprovider", "--rootdir", str(ROOT))
SEED = 20_260_718
ALIVE = ("survived", "uncovered", "broken")
SPARE_S, SLOWER = 5.0, 5.0  # processor time that a test may take beyond its own, and as a multiple of it
NEW_S = 2.0  # of a test that `cover` has not seen
WAITING = 20.0  # by the clock, this many times as long


def all_mutants() -> list[Mutant]:
    """Every mutant, in an order of which each beginning is a stratified sample."""
    ranked = []
    for folder in MUTATED:
        for path in sorted((ROOT / "src" / "privroute" / folder).glob("*.py")):
            found = mutants_of(path, ROOT)
            chance = random.Random(f"{SEED} {path.name}")  # noqa: S311 - an order
            chance.shuffle(found)
            ranked += [((at + chance.random()) / len(found), mutant) for at, mutant in enumerate(found)]
    return [mutant for _, mutant in sorted(ranked, key=lambda pair: pair[0])]


class Durations:
    """How long each test takes with everything that it needs, and whether it passes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test."""
        self.seconds[report.nodeid] += report.duration
        if report.failed or report.skipped:
            self.failed.add(report.nodeid)


def cover(work: Path, tests: list[str]) -> None:
    """Run the tests once with coverage by test."""
    os.environ["COVERAGE_FILE"] = str(work / "coverage")
    plugin = Durations()
    sources = [f"--cov=privroute.{folder}" for folder in MUTATED]
    pytest.main([*PYTEST, *sources, "--cov-context=test", "--cov-report=", *tests], plugins=[plugin])
    told = {"seconds": plugin.seconds, "failed": sorted(plugin.failed), "tests": tests}
    (work / "durations.json").write_text(json.dumps(told))


class Covering:
    """Which tests run a statement."""

    def __init__(self, work: Path) -> None:
        told = json.loads((work / "durations.json").read_text())
        self.tests: list[str] = told["tests"]
        self.also: list[str] = []  # tests of which nothing is known yet, for every mutant
        self.seconds = {name: taken for name, taken in told["seconds"].items() if name not in told["failed"]}
        self._data = coverage.CoverageData(str(work / "coverage"))
        self._data.read()
        self._by_line: dict[str, dict[int, list[str]]] = {}
        self._of_file: dict[str, list[str]] = defaultdict(list)
        for name in self.seconds:
            self._of_file[name.split("::")[0]].append(name)

    def of(self, mutant: Mutant, limit_s: float) -> list[str]:
        """Tests that run it, those of its module first, then cheap files; outside of functions, that run its module."""
        path = str(ROOT / mutant.path)
        if path not in self._by_line:
            self._by_line[path] = self._data.contexts_by_lineno(path)
        lines = self._by_line[path]
        first, last = mutant.lines
        at = [lines[line] for line in lines if first <= line <= last] if mutant.function else list(lines.values())
        names: set[str] = set()
        for context in {one for many in at for one in many}:
            name, _, phase = context.rpartition("|")
            # what a fixture of a file ran, all tests of the file may have used
            names.update([name] if phase == "run" else self._of_file[name.split("::")[0]])
        known = [name for name in names if name in self.seconds]
        total, count = Counter[str](), Counter[str]()
        for name in known:
            total[name.split("::")[0]] += self.seconds[name]
            count[name.split("::")[0]] += 1
        own = Path(mutant.path).stem

        def order(name: str) -> tuple[bool, float, str, float]:
            file = name.split("::", maxsplit=1)[0]
            return own not in file, total[file] / count[file], file, self.seconds[name]

        known.sort(key=order)
        chosen, spent = [], 0.0
        for name in known:
            if spent + self.seconds[name] <= limit_s:
                chosen.append(name)
                spent += self.seconds[name]
        return chosen


class Forks:
    """Runs chosen tests in forks of the process that collected them, each with one function changed."""

    def __init__(self, work: Path, covering: Covering, mutants: list[Mutant], limit_s: float) -> None:
        self._work, self._covering, self._mutants, self._limit_s = work, covering, mutants, limit_s
        self._functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of all tests once: the chosen ones for each mutant."""
        items = {item.nodeid: item for item in session.items}
        for path in {mutant.path for mutant in self._mutants}:  # some are imported only when a test needs them
            importlib.import_module(".".join(Path(path).with_suffix("").parts[1:]))
        for found in gc.get_objects():
            if isinstance(found, FunctionType) and found.__module__ and found.__module__.startswith("privroute."):
                code = found.__code__
                self._functions[code.co_filename, code.co_qualname, code.co_firstlineno].append(found)
        gc.freeze()
        also = [item for item in session.items if item.nodeid.startswith(tuple(self._covering.also))]
        for item in also:
            self._covering.seconds.setdefault(item.nodeid, NEW_S)
        for mutant in self._mutants:
            known = [items[name] for name in self._covering.of(mutant, self._limit_s) if name in items]
            chosen = also + [item for item in known if item not in also]
            began = time.monotonic()
            if not chosen:
                outcome, test = "uncovered", ""
            elif mutant.function and self._changed(mutant):
                outcome, test = self._in_fork(mutant, chosen)
            else:
                outcome, test = in_own_process(self._work, mutant, [item.nodeid for item in chosen])
            told = {**asdict(mutant), "outcome": outcome, "test": test, "tests": len(chosen)}
            with (self._work / "mutants.jsonl").open("a") as file:
                print(json.dumps({**told, "seconds": round(time.monotonic() - began, 2)}), file=file)
        return True

    def _changed(self, mutant: Mutant) -> list[tuple[FunctionType, CodeType]]:
        """Functions that are there, each with the code that has the fault."""
        path = ROOT / mutant.path
        faulty = code_of(mutated(path.read_text(), mutant.number), str(path))
        sound = code_of(ast.parse(path.read_text()), str(path))
        return [
            (function, code)
            for key, code in faulty.items()
            if code != sound[key]
            for function in self._functions[str(path), *key]
        ]

    def _in_fork(self, mutant: Mutant, items: list[pytest.Item]) -> tuple[str, str]:
        told = self._work / "last"
        told.write_text("")
        child = os.fork()
        if not child:
            code = 3
            try:
                os.setsid()
                for number in (signal.SIGALRM, signal.SIGPROF):
                    signal.signal(number, signal.SIG_DFL)
                code = self._child(mutant, items, told)
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        end_group(child)
        clear(self._work)
        test = told.read_text()
        if os.WIFSIGNALED(status):
            hangs = os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGPROF)
            return ("timeout" if hangs else "killed"), test
        return {0: "survived", 1: "killed"}.get(os.WEXITSTATUS(status), "broken"), test

    def _child(self, mutant: Mutant, items: list[pytest.Item], told: Path) -> int:
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        for function, code in self._changed(mutant):
            function.__code__ = code
        for found in gc.get_objects():
            if isinstance(found, functools._lru_cache_wrapper):  # noqa: SLF001 - what the mutant would answer
                found.cache_clear()
        session = items[0].session
        for item, following in zip(items, [*items[1:], None], strict=True):
            told.write_text(item.nodeid)
            usual = self._covering.seconds[item.nodeid]
            signal.setitimer(signal.ITIMER_PROF, SPARE_S + SLOWER * usual)  # of this process, however busy the machine
            signal.alarm(int(WAITING * (SPARE_S + SLOWER * usual)))  # where it waits for something
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return 1
        told.write_text("")
        return 0


def in_own_process(work: Path, mutant: Mutant, names: list[str]) -> tuple[str, str]:
    """Import the faulty module in a new process, and run the tests there."""
    (work / "names").write_text("\n".join(names))
    command = [sys.executable, __file__, "one", "--work", str(work), "--mutant", f"{mutant.path}:{mutant.number}"]
    process = subprocess.Popen(  # noqa: S603 - this script
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        text, _ = process.communicate(timeout=120 + SLOWER * 60)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    finally:
        end_group(process.pid)
        process.wait()
        clear(work)
    failed = [line.split(" ")[1] for line in text.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return ("survived" if process.returncode == 0 else "killed"), failed[0] if failed else ""


def end_group(leader: int) -> None:
    """End what a test's process left running, e.g. servers; it leads a process group of its own."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def clear(work: Path) -> None:
    """Remove the files of a mutant's tests."""
    shutil.rmtree(work / "tmp", ignore_errors=True)
    (work / "tmp").mkdir(exist_ok=True)


def one(work: Path, which: str) -> int:
    """Run the tests that DIR/names has with a module that is mutated when it is imported."""
    path, _, number = which.rpartition(":")
    changed = ROOT / path

    def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
        if loader.path == str(changed):
            return compile(mutated(changed.read_text(), int(number)), loader.path, "exec")
        return original(loader, name)

    original = importlib.machinery.SourceFileLoader.get_code
    with mock.patch.object(importlib.machinery.SourceFileLoader, "get_code", get_code):
        return pytest.main([*PYTEST, "-x", *(work / "names").read_text().splitlines()])


def run(work: Path, limit_s: float, most: int | None, only: list[str], also: list[str], *, again: bool) -> None:
    """Try the mutants that were not tried."""
    covering = Covering(work)
    covering.also = also
    tried = results(work)
    alive = {(told["path"], told["number"]) for told in tried if told["outcome"] in ALIVE}
    known = {(told["path"], told["number"]) for told in tried}
    mutants = [
        mutant
        for mutant in all_mutants()
        if any(text in mutant.path for text in only)
        and ((mutant.path, mutant.number) in alive if again else (mutant.path, mutant.number) not in known)
    ][:most]
    clear(work)
    os.environ["TMPDIR"] = tempfile.tempdir = str(work / "tmp")
    forks = Forks(work, covering, mutants, limit_s)
    sys.exit(pytest.main([*PYTEST, f"--basetemp={work / 'tmp' / 'pytest'}", *covering.tests, *also], plugins=[forks]))


def results(work: Path) -> list[dict[str, Any]]:
    """The last result of each mutant."""
    path = work / "mutants.jsonl"
    told = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return list({(one_told["path"], one_told["number"]): one_told for one_told in told}.values())


def report(work: Path) -> None:
    """Score by module, then the survivors."""
    tried = results(work)
    by_module: dict[str, Counter[str]] = defaultdict(Counter)
    for told in tried:
        by_module[told["path"]][told["outcome"]] += 1
        by_module["together"][told["outcome"]] += 1
    for path, count in sorted(by_module.items()):
        killed = count["killed"] + count["timeout"]
        print(f"{path:48} {killed:5} of {count.total():5}  {killed / count.total():7.1%}  {dict(count)}")
    for told in tried:
        if told["outcome"] in ALIVE:
            before, after = told["before"], told["after"]
            print(f"{told['path']}:{told['line']} {told['function']} [{told['outcome']}] {before}  ->  {after}")


def main() -> None:
    """Do one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("cover", "run", "report", "one"))
    parser.add_argument("--work", type=Path, required=True, help="folder of the results")
    parser.add_argument("--limit-s", type=float, default=40.0, help="seconds of tests for one mutant")
    parser.add_argument("--most", type=int, help="number of mutants")
    parser.add_argument("--only", nargs="+", default=[""], help="texts, one of which the path of a mutant has")
    parser.add_argument("--again", action="store_true", help="try survivors again, after new tests")
    parser.add_argument("--also", nargs="+", default=[], help="files with new tests, for every mutant")
    parser.add_argument("--mutant", default="", help="of the step `one`: path:number")
    parser.add_argument("--tests", nargs="+", default=list(TESTS), help="of the step `cover`: files and folders")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 3000))
    if options.step == "cover":
        cover(work, options.tests)
    elif options.step == "run":
        run(work, options.limit_s, options.most, options.only, options.also, again=options.again)
    elif options.step == "one":
        sys.exit(one(work, options.mutant))
    else:
        report(work)


if __name__ == "__main__":
    main()
