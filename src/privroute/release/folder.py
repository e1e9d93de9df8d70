"""Where a release folder goes: what may be replaced there, and how, without ever losing what was there."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import secrets
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from privroute.errors import ReleaseError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "DEMAND",
    "FILES",
    "FIXED_COST",
    "LINKS",
    "MANIFEST",
    "NODES",
    "POLICY",
    "ROUTES",
    "SIGNATURE",
    "STREETS",
    "ZONES",
    "digest_of",
    "exchanged",
    "flush",
    "folder_beside",
    "is_of_slot",
    "is_ours",
    "name_in_slot",
    "only_a_release",
    "put_in_place",
]

MANIFEST = "release.json"
NODES, LINKS, ROUTES, DEMAND = "nodes.parquet", "links.parquet", "routes.parquet", "demand.parquet"
POLICY = "policy.arrow"
FIXED_COST = "fixed_cost_min"
"""Column of links.parquet, where a link costs something beside time."""
STREETS, ZONES = "streets.parquet", "zones.parquet"
SIGNATURE = "signature.json"
FILES = frozenset({MANIFEST, NODES, LINKS, POLICY, ROUTES, DEMAND, STREETS, ZONES, SIGNATURE})
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
_OF_SLOTS = re.compile(r"(policy|routes|demand)_([a-z][a-z0-9-]*_)?[0-9]{4,6}-[0-9]{4,6}\.(arrow|parquet)")


def name_in_slot(name: str, key: str) -> str:
    """The name of a file of one period and kind of day: demand_workday_0700-0800.parquet."""
    stem, _, ending = name.partition(".")
    return f"{stem}_{key}.{ending}"


def is_of_slot(name: str) -> bool:
    """Whether it is a name that `name_in_slot` gives."""
    return _OF_SLOTS.fullmatch(name) is not None


def is_ours(name: str) -> bool:
    """Whether a release may have a file of this name."""
    return name in FILES or is_of_slot(name)


def digest_of(folder: Path) -> str:
    """SHA-256 of a release's manifest, which has the checksums of all other files."""
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()


def only_a_release(folder: Path) -> bool:
    """Whether the folder has a manifest and nothing but files that a release has."""
    found = list(folder.iterdir())
    names = {path.name for path in found}
    ours = MANIFEST in names and all(map(is_ours, names))
    return ours and all(path.is_file() or path.is_symlink() for path in found)


def flush(path: Path) -> None:
    """Wait until a file, or a folder's list of files, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def folder_beside(target: Path, ending: str) -> Path:
    """Make an empty folder beside `target`, with the mode that the umask gives."""
    beside = target.with_name(f".{secrets.token_hex(8)}.{ending}")
    beside.mkdir()
    return beside


def put_in_place(beside: Path, target: Path) -> None:
    """Rename onto `target`; a release that is there is replaced in one step, so that readers find one or the other.

    Where the file system cannot exchange folders, it is moved aside first, and back if the renaming fails.
    """
    if not target.exists() or not any(target.iterdir()):
        beside.replace(target)
        flush(target.parent)
        return
    aside = folder_beside(target, "old")
    if exchanged(beside, target):
        with suppress(OSError):
            beside.replace(aside)
    else:
        _replace_in_steps(beside, target, aside)
    flush(target.parent)
    with suppress(OSError):  # the new release is in its place; only the old one's own files are removed
        for path in aside.iterdir():
            if is_ours(path.name):
                path.unlink(missing_ok=True)
        aside.rmdir()


def exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system or the file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # a C library without it
        return False
    names = [ctypes.c_char_p(os.fsencode(path)) for path in (one, other)]
    here = ctypes.c_int(_HERE)
    return bool(rename(here, names[0], here, names[1], ctypes.c_uint(_EXCHANGE)) == 0)


def _replace_in_steps(beside: Path, target: Path, aside: Path) -> None:
    try:
        target.replace(aside)
    except OSError:
        aside.rmdir()
        raise
    try:
        beside.replace(target)
    except BaseException:
        _move_back(aside, target)
        raise


def _move_back(aside: Path, target: Path) -> None:
    try:
        aside.replace(target)
    except OSError as problem:
        raise ReleaseError(
            f"{target} cannot be written ({problem.strerror}); the release that was there is now {aside}"
        ) from None
