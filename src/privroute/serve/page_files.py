"""The files of the page, as they stand in the package."""

from __future__ import annotations

from importlib import resources

__all__ = ["PAGE_FILES", "page_text"]

PAGE_FILES = {
    "index.html": "text/html; charset=utf-8",
    "docs.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "view.js": "text/javascript; charset=utf-8",
    "basemap.js": "text/javascript; charset=utf-8",
    "shapes.js": "text/javascript; charset=utf-8",
    "map.js": "text/javascript; charset=utf-8",
    "choose.js": "text/javascript; charset=utf-8",
    "day.js": "text/javascript; charset=utf-8",
    "panel.js": "text/javascript; charset=utf-8",
    "people.js": "text/javascript; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "docs.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def page_text(name: str) -> bytes:
    """Return a file of the page."""
    return resources.files("privroute.serve").joinpath("page", name).read_bytes()
