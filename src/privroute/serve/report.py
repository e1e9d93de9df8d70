"""The page as one file: the same scripts and the same picture, with the routes packed into it.

Routes go in as plain arrays, compressed and written as text: a few megabytes for Chicago Sketch with its 149,382 pairs.
Where a policy is so large that the file would be a burden, the pairs with the largest demand are kept and the page says
how many.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from privroute.serve.answers import MOST_SHOWN_ROUTES
from privroute.serve.page_content import Picture
from privroute.serve.page_files import page_text
from privroute.serve.people import people_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.release.release import Release

__all__ = ["MOST_LINKS", "report_html"]

MOST_LINKS = 20_000_000  # links of all routes together: some 10 MB of text
_PAIRS_AT_ONCE = 16_384
_MOST_PAIRS = 1_000_000  # for which gains and losses are computed: several equilibria, half a minute each beyond
_TAG = re.compile(
    r'<link rel="stylesheet" href="page/(?P<style>[a-z.]+)">|<script src="page/(?P<script>[a-z.]+)"></script>'
)


def report_html(release: Release, *, most_links: int = MOST_LINKS) -> str:
    """Return one HTML file that needs nothing else, shows the release and asks nobody for anything.

    most_links : of all embedded routes together; pairs beyond are left out, those with the smallest demand first. Of a
        release of several periods all are in the file, each with an equal part of these
    """
    own_share = most_links // max(len(release.slots), 1)
    drawing, blocks = {}, []
    for each in release.each():
        columns = _columns(each, own_share)
        embedded = {
            "embedded": _places(columns),
            "embedded_pairs": int(columns["origin"].size),
            "people": _people(each),
        }
        if each.position == release.position:
            drawing = Picture(each).as_dict() | embedded
        blocks.append(_packed_routes(each.position, columns))
        if release.parts:
            period = orjson.dumps(Picture(each).of_period() | embedded)
            blocks.append(
                f'<script type="application/json" id="embedded-period-{each.position}">{_in_script(period)}</script>'
            )
    icon = f"data:image/svg+xml;base64,{base64.b64encode(page_text('icon.svg')).decode()}"
    page = page_text("index.html").decode().replace("page/icon.svg", icon)
    page = page.replace('<a class="plain-link" id="api-link" href="docs">API</a>\n', "")
    page = re.sub(
        r"<noscript>.*</noscript>", "<noscript><p class='banner'>This file needs JavaScript.</p></noscript>", page
    )
    data = (
        f'<script type="application/json" id="embedded-drawing">{_in_script(orjson.dumps(drawing))}</script>\n  '
        + "\n  ".join(blocks)
        + "\n  "
    )
    hashes: dict[str, list[str]] = {"script": [], "style": []}

    def inlined(found: re.Match[str]) -> str:
        kind = "style" if found["style"] else "script"
        text = page_text(found[kind]).decode()
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
        return f"<{kind}>{text}</{kind}>"

    before, _, after = page.partition("<script src=")
    page = _TAG.sub(inlined, f"{before}{data}<script src={after}")
    scripts, styles = (" ".join(hashes[kind]) for kind in ("script", "style"))
    rule = (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta charset="utf-8">\n  <meta http-equiv="Content-Security-Policy" content="{rule}">'
    return page.replace('<meta charset="utf-8">', meta, 1)


def _people(release: Release) -> dict[str, Any] | None:
    """Gains and losses; None where no demand was released."""
    if release.demand is None or not release.demand.total_per_min > 0:
        return None
    if len(release.policy.pairs) > _MOST_PAIRS:
        return {
            "skipped": "Gains and losses are not in this file: the network is very large. privroute evaluate --people"
        }
    return people_of(release)


def _packed_routes(position: int, columns: dict[str, NDArray[Any]]) -> str:
    """A block of the file with the routes of one period."""
    packed = base64.b64encode(gzip.compress(b"".join(array.tobytes() for array in columns.values()), 9, mtime=0))
    return f'<script type="application/octet-stream" id="embedded-routes-{position}">{packed.decode()}</script>'


def _columns(release: Release, most_links: int) -> dict[str, NDArray[Any]]:
    """Arrays of pairs, their routes (the most probable first) and the routes' links, largest item size first."""
    policy = release.policy
    order = np.arange(len(policy.pairs))
    if release.demand is not None:
        order = np.argsort(-release.demand.rate_per_min, kind="stable")
    # pairs by falling demand, as many as the file may hold; then in their own order
    kept, left = 0, most_links
    while kept < order.size:
        found = policy.best_routes(order[kept : kept + _PAIRS_AT_ONCE], MOST_SHOWN_ROUTES)
        links_until = np.cumsum(np.diff(found.start[found.first]))
        fitting = int(np.searchsorted(links_until, left, side="right"))
        kept += fitting
        if fitting < links_until.size:
            break
        left -= int(links_until[-1])
    pairs = np.sort(order[:kept])
    found = policy.best_routes(pairs, MOST_SHOWN_ROUTES)
    arrays: dict[str, NDArray[Any]] = {
        "probability": found.probability,
        "origin": policy.pairs.origin[pairs],
        "destination": policy.pairs.destination[pairs],
        "routes_of_pair": np.diff(found.first),
        "links_of_route": np.diff(found.start),
        "link": found.links,
    }
    if release.demand is not None:
        arrays["rate_per_h"] = release.demand.rate_per_min[pairs] * 60.0
    typed = {name: _smallest(array) for name, array in arrays.items()}
    return dict(sorted(typed.items(), key=lambda item: -item[1].dtype.itemsize))  # so that each begins aligned


def _smallest(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "f":
        return array.astype("<f8")
    return array.astype("<u2" if array.max(initial=0) < 2**16 else "<u4")


def _places(columns: dict[str, NDArray[Any]]) -> list[dict[str, Any]]:
    at, places = 0, []
    for name, array in columns.items():
        places.append({"name": name, "kind": array.dtype.str[1:], "at": at, "count": array.size})
        at += array.nbytes
    return places


def _in_script(text: bytes) -> str:
    """JSON that cannot end the script element it stands in."""
    return text.decode().replace("<", "\\u003c")
