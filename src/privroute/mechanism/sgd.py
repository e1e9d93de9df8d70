"""The paper's Algorithm 1: one pass of projected gradient steps over the days, noise on the last iterate.

    x_k = Π( x_{k−1} − η_k ∇F(x_{k−1}, Λ_k) ),   k = 1 … N,        released: Π( x_N + Z )

`certified` constants come from public caps and a ceiling on marginal costs, and the sensitivity is proved for what is
computed (docs/proofs/sgd.md). `paper` constants are those that were published; a release made with them lists the
assumptions that nothing here ensures, and is never called private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import GuaranteeError
from privroute.flows.optimum import solve_optimum
from privroute.flows.projection import project_in_place, smallest_tolerance
from privroute.flows.unit_flows import step_in_place, unit_flows_of
from privroute.mechanism.noisy_flows import counted, noisy_flows, publish_flows
from privroute.mechanism.promise import Promise
from privroute.mechanism.steps import Steps
from privroute.mechanism.theory import classical_gaussian_scale, step_sizes
from privroute.network.demand import Demand
from privroute.privacy.calibration import gaussian_rho
from privroute.privacy.flow_sensitivity import (
    SgdBounds,
    ceiling_min,
    on_grid_sensitivity,
    rate_of_one_request,
    sgd_sensitivity,
)
from privroute.privacy.noise import GRID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.history.frame import Frame
    from privroute.mechanism.options import Sgd
    from privroute.network.network import Network
    from privroute.network.pairs import Pairs
    from privroute.privacy.noise import Noise
    from privroute.release.guarantee import Guarantee

__all__ = ["SGD", "SGD_AS_PUBLISHED", "iterates", "noisy_last_iterate", "public_caps", "public_start"]

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
    public = _public_demand(options).on(frame.pairs).rate_per_min
    room = _given(options.cap_trips) * frame.expansion / frame.period_min
    with np.errstate(over="ignore"):  # infinite caps are refused by the bounds made of them
        return np.asarray(_given(options.cap_factor) * public + room)


def public_start(network: Network, pairs: Pairs, options: Sgd) -> NDArray[np.float64]:
    """(pairs, links) x_0: everybody on the fastest paths of the empty network, or the optimum of the public demand."""
    nobody = Demand(pairs, np.zeros(len(pairs)))
    demand = nobody if options.start == "free-flow" else _public_demand(options).on(pairs)
    return unit_flows_of(solve_optimum(network, demand, gap=_START_GAP).policy)


def certified_promise(network: Network, frame: Frame, guarantee: Guarantee, options: Sgd) -> Promise:
    """Noise for the last iterate's sensitivity. docs/proofs/sgd.md, Theorems 1 and 2."""
    if options.tolerance < smallest_tolerance(network):
        raise GuaranteeError(f"tolerance is {options.tolerance:g}; pass at least {smallest_tolerance(network):.1g}")
    caps = public_caps(frame, options)
    bounds = SgdBounds.of(network, caps, options.alpha, _given(options.ceiling))
    moved = sgd_sensitivity(
        bounds,
        step_sizes(frame.days, options.alpha, bounds.beta),
        request=rate_of_one_request(guarantee, frame),
        cap=float(caps.max(initial=0.0)),
        pairs=len(frame.pairs),
        links=network.links,
        tolerance=options.tolerance,
    )
    return Promise.of(guarantee, on_grid_sensitivity(moved, len(frame.pairs) * network.links), grid=GRID)


def noisy_last_iterate(
    network: Network, history: DemandHistory, options: Sgd, promise: Promise, noise: Noise, progress: bool
) -> NDArray[np.float64]:
    """Algorithm 1 with certified constants: x_N + Z, (pairs, links). The private phase."""
    frame = history.frame
    caps, ceiling = public_caps(frame, options), _given(options.ceiling)
    rates = np.minimum(history.counts * (frame.expansion / frame.period_min), caps)
    steps = step_sizes(frame.days, options.alpha, SgdBounds.of(network, caps, options.alpha, ceiling).beta)
    highest_cost = ceiling_min(network, ceiling)
    return _last_with_noise(network, history, rates, steps, highest_cost, options, promise, noise, progress)


def published_constants(network: Network, frame: Frame, options: Sgd) -> tuple[float, float]:
    """β and C as in the paper's experiments: the largest eigenvalue of BᵀQB, for the public demand, and C = β."""
    beta = options.beta
    if beta is None:
        if not np.all(network.latency.straight):
            raise GuaranteeError("the paper's constants are for affine latency; pass beta= for other curves")
        slope = network.latency.time_slope(np.zeros(network.links))  # q
        public = _public_demand(options).on(frame.pairs).rate_per_min
        beta = float(slope.max(initial=0.0)) * float(public @ public)
    if not beta > 0:
        raise GuaranteeError("beta of the public demand is 0; pass beta=, or a public demand with traffic")
    return beta, beta if options.derivative_bound is None else options.derivative_bound


def published_promise(network: Network, frame: Frame, guarantee: Guarantee, options: Sgd) -> Promise:
    """Algorithm 1, lines 8 and 9: s = C/T min(min(1, 2α)/β, 1/(αN)) and σ = s √(2 ln(1.25/δ)) / ε, as published."""
    beta, bound = published_constants(network, frame, options)
    request = rate_of_one_request(guarantee, frame)
    moved = bound * request * min(min(1.0, 2.0 * options.alpha) / beta, 1.0 / (options.alpha * frame.days))
    scale = classical_gaussian_scale(moved, guarantee.epsilon, guarantee.delta, beyond_its_proof=True)
    broken = broken_assumptions(network, frame, guarantee, options)
    return Promise(guarantee, moved, scale, gaussian_rho(scale, moved), broken)


def broken_assumptions(network: Network, frame: Frame, guarantee: Guarantee, options: Sgd) -> tuple[str, ...]:
    """What the paper's proof assumes and nothing here ensures; judged by public numbers alone."""
    beta, bound = published_constants(network, frame, options)
    found = [
        "bounded demand: rates are used as they are, so no public bound holds for every data set",
        "exact arithmetic: errors of the projections and of floating-point numbers are not in the sensitivity",
    ]
    if options.public_demand is not None:
        public = options.public_demand.on(frame.pairs).rate_per_min
        needed = SgdBounds.of(network, public, options.alpha, np.inf)
        if needed.beta > beta:
            found.append(f"smoothness: beta is {beta:.4g}, and the public demand alone needs {needed.beta:.4g}")
        if needed.change > bound:
            found.append(f"bounded derivative: C is {bound:.4g}, and the public demand alone needs {needed.change:.4g}")
        if step_sizes(1, options.alpha, beta)[0] > 2.0 / (options.alpha + needed.beta):
            found.append("contraction: step sizes are above 2/(alpha + beta) for the public demand")
    if guarantee.epsilon >= 1:
        found.append(f"Gaussian noise: the classical formula holds for epsilon below 1, not for {guarantee.epsilon:g}")
    return tuple(found)


def published_last_iterate(
    network: Network, history: DemandHistory, options: Sgd, promise: Promise, noise: Noise, progress: bool
) -> NDArray[np.float64]:
    """Algorithm 1 as published: nothing is clipped, nothing cut off."""
    frame = history.frame
    rates = np.asarray(history.counts * np.float64(frame.expansion / frame.period_min))
    steps = step_sizes(frame.days, options.alpha, published_constants(network, frame, options)[0])
    return _last_with_noise(network, history, rates, steps, np.inf, options, promise, noise, progress)


def _last_with_noise(
    network: Network,
    history: DemandHistory,
    rates: NDArray[np.float64],
    steps: NDArray[np.float64],
    ceiling: ArrayLike,
    options: Sgd,
    promise: Promise,
    noise: Noise,
    progress: bool,
) -> NDArray[np.float64]:
    flows = public_start(network, history.pairs, options)
    days = iterates(
        network,
        history.pairs,
        rates,
        flows,
        alpha=options.alpha,
        steps=steps,
        ceiling=ceiling,
        tolerance=options.tolerance,
    )
    for last in counted(days, len(steps), "Days", progress):
        flows = last
    return noisy_flows(flows, promise.scale, noise, progress)


def _public_demand(options: Sgd) -> Demand:
    if options.public_demand is None:
        raise GuaranteeError("the mechanism 'sgd' needs a public_demand here; pass public_demand=, a Demand")
    return options.public_demand


def _given(value: float | None) -> float:
    if value is None:
        raise GuaranteeError("the paper's constants have neither caps nor a ceiling")
    return value


SGD = Steps(certified_promise, noisy_last_iterate, publish_flows)
SGD_AS_PUBLISHED = Steps(published_promise, published_last_iterate, publish_flows)
