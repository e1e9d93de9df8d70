"""The `privroute` command."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

import privroute as pr
from privroute.cli.audit import audit
from privroute.cli.budget import budget
from privroute.cli.demo import demo
from privroute.cli.evaluate import evaluate
from privroute.cli.inspect_release import inspect
from privroute.cli.learn import learn
from privroute.cli.plan import plan
from privroute.cli.publish import export, report
from privroute.cli.reproduce import reproduce
from privroute.cli.route import route
from privroute.cli.serve import serve
from privroute.cli.terminal import plain

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["app", "main"]

app = typer.Typer(
    help="Learn routing policies from private trip records and release them with a differential-privacy guarantee.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; the package's own errors become one line and exit code 1."""
    try:
        app()
    except pr.PrivrouteError as problem:
        text = plain(f"{problem}").replace("\n", " ")
        Console(stderr=True).print(Text.assemble(("Error:", "bold red"), f" {text}"), soft_wrap=True)
        sys.exit(1)


def _say(text: str) -> None:
    """Print as it is, but for what steers a terminal: paths and labels are neither markup nor broken into lines."""
    Console().print(Text(plain(text)), soft_wrap=True)


def _version(wanted: bool) -> None:
    if wanted:
        _say(f"privroute {pr.__version__}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Options of every command."""


def _paragraphs(command: Callable[..., None]) -> str:
    """The docstring with each paragraph as one line, so that the terminal's width breaks it."""
    return "\n\n".join(" ".join(part.split()) for part in (command.__doc__ or "").split("\n\n"))


for command in (demo, plan, learn, inspect, route, evaluate, serve, report, export, audit, reproduce):
    app.command(help=_paragraphs(command))(command)
app.add_typer(budget, name="budget")
