"""A mechanism on given days whose private phase runs once, so that many epsilons and seeds are cheap.

`learn_with_noise` would run it again for each. The steps are the mechanism's own, in the same order: what the promise
says, the exact values, noise of the promised scale (seeded: it protects nobody), post-processing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from privroute.evaluate.seeded_noise import SeededNoise
from privroute.mechanism.registry import asked_once
from privroute.study.study import Study

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.promise import Promise
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.study.guarantee import Guarantee
    from privroute.study.mechanisms import Mechanism

__all__ = ["RepeatedDraws"]


class RepeatedDraws:
    """A mechanism and a history."""

    def __init__(
        self, network: Network, history: DemandHistory, mechanism: Mechanism, any_guarantee: Guarantee
    ) -> None:
        self._study = Study(network, history.frame, any_guarantee, mechanism)
        self._steps = asked_once(mechanism)
        self.query = self._steps.query(self._study, history, progress=None)

    @property
    def exact(self) -> NDArray[np.float64]:
        """What is perturbed, without its noise, in its own units: unit flows are (pairs, links)."""
        values = self.query * self._promise(self._study.promised).grid
        return np.asarray(values.reshape(len(self._study.pairs), -1))

    def _promise(self, guarantee: Guarantee) -> Promise:
        return self._steps.promise(replace(self._study, guarantee=guarantee))

    def scale(self, guarantee: Guarantee) -> float:
        """Standard deviation of the noise on each entry."""
        return self._promise(guarantee).scale

    def policy(self, guarantee: Guarantee, seed: int) -> RoutingPolicy:
        """The policy that would be released, with seeded noise."""
        promise = self._promise(guarantee)
        noisy = SeededNoise(seed).add_integers(self.query, promise.integer_scale)
        study = replace(self._study, guarantee=guarantee)
        return self._steps.publish(study, promise, noisy, progress=None).policy
