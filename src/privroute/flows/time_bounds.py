"""Total travel time between public bounds: from below for every policy, and below every policy.

    F(y) = Σ_e y_e f_e(y_e),   t_e(y) = d(y f_e(y))/dy, which does not decrease

`BoundedTime` follows F between two public flows of each link and goes on straight outside, so it is never above F and
its slope is known beforehand. `LeastTime` is a public linear function of the demand that no policy can get below.
Both are used to measure a release on private demand: docs/proofs/quality.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.network.pairs import fastest_minutes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = ["BoundedTime", "LeastTime"]

_HALVINGS = 50
_NARROW = 1e-6  # of a flow: where its marginal cost reaches a ceiling need not be known better
_SMALLEST = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class BoundedTime:
    """Σ_e Φ_e(y_e) with Φ_e(y) = u f_e(u) + high_cost (y − u)⁺ − low_cost (u − y)⁺, u = y clipped to [low, high].

    low_flow, high_flow : (links,) public flows, vehicles per minute, background included
    low_cost, high_cost : (links,) t at these flows: the slope of Φ lies between them. docs/proofs/quality.md, Lemma 1
    """

    network: Network
    low_flow: NDArray[np.float64]
    high_flow: NDArray[np.float64]
    low_cost: NDArray[np.float64]
    high_cost: NDArray[np.float64]

    @classmethod
    def between(
        cls,
        network: Network,
        low_flow: NDArray[np.float64],
        high_flow: NDArray[np.float64],
        ceiling_min: NDArray[np.float64],
    ) -> BoundedTime:
        """Bounds from public flows; the upper one is lowered to where the marginal cost is at most `ceiling_min`."""
        latency = network.latency
        low = np.maximum(low_flow, network.background_per_min)
        below, above = low.copy(), np.maximum(high_flow, low)
        fits = latency.marginal_cost(above) <= ceiling_min
        below[fits] = above[fits]
        for _ in range(_HALVINGS):
            if (above - below <= _NARROW * above).all():
                break
            middle = (below + above) / 2
            fits = latency.marginal_cost(middle) <= ceiling_min
            below, above = np.where(fits, middle, below), np.where(fits, above, middle)
        return cls(network, low, below, latency.marginal_cost(low), latency.marginal_cost(below))

    def __call__(self, flow: NDArray[np.float64]) -> float:
        """Vehicle-minutes per minute of these link flows, at most F."""
        return math.fsum(self.by_link(flow).tolist())

    def beyond(self, flow: NDArray[np.float64]) -> float:
        """O = Σ_e high_cost (flow − high_flow)⁺: what of it is above the range."""
        return math.fsum((self.high_cost * np.maximum(flow - self.high_flow, 0.0)).tolist())

    def largest_loss(self, beyond: float, most: NDArray[np.float64]) -> float:
        """Largest F − Φ of flows with O ≤ `beyond`, none above `most` or below its range.

        most : (links,) public bound on the flows. docs/proofs/quality.md, Lemma 5
        """
        with np.errstate(over="ignore"):
            room = np.minimum(beyond / np.maximum(self.high_cost, _SMALLEST), np.maximum(most - self.high_flow, 0.0))
            flow = self.high_flow + room
            lost = np.maximum(flow * self.network.latency.time(flow) - self.by_link(flow), 0.0)
        if not np.isfinite(lost).all():
            return math.inf
        share = self.high_cost * room  # of `beyond`, that the link takes up at most
        rate = np.divide(lost, share, out=np.zeros_like(lost), where=share > 0)
        order = np.argsort(-rate, kind="stable")
        left = beyond - np.concatenate([[0.0], np.cumsum(share[order])[:-1]])
        taken = np.clip(left, 0.0, share[order])
        return float(rate[order] @ taken) + float(lost[share <= 0].sum())

    def by_link(self, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """Φ_e of flows (..., links)."""
        held = np.clip(flow, self.low_flow, self.high_flow)
        each = held * self.network.latency.time(held)
        each += self.high_cost * np.maximum(flow - self.high_flow, 0.0)
        each -= self.low_cost * np.maximum(self.low_flow - flow, 0.0)
        return np.asarray(each)


@dataclass(frozen=True, slots=True, eq=False)
class LeastTime:
    """L(Λ) = offset + Σ_w Λ_w minutes_w ≤ F(x, Λ) for every policy x. docs/proofs/quality.md, Lemma 2.

    minutes : (pairs,) length of the shortest path under the prices t(y) of public flows y
    offset : Σ_e y_e f_e(y_e) + t_e(y_e) (background_e − y_e)
    """

    minutes: NDArray[np.float64]
    offset: float

    @classmethod
    def at(cls, network: Network, pairs: Pairs, flow: NDArray[np.float64]) -> LeastTime:
        """The bound with the marginal costs of these flows as prices; it is tight where they are optimal."""
        prices = network.latency.marginal_cost(flow)
        each = flow * network.latency.time(flow) + prices * (network.background_per_min - flow)
        return cls(fastest_minutes(network, pairs, prices), math.fsum(each.tolist()))
