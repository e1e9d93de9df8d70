"""The one entry to private learning."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

from privroute.errors import DemandError, GuaranteeError, HistoryError
from privroute.flows.optimum import solve_optimum
from privroute.history.demand_history import DemandHistory
from privroute.mechanism.counts import COUNTS, DAILY
from privroute.mechanism.minimiser import MINIMISER
from privroute.mechanism.options import (
    Counts,
    Daily,
    Mechanism,
    Minimiser,
    Sgd,
    Unprotected,
    as_mechanism,
    public_options,
)
from privroute.mechanism.sgd import SGD, SGD_AS_PUBLISHED
from privroute.network.network import Network
from privroute.privacy.noise import Noise, OpenDPNoise
from privroute.release.certificate import ADJACENCY, Certificate, NoiseKind
from privroute.release.guarantee import Guarantee
from privroute.release.release import Release

if TYPE_CHECKING:
    from privroute.history.frame import Frame
    from privroute.mechanism.promise import Promise
    from privroute.mechanism.steps import Steps

__all__ = ["learn", "learn_with_noise", "steps_of"]

_STEPS: dict[type[Mechanism], Steps] = {Counts: COUNTS, Daily: DAILY, Minimiser: MINIMISER, Sgd: SGD}


def steps_of(chosen: Mechanism) -> Steps:
    """The three functions of a private mechanism."""
    if isinstance(chosen, Sgd) and chosen.constants == "paper":
        return SGD_AS_PUBLISHED
    return _STEPS[type(chosen)]


def learn(
    network: Network,
    history: DemandHistory,
    guarantee: Guarantee | None = None,
    mechanism: str | Mechanism = "counts",
    *,
    progress: bool = False,
) -> Release:
    """Learn a routing policy from a history and release it under a guarantee.

    guarantee : needed by every mechanism but "none"
    mechanism : "counts" (default), "daily", or "none" (not private), or an object with options: privroute.Counts(...),
        privroute.Daily(...), privroute.Minimiser(alpha=...), privroute.Sgd(public_demand=..., alpha=...)

    The noise is OpenDP's, from the system's entropy: two calls give two different releases, and each of them spends
    the guarantee anew.
    """
    return learn_with_noise(network, history, guarantee, mechanism, OpenDPNoise(), progress=progress)


def learn_with_noise(
    network: Network,
    history: DemandHistory,
    guarantee: Guarantee | None,
    mechanism: str | Mechanism,
    noise: Noise,
    *,
    progress: bool = False,
) -> Release:
    """`learn` with another source of noise, for experiments and tests; the certificate says which it was."""
    chosen = as_mechanism(mechanism)
    _check(network, history, guarantee, chosen)
    frame = history.frame
    if isinstance(chosen, Unprotected):
        policy = solve_optimum(network, history.mean, gap=chosen.gap, progress=progress).policy
        return Release(policy, _certificate(frame, chosen, None, None))
    if guarantee is None:
        raise GuaranteeError(f"the mechanism {chosen.name!r} needs a guarantee: Guarantee(epsilon=0.1, delta=1e-6)")
    steps = steps_of(chosen)
    promise = steps.promise(network, frame, guarantee, chosen)
    # Everything above is public. A charge to a budget belongs here, before the first private number is read.
    noisy = steps.perturb(network, history, chosen, promise, noise, progress)
    # From here on only `noisy` and public data: post-processing.
    made = steps.publish(network, frame, chosen, promise, noisy, progress)
    certificate = _certificate(frame, chosen, noise, promise)
    return Release(made.policy, certificate, made.demand, made.noisy_counts)


def _certificate(frame: Frame, chosen: Mechanism, noise: Noise | None, promise: Promise | None) -> Certificate:
    """Only what is public: options, frame, and what OpenDP's maps say of the scale that was used."""
    guarantee = None if promise is None else promise.guarantee
    dates = frame.dates
    return Certificate(
        epsilon=None if guarantee is None else guarantee.epsilon,
        delta=None if guarantee is None else guarantee.delta,
        rho=None if promise is None else promise.rho,
        unit="request" if guarantee is None else guarantee.unit,
        adjacency=ADJACENCY["request"],
        mechanism=chosen.name,
        options=public_options(chosen),
        sensitivity=None if promise is None else promise.sensitivity,
        noise_scale=None if promise is None else promise.scale,
        data="simulated" if frame.simulated else "trips",
        noise=_kind(noise),
        days=frame.days,
        period_min=frame.period_min,
        expansion=frame.expansion,
        first_date=None if dates is None else dates[0].isoformat(),
        last_date=None if dates is None else dates[-1].isoformat(),
        versions=dict(_versions()),
        broken_assumptions=() if promise is None else promise.broken_assumptions,
    )


def _kind(noise: Noise | None) -> NoiseKind:
    """Only OpenDP's own noise is called so, whatever an object says of itself."""
    if noise is None:
        return "none"
    return "opendp" if type(noise) is OpenDPNoise else "seeded"


@cache
def _versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in ("privroute", "opendp", "numpy")}


def _check(network: Network, history: DemandHistory, guarantee: Guarantee | None, chosen: Mechanism) -> None:
    """Refuse what cannot work before anything private is touched."""
    if not isinstance(network, Network):
        raise DemandError(f"network is a {type(network).__name__}; pass privroute.Network")
    if type(history) is not DemandHistory:  # a subclass could compute its public frame from trips
        raise HistoryError(f"history is a {type(history).__name__}; pass privroute.DemandHistory")
    if guarantee is not None and not isinstance(guarantee, Guarantee):
        raise GuaranteeError(f"guarantee is a {type(guarantee).__name__}; pass privroute.Guarantee")
    history.pairs.reachable(network)
    if isinstance(chosen, Daily) and chosen.window is not None and chosen.window > history.days:
        raise GuaranteeError(f"window is {chosen.window:,} days where the history has {history.days:,}")
