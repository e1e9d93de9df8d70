"""`privroute budget`: what was approved for a data set, what is spent, and by which releases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import privroute as pr
from privroute.cli.terminal import heading, line, number_of, say, say_json, share, table, warn
from privroute.study.guarantee import delta_caveat

if TYPE_CHECKING:
    from privroute.privacy.ledger import Account, Charge

__all__ = ["budget"]

budget = typer.Typer(
    help="Keep the privacy budget of data sets: what was approved, what is spent, by which releases.",
    no_args_is_help=True,
)

_MOST_ROWS = 40

LedgerArgument = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's file.", show_default=False)]
DatasetOption = Annotated[str | None, typer.Option("--dataset", help="Only this data set. Default: all.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@budget.command()
def init(
    ledger: LedgerArgument,
    dataset: Annotated[str, typer.Option("--dataset", help="A name for the data set, like city-2026.")],
    epsilon: Annotated[float, typer.Option("--epsilon", help="Approved for all releases together.")],
    delta: Annotated[float, typer.Option("--delta", help="Approved slack, a small probability such as 1e-6.")],
    unit: Annotated[
        str, typer.Option("--unit", help="What one unit is: request, user, or user-day. Units do not mix.")
    ] = "request",
    time_zone: Annotated[
        str | None,
        typer.Option("--tz", help="Time zone of dates and periods, as in learn --tz. Default: of the files."),
    ] = None,
    kept_requests: Annotated[
        int | None,
        typer.Option(
            "--kept-requests",
            help="For users: the data set holds at most this many requests of each, chosen once, before any release.",
        ),
    ] = None,
    kept_per_pair: Annotated[
        int | None, typer.Option("--kept-per-pair", help="With --kept-requests: at most this many for one pair.")
    ] = None,
) -> None:
    """Enter a data set with its approved total; no command changes it afterwards."""
    approval = pr.Approval(epsilon, delta, unit, time_zone, kept_requests, kept_per_pair)
    opened = pr.Ledger.create(ledger, dataset, approval)
    line(f"Entered: {opened.dataset} in {ledger}", style="bold")
    _warn_of_delta(approval)
    say(
        f"Epsilon {approval.epsilon:g} at delta {approval.delta:g} for one {approval.unit}, all releases together. "
        f"{_rule(approval)} Keep the file safe, and let only those write to it who make releases: it protects against "
        "accidents, not against somebody who changes it on purpose or restores an older copy."
    )


@budget.command()
def show(ledger: LedgerArgument, dataset: DatasetOption = None, as_json: JsonOption = False) -> None:
    """Say what is spent and what is left, in all and by date."""
    accounts = _accounts(ledger, dataset)
    if as_json:
        say_json({"ledger": str(ledger), "datasets": [_account_values(account) for account in accounts]})
        return
    for account in accounts:
        _show(account)


@budget.command()
def history(ledger: LedgerArgument, dataset: DatasetOption = None, as_json: JsonOption = False) -> None:
    """List every charge, with the folder of its release; charges without one stay charged."""
    accounts = _accounts(ledger, dataset)
    if as_json:
        say_json(
            {
                "ledger": str(ledger),
                "datasets": [
                    {"dataset": account.dataset, "charges": [_charge_values(charge) for charge in account.charges]}
                    for account in accounts
                ],
            }
        )
        return
    for account in accounts:
        rows = [
            (
                f"{charge.entry}",
                charge.at.partition("T")[0],
                charge.mechanism,
                f"{charge.epsilon:g}",
                f"{charge.delta:g}",
                f"{charge.scope}",
                charge.folders[-1] if charge.folders else "charged, no release known",
            )
            for charge in account.charges
        ]
        columns = ["entry", "charged", "mechanism", "epsilon", "delta", "days and period", "release"]
        table(f"Charges to {account.dataset}", columns, rows, left=(1, 2, 5, 6))


def _accounts(ledger: Path, dataset: str | None) -> "list[Account]":
    opened = pr.Ledger.all_in(ledger) if dataset is None else [pr.Ledger(ledger, dataset)]
    if not opened:
        line(f"{ledger} has no data set yet; add one with privroute budget init")
    return [one.account() for one in opened]


def _show(account: "Account") -> None:
    approval, spending = account.approval, account.spending
    spent = approval.epsilon_of(spending.spent)
    heading(f"{account.dataset}: epsilon {approval.epsilon:g} at delta {approval.delta:g} for one {approval.unit}")
    bar = f"{share(spending.spent / approval.total)} of rho, in which costs add up"
    line(f"Epsilon {spent:.4g} of {approval.epsilon:g} spent: {bar}")
    unwritten = sum(charge.status == "charged" for charge in account.charges)
    _warn_of_delta(approval)
    say(f"{number_of(len(account.charges), 'release')} charged. {_rule(approval)}")
    if unwritten:
        have, they = ("has", "it stays") if unwritten == 1 else ("have", "they stay")
        warn(f"{unwritten:,} of them {have} no release that is known to have been written; {they} charged.")
    days = _days(account)
    if days:
        rows = [
            (
                row["first"] if row["first"] == row["last"] else f"{row['first']} to {row['last']}",
                f"{row['spent_epsilon']:.4g}",
                share(row["share"]),
                f"{row['fits_epsilon']:g}" if row["fits_epsilon"] else "nothing",
            )
            for row in days[:_MOST_ROWS]
        ]
        table(
            "The largest spending on each day, and the largest release that still fits there",
            ["days", "epsilon", "of the approved rho", f"fits, at delta {approval.delta:g}"],
            rows,
            left=(0, 2),
        )
        if len(days) > _MOST_ROWS:
            line(f"and {len(days) - _MOST_ROWS:,} more; --json has all of them")


def _warn_of_delta(approval: "pr.Approval") -> None:
    caveat = delta_caveat(approval.delta)
    if caveat is not None:
        warn(f"NOT PRIVATE: the approved {caveat}.")


def _rule(approval: "pr.Approval") -> str:
    if not approval.by_scope:
        return "Every release adds to the sum, whatever its days: a user travels on many."
    if approval.unit == "user-day":
        return "Releases about different days do not add up; those that share a day do."
    return "Releases about different times do not add up; those that share a moment do."


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


def _account_values(account: "Account") -> dict[str, Any]:
    approval, spending = account.approval, account.spending
    return {
        "dataset": account.dataset,
        "approved": {
            "epsilon": approval.epsilon,
            "delta": approval.delta,
            "unit": approval.unit,
            "time_zone": approval.time_zone,
            "kept_requests": approval.kept_requests,
            "kept_per_pair": approval.kept_per_pair,
        },
        "spent_epsilon": approval.epsilon_of(spending.spent),
        "spent_rho": approval.rho(spending.spent),
        "total_rho": approval.rho(approval.total),
        "releases": len(account.charges),
        "without_release": sum(charge.status == "charged" for charge in account.charges),
        "days": _days(account),
    }


def _charge_values(charge: "Charge") -> dict[str, Any]:
    return {
        "entry": charge.entry,
        "at": charge.at,
        "status": charge.status,
        "mechanism": charge.mechanism,
        "epsilon": charge.epsilon,
        "delta": charge.delta,
        "rho": charge.rho,
        "scope": charge.scope.as_json(),
        "digest": charge.digest,
        "folders": list(charge.folders),
    }
