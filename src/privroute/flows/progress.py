"""A bar for solvers that close a relative gap."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Notify", "gap_bar"]

if TYPE_CHECKING:
    Notify = Callable[[int, float, float], object]

_START_DECADES = 1.0


@contextmanager
def gap_bar(target: float, progress: bool | Notify) -> Iterator[Notify | None]:
    """Give the solver what to call: the caller's function, a bar on the terminal (True), or None (False).

    The bar's length is decades of the gap, since solvers close it at about a constant rate of decades.
    """
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    decades = -math.log10(max(target, 1e-15))
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("gap {task.fields[gap]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Solving", total=decades + _START_DECADES, gap="…")

        def notify(iteration: int, gap: float, _seconds: float) -> None:
            reached = _START_DECADES - math.log10(max(gap, 1e-15)) if gap > 0 else decades + _START_DECADES
            bar.update(task, completed=max(0.0, reached), gap=f"{gap:.1e}", description=f"Iteration {iteration}")

        yield notify
