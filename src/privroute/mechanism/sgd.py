"""The paper's Algorithm 1: one pass of projected gradient steps over the days, noise on the last iterate.

    x_k = Π_W( x_{k−1} − η_k W⁻¹∇F(x_{k−1}, Λ_day) ),   r steps on each of N days,        released: Π_W( x_rN + Z )

`certified` constants come from public caps, route sets and a ceiling on marginal costs, and the sensitivity is proved
for what is computed (docs/proofs/sgd.md). W = 1 and r = 1 on every link is the paper's algorithm. `paper` constants are
those that were published: privroute.mechanism.sgd_as_published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from privroute.errors import GuaranteeError
from privroute.flows.optimum import solve_optimum
from privroute.flows.projection import project_in_place
from privroute.flows.route_metric import project_on_routes, smallest_route_tolerance
from privroute.flows.unit_flows import marginal_costs, step_in_place, unit_flows_of
from privroute.mechanism.from_routes import perturbed_integers, promise_on_routes, publish
from privroute.mechanism.public_routes import public_caps, public_demand, public_routes
from privroute.mechanism.shard import Move, ShardData
from privroute.mechanism.shards import shards_for
from privroute.mechanism.theory import step_sizes
from privroute.network.demand import Demand
from privroute.privacy.flow_sensitivity import SgdBounds, loads_per_unit, rate_of_one_request, sgd_sensitivity
from privroute.progress import each_told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.promise import Promise
    from privroute.mechanism.public_routes import PublicRoutes
    from privroute.network.network import Network
    from privroute.network.pairs import Pairs
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress
    from privroute.study.mechanisms import Sgd
    from privroute.study.study import Study

__all__ = [
    "iterates",
    "last_iterate",
    "promise",
    "public_bounds",
    "public_caps",
    "public_start",
    "public_steps",
    "publish",
    "query",
    "start_on_routes",
]

_START_GAP = 1e-6


def iterates(
    network: Network,
    pairs: Pairs,
    rates: NDArray[np.float64],
    start: NDArray[np.float64],
    *,
    alpha: float,
    steps: NDArray[np.float64],
    ceiling: ArrayLike = np.inf,
    tolerance: float = 1e-10,
    threads: int | None = None,
) -> Iterator[NDArray[np.float64]]:
    """Yield x_1 … x_N of Algorithm 1 without noise: (pairs, links), one array that is changed in place.

    rates : (days, pairs) Λ_k, vehicles per minute, in the order in which they are used, each once
    start : (pairs, links) x_0
    steps : (days,) η_k, for instance `mechanism.theory.step_sizes`
    ceiling : (links,) or one number, minutes: marginal costs are cut off here
    tolerance : largest error of each pair's projection

    The iterates are as private as the rates. Projections start from the potentials of the day before, which is faster
    and stays inside: the error of each is within the tolerance wherever it starts.
    """
    flows = np.array(start, dtype=np.float64, order="C")
    potentials = np.zeros((len(pairs), network.nodes))
    for day, step in zip(rates, steps, strict=True):
        step_in_place(network, day, flows, float(step), alpha=alpha, ceiling_min=ceiling)
        project_in_place(network, pairs, flows, potentials, tolerance=tolerance, threads=threads)
        yield flows


def public_start(network: Network, pairs: Pairs, options: Sgd) -> NDArray[np.float64]:
    """(pairs, links) x_0: everybody on the fastest paths of the empty network, or the optimum of the public demand."""
    return unit_flows_of(_start_policy(network, pairs, options))


def start_on_routes(study: Study, routes: PublicRoutes) -> NDArray[np.float64]:
    """(entries,) x_0 on the route sets: the nearest unit flows to those of `public_start`."""
    policy = _start_policy(study.network, study.pairs, _options(study))
    flows = routes.sets.shares_of(policy)
    hints = np.zeros(routes.sets.entries, dtype=np.float32)
    project_on_routes(routes.sets, routes.metric, flows, hints, tolerance=_options(study).tolerance)
    return flows


def _start_policy(network: Network, pairs: Pairs, options: Sgd) -> RoutingPolicy:
    nobody = Demand(pairs, np.zeros(len(pairs)))
    demand = nobody if options.start == "free-flow" else public_demand(options).on(pairs)
    return solve_optimum(network, demand, gap=_START_GAP).policy


def public_steps(study: Study, bounds: SgdBounds) -> NDArray[np.float64]:
    """(days · steps_per_day,) η: the largest that contract, 2/(α + β), or the paper's."""
    options = _options(study)
    count = study.frame.days * (options.steps_per_day or 1)
    if options.step_sizes == "paper":
        return step_sizes(count, options.alpha, bounds.beta)
    return np.full(count, 2.0 / (options.alpha + bounds.beta))


def promise(study: Study) -> Promise:
    """Noise for the last iterate's sensitivity in the W-norm. docs/proofs/sgd.md, Theorems 1 and 2."""
    frame, options, routes = study.frame, _options(study), public_routes(study)
    least = smallest_route_tolerance(routes.sets, routes.metric)
    if options.tolerance < least:
        raise GuaranteeError(f"tolerance is {options.tolerance:g}; pass at least {least:.1g}")
    bounds = public_bounds(study)
    moved = sgd_sensitivity(
        bounds,
        public_steps(study, bounds),
        request=rate_of_one_request(study.promised, frame),
        cap=float(routes.caps.max(initial=0.0)),
        pairs=float(routes.metric.pair.sum()),
        entries=routes.metric.total(routes.sets),
        tolerance=options.tolerance,
        rounds=options.steps_per_day or 1,
    )
    return promise_on_routes(study, routes, moved)


def public_bounds(study: Study) -> SgdBounds:
    """Constants that hold for every day within the caps."""
    routes = public_routes(study)
    return SgdBounds.on_routes(routes.sets, routes.metric, routes.caps, _options(study).alpha, routes.ceiling)


def query(study: Study, history: DemandHistory, progress: Progress | None) -> NDArray[np.int64]:
    """PRIVATE. Algorithm 1 with certified constants: W^½ x on the grid."""
    return perturbed_integers(public_routes(study), last_iterate(study, history, progress))


def last_iterate(study: Study, history: DemandHistory, progress: Progress | None = None) -> NDArray[np.float64]:
    """PRIVATE. (entries,) x after all days."""
    frame, options, routes = study.frame, _options(study), public_routes(study)
    network = study.network
    bounds = public_bounds(study)
    steps, rounds = public_steps(study, bounds), options.steps_per_day or 1
    per_unit = loads_per_unit(routes.sets.sum_by_link(routes.caps))
    rates = np.minimum(history.counts * (frame.expansion / frame.period_min), routes.caps)
    data = ShardData(routes.sets, routes.metric, rates, start_on_routes(study, routes), per_unit, options.tolerance)
    shards = shards_for(data)
    try:
        load = shards.start(0)
        for day in each_told(range(frame.days), frame.days, "Learning from the days", progress):
            for number in range(day * rounds, (day + 1) * rounds):
                step = float(steps[number])
                cost = marginal_costs(network, network.background_per_min + load / per_unit, routes.ceiling)
                following = (number + 1) // rounds
                ahead = following if following < frame.days else None
                load = shards.advance(Move(day, cost * step / routes.metric.link, 1.0 - step * options.alpha, ahead))
        return shards.flows()
    finally:
        shards.close()


def _options(study: Study) -> Sgd:
    return cast("Sgd", study.mechanism)
