"""No release costs more than it promised, whatever it asks and however: random studies, neighbours, replayed noise."""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.mechanism.accountant import Tape, contents, cost, made, random_case

import privroute as pr
from privroute.errors import LargeDeltaWarning

GROUPS = 8
CASES = int(os.environ.get("PRIVROUTE_ACCOUNTANT_CASES", "160"))
ROUNDED = 1 + 1e-9


def check(seed: int, folder: Path) -> float:
    """Of one case: the cost over what was promised."""
    chance = random.Random(seed)  # noqa: S311 - of cases
    case = random_case(chance)
    ledger = pr.Ledger.create(folder / "ledger", "city", pr.Approval(900.0, 1e-3, case.study.unit))
    own = Tape(at_first=lambda: _charged(ledger))
    release = made(case, case.own, own, seed, folder / "own", ledger)
    promised = release.certificate.rho
    assert promised is not None
    assert own.exact, "nothing was drawn"

    other = Tape(own.drawn)
    made(case, case.neighbour, other, seed, folder / "neighbour")
    assert len(other.drawn) == len(own.drawn), "the number of questions depends on the trips"
    spent = cost(own, other)
    assert spent <= promised * ROUNDED, f"{case.study}: {float(spent / promised) if promised else 0}"
    assert contents(folder / "own") == contents(folder / "neighbour")

    made(case, case.stranger(chance), Tape(own.drawn), seed, folder / "stranger")
    assert contents(folder / "own") == contents(folder / "stranger")

    fresh = Tape()
    made(case, case.own, fresh, seed + 1, folder / "fresh")
    for before, after, scale in zip(own.drawn, fresh.drawn, own.scales, strict=False):
        if before.shape == after.shape and before.size * min(scale, 1.0) > 100:
            assert not np.array_equal(before, after), "an answer does not depend on the noise"
    return float(spent) / promised


def _charged(ledger: pr.Ledger) -> None:
    assert len(ledger.account().charges) == 1, "noise is drawn before the charge"


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_no_release_costs_more_than_it_promised(group: int, tmp_path: Path) -> None:
    worst = 0.0
    for case in range(group, CASES, GROUPS):
        folder = tmp_path / f"{case}"
        folder.mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LargeDeltaWarning)
            warnings.simplefilter("ignore", RuntimeWarning)  # the optimum of an odd demand
            worst = max(worst, check(case, folder))
    assert worst > 0.5  # neighbours come near the promise, so that a wrong one is noticed
