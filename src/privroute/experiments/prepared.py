"""A mechanism on given days whose private phase runs once, so that many epsilons and seeds are cheap.

`learn_with_noise` would run it again for each. The steps are the mechanism's own, in the same order: what the promise
says, the exact values, noise of the promised scale (seeded: it protects nobody), post-processing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privroute.evaluate.seeded_noise import SeededNoise
from privroute.mechanism.learn import steps_of
from privroute.mechanism.noisy_flows import noisy_flows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.options import Mechanism
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.release.guarantee import Guarantee

__all__ = ["Prepared"]


class _NoNoise:
    """Leaves values as they are, so that the private phase can be had without its noise."""

    def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """A copy of the values."""
        del scale
        return values.copy()


class Prepared:
    """A mechanism and a history."""

    def __init__(
        self, network: Network, history: DemandHistory, mechanism: Mechanism, any_guarantee: Guarantee
    ) -> None:
        self.network, self.frame, self.mechanism = network, history.frame, mechanism
        self._steps = steps_of(mechanism)
        promise = self._steps.promise(network, self.frame, any_guarantee, mechanism)
        self.exact: NDArray[Any] = self._steps.perturb(network, history, mechanism, promise, _NoNoise(), None)

    def scale(self, guarantee: Guarantee) -> float:
        """Standard deviation of the noise on each entry."""
        return self._steps.promise(self.network, self.frame, guarantee, self.mechanism).scale

    def policy(self, guarantee: Guarantee, seed: int) -> RoutingPolicy:
        """The policy that would be released, with seeded noise."""
        promise = self._steps.promise(self.network, self.frame, guarantee, self.mechanism)
        noise = SeededNoise(seed)
        if self.exact.dtype.kind == "i":
            noisy: NDArray[Any] = noise.add_integers(self.exact.ravel(), promise.scale).reshape(self.exact.shape)
        else:
            noisy = noisy_flows(self.exact, promise.scale, noise)
        return self._steps.publish(self.network, self.frame, self.mechanism, promise, noisy, None).policy
