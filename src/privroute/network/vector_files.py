"""Layers of GeoPackages and shapefiles, read by GDAL after the first bytes have said that they are what they claim."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import FormatError, MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["Layer", "layers", "read_layer"]

_FIRST_BYTES = {".gpkg": b"SQLite format 3\0", ".shp": b"\x00\x00\x27\x0a"}
_MOST_FEATURES = 5_000_000


@dataclass(frozen=True, slots=True)
class Layer:
    """A table of features.

    columns : arrays by name
    geometry : (features,) of shapely, None where a feature has none
    crs : the name of the coordinate system, None where the file has none
    """

    name: str
    columns: dict[str, NDArray[Any]]
    geometry: NDArray[Any]
    crs: str | None

    @property
    def lines(self) -> list[NDArray[np.float64] | None]:
        """(points, 2) of each feature, the first part of those with several."""
        import shapely  # noqa: PLC0415 - an optional package

        present = ~shapely.is_missing(self.geometry)
        coordinates, owner = shapely.get_coordinates(self.geometry, return_index=True)
        start = np.searchsorted(owner, np.arange(len(self.geometry) + 1))
        return [coordinates[start[at] : start[at + 1]] if present[at] else None for at in range(len(self.geometry))]


def layers(place: Path) -> dict[str, str]:
    """Names of the layers of a file, each with its kind of geometry."""
    pyogrio, _ = _packages()
    _check_first_bytes(place)
    try:
        return {str(name): str(kind) for name, kind in pyogrio.list_layers(place)}
    except Exception as problem:  # noqa: BLE001 - GDAL raises errors of many kinds
        raise _damaged(place, problem) from None


def read_layer(place: Path, name: str | None = None) -> Layer:
    """One layer of a file, the first if there is no name."""
    pyogrio, shapely = _packages()
    _check_first_bytes(place)
    try:
        # UserWarning of odd features: the caller refuses those that it cannot use
        about, _, geometry, columns = pyogrio.raw.read(place, layer=name, max_features=_MOST_FEATURES, force_2d=True)
        found = shapely.from_wkb(geometry if geometry is not None else [], on_invalid="ignore")
    except Exception as problem:  # noqa: BLE001
        raise _damaged(place, problem) from None
    fields = dict(zip([str(field) for field in about["fields"]], columns, strict=True))
    crs = about.get("crs")
    return Layer(name or "", fields, np.asarray(found, dtype=object), str(crs) if crs else None)


def _packages() -> tuple[Any, Any]:
    try:
        import pyogrio  # noqa: PLC0415 - optional packages
        import pyogrio.raw  # noqa: PLC0415
        import shapely  # noqa: PLC0415
    except ImportError as problem:
        raise MissingExtraError(problem.name or "pyogrio", "gis", "reading GeoPackages and shapefiles") from None
    return pyogrio, shapely


def _check_first_bytes(place: Path) -> None:
    """GDAL opens files by their contents, some of which name other files or addresses: only two kinds are read."""
    wanted = _FIRST_BYTES.get(place.suffix.lower())
    reason = None
    try:
        if not stat.S_ISREG(place.stat().st_mode):
            reason = "not a regular file"
        else:
            with place.open("rb") as stream:
                found = stream.read(16)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
    if reason is not None:
        raise FormatError(place, f"cannot be read ({reason}); check the path and its permissions")
    if wanted is None or not found.startswith(wanted):
        raise FormatError(place, "is not a GeoPackage (.gpkg) or shapefile (.shp), or it is damaged")


def _damaged(place: Path, problem: Exception) -> FormatError:
    text = "".join(sign if sign.isprintable() else " " for sign in f"{problem}")[:120]
    return FormatError(place, f"cannot be read ({text}); it is damaged, or has no such layer")
