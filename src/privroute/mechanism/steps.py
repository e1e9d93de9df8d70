"""The form that every private mechanism has: three functions, of which only the second sees a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.history.frame import Frame
    from privroute.mechanism.promise import Promise
    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.privacy.noise import Noise
    from privroute.progress import Progress
    from privroute.release.guarantee import Guarantee

__all__ = ["Published", "Steps"]


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """What post-processing made of the noisy values.

    demand, noisy_counts : only where the mechanism releases a demand
    """

    policy: RoutingPolicy
    demand: Demand | None = None
    noisy_counts: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """A mechanism, in the order in which `learn` calls it; `options` is always the mechanism's own.

    promise(network, frame, guarantee, options) : sensitivity as proved and the noise for it, from public data alone;
        refuses what the proof excludes
    perturb(network, history, options, promise, noise, progress) : the private phase; returns noisy values and nothing
        else. Its progress is k of K with a public K
    publish(network, frame, options, promise, noisy, progress) : post-processing of the noisy values
    """

    promise: Callable[[Network, Frame, Guarantee, Any], Promise]
    perturb: Callable[[Network, DemandHistory, Any, Promise, Noise, Progress | None], NDArray[Any]]
    publish: Callable[[Network, Frame, Any, Promise, NDArray[Any], Progress | None], Published]
