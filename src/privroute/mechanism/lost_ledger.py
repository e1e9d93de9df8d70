"""Lost ledgers: built again from the certificates of releases and the days of streams, and compared with them.

A certificate holds what a charge consists of: rho, the times of its trips (its calendar), and the entry's number. A
rebuilt ledger charges every release that is known. Where numbers are missing before the last known entry, it fills
every moment up to what the certificates say was spent in all: what is missing is thus charged, wherever it was. Nothing
is granted that the lost ledger would have refused, as long as no entry followed the last known one:
docs/proofs/ledger.md, Theorem 7.
"""

from __future__ import annotations

import datetime as dt
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privroute.errors import GuaranteeError, LedgerError, PrivrouteError, StreamError
from privroute.mechanism.promise import Promise
from privroute.mechanism.stream_files import StreamFiles
from privroute.network.checks import check_period_of_day
from privroute.privacy.budget import Approval, Spending
from privroute.privacy.calibration import rho_bounds
from privroute.privacy.charged_times import ChargedTimes
from privroute.privacy.charging import scope_of_calendar
from privroute.privacy.ledger import Ledger, store_at
from privroute.privacy.scope import Profile, Scope
from privroute.privacy.sensitivity import summed_counts_sensitivity
from privroute.release.folder import digest_of
from privroute.release.reading import read_certificate
from privroute.study.calendar import Calendar, Period
from privroute.study.contribution import Contribution
from privroute.study.guarantee import Guarantee

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from privroute.privacy.account import Account, Charge
    from privroute.privacy.ledger import Place
    from privroute.privacy.ledger_store import Store
    from privroute.release.certificate import Certificate

__all__ = [
    "LOST",
    "Finding",
    "KnownCharge",
    "adopt_stream",
    "charges_of_releases",
    "charges_of_stream",
    "rebuild",
    "verify",
]

LOST = "lost"
"""Mechanism of entries of a rebuilt ledger that stand for what was lost."""

_OF_STREAMS = "daily"
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class KnownCharge:
    """A charge as a certificate or a stream has it.

    budget : dataset, entry, digest, and what was approved and spent
    place : the folder or file that says so
    release : digest of the release that says so, or None
    """

    budget: Mapping[str, Any]
    guarantee: Guarantee
    rho: float
    times: ChargedTimes
    mechanism: str
    time_zone: str | None
    place: str
    release: str | None = None

    @property
    def scope(self) -> Scope:
        """When its trips were made, as charged."""
        return self.times.scope

    @property
    def entry(self) -> int:
        """Its number in the ledger."""
        return int(self.budget["entry"])


def charges_of_releases(
    folders: Iterable[str | os.PathLike[str]], *, trusted: str | os.PathLike[str] | None = None
) -> list[KnownCharge]:
    """What each release folder says it was charged; one that was not charged is refused.

    trusted : file with a public key; a certificate that its holder did not sign is refused
    """
    return [
        replace(
            _of_certificate(read_certificate(folder, trusted=trusted), os.fspath(folder)),
            release=digest_of(Path(folder)),
        )
        for folder in folders
    ]


def _of_certificate(certificate: Certificate, place: str) -> KnownCharge:
    budget = certificate.budget
    if isinstance(budget, str) or certificate.rho is None or certificate.epsilon is None or certificate.delta is None:
        raise LedgerError(f"{place}: the budget of this release was not tracked; it has no entry in any ledger")
    bounds = certificate.study["bounds"]
    kept = None if bounds is None else Contribution(certificate.unit, **bounds)  # type: ignore[arg-type]  # checked
    return KnownCharge(
        budget,
        Guarantee(certificate.epsilon, certificate.delta, certificate.unit),  # type: ignore[arg-type]  # checked
        certificate.rho,
        _times(scope_of_calendar(certificate.calendar, kept), budget),
        certificate.mechanism,
        certificate.calendar.time_zone,
        place,
    )


def _times(scope: Scope, budget: Mapping[str, Any]) -> ChargedTimes:
    """For which a release of this scope was charged, as its certificate says."""
    if "times" not in budget:
        return ChargedTimes(scope)
    charged = Scope.always() if budget["times"]["all_times"] else scope.widened(budget["times"]["widened_s"])
    return ChargedTimes.from_dict(charged, budget["times"])


def charges_of_stream(folder: str | os.PathLike[str]) -> list[KnownCharge]:
    """What each day of a stream was charged."""
    files = StreamFiles(folder)
    shared = files.frame()
    if shared is None:
        raise StreamError(f"{folder} has no day yet")
    try:
        guarantee = Guarantee(**shared["guarantee"])
        kept = None if shared["contribution"] is None else Contribution(**shared["contribution"])
        minutes, begins = check_period_of_day(shared["period_min"]), shared["begins"]
        period = Period(minutes, None if begins is None else dt.time.fromisoformat(begins))
        rho = Promise.of(guarantee, summed_counts_sensitivity(guarantee, kept)).rho
    except (KeyError, TypeError, ValueError, PrivrouteError):
        raise StreamError(f"{folder}: what its days share was changed; restore it") from None
    pairs, found = len(files.pairs()[0]), []
    for date in files.dates():
        _, budget = files.read_day(date, pairs)
        if isinstance(budget, str):
            raise LedgerError(f"{folder}: {date} was not charged to any ledger")
        calendar = Calendar(1, (period,), (date,), time_zone=shared["time_zone"])
        times = _times(scope_of_calendar(calendar, kept), budget)
        found.append(KnownCharge(budget, guarantee, rho, times, _OF_STREAMS, shared["time_zone"], f"{folder}, {date}"))
    return found


def rebuild(
    path: Place,
    releases: Sequence[KnownCharge],
    streams: Sequence[KnownCharge] = (),
    *,
    kept_requests: int | None = None,
    kept_per_pair: int | None = None,
    spent_since: float = 0.0,
) -> Ledger:
    """Make a new ledger that grants no more than the lost one.

    path : of the new file or server; a ledger that is there is never touched
    releases, streams : all charges that are known, of one data set
    kept_requests, kept_per_pair : as approved, where the data set was limited once
    spent_since : rho that releases after the last known entry may have cost, which no certificate can say
    """
    by_entry = _by_entry([*releases, *streams], {known.entry for known in streams})
    if not by_entry:
        raise LedgerError("no charge is known; pass the folders of releases, or of a stream")
    known = [by_entry[entry] for entry in sorted(by_entry)]
    last = known[-1]
    approval = Approval(
        last.budget["approved_epsilon"],
        last.budget["approved_delta"],
        last.guarantee.unit,
        last.time_zone,
        kept_requests,
        kept_per_pair,
    )
    spent = _spent(approval, max(each.budget["spent_epsilon"] for each in known))
    charges = [(each.times, each.guarantee, each.rho, each.mechanism, each.place) for each in known]
    promised = Guarantee(approval.epsilon, approval.delta, last.guarantee.unit)
    now = Spending(approval, [each.scope for each in known], [each.rho for each in known])
    if set(by_entry) == set(range(1, last.entry + 1)):
        pass  # every entry is known, so nothing up to the last one is lost
    elif approval.by_scope:
        parts = now.profile.below(spent) if now.profile is not None else []
        charges += [(ChargedTimes(scope), promised, approval.rho(grains), LOST, "") for scope, grains in parts]
    elif now.spent < spent:
        charges.append((ChargedTimes(last.scope), promised, approval.rho(spent - now.spent), LOST, ""))
    if spent_since:
        charges.append((ChargedTimes(Scope.always()), promised, spent_since, LOST, ""))
    return _written(store_at(path), str(last.budget["dataset"]), approval, charges)


def _by_entry(charges: list[KnownCharge], of_streams: set[int]) -> dict[int, KnownCharge]:
    """One charge for each entry; what speaks of another data set, or contradicts another copy, is refused."""
    found: dict[int, KnownCharge] = {}
    names = ("dataset", "approved_epsilon", "approved_delta")
    for each in charges:
        first = next(iter(found.values()), each)
        for name in names:
            if each.budget[name] != first.budget[name]:
                raise LedgerError(
                    f"{each.place}: {name} is {each.budget[name]} where {first.place} has {first.budget[name]}; "
                    "rebuild one data set at a time"
                )
        if (each.guarantee.unit, each.time_zone) != (first.guarantee.unit, first.time_zone):
            raise LedgerError(f"{each.place}: its unit or time zone is not that of {first.place}")
        before = found.get(each.entry)
        if before is None:
            found[each.entry] = each
        elif before.budget["digest"] != each.budget["digest"]:
            raise LedgerError(f"{each.place}: entry {each.entry:,} is another one than that of {before.place}")
        elif (before.scope, before.rho) != (each.scope, each.rho):
            # a release of a stream names the last day's entry, and its calendar has all days: both are charged
            if each.entry not in of_streams or before.rho != each.rho:
                raise LedgerError(f"{each.place}: entry {each.entry:,} is not what {before.place} says of it")
            found[each.entry] = each if len(each.scope.runs) == 1 else before
    return found


def _spent(approval: Approval, epsilon: float) -> int:
    """The grains whose epsilon at the approved delta is what a certificate says, rounded up."""
    above = approval.grains(rho_bounds(epsilon, approval.delta)[1])
    return min(above + int(approval.total * _SAME), approval.total)


def _written(place: Store, dataset: str, approval: Approval, charges: Sequence[tuple[Any, ...]]) -> Ledger:
    """Put the whole ledger into place at once, so that none with a part of the charges is ever there."""
    with tempfile.TemporaryDirectory(prefix="privroute-") as folder:
        made = Ledger.create(Path(folder) / "ledger", dataset, approval)
        made.enter_known(charges)
        with made.store.transaction("read") as records:
            place.make(records.content())
    return Ledger(place, dataset)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a ledger says of a release.

    status : "same"; "rebuilt": the same charge under another number, in a ledger that was made again; "perhaps": not
        listed, and the entries for what was lost are large enough to stand for it. They do if it was charged before
        the last release from which the ledger was rebuilt, which the ledger cannot tell; "missing": it is not charged;
        "cheaper": the ledger has a smaller cost or fewer times than the certificate; "untracked": the certificate names
        no ledger
    entry : in the ledger, or None
    listed : whether the ledger has the digest of this very release; None where it has none for the charge. What is made
        of a release without new trips (another network, a copy that was saved again) is charged and not listed
    """

    place: str
    status: str
    entry: int | None
    listed: bool | None = None

    @property
    def good(self) -> bool:
        """Whether the release is charged in full."""
        return self.status in ("same", "rebuilt")


def verify(account: Account, known: Iterable[KnownCharge]) -> list[Finding]:
    """Compare a ledger's charges with what releases and streams say they were charged.

    A charge stands for one release, and for what was made of that without new trips: of two releases that are alike
    one may be lost.
    """
    charged = list(known)
    digests = {each.budget["digest"] for each in charged}
    taken = {charge.entry: charge.digest for charge in account.charges if charge.digest in digests or charge.releases}
    of_streams = {each.budget["digest"] for each in charged if each.release is None}
    findings, stood_for = [], dict[str, KnownCharge]()
    for each in charged:
        found = _finding(account, each, taken)
        if found.status == "missing" and each.release is not None and each.budget["digest"] in of_streams:
            found = replace(found, status="rebuilt" if _days_cover(account, each) else "missing")
        if found.status == "missing" and _within_lost(account, {**stood_for, each.budget["digest"]: each}, each):
            stood_for[each.budget["digest"]] = each
            found = replace(found, status="perhaps")
        findings.append(found)
    return findings


def _finding(account: Account, known: KnownCharge, taken: dict[int, str]) -> Finding:
    """What the ledger has of a charge; taken : entries that stand for a charge already, with its digest."""
    if known.budget["dataset"] != account.dataset:
        return Finding(known.place, "missing", None)
    same = [charge for charge in account.charges if charge.digest == known.budget["digest"]]
    if same:
        covered = _covers(same[0], known) or _days_cover(account, known)
        listed = known.release in same[0].releases if same[0].releases and known.release else None
        return Finding(known.place, "same" if covered else "cheaper", same[0].entry, listed)
    alike = [charge for charge in account.charges if charge.mechanism == known.mechanism and _covers(charge, known)]
    digest = str(known.budget["digest"])
    exact = [charge for charge in alike if charge.scope == known.scope and taken.get(charge.entry, digest) == digest]
    if exact:
        entry = next((charge.entry for charge in exact if charge.entry in taken), exact[0].entry)
        taken[entry] = digest
        return Finding(known.place, "rebuilt", entry)
    return Finding(known.place, "missing", None)


def _within_lost(account: Account, charges: Mapping[str, KnownCharge], last: KnownCharge) -> bool:
    """Whether the entries for what was lost are as large as these charges together, at all times of the last one."""
    lost = [charge for charge in account.charges if charge.mechanism == LOST]
    if not lost or last.budget["dataset"] != account.dataset or last.guarantee.unit != account.approval.unit:
        return False
    approval = account.approval
    scopes = [*(each.scope for each in charges.values()), *(each.scope for each in lost), last.scope]
    amounts = [approval.grains(each.rho) for each in charges.values()] + [-approval.grains(each.rho) for each in lost]
    if approval.unit == "user-day":
        scopes = [scope.whole_days() for scope in scopes]
    more = Profile(scopes[:-1], amounts).peak(scopes[-1]) if approval.by_scope else sum(amounts)
    return more <= int(approval.total * _SAME)


def _covers(charge: Charge, known: KnownCharge) -> bool:
    """Whether a charge costs as much, on all of the times."""
    return charge.rho >= known.rho * (1 - _SAME) and charge.scope.covers(known.scope)


def _days_cover(account: Account, known: KnownCharge) -> bool:
    """Whether each day of a stream's release is charged. Its certificate names the entry of the last one."""
    if known.mechanism != _OF_STREAMS:
        return False
    enough = [charge for charge in account.charges if charge.rho >= known.rho * (1 - _SAME)]
    days = [charge.scope for charge in enough if charge.mechanism == _OF_STREAMS]
    return bool(days) and Scope.union(days).covers(known.scope)


def adopt_stream(ledger: Ledger, folder: str | os.PathLike[str]) -> int:
    """Bind a stream to a ledger that was rebuilt, if all its days are charged there; returns their number."""
    files, known = StreamFiles(folder), charges_of_stream(folder)
    account = ledger.account()
    missing = [finding.place for finding in verify(account, known) if not finding.good]
    if missing:
        raise LedgerError(
            f"{ledger.store}: {len(missing):,} of {len(known):,} days of the stream are not charged there (first: "
            f"{missing[0]}); rebuild the ledger with the stream"
        )
    with files.locked():
        shared = files.frame()
        if shared is None:
            raise GuaranteeError(f"{folder} has no day yet")
        files.bind(shared, {"dataset": ledger.dataset, "id": account.id})
    return len(known)
