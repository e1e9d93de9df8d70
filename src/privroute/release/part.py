"""What is released for one period of one kind of day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.release.quality import Quality

__all__ = ["Part"]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A policy, and what was released beside it; fields as in Release."""

    policy: RoutingPolicy
    demand: Demand | None = None
    noisy_counts: NDArray[np.int64] | None = None
    quality: Quality | None = None
