"""Where the link flows of a policy are expected before its travel time is measured: public, for `quality`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.network.demand import Demand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.flows.time_bounds import BoundedTime
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy

__all__ = ["ExpectedFlows"]

_REACH = 3.0  # deviations of the link flows that are within the range of measurement
_UNKNOWN = (0.3, 0.15)  # where no noisy counts are known: error of the modelled flow, over it and over the capacity
_KNOWN_TOTAL = 0.3  # relative error of the noisy total up to which the released demand is believed
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(11)  # quadrature over the expected flows
_NODE_WEIGHTS /= _NODE_WEIGHTS.sum()


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedFlows:
    """Where the true link flows of a policy are expected: public, from noisy counts or the modelled demand.

    middle, spread : (links,) estimate of the flow and deviation of its error
    normal : whether the error is noise; otherwise it is a guess, and what is above the range has to be measured
    """

    network: Network
    middle: NDArray[np.float64]
    spread: NDArray[np.float64]
    normal: bool = True

    @classmethod
    def of(
        cls, policy: RoutingPolicy, model: Demand, request: float, noisy: NDArray[np.float64] | None, scale: float
    ) -> ExpectedFlows:
        """Estimate them.

        request, noisy, scale : as of the counted demand; see `quality`
        """
        network = policy.network
        if noisy is None:
            middle = policy.link_flow(model)
            return cls(network, middle, _UNKNOWN[0] * middle + _UNKNOWN[1] * network.capacity_per_min, normal=False)

        def routed(rates: NDArray[np.float64]) -> NDArray[np.float64]:
            return policy.link_flow(Demand(model.pairs, rates)) - network.background_per_min

        rates = request * noisy
        middle = network.background_per_min + routed(np.maximum(rates, 0.0)) - routed(np.maximum(-rates, 0.0))
        # Σ x² ≤ Σ x for shares of the pairs' trips
        spread = request * scale * np.sqrt(np.maximum(routed(np.ones(rates.size)), 0.0))
        total, error = float(noisy.sum()), scale * math.sqrt(rates.size)
        if error < _KNOWN_TOTAL * total:  # the released demand, which uses more than each count, is a second estimate
            modelled = policy.link_flow(model)
            doubt = (_UNKNOWN[0] + error / total) * modelled + _UNKNOWN[1] * network.capacity_per_min
            weight = doubt**2 / np.maximum(doubt**2 + spread**2, 1e-300)
            middle, spread = weight * middle + (1 - weight) * modelled, np.sqrt(weight) * spread
        return cls(network, middle, spread)

    @property
    def low(self) -> NDArray[np.float64]:
        """Lower end of the range of measurement; no flow is below it where the error is a guess."""
        return self._at(-_REACH) if self.normal else self.network.background_per_min

    @property
    def high(self) -> NDArray[np.float64]:
        """Upper end of the range of measurement."""
        return self._at(_REACH)

    def loss(self, time: BoundedTime) -> float:
        """Expected travel time above the range of measurement, by which what is measured would be too small."""
        nodes, weights = (_NODES, _NODE_WEIGHTS) if self.normal else (np.array([_REACH]), np.ones(1))
        flow = self._at(nodes[:, None])
        with np.errstate(over="ignore"):
            lost = flow * self.network.latency.time(flow) - time.by_link(flow)
        return float(weights @ lost.sum(axis=1))

    def _at(self, deviations: float | NDArray[np.float64]) -> NDArray[np.float64]:
        return np.maximum(self.middle + deviations * self.spread, self.network.background_per_min)
