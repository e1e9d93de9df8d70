"""`privroute report` and `privroute export`: write a release to files for sharing."""

from pathlib import Path
from typing import Annotated

import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.route import load
from privroute.cli.terminal import bar, line
from privroute.errors import InputError, MissingExtraError
from privroute.network.text_files import write_whole

__all__ = ["export", "report"]

_MOST_NAMED = 10
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]


def report(
    release: inputs.ReleaseArgument,
    out: Annotated[Path, typer.Option(metavar="PATH", help="HTML file to write.")] = Path("report.html"),
    trusted: inputs.TrustedOption = None,
    overwrite: _Overwrite = False,
) -> None:
    """Write one HTML file with the map, the routes and the guarantee, for sharing.

    The file opens without a server or an internet connection and contains only the release.
    """
    try:
        from privroute.serve.report import report_html  # noqa: PLC0415 - optional packages
    except ImportError as problem:
        raise _missing(problem, "the report") from None
    if out.exists() and not overwrite:
        raise _taken(out)
    page = report_html(load(release, trusted))
    with write_whole(out) as stream:
        stream.write(page)
    line(f"Written: {out} ({len(page) / 1e6:.1f} MB). Open it in a browser.")


def export(
    release: inputs.ReleaseArgument,
    out: Annotated[Path, typer.Option(help="Folder for the files.", show_default=False)],
    kind: Annotated[
        inputs.ExportName,
        typer.Option(
            "--format",
            help="Write geojson, gpkg or csv for QGIS and spreadsheets, routes as Parquet, gmns and omx for models, "
            "sumo or matsim for simulators.",
        ),
    ] = "geojson",
    most_routes: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Write at most this many routes of each pair, the most probable.")
    ] = 20,
    demand: Annotated[
        Path | None, typer.Option(metavar="PATH", help=f"For omx, splits, sumo and matsim: {inputs.PUBLIC_DEMAND}")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="WHEN",
            help="Write only the period of this moment, like '2026-05-04 07:30'. Default: all, a folder for each.",
            show_default=False,
        ),
    ] = None,
    trusted: inputs.TrustedOption = None,
    overwrite: _Overwrite = False,
) -> None:
    """Write a release for other tools.

    geojson, gpkg (with styles for QGIS) and csv have link flows and routes; routes is one Parquet table; gmns is a
    network with link performance; omx has matrices of demand and minutes; sumo and matsim have a network and vehicles
    that follow the policy, drawn from the released demand; splits has split ratios and segment lists for routers.
    """
    try:
        from privroute.handover.export import FILES, hand_over  # noqa: PLC0415 - optional packages
    except ImportError as problem:
        raise _missing(problem, "the export") from None
    taken = [] if overwrite else [out / name for name in FILES[kind] if (out / name).exists()]
    if taken:
        raise _taken(taken[0])
    if demand is not None and kind not in ("omx", "splits", "sumo", "matsim"):
        raise InputError(f"--demand is only valid with --format omx, splits, sumo or matsim, not {kind}; remove it")
    found = load(release, trusted, at)
    traffic = None
    if demand is not None:
        from privroute.study.source import read_public_demand  # noqa: PLC0415 - readers

        traffic = read_public_demand(demand, found.network, on_unreachable="drop")
    with bar() as progress:
        paths = hand_over(
            found,
            out,
            kind,
            demand=traffic,
            overwrite=overwrite,
            most_routes=most_routes,
            progress=progress,
            one_period=at is not None,
        )
    for path in paths[:_MOST_NAMED]:
        line(f"Written: {path}")
    if len(paths) > _MOST_NAMED:
        line(f"Written: {len(paths) - _MOST_NAMED:,} more files below {out}, a folder for each period")
    if found.network.coordinates is None and kind != "routes":
        line("The network has no coordinates; lines use a computed layout, or are omitted.")


def _taken(path: Path) -> InputError:
    return InputError(f"{path} already exists; choose another --out, or replace it with --overwrite")


def _missing(problem: ImportError, purpose: str) -> pr.PrivrouteError:
    return MissingExtraError(problem.name or "orjson", "serve", purpose)
