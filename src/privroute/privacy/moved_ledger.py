"""Moving a ledger to another store: at every moment at most one of the two grants releases.

The old ledger is closed first, for ever, and names the new place. Then the new one is made, whole, but closed; the old
one notes that it was made; and last the new one is opened. A process that dies in between leaves closed ledgers, and
moving again to the same place goes on. A ledger that grants was noted before, and one that was noted is never made
again, also if it is gone: it may have had more charges. docs/proofs/ledger.md, Theorem 9.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from privroute.errors import LedgerError
from privroute.privacy.ledger import Ledger, store_at
from privroute.privacy.ledger_file import FileStore
from privroute.privacy.ledger_store import DATASET_COLUMNS, moved_away

if TYPE_CHECKING:
    from privroute.privacy.ledger import Place
    from privroute.privacy.ledger_store import Content, Row, Store

__all__ = ["move_ledger"]


def move_ledger(origin: Place, destination: Place) -> list[Ledger]:
    """Move all data sets and charges of a ledger; the old one is closed and tells where they are.

    destination : a file or the address of a server where no ledger is yet. Numbers and digests of entries stay, so
        certificates and streams keep their meaning.
    """
    old, new = _absolute(store_at(origin)), _absolute(store_at(destination))
    if str(old) == str(new):
        raise LedgerError(f"{new}: this is where the ledger is; pass another place")
    already = old.moved_to()
    if already is None:
        for ledger in Ledger.all_in(old):
            ledger.account()  # what is damaged is restored first, not moved
        if new.is_there():
            raise LedgerError(f"{new} already exists; a ledger is never replaced, choose another place")
        with old.transaction("write") as records:
            records.close(str(new), dt.datetime.now(dt.UTC).isoformat(timespec="seconds"))
    elif already != str(new):
        raise moved_away(old, old, already)
    with old.transaction("write", moved=True) as records:  # so that nobody else makes it or notes it meanwhile
        content, arrived = records.content(), records.has_arrived()
        if not new.is_there():
            if arrived:
                raise LedgerError(
                    f"{new}: this ledger was made when {old} was moved, and is gone. It may have had more charges: "
                    "restore it, or make it again from the releases with privroute budget rebuild"
                )
            new.make(content, closed=True)
        _check_continues(new, content)
        if not arrived:
            records.arrive()
    with new.transaction("write", moved=True) as records:
        records.open(str(new))
    return Ledger.all_in(new)


def _check_continues(new: Store, content: Content) -> None:
    """Refuse a ledger that does not begin with what was moved."""
    with new.transaction("read", moved=True) as records:
        found = records.content()
    approved = {_approved(row) for row in found.datasets}
    if found.charges[: len(content.charges)] != content.charges or not approved.issuperset(
        map(_approved, content.datasets)
    ):
        raise LedgerError(f"{new}: there is another ledger; nothing was written there")


def _approved(dataset: Row) -> Row:
    """What was approved of a data set. Its time zone may be named later, which changes the digest of the row."""
    columns = DATASET_COLUMNS.split(", ")
    return tuple(value for name, value in zip(columns, dataset, strict=True) if name not in ("time_zone", "digest"))


def _absolute(store: Store) -> Store:
    """The same place, with a name that does not depend on the folder from which it is seen."""
    return FileStore(store.path.absolute()) if isinstance(store, FileStore) else store
