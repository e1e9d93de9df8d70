"""How many threads there are for independent work, and how it is shared among them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

__all__ = ["Map", "available_threads", "shared_by"]

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


class Map(Protocol):
    """`map`, whoever does the work."""

    def __call__(self, make: Callable[[_Given], _Made], items: Iterable[_Given], /) -> Iterator[_Made]:
        """What `make` makes of the items, in their order."""
        ...


def available_threads() -> int:
    """Number of processors that this process may use."""
    try:
        return max(len(os.sched_getaffinity(0)), 1)
    except AttributeError:  # not on this system
        return max(os.cpu_count() or 1, 1)


@contextmanager
def shared_by(threads: int) -> Generator[Map]:
    """A `map` in this many threads; in one, the plain `map`: handing over small work costs more than doing it."""
    if threads <= 1:
        yield map
        return
    with ThreadPoolExecutor(threads) as crew:
        yield crew.map
