"""How many threads there are for independent work, and how it is shared among them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

__all__ = ["Map", "available_threads", "made_ahead", "shared_by"]

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


class Map(Protocol):
    """`map`, in this thread or in several."""

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


def made_ahead(parts: Iterable[Iterable[_Made]], threads: int) -> Iterator[_Made]:
    """All items of all parts, in the order in which they are ready.

    Each part is made by one thread from its first item to its last, several parts at a time. A thread waits while as
    many items as there are threads are not yet taken. The first exception of a part ends everything and is raised here;
    a caller that stops early ends the threads after the items that they are making.
    """
    crew = _Crew(parts, threads)
    try:
        while crew.working:
            kind, found = crew.ready.get()
            if kind == "problem":
                raise found
            if kind == "end":
                crew.working -= 1
            else:
                yield found
                crew.room.release()
    finally:
        crew.stop()


class _Crew:
    """Threads that make items: ready : ("item", one), ("problem", exception) or ("end", None), once for each thread."""

    def __init__(self, parts: Iterable[Iterable[Any]], threads: int) -> None:
        self.ready: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self.room = Semaphore(threads)
        self._parts: SimpleQueue[Iterable[Any]] = SimpleQueue()
        for part in parts:
            self._parts.put(part)
        self._stopped = False
        self.working = min(threads, self._parts.qsize())
        self._threads = [Thread(target=self._make, daemon=True) for _ in range(self.working)]
        for thread in self._threads:
            thread.start()

    def _make(self) -> None:
        try:
            while not self._stopped:
                for item in self._parts.get_nowait():
                    self.room.acquire()
                    if self._stopped:
                        return
                    self.ready.put(("item", item))
        except Empty:
            self.ready.put(("end", None))
        except BaseException as problem:  # noqa: BLE001 - raised in the caller's thread
            self.ready.put(("problem", problem))

    def stop(self) -> None:
        """End the threads, also those that wait for room."""
        self._stopped = True
        self.room.release(max(1, len(self._threads)))
        for thread in self._threads:
            thread.join()
