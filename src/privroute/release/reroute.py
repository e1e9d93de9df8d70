"""A new policy for changed roads, from the released demand alone: no trip is read, and nothing is spent.

The released demand is public, so whatever is computed from it is post-processing: the guarantee of the release holds
as it is. What was measured of the old policy does not hold for the new one and is left out.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import DemandError, ReleaseError, arg
from privroute.flows.optimum import solve_optimum
from privroute.network.changes import with_capacities, without_links
from privroute.network.demand import Demand
from privroute.network.display_units import Units
from privroute.network.pairs import OnUnreachable, Pairs
from privroute.progress import check_progress
from privroute.release.part import Part
from privroute.release.read_only import plain
from privroute.release.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from privroute.network.labels import Label
    from privroute.network.network import Network
    from privroute.progress import Progress

__all__ = ["reroute"]

_GAP = 1e-8


def reroute(
    release: Release,
    network: Network | None = None,
    *,
    close: Iterable[Label] = (),
    capacity: Mapping[Any, float] | None = None,
    on_unreachable: OnUnreachable = "error",
    progress: Progress | None = None,
) -> Release:
    """Return the release with policies for a changed network, made from its released demand.

    network : the roads from now on; default: those of the release. Zones are found by their labels
    close : labels of links that are closed
    capacity : vehicles per hour of links, by their labels
    on_unreachable : what to do with pairs that no path joins any more

    No trip is needed and nothing is charged. The certificate stays, and says that the policy was computed again.
    """
    check_progress(progress)
    closed, capacities = list(close), dict(capacity or {})
    roads = release.network if network is None else network
    if network is not None:
        roads = _in_units_of(release, network)
    if closed:
        roads = without_links(roads, closed)
    if capacities:
        roads = with_capacities(roads, capacities)
    if network is None and not closed and not capacities:
        raise ReleaseError(f"nothing changes; pass {arg('network')}, {arg('close')} or {arg('capacity')}")
    if release.demand is None:
        raise ReleaseError("the release contains no demand, so no other policy follows from it; learn again from trips")
    pairs, kept = _pairs(release, roads, on_unreachable)
    options = release.certificate.options
    gap, fairness = float(options.get("gap", _GAP)), float(options.get("fairness", 0.0))
    parts = []
    for each in release.each():
        if each.demand is None:
            raise ReleaseError("a period of the release contains no demand")
        demand = Demand(pairs, each.demand.rate_per_min[kept], expansion=each.demand.expansion)
        solution = solve_optimum(roads, demand, fairness=fairness, gap=gap, progress=progress)
        if solution.status != "converged":
            warnings.warn(f"the optimum of the released demand: {solution.message}", RuntimeWarning, stacklevel=2)
        counts = None if each.noisy_counts is None else each.noisy_counts[kept]
        parts.append(Part(solution.policy, demand, counts))
    changes: dict[str, Any] = {"closed": [str(label) for label in closed]}
    changes |= {"capacity_per_hour": {str(label): float(value) for label, value in capacities.items()}}
    certificate = replace(release.certificate, study=_study(release, roads, pairs, changes, other=network is not None))
    if release.parts:
        return Release.of_parts(parts, certificate, position=release.position)
    (only,) = parts
    return Release.of_part(only, certificate)


def _pairs(release: Release, roads: Network, on_unreachable: OnUnreachable) -> tuple[Pairs, NDArray[np.intp]]:
    """The pairs of the release on other roads, and which of its pairs they are."""
    old, labels = release.policy.pairs, release.network.end_labels
    place = {str(name): int(zone) for zone, name in zip(roads.zones, roads.zone_names, strict=True)}
    zones = np.unique(np.concatenate([old.origin, old.destination]))
    node = np.full(release.network.nodes, -1)
    for zone in zones.tolist():
        if str(labels[zone]) not in place:
            raise DemandError(
                f"the new network has no zone {str(labels[zone])[:40]!r}, between which the release has a demand; give "
                "its zones the labels of the release"
            )
        node[zone] = place[str(labels[zone])]
    found = Pairs(node[old.origin], node[old.destination])
    left = found.reachable(roads, on_unreachable=on_unreachable)
    kept = found.positions(left.origin, left.destination)
    return left, np.asarray(kept)


def _in_units_of(release: Release, network: Network) -> Network:
    """Another network in the units of the release, whose demand it must carry."""
    units = release.network.units
    if network.units != Units() and network.units.amount != units.amount:
        raise DemandError(
            f"the demand of the release is in {units.amount} and the capacities of the new network are in "
            f"{network.units.amount}; convert the network"
        )
    return replace(network, units=units)


def _study(release: Release, roads: Network, pairs: Pairs, changes: dict[str, Any], *, other: bool) -> dict[str, Any]:
    """What the certificate says: the sizes of the new network, and what it was before."""
    study = plain(release.certificate.study)
    before = study.get("rerouted", {}).get("learned_on") or {**study["network"], "pairs": study["pairs"]}
    earlier = study.get("rerouted", {"closed": [], "capacity_per_hour": {}, "other_network": False})
    study["network"] = {"source": study["network"]["source"], "nodes": roads.nodes, "links": roads.links}
    study["pairs"] = len(pairs)
    study["rerouted"] = {
        "learned_on": before,
        "other_network": bool(other or earlier["other_network"]),
        "closed": [*([] if other else earlier["closed"]), *changes["closed"]],
        "capacity_per_hour": {**({} if other else earlier["capacity_per_hour"]), **changes["capacity_per_hour"]},
    }
    return dict(study)
