"""Values to try for every curve of the table, and a curve that is only here, to see that links may differ in curve.

A curve that is added to the table needs an entry in `CASES`; the tests of test_curves.py then hold for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import privroute as pr
from privroute.network.curve import Curve, Links, Parameter
from privroute.network.curves import CURVES
from privroute.network.point_curves import MOST_POINTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CASES", "Cases", "Quadratic", "random_latency"]


@dataclass(frozen=True)
class Cases:
    """What to try for a curve.

    parameters : name -> values, extreme ones too
    loads : smallest and largest flow over capacity at which derivatives are compared
    kinks : the curve has them: slopes jump, and no bound on the marginal cost's slope exists
    draw : instead of `parameters`, where values depend on each other
    """

    parameters: dict[str, tuple[float, ...]]
    loads: tuple[float, float] = (0.05, 3.0)
    kinks: bool = False
    draw: Callable[[int, np.random.Generator], dict[str, NDArray[np.float64]]] | None = None


def random_points(links: int, chance: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Convex points; a fifth of the links have one only and are straight, some begin flat."""
    loads, factors = np.zeros((MOST_POINTS, links)), np.zeros((MOST_POINTS, links))
    for link in range(links):
        count = 1 if chance.random() < 0.2 else int(chance.integers(2, MOST_POINTS + 1))
        spans = chance.uniform(0.05, 0.6, count)
        slopes = np.cumsum(np.where(chance.random(count) < 0.2, 0.0, chance.exponential(1.0, count)))
        loads[:count, link] = np.cumsum(spans)
        factors[:count, link] = 1.0 + np.cumsum(spans * slopes)
    values = {}
    for number in range(MOST_POINTS):
        values[f"load_{number + 1}"], values[f"factor_{number + 1}"] = loads[number], factors[number]
    return values


CASES = {
    "bpr": Cases(
        {"b": (0.0, 0.15, 1.0, 4.0), "power": (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.3, 16.0, 17.0)},
    ),
    "piecewise": Cases({}, kinks=True, draw=random_points),
    "table": Cases({}, draw=random_points),
    "conical": Cases({"alpha": (1.1, 1.5, 2.0, 4.0, 6.0, 12.0)}),
    "akcelik": Cases({"delay": (0.1, 0.4, 1.6), "period_min": (15.0, 60.0, 240.0)}),
    "mm1": Cases({"packet": (0.0, 0.008, 1.0, 3.0), "limit": (0.0, 0.5, 0.9, 0.95, 0.99)}),
    "davidson": Cases({"delay": (0.0, 0.1, 1.0), "limit": (0.0, 0.7, 0.95, 0.99)}),
}


def random_latency(name: str, links: int, chance: np.random.Generator) -> pr.Latency:
    """Links with random curves of one name; a tenth of them have no free-flow time."""
    free = np.where(chance.random(links) < 0.1, 0.0, chance.uniform(0.1, 20.0, links))
    capacity = 10.0 ** chance.uniform(-2, 3, links)
    draw = CASES[name].draw
    chosen = (
        draw(links, chance)
        if draw is not None
        else {parameter: chance.choice(values, links) for parameter, values in CASES[name].parameters.items()}
    )
    assert list(chosen) == [parameter.name for parameter in CURVES[name].parameters]
    return pr.Latency.of(name, free, capacity, **chosen)


class Quadratic(Curve):
    """f(y) = c + (a/k) y + d y², c the free-flow time, k the capacity."""

    name = "quadratic"
    parameters = (
        Parameter("tilt", "vdf_tilt", 1.0, least=-0.5, greatest=9.0),
        Parameter("bend", "vdf_alpha", 2.0, open_below=True),
        Parameter("spare", "vdf_spare", 3.0),
    )

    def rises(self, links: Links) -> NDArray[np.bool_]:
        return np.ones(links.index.size, dtype=bool)

    def straight(self, links: Links) -> NDArray[np.bool_]:
        return np.zeros(links.index.size, dtype=bool)

    def _linear(self, links: Links) -> NDArray[np.float64]:
        return np.abs(links.parameters[0]) / links.capacity_per_min

    def time(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        return links.free_flow_min + flow * (self._linear(links) + links.parameters[1] * flow)

    def time_slope(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._linear(links) + 2 * links.parameters[1] * flow

    def marginal_cost(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        return links.free_flow_min + flow * (2 * self._linear(links) + 3 * links.parameters[1] * flow)

    def marginal_slope(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        return 2 * self._linear(links) + 6 * links.parameters[1] * flow

    def integral(self, links: Links, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        return flow * (links.free_flow_min + flow * (self._linear(links) / 2 + links.parameters[1] * flow / 3))

    def marginal_slope_bound(
        self, links: Links, flow_max: NDArray[np.float64], ceiling: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return np.where(links.free_flow_min < ceiling, self.marginal_slope(links, flow_max), 0.0)

    def elasticity_bound(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        del links
        return np.full(ceiling.shape, 2.0)

    def roundings(self, links: Links, ceiling: NDArray[np.float64]) -> NDArray[np.float64]:
        del links
        return np.full(ceiling.shape, 0.0)

    def words(self, links: Links) -> str:
        return f"quadratic, bent by up to {links.parameters[1].max():g}"
