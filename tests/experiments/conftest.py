"""All experiments, run once and quickly."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from privroute.experiments.registry import EXPERIMENTS
from privroute.experiments.result import Options, Result

Quick = Callable[[str], Result]


@pytest.fixture(scope="session")
def quick() -> Quick:
    """The result of an experiment by its name, computed when first asked for."""
    by_name = {each.name: each for each in EXPERIMENTS}

    @cache
    def result(name: str) -> Result:
        told: dict[str, list[float]] = {}
        found = by_name[name].run(Options(quick=True), lambda phase, share: told.setdefault(phase, []).append(share))
        assert told
        for shares in told.values():
            assert shares == sorted(shares)
            assert shares[-1] == pytest.approx(1.0)
        return found

    return result
