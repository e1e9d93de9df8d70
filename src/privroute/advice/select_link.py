"""Select link: which pairs use a link under a policy, with what probability and how much traffic.

A pair's share x_we is the probability that its route uses link e, which is the expected number of times that the route
meets e: one sweep over the policy for all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import PolicyError
from privroute.network.changes import unknown_link
from privroute.network.checks import freeze

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.labels import Label
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy

__all__ = ["LinkUse", "link_with_label", "select_link"]

_NEGLIGIBLE = 1e-9  # of a pair's trips: traces of the solver


@dataclass(frozen=True, slots=True, eq=False)
class LinkUse:
    """Pairs that use a link, those with most traffic on it first; without a demand, the likeliest first.

    pair : (n,) positions in the policy's pairs
    probability : (n,) that a trip of the pair uses the link
    rate_per_min : (n,) vehicles of the pair on the link; None without a demand
    """

    network: Network
    link: int
    pair: NDArray[np.int64]
    probability: NDArray[np.float64]
    rate_per_min: NDArray[np.float64] | None

    def __len__(self) -> int:
        return self.pair.size


def link_with_label(network: Network, label: Label | float) -> int:
    """Index of the link with this label; a text or a row of a data frame that spells a number finds that number."""
    wanted = str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
    for index, name in enumerate(network.link_labels):
        if str(name) == wanted:
            return index
    raise PolicyError(unknown_link(network, label))


def select_link(policy: RoutingPolicy, link: Label | float, demand: Demand | None = None) -> LinkUse:
    """Find the pairs whose routes use a link, given by its label.

    demand : gives traffic; usually the released one
    """
    network = policy.network
    index = link_with_label(network, link)
    only = np.zeros(network.links)
    only[index] = 1.0
    probability = policy.expected(only)
    users = np.flatnonzero(probability > _NEGLIGIBLE)
    rate = None if demand is None else probability * demand.on(policy.pairs).rate_per_min
    order = np.argsort(-(probability if rate is None else rate)[users], kind="stable")
    pair = users[order]
    return LinkUse(
        network,
        index,
        freeze(pair),
        freeze(np.minimum(probability[pair], 1.0)),
        None if rate is None else freeze(rate[pair]),
    )
