"""A city and its days, for tests of streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import privroute as pr
from privroute.privacy.noise import OpenDPNoise

SCENARIO = pr.sioux_falls()
NETWORK = SCENARIO.network
DAYS = pr.simulate_days(SCENARIO.demand, days=10, seed=3)
PROMISE = pr.Guarantee(epsilon=1.0, delta=1e-6)
EACH = DAYS.each_day()


def stream_in(folder: Path, mechanism: pr.Daily | None = None, **options: Any) -> pr.Stream:
    return pr.Stream(folder / "stream", NETWORK, PROMISE, mechanism, **options)


class Told:
    """Noise that is recorded: what it was given, and none is added."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[NDArray[np.int64]] = []

        def add(_noise: OpenDPNoise, values: NDArray[np.int64], _scale: float) -> NDArray[np.int64]:
            self.seen.append(values.copy())
            return values.copy()

        monkeypatch.setattr(OpenDPNoise, "add_integers", add)
