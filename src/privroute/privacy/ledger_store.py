"""What a ledger is kept in: a store to which entries are only added, and the statements that every store runs.

A store is a file (`ledger_file.FileStore`) or a schema of a PostgreSQL server (`ledger_server.ServerStore`). Both keep
the same rows and run the same statements in one transaction at a time. What docs/proofs/ledger.md asks of a store:

- transactions that write exclude each other from their first reading on, so what is checked is what is charged;
- when a transaction returns without an error, its rows survive the death of the client, of the server and of the power;
- whenever this is in doubt it raises an error, and then nothing is released.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from privroute.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

__all__ = [
    "CHARGE_COLUMNS",
    "DATASET_COLUMNS",
    "NOTE_COLUMNS",
    "Content",
    "Kind",
    "Records",
    "Row",
    "Store",
    "moved_away",
]

Row = tuple[Any, ...]
Kind = Literal["read", "write"]

DATASET_COLUMNS = "name, epsilon, delta, unit, time_zone, kept_requests, kept_per_pair, at, digest"
CHARGE_COLUMNS = "entry, dataset, at, mechanism, epsilon, delta, rho, scope, digest"
NOTE_COLUMNS = "entry, at, folder"


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that a ledger holds, as rows with the columns named above; all of it is public."""

    datasets: tuple[Row, ...] = ()
    charges: tuple[Row, ...] = ()
    notes: tuple[Row, ...] = ()


class Records(ABC):
    """The rows of a ledger within one transaction. Values are passed beside the statements, with the sign ?."""

    datasets_in_order: str
    notes_in_order: str

    @abstractmethod
    def run(self, statement: str, values: Row = ()) -> list[Row]:
        """Run a statement; its rows, if it has any."""

    @abstractmethod
    def given(self) -> int:
        """How many charges were ever entered: the number of the last one, also if it was lost."""

    @abstractmethod
    def close(self, moved_to: str, at: str) -> None:
        """Mark the ledger as moved: from now on it cannot be opened, and the error names the new place."""

    @abstractmethod
    def open(self, own: str) -> None:
        """Take the mark away from a ledger that was made closed, which names its own address. Others stay closed."""

    @abstractmethod
    def has_arrived(self) -> bool:
        """Whether the ledger to which this one was moved is known to have been made."""

    @abstractmethod
    def arrive(self) -> None:
        """Note that it was: from then on it may have charges of its own, and is never made again from this one."""

    def names(self) -> list[str]:
        """Names of the data sets, in the order in which they were entered."""
        return [name for (name,) in self.run(f"SELECT name FROM dataset ORDER BY {self.datasets_in_order}")]

    def dataset(self, name: str) -> Row | None:
        """What was approved for a data set."""
        found = self.run(f"SELECT {DATASET_COLUMNS} FROM dataset WHERE name = ?", (name,))
        return found[0] if found else None

    def add_dataset(self, row: Row) -> None:
        """Enter a data set."""
        self.run(f"INSERT INTO dataset ({DATASET_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)", row)

    def name_time_zone(self, name: str, time_zone: str, digest: str) -> None:
        """Name the time zone of a data set that has none; the only row that ever changes, and once."""
        self.run("UPDATE dataset SET time_zone = ?, digest = ? WHERE name = ?", (time_zone, digest, name))

    def charges(self) -> Iterable[Row]:
        """All charges by their number."""
        return self.run(f"SELECT {CHARGE_COLUMNS} FROM charge ORDER BY entry")

    def last_digest(self) -> str:
        """The digest of the last charge, "" if there is none."""
        found = self.run("SELECT digest FROM charge ORDER BY entry DESC LIMIT 1")
        return str(found[0][0]) if found else ""

    def add_charge(self, row: Row) -> int:
        """Enter a charge, without its number, which is returned."""
        entry = self.given() + 1
        self.run(f"INSERT INTO charge ({CHARGE_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)", (entry, *row))
        return entry

    def has_charge(self, entry: int, dataset: str) -> bool:
        """Whether a data set has this charge."""
        return bool(self.run("SELECT 1 FROM charge WHERE entry = ? AND dataset = ?", (entry, dataset)))

    def notes(self) -> Iterable[Row]:
        """Where releases were written."""
        return self.run(f"SELECT {NOTE_COLUMNS} FROM written ORDER BY {self.notes_in_order}")

    def add_note(self, row: Row) -> None:
        """Note where a release was written."""
        self.run(f"INSERT INTO written ({NOTE_COLUMNS}) VALUES (?,?,?)", row)

    def content(self) -> Content:
        """All rows."""
        datasets = self.run(f"SELECT {DATASET_COLUMNS} FROM dataset ORDER BY {self.datasets_in_order}")
        return Content(tuple(datasets), tuple(self.charges()), tuple(self.notes()))

    def fill(self, content: Content) -> None:
        """Put all rows of another ledger into this one, which is empty."""
        for row in content.datasets:
            self.add_dataset(row)
        for number, row in enumerate(content.charges, start=1):
            if row[0] != number or self.add_charge(row[1:]) != number:
                raise ValueError("the charges of a ledger are numbered from 1")
        for row in content.notes:
            self.add_note(row)


def moved_away(shown: object, own: object, moved_to: str | None) -> LedgerError:
    """To be raised by a ledger that is closed: it was moved, or a moving to it was interrupted."""
    if str(own) == moved_to:
        return LedgerError(
            f"{shown}: moving a ledger here was interrupted, and nothing can be charged yet; run the same privroute "
            "budget move again, from the old ledger"
        )
    return LedgerError(f"{shown}: this ledger was moved to {moved_to}; pass that one")


class Store(Protocol):
    """A place for a ledger. Its text is its public address, without passwords."""

    def is_there(self) -> bool:
        """Whether there is anything under this address."""

    def make(self, content: Content | None = None, *, closed: bool = False) -> None:
        """Make a ledger, whole or not at all; one that is there is never replaced.

        content : what it holds from its first moment on; then one that is there is an error
        closed : made as moved to its own address, so that nothing can be charged until `Records.open`
        """

    def transaction(self, kind: Kind, *, moved: bool = False) -> AbstractContextManager[Records]:
        """One transaction on a ledger that was checked; it is committed at the end, or undone on any error.

        moved : whether one that was moved elsewhere may be opened, which only the moving itself does
        """

    def moved_to(self) -> str | None:
        """The address of the ledger to which this one was moved, or None."""
