"""The paper's Algorithm 1: one pass of projected gradient steps over the days, noise on the last iterate.

    x_k = Π( x_{k−1} − η_k ∇F(x_{k−1}, Λ_k) ),   k = 1 … N,        released: Π( x_N + Z )

`certified` constants come from public caps and a ceiling on marginal costs, and the sensitivity is proved for what is
computed (docs/proofs/sgd.md). `paper` constants are those that were published: privroute.mechanism.sgd_as_published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from privroute.errors import GuaranteeError
from privroute.flows.optimum import solve_optimum
from privroute.flows.projection import project_in_place, smallest_tolerance
from privroute.flows.unit_flows import step_in_place, unit_flows_of
from privroute.mechanism.from_flows import promise_on_grid, publish
from privroute.mechanism.theory import step_sizes
from privroute.network.demand import Demand
from privroute.privacy.flow_sensitivity import SgdBounds, ceiling_min, rate_of_one_request, sgd_sensitivity
from privroute.privacy.noise import on_grid
from privroute.progress import each_told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.promise import Promise
    from privroute.network.network import Network
    from privroute.network.pairs import Pairs
    from privroute.progress import Progress
    from privroute.study.frame import Frame
    from privroute.study.mechanisms import Sgd
    from privroute.study.study import Study

__all__ = ["iterates", "last_iterate", "promise", "public_caps", "public_start", "publish", "query"]

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


def public_caps(frame: Frame, options: Sgd) -> NDArray[np.float64]:
    """(pairs,) largest rate that a day may have: cap_factor times the public rate, and room for cap_trips requests."""
    public = public_demand(options).on(frame.pairs).rate_per_min
    room = _given(options.cap_trips) * frame.expansion / frame.period_min
    with np.errstate(over="ignore"):  # infinite caps are refused by the bounds made of them
        return np.asarray(_given(options.cap_factor) * public + room)


def public_start(network: Network, pairs: Pairs, options: Sgd) -> NDArray[np.float64]:
    """(pairs, links) x_0: everybody on the fastest paths of the empty network, or the optimum of the public demand."""
    nobody = Demand(pairs, np.zeros(len(pairs)))
    demand = nobody if options.start == "free-flow" else public_demand(options).on(pairs)
    return unit_flows_of(solve_optimum(network, demand, gap=_START_GAP).policy)


def promise(study: Study) -> Promise:
    """Noise for the last iterate's sensitivity. docs/proofs/sgd.md, Theorems 1 and 2."""
    network, frame, options = study.network, study.frame, cast("Sgd", study.mechanism)
    if options.tolerance < smallest_tolerance(network):
        raise GuaranteeError(f"tolerance is {options.tolerance:g}; pass at least {smallest_tolerance(network):.1g}")
    caps = public_caps(frame, options)
    bounds = SgdBounds.of(network, caps, options.alpha, _given(options.ceiling))
    moved = sgd_sensitivity(
        bounds,
        step_sizes(frame.days, options.alpha, bounds.beta),
        request=rate_of_one_request(study.promised, frame),
        cap=float(caps.max(initial=0.0)),
        pairs=len(frame.pairs),
        links=network.links,
        tolerance=options.tolerance,
    )
    return promise_on_grid(study, moved)


def query(study: Study, history: DemandHistory, progress: Progress | None) -> NDArray[np.int64]:
    """PRIVATE. Algorithm 1 with certified constants: x_N on the grid."""
    network, frame, options = study.network, study.frame, cast("Sgd", study.mechanism)
    caps, ceiling = public_caps(frame, options), _given(options.ceiling)
    rates = np.minimum(history.counts * (frame.expansion / frame.period_min), caps)
    steps = step_sizes(frame.days, options.alpha, SgdBounds.of(network, caps, options.alpha, ceiling).beta)
    return on_grid(last_iterate(study, rates, steps, ceiling_min(network, ceiling), progress).ravel())


def last_iterate(
    study: Study, rates: NDArray[np.float64], steps: NDArray[np.float64], ceiling: ArrayLike, progress: Progress | None
) -> NDArray[np.float64]:
    """PRIVATE. x_N, (pairs, links), of these rates; see `iterates`."""
    options = cast("Sgd", study.mechanism)
    flows = public_start(study.network, study.pairs, options)
    days = iterates(
        study.network,
        study.pairs,
        rates,
        flows,
        alpha=options.alpha,
        steps=steps,
        ceiling=ceiling,
        tolerance=options.tolerance,
    )
    for last in each_told(days, len(steps), "Learning from the days", progress):
        flows = last
    return flows


def public_demand(options: Sgd) -> Demand:
    """The public demand of the options, which must be there."""
    if options.public_demand is None:
        raise GuaranteeError("the mechanism 'sgd' needs a public_demand here; pass public_demand=, a Demand")
    return options.public_demand


def _given(value: float | None) -> float:
    if value is None:
        raise GuaranteeError("the paper's constants have neither caps nor a ceiling")
    return value
