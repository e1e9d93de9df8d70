"""Options that several commands share, and public tables that they read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    import privroute as pr

__all__ = [
    "PUBLIC_DEMAND",
    "AtOption",
    "ExportName",
    "LedgerKeyOption",
    "MatrixOption",
    "ReleaseArgument",
    "TrustedOption",
    "read_zone_sizes",
]

PUBLIC_DEMAND = (
    "Public demand: TNTP trips (.tntp), CSV (.csv), Open Matrix (.omx), SNDlib (native, .xml), or sioux-falls (built "
    "in)."
)
ExportName = Literal["geojson", "gpkg", "csv", "gmns", "routes", "sumo", "matsim", "omx", "splits"]

MatrixOption = Annotated[
    str | None, typer.Option("--matrix", help="Name of the matrix, if an Open Matrix file contains several.")
]
AtOption = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="WHEN",
        help="For a release of several periods: a moment like '2026-05-04 07:30', or a period like "
        "'workday 07:00-08:00'. Default: the busiest period.",
        show_default=False,
    ),
]
ReleaseArgument = Annotated[Path, typer.Argument(metavar="RELEASE", help="Folder of a release.", show_default=False)]

LedgerKeyOption = Annotated[
    Path | None,
    typer.Option(
        "--ledger-key", metavar="FILE", help="Seal the ledger's entries with this key (budget init --new-key)."
    ),
]
TrustedOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Public key (.pub) of the signer; releases that it did not sign are refused. Default: not checked.",
        show_default=False,
    ),
]


def read_zone_sizes(path: Path, network: "pr.Network") -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """What each zone sends and receives, in the order of network.zones, from a CSV: zone, size and perhaps receives."""
    import numpy as np  # noqa: PLC0415 - slow to load

    from privroute.errors import InputError  # noqa: PLC0415
    from privroute.network.text_files import read_table  # noqa: PLC0415

    sizes = read_table(path)
    sizes.require("zone", "size")
    place = {str(name): position for position, name in enumerate(network.zone_names)}
    amounts = np.full((2, len(place)), np.nan)
    for where, row in sizes:
        label = str(where.label(row.get("zone", ""), "zone"))
        if label not in place:
            raise where.error(f"{label[:40]} is not a zone of the network")
        if not np.isnan(amounts[0, place[label]]):
            raise where.error(f"zone {label} occurs twice; list each zone once")
        sends = where.amount(row.get("size", ""), "size")
        receives = where.amount(row.get("receives", ""), "receives") if "receives" in sizes.columns else sends
        amounts[:, place[label]] = sends, receives
    missing = [label for label, position in place.items() if np.isnan(amounts[0, position])]
    if missing:
        raise InputError(f"{path}: {len(missing):,} zones have no size (first: {missing[0]}); add a row for every zone")
    return amounts[0], amounts[1]
