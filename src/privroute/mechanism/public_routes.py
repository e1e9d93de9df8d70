"""What `sgd` and `minimiser` fix from public data before any trip is read: route sets, metric, caps and ceiling.

Everything here is a function of the network, the public demand, the frame and the options. No history is passed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from privroute.errors import GuaranteeError
from privroute.flows.optimum import solve_optimum
from privroute.flows.projection import check_size
from privroute.flows.route_metric import RouteMetric
from privroute.flows.route_sets import RouteSets
from privroute.privacy.flow_sensitivity import ceiling_min

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.study.frame import Frame
    from privroute.study.mechanisms import Minimiser, Sgd
    from privroute.study.study import Study

__all__ = ["PublicRoutes", "public_caps", "public_demand", "public_routes"]

_PRIOR_GAP = 1e-8
_OPTIONS = ("routes", "detour", "metric", "power", "ceiling", "prior_ceiling", "cap_factor", "cap_trips")
_KEPT = 2  # route sets of large networks take hundreds of megabytes


@dataclass(frozen=True, slots=True, eq=False)
class PublicRoutes:
    """Route sets and what belongs to them.

    metric : weights of the norm
    caps : (pairs,) largest rate that a pair may have, vehicles per minute
    ceiling : (links,) marginal costs are cut off here, minutes
    cost : (links,) marginal costs at the optimum of the public demand, or free-flow times without one
    """

    sets: RouteSets
    metric: RouteMetric
    caps: NDArray[np.float64]
    ceiling: NDArray[np.float64]
    cost: NDArray[np.float64]


_made: list[tuple[Network, Frame, Sgd | Minimiser, PublicRoutes]] = []


def public_routes(study: Study) -> PublicRoutes:
    """Return the routes of a study: made once, so that promise, query and publication have the same."""
    chosen = cast("Sgd | Minimiser", study.mechanism)  # only these two ask
    for network, frame, options, routes in _made:
        if network is study.network and _are_alike(options, chosen) and frame == study.frame:
            return routes
    routes = _routes(study.network, study.frame, chosen)
    _made.append((study.network, study.frame, chosen, routes))
    del _made[:-_KEPT]
    return routes


def _are_alike(one: Sgd | Minimiser, other: Sgd | Minimiser) -> bool:
    """Whether the options that routes are made of are the same."""
    same = one.public_demand is other.public_demand or one.public_demand == other.public_demand
    return same and all(getattr(one, name) == getattr(other, name) for name in _OPTIONS)


def public_demand(options: Sgd | Minimiser) -> Demand:
    """The public demand of the options, which must be there."""
    if options.public_demand is None:
        raise GuaranteeError(
            f"the mechanism {options.name!r} needs a public_demand here; pass public_demand=, a Demand"
        )
    return options.public_demand


def public_caps(frame: Frame, options: Sgd | Minimiser) -> NDArray[np.float64]:
    """(pairs,) largest rate that a day may have: cap_factor times the public rate, and room for cap_trips requests."""
    public = public_demand(options).on(frame.pairs).rate_per_min
    room = (options.cap_trips or 0.0) * frame.expansion / frame.period_min
    with np.errstate(over="ignore"):  # infinite caps are refused by the bounds made of them
        return np.asarray((options.cap_factor or 0.0) * public + room)


def _routes(network: Network, frame: Frame, options: Sgd | Minimiser) -> PublicRoutes:
    check_size(network)  # before what takes long there
    pairs = frame.pairs
    cost, ceiling = network.free_flow_min, ceiling_min(network, options.ceiling or np.inf)
    caps = np.full(len(pairs), np.inf)
    if options.public_demand is not None:
        caps = public_caps(frame, options)
        solution = solve_optimum(network, public_demand(options).on(pairs), gap=_PRIOR_GAP)
        cost = network.latency.marginal_cost(solution.link_flow)
        if options.prior_ceiling is not None:
            ceiling = np.minimum(ceiling, options.prior_ceiling * cost)
    if options.routes == "near" and options.detour is not None:
        sets = RouteSets.of(network, pairs, cost, options.detour)
    else:
        sets = RouteSets.whole(network, pairs)
    metric = RouteMetric.plain(sets)
    if options.metric == "curvature":
        metric = _curvature(sets, caps, ceiling, options.power or 0.0)
    return PublicRoutes(sets, metric, caps, ceiling, cost)


def _curvature(sets: RouteSets, caps: NDArray[np.float64], ceiling: NDArray[np.float64], power: float) -> RouteMetric:
    """Weights that make the curvature of F equal on all links: w_e ~ slope_e Σ_v cap_v²/u_v, u_v = (cap_v/mean)^power.

    The sum is over the pairs that may use the link: the largest eigenvalue of its block of the Hessian over slope_e.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows here is refused by the bounds
        most = sets.network.background_per_min + sets.sum_by_link(caps)
        slope = sets.network.latency.marginal_slope_bound(most, ceiling)
        mean = float(caps.mean()) if caps.size else 1.0
        pair = np.nan_to_num((caps / mean) ** power, nan=1.0, posinf=1.0)
        weight = slope * sets.sum_by_link(caps**2 / np.clip(pair, 2.0**-16, 2.0**16))
    return RouteMetric.nearest(np.where(np.isfinite(weight), weight, 0.0), pair)
