"""Run the command line in this process, as a terminal of a given width would see it."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from unittest import mock

from privroute.cli import terminal
from privroute.cli.app import main


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """What was printed, with breaks of lines as blanks."""
        return " ".join((self.out + " " + self.err).split())


def run(*arguments: object, width: int = 100) -> Done:
    out, err = io.StringIO(), io.StringIO()
    words = ["privroute", *map(str, arguments)]
    code: object = 0
    terminal.console.width = width
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", words),
    ):
        try:
            main()
        except SystemExit as leave:
            code = leave.code or 0
    assert isinstance(code, int)
    return Done(code, out.getvalue(), err.getvalue())


def refused(*arguments: object) -> str:
    """The one line with which a command refuses its input."""
    done = run(*arguments)
    assert done.code == 1, (done.out, done.err)
    assert done.err.startswith("Error: ")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    return done.err.removeprefix("Error: ").strip()
