"""Styles by which QGIS draws the layers of a GeoPackage: the table layer_styles, which QGIS reads when it opens one.

Links are coloured by volume over capacity (or by the number of pairs that use them), zones are plain, routes are as
wide as they are probable.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["add_qgis_styles"]

# of ColorBrewer's YlOrRd, dark enough on white
_CLASSES = ((0.0, 0.5, "#4d9221"), (0.5, 0.8, "#fdae61"), (0.8, 1.0, "#f46d43"), (1.0, 1e9, "#a50026"))
_BLUE, _GREY = "#0072b2", "#555555"
_TABLE = """
CREATE TABLE IF NOT EXISTS layer_styles (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, f_table_catalog TEXT(256), f_table_schema TEXT(256),
  f_table_name TEXT(256), f_geometry_column TEXT(256), styleName TEXT(30), styleQML TEXT, styleSLD TEXT,
  useAsDefault BOOLEAN, description TEXT, owner TEXT(30), ui TEXT(30),
  update_time DATETIME DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')))
"""
_CONTENTS = """
INSERT INTO gpkg_contents (table_name, data_type, identifier, description, srs_id)
VALUES ('layer_styles', 'attributes', 'layer_styles', '', 0)
"""


def add_qgis_styles(path: Path, coloured_by: str, zones_are_areas: bool) -> None:
    """Add a default style for the layers links, zones and routes.

    coloured_by : column of the links: volume_over_capacity, or a whole number like pairs_using
    """
    styles = {
        "links": _by_value(coloured_by)
        if coloured_by == "volume_over_capacity"
        else _single("line", _line(_BLUE, "0.6")),
        "zones": _single("fill", _fill()) if zones_are_areas else _single("marker", _marker()),
        "routes": _single("line", _line(_BLUE, "0.5", width_by="0.2 + 1.5 * &quot;probability&quot;")),
    }
    with sqlite3.connect(path) as database:
        database.execute(_TABLE)
        database.execute(_CONTENTS)
        for name, renderer in styles.items():
            database.execute(
                "INSERT INTO layer_styles (f_table_catalog, f_table_schema, f_table_name, f_geometry_column, "
                "styleName, styleQML, styleSLD, useAsDefault, description, owner) "
                "VALUES ('', '', ?, 'geom', ?, ?, '', 1, ?, '')",
                (name, f"privroute {name}", _document(renderer), f"privroute: {name} of a release"),
            )
    database.close()


def _document(renderer: str) -> str:
    return f"<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n<qgis version=\"3.22.0\">{renderer}</qgis>"


def _by_value(column: str) -> str:
    ranges, symbols = [], []
    for number, (low, high, colour) in enumerate(_CLASSES):
        label = f"{low:g} and more" if high > _CLASSES[-1][0] + 1 else f"{low:g} to {high:g}"
        ranges.append(
            f'<range symbol="{number}" lower="{low:g}" upper="{high:g}" label={quoteattr(label)} render="true"/>'
        )
        symbols.append(
            f'<symbol type="line" name="{number}" alpha="1">{_line(colour, f"{0.5 + 0.3 * number:g}")}</symbol>'
        )
    return (
        f'<renderer-v2 type="graduatedSymbol" attr={quoteattr(column)} graduatedMethod="GraduatedColor">'
        f"<ranges>{''.join(ranges)}</ranges><symbols>{''.join(symbols)}</symbols></renderer-v2>"
    )


def _single(kind: str, layer: str) -> str:
    return (
        f'<renderer-v2 type="singleSymbol"><symbols><symbol type="{kind}" name="0" alpha="1">{layer}</symbol></symbols>'
        "</renderer-v2>"
    )


def _line(colour: str, width_mm: str, width_by: str | None = None) -> str:
    # drawn beside the middle of the road, so that both directions are seen
    options = {"line_color": _rgba(colour), "line_width": width_mm, "line_width_unit": "MM", "offset": "0.5"}
    return _layer("SimpleLine", options, {} if width_by is None else {"outlineWidth": width_by})


def _fill() -> str:
    return _layer("SimpleFill", {"color": "0,0,0,0", "style": "no", "outline_color": _rgba(_GREY)}, {})


def _marker() -> str:
    return _layer("SimpleMarker", {"name": "circle", "color": _rgba(_GREY), "size": "2", "size_unit": "MM"}, {})


def _layer(kind: str, options: dict[str, str], expressions: dict[str, str]) -> str:
    plain = "".join(f'<Option type="QString" name="{name}" value="{value}"/>' for name, value in options.items())
    defined = "".join(
        f'<Option type="Map" name="{name}"><Option type="bool" name="active" value="true"/>'
        f'<Option type="QString" name="expression" value="{text}"/><Option type="int" name="type" value="3"/></Option>'
        for name, text in expressions.items()
    )
    properties = (
        f'<data_defined_properties><Option type="Map"><Option type="Map" name="properties">{defined}</Option>'
        '<Option type="QString" name="type" value="collection"/></Option></data_defined_properties>'
        if defined
        else ""
    )
    return f'<layer class="{kind}" enabled="1" pass="0"><Option type="Map">{plain}</Option>{properties}</layer>'


def _rgba(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"{red},{green},{blue},255"
