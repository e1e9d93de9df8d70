"""`privroute reroute`: a new policy for changed roads, from a release alone."""

from pathlib import Path
from typing import Annotated

import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.output import check_release_folder
from privroute.cli.route import load
from privroute.cli.terminal import bar, line, number_of, say
from privroute.errors import InputError
from privroute.network.pairs import OnUnreachable

__all__ = ["reroute"]


def reroute(
    release: inputs.ReleaseArgument,
    out: Annotated[Path, typer.Option(metavar="PATH", help="Folder for the new release.", show_default=False)],
    network: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="The network from now on, as in learn --network; zones keep their labels."),
    ] = None,
    close: Annotated[
        list[str] | None, typer.Option(metavar="LINK", help="Close the link of this label; may be repeated.")
    ] = None,
    capacity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINK=NUMBER",
            help="Set a capacity, in the unit of the network's flow (vehicles per hour); may be repeated.",
        ),
    ] = None,
    on_unreachable: Annotated[
        OnUnreachable, typer.Option(help="Raise an error for pairs that no path joins any more, or drop them.")
    ] = "error",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing release.")] = False,
) -> None:
    """Compute new policies for changed roads.

    The policies come from the released demand: no trip is read and no budget is spent. The certificate stays, and says
    that the policies were computed again. Links are named by their labels, as in links.parquet of the release.
    """
    from privroute.release.reroute import reroute as made_again  # noqa: PLC0415 - solvers

    check_release_folder(out, overwrite=overwrite)
    if out.exists() and release.resolve() == out.resolve():
        raise InputError("--out is the release itself; choose another folder")
    found = load(release)
    roads = None if network is None else pr.read_network(str(network))
    with bar() as progress:
        new = made_again(
            found,
            roads,
            close=close or (),
            capacity={
                label: value / found.network.units.flow_per_h for label, value in _capacities(capacity or []).items()
            },
            on_unreachable=on_unreachable,
            progress=progress,
        )
    new.save(out, overwrite=overwrite, allow_not_private=not found.certificate.private)
    line(f"Written: {out}", style="bold")
    units = new.network.units
    dropped = len(found.policy.pairs) - len(new.policy.pairs)
    say(
        f"{new.network}: routes of {number_of(len(new.slots), 'period')} from the released demand. No {units.request} "
        f"was read and no budget was spent. How useful they are on the true {units.requests} was not measured."
        + (f" {number_of(dropped, 'pair')} that no path joins any more were dropped." if dropped else "")
    )


def _capacities(given: list[str]) -> dict[str, float]:
    found = {}
    for text in given:
        label, equals, number = text.rpartition("=")
        try:
            if not equals:
                raise ValueError
            found[label.strip()] = float(number)
        except ValueError:
            raise InputError(f"--capacity {text[:60]!r} is not a link and a number; write it like 12=900") from None
    return found
