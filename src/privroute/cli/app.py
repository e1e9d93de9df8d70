"""The `privroute` command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

import privroute as pr
from privroute.errors import InputError

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
        Console(stderr=True).print(Text.assemble(("Error:", "bold red"), f" {problem}"), soft_wrap=True)
        sys.exit(1)


def _say(text: str) -> None:
    """Print as it is: paths and labels hold what users like, and are neither markup nor to be broken into lines."""
    Console().print(Text(text), soft_wrap=True)


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


@app.command()
def demo(out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo")) -> None:
    """Draw the built-in network, Sioux Falls, with its demand."""
    scenario = pr.sioux_falls()
    network, demand = scenario.network, scenario.demand
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{out}: cannot be used as a folder ({problem.strerror}); pass another with --out") from None
    picture = out / "sioux-falls.png"
    pr.draw_network(
        network,
        picture,
        demand=demand,
        title=f"Sioux Falls: {demand.total_per_min * 60:,.0f} trips per hour, discs by trips that start or end there",
    )
    positive = int((demand.rate_per_min > 0).sum())
    _say(f"{network}\n{len(demand.pairs)} pairs, {positive} with demand\nPicture: {picture}")
