"""Policies that a released one is compared with, made from public data alone."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from privroute.demand.without_data import free_flow_policy, gravity_policy, uniform_policy
from privroute.errors import PrivrouteError
from privroute.flows.optimum import solve_equilibrium
from privroute.policy.travel_time import total_travel_time
from privroute.progress import each_told
from privroute.release.quality import RELEASED
from privroute.threads import available_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress

__all__ = ["GAP", "policies_to_compare"]

GAP = 1e-6  # unless the released policy was solved less tightly itself
_ROUGH_GAP, _FAR = 1e-3, 1e-2  # gap that does for a policy which takes that much longer than the released one
_AT_ONCE, _MANY_PAIRS = 2, 10**6  # solved side by side, unless pairs are many: each takes the memory of a solver


def policies_to_compare(
    network: Network,
    released: RoutingPolicy,
    model: Demand,
    *,
    known: bool = True,
    gap: float = GAP,
    progress: Progress | None = None,
) -> dict[str, RoutingPolicy]:
    """The released policy and those of BASELINES, from public data alone; one that cannot be made is left out.

    known : whether `model` is a released demand; otherwise only its total is used
    gap : to which the others are solved

    They are solved side by side, or one by one where pairs are many, the one that takes longest first; equilibrium and
    gravity start from the released policy, which is near.
    """
    pairs, stopped = released.pairs, threading.Event()
    options: dict[str, Any] = {"gap": gap, "progress": lambda _phase, _share: not stopped.is_set()}
    near = {**options, "start": released}
    made: dict[str, Callable[[], RoutingPolicy]] = {
        "equilibrium": lambda: solve_equilibrium(network, model, **near).policy,
        "gravity": lambda: gravity_policy(network, model, **near),
        "equal_demand": lambda: _equal_demand(network, released, model, **options),
        "free_flow": lambda: free_flow_policy(network, pairs),
    }
    if not known:
        made = {name: made[name] for name in ("equal_demand", "free_flow")}
    rows = {RELEASED: released}
    with ThreadPoolExecutor(min(available_threads(), _AT_ONCE) if len(pairs) <= _MANY_PAIRS else 1) as crew:
        longest_first = sorted(made, key=lambda name: name != "equal_demand")
        started = {name: crew.submit(made[name]) for name in longest_first}
        try:
            for name in each_told(made, len(made), "Measuring the quality", progress):
                with contextlib.suppress(PrivrouteError):
                    rows[name] = started[name].result()
        except BaseException:
            stopped.set()
            crew.shutdown(wait=False, cancel_futures=True)
            raise
    return rows


def _equal_demand(
    network: Network, released: RoutingPolicy, model: Demand, *, gap: float, **options: Any
) -> RoutingPolicy:
    """The optimum of equal demand, to the gap unless it is far behind the released policy anyway.

    On congested networks no other one takes as long.
    """
    pairs, total = released.pairs, model.total_per_min
    rough = uniform_policy(network, pairs, total, gap=max(gap, _ROUGH_GAP), **options)
    far = (1 + _FAR) * total_travel_time(network, released, model)
    if gap >= _ROUGH_GAP or total_travel_time(network, rough, model) > far:
        return rough
    return uniform_policy(network, pairs, total, gap=gap, start=rough, **options)
