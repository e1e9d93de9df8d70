"""The one entry to private learning."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

from privroute.errors import DemandError, GuaranteeError, HistoryError
from privroute.flows.optimum import solve_optimum
from privroute.history.demand_history import DemandHistory
from privroute.mechanism.counts import demand_from_counts, noisy_days, noisy_total, policy_from_counts
from privroute.mechanism.options import Daily, Mechanism, Unprotected, as_mechanism
from privroute.network.network import Network
from privroute.privacy.calibration import gaussian_epsilon, gaussian_rho, gaussian_scale
from privroute.privacy.noise import Noise, OpenDPNoise
from privroute.privacy.sensitivity import summed_counts_sensitivity
from privroute.release.certificate import ADJACENCY, Certificate, NoiseKind
from privroute.release.guarantee import Guarantee
from privroute.release.release import Release

if TYPE_CHECKING:
    from privroute.policy.routing_policy import RoutingPolicy

__all__ = ["learn", "learn_with_noise"]


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
    mechanism : "counts" (default), "daily", or "none" (not private), or privroute.Counts(...), privroute.Daily(...)

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
    if isinstance(chosen, Unprotected):
        return _unprotected(network, history, chosen, progress)
    if guarantee is None:
        raise GuaranteeError(f"the mechanism {chosen.name!r} needs a guarantee: Guarantee(epsilon=0.1, delta=1e-6)")
    sensitivity = summed_counts_sensitivity(guarantee)
    scale = gaussian_scale(guarantee.epsilon, guarantee.delta, sensitivity)
    if isinstance(chosen, Daily):
        window = min(chosen.window or history.days, history.days)
        noisy = noisy_days(history, scale, noise)[-window:].sum(axis=0)
        scale_of_sum = scale * math.sqrt(window)
    else:
        window = history.days
        noisy = noisy_total(history, scale, noise)
        scale_of_sum = scale
    # From here on only `noisy` and public data: post-processing.
    demand = demand_from_counts(
        network,
        history.pairs,
        noisy,
        chosen,
        scale=scale_of_sum,
        days=window,
        period_min=history.period_min,
        expansion=history.expansion,
    )
    policy = policy_from_counts(network, demand, chosen, progress=progress)
    certificate = _certificate(history, chosen, noise, guarantee, sensitivity, scale)
    noisy.flags.writeable = False
    return Release(policy, certificate, demand, noisy)


def _unprotected(network: Network, history: DemandHistory, chosen: Unprotected, progress: bool) -> Release:
    policy: RoutingPolicy = solve_optimum(network, history.mean, gap=chosen.gap, progress=progress).policy
    return Release(policy, _certificate(history, chosen, None, None, None, None))


def _certificate(
    history: DemandHistory,
    chosen: Mechanism,
    noise: Noise | None,
    guarantee: Guarantee | None,
    sensitivity: float | None,
    scale: float | None,
) -> Certificate:
    """Only what is public: options, frame, and what OpenDP's maps say of the scale that was used."""
    rho = epsilon = None
    if guarantee is not None and sensitivity is not None and scale is not None:
        rho = gaussian_rho(scale, sensitivity)
        epsilon = gaussian_epsilon(scale, sensitivity, guarantee.delta)
        if epsilon > guarantee.epsilon:
            raise GuaranteeError("the noise is smaller than the guarantee needs; nothing is released")
    dates = history.dates
    return Certificate(
        epsilon=None if guarantee is None or noise is None else guarantee.epsilon,
        delta=None if guarantee is None or noise is None else guarantee.delta,
        rho=rho,
        unit="request" if guarantee is None else guarantee.unit,
        adjacency=ADJACENCY["request"],
        mechanism=chosen.name,
        options=asdict(chosen),
        sensitivity=sensitivity,
        noise_scale=scale,
        data="simulated" if history.simulated else "trips",
        noise=_kind(noise),
        days=history.days,
        period_min=history.period_min,
        expansion=history.expansion,
        first_date=None if dates is None else dates[0].isoformat(),
        last_date=None if dates is None else dates[-1].isoformat(),
        versions=dict(_versions()),
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
