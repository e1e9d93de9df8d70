"""Frames of the gravity model and counts with noise, for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from privroute.demand.gravity import GravityModel

__all__ = ["frames", "frames_with_counts", "full_frame"]

MINUTES = st.floats(0.0, 1e6) | st.sampled_from([0.0, 5e-324, 1e-200, 1.0, 1e200])
COUNTS = st.integers(-1000, 1000) | st.integers(-(2**40), 2**40)


def full_frame(zones: int, minutes: np.ndarray) -> GravityModel:
    """Every ordered pair of different zones, with the minutes of a table."""
    origin, destination = np.nonzero(~np.eye(zones, dtype=bool))
    return GravityModel(origin, destination, minutes[origin, destination].astype(np.float64))


@st.composite
def frames(draw: DrawFn, *, most_zones: int = 6) -> GravityModel:
    """Any non-empty set of pairs of up to `most_zones` zones, with any minutes, all of them zero too."""
    zones = draw(st.integers(2, most_zones))
    pairs = [(first, second) for first in range(zones) for second in range(zones) if first != second]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=len(pairs), unique=True))
    minutes = draw(st.just([0.0] * len(chosen)) | st.lists(MINUTES, min_size=len(chosen), max_size=len(chosen)))
    _, origin = np.unique([first for first, _ in chosen], return_inverse=True)
    _, destination = np.unique([second for _, second in chosen], return_inverse=True)
    return GravityModel(origin, destination, np.array(minutes))


@st.composite
def frames_with_counts(draw: DrawFn) -> tuple[GravityModel, np.ndarray]:
    """A frame and a whole number for each of its pairs, of any sign."""
    model = draw(frames())
    size = model.minutes.size
    return model, np.array(draw(st.lists(COUNTS, min_size=size, max_size=size)), dtype=np.int64)
