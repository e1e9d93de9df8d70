"""Ctrl-C at any moment of `privroute learn`: one line says what was charged and written, and it is right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import permutations
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from tests.cli.command import Done, run

import privroute as pr
from privroute.cli import learn as command
from privroute.errors import LedgerError
from privroute.mechanism.stream_files import StreamFiles
from privroute.privacy.ledger_file import FileStore
from privroute.privacy.uninterrupted import uninterrupted

BEFORE = "Interrupted before anything was charged, no release was written."
AFTER = "Interrupted after the charge: epsilon 0.1 is spent in {}, no release was written."
WRITTEN = "Interrupted after the charge: epsilon 0.1 is spent in {}, the release was written: {}."
# what runs between the end of reading and that of the command, and can leave something behind
TRACED = (
    *("cli/learn.py", "cli/interrupted.py", "contextlib.py", "mechanism/learn.py", "mechanism/stream.py"),
    *("mechanism/stream_files.py", "privacy/charging.py", "privacy/ledger.py", "privacy/ledger_file.py"),
    *("privacy/uninterrupted.py", "release/files.py", "release/folder.py", "release/release.py"),
)


def inputs(folder: Path) -> list[object]:
    """A network, two days and a ledger; the words of the command."""
    folder.mkdir(exist_ok=True)
    network = pr.Network([0, 1, 2, 0], [1, 2, 0, 2], pr.Latency.bpr(np.ones(4), np.ones(4)), [1, 2, 3])
    pr.write_gmns(network, folder / "net")
    ends = [(day, *pair) for day in (2, 3) for pair in permutations((1, 2, 3), 2)]
    rows = "".join(f"2026-03-0{day},{origin},{destination},5\n" for day, origin, destination in ends)
    (folder / "days.csv").write_text(f"date,origin,destination,trips\n{rows}")
    pr.Ledger.create(folder / "city.ledger", "city", pr.Approval(50.0, 1e-5))
    dates = ("--from", "2026-03-02", "--to", "2026-03-03", "--period-min", 60)
    promise = ("--epsilon", 0.1, "--delta", "1e-6", "--ledger", folder / "city.ledger")
    files = ("--network", folder / "net", "--history", folder / "days.csv", "--out", folder / "out")
    return ["learn", *files, *dates, *promise]


def charges(folder: Path) -> int:
    return len(pr.Ledger(folder / "city.ledger").account().charges)


def interrupted_at(moment: int, words: list[object], monkeypatch: pytest.MonkeyPatch) -> tuple[Done | None, int]:
    """Run the command; SIGINT comes before this line of those that are run after reading.

    Returns what it said, None where the signal came when it was over; and how many lines there were.
    """
    lines, release = 0, command._release

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.endswith(TRACED):
            return None
        if event == "line":
            lines += 1
            if lines == moment:
                os.kill(os.getpid(), signal.SIGINT)
        return count

    def traced(*given: Any) -> pr.Release:
        sys.settrace(count)
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if frame.f_code.co_filename.endswith(TRACED):
                frame.f_trace = count
            frame = frame.f_back
        return release(*given)

    with monkeypatch.context() as patch:
        patch.setattr(command, "_release", traced)
        former, done = sys.gettrace(), None
        with suppress(KeyboardInterrupt):
            try:
                done = run(*words)
            finally:
                sys.settrace(former)
    return done, lines


@pytest.mark.parametrize("more", [(), ("--mechanism", "daily", "--stream")])
def test_the_line_agrees_with_ledger_and_folder_at_every_moment(
    more: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()

    def attempt(moment: int) -> tuple[Done | None, int, Path]:
        folder = tmp_path / f"{moment}"
        words = [*inputs(folder), *more, *([folder / "stream"] if more else [])]
        return (*interrupted_at(moment, words, monkeypatch), folder)

    attempt(0)  # loads what is loaded once
    lines = attempt(-1)[1]
    for moment in range(1, lines, max(lines // 40, 1)):
        done, _, folder = attempt(moment)
        if done is None or "Interrupted" not in done.err:
            assert moment > lines // 2
            assert done is None or "To show what it protects" in done.out  # all was said
            continue
        assert done.code == 130
        line, charged = done.err.strip(), charges(folder)
        assert "\n" not in line
        assert ("before anything was charged" in line) == (charged == 0)
        assert ("epsilon 0.1 is spent" in line) == (charged == 1)
        assert ("epsilon 0.1 each is spent" in line) == (charged == 2)
        assert ("no release was written" in line) != (folder / "out" / "release.json").exists()
        if more and charged:
            assert f"of {charged} day" in line
            kept = len(StreamFiles(folder / "stream").dates())
            assert (f"{kept} day" in line.split(",", maxsplit=1)[1]) == (kept > 0)
        found.add(line.replace(str(folder), ""))
    expected = {BEFORE, AFTER.format("/city.ledger"), WRITTEN.format("/city.ledger", "/out")}
    assert len(found) >= 4 if more else found == expected


def test_before_reading_and_without_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)

    words = inputs(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(pr, "read_daily_od", interrupt)
        done = run(*words)
        assert (done.code, done.err.strip()) == (130, BEFORE)
        done = run(*words, "--dry-run")
        assert (done.code, done.err.strip()) == (130, BEFORE)
        del words[words.index("--ledger") : words.index("--ledger") + 2]
        done = run(*words)
        assert done.err.strip() == BEFORE
    monkeypatch.setattr(command, "_tell", interrupt)
    assert run(*words).err.strip() == f"Interrupted, the release was written: {tmp_path / 'out'}."


def test_a_release_that_was_there_is_not_taken_for_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*inputs(tmp_path), "--overwrite"]
    assert run(*words).code == 0

    def interrupt(*_: Any, **__: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("privroute.release.release.write_release", interrupt)
    assert run(*words).err.strip() == AFTER.format(tmp_path / "city.ledger")


@pytest.mark.parametrize("in_doubt", [False, True])
def test_a_signal_at_the_commit_waits_until_its_outcome_is_known(
    in_doubt: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, right = inputs(tmp_path), FileStore.transaction

    @contextmanager
    def interrupted(store: FileStore, kind: Any, **more: Any) -> Iterator[Any]:
        with right(store, kind, **more) as records:
            yield records
        if kind == "write":
            os.kill(os.getpid(), signal.SIGINT)
            if in_doubt:
                raise LedgerError("whether the server committed is not known")

    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "transaction", interrupted)
        done = run(*words)
    assert charges(tmp_path) == 1
    if in_doubt:
        assert done.code == 1
        assert done.err == "Error: whether the server committed is not known\n"
    else:
        assert (done.code, done.err.strip()) == (130, AFTER.format(tmp_path / "city.ledger"))


def test_a_process_that_gets_the_signal_says_it(tmp_path: Path) -> None:
    """While noise is drawn: the charge is committed and no release is there."""
    program = (
        "import sys, time; from privroute.cli.app import main; from privroute.privacy.noise import OpenDPNoise\n"
        "def wait(*_):\n    print('drawing', flush=True); time.sleep(60)\n"
        "OpenDPNoise.add_integers = wait\nmain()"
    )
    words = [str(each) for each in inputs(tmp_path)]
    for request in (signal.SIGINT, signal.SIGTERM):
        spent = charges(tmp_path)
        with subprocess.Popen(
            [sys.executable, "-c", program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            assert process.stderr
            while "drawing" not in process.stdout.readline():
                pass
            process.send_signal(request)
            said = process.stderr.read()
        assert process.returncode == 130
        assert said.strip() == AFTER.format(tmp_path / "city.ledger")
        assert charges(tmp_path) == spent + 1


class TestUninterrupted:
    def test_a_signal_waits_for_the_end(self) -> None:
        seen = []
        with pytest.raises(KeyboardInterrupt), uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            seen.append("after")
        assert seen == ["after"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_an_error_is_told_instead(self) -> None:
        with pytest.raises(LedgerError), uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            raise LedgerError("in doubt")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_another_handler_gets_it_and_is_put_back(self) -> None:
        got: list[int] = []
        handler: Callable[[int, FrameType | None], None] = lambda number, _: got.append(number)  # noqa: E731
        former = signal.signal(signal.SIGTERM, handler)
        try:
            with uninterrupted():
                os.kill(os.getpid(), signal.SIGTERM)
                assert not got
            assert got == [signal.SIGTERM]
            assert signal.getsignal(signal.SIGTERM) is handler
        finally:
            signal.signal(signal.SIGTERM, former)

    def test_other_threads_get_no_signals(self) -> None:
        done = []

        def work() -> None:
            with uninterrupted():
                done.append(1)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert done == [1]
