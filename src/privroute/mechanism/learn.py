"""The one entry to private learning."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache, partial
from importlib import metadata
from typing import TYPE_CHECKING, Any

from privroute.errors import DemandError, GuaranteeError, HistoryError, LargeDeltaWarning
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
from privroute.privacy.ledger import Ledger, charge_release, check_charge, note_written
from privroute.privacy.noise import Noise, OpenDPNoise
from privroute.privacy.sensitivity import check_unit
from privroute.progress import check_progress
from privroute.release.certificate import ADJACENCY, Certificate, NoiseKind
from privroute.release.guarantee import Guarantee, delta_caveat
from privroute.release.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from privroute.history.frame import Frame
    from privroute.mechanism.promise import Promise
    from privroute.mechanism.steps import Steps
    from privroute.progress import Progress

__all__ = [
    "Drawn",
    "certify",
    "check_public",
    "draw",
    "learn",
    "learn_with_noise",
    "promise_of",
    "steps_of",
    "warn_of_large_delta",
]

_STEPS: dict[type[Mechanism], Steps] = {Counts: COUNTS, Daily: DAILY, Minimiser: MINIMISER, Sgd: SGD}


def steps_of(chosen: Mechanism) -> Steps:
    """The three functions of a private mechanism."""
    if isinstance(chosen, Sgd) and chosen.constants == "paper":
        return SGD_AS_PUBLISHED
    return _STEPS[type(chosen)]


def promise_of(network: Network, frame: Frame, guarantee: Guarantee, chosen: Mechanism) -> Promise:
    """What a release will promise, from public data alone; refuses what the proofs exclude."""
    check_unit(guarantee, frame.contribution)
    return steps_of(chosen).promise(network, frame, guarantee, chosen)


def check_public(
    network: Network, frame: Frame, guarantee: Guarantee | None, chosen: Mechanism, ledger: Ledger | None
) -> None:
    """Refuse what `learn` would refuse of any history with this public frame, while no history is open."""
    promise = None if guarantee is None else promise_of(network, frame, guarantee, chosen)
    if ledger is not None:
        noise = None if promise is None else OpenDPNoise()
        check_charge(ledger, frame, guarantee, certify(frame, chosen, noise, promise))


def learn(
    network: Network,
    history: DemandHistory,
    guarantee: Guarantee | None = None,
    mechanism: str | Mechanism = "counts",
    *,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
) -> Release:
    """Learn a routing policy from a history and release it under a guarantee.

    guarantee : needed by every mechanism but "none"
    mechanism : "counts" (default), "daily", or "none" (not private), or an object with options: privroute.Counts(...),
        privroute.Daily(...), privroute.Minimiser(alpha=...), privroute.Sgd(public_demand=..., alpha=...)

    ledger : the data set's account; the release is charged to it before its noise is drawn, or refused
    progress : called with the phase and the share done. In the private phase that is k of a public K; afterwards it has
        the gap of the solver, which sees noisy values only

    The noise is OpenDP's, from the system's entropy: two calls give two different releases, and each of them spends
    the guarantee anew. A delta above 1e-3 is warned of: the release will not be called private.
    """
    warn_of_large_delta(guarantee)
    return learn_with_noise(network, history, guarantee, mechanism, OpenDPNoise(), ledger=ledger, progress=progress)


def warn_of_large_delta(guarantee: Guarantee | None) -> None:
    """Warn, before anything private is touched, of a guarantee whose releases are not called private."""
    caveat = delta_caveat(guarantee.delta) if isinstance(guarantee, Guarantee) else None
    if caveat is not None:
        warnings.warn(f"NOT PRIVATE: {caveat}; 1e-6 is usual", LargeDeltaWarning, stacklevel=3)


def learn_with_noise(
    network: Network,
    history: DemandHistory,
    guarantee: Guarantee | None,
    mechanism: str | Mechanism,
    noise: Noise,
    *,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
) -> Release:
    """`learn` with another source of noise, for experiments and tests; the certificate says which it was."""
    chosen = as_mechanism(mechanism)
    check_progress(progress)
    _check(network, history, guarantee, chosen)
    if isinstance(chosen, Unprotected):
        certificate = certify(history.frame, chosen, None, None)
        if ledger is not None:
            charge_release(ledger, history.frame, guarantee, certificate)  # refuses
        return Release(solve_optimum(network, history.mean, gap=chosen.gap, progress=progress).policy, certificate)
    drawn = draw(network, history, guarantee, chosen, noise, ledger, progress=progress)
    # From here on only noisy values and public data: post-processing.
    made = steps_of(chosen).publish(network, history.frame, chosen, drawn.promise, drawn.noisy, progress)
    return Release(made.policy, drawn.certificate, made.demand, made.noisy_counts, drawn.on_saved)


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Noisy values, and what was promised, certified and charged before they were drawn."""

    promise: Promise
    certificate: Certificate
    on_saved: Callable[[str], None] | None
    noisy: NDArray[Any]


def draw(
    network: Network,
    history: DemandHistory,
    guarantee: Guarantee | None,
    chosen: Mechanism,
    noise: Noise,
    ledger: Ledger | None,
    *,
    progress: Progress | None = None,
) -> Drawn:
    """The private phase: promise, charge, noise, in this order."""
    _check(network, history, guarantee, chosen)
    if guarantee is None:
        raise GuaranteeError(f"the mechanism {chosen.name!r} needs a guarantee: Guarantee(epsilon=0.1, delta=1e-6)")
    frame, steps = history.frame, steps_of(chosen)
    promise = promise_of(network, frame, guarantee, chosen)
    certificate, on_saved = certify(frame, chosen, noise, promise), None
    # Everything so far is public. What is charged stays charged, whatever happens from here on.
    if ledger is not None:
        charge, certificate = charge_release(ledger, frame, guarantee, certificate)
        on_saved = partial(note_written, ledger, charge.entry)
    return Drawn(promise, certificate, on_saved, steps.perturb(network, history, chosen, promise, noise, progress))


def certify(frame: Frame, chosen: Mechanism, noise: Noise | None, promise: Promise | None) -> Certificate:
    """Only what is public: options, frame, and what OpenDP's maps say of the scale that was used."""
    guarantee = None if promise is None else promise.guarantee
    dates, kept = frame.dates, frame.contribution
    unit = guarantee.unit if guarantee is not None else "request" if kept is None else kept.unit
    return Certificate(
        epsilon=None if guarantee is None else guarantee.epsilon,
        delta=None if guarantee is None else guarantee.delta,
        rho=None if promise is None else promise.rho,
        unit=unit,
        adjacency=ADJACENCY[unit],
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
        max_requests=None if kept is None else kept.max_requests,
        max_per_pair=None if kept is None else kept.max_per_pair,
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
