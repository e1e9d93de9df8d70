from __future__ import annotations

import io
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from tests.cli.command import refused, run

from privroute.cli import app, terminal

COMMANDS = ("demo", "init", "plan", "learn", "inspect", "route", "evaluate", "audit")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 %"),
        (-3e-13, "0 %"),
        (2.7e-6, "2.7e-6 %"),
        (-2e-4, "-2.0e-4 %"),
        (0.109, "0.109 %"),
        (19.72, "19.7 %"),
        (123.4, "123 %"),
        (45678.0, "45,678 %"),
    ],
)
def test_percentages_have_the_digits_that_matter(value: float, text: str) -> None:
    assert terminal.percent(value) == text


@pytest.mark.parametrize(
    ("value", "text", "limit"),
    [
        (-2e-4, "below 0.001 %", "within 0.001 %"),
        (0.0, "below 0.001 %", "within 0.001 %"),
        (2.7e-6, "below 0.001 %", "within 0.001 %"),
        (0.00123, "0.00123 %", "within 0.00123 %"),
        (19.72, "19.7 %", "within 19.7 %"),
    ],
)
def test_sentences_have_no_powers_of_ten(value: float, text: str, limit: str) -> None:
    assert terminal.percent_in_text(value) == text
    assert terminal.within(value) == limit


def test_probabilities_are_percentages() -> None:
    assert terminal.chance(1.0) == "100 %"
    assert terminal.chance(0.625) == "62.5 %"


def test_texts_are_never_markup_and_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    odd = "[bold]a[/bold] [/] \x1b[31mred\x07 \udcff"
    terminal.line(odd)
    terminal.say(odd)
    terminal.warn(odd)
    terminal.table(odd, ["[red]", "b"], [("[/nothing]", odd)])
    out, err = capsys.readouterr()
    for shown in (out, err):
        assert "[bold]a[/bold] [/]" in shown
        assert "\x1b" not in shown
        assert "\x07" not in shown
    assert "[/nothing]" in out
    assert "[red]" in out


def test_an_error_cannot_steer_the_terminal() -> None:
    text = refused("inspect", "no\x1b[2J\x07where\nError: forged")
    assert "is not a release" in text
    assert "\x1b" not in text
    assert "\x07" not in text


def test_what_the_options_print_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    app._say("[bold]a \x1b[31mred")
    assert capsys.readouterr().out == "[bold]a \N{REPLACEMENT CHARACTER}[31mred\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    done = run(command, "--help")
    assert done.code == 0
    assert f"Usage: privroute {command}" in done.out
    assert "Traceback" not in done.err


def test_the_commands_are_listed() -> None:
    done = run("--help")
    assert all(f" {command} " in done.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_explained(command: str) -> None:
    done = run(command, "--unknown-option")
    assert done.code == 2
    assert "Usage" in done.err


@pytest.mark.parametrize("width", [80, 120])
def test_texts_keep_to_the_width(width: int) -> None:
    done = run("plan", "--network", "sioux-falls", "--days", 2, "--epsilons", "1", "--draws", 1, width=width)
    assert max(map(len, done.out.splitlines())) <= width


@pytest.mark.parametrize(
    ("phase", "share", "words"),
    [
        ("Drawing noise", 0.25, ("Drawing noise", " 25%")),
        ("Solving, gap 1.0e-03", 0.5, ("Solving, gap 1.0e-03", " 50%")),
        ("of [bold]\x07", 1.0, ("of [bold]\N{REPLACEMENT CHARACTER}", "100%")),
    ],
)
def test_a_bar_shows_the_phase_and_its_share_on_the_error_stream(
    phase: str,
    share: float,
    words: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(terminal, "errors", Console(file=shown, force_terminal=True, color_system=None, width=80))
    with terminal.bar() as progress:
        assert progress is not None
        progress("Another phase", 0.9)
        progress(phase, share)
        terminal.line("to the standard output")
    assert all(text in shown.getvalue() for text in words)
    assert capsys.readouterr().out == "to the standard output\n"


def test_there_is_no_bar_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.bar() as progress:
        assert progress is None
    assert capsys.readouterr() == ("", "")


def test_the_list_of_commands_loads_none_of_them() -> None:
    """`privroute --help` costs the packages of the terminal: neither NumPy nor a command."""
    script = (
        "import sys; sys.argv = ['privroute', '--help']\n"
        "from privroute.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit as leave:\n    assert not leave.code\n"
        "loaded = {name for name in sys.modules if name.startswith('privroute.')}\n"
        "own = ('cli', 'cli.app', 'cli.command', 'cli.terminal', 'errors')\n"
        "known = {f'privroute.{name}' for name in own}\n"
        "assert loaded <= known, loaded\n"
        "assert not {'numpy', 'pyarrow', 'opendp', 'importlib.metadata'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_command_of_the_list_loads_and_begins_with_its_sentence() -> None:
    for name, (_, sentence) in app.COMMANDS.items():
        told = run(name, "--help", width=200).text
        assert " ".join(sentence.split()[:6]) in told
        assert sentence.endswith(".")


@pytest.mark.parametrize("request_to_end", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_asked_to_end_removes_its_temporary_files(
    tmp_path: Path, request_to_end: signal.Signals
) -> None:
    waits = (
        "import signal, tempfile, time; from privroute.cli import app\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # it is ignored where the tests run under nohup
        "def wait():\n"
        f"    with tempfile.TemporaryDirectory(dir={str(tmp_path)!r}):\n"
        "        print('begun', flush=True); time.sleep(60)\n"
        "app.app = wait; app.main()"
    )
    with subprocess.Popen([sys.executable, "-c", waits], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        assert process.stdout.readline() == b"begun\n"
        assert list(tmp_path.iterdir())
        process.send_signal(request_to_end)
    assert process.returncode != 0
    assert not list(tmp_path.iterdir())
