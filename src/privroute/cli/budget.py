"""`privroute budget`: manage the approved and spent privacy budget of data sets."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import privroute as pr
from privroute.cli.accounts import (
    account_values,
    accounts_in,
    charge_values,
    in_place_of_release,
    rule,
    show_account,
    warn_of_delta,
)
from privroute.cli.inputs import LedgerKeyOption, TrustedOption
from privroute.cli.terminal import line, number_of, say, say_json, table, warn
from privroute.errors import InputError
from privroute.study.guarantee import short

if TYPE_CHECKING:
    from privroute.mechanism.lost_ledger import Finding

__all__ = ["budget"]

budget = typer.Typer(
    help="Manage privacy budgets: approve a total for a data set, show what releases have spent.",
    no_args_is_help=True,
    add_completion=False,
)

_FINDINGS = {
    "same": "charged",
    "rebuilt": "charged, in a rebuilt ledger",
    "perhaps": "not listed by itself; the entries for what was lost may stand for it",
    "missing": "NOT CHARGED",
    "cheaper": "CHARGED FOR LESS than its certificate says",
    "untracked": "NOT CHARGED: its certificate names no ledger",
}

_UNWRITTEN = "charged, no known release"
_NOT_LISTED = "; the ledger lists another release for it: derived from that one, or changed"

LedgerArgument = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER", help="Ledger file, or postgresql://user@host/database#schema.", show_default=False
    ),
]
DatasetOption = Annotated[str | None, typer.Option("--dataset", help="Show only this data set. Default: all.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@budget.command()
def init(
    ledger: LedgerArgument,
    dataset: Annotated[str, typer.Option("--dataset", help="Name of the data set, like city-2026.")],
    epsilon: Annotated[float, typer.Option("--epsilon", help="Approved epsilon for all releases together.")],
    delta: Annotated[float, typer.Option("--delta", help="Approved delta, a small probability such as 1e-6.")],
    unit: Annotated[
        str, typer.Option("--unit", help="Privacy unit of all releases: request, user, or user-day.")
    ] = "request",
    time_zone: Annotated[
        str | None,
        typer.Option(
            "--tz",
            help="Time zone of dates and periods, as in learn --tz; needed for times with an offset from UTC. Default: "
            "that of the files; budget set-tz names one later.",
        ),
    ] = None,
    kept_requests: Annotated[
        int | None,
        typer.Option(
            "--kept-requests",
            help="For users: assert at most this many requests of each user, selected once, before any release.",
        ),
    ] = None,
    kept_per_pair: Annotated[
        int | None, typer.Option("--kept-per-pair", help="With --kept-requests: assert at most this many for one pair.")
    ] = None,
    new_key: Annotated[
        Path | None,
        typer.Option("--new-key", metavar="FILE", help="Write a key for sealing the entries; keep it elsewhere."),
    ] = None,
) -> None:
    """Add a data set with its approved budget. No command changes the budget afterwards."""
    approval = pr.Approval(epsilon, delta, unit, time_zone, kept_requests, kept_per_pair)
    if new_key is not None:
        from privroute.privacy.seals import make_key  # noqa: PLC0415 - the private side

        make_key(new_key)
    opened = pr.Ledger.create(ledger, dataset, approval)
    line(f"Added: {opened.dataset} in {opened.store}", style="bold")
    warn_of_delta(approval)
    say(
        f"Epsilon {approval.epsilon:g} at delta {short(approval.delta)} for one {approval.unit}, all releases "
        f"together. {rule(approval)} Back it up, and give write access only to those who make releases. The "
        "ledger prevents accidents. It does not protect against deliberate changes or an older copy. People whose "
        "trips are in two data sets can lose both budgets together: enter data about the same people as one."
    )


@budget.command("set-tz")
def set_tz(
    ledger: LedgerArgument,
    time_zone: Annotated[str, typer.Option("--tz", help="Time zone of dates and periods, like Europe/Berlin.")],
    dataset: Annotated[str | None, typer.Option("--dataset", help="Data set. Default: the only one.")] = None,
    ledger_key: LedgerKeyOption = None,
) -> None:
    """Name the time zone of a data set that was added without one, without loosening its budget."""
    opened = pr.Ledger(ledger, dataset, key=ledger_key)
    before = len(opened.account().charges)
    opened.set_time_zone(time_zone)
    after = opened.account()
    line(f"Set: {opened.dataset} in {opened.store} is in {time_zone}", style="bold")
    if before:
        say(
            f"What was charged until now also counts for the 26 hours around its times "
            f"({len(after.charges) - before:,} new entries): by which clock the files were written is not known."
        )


@budget.command()
def move(
    ledger: LedgerArgument,
    to: Annotated[
        str,
        typer.Argument(metavar="TO", help="New file, or postgresql://user@host/database#schema.", show_default=False),
    ],
) -> None:
    """Move a ledger to another file or server. The old one is closed and refuses every charge."""
    from privroute.privacy.moved_ledger import move_ledger  # noqa: PLC0415 - the private side

    moved = move_ledger(ledger, to)
    where = moved[0].store if moved else "its new place"
    line(f"Moved: {number_of(len(moved), 'data set')} to {where}; the old ledger is closed", style="bold")


@budget.command()
def rebuild(
    ledger: LedgerArgument,
    releases: Annotated[
        list[Path] | None, typer.Argument(metavar="RELEASE...", help="Folders of releases.", show_default=False)
    ] = None,
    streams: Annotated[
        list[Path] | None, typer.Option("--stream", metavar="PATH", help="Folder of a stream; may be repeated.")
    ] = None,
    complete: Annotated[
        bool,
        typer.Option("--complete", help="Assert that nothing was charged after the last of these releases and days."),
    ] = False,
    since_epsilon: Annotated[
        float | None,
        typer.Option(help="Instead: epsilon that may have been charged since then, at the approved delta."),
    ] = None,
    kept_requests: Annotated[
        int | None, typer.Option("--kept-requests", help="As approved for the lost ledger (budget init).")
    ] = None,
    kept_per_pair: Annotated[
        int | None, typer.Option("--kept-per-pair", help="As approved for the lost ledger (budget init).")
    ] = None,
    trusted: TrustedOption = None,
) -> None:
    """Rebuild a lost ledger from releases and streams.

    Certificates hold their charges and what was spent in all. Every time is charged up to that amount, so entries whose
    releases are lost too are covered. What was charged after the last known release cannot be known from them. They are
    believed as they stand: pass --trusted where releases are signed. Streams are not signed, and are believed.
    """
    from privroute.mechanism.lost_ledger import charges_of_releases, charges_of_stream  # noqa: PLC0415 - the private side
    from privroute.mechanism.lost_ledger import rebuild as made_again  # noqa: PLC0415
    from privroute.privacy.budget import total_rho  # noqa: PLC0415

    if complete == (since_epsilon is not None):
        raise InputError(
            "charges after the last known release are not in any certificate; pass --complete if there are none, or "
            "--since-epsilon with what they may have cost"
        )
    known = charges_of_releases(releases or [], trusted=trusted)
    days = [charge for folder in streams or [] for charge in charges_of_stream(folder)]
    since = 0.0
    if since_epsilon is not None:
        if not (known or days):
            raise InputError("pass the folders of releases, or a stream with --stream")
        since = total_rho(since_epsilon, float((known or days)[0].budget["approved_delta"]))
    opened = made_again(
        ledger, known, days, kept_requests=kept_requests, kept_per_pair=kept_per_pair, spent_since=since
    )
    line(f"Rebuilt: {opened.dataset} in {opened.store}", style="bold")
    show_account(opened.account())
    for folder in streams or []:
        line(f"To continue the stream with this ledger: privroute budget adopt {opened.store} {folder}")


@budget.command()
def verify(
    ledger: LedgerArgument,
    releases: Annotated[
        list[Path] | None, typer.Argument(metavar="RELEASE...", help="Folders of releases.", show_default=False)
    ] = None,
    streams: Annotated[
        list[Path] | None, typer.Option("--stream", metavar="PATH", help="Folder of a stream; may be repeated.")
    ] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", help="Data set. Default: the only one.")] = None,
    ledger_key: LedgerKeyOption = None,
    trusted: TrustedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check that releases and streams are charged in a ledger, and its seals; exits with code 1 if something is not."""
    from privroute.mechanism.lost_ledger import Finding, charges_of_releases, charges_of_stream  # noqa: PLC0415 - private
    from privroute.mechanism.lost_ledger import verify as compared  # noqa: PLC0415
    from privroute.release.reading import read_certificate  # noqa: PLC0415

    if not releases and not streams and ledger_key is None:
        raise InputError("pass the folders of releases, a stream with --stream, or the key of the seals (--ledger-key)")
    opened = pr.Ledger(ledger, dataset, key=ledger_key)
    account, unsealed = opened.account(), opened.unsealed() if ledger_key is not None else []
    certificates = {folder: read_certificate(folder, trusted=trusted) for folder in releases or []}
    untracked = [folder for folder, certificate in certificates.items() if isinstance(certificate.budget, str)]
    known = [
        *charges_of_releases((folder for folder in releases or [] if folder not in untracked), trusted=trusted),
        *(charge for folder in streams or [] for charge in charges_of_stream(folder)),
    ]
    findings = compared(account, known) + [Finding(str(folder), "untracked", None) for folder in untracked]
    bad = [finding for finding in findings if not finding.good]
    given = {finding.entry for finding in findings}
    others = [charge.entry for charge in account.charges if charge.entry not in given]
    if as_json:
        say_json(
            {
                "good": not (bad or unsealed),
                "unsealed": unsealed,
                "findings": [asdict(finding) for finding in findings],
                "entries_not_given": others,
            }
        )
    else:
        rows = [
            (finding.place, "-" if finding.entry is None else f"{finding.entry:,}", _words(finding))
            for finding in findings
        ]
        if rows:
            table(f"Charges to {account.dataset}", ["release", "entry", "finding"], rows, left=(0, 2))
        if ledger_key is not None:
            line(f"{number_of(len(account.charges) - len(unsealed), 'charge')} sealed with this key")
        if unsealed:
            listed = ", ".join(f"{entry:,}" for entry in unsealed[:5]) + (", ..." if len(unsealed) > 5 else "")  # noqa: PLR2004
            warn(f"Not sealed with this key, or changed since: {listed}.")
        if others:
            line(f"{number_of(len(others), 'more charge')} in the ledger, of which no release was given")
        perhaps = sum(finding.status == "perhaps" for finding in bad)
        if perhaps:
            warn(
                f"{perhaps:,} of {len(findings):,} are not listed by themselves. The entries for what was lost stand "
                "for releases that were charged before the last one from which the ledger was rebuilt."
            )
        if len(bad) > perhaps:
            missing = len(bad) - perhaps
            warn(f"{missing:,} of {len(findings):,} are not charged in full; the budget spent is larger than shown.")
    if bad or unsealed:
        raise typer.Exit(1)


@budget.command()
def adopt(
    ledger: LedgerArgument,
    stream: Annotated[Path, typer.Argument(metavar="STREAM", help="Folder of the stream.", show_default=False)],
    dataset: Annotated[str | None, typer.Option("--dataset", help="Data set. Default: the only one.")] = None,
) -> None:
    """Let a stream continue with a rebuilt ledger, if all its days are charged there."""
    from privroute.mechanism.lost_ledger import adopt_stream  # noqa: PLC0415 - the private side

    opened = pr.Ledger(ledger, dataset)
    days = adopt_stream(opened, stream)
    line(
        f"Adopted: {number_of(days, 'day')} of {stream} are charged to {opened.dataset} in {opened.store}", style="bold"
    )


@budget.command()
def show(ledger: LedgerArgument, dataset: DatasetOption = None, as_json: JsonOption = False) -> None:
    """Show the spent and remaining budget, in total and by date."""
    from privroute.privacy.ledger import store_at  # noqa: PLC0415 - the private side

    accounts = accounts_in(ledger, dataset)
    if as_json:
        say_json({"ledger": str(store_at(ledger)), "datasets": [account_values(account) for account in accounts]})
        return
    for account in accounts:
        show_account(account)


@budget.command()
def history(ledger: LedgerArgument, dataset: DatasetOption = None, as_json: JsonOption = False) -> None:
    """List all charges with the folders of their releases. A charge without a release remains valid."""
    from privroute.privacy.ledger import store_at  # noqa: PLC0415 - the private side

    accounts = accounts_in(ledger, dataset)
    if as_json:
        say_json(
            {
                "ledger": str(store_at(ledger)),
                "datasets": [
                    {"dataset": account.dataset, "charges": [charge_values(charge) for charge in account.charges]}
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
                f"{short(charge.delta)}",
                f"{charge.scope}" + (f" (widened by {charge.times.widened_s:,} s)" if charge.times.widened_s else ""),
                charge.folders[-1] if charge.folders else in_place_of_release(charge) or _UNWRITTEN,
            )
            for charge in account.charges
        ]
        columns = ["entry", "charged", "mechanism", "epsilon", "delta", "days and period", "release"]
        table(f"Charges to {account.dataset}", columns, rows, left=(1, 2, 5, 6))


def _words(finding: "Finding") -> str:
    return _FINDINGS[finding.status] + (_NOT_LISTED if finding.listed is False else "")
