"""Random networks for property tests: small, odd, and legal."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import privroute as pr

WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=6)
LABELS = st.one_of(st.integers(-(10**17), 10**17), WORDS)


def numbers(smallest: float, largest: float) -> st.SearchStrategy[float]:
    return st.floats(smallest, largest, allow_nan=False, allow_infinity=False)


@st.composite
def networks(draw: st.DrawFn, max_nodes: int = 6, max_links: int = 12) -> pr.Network:
    """Parallel links, zero free-flow times, no-through nodes, background, mixed curves, odd labels."""
    nodes = draw(st.integers(2, max_nodes))
    ends = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda end: end[0] != end[1])
    links = draw(st.lists(ends, min_size=1, max_size=max_links))

    def per_link(smallest: float, largest: float) -> list[float]:
        return draw(st.lists(numbers(smallest, largest), min_size=len(links), max_size=len(links)))

    labels = draw(st.lists(LABELS, min_size=nodes, max_size=nodes, unique_by=lambda label: str(label).strip()))
    zones = draw(st.lists(st.integers(0, nodes - 1), min_size=1, unique=True))
    some_points = st.lists(st.tuples(numbers(-1e6, 1e6), numbers(-1e6, 1e6)), min_size=nodes, max_size=nodes)
    latency = pr.Latency(
        per_link(0, 100), per_link(1e-3, 1e4), per_link(0, 10), draw(st.sampled_from([0.0, 0.5, 1.0, 4.0, 2.7]))
    )
    return pr.Network(
        [tail for tail, _ in links],
        [head for _, head in links],
        latency,
        labels,
        zones=zones,
        no_through=np.array(draw(st.lists(st.booleans(), min_size=nodes, max_size=nodes))),
        background_per_min=per_link(0, 50),
        coordinates=draw(st.none() | some_points),
        crs=draw(st.sampled_from([None, "EPSG:4326", "EPSG:26914"])),
        length_km=draw(st.none() | st.just(per_link(0, 50))),
    )
