"""Where commands write: checked before anything private is read or any noise is drawn."""

from __future__ import annotations

import os
from pathlib import Path

from privroute.errors import InputError

__all__ = ["check_release_folder", "make_folder"]


def check_release_folder(place: Path, *, overwrite: bool) -> None:
    """Refuse a folder in which a release cannot be written, in the words of the command line."""
    from privroute.release.folder import only_a_release  # noqa: PLC0415 - readers and writers

    try:
        irregular = place.is_symlink() or (place.exists() and not place.is_dir())
        taken = place.is_dir() and any(place.iterdir())
        other = taken and not only_a_release(place)
    except OSError as problem:
        raise InputError(f"{place} cannot be read ({problem.strerror}); choose another with --out") from None
    if irregular:
        raise InputError(f"{place} is not a folder; choose another with --out")
    if other:
        raise InputError(f"{place} contains other files than a release and is not replaced; choose another with --out")
    if taken and not overwrite:
        raise InputError(f"{place} is not empty; choose another with --out, or replace it with --overwrite")
    above = next(folder for folder in (*place.absolute().parents, Path("/")) if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"{place} cannot be written: {above} is not a writable folder; choose another --out")


def make_folder(place: Path) -> None:
    """Make a folder for results, or say why it cannot be."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{place}: cannot be used as a folder ({problem.strerror}); pass another with --out") from None
