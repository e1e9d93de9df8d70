"""Networks on which routes take no time: nothing that is public fails after the charge."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privroute as pr
from privroute.errors import GuaranteeError
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.mechanism.learn import Announcement, learn_with_noise
from privroute.serve.page_content import Picture
from privroute.study.calendar import Calendar
from privroute.study.frame import Frame

TAIL, HEAD = [0, 0, 1, 1, 2, 3], [1, 2, 2, 3, 3, 0]
NOTHING, ONE = np.zeros(6), np.ones(6)
NETWORKS = {
    "bpr": pr.Network(TAIL, HEAD, pr.Latency.bpr(NOTHING, ONE), list("abcd")),
    "affine": pr.Network(TAIL, HEAD, pr.Latency.affine(NOTHING, ONE), list("abcd")),
    "background": pr.Network(TAIL, HEAD, pr.Latency.bpr(NOTHING, ONE), list("abcd"), background_per_min=ONE),
    "fixed costs": pr.Network(TAIL, HEAD, pr.Latency.bpr(NOTHING, ONE), list("abcd"), fixed_cost_min=ONE),
    "one link": pr.Network(TAIL, HEAD, pr.Latency.bpr([0, 0, 0, 0, 0, 1.0], ONE), list("abcd")),
    "a useless link": pr.Network([*TAIL, 0], [*HEAD, 3], pr.Latency.bpr([*NOTHING, 9.0], [*ONE, 1.0]), list("abcd")),
}
PAIRS = pr.Pairs.of_zones(NETWORKS["bpr"])
PUBLIC = pr.Demand(PAIRS, np.ones(len(PAIRS)))
MECHANISMS: dict[str, Any] = {
    "counts": pr.Counts(),
    "fair counts": pr.Counts(fairness=0.5),
    "layered": pr.Layered(),
    "daily": pr.Daily(),
    "minimiser": pr.Minimiser(alpha=1.0),
    "minimiser of a public demand": pr.Minimiser(public_demand=PUBLIC, alpha=1.0),
    "sgd": pr.Sgd(public_demand=PUBLIC, alpha=1.0),
}


def account(folder: Path) -> pr.Ledger:
    return pr.Ledger.create(folder / "city.ledger", "city", pr.Approval(20.0, 1e-5, "request", "Europe/Berlin"))


@pytest.mark.parametrize("share", [0.0, 0.05])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_charged_is_released(name: str, mechanism: str, share: float, tmp_path: Path) -> None:
    dates = [dt.date(2026, 3, 2), dt.date(2026, 3, 3)]
    network, ledger = NETWORKS[name], account(tmp_path)
    for size in (0, 50):
        calendar = Calendar.of_days(2, dates=dates, time_zone="Europe/Berlin")
        history = pr.DemandHistory.of(Frame(PAIRS, calendar), np.full((2, 12), size))
        try:
            study = pr.Study(
                network, history.frame, pr.Guarantee(1.0, 1e-6), MECHANISMS[mechanism], quality_share=share
            )
            announced = Announcement(study, ledger=ledger)
        except GuaranteeError:
            assert not ledger.account().charges
            assert mechanism.split(maxsplit=1)[0] in ("minimiser", "sgd")
            assert name in ("fixed costs", "one link", "a useless link")
            continue
        release = announced.release(history)
        release.save(tmp_path / f"{size}")
        found = pr.load_release(tmp_path / f"{size}")
        assert found.quality == release.quality
        assert (found.quality is None) == (share == 0)
        assert Picture(found).as_dict()["useful"]
    assert [charge.status for charge in ledger.account().charges] in ([], ["released"] * 2)


@pytest.mark.parametrize("name", ["bpr", "affine", "background", "fixed costs", "a useless link"])
@pytest.mark.parametrize("mechanism", ["counts", "daily"])
def test_where_no_route_takes_time_there_is_nothing_to_gain(name: str, mechanism: str) -> None:
    history = pr.DemandHistory(PAIRS, np.full((2, 12), 50))
    promise, noise = pr.Guarantee(1.0, 1e-6), SeededNoise(1)
    release = learn_with_noise(NETWORKS[name], history, promise, mechanism, noise, quality_share=0.05)
    assert release.quality is not None
    assert release.quality.words == "nothing to gain"
