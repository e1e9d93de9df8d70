"""Terminal output of all commands: text that is never interpreted as markup, tables, numbers, progress bars."""

from __future__ import annotations

import json
import textwrap
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from privroute.errors import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from privroute.progress import Progress

__all__ = [
    "bar",
    "chance",
    "figure",
    "heading",
    "line",
    "number_of",
    "percent",
    "percent_in_text",
    "plain",
    "said_already",
    "say",
    "say_json",
    "share",
    "table",
    "warn",
    "within",
]

console = Console()
errors = Console(stderr=True)

_WIDEST, _NARROWEST = 100, 20
_SMALLEST_PERCENT = 1e-9  # the optimum that others are compared with is itself known to a gap of 1e-11
_SMALLEST_PLAIN = 1e-3
_LARGEST_PLAIN = 1000.0


def say(text: str, *, bullet: bool = False, style: str = "") -> None:
    """Print a paragraph, broken at the width of the terminal and at 100 columns at most."""
    broken = textwrap.fill(
        text,
        width=max(min(console.width, _WIDEST), _NARROWEST),
        initial_indent="  - " if bullet else "",
        subsequent_indent="    " if bullet else "",
        break_long_words=False,
        break_on_hyphens=False,
    )
    line(broken, style=style)


def line(text: str, *, style: str = "") -> None:
    """Print one line whole, however long, so that paths and commands in it can be copied."""
    console.print(Text(plain(text), style=style), soft_wrap=True)


def heading(text: str) -> None:
    """Print a heading after an empty line."""
    console.print()
    line(text, style="bold")


def warn(text: str) -> None:
    """Print a line on the error stream that nobody overlooks."""
    errors.print(Text(plain(text), style="bold red"), soft_wrap=True)


@contextmanager
def said_already(kind: type[Warning]) -> Iterator[None]:
    """Keep the library quiet about what the command has said in its own words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kind)
        yield


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: Sequence[int] = (0,)) -> None:
    """Print rows under columns; `left` names the columns that are not numbers. Cells are texts, never markup."""
    line(title, style="bold")
    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for position, name in enumerate(columns):
        shown.add_column(Text(name, style="bold"), justify="left" if position in left else "right", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(plain(cell)) for cell in row))
    console.print(shown)


def say_json(values: Any) -> None:
    """Print one JSON object."""
    try:
        typer.echo(json.dumps(values, indent=2, allow_nan=False))
    except ValueError:
        raise ReleaseError("the result contains a number that JSON cannot represent; omit --json") from None


def number_of(count: int, thing: str) -> str:
    """Write a number of things: 1 day, 1,000 days."""
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def figure(value: float) -> str:
    """Write a quantity with three digits, and no power of ten where it is large: 0.0123, 34.2, 47,700."""
    if not abs(value) >= _LARGEST_PLAIN:
        return f"{value:.3g}"
    return f"{float(f'{value:.3g}'):,.0f}"


def percent(value: float) -> str:
    """Write a percentage with the digits that matter: 19.7 %, 0.109 %, 2.7e-6 %; 0 % below what is known."""
    size = abs(value)
    if size < _SMALLEST_PERCENT:
        return "0 %"
    if size < _SMALLEST_PLAIN:
        return f"{value:.1e} %".replace("e-0", "e-")
    return f"{value:.3g} %" if size < _LARGEST_PLAIN else f"{value:,.0f} %"


def percent_in_text(value: float) -> str:
    """The same in a sentence, which has no powers of ten: 19.7 %, 0.109 %, below 0.001 %."""
    return percent(value) if value >= _SMALLEST_PLAIN else f"below {_SMALLEST_PLAIN:g} %"


def within(value: float) -> str:
    """The same as a limit in a sentence: within 0.109 %, within 0.001 % where it is less."""
    return f"within {percent(max(value, _SMALLEST_PLAIN))}"


def share(value: float, *, width: int = 20) -> str:
    """Draw how much of a whole is used; anything at all shows, and only what is whole to a millionth is full."""
    filled = min(max(0, round(value * width)), width)
    if 0 < value < 1 - 1e-6:
        filled = min(max(filled, 1), width - 1)
    return "█" * filled + "░" * (width - filled)


def chance(value: float) -> str:
    """Write a probability: 62.5 %, 0.031 %."""
    return "100 %" if value >= 1 else percent(100 * value)


@contextmanager
def bar() -> Iterator[Progress | None]:
    """What the library calls to show a bar on the error stream while this lasts; None where nobody watches."""
    if not errors.is_terminal:
        yield None
        return
    from rich import progress as rich_progress  # noqa: PLC0415 - slow to load

    columns = (
        rich_progress.TextColumn("{task.description}", markup=False),
        rich_progress.BarColumn(),
        rich_progress.TaskProgressColumn(),
        rich_progress.TimeElapsedColumn(),
    )
    # The standard output stays what it is: somebody may have redirected it to a file.
    with rich_progress.Progress(*columns, console=errors, transient=True, redirect_stdout=False) as shown:
        task = shown.add_task("", total=1.0, visible=False)

        def show(phase: str, share: float) -> None:
            shown.update(task, description=plain(phase), completed=share, visible=True)

        yield show


def plain(text: str) -> str:
    """The text without what would steer a terminal, or could not be written to one."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "\N{REPLACEMENT CHARACTER}" for sign in text)
