"""What every private mechanism is: a module of its own name with three functions, of which only one sees a history.

    promise(study)                          sensitivity as proved and the noise for it, from public data alone; refuses
                                            what the proof excludes
    query(study, history, progress)         PRIVATE: what is perturbed, integers on the promise's grid, (entries,)
    publish(study, promise, noisy, progress)   a policy from the noisy integers and public data: post-processing

None of them draws noise: `learn` does, in one place, after the charge. The options of a mechanism are a class of
privroute.study.mechanisms; its proof is docs/proofs/ and its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.promise import Promise
    from privroute.network.demand import Demand
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress
    from privroute.study.study import Study

__all__ = ["Implementation", "Published"]


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """What post-processing made of the noisy integers.

    demand, noisy_counts : only where the mechanism releases a demand
    """

    policy: RoutingPolicy
    demand: Demand | None = None
    noisy_counts: NDArray[np.int64] | None = None


class Implementation(Protocol):
    """The module of a mechanism."""

    def promise(self, study: Study) -> Promise:
        """What the release will promise."""
        ...

    def query(self, study: Study, history: DemandHistory, progress: Progress | None) -> NDArray[np.int64]:
        """PRIVATE. What is perturbed. Its progress is k of K with a public K."""
        ...

    def publish(self, study: Study, promise: Promise, noisy: NDArray[np.int64], progress: Progress | None) -> Published:
        """What is released."""
        ...
