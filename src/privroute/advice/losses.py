"""Who gains and who loses when everybody follows a policy: minutes by pair, zone and distance.

A pair's expected time on the policy is compared with two others:

    fastest       the fastest route at the same link times: what a driver could gain by leaving the policy alone
    equilibrium   the pair's time when nobody follows any advice: what the policy does to them

Both are computed from a public demand, usually the released one. Shares are of trips, not of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from privroute.errors import DemandError, InputError
from privroute.flows.optimum import solve_equilibrium
from privroute.network.checks import freeze, one_of
from privroute.network.pairs import fastest_minutes, free_flow_minutes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.display_units import Units
    from privroute.network.labels import Label
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress

__all__ = ["LOSSES", "Against", "DistanceRow", "Losses", "WorstPair", "ZoneRow", "losses_in", "who_loses"]

Against = Literal["fastest", "equilibrium"]
LOSSES = (1.0, 5.0)
"""Units of time (Units.time) that a trip may lose before it counts in a share."""

_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_DISTANCE_BINS = 5
_GAP = 1e-7


def losses_in(units: Units) -> tuple[float, ...]:
    """These losses in minutes."""
    return tuple(limit / units.time_per_min for limit in LOSSES)


@dataclass(frozen=True, slots=True)
class ZoneRow:
    """Trips that start in a zone; positive minutes are lost."""

    zone: Label
    trips_per_h: float
    mean_loss_min: float
    share_losing: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class DistanceRow:
    """Trips whose free-flow time is in a range, minutes."""

    from_min: float
    to_min: float
    trips_per_h: float
    mean_min: float
    mean_loss_min: float
    share_losing: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WorstPair:
    """A pair among those that lose most."""

    origin: Label
    destination: Label
    trips_per_h: float
    policy_min: float
    other_min: float
    loss_min: float


@dataclass(frozen=True, eq=False)
class Losses:
    """Minutes by pair. Only pairs with demand count in shares and means.

    policy_min : (pairs,) expected minutes on the policy's routes
    fastest_min : (pairs,) minutes of the fastest route at the same link times
    equilibrium_min : (pairs,) minutes in the equilibrium of the same demand
    """

    network: Network
    demand: Demand
    policy_min: NDArray[np.float64]
    fastest_min: NDArray[np.float64]
    equilibrium_min: NDArray[np.float64]

    def minutes(self, against: Against = "equilibrium") -> NDArray[np.float64]:
        """(pairs,) minutes lost by following the policy; negative ones are gained."""
        one_of(against, ("fastest", "equilibrium"), "against", InputError)
        return self.policy_min - (self.fastest_min if against == "fastest" else self.equilibrium_min)

    def share_losing(self, minutes: float, against: Against = "equilibrium") -> float:
        """Share of trips that lose more than this many minutes."""
        return float(self._weight @ (self.minutes(against) > minutes))

    def mean(self, against: Against = "equilibrium") -> float:
        """Mean minutes lost by a trip."""
        return float(self._weight @ self.minutes(against))

    def quantiles(self, against: Against = "equilibrium") -> dict[float, float]:
        """Minutes lost that this share of trips does not exceed."""
        lost = self.minutes(against)
        order = np.argsort(lost, kind="stable")
        reached = np.cumsum(self._weight[order])
        at = np.minimum(np.searchsorted(reached, _QUANTILES), lost.size - 1)
        return dict(zip(_QUANTILES, lost[order][at].tolist(), strict=True))

    def by_zone(self, against: Against = "equilibrium") -> tuple[ZoneRow, ...]:
        """By the zone where trips start, the largest mean loss first."""
        lost, names = self.minutes(against), self.network.end_labels
        origin, rate = self.demand.pairs.origin, self.demand.rate_per_min
        total = np.bincount(origin, rate, self.network.nodes)
        summed = np.bincount(origin, rate * lost, self.network.nodes)
        losing = [np.bincount(origin, rate * (lost > limit), self.network.nodes) for limit in self._limits]
        rows = [
            ZoneRow(
                names[zone],
                float(total[zone]) * 60,
                float(summed[zone] / total[zone]),
                tuple(float(each[zone] / total[zone]) for each in losing),
            )
            for zone in np.flatnonzero(total > 0).tolist()
        ]
        return tuple(sorted(rows, key=lambda row: -row.mean_loss_min))

    def by_distance(self, against: Against = "equilibrium", bins: int = _DISTANCE_BINS) -> tuple[DistanceRow, ...]:
        """By free-flow time, in bins with about the same number of trips, the shortest first."""
        lost, free = self.minutes(against), free_flow_minutes(self.network, self.demand.pairs)
        used = np.flatnonzero(self.demand.rate_per_min > 0)
        order = used[np.argsort(free[used], kind="stable")]
        reached = np.cumsum(self._weight[order])
        ends = np.searchsorted(reached, np.linspace(0, 1, bins + 1)[1:-1])
        rows = []
        for members in np.split(order, ends):
            weight = self.demand.rate_per_min[members]
            if not members.size:
                continue
            rows.append(
                DistanceRow(
                    float(free[members[0]]),
                    float(free[members[-1]]),
                    float(weight.sum()) * 60,
                    float(np.average(self.policy_min[members], weights=weight)),
                    float(np.average(lost[members], weights=weight)),
                    tuple(float(np.average(lost[members] > limit, weights=weight)) for limit in self._limits),
                )
            )
        return tuple(rows)

    def worst(self, count: int = 10, against: Against = "equilibrium") -> tuple[WorstPair, ...]:
        """Pairs with demand that lose most, by minutes."""
        lost = np.where(self.demand.rate_per_min > 0, self.minutes(against), -np.inf)
        names, pairs = self.network.end_labels, self.demand.pairs
        first = np.argsort(-lost, kind="stable")[:count]
        return tuple(
            WorstPair(
                names[pairs.origin[pair]],
                names[pairs.destination[pair]],
                float(self.demand.rate_per_min[pair]) * 60,
                float(self.policy_min[pair]),
                float(self.policy_min[pair] - lost[pair]),
                float(lost[pair]),
            )
            for pair in first[lost[first] > -np.inf].tolist()
        )

    def zone_loss(self, against: Against = "equilibrium") -> NDArray[np.float64]:
        """(nodes,) mean minutes lost by trips that start at each node, NaN where none start: for maps."""
        lost = self.minutes(against)
        origin, rate = self.demand.pairs.origin, self.demand.rate_per_min
        total = np.bincount(origin, rate, self.network.nodes)
        summed = np.bincount(origin, rate * lost, self.network.nodes)
        return np.asarray(np.divide(summed, total, out=np.full(total.size, np.nan), where=total > 0))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: both comparisons, without the single pairs."""
        return {
            against: {
                "mean_loss_min": self.mean(against),
                "share_losing": {
                    f"{shown:g}": self.share_losing(limit, against)
                    for shown, limit in zip(LOSSES, self._limits, strict=True)
                },
                "quantiles_min": {f"{share:g}": value for share, value in self.quantiles(against).items()},
            }
            for against in ("fastest", "equilibrium")
        }

    @property
    def _limits(self) -> tuple[float, ...]:
        return losses_in(self.network.units)

    @cached_property
    def _weight(self) -> NDArray[np.float64]:
        return self.demand.rate_per_min / self.demand.total_per_min


def who_loses(
    network: Network,
    policy: RoutingPolicy,
    demand: Demand,
    *,
    gap: float = _GAP,
    progress: Progress | None = None,
) -> Losses:
    """Compare each pair's expected time on the policy with its fastest route and with the equilibrium."""
    if not demand.total_per_min > 0:
        raise DemandError("the demand is zero for all pairs, so nobody gains or loses")
    times = network.latency.time(policy.link_flow(demand))
    selfish = solve_equilibrium(network, demand, gap=gap, progress=progress)
    unadvised = network.latency.time(selfish.link_flow)
    return Losses(
        network,
        demand,
        freeze(policy.expected(times)),
        freeze(fastest_minutes(network, demand.pairs, times)),
        freeze(selfish.policy.expected(unadvised)),
    )
