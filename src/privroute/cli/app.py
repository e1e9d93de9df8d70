"""The `privroute` command."""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from privroute.cli.command import Command
from privroute.cli.terminal import plain
from privroute.errors import PrivrouteError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["COMMANDS", "app", "main"]

# Commands are loaded when they are run; their help begins with the sentence that the list of commands shows.
COMMANDS = {
    "demo": ("demo", "Learn a private policy from 50 simulated days and compare it, in a few seconds."),
    "network": ("network", "Import, check and draw networks: OpenStreetMap, OSMnx, GMNS, TNTP, SNDlib, Topology Zoo."),
    "init": ("init", "Write a study file with the public settings, which are fixed before any trip is read."),
    "plan": ("plan", "Estimate what each epsilon costs, from public data alone."),
    "bound": ("bound", "Keep a limited number of trips of each user, once, for releases at user level."),
    "learn": ("learn", "Learn a routing policy from trips and release it under a guarantee."),
    "inspect": ("inspect_release", "Explain what a release protects, how strongly, and what it does not protect."),
    "route": ("route", "Show the routes of a pair with their probabilities and travel times, or sample from them."),
    "link": ("link", "Show which pairs use a link, and with how much of the released demand."),
    "evaluate": ("evaluate", "Compare a released policy with the optimum and with baselines that need no data."),
    "simulate": ("simulate", "Simulate vehicles that follow a released policy, in UXsim or SUMO."),
    "reroute": ("reroute", "Compute new policies for closed or changed roads from a release, without trips or cost."),
    "serve": ("serve", "Serve a release: a page with its map, routes and guarantee, and a JSON API."),
    "report": ("publish", "Write one HTML file with the map, the routes and the guarantee, for sharing."),
    "export": ("publish", "Write a release for QGIS, spreadsheets, models and simulators."),
    "keys": ("sign", "Make a pair of keys: one that signs releases and one by which readers check them."),
    "sign": ("sign", "Sign a release, so that readers can tell that it is whole and yours."),
    "verify": ("sign", "Check that a release is whole and signed by a key that you trust."),
    "audit": ("audit", "Test a mechanism: try to distinguish releases of two data sets that differ in one trip."),
    "reproduce": ("reproduce", "Reproduce the figures and tables of the paper, next to the reported values."),
    "budget": ("budget", "Manage privacy budgets: approve a total for a data set, show what releases have spent."),
}


class _Commands(TyperGroup):
    """The commands of the table, each loaded when it is asked for; a list of them needs none."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name][1]) if self._listing else _load(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the commands."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False


def _load(name: str) -> Any:
    module, sentence = COMMANDS[name]
    found = getattr(import_module(f"privroute.cli.{module}"), name)
    if isinstance(found, typer.Typer):
        for entry in found.registered_commands:
            entry.cls = Command
        group = typer.main.get_command(found)
        group.name = name
        return group
    single = typer.Typer(add_completion=False)
    single.command(name, cls=Command, help=_paragraphs(sentence, found))(found)
    return typer.main.get_command(single)


def _paragraphs(sentence: str, command: Callable[..., None]) -> str:
    """The sentence of the table and the rest of the docstring, each paragraph as one line for the terminal to break."""
    rest = (command.__doc__ or "").split("\n\n")[1:]
    return "\n\n".join([sentence, *(" ".join(part.split()) for part in rest)])


app = typer.Typer(
    cls=_Commands,
    help="Learn routing policies from private trip records and release them with a differential-privacy guarantee.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; the package's own errors become one line and exit code 1.

    A request to end (SIGTERM) and a closed terminal (SIGHUP, unless it is ignored as under nohup) are interruptions as
    Ctrl-C is: temporary files with trips are removed.
    """
    for request in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(request) is not signal.SIG_IGN:
            signal.signal(request, signal.default_int_handler)
    try:
        app()
    except PrivrouteError as problem:
        text = plain(f"{problem}").replace("\n", " ")
        Console(stderr=True).print(Text.assemble(("Error:", "bold red"), f" {text}"), soft_wrap=True)
        sys.exit(1)


def _say(text: str) -> None:
    """Print as it is, but for what steers a terminal: paths and labels are neither markup nor broken into lines."""
    Console().print(Text(plain(text)), soft_wrap=True)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - slow to load

        _say(f"privroute {version('privroute')}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of every command."""
