"""How many threads the compiled core uses where work is independent."""

from __future__ import annotations

import os

__all__ = ["available_threads"]


def available_threads() -> int:
    """Number of processors that this process may use."""
    try:
        return max(len(os.sched_getaffinity(0)), 1)
    except AttributeError:  # not on this system
        return max(os.cpu_count() or 1, 1)
