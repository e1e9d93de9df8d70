"""The private folder for rows that do not fit into memory: removed at the end, or if killed at the next start."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["spill_folder"]

_PREFIX, _LOCK = "privroute-trips-", "lock"


@contextmanager
def spill_folder(place: Path | None) -> Iterator[Path]:
    """A new folder of mode 0700 inside `place`, by default the system's temporary folder, for as long as it is needed.

    Its owner holds a lock on the file `lock` in it, which ends with the process, however that ends.
    """
    parent = Path(tempfile.gettempdir() if place is None else place)
    _remove_stale(parent)
    folder = Path(tempfile.mkdtemp(prefix=".privroute-", dir=parent))
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # only now others see it, and see that its owner lives
        folder = folder.rename(parent / f"{_PREFIX}{folder.name.rpartition('-')[2]}")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_stale(parent: Path) -> None:
    """Remove this user's folders whose owners were killed."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another user's, no longer there, or locked: its owner lives
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
