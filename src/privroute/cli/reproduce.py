"""`privroute reproduce`: run the paper's experiments and compare with the reported values."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from privroute.cli.output import make_folder
from privroute.cli.terminal import bar, line, say, table
from privroute.errors import InputError

__all__ = ["reproduce"]

_TNTP = "PRIVROUTE_TNTP"


def reproduce(
    items: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ITEM]...", help="Figures or tables, like figure-2 or table-1. Default: all."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the report, figures and tables.")] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="Use fewer draws and days; takes one to two minutes.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of simulated days, random starts and noise.")] = 1,
    tntp: Annotated[
        Path | None,
        typer.Option(help=f"Folder of the public TNTP networks, for Anaheim. Default: {_TNTP}, else without Anaheim."),
    ] = None,
) -> None:
    """Reproduce the figures and tables of the paper, and additional ones, next to the reported values.

    All data are simulated from public data, and the noise is seeded. The report is a single page, OUT/report.html, that
    opens without an internet connection. The folder also contains the figures (PNG, SVG), their points and all numbers
    (CSV), and reproduction.md.
    """
    from privroute.experiments.registry import EXPERIMENTS, chosen  # noqa: PLC0415 - the private side
    from privroute.experiments.report import Done, write_report  # noqa: PLC0415
    from privroute.experiments.result import Options  # noqa: PLC0415

    wanted = chosen(items or [])
    place = tntp if tntp is not None else Path(os.environ[_TNTP]) if os.environ.get(_TNTP) else None
    if place is not None and not place.is_dir():
        raise InputError(f"{place} is not a folder; pass the folder of the TNTP networks with --tntp, or omit it")
    options = Options(quick=quick, seed=seed, tntp=place)
    make_folder(out)
    how_long = "one to two minutes for all" if quick else "all draws and days, many minutes; --quick takes one or two"
    say(f"Running {len(wanted)} of {len(EXPERIMENTS)} experiments ({how_long}) ...")
    done = []
    for experiment in wanted:
        started = time.perf_counter()
        with bar() as progress:
            result = experiment.run(options, progress)
        done.append(Done(experiment, result, time.perf_counter() - started))
        true = sum(claim.holds for claim in result.claims)
        line(f"{experiment.title}: {true} of {len(result.claims)} statements hold ({done[-1].seconds:.1f} s)")
    with bar() as progress:
        page = write_report(done, options, out, progress=progress)
    theirs = [claim for each in done for claim in each.result.claims if claim.source != "ours"]
    table(
        "Statements of the paper that do not hold here with its printed constants",
        ["statement", "where", "observed"],
        [(claim.text, claim.source, claim.evidence) for claim in theirs if not claim.holds],
        left=(0, 1, 2),
    )
    say("All noise is seeded, so these results are reproducible but not private.")
    line(f"Written: {page} and, in the same folder, figures, tables and reproduction.md")
