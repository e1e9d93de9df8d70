"""What `privroute budget` prints of accounts: spent, left, by days, and as plain values."""

import datetime as dt
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import privroute as pr
from privroute.cli.terminal import heading, line, number_of, say, share, table, warn
from privroute.study.guarantee import delta_caveat, short

if TYPE_CHECKING:
    from privroute.privacy.account import Account, Charge

__all__ = [
    "account_values",
    "accounts_in",
    "charge_values",
    "grouped_days",
    "in_place_of_release",
    "rule",
    "show_account",
    "warn_of_delta",
]

_MOST_ROWS = 40
_FOR_LOST, _FOR_CLOCKS = "for what was lost", "for other clocks"


def in_place_of_release(charge: "Charge") -> str | None:
    """What an entry stands for that is no release; None where it is one."""
    from privroute.mechanism.lost_ledger import LOST  # noqa: PLC0415 - the private side
    from privroute.privacy.ledger import AROUND_CLOCKS  # noqa: PLC0415

    return {LOST: _FOR_LOST, AROUND_CLOCKS: _FOR_CLOCKS}.get(charge.mechanism)


def accounts_in(ledger: str, dataset: str | None) -> "list[Account]":
    """The accounts of a ledger, or of one data set."""
    from privroute.privacy.ledger import store_at  # noqa: PLC0415 - the private side

    opened = pr.Ledger.all_in(ledger) if dataset is None else [pr.Ledger(ledger, dataset)]
    if not opened:
        line(f"{store_at(ledger)} has no data set yet; add one with privroute budget init")
    return [one.account() for one in opened]


def show_account(account: "Account") -> None:
    """Print what is spent and left."""
    approval, spending = account.approval, account.spending
    spent = approval.epsilon_of(spending.spent)
    heading(f"{account.dataset}: epsilon {approval.epsilon:g} at delta {short(approval.delta)} for one {approval.unit}")
    bar = f"{share(spending.spent / approval.total)} of the approved rho"
    line(f"Epsilon {spent:.4g} of {approval.epsilon:g} spent: {bar}")
    releases = [charge for charge in account.charges if in_place_of_release(charge) is None]
    others = Counter(filter(None, map(in_place_of_release, account.charges)))
    unwritten = sum(charge.status == "charged" for charge in releases)
    warn_of_delta(approval)
    entries = "".join(f", {count:,} {'entry' if count == 1 else 'entries'} {what}" for what, count in others.items())
    say(f"{number_of(len(releases), 'release')} charged{entries}. {rule(approval)}")
    if unwritten:
        have, they = ("has", "it remains") if unwritten == 1 else ("have", "they remain")
        warn(f"{unwritten:,} of them {have} no known release; {they} charged.")
    unknown = sum(charge.times.clock is None for charge in releases)
    if unknown:
        say(f"{number_of(unknown, 'release')} without a clock: how the times of trips were told is not known.")
    days = grouped_days(_days(account))
    if days:
        rows = [
            (
                row["days"],
                f"{row['spent_epsilon']:.4g}",
                share(row["share"]),
                f"{row['fits_epsilon']:g}" if row["fits_epsilon"] else "nothing",
            )
            for row in days[:_MOST_ROWS]
        ]
        table(
            "Largest spending on each day, and the largest epsilon that is still available",
            ["days", "epsilon", "of the approved rho", f"available, at delta {short(approval.delta)}"],
            rows,
            left=(0, 2),
        )
        if len(days) > _MOST_ROWS:
            line(f"{len(days) - _MOST_ROWS:,} more rows not shown; use --json to list all")


def warn_of_delta(approval: "pr.Approval") -> None:
    """Say where what is approved would not be private."""
    caveat = delta_caveat(approval.delta)
    if caveat is not None:
        warn(f"NOT PRIVATE: the approved {caveat}.")


def rule(approval: "pr.Approval") -> str:
    """How costs add up, in words."""
    if not approval.by_scope:
        return "The costs of all releases add up, regardless of their days, because a user travels on many days."
    if approval.unit == "user-day":
        return "The costs of releases that share a day add up; those for different days do not."
    return "The costs of releases that overlap in time add up; those for different times do not."


def grouped_days(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `_days` for people: spans that follow each other with the same spending, as of working weeks, are one.

    Each has `days` in words; where days between the spans are not spent, it says how many are.
    """
    found: list[dict[str, Any]] = []
    for row in rows:
        first, last = dt.date.fromisoformat(row["first"]), dt.date.fromisoformat(row["last"])
        span = (last - first).days + 1
        if found and found[-1]["spent_epsilon"] == row["spent_epsilon"]:
            found[-1] |= {"last": row["last"], "spent_days": found[-1]["spent_days"] + span, "gaps": True}
        else:
            found.append({**row, "spent_days": span, "gaps": False})
    for row in found:
        several = _span(row["first"], row["last"])
        row["days"] = several + (f" ({number_of(row['spent_days'], 'day')})" if row["gaps"] else "")
    return found


def _span(first: str, last: str) -> str:
    """Days in words; a rebuilt ledger is charged at all times."""
    earliest, latest = dt.date.min.isoformat(), dt.date.max.isoformat()
    if (first, last) == (earliest, latest):
        return "all times"
    if first == earliest:
        return f"until {last}"
    if last == latest:
        return f"from {first} on"
    return f"{first} to {last}" if first != last else first


def _days(account: "Account") -> list[dict[str, Any]]:
    from privroute.privacy.budget import affordable_epsilon  # noqa: PLC0415 - the private side

    approval, profile = account.approval, account.spending.profile
    return [
        {
            "first": first.isoformat(),
            "last": last.isoformat(),
            "spent_epsilon": approval.epsilon_of(grains),
            "share": grains / approval.total,
            "fits_epsilon": affordable_epsilon(max(0, approval.total - grains) * approval.grain, approval.delta),
        }
        for first, last, grains in (profile.days() if profile is not None else [])
    ]


def account_values(account: "Account") -> dict[str, Any]:
    """Plain values for JSON."""
    approval, spending = account.approval, account.spending
    releases = [charge for charge in account.charges if in_place_of_release(charge) is None]
    others = Counter(map(in_place_of_release, account.charges))
    return {
        "dataset": account.dataset,
        "approved": asdict(approval),
        "spent_epsilon": approval.epsilon_of(spending.spent),
        "spent_rho": approval.rho(spending.spent),
        "total_rho": approval.rho(approval.total),
        "releases": len(releases),
        "without_release": sum(charge.status == "charged" for charge in releases),
        "entries_for_lost": others[_FOR_LOST],
        "entries_for_clocks": others[_FOR_CLOCKS],
        "entries_without_clock": sum(charge.times.clock is None for charge in releases),
        "days": _days(account),
    }


def charge_values(charge: "Charge") -> dict[str, Any]:
    """Plain values for JSON."""
    return {
        "entry": charge.entry,
        "at": charge.at,
        "status": charge.status,
        "mechanism": charge.mechanism,
        "epsilon": charge.epsilon,
        "delta": charge.delta,
        "rho": charge.rho,
        "scope": charge.scope.as_json(),
        **charge.times.as_dict(),
        "digest": charge.digest,
        "folders": list(charge.folders),
        "releases": list(charge.releases),
    }
