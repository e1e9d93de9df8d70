"""What a release means for people, as the page, the report and the API have it: gains and losses, compliance, links.

Computed from the released policy and the released demand alone, when it is first asked for: it takes a few equilibria.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.advice.compliance import compliance_curve
from privroute.advice.losses import LOSSES, losses_in, who_loses
from privroute.advice.select_link import select_link
from privroute.errors import PolicyError
from privroute.serve.answers import exact_label

if TYPE_CHECKING:
    from privroute.network.labels import Label
    from privroute.release.release import Release

__all__ = ["link_use", "people_of"]

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_GAP = 1e-5  # for numbers that are shown with two digits
_WORST = 10
_DIGITS = 4


def people_of(release: Release) -> dict[str, Any]:
    """Gains and losses of the released demand, and what happens if only a share of the drivers follows."""
    demand, network, policy = release.demand, release.network, release.policy
    if demand is None or not demand.total_per_min > 0:
        raise PolicyError("this release has no demand, so gains and losses are not known")
    losses = who_loses(network, policy, demand, gap=_GAP)
    zones = losses.zone_loss()[network.zones]
    digits = _DIGITS + round(math.log10(max(network.units.time_per_min, 1.0)))  # of a unit of time, not of a minute
    return {
        "units": network.units.as_dict(),
        "limits": list(LOSSES),
        "limits_min": list(losses_in(network.units)),
        "mean_min": _short(float(demand.rate_per_min @ losses.policy_min) / demand.total_per_min, digits),
        "against": _rounded(losses.as_dict(), digits),
        "by_distance": [_rounded(asdict(row), digits) for row in losses.by_distance()],
        "by_zone": [_labelled(asdict(row), digits, "zone") for row in losses.by_zone()[:_WORST]],
        "zone_loss_min": [_short(value, digits) if np.isfinite(value) else None for value in zones.tolist()],
        "worst": [_labelled(asdict(row), digits, "origin", "destination") for row in losses.worst(_WORST)],
        "compliance": [
            _rounded(row.as_dict(), digits)
            for row in compliance_curve(network, policy, demand, shares=SHARES, gap=_GAP)
        ],
    }


def link_use(release: Release, link: Label, limit: int) -> dict[str, Any]:
    """Pairs that use a link, those with most traffic on it first."""
    used = select_link(release.policy, link, release.demand)
    network, pairs, labels = release.network, release.policy.pairs, release.network.end_labels
    rates = used.rate_per_min
    return {
        "units": network.units.as_dict(),
        "link": exact_label(network.link_labels[used.link]),
        "from_node": exact_label(network.node_labels[network.tail[used.link]]),
        "to_node": exact_label(network.node_labels[network.head[used.link]]),
        "pairs_using": len(used),
        "vehicles_per_h": None if rates is None else _short(float(rates.sum()) * 60),
        "pairs": [
            {
                "origin": exact_label(labels[pairs.origin[pair]]),
                "destination": exact_label(labels[pairs.destination[pair]]),
                "probability": float(used.probability[position]),
                "vehicles_per_h": None if rates is None else _short(float(rates[position]) * 60),
            }
            for position, pair in enumerate(used.pair[:limit].tolist())
        ],
    }


def _labelled(row: dict[str, Any], digits: int, *names: str) -> dict[str, Any]:
    return {**_rounded(row, digits), **{name: exact_label(row[name]) for name in names}}


def _rounded(values: Any, digits: int) -> Any:
    if isinstance(values, dict):
        return {name: _rounded(value, digits) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [_rounded(value, digits) for value in values]
    return _short(values, digits) if isinstance(values, float) else values


def _short(value: float, digits: int = _DIGITS) -> float:
    return round(float(value), digits)
