"""What notebooks show: a small map as SVG and a table as HTML. Nothing is loaded from elsewhere."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from privroute.network.network import Network

__all__ = ["RAMP", "figure_html", "map_svg", "table_html"]

RAMP = ("#d2dbe5", "#a5bfd9", "#6a9ac7", "#2a6aa3", "#f0b253", "#d8742a", "#8c3813")
"""Colours of classes, from few to many; those of the page."""

_MOST_LINKS = 5000  # a cell of a notebook should stay light
_SIDE = 340.0
_MARGIN = 6.0


def map_svg(
    network: Network, link_class: NDArray[np.intp] | None = None, *, along: Sequence[tuple[int, str]] = ()
) -> str:
    """An SVG of the network; empty without coordinates and for very large ones.

    link_class : (links,) positions in RAMP; along : links to draw on top, with their colours
    """
    if network.coordinates is None or network.links > _MOST_LINKS:
        return ""
    points = network.coordinates.copy()
    if network.has_longitude_latitude:
        points[:, 0] *= np.cos(np.radians(points[:, 1].mean()))
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    scale = _SIDE / max(float(span.max()), 1e-300)
    places = (points - low) * scale
    places[:, 1] = span[1] * scale - places[:, 1]
    start, end = places[network.tail], places[network.head]
    way = end - start
    aside = np.column_stack([-way[:, 1], way[:, 0]]) / np.maximum(np.hypot(*way.T), 1e-300)[:, None] * 1.2
    ends = np.hstack([start + aside, end + aside]).round(1).tolist()
    classes = np.ones(network.links, np.intp) if link_class is None else link_class
    parts = []
    for number, colour in enumerate(RAMP):
        drawn = "".join(f"M{x1:g} {y1:g}L{x2:g} {y2:g}" for x1, y1, x2, y2 in _chosen(ends, classes == number))
        if drawn:
            parts.append(f'<path d="{drawn}" stroke="{colour}" stroke-width="{1.4 + 0.15 * number:g}" fill="none"/>')
    for link, colour in along:
        x1, y1, x2, y2 = ends[link]
        parts.append(f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{colour}" stroke-width="3.5" fill="none"/>')
    radius = 3.5 if network.zones.size <= 60 else 1.5  # noqa: PLR2004 - a picture's judgement
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="#fff" stroke="#435164"/>'
        for x, y in places[network.zones].tolist()
    ]
    width, height = (span * scale + 2 * _MARGIN).round(1).tolist()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="{-_MARGIN:g} {-_MARGIN:g} {width:g} {height:g}" role="img" aria-label="Map of the network">'
        + "".join(parts)
        + "</svg>"
    )


def _chosen(ends: list[list[float]], mask: NDArray[np.bool_]) -> list[list[float]]:
    return [ends[link] for link in np.flatnonzero(mask).tolist()]


def table_html(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A plain table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def figure_html(title: str, svg: str, table: str) -> str:
    """Title, map and table beside each other."""
    return (
        f"<div><p><strong>{escape(title)}</strong></p>"
        f'<div style="display:flex;gap:24px;align-items:flex-start">{svg}<div>{table}</div></div></div>'
    )
