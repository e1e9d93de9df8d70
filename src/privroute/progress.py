"""Progress of long computations: they call a function with the phase in words and the share of it that is done.

The library draws no bars; its caller shows progress or not. In the private phase of a mechanism, phase and share are
functions of public numbers alone: item k of a public K, never an error, a gap or a number of steps that depends on the
data. The share of trip files that has been read is PRIVATE, like the files.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from privroute.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Progress", "check_progress", "each_told", "polled", "tell"]

Progress = Callable[[str, float], object]
"""Called with the phase in words and the share of it that is done, 0 to 1. None in its place is silent."""

_POLL_SECONDS = 0.2
_Item = TypeVar("_Item")


def check_progress(progress: object) -> None:
    """Refuse what cannot be called, before anything is computed or charged."""
    if progress is not None and not callable(progress):
        raise InputError(
            f"progress is a {type(progress).__name__}; pass a function that takes the phase and the share done, or None"
        )


def tell(progress: Progress | None, phase: str, share: float) -> None:
    """Call `progress`, if there is one."""
    if progress is not None:
        progress(phase, share)


def each_told(items: Iterable[_Item], total: int, phase: str, progress: Progress | None) -> Iterator[_Item]:
    """The items; after each of them the share k / total is told, and nothing else.

    total : how many there are, public
    """
    tell(progress, phase, 0.0)
    for done, item in enumerate(items, 1):
        yield item
        tell(progress, phase, done / total)


@contextmanager
def polled(phase: str, share: Callable[[], float], progress: Progress | None) -> Iterator[None]:
    """Tell the share five times a second while one long call lasts. `progress` is called from another thread.

    An error in `progress` ends the telling and is raised here when the call is over.
    """
    if progress is None:
        yield
        return
    over = threading.Event()
    failed: list[Exception] = []

    def watch() -> None:
        try:
            while not over.wait(_POLL_SECONDS):
                progress(phase, share())
        except Exception as problem:  # noqa: BLE001 - raised again below, in the caller's thread
            failed.append(problem)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    if failed:
        raise failed[0]
