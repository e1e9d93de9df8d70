"""What a release costs a data set: the times that its trips are from, and its charge, which comes before its noise."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from privroute.errors import LedgerError
from privroute.privacy.ledger import Ledger
from privroute.privacy.scope import DAY_S, Scope
from privroute.study.calendar import SECOND_US

if TYPE_CHECKING:
    from privroute.privacy.account import Charge
    from privroute.release.certificate import Certificate
    from privroute.study.calendar import Calendar
    from privroute.study.clock_rules import ClockRules
    from privroute.study.contribution import Contribution
    from privroute.study.frame import Frame
    from privroute.study.guarantee import Guarantee
    from privroute.study.study import Study

__all__ = ["charge_release", "check_charge", "note_written", "scope_of", "scope_of_calendar"]


def charge_release(
    ledger: Ledger, study: Study, certificate: Certificate, clock: ClockRules | None = None
) -> tuple[Charge, Certificate]:
    """Charge the release that a certificate announces, before any noise is drawn; the certificate names the entry.

    clock : how its history tells times
    """
    promised, rho = _chargeable(ledger, study, certificate)
    frame = study.frame
    charge, account = ledger.charge(
        scope_of(frame),
        promised,
        rho,
        certificate.mechanism,
        time_zone=frame.calendar.time_zone,
        contribution=frame.contribution,
        clock=clock,
    )
    entry = {
        "dataset": account.dataset,
        "entry": charge.entry,
        "digest": charge.digest,
        "approved_epsilon": account.approval.epsilon,
        "approved_delta": account.approval.delta,
        "spent_epsilon": account.spent_epsilon,
        "times": charge.times.as_dict(),
    }
    return charge, replace(certificate, budget=entry)


def check_charge(ledger: Ledger, study: Study, certificate: Certificate) -> None:
    """Refuse what `charge_release` would refuse now, and charge nothing."""
    promised, rho = _chargeable(ledger, study, certificate)
    frame = study.frame
    ledger.check(scope_of(frame), promised, rho, time_zone=frame.calendar.time_zone, contribution=frame.contribution)


def _chargeable(ledger: Ledger, study: Study, certificate: Certificate) -> tuple[Guarantee, float]:
    """What carries no guarantee cannot be charged: no noise, seeded noise, constants that are not proved.

    A guarantee whose delta is too large to be called private is charged: its rho holds, and rho is what adds up. If it
    were refused, it would be made without the ledger, and the sum would be too small.
    """
    if not isinstance(ledger, Ledger):
        raise LedgerError(f"ledger is a {type(ledger).__name__}; pass privroute.Ledger")
    if study.guarantee is None or certificate.rho is None or not certificate.guaranteed:
        made = f"mechanism {certificate.mechanism}, noise {certificate.noise}"
        raise LedgerError(
            f"{ledger.store}: a release that is NOT PRIVATE ({made}) cannot be charged to a budget, and nothing was "
            "released; omit the ledger if it will not be published"
        )
    return study.guarantee, certificate.rho


def note_written(ledger: Ledger, entry: int, folder: str) -> None:
    """Note where a release was written; if that fails the release is there all the same, and it is charged."""
    try:
        ledger.note_written(entry, folder)
    except LedgerError as problem:
        warnings.warn(f"the release is written and charged, but not noted as written: {problem}", RuntimeWarning, 2)


def scope_of(frame: Frame) -> Scope:
    """When the trips of a history were made: its periods on each of their dates, or whole days where not known."""
    return scope_of_calendar(frame.calendar, frame.contribution)


def scope_of_calendar(calendar: Calendar, contribution: Contribution | None) -> Scope:
    """As `scope_of`, of a calendar and the bounds on users, as a certificate has them."""
    if calendar.dates is None:
        raise LedgerError("a ledger needs the dates of a release, but this history has none; create it with dates")
    parts = []
    for slot in calendar.slots:
        start_s = slot.period.start_us // SECOND_US  # outwards to whole seconds
        stop_s = -(-(slot.period.start_us + slot.period.length_us) // SECOND_US)
        if slot.period.begins is None:
            stop_s = DAY_S
        part = Scope.of_days(slot.calendar.dates or (), begins_s=start_s, length_s=stop_s - start_s)
        # evenings and early mornings touch at midnight without a period that passes it; a user's day is whole anyway
        whole = calendar.has_slots and contribution is not None and contribution.unit == "user-day"
        parts.append(part.whole_days() if whole and not part.passes_midnight else part)
    return Scope.union(parts)
