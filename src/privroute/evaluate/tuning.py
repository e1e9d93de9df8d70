"""Choose the options of `sgd` and `minimiser` on public data alone.

A prior is wrong in ways that nobody knows, and options that are best for its own days may be bad for others. So days
are simulated for demands around the prior, each pair's rate times an independent lognormal factor, while the mechanism
is given the prior itself; the options with the least median are chosen. Nothing of the true trips is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import InputError
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.evaluate.suboptimality import Baseline
from privroute.history.simulate import simulate_days
from privroute.mechanism.registry import asked_once
from privroute.network.demand import Demand
from privroute.progress import tell
from privroute.study.mechanisms import Minimiser, Sgd
from privroute.study.study import Study

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from privroute.history.demand_history import DemandHistory
    from privroute.network.network import Network
    from privroute.progress import Progress
    from privroute.study.guarantee import Guarantee

__all__ = ["CANDIDATES", "Trial", "Tuned", "tune"]

ALPHA_SHARES: Mapping[str, Sequence[float]] = {"sgd": (1e-6, 1.6e-5), "minimiser": (4e-6, 1.6e-5, 6.4e-5)}
"""By mechanism: values of alpha, as shares of the prior's optimal vehicle-minutes per minute."""

CANDIDATES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "sgd": {"steps_per_day": (2, 5, 10, 20), "detour": (1.3,), "power": (0.0, 0.25), "cap_factor": (2.0,)},
    "minimiser": {"detour": (1.3,), "power": (0.0, 0.25)},
}
"""By mechanism: the options that are tried, in all combinations, besides alpha and the tilt."""

TILTS = (0.0, 2.0, 5.0, 10.0)
_PRIOR_SD = 0.5


@dataclass(frozen=True, slots=True)
class Trial:
    """Options and what they gave: percent above the optimum of each demand, one value for each draw."""

    options: Sgd | Minimiser
    percent: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle of the draws."""
        return float(np.median(self.percent))


@dataclass(frozen=True, slots=True)
class Tuned:
    """The options chosen for a guarantee, and every trial."""

    guarantee: Guarantee
    best: Trial
    trials: tuple[Trial, ...]


def tune(
    network: Network,
    prior: Demand,
    guarantees: Sequence[Guarantee],
    mechanism: str,
    *,
    days: int,
    period_min: float = 60.0,
    expansion: float = 1.0,
    draws: int = 2,
    seed: int = 1,
    prior_sd: float = _PRIOR_SD,
    candidates: Mapping[str, Sequence[Any]] | None = None,
    progress: Progress | None = None,
) -> list[Tuned]:
    """Choose options for each guarantee: only public data.

    prior : the public demand, which the mechanism will be given
    days, period_min, expansion : the public frame of the data to come
    draws : demands around the prior, each with its own days and noise
    prior_sd : standard deviation of the logarithm of a true rate over the prior's
    candidates : options and values to try, in all combinations; default: those of CANDIDATES

    What the mechanism computes before the noise does not depend on guarantee and tilt, so it is made once for all of
    them.
    """
    if mechanism not in CANDIDATES:
        raise InputError(f"mechanism is {mechanism!r}; options of {' and '.join(CANDIDATES)} can be tuned")
    if not guarantees or draws < 1 or days < 1:
        raise InputError("name at least one guarantee, one day and one draw")
    scale = Baseline.of(network, prior).minutes
    data = [_days(network, prior, days, period_min, expansion, prior_sd, seed + 2 * draw) for draw in range(draws)]
    tried: dict[int, list[Trial]] = {number: [] for number in range(len(guarantees))}
    chosen = list(_combinations(mechanism, prior, scale, candidates))
    for done, options in enumerate(chosen):
        tell(progress, "Trying options on public data", done / len(chosen))
        for number, tilt, percent in _percents(network, options, data, guarantees):
            tried[number].append(Trial(replace(options, tilt=tilt), percent))
    tell(progress, "Trying options on public data", 1.0)
    return [
        Tuned(guarantee, min(tried[number], key=lambda trial: trial.median), tuple(tried[number]))
        for number, guarantee in enumerate(guarantees)
    ]


def _days(
    network: Network, prior: Demand, days: int, period_min: float, expansion: float, prior_sd: float, seed: int
) -> tuple[DemandHistory, Baseline, int]:
    factors = np.exp(np.random.default_rng(seed).normal(0.0, prior_sd, len(prior.pairs)))
    truth = Demand(prior.pairs, prior.rate_per_min * factors, expansion=expansion)
    history = simulate_days(truth, days=days, period_min=period_min, seed=seed + 1)
    return history, Baseline.of(network, Demand(prior.pairs, truth.rate_per_min)), seed


def _combinations(
    mechanism: str, prior: Demand, scale: float, candidates: Mapping[str, Sequence[Any]] | None
) -> Iterator[Sgd | Minimiser]:
    values = dict(CANDIDATES[mechanism] if candidates is None else candidates)
    values.setdefault("alpha", [float(f"{share * scale:.3g}") for share in ALPHA_SHARES[mechanism]])
    for combination in product(*values.values()):
        options = dict(zip(values, combination, strict=True))
        yield (Sgd if mechanism == "sgd" else Minimiser)(public_demand=prior, **options)


def _percents(
    network: Network,
    options: Sgd | Minimiser,
    data: Sequence[tuple[DemandHistory, Baseline, int]],
    guarantees: Sequence[Guarantee],
) -> Iterator[tuple[int, float, tuple[float, ...]]]:
    """For each guarantee and tilt the percent above the optimum, one for each draw."""
    module = asked_once(options)
    exact = [
        module.query(Study(network, history.frame, guarantees[0], options), history, None) for history, _, _ in data
    ]
    for number, guarantee in enumerate(guarantees):
        promise = module.promise(Study(network, data[0][0].frame, guarantee, options))
        for tilt in TILTS:
            tilted = replace(options, tilt=tilt)
            percent = []
            for values, (history, baseline, seed) in zip(exact, data, strict=True):
                study = Study(network, history.frame, guarantee, tilted)
                noisy = SeededNoise(seed).add_integers(values, promise.integer_scale)
                percent.append(baseline.percent(module.publish(study, promise, noisy, None).policy))
            yield number, tilt, tuple(percent)
