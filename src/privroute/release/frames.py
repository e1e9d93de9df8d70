"""Releases and measured quality as data frames and in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from privroute.errors import InputError
from privroute.network.checks import one_of
from privroute.network.data_frames import data_frame, geo_frame, lines_of, needs_coordinates
from privroute.network.features import feature_collection, link_columns, link_lines
from privroute.network.html import figure_html, map_svg, table_html
from privroute.policy.routes import count_text

if TYPE_CHECKING:
    from privroute.release.quality import Quality
    from privroute.release.release import Release

__all__ = ["QualityFrames", "ReleaseFrames"]

ReleaseTable = Literal["links", "routes", "demand"]
_BREAKS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)  # of volume over capacity, as on the page


class ReleaseFrames:
    """What a release gives to pandas, GeoPandas and notebooks."""

    __slots__ = ()

    def to_pandas(self, table: ReleaseTable = "links") -> Any:
        """A DataFrame: links with their expected volume, routes with probabilities, or the released demand."""
        release = cast("Release", self)
        if _checked(table) == "routes":
            return release.policy.to_pandas()
        if table == "demand":
            return _demand(release).to_pandas(release.network)
        return data_frame({**link_columns(release.network), **_volumes(release)})

    def to_geopandas(self, table: ReleaseTable = "links") -> Any:
        """The same with geometries."""
        release = cast("Release", self)
        network = release.network
        if _checked(table) == "routes":
            return release.policy.to_geopandas()
        if table == "demand":
            return _demand(release).to_geopandas(network)
        lines = lines_of(link_lines(network, needs_coordinates(network)))
        return geo_frame({**link_columns(network), **_volumes(release)}, lines, network)

    @property
    def __geo_interface__(self) -> dict[str, object]:
        """GeoJSON of links with their expected volume, and of zones."""
        release = cast("Release", self)
        volumes = {name: values.tolist() for name, values in _volumes(release).items()}
        return feature_collection(release.network, needs_coordinates(release.network), volumes)

    def _repr_html_(self) -> str:
        release = cast("Release", self)
        certificate, volumes, units = release.certificate, _volumes(release), release.network.units
        promise = "private" if certificate.private else "NOT PRIVATE"
        if certificate.guaranteed:
            promise += f": epsilon {certificate.epsilon:g}, delta {certificate.delta:g}"
        rows: list[tuple[str, object]] = [
            ("guarantee", promise),
            ("mechanism", certificate.mechanism),
            ("hours", f"{certificate.calendar}"),
            ("pairs", f"{len(release.policy.pairs):,}"),
            ("routes", count_text(release.policy.summary().paths)),
        ]
        if release.demand is not None:
            rows.append((units.flow, units.flow_text(release.demand.total_per_min)))
        if release.quality is not None:
            rows.append(("above the best possible", f"{release.quality.above_optimum}"))
            rows.append(("verdict", units.said(release.quality.words)))
        classes = None
        if "volume_over_capacity" in volumes:
            classes = np.searchsorted(_BREAKS, volumes["volume_over_capacity"], side="right")
        title = "Release" if classes is None else "Release: links by expected volume over capacity"
        return figure_html(title, map_svg(release.network, classes), table_html(("", ""), rows))


class QualityFrames:
    """What a measured quality gives to pandas and notebooks."""

    __slots__ = ()

    def to_pandas(self) -> Any:
        """A DataFrame with a row for the released policy and each baseline: percent above the best possible."""
        quality = cast("Quality", self)
        found = {"released": quality.above_optimum, **quality.baselines}
        return data_frame(
            {
                "policy": list(found),
                "above_optimum_percent": [each.value for each in found.values()],
                "low": [each.low for each in found.values()],
                "high": [each.high for each in found.values()],
            }
        )

    def _repr_html_(self) -> str:
        quality = cast("Quality", self)
        title = f"Measured with noise: {quality.words}"
        return figure_html(title, "", table_html(("policy", "above the best possible"), list(quality.in_words.items())))


def _checked(table: str) -> str:
    return one_of(table, ("links", "routes", "demand"), "table", InputError)


def _demand(release: Release) -> Any:
    if release.demand is None:
        raise InputError("this release has no demand; its mechanism releases a policy alone")
    return release.demand


def _volumes(release: Release) -> dict[str, Any]:
    if release.demand is None:
        return {"pairs_using": release.policy.pairs_using()}
    flow = release.policy.link_flow(release.demand)
    return {
        "volume_per_h": flow * 60.0,
        "volume_over_capacity": flow / release.network.capacity_per_min,
        "expected_min": release.network.latency.time(flow),
    }
