"""The account of a data set: an approved total, and every release charged to it before its noise is drawn."""

from __future__ import annotations

import datetime as dt
import os
import unicodedata
from contextlib import ExitStack
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from privroute.errors import BudgetError, GuaranteeError, LedgerError, arg
from privroute.privacy.account import Account, Charge
from privroute.privacy.budget import Approval, overspent_in_words
from privroute.privacy.charged_times import ChargedTimes
from privroute.privacy.ledger_file import FileStore, chained
from privroute.privacy.ledger_server import ServerStore, is_address
from privroute.privacy.ledger_store import DATASET_COLUMNS, Row, Store
from privroute.privacy.scope import Profile, Scope
from privroute.privacy.seals import SEAL, read_key, seal
from privroute.privacy.uninterrupted import uninterrupted
from privroute.study.guarantee import Guarantee

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privroute.privacy.ledger_store import Records
    from privroute.study.clock_rules import ClockRules
    from privroute.study.contribution import Contribution

__all__ = [
    "AROUND_CLOCKS",
    "Ledger",
    "Place",
    "store_at",
]

Place = str | os.PathLike[str] | Store

_LONGEST_NAME = 200
_LONGEST_FOLDER = 4096
_CLOCKS_APART_S = 26 * 3600  # from UTC-12 to UTC+14
AROUND_CLOCKS = "time zone"
"""In place of a mechanism: hours around a release, charged when the time zone of its clocks is named later."""


@dataclass(frozen=True, slots=True, init=False)
class Ledger:
    """The account of a data set in a ledger. Several processes may charge it at the same time.

    It protects against accidents (lost, damaged or incomplete entries, several writers, a killed process), not against
    deliberate changes by somebody with write access to it. With a key those are found, too: `unsealed`.

    path : the file, or the address of a PostgreSQL server, postgresql://user@host/database#schema; created by
        `Ledger.create` or `privroute budget init`
    dataset : name of the data set; optional if the ledger has only one
    granted : what was charged with this object, in its order; also if Ctrl-C came while it was charged
    key : file of a key, kept elsewhere, with which entries are sealed; from the first seal on every charge needs it
    """

    store: Store
    dataset: str
    granted: list[Charge] = field(repr=False, compare=False)
    _key: bytes | None = field(repr=False)

    def __init__(self, path: Place, dataset: str | None = None, *, key: str | os.PathLike[str] | None = None) -> None:
        place = store_at(path)
        object.__setattr__(self, "_key", None if key is None else read_key(key))
        with place.transaction("read") as records:
            names = records.names()
        if dataset is None:
            if len(names) != 1:
                listed = ", ".join(names[:5]) or "none yet; add one with privroute budget init"
                raise LedgerError(f"{place}: say which data set is meant ({listed})")
            dataset = names[0]
        name = _name(dataset)
        if name not in names:
            listed = ", ".join(names[:5]) or "none"
            raise LedgerError(
                f"{place}: there is no data set {name!r} (there: {listed}); add it with privroute budget init"
            )
        object.__setattr__(self, "store", place)
        object.__setattr__(self, "dataset", name)
        object.__setattr__(self, "granted", [])

    @property
    def path(self) -> Path:
        """The file of a ledger that is kept in one."""
        if not isinstance(self.store, FileStore):
            raise LedgerError(f"{self.store}: this ledger is on a server and has no file")
        return self.store.path

    @classmethod
    def create(cls, path: Place, dataset: str, approval: Approval) -> Self:
        """Enter a data set with its approved total, in a new ledger or in one that is there.

        What was approved stays as it is: no function enters it again, raises it or removes it.
        """
        place, name = store_at(path), _name(dataset)
        if not isinstance(approval, Approval):
            raise GuaranteeError(f"approval is a {type(approval).__name__}; pass privroute.Approval")
        if not place.is_there():
            place.make()
        with place.transaction("write") as records:
            if records.dataset(name) is not None:
                raise LedgerError(
                    f"{place}: the data set {name!r} already exists, and its approved budget cannot be changed"
                )
            row = (name, *astuple(approval), _now("microseconds"))  # so that no two accounts have one digest
            records.add_dataset((*row, chained("", row)))
        return cls(place, name)

    @classmethod
    def all_in(cls, path: Place) -> list[Self]:
        """Every data set of a ledger."""
        place = store_at(path)
        with place.transaction("read") as records:
            names = records.names()
        return [cls(place, name) for name in names]

    def account(self) -> Account:
        """Read the data set's approved total and all its charges."""
        with self.store.transaction("read") as records:
            return self._account(records)

    def charge(
        self,
        scope: Scope,
        guarantee: Guarantee,
        rho: float,
        mechanism: str,
        *,
        time_zone: str | None = None,
        contribution: Contribution | None = None,
        clock: ClockRules | None = None,
    ) -> tuple[Charge, Account]:
        """Spend rho on the scope, for ever, or refuse; when this returns the charge is on the disk.

        time_zone : whose wall clock the scope means
        contribution : how much of one user the release counts at most, where the unit is a user
        clock : how the release tells times. Where earlier entries tell them otherwise the scope is widened, or the
            charge refused: docs/proofs/ledger.md, Theorem 10
        """
        with ExitStack() as known:
            with self.store.transaction("write") as records:
                before = self._account(records)
                times = self._check(before, scope, guarantee, rho, time_zone, contribution, clock)
                granted = self._enter(records, times, guarantee, rho, mechanism)
                known.enter_context(uninterrupted())  # from before the commit until it is known to have been made
            self.granted.append(granted)
        return granted, replace(before, charges=(*before.charges, granted))

    def enter_known(self, charges: Sequence[tuple[ChargedTimes, Guarantee, float, str, str]]) -> None:
        """Enter charges of releases that were made before, all or none, whether they fit or not.

        charges : times, guarantee, rho, mechanism and the folder of the release ("" where none is known)
        """
        with self.store.transaction("write") as records:
            for times, guarantee, rho, mechanism, folder in charges:
                entry = self._enter(records, times, guarantee, rho, mechanism).entry
                if folder:
                    records.add_note((entry, _now(), folder[:_LONGEST_FOLDER]))

    def set_time_zone(self, time_zone: str) -> None:
        """Name the time zone of a data set that was entered without one; one that is named stays.

        What was charged until now was by the clock of the files, whatever that was. It is charged for the times around
        it too, by more than any two clocks differ, so nothing is loosened. docs/proofs/ledger.md, Theorem 8.
        """
        with self.store.transaction("write") as records:
            account = self._account(records)
            if account.approval.time_zone is not None:
                raise LedgerError(
                    f"{self.store}: the time zone of {self.dataset!r} is {account.approval.time_zone}, and stays"
                )
            self._check_key(account)
            approval = replace(account.approval, time_zone=time_zone)  # refuses what is no time zone
            for charge in account.charges:
                around = Profile([charge.scope.widened(_CLOCKS_APART_S), charge.scope], [1, -1])
                for scope, _ in around.at_level(1):
                    terms = Guarantee(charge.epsilon, charge.delta)
                    self._enter(records, ChargedTimes(scope), terms, charge.rho, AROUND_CLOCKS)
            at = (records.dataset(self.dataset) or ())[-2]
            row = (self.dataset, *astuple(approval), at)
            records.name_time_zone(self.dataset, time_zone, chained("", row))

    def check(
        self,
        scope: Scope,
        guarantee: Guarantee,
        rho: float,
        *,
        time_zone: str | None = None,
        contribution: Contribution | None = None,
        clock: ClockRules | None = None,
    ) -> None:
        """Refuse what `charge` would refuse now, and charge nothing; another process may spend in between."""
        self._check(self.account(), scope, guarantee, rho, time_zone, contribution, clock)

    def _check(
        self,
        account: Account,
        scope: Scope,
        guarantee: Guarantee,
        rho: float,
        time_zone: str | None,
        contribution: Contribution | None,
        clock: ClockRules | None,
    ) -> ChargedTimes:
        """Refuse what may not be charged; the times for which the rest is."""
        self._check_key(account)
        approval = account.approval
        self._check_terms(approval, guarantee.unit, scope, time_zone, contribution)
        named = ChargedTimes(scope, clock, kept_set=None if contribution is None else contribution.kept_set)
        of_kept_set = approval.kept_requests is not None
        times = named.beside(account.charges, approval.unit, self.store, of_kept_set=of_kept_set)
        spending = account.spending
        if not spending.allows(times.scope, rho):
            raise BudgetError(
                f"{self.store}: {overspent_in_words(self.dataset, spending, times.scope, guarantee, rho)}"
            )
        return times

    def _enter(self, records: Records, times: ChargedTimes, guarantee: Guarantee, rho: float, mechanism: str) -> Charge:
        terms = (_now(), mechanism, guarantee.epsilon, guarantee.delta, float(rho))
        row = (self.dataset, *terms, times.text())
        digest = chained(records.last_digest(), row)
        entry = records.add_charge((*row, digest))
        if self._key is not None:
            records.add_note((entry, _now(), seal(self._key, _approved(records.dataset(self.dataset)), digest)))
        return Charge(entry, *terms, times, digest)

    def _check_key(self, account: Account) -> None:
        """Refuse to add to sealed entries without their key."""
        if self._key is None and any(charge.seal for charge in account.charges):
            raise LedgerError(
                f"{self.store}: the entries of {self.dataset!r} are sealed with a key; nothing was charged or "
                f"released; pass {arg('key')}, its file"
            )
        if self._key is not None and (
            wrong := [each for each in account.charges if each.seal and not self._is_right(account, each)]
        ):
            raise LedgerError(
                f"{self.store}: entry {wrong[0].entry:,} of {self.dataset!r} was sealed with another key, or "
                "changed; nothing was charged or released"
            )

    def _is_right(self, account: Account, charge: Charge) -> bool:
        return self._key is not None and charge.seal == seal(self._key, account.approved, charge.digest)

    def unsealed(self) -> list[int]:
        """Entries of the data set that this key did not seal, or that were changed afterwards."""
        if self._key is None:
            raise LedgerError(f"{self.store}: seals are checked with the key; pass {arg('key')}, its file")
        account = self.account()
        return [charge.entry for charge in account.charges if not self._is_right(account, charge)]

    def _check_terms(
        self,
        approval: Approval,
        unit: str,
        scope: Scope,
        time_zone: str | None,
        contribution: Contribution | None,
    ) -> None:
        """Refuse what the rule of this data set is not proved for."""
        start = f"{self.store}: the budget of {self.dataset!r} is "
        if unit != approval.unit:
            raise LedgerError(f"{start}for one {approval.unit}, this release for one {unit}; units do not mix")
        if time_zone != approval.time_zone:
            ours, given = (zone or "the local time of the files" for zone in (approval.time_zone, time_zone))
            cure = (
                f"pass {arg('tz', approval.time_zone)}"
                if approval.time_zone
                else f"omit {arg('tz')}, or add a data set with this time zone (privroute budget init --tz {given})"
            )
            raise LedgerError(f"{start}for dates and hours in {ours}, but this release uses {given}; {cure}")
        if unit == "user-day" and scope.passes_midnight:
            raise LedgerError(f"{start}for one user on one day, and this period passes midnight; use two periods")
        if approval.kept_requests is None:
            return
        bounds = None if contribution is None else (contribution.max_requests, contribution.max_per_pair)
        kept = f"for {approval.kept_requests} requests of a user and {approval.kept_per_pair} for a pair in all"
        if contribution is None or bounds != (approval.kept_requests, approval.kept_per_pair):
            raise LedgerError(f"{start}{kept}; give every release these bounds")
        if not contribution.pre_bounded:
            raise LedgerError(
                f"{start}{kept}, selected once, but this history made its own selection; read files that contain only "
                f"the kept requests, with {arg('pre_bounded', value=True)}, or add a data set without kept requests, "
                "in which the costs of all releases add up"
            )

    def note_written(self, entry: int, folder: str | os.PathLike[str]) -> None:
        """Note where the release of a charge was written."""
        with self.store.transaction("write") as records:
            if not records.has_charge(entry, self.dataset):
                raise LedgerError(f"{self.store}: the data set {self.dataset!r} has no entry {entry}")
            text = os.fspath(folder).encode(errors="replace").decode()[:_LONGEST_FOLDER]
            records.add_note((entry, _now(), text))

    def _account(self, records: Records) -> Account:
        """The account, if the digests of all entries are right."""
        try:
            return self._checked_account(records)
        except (AttributeError, ValueError, TypeError, LookupError, GuaranteeError):
            raise LedgerError(f"{self.store}: the ledger is damaged: an entry cannot be read; restore it") from None

    def _checked_account(self, records: Records) -> Account:
        found = records.dataset(self.dataset)
        if found is None or chained("", found[:-1]) != found[-1]:
            raise LedgerError(f"{self.store}: what was approved for {self.dataset!r} was changed or lost; restore it")
        folders: dict[int, tuple[str, ...]] = {}
        for entry, _, folder in records.notes():
            folders[entry] = (*folders.get(entry, ()), folder)
        charges, digest, number = [], "", 0
        for number, row in enumerate(records.charges(), start=1):
            digest = chained(digest, row[1:-1])
            if row[0] != number or row[-1] != digest:
                raise LedgerError(f"{self.store}: entry {number:,} of the ledger was changed or lost; restore it")
            _, dataset, at, mechanism, epsilon, delta, rho, scope, _ = row
            if dataset == self.dataset:
                notes = folders.get(number, ())
                written = tuple(note for note in notes if not note.startswith(SEAL))
                sealed = next((note for note in reversed(notes) if note.startswith(SEAL)), None)
                terms = (number, at, mechanism, epsilon, delta, rho)
                times = ChargedTimes.from_text(scope)
                charges.append(Charge(*terms, times, digest, written, seal=sealed))
        if records.given() != number:
            raise LedgerError(f"{self.store}: entries after {number:,} of the ledger were lost; restore it")
        return Account(self.dataset, Approval(*found[1:7]), tuple(charges), found[-1], _approved(found))


def store_at(place: object) -> Store:
    """The store of an address: of a PostgreSQL server, or a file."""
    if isinstance(place, FileStore | ServerStore):
        return place
    if isinstance(place, str) and is_address(place):
        return ServerStore.at(place)
    return FileStore(_path(place))


def _approved(row: Row | None) -> str:
    """What was approved, and when, as a digest; a time zone may be named later, so it is left out."""
    named = dict(zip(DATASET_COLUMNS.split(", "), row or (), strict=True))
    return chained("", tuple(value for name, value in named.items() if name not in ("time_zone", "digest")))


def _path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str) or "\0" in os.fspath(path):
        raise LedgerError(f"the path of a ledger is a {type(path).__name__}; pass a path like city.ledger")
    return Path(path)


def _name(name: object) -> str:
    """The data set's name in one spelling."""
    text = unicodedata.normalize("NFC", name) if isinstance(name, str) else ""
    if not text or len(text) > _LONGEST_NAME or not text.isprintable() or text != text.strip():
        raise LedgerError(f"the name of a data set is {str(name)[:40]!r}; pass 1 to {_LONGEST_NAME} printable signs")
    return text


def _now(timespec: str = "seconds") -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec=timespec)
