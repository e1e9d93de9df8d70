"""Options are chosen on public data, and the best of those tried are chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import privroute as pr
from privroute.errors import InputError
from privroute.evaluate.tuning import CANDIDATES, TILTS, tune

CITY = pr.sioux_falls()
LEVELS = [pr.Guarantee(1.0, 1e-6), pr.Guarantee(0.1, 1e-6)]
FEW: dict[str, Any] = {"alpha": [0.5, 20.0], "detour": [1.3]}


@pytest.mark.parametrize("mechanism", ["sgd", "minimiser"])
def test_the_best_of_all_trials_is_chosen_for_each_guarantee(mechanism: str) -> None:
    few = FEW | ({"steps_per_day": [2]} if mechanism == "sgd" else {})
    found = tune(CITY.network, CITY.demand, LEVELS, mechanism, days=3, draws=1, candidates=few)
    assert [one.guarantee for one in found] == LEVELS
    for one in found:
        assert len(one.trials) == 2 * len(TILTS)
        assert one.best.median == min(trial.median for trial in one.trials)
        assert one.best.options.public_demand is CITY.demand
        assert one.best.options.name == mechanism


def test_the_same_seed_chooses_the_same() -> None:
    def percent(seed: int) -> list[float]:
        few = FEW | {"alpha": [2.0]}
        (found,) = tune(CITY.network, CITY.demand, LEVELS[:1], "minimiser", days=2, draws=1, seed=seed, candidates=few)
        return [trial.median for trial in found.trials]

    assert percent(1) == percent(1)
    assert not np.allclose(percent(1), percent(2))


def test_mechanisms_without_such_options_are_refused() -> None:
    with pytest.raises(InputError, match="options of sgd and minimiser can be tuned"):
        tune(CITY.network, CITY.demand, LEVELS, "counts", days=2)
    with pytest.raises(InputError, match="at least one guarantee"):
        tune(CITY.network, CITY.demand, [], "sgd", days=2)
    assert set(CANDIDATES) == {"sgd", "minimiser"}
