"""Whether lengths fit the coordinates of a network: a wrong unit shows as one factor on all links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import FormatError, arg
from privroute.network.on_earth import point_km

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["check_length_unit", "detour"]

_FITS = (0.9, 2.0)  # median length over straight distance; streets bend, and coordinates are rounded
_WRONG = (0.5, 5.0)  # outside of this a unit is doubted at all
_SHORTEST_KM = 0.005  # of the straight distance: below, rounding of coordinates decides
_FEWEST = 3


def detour(network: Network) -> NDArray[np.float64]:
    """Length over straight distance of the links whose ends are far enough apart; empty without coordinates."""
    if network.length_km is None or network.coordinates is None or not network.has_longitude_latitude:
        return np.empty(0)
    if np.abs(network.coordinates[:, 1]).max() > 90.0:  # noqa: PLR2004 - said to be degrees, and it is not
        return np.empty(0)
    straight = point_km(network.coordinates[network.tail], network.coordinates[network.head])
    usable = (straight > _SHORTEST_KM) & (network.length_km > 0)
    with np.errstate(over="ignore"):
        return np.asarray(network.length_km[usable] / straight[usable])


def check_length_unit(source: object, network: Network, km: float, units: Mapping[str, float]) -> None:
    """Refuse lengths that contradict the coordinates where another unit would fit; km : of the unit that was used."""
    ratios = detour(network)
    if ratios.size < _FEWEST:
        return
    median = float(np.median(ratios))
    if _WRONG[0] <= median <= _WRONG[1]:
        return
    fitting = [(unit, factor / km) for unit, factor in units.items() if _FITS[0] <= median * factor / km <= _FITS[1]]
    if fitting:
        unit, factor = min(fitting, key=lambda found: abs(np.log(median * found[1])))
        raise FormatError(
            source,
            f"lengths contradict the coordinates: on the median link the length is {median:.4g} times the distance "
            f"between its nodes; {arg('length_unit', unit)} would fit (a factor of {factor:.6g}). Set the unit there, "
            "or long_length in config.csv, or correct the coordinates",
        )
