"""Lines and street names of routes, for files: streets as they run, without the connectors of zones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.network.geojson import link_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["RouteLines"]


class RouteLines:
    """Lines of the routes of one network; points : (nodes, 2), used where links have no lines."""

    def __init__(self, network: Network, points: NDArray[np.float64]) -> None:
        self._lines = link_lines(network, points)
        streets = network.streets
        self._drawn = np.ones(network.links, bool).tolist() if streets is None else streets.drawn.tolist()
        self._name = None if streets is None else streets.name

    def line(self, links: list[int]) -> list[list[float]]:
        """Points [x, y] along the links, each once."""
        drawn = [link for link in links if self._drawn[link]] or links
        points: list[list[float]] = []
        for link in drawn:
            points += [point for at, point in enumerate(self._lines[link]) if at or not points or point != points[-1]]
        return points

    def link_line(self, link: int) -> list[list[float]]:
        """Points [x, y] of one link."""
        return self._lines[link]

    def names(self, links: list[int]) -> list[str] | None:
        """Names of the streets in driving order, each once in a row; None where streets are not known."""
        if self._name is None:
            return None
        named = [self._name[link] for link in links if self._name[link]]
        return [name for at, name in enumerate(named) if not at or name != named[at - 1]]
