"""Tables as pandas and GeoPandas data frames, which are optional packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privroute.network.network import Network

__all__ = ["data_frame", "geo_frame", "lines_of", "needs_coordinates"]

_DEGREES = "EPSG:4326"


def data_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas DataFrame of columns by name."""
    try:
        import pandas as pd  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError("pandas", "frames", "data frames") from None
    return pd.DataFrame(dict(columns))


def geo_frame(columns: Mapping[str, Any], shapes: Any, network: Network) -> Any:
    """A GeoDataFrame in the coordinates of a network."""
    try:
        import geopandas as gpd  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError("geopandas", "frames", "data frames with geometries") from None
    crs = _DEGREES if network.has_longitude_latitude else network.crs
    return gpd.GeoDataFrame(dict(columns), geometry=list(shapes), crs=crs)


def lines_of(lines: Sequence[Sequence[Sequence[float]]]) -> Any:
    """Shapely lines of lists of points."""
    try:
        import shapely  # noqa: PLC0415 - comes with GeoPandas
    except ImportError:
        raise MissingExtraError("geopandas", "frames", "data frames with geometries") from None
    count = [len(line) for line in lines]
    points = np.array([point for line in lines for point in line], dtype=float).reshape(-1, 2)
    return shapely.linestrings(points, indices=np.repeat(np.arange(len(lines)), count)) if lines else []


def needs_coordinates(network: Network) -> Any:
    """(nodes, 2) coordinates; an error where the network has none."""
    if network.coordinates is None:
        raise InputError("the network has no coordinates, so it has no geometries; to_pandas() gives the table")
    return network.coordinates
