"""Seals on ledger entries: an HMAC with a key that is kept outside of the ledger.

The digests of a ledger find accidents. Someone who may write to the ledger but does not have the key cannot make a
seal, so entries that were changed on purpose are found as well. Neither finds that the last entries were removed
together: only certificates name them.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path

from privroute.errors import LedgerError

__all__ = ["SEAL", "make_key", "read_key", "seal"]

SEAL = "hmac-sha256:"
_FEWEST_BYTES, _MOST_BYTES = 32, 4096


def make_key(path: str | os.PathLike[str]) -> bytes:
    """Write a new key to a file that only its owner may read; a file that is there is never replaced."""
    key = secrets.token_hex(_FEWEST_BYTES).encode()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(key + b"\n")
            file.flush()
            os.fsync(handle)
    except OSError as problem:
        raise LedgerError(
            f"{os.fspath(path)}: the key cannot be written ({problem.strerror}); choose a new file"
        ) from None
    return key


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The key in a file, without white space around it."""
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise LedgerError(f"{os.fspath(path)}: is not a regular file; pass the file of the ledger's key")
        with Path(path).open("rb") as file:
            key = file.read(_MOST_BYTES + 1).strip()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "not a path"
        raise LedgerError(
            f"{os.fspath(path)}: the key cannot be read ({reason}); pass the file of the ledger's key"
        ) from None
    if not _FEWEST_BYTES <= len(key) <= _MOST_BYTES:
        raise LedgerError(
            f"{os.fspath(path)}: a key has {_FEWEST_BYTES} to {_MOST_BYTES:,} bytes, and this file has {len(key):,}; "
            "pass the file of the ledger's key"
        )
    return key


def seal(key: bytes, approved: str, digest: str) -> str:
    """Of an entry, and through its digest of all entries before it.

    approved : what was approved for its data set, as a digest; digest : of the entry
    """
    return SEAL + hmac.new(key, f"{approved} {digest}".encode(), "sha256").hexdigest()
