"""A stretch of a program that requests to end do not break off: they are delivered when it is over."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["uninterrupted"]

_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C and other requests to end.

    They are dropped after an error, which ends the program, too, and says what it left. Python delivers signals to the
    main thread alone, so in other threads there is nothing to hold back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    with ExitStack() as former:  # each handler is put back, also if the one before lets a request through
        for request in _REQUESTS:
            handler = signal.getsignal(request)
            if callable(handler):
                former.callback(signal.signal, request, handler)
                signal.signal(request, lambda number, _frame: came.append(number))
        yield
    if came:
        signal.raise_signal(came[0])
