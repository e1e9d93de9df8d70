"""The account of a data set: an approved total, and every release charged to it before its noise is drawn."""

from __future__ import annotations

import datetime as dt
import os
import re
import unicodedata
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from privroute.errors import BudgetError, GuaranteeError, LedgerError, arg
from privroute.privacy.budget import Approval, Spending, affordable_epsilon
from privroute.privacy.charged_times import apart_s, times_as_text, times_from_text
from privroute.privacy.ledger_file import FileStore, chained
from privroute.privacy.ledger_server import ServerStore, is_address
from privroute.privacy.ledger_store import Store
from privroute.privacy.scope import Profile, Scope, moment
from privroute.study.guarantee import Guarantee, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privroute.privacy.ledger_store import Records
    from privroute.study.clock_rules import ClockRules
    from privroute.study.contribution import Contribution

__all__ = [
    "AROUND_CLOCKS",
    "Account",
    "Charge",
    "Ledger",
    "Place",
    "store_at",
]

Place = str | os.PathLike[str] | Store

_LONGEST_NAME = 200
_NOTE = re.compile(r"sha256:([0-9a-f]{64}) (.*)", re.DOTALL)
_LONGEST_FOLDER = 4096
_CLOCKS_APART_S = 26 * 3600  # from UTC-12 to UTC+14
AROUND_CLOCKS = "time zone"
"""In place of a mechanism: hours around a release, charged when the time zone of its clocks is named later."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A release that was granted; everything here is public.

    entry, digest : its number in the ledger, and the digest of it and of all entries before it
    at : when it was charged; mechanism, epsilon, delta : what was asked for
    rho : what it costs; scope : when its trips were made; clock : how that was told, None where it is not known
    widened_s : by how many seconds the scope was widened on both sides, since earlier entries tell times otherwise
    folders : where its release was written; none: it was charged, and no release is known to have been written
    releases : SHA-256 of release.json of each release that was written
    """

    entry: int
    at: str
    mechanism: str
    epsilon: float
    delta: float
    rho: float
    scope: Scope
    digest: str
    folders: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    clock: ClockRules | None = None
    widened_s: int = 0

    def __post_init__(self) -> None:
        """A note "sha256:... out/" is a digest and a folder."""
        found = [_NOTE.fullmatch(note) for note in self.folders]
        folders = (note if match is None else match[2] for note, match in zip(self.folders, found, strict=True))
        digests = dict.fromkeys((*self.releases, *(match[1] for match in found if match is not None)))
        object.__setattr__(self, "folders", tuple(folders))
        object.__setattr__(self, "releases", tuple(digests))

    @property
    def status(self) -> str:
        """One of "released" and "charged"; the latter where no release is known to have been written."""
        return "released" if self.folders else "charged"


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """A data set in a ledger, as it was at one moment.

    id : what was approved, and when, as a digest: the same wherever the file is moved to
    """

    dataset: str
    approval: Approval
    charges: tuple[Charge, ...]
    id: str

    @property
    def spending(self) -> Spending:
        """What the charges cost together."""
        return Spending(self.approval, [one.scope for one in self.charges], [one.rho for one in self.charges])

    @property
    def spent_epsilon(self) -> float:
        """The epsilon of all releases together, at the approved delta."""
        return self.approval.epsilon_of(self.spending.spent)


@dataclass(frozen=True, slots=True, init=False)
class Ledger:
    """The account of a data set in a ledger. Several processes may charge it at the same time.

    It protects against accidents (lost, damaged or incomplete entries, several writers, a killed process), not against
    deliberate changes by somebody with write access to it.

    path : the file, or the address of a PostgreSQL server, postgresql://user@host/database#schema; created by
        `Ledger.create` or `privroute budget init`
    dataset : name of the data set; optional if the ledger has only one
    """

    store: Store
    dataset: str

    def __init__(self, path: Place, dataset: str | None = None) -> None:
        place = store_at(path)
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
        with self.store.transaction("write") as records:
            before = self._account(records)
            widened_s = apart_s(self.store, before.charges, before.approval.unit, clock)
            scope = scope.widened(widened_s)
            self._check(before, scope, guarantee, rho, time_zone, contribution)
            granted = self._enter(records, scope, guarantee, rho, mechanism, clock, widened_s)
        return granted, replace(before, charges=(*before.charges, granted))

    def enter_known(self, charges: Sequence[tuple[Scope, Guarantee, float, str, str, ClockRules | None]]) -> None:
        """Enter charges of releases that were made before, all or none, whether they fit or not.

        charges : scope, guarantee, rho, mechanism, the folder of the release ("" where none is known), and its clock
        """
        with self.store.transaction("write") as records:
            for scope, guarantee, rho, mechanism, folder, clock in charges:
                entry = self._enter(records, scope, guarantee, rho, mechanism, clock).entry
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
            approval = replace(account.approval, time_zone=time_zone)  # refuses what is no time zone
            for charge in account.charges:
                around = Profile([charge.scope.widened(_CLOCKS_APART_S), charge.scope], [1, -1])
                for scope, _ in around.at_level(1):
                    terms = Guarantee(charge.epsilon, charge.delta)
                    self._enter(records, scope, terms, charge.rho, AROUND_CLOCKS)
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
        account = self.account()
        widened_s = apart_s(self.store, account.charges, account.approval.unit, clock)
        self._check(account, scope.widened(widened_s), guarantee, rho, time_zone, contribution)

    def _check(
        self,
        account: Account,
        scope: Scope,
        guarantee: Guarantee,
        rho: float,
        time_zone: str | None,
        contribution: Contribution | None,
    ) -> None:
        self._check_terms(account.approval, guarantee.unit, scope, time_zone, contribution)
        spending = account.spending
        if not spending.allows(scope, rho):
            raise BudgetError(f"{self.store}: {_overspent(self.dataset, spending, scope, guarantee, rho)}")

    def _enter(
        self,
        records: Records,
        scope: Scope,
        guarantee: Guarantee,
        rho: float,
        mechanism: str,
        clock: ClockRules | None = None,
        widened_s: int = 0,
    ) -> Charge:
        terms = (_now(), mechanism, guarantee.epsilon, guarantee.delta, float(rho))
        row = (self.dataset, *terms, times_as_text(scope, clock, widened_s))
        digest = chained(records.last_digest(), row)
        return Charge(records.add_charge((*row, digest)), *terms, scope, digest, clock=clock, widened_s=widened_s)

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
                written = folders.get(number, ())
                terms = (number, at, mechanism, epsilon, delta, rho)
                times, clock, widened_s = times_from_text(scope)
                charges.append(Charge(*terms, times, digest, written, clock=clock, widened_s=widened_s))
        if records.given() != number:
            raise LedgerError(f"{self.store}: entries after {number:,} of the ledger were lost; restore it")
        return Account(self.dataset, Approval(*found[1:7]), tuple(charges), found[-1])


def _overspent(dataset: str, spending: Spending, scope: Scope, guarantee: Guarantee, rho: float) -> str:
    """Why a release is refused, what is left, and what would fit."""
    approval, within = spending.approval, spending.within(scope)
    spent, together = (approval.epsilon_of(grains) for grains in (within, within + approval.grains(rho)))
    fits = affordable_epsilon(spending.left(scope), guarantee.delta)
    busiest = spending.busiest(scope)
    return (
        f"the budget of {dataset!r} is epsilon {approval.epsilon:g} at delta {short(approval.delta)} for one "
        f"{approval.unit}; {spent:.4g} is spent"
        + (f" on {moment(busiest)}, which this release would use again" if busiest is not None and within else "")
        + f", and with this release it would be {together:.4g}. Nothing was charged or released; "
        + (f"epsilon {fits:g} at delta {short(guarantee.delta)} would fit" if fits else "nothing more fits")
        + (", or other days" if approval.by_scope and within else "")
    )


def store_at(place: object) -> Store:
    """The store of an address: of a PostgreSQL server, or a file."""
    if isinstance(place, FileStore | ServerStore):
        return place
    if isinstance(place, str) and is_address(place):
        return ServerStore.at(place)
    return FileStore(_path(place))


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
