"""What happens if only a part of the drivers follows the policy.

A share p follows it, the rest chooses for itself: the equilibrium of (1 − p) Λ on a network where p y(policy) is
background traffic. p = 0 is the equilibrium, p = 1 the policy.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import DemandError, InputError
from privroute.flows.optimum import solve_equilibrium
from privroute.progress import check_progress, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress

__all__ = ["DEFAULT_SHARES", "ComplianceRow", "compliance_curve"]

DEFAULT_SHARES = tuple(step / 10 for step in range(11))
_GAP = 1e-7


@dataclass(frozen=True, slots=True)
class ComplianceRow:
    """One share of drivers that follows the policy.

    total_travel_time : vehicle-minutes per minute of everybody
    mean_min, followers_min, others_min : minutes of a mean trip, of one on the policy, of one that chooses for itself;
        followers' minutes at share 0 and the others' at share 1 are those of one driver alone
    """

    share: float
    total_travel_time: float
    mean_min: float
    followers_min: float
    others_min: float

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def compliance_curve(
    network: Network,
    policy: RoutingPolicy,
    demand: Demand,
    *,
    shares: Sequence[float] = DEFAULT_SHARES,
    gap: float = _GAP,
    progress: Progress | None = None,
) -> tuple[ComplianceRow, ...]:
    """Solve the equilibrium of those who do not follow, for several shares of those who do."""
    check_progress(progress)
    if not shares or any(not 0 <= share <= 1 for share in shares):
        raise InputError("shares must be numbers from 0 to 1, at least one")
    if not demand.total_per_min > 0:
        raise DemandError("the demand is zero for all pairs, so nobody follows the policy")
    advised = policy.link_flow(demand) - network.background_per_min
    rate = demand.rate_per_min / demand.total_per_min
    rows: list[ComplianceRow] = []
    selfish = None
    for number, share in enumerate(shares):
        tell(progress, "Solving shares of followers", number / len(shares))
        rest = replace(network, background_per_min=network.background_per_min + share * advised)
        # at share 1 one driver in a million chooses alone, so that there is somebody to measure
        selfish = solve_equilibrium(rest, demand * max(1.0 - share, 1e-6), gap=gap, start=selfish)
        flow = network.background_per_min + share * advised
        flow = flow + (selfish.link_flow - rest.background_per_min) * (0.0 if share == 1 else 1.0)
        minutes = network.latency.time(np.maximum(flow, 0.0))
        followers, others = float(rate @ policy.expected(minutes)), float(rate @ selfish.policy.expected(minutes))
        rows.append(
            ComplianceRow(
                float(share), float(flow @ minutes), share * followers + (1 - share) * others, followers, others
            )
        )
    tell(progress, "Solving shares of followers", 1.0)
    return tuple(rows)
