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
            help="Write geojson or gpkg for QGIS, csv for spreadsheets, gmns for models, routes as Parquet.",
        ),
    ] = "geojson",
    most_routes: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Write at most this many routes of each pair, the most probable.")
    ] = 20,
    trusted: inputs.TrustedOption = None,
    overwrite: _Overwrite = False,
) -> None:
    """Write link flows and routes as GeoJSON, CSV or GMNS files, or all routes as one Parquet table."""
    try:
        from privroute.serve.export import FILES, export_release  # noqa: PLC0415 - optional packages
    except ImportError as problem:
        raise _missing(problem, "the export") from None
    taken = [] if overwrite else [out / name for name in FILES[kind] if (out / name).exists()]
    if taken:
        raise _taken(taken[0])
    found = load(release, trusted)
    with bar() as progress:
        paths = export_release(found, out, kind, overwrite=overwrite, most_routes=most_routes, progress=progress)
    for path in paths:
        line(f"Written: {path}")
    if found.network.coordinates is None and kind != "routes":
        line("The network has no coordinates; lines use a computed layout, or are omitted.")


def _taken(path: Path) -> InputError:
    return InputError(f"{path} already exists; choose another --out, or replace it with --overwrite")


def _missing(problem: ImportError, purpose: str) -> pr.PrivrouteError:
    return MissingExtraError(problem.name or "orjson", "serve", purpose)
