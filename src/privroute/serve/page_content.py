"""What the page and the report show of a release: the network with its colours, and the certificate in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.release.explanation import explain
from privroute.release.usefulness import quality_values, useful_in_words
from privroute.serve.answers import LinkTimes, exact_label
from privroute.serve.layout import Projection, drawing_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.labels import Label
    from privroute.release.quality import Quality
    from privroute.release.release import Release

__all__ = ["Picture"]

_MIN_PER_H = 60.0
_SECONDS_PER_MIN = 60.0
_MINUTE_US = 60_000_000
_LARGEST_EXACT = 2**53 - 1
_DECIMALS = {"ms": 7, "s": 3}  # of seconds on the page, by the unit in which times are shown; 2 for others


@dataclass(frozen=True)
class Picture:
    """A release as it is drawn.

    release : what is shown
    """

    release: Release

    @cached_property
    def flow_per_min(self) -> NDArray[np.float64] | None:
        """(links,) expected flow, where a demand was released."""
        demand = self.release.demand
        return None if demand is None else self.release.policy.link_flow(demand)

    @cached_property
    def times(self) -> LinkTimes:
        """Times at that flow, or on empty roads."""
        return LinkTimes.of(self.release, self.flow_per_min)

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """(nodes, 2) where nodes are drawn."""
        return drawing_points(self.release.network)

    @cached_property
    def link_columns(self) -> dict[str, NDArray[Any]]:
        """What colours the links: expected flows where a demand was released, otherwise how many pairs use them."""
        if self.flow_per_min is None:
            return {"pairs_using": self.release.policy.pairs_using()}
        return {
            "volume_per_h": self.flow_per_min * _MIN_PER_H,
            "volume_over_capacity": self.flow_per_min / self.release.network.capacity_per_min,
            "expected_min": self.times.duration_s / _SECONDS_PER_MIN,
        }

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for the page's scripts."""
        network, certificate, times = self.release.network, self.release.certificate, self.times
        now = self.of_period()
        return {
            **now,
            "nodes": {
                "label": [exact_label(label) for label in network.end_labels],
                "x": _short(self.points[:, 0], 2),
                "y": _short(self.points[:, 1], 2),
                "zone": network.zones.tolist(),
                "zone_per_h": now["nodes"]["zone_per_h"],
                "computed": network.coordinates is None,
            },
            "links": {
                "label": [exact_label(label) for label in network.link_labels],
                "tail": network.tail.tolist(),
                "head": network.head.tolist(),
                "connector": np.flatnonzero(
                    network.no_through[network.tail] | network.no_through[network.head]
                ).tolist(),
                "duration_free_flow": _short(times.free_flow_s, self._decimals),
                "distance": None if times.length_m is None else _short(times.length_m, 1),
                "capacity_per_h": _short(network.capacity_per_min * _MIN_PER_H, 1),
                **now["links"],
            },
            **self._map(),
            "units": self._units(),
            "pairs": len(self.release.policy.pairs),
            "hours": f"{certificate.calendar}",
            "certificate": certificate.as_dict(),
            "words": explain(certificate).as_dict(),
            "periods": self._periods(),
        }

    def of_period(self) -> dict[str, Any]:
        """What of it is of the chosen period, where a release has several."""
        network, policy, demand = self.release.network, self.release.policy, self.release.demand
        columns = self.link_columns
        coloured_by = "volume_over_capacity" if "volume_over_capacity" in columns else "pairs_using"
        return {
            "period": self.release.position,
            "nodes": {
                "zone_per_h": None
                if demand is None
                else _short(_trip_ends_per_h(demand, network.nodes)[network.zones], 1)
            },
            "links": {
                "duration": _short(self.times.duration_s, self._decimals),
                "volume_per_h": _short(columns["volume_per_h"], 1) if "volume_per_h" in columns else None,
                "value": _short(columns[coloured_by], 4),
            },
            "coloured_by": coloured_by,
            "routes": min(policy.summary().paths, _LARGEST_EXACT),
            "vehicles_per_h": None if demand is None else round(demand.total_per_min * _MIN_PER_H, 1),
            "example": [exact_label(label) for label in self.example_labels()],
            "useful": useful_in_words(self.release),
            "quality": quality_values(self.release),
            **self._measured(self.release.quality),
        }

    @property
    def _decimals(self) -> int:
        return _DECIMALS.get(self.release.network.units.time, 2)

    def _units(self) -> dict[str, Any]:
        """The words of the page, and factors from minutes and amounts per hour to what is shown."""
        units = self.release.network.units
        words = {"requests": units.requests, "times": units.times, "empty": units.empty, "delay": units.delay}
        factors = {"time_per_min": units.time_per_min, "flow_per_h": units.flow_per_h}
        return {**units.as_dict(), **words, **factors, "roads": units.on_roads, "hourly": units.hourly}

    def _periods(self) -> list[dict[str, Any]] | None:
        """The periods of the day, by kinds of days; None where there is one."""
        if not self.release.parts:
            return None
        rates = self.release.vehicles_per_hour
        return [
            {
                **slot.as_dict,
                "key": slot.key,
                "start_min": slot.period.start_us / _MINUTE_US,
                "vehicles_per_h": None if rate is None else round(rate, 1),
                **self._measured(quality),
            }
            for slot, rate, quality in zip(self.release.slots, rates, self.release.qualities, strict=True)
        ]

    def _measured(self, quality: Quality | None) -> dict[str, Any]:
        """How useful a period was measured to be, in words, and whether it should not be used."""
        if quality is None:
            return {"verdict": "not measured", "worse": False}
        return {"verdict": self.release.network.units.said(quality.words), "worse": quality.verdict == "worse"}

    def _map(self) -> dict[str, Any]:
        """How streets run and what they are called, and how longitudes and latitudes become places of the drawing."""
        network = self.release.network
        if network.coordinates is None or not network.has_longitude_latitude:
            return {"streets": None, "projection": None}
        projection = Projection.of(network, network.coordinates)
        shown = {"origin": list(projection.origin), "scale": list(projection.scale)}
        streets = network.streets
        if streets is None:
            return {"streets": None, "projection": shown}
        points = projection(streets.points)
        names = {name: number for number, name in enumerate(dict.fromkeys(streets.name))}
        return {
            "projection": shown,
            "streets": {
                "start": streets.start.tolist(),
                "x": _short(points[:, 0], 2),
                "y": _short(points[:, 1], 2),
                "names": list(names),
                "name": [names[name] for name in streets.name],
                "hidden": np.flatnonzero(~streets.drawn).tolist(),
            },
        }

    def example_labels(self) -> list[Label]:
        """The ends of a pair whose trips are spread most: its likeliest route is the least likely."""
        policy = self.release.policy
        if not len(policy.pairs):
            return list(policy.network.end_labels[:2])
        pair = int(np.argmin(policy.likeliest()))
        return [policy.network.end_labels[ends[pair]] for ends in (policy.pairs.origin, policy.pairs.destination)]

    def example_places(self) -> str | None:
        """Coordinates of that pair, as clients of OSRM write them; None where the release has no degrees."""
        network = self.release.network
        if network.coordinates is None or not network.has_longitude_latitude:
            return None
        nodes = [network.node(label) for label in self.example_labels()]
        return ";".join("{:.6f},{:.6f}".format(*network.coordinates[node].tolist()) for node in nodes)


def _trip_ends_per_h(demand: Demand, nodes: int) -> NDArray[np.float64]:
    """(nodes,) traffic an hour that starts or ends at each node."""
    ends = (demand.pairs.origin, demand.pairs.destination)
    return np.asarray(_MIN_PER_H * sum(np.bincount(each, demand.rate_per_min, nodes) for each in ends))


def _short(values: NDArray[np.float64], decimals: int) -> list[float | None]:
    """Rounded numbers; None where there is no finite one."""
    rounded = np.round(values.astype(float), decimals)
    return [value if np.isfinite(value) else None for value in rounded.tolist()]
